//! Processes and those that they started.

use dwell_model::{ObjectType, Outcome, ThreadId};
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

/// Whether waits of a key are for children that end; a master waits for its workers as long as they live.
pub fn is_for_child(trace: &Trace, key: &EventKey) -> bool {
    match Outcome::from_code(key.outcome()) {
        Outcome::Unfinished => false,
        Outcome::Interrupted if is_by_own_child(trace, key) => true,
        _ => object_type(trace, key.object()) == ObjectType::ChildProcess,
    }
}

/// Whether the end of a process that the thread's started is what interrupted it.
pub fn is_by_own_child(trace: &Trace, key: &EventKey) -> bool {
    let processes = &trace.threads.process;
    let of = |thread: ThreadId| processes.get(thread.get()?)?.get();
    let Some((own, other)) = of(key.thread()).zip(of(key.waker())) else { return false };
    trace.processes.parent.get(other).is_some_and(|parent| parent.get() == Some(own))
}

/// Whether `other` is of another program, which the thread's did not start.
pub fn is_upstream(trace: &Trace, thread: usize, other: usize) -> bool {
    let (of_thread, processes) = (&trace.threads.process, &trace.processes);
    let (Some(own), Some(others)) = (of_thread.get(thread), of_thread.get(other)) else { return false };
    let parent = others.get().and_then(|row| processes.parent.get(row));
    own != others && parent != Some(own)
}
