//! One interval, printed: for scripts, and for a look.

use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use dwell_cgroups::of_process;
use dwell_live::{GroupBy, Interval, Row as Rows, WaitKind, group, sort};
use dwell_view::{Column, Prose, Row, Value, View};

use super::explanation::Threads;
use super::sampler::Sampler;
use crate::args::{Format, TopArgs};
use crate::error::Result;
use crate::text::style::Style;
use crate::{csv, output, text};

const USUAL_LENGTH_NS: u64 = 2_000_000_000;

/// Takes an interval and prints it.
pub fn run(args: &TopArgs, mut sampler: Sampler) -> Result<ExitCode> {
    let length = Duration::from_nanos(args.interval.unwrap_or(USUAL_LENGTH_NS));
    let end = Instant::now() + length;
    sampler.sample()?;
    while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        sleep(sampler.period().min(left));
        sampler.sample()?;
    }
    let interval = sampler.end_interval()?;
    let view = view(args, &interval, &sampler);
    output::print(&match args.format {
        Format::Text => text::render(&view, 0, &Style::of_stdout()),
        Format::Csv => csv::render(&view),
        Format::Json => dwell_view::json::render(&view),
    })?;
    Ok(ExitCode::SUCCESS)
}

const fn column(id: &'static str, title: &'static str, help: &'static str) -> Column {
    Column { id, title, help, detail: false }
}

const fn detail(id: &'static str, title: &'static str, help: &'static str) -> Column {
    Column { id, title, help, detail: true }
}

/// The columns of `dwell top --once`; docs/live.md lists them.
pub const COLUMNS: [Column; 17] = [
    column("process", "Process", "Name of the process."),
    column("pid", "PID", "Id of the process."),
    detail("tid", "TID", "Id of the thread; 0 for a row of several threads."),
    detail("thread", "Thread", "Name of the thread; empty for a row of several."),
    detail("cgroup", "Control Group", "Control group of the process."),
    column("threads", "Threads", "Threads of the row."),
    column("running_ns", "Running", "Time on a CPU, by the kernel's account."),
    column("runnable_ns", "Runnable", "Time in the run queue, by the kernel's account."),
    column("waiting_ns", "Waiting", "The rest of the threads' lives in the interval."),
    detail("waits", "Waits", "The waiting time by kind, as seen at the snapshots."),
    column("switches", "Switches", "How often its threads left the CPU."),
    column("top_object", "Waits For", "What it waited for longest, of what somebody may be at fault for."),
    detail("top_object_type", "Object Type", "Type of that."),
    detail("top_wait_ns", "Wait Time", "How long it waited for that."),
    column("holder", "Held By", "Thread that has it, as the lock says."),
    detail("explanation", "Explanation", "What the holder does, and so on."),
    detail("exact", "Exact", "1: every wait was seen at both of its ends; 0: the split of the waits is estimated."),
];

/// The rows of an interval as a view.
pub fn view(args: &TopArgs, interval: &Interval, sampler: &Sampler) -> View {
    let by = GroupBy::from(args.group_by);
    let mut rows = group(interval, by, |_| true, of_process);
    sort(&mut rows, args.sort.into());
    let all = rows.len();
    if args.limit > 0 {
        rows.truncate(args.limit);
    }
    let threads = Threads::of(interval);
    let shown = rows.iter().map(|row| Row { depth: 0, values: values(row, by, &threads) }).collect();
    View { columns: columns(by), rows: shown, notes: notes(interval, sampler, all - rows.len()), ..View::default() }
}

/// On a terminal threads are told apart by their own names and ids.
fn columns(by: GroupBy) -> Vec<Column> {
    let is_shown = |column: &Column| match column.id {
        "tid" | "thread" => by == GroupBy::Thread,
        "threads" => by != GroupBy::Thread,
        _ => !column.detail,
    };
    COLUMNS.into_iter().map(|column| Column { detail: !is_shown(&column), ..column }).collect()
}

fn values(row: &Rows<'_>, by: GroupBy, threads: &Threads<'_>) -> Vec<Value> {
    let (first, sums) = (row.first(), &row.sums);
    let explained = threads.explain(row);
    let text = |text: String| if text.is_empty() { Value::None } else { Value::Text(text) };
    let is_thread = by == GroupBy::Thread;
    let cgroup = of_process(first.last.pid);
    let process = match by {
        GroupBy::Cgroup => cgroup.clone(),
        _ => threads.process_name(first),
    };
    vec![
        text(process),
        if by == GroupBy::Cgroup { Value::None } else { Value::Count(first.last.pid.into()) },
        Value::Count(if is_thread { first.last.tid.into() } else { 0 }),
        text(if is_thread { first.name() } else { String::new() }),
        text(cgroup),
        Value::Count(row.threads.len() as u64),
        Value::Ns(sums.running_ns),
        Value::Ns(sums.runnable_ns),
        Value::Ns(sums.waiting_ns),
        Value::Parts(WaitKind::ALL.iter().map(|kind| (kind.id(), sums.waits_ns[*kind as usize])).collect()),
        Value::Count(sums.switches),
        text(explained.object),
        explained.object_type.map_or(Value::None, |it| Value::Text(it.id().into())),
        row.top.map_or(Value::None, |top| Value::Ns(top.ns)),
        text(explained.holder),
        text(explained.text),
        Value::Count(u64::from(sums.estimated_ns == 0)),
    ]
}

fn notes(interval: &Interval, sampler: &Sampler, left_out: usize) -> Vec<Prose> {
    let mut notes = Vec::new();
    if left_out > 0 {
        notes.push(Prose::plain(format!("{left_out} more rows: --limit 0 shows all.")));
    }
    let seconds = interval.length_ns as f64 / 1e9;
    notes.push(Prose::plain(match interval.summed {
        Some(_) => format!("{seconds:.2} s, exact: every wait is in it, up to the end of the interval."),
        None => format!(
            "{seconds:.2} s, looked at {} times: times are the kernel's accounts, what waits were for is as seen then.",
            interval.snapshots,
        ),
    }));
    if let Some(lost) = interval.summed.filter(|lost| lost.waits > 0) {
        notes.push(Prose::plain(format!(
            "{} waits of {:.3} s together are missing: the sums of this interval had no place for them.",
            lost.waits,
            lost.wait_ns as f64 / 1e9
        )));
    }
    if interval.ended > 0 {
        notes.push(Prose::plain(format!(
            "{} threads ended meanwhile: what they did last is not in it.",
            interval.ended
        )));
    }
    notes.extend(sampler.source_note().map(Prose::plain));
    notes
}
