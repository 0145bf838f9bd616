//! The way that determined how long a launched program took, or how far it came until its recording ended.

use dwell_model::{ObjectType, Outcome};
use dwell_query::engine::fold::Fold;
use dwell_query::question::windows::elapsed_ns;
use dwell_query::stacks::object::object_type;
use dwell_store::Trace;

use crate::study::critical_path::last_thread;

/// Parts of the way, the last first: a thread, and when what it did was on it.
pub type ProgramPath = Vec<(usize, (u64, u64))>;

/// The way to the last moment of the main process's last thread, where Dwell launched the program and all of its time is asked for; at the recording's
/// end, to that of the thread whose end this one waits for.
pub fn program_path(fold: &Fold<'_>) -> ProgramPath {
    let (trace, threads) = (fold.trace, &fold.trace.threads);
    if trace.manifest.command.is_empty() || !fold.query.explains_all() {
        return Vec::new();
    }
    let of_main = |thread: &usize| threads.process[*thread].get() == Some(0);
    // Before a thread was, its creators led to it.
    let began = (0..threads.tid.len()).filter(of_main).map(|thread| threads.start_ns[thread]).min();
    let (Some(mut thread), Some(began)) = (last_thread(trace, elapsed_ns(trace)), began) else { return Vec::new() };
    let (mut path, mut to) = (Vec::new(), threads.end_ns[thread].min(elapsed_ns(trace)));
    let mut waits = Vec::new();
    while trace.manifest.exit_status.is_none()
        && let Some((since_ns, awaited)) = awaited_at_end(trace, thread)
    {
        waits.push((thread, since_ns));
        thread = awaited;
    }
    for (waiter, since_ns) in waits.into_iter().rev() {
        path.push((thread, (since_ns.min(to), to)));
        (thread, to) = (waiter, since_ns.min(to));
    }
    path.push((thread, (began, to)));
    path.retain(|(_, (from, to))| from < to);
    path
}

/// The thread whose end this one waits for when the recording ends, and since when, as far as that is known: the first one of those that its process
/// made after it and that are still there, or the first one of the last process that it started.
fn awaited_at_end(trace: &Trace, thread: usize) -> Option<(u64, usize)> {
    let (threads, events, processes) = (&trace.threads, trace.events(), &trace.processes);
    let process = threads.process[thread];
    let is_there = |other: &usize| threads.end_ns[*other] >= elapsed_ns(trace) && !threads.ignored[*other];
    let mut later = (thread + 1..threads.tid.len()).filter(is_there);
    let row = events.off_cpu.of(thread).next_back()?;
    let key = events.off_cpu_key(row);
    if Outcome::from_code(key.outcome()) != Outcome::Unfinished {
        return None;
    }
    let awaited = match object_type(trace, key.object()) {
        ObjectType::ThreadJoin => later.find(|other| threads.process[*other] == process),
        // A shell waits for the signal of its end.
        ObjectType::ChildProcess | ObjectType::Signal => {
            let parent =
                |other: &usize| threads.process[*other].get().and_then(|row| processes.parent.get(row).copied());
            later.filter(|other| threads.process[*other] != process && parent(other) == Some(process)).last()
        }
        _ => None,
    };
    Some((events.off_cpu.start_ns(row), awaited?))
}

#[cfg(test)]
mod tests {
    use dwell_query::question::query::Query;
    use dwell_trace_dsl::trace;

    use super::*;

    fn path(picture: &str, exit_status: Option<i32>) -> ProgramPath {
        let mut trace = trace(picture);
        trace.manifest.exit_status = exit_status;
        trace.off_cpu.outcome.fill(Outcome::Unfinished.code());
        trace.tables_changed();
        program_path(&Fold::new(&trace, &Query::default()).unwrap())
    }

    #[test]
    fn to_the_end_of_a_recording_lead_the_threads_for_whose_end_the_first_one_waits() {
        const MS: u64 = 1_000_000;
        let (joins, works) = ("m: ##jjjj\na:  ##jjj\nb:  #####", "m: ######\na:  eeeee");
        let parts = [(2, (3 * MS, 6 * MS)), (1, (2 * MS, 3 * MS)), (0, (0, 2 * MS))];
        assert_eq!(path(joins, None), parts, "it waits for one that waits for another");
        assert_eq!(path(joins, Some(0)), [(0, (0, 6 * MS))], "it ended");
        assert_eq!(path(works, None), [(0, (0, 6 * MS))]);
    }
}
