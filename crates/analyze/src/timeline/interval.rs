//! What a thread did at an instant, with everything that is known of it.

use dwell_model::{Outcome, Reason, Syscall, ThreadId, WakerKind};
use dwell_query::Analysis;
use dwell_query::history::pieces::{HistoryPiece, for_each_piece};
use dwell_query::question::query::Query;
use dwell_query::stacks::call_stacks::CallStacks;
use dwell_query::stacks::frames::{StackFrame, frames};
use dwell_query::stacks::object::object_type;
use dwell_store::Trace;
use dwell_view::answer;

answer! {
    /// What a thread did at an instant.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct IntervalInfo {
        /// Row of the thread.
        pub thread: u32,
        /// Id of the state.
        pub state: &'static str,
        /// When it began to.
        pub start_ns: u64,
        /// Until when.
        pub end_ns: u64,
        /// Blocked part of the interval off the CPU.
        pub wait_ns: u64,
        /// Part in the run queue.
        pub runnable_ns: u64,
        /// Id of the reason; empty where it ran.
        pub reason: &'static str,
        /// Id of the outcome; empty where it did not wait.
        pub outcome: &'static str,
        /// Name of the system call; empty for none.
        pub syscall: String,
        /// What it waited on; empty for nothing.
        pub object: String,
        /// Id of its type; empty for nothing.
        pub object_type: &'static str,
        /// CPU that it ran on, after the wait for a wait; -1 for unknown.
        pub cpu: i32,
        /// Who woke it, `name (tid)`; empty for no thread of the program.
        pub waker: String,
        /// Row of that thread.
        pub waker_thread: Option<u32>,
        /// Id of the waker's kind; empty where it was not woken.
        pub waker_kind: &'static str,
        /// Row of the thread that held the lock when the wait began, where the lock told it.
        pub holder_thread: Option<u32>,
        /// Where it was, leaf first.
        pub stack: Vec<StackFrame>,
        /// Where the waker was, leaf first.
        pub waker_stack: Vec<StackFrame>,
    }
}

/// What `thread` did at `time`; `None` where it was not alive.
pub fn interval_at(analysis: &Analysis, query: &Query, thread: u32, time: u64) -> Option<IntervalInfo> {
    let mut found = None;
    for_each_piece(analysis, thread as usize, (time, time.saturating_add(1)), |piece| found = found.or(Some(piece)));
    let piece: HistoryPiece = found?;
    let stacks = CallStacks::new(&analysis.trace, query);
    let info = match piece.row {
        Some(row) => off_cpu(analysis, &stacks, row),
        None => running(analysis, &stacks, thread as usize, time),
    };
    Some(IntervalInfo { thread, state: piece.state.id(), ..info })
}

fn off_cpu(analysis: &Analysis, stacks: &CallStacks<'_>, row: usize) -> IntervalInfo {
    let (trace, rows) = (&analysis.trace, &analysis.events().off_cpu);
    let key = analysis.events().off_cpu_key(row);
    let waits = key.reason() == Some(Reason::Waiting);
    let waker = known_thread(trace, key.waker());
    let object = key.object().get().and_then(|row| trace.objects.name.get(row)).cloned();
    let syscall = Some(key.syscall()).filter(|number| *number >= 0).map(Syscall::name_of);
    IntervalInfo {
        start_ns: rows.start_ns(row),
        end_ns: rows.end_ns(row),
        wait_ns: rows.wait_ns(row),
        runnable_ns: rows.runnable_ns(row),
        reason: key.reason().unwrap_or(Reason::Unknown).id(),
        outcome: if waits { Outcome::from_code(key.outcome()).id() } else { "" },
        syscall: syscall.unwrap_or_default(),
        object_type: if object.is_some() { object_type(trace, key.object()).id() } else { "" },
        object: object.unwrap_or_default(),
        cpu: if rows.cpu(row) == u16::MAX { -1 } else { i32::from(rows.cpu(row)) },
        waker: waker.map(|row| format!("{} ({})", trace.threads.name[row], trace.threads.tid[row])).unwrap_or_default(),
        waker_thread: waker.map(|row| row as u32),
        waker_kind: if rows.wait_ns(row) > 0 { WakerKind::from_code(key.waker_kind()).id() } else { "" },
        holder_thread: known_thread(trace, key.holder()).map(|row| row as u32),
        stack: frames(stacks, &analysis.trace, key.stack()),
        waker_stack: frames(stacks, &analysis.trace, key.waker_stack()),
        ..IntervalInfo::default()
    }
}

/// The row of a thread that the result has.
fn known_thread(trace: &Trace, thread: ThreadId) -> Option<usize> {
    thread.get().filter(|row| *row < trace.threads.tid.len())
}

/// Running time: from the interval before to the one behind, at the place of the sample that stands for it.
fn running(analysis: &Analysis, stacks: &CallStacks<'_>, thread: usize, time: u64) -> IntervalInfo {
    let (rows, samples) = (&analysis.events().off_cpu, &analysis.events().samples);
    let (start, end) = analysis.life(thread).unwrap_or_default();
    let of = rows.of(thread);
    let behind = rows.partition_point(of.clone(), |start| start <= time);
    let before = (behind > of.start).then(|| behind - 1);
    let end_ns = if behind < of.end { rows.start_ns(behind).min(end) } else { end };
    let start_ns = before.map_or(start, |row| rows.end_ns(row).min(end_ns));
    let of = samples.of(thread);
    let next = samples.partition_point(of.clone(), |sample| sample <= time);
    let sample = if next < of.end { Some(next) } else { of.clone().next_back() };
    let stack = sample.map(|row| analysis.events().key(samples.key(row)).stack()).or_else(|| {
        // Too little for a sample: where it next leaves the CPU is the best guess.
        (behind < rows.of(thread).end).then(|| analysis.events().off_cpu_key(behind).stack())
    });
    let cpu = before.map(|row| rows.cpu(row)).filter(|cpu| *cpu != u16::MAX);
    let cpu = cpu.or_else(|| sample.map(|row| samples.cpu(row)).filter(|cpu| *cpu != u16::MAX));
    IntervalInfo {
        start_ns,
        end_ns,
        cpu: cpu.map_or(-1, i32::from),
        stack: stack.map(|stack| frames(stacks, &analysis.trace, stack)).unwrap_or_default(),
        ..IntervalInfo::default()
    }
}
