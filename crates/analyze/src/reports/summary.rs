//! The summary: one record of the whole.

use dwell_view::{Column, Row, Value, View};

use crate::engine::fold::Fold;
use crate::engine::sweep::Levels;
use crate::engine::target::target_concurrency;
use crate::findings;
use crate::measure::utilization::total;
use crate::question::query::Query;
use crate::question::windows::Windows;
use crate::reports::waits::waits;
use crate::tables::grouped::plain;
use crate::tables::notes::{notes, stacks};

/// Objects named in the summary.
const TOP_OBJECTS: usize = 5;

/// One field of the record.
struct Field(&'static str, &'static str, &'static str, Value);

/// The record. Elapsed and paused time are the range's when the query has one.
pub fn summary(fold: &Fold<'_>) -> View {
    let mut fields = times(fold);
    fields.extend(concurrency(fold));
    fields.extend(recording(fold));
    fields.extend(parts(fold));
    fields.extend(machine(fold));
    let (columns, values): (Vec<Column>, Vec<Value>) =
        fields.into_iter().map(|Field(id, title, help, value)| (plain(id, title, help), value)).unzip();
    let notes = notes(fold);
    View { columns, rows: vec![Row { depth: 0, values }], single: true, notes, ..View::default() }
}

fn times(fold: &Fold<'_>) -> Vec<Field> {
    let weights = fold.shown();
    let elapsed = Windows::elapsed_ns(fold.trace, fold.query);
    let paused = elapsed.saturating_sub(fold.windows.length_ns());
    vec![
        Field(
            "elapsed_ns",
            "Elapsed Time",
            "From start to end of the collection, paused time included.",
            Value::Ns(elapsed),
        ),
        Field("paused_ns", "Paused Time", "Time in which the collection was paused.", Value::Ns(paused)),
        Field("cpu_ns", "CPU Time", "Running time, summed over threads.", Value::Ns(weights.cpu_ns())),
        Field(
            "effective_ns",
            "Effective Time",
            "CPU time that did the program's work.",
            Value::Ns(total(&weights.effective)),
        ),
        Field("spin_ns", "Spin Time", "CPU time burnt while logically waiting.", Value::Ns(weights.spin_ns())),
        Field("overhead_ns", "Overhead Time", "CPU time of the threading runtime.", Value::Ns(weights.overhead_ns())),
        Field("wait_ns", "Wait Time", "Time blocked on objects, summed over threads.", Value::Ns(weights.wait_ns())),
        Field("wait_count", "Wait Count", "Number of waits.", Value::Count(weights.wait_count)),
        Field("idle_ns", "Idle Wait Time", "Part of the wait time of idle workers.", Value::Ns(total(&weights.idle))),
        Field(
            "preemption_ns",
            "Preemption Wait",
            "Time in run queues: preempted, or woken and not yet on a CPU.",
            Value::Ns(total(&weights.runnable)),
        ),
        Field(
            "preemption_count",
            "Preemptions",
            "How often the scheduler took the CPU away.",
            Value::Count(weights.preemptions),
        ),
        Field("switches", "Context Switches", "How often a thread left the CPU.", Value::Count(weights.switches)),
    ]
}

fn concurrency(fold: &Fold<'_>) -> Vec<Field> {
    let (levels, weights) = (&fold.levels, fold.shown());
    let cpus = fold.trace.manifest.cpus.usable.max(1);
    let capacity = fold.windows.length_ns() as f64 * f64::from(cpus);
    let utilization = if capacity > 0.0 { total(&weights.effective) as f64 / capacity } else { 0.0 };
    let target = target_concurrency(fold.trace, fold.query);
    let average = |histogram: &[u64]| Value::Real(Levels::average(histogram));
    let processes: std::collections::BTreeSet<_> = fold
        .sites
        .iter()
        .filter(|site| site.selected)
        .filter_map(|site| super::threads::process_of(fold, site.key.thread))
        .collect();
    let threads: std::collections::BTreeSet<_> =
        fold.sites.iter().filter(|site| site.selected).map(|site| site.key.thread).collect();
    // Unfiltered, a thread counts even when it left no trace inside the range.
    let all = !fold.query.is_filtered() && !fold.query.is_cut();
    let threads = if all { fold.trace.threads.tid.len() } else { threads.len() };
    let processes = if all { fold.trace.processes.pid.len() } else { processes.len() };
    vec![
        Field("cpus", "Logical CPUs", "CPUs that the program may use.", Value::Count(u64::from(cpus))),
        Field(
            "target_concurrency",
            "Target Concurrency",
            "How many threads the program could use at once: T.",
            Value::Count(u64::from(target)),
        ),
        Field(
            "cpu_utilization",
            "Effective CPU Utilization",
            "Effective time per elapsed time and CPU.",
            Value::Fraction(utilization),
        ),
        Field(
            "avg_running",
            "Average Running Threads",
            "Time average of the threads on a CPU.",
            average(&levels.histogram_cpu),
        ),
        Field(
            "avg_concurrency",
            "Average Thread Concurrency",
            "Time average of the threads on a CPU or in a run queue.",
            average(&levels.histogram_concurrency),
        ),
        Field(
            "oversubscription_ns",
            "Thread Oversubscription",
            "CPU time during which more threads were ready than there are CPUs.",
            Value::Ns(levels.oversubscribed_ns),
        ),
        Field("threads", "Threads", "Number of threads.", Value::Count(threads as u64)),
        Field("processes", "Processes", "Number of processes.", Value::Count(processes as u64)),
    ]
}

/// About the recording itself.
fn recording(fold: &Fold<'_>) -> Vec<Field> {
    let (stacks, complete) = stacks(fold.trace);
    vec![
        Field("stacks", "Stacks", "Samples and waits whose user stack was taken.", Value::Count(stacks)),
        Field(
            "stacks_complete",
            "Complete Stacks",
            "Share of them that reach the outermost frame.",
            Value::Fraction(complete as f64 / stacks.max(1) as f64),
        ),
        Field(
            "collector_cpu_ns",
            "Collector CPU Time",
            "CPU time of Dwell itself; no part of the above.",
            Value::Ns(fold.trace.manifest.collector_cpu_ns),
        ),
    ]
}

fn parts(fold: &Fold<'_>) -> Vec<Field> {
    let levels = &fold.levels;
    vec![
        Field(
            "histogram_cpu",
            "CPU Utilization",
            "Time at each number of running threads.",
            Value::Histogram(levels.histogram_cpu.clone()),
        ),
        Field(
            "histogram_concurrency",
            "Thread Concurrency",
            "Time at each number of running or runnable threads.",
            Value::Histogram(levels.histogram_concurrency.clone()),
        ),
        Field("losses", "Losses", "What could not be seen.", Value::Rows(Box::new(losses(fold)))),
        Field(
            "top_objects",
            "Top Sync Objects",
            "Objects with the most wait time at poor utilization.",
            Value::Rows(Box::new(top_objects(fold))),
        ),
        Field(
            "findings",
            "Findings",
            "What is wrong, and what to do about it.",
            Value::Rows(Box::new(findings::view(fold))),
        ),
    ]
}

/// What the whole machine did meanwhile, when that was recorded.
fn machine(fold: &Fold<'_>) -> Option<Field> {
    let view = super::system::system(fold.trace, &fold.windows)?;
    let help = "What the whole machine did meanwhile: processor time, interrupts, switches, system calls, traffic.";
    Some(Field("system", "Whole Machine", help, Value::Rows(Box::new(view))))
}

fn losses(fold: &Fold<'_>) -> View {
    let losses = &fold.trace.losses;
    let columns = vec![plain("name", "Name", "Name of the counter."), plain("count", "Count", "How often.")];
    let row = |(name, count): (&String, &u64)| Row {
        depth: 0,
        values: vec![Value::Text(name.clone()), Value::Count(*count)],
    };
    View { columns, rows: losses.name.iter().zip(&losses.count).map(row).collect(), ..View::default() }
}

/// The first rows of the waits report.
fn top_objects(fold: &Fold<'_>) -> View {
    let limit = fold.query.limit.map_or(TOP_OBJECTS, |limit| limit.min(TOP_OBJECTS));
    // Lengths of waits are read for what is shown only.
    let query = Query { limit: Some(limit), ..fold.query.clone() };
    let mut view = waits(&fold.asked(&query));
    view.rows.retain(|row| row.depth == 0);
    view.notes.clear();
    view
}
