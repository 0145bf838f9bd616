//! Names the child process whose end a sampled fiber waited for: no wake-up of a fiber tells that.

use std::collections::HashMap;

use dwell_model::{ObjectType, Outcome, ProcessId, ThreadId, WakerKind};
use dwell_query::stacks::go_runtime::GO_MAIN;
use dwell_query::stacks::object::object_type;
use dwell_store::{Table, Trace};

/// A process that another one forked.
struct ChildProcess {
    born_ns: u64,
    end_ns: u64,
    /// Its first thread, or the fiber that stands for it.
    thread: ThreadId,
}

/// How near to the end of a child the wait for it ends, at least, ns …
const NEAR_NS: u64 = 20_000_000;
/// … and as a part of the wait: on a busy machine looks are late, and so are fibers that are ready.
const NEAR_PART: u64 = 4;

/// Names the ends of waits for child processes in `view`, whose first `fibers` threads are fibers.
pub fn name_child_processes(view: &mut Trace, fibers: usize) {
    let near_ns = (2 * view.manifest.fiber_interval_ns).max(NEAR_NS);
    let children = child_processes(view);
    let open: Vec<usize> = (0..view.off_cpu.len()).filter(|row| waits_for_process(view, fibers, *row)).collect();
    for row in open {
        let process = view.off_cpu.thread[row].get().map_or(ProcessId::NONE, |fiber| view.threads.process[fiber]);
        let start_ns = view.off_cpu.start_ns[row];
        let wait = (start_ns, start_ns.saturating_add(view.off_cpu.wait_ns[row]));
        let of_process = children.get(&process).map_or(&[][..], Vec::as_slice);
        let near_ns = near_ns.max(view.off_cpu.wait_ns[row] / NEAR_PART);
        if let Some(child) = awaited(of_process, wait, near_ns) {
            view.off_cpu.waker[row] = child.thread;
            view.off_cpu.waker_kind[row] = WakerKind::Thread.code();
        }
    }
}

/// Whether a fiber waits for a child in that row, and nobody is known to have ended it.
fn waits_for_process(view: &Trace, fibers: usize, row: usize) -> bool {
    let off = &view.off_cpu;
    off.thread[row].get().is_some_and(|fiber| fiber < fibers)
        && off.wait_ns[row] > 0
        && !off.waker[row].is_some()
        && off.outcome[row] != Outcome::Unfinished.code()
        && object_type(view, off.object[row]) == ObjectType::ChildProcess
}

/// The processes that each one forked.
fn child_processes(view: &Trace) -> HashMap<ProcessId, Vec<ChildProcess>> {
    let (threads, processes) = (&view.threads, &view.processes);
    let mut children: HashMap<ProcessId, Vec<ChildProcess>> = HashMap::new();
    for thread in 0..threads.tid.len() {
        let Some(process) = threads.process[thread].get() else { continue };
        let is_fiber = thread < view.fiber_threads;
        let is_first =
            if is_fiber { threads.name[thread] == GO_MAIN } else { processes.pid[process] == threads.tid[thread] };
        if is_first && processes.parent[process].is_some() {
            let (born_ns, end_ns) = (processes.start_ns[process], processes.end_ns[process]);
            let child = ChildProcess { born_ns, end_ns, thread: ThreadId::new(thread) };
            children.entry(processes.parent[process]).or_default().push(child);
        }
    }
    children
}

/// The child that was there when the wait began and ended as it did; the nearest one of several.
fn awaited(children: &[ChildProcess], (start_ns, end_ns): (u64, u64), near_ns: u64) -> Option<&ChildProcess> {
    let is_it = |child: &&ChildProcess| {
        child.born_ns <= start_ns.saturating_add(near_ns) && child.end_ns.abs_diff(end_ns) <= near_ns
    };
    children.iter().filter(is_it).min_by_key(|child| child.born_ns.abs_diff(start_ns) + child.end_ns.abs_diff(end_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_child_that_ends_with_the_wait_is_the_one() {
        let child = |born_ns, end_ns, thread| ChildProcess { born_ns, end_ns, thread: ThreadId::new(thread) };
        let children = [child(0, 100, 1), child(45, 100, 2), child(48, 300, 3), child(90, 104, 4)];
        let of = |wait| awaited(&children, wait, 10).map(|child| child.thread.raw());
        assert_eq!(of((50, 101)), Some(2), "the other one was there long before");
        assert_eq!(of((2, 97)), Some(1));
        assert_eq!(of((50, 290)), Some(3));
        assert_eq!(of((20, 150)), None, "nobody ended then");
        assert_eq!(of((60, 290)), Some(3));
    }
}
