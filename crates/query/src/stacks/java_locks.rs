//! Which waits of Java are for a lock that somebody has: of what parks threads, the virtual machine tells no more.

use dwell_model::StackId;
use dwell_store::Trace;

use crate::stacks::frames::functions;
use crate::stacks::stack_questions::{StackQuestion, answer};

/// Frames from the leaf in which the function is that takes or waits.
const DEPTH: usize = 24;
/// Functions that take a lock: of the virtual machine (src/hotspot/share/runtime), and of `java.util.concurrent`.
const TAKE: &[&str] = &[
    "ObjectMonitor::enter",
    "ObjectMonitor::EnterI",
    "ObjectMonitor::ReenterI",
    "ObjectSynchronizer::enter",
    "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire",
    "java.util.concurrent.locks.AbstractQueuedLongSynchronizer.acquire",
];

/// Whether a stack is one of a thread that waits for a monitor or a lock of Java's.
pub fn takes_java_lock(trace: &Trace, stack: StackId) -> bool {
    answer(trace, stack, StackQuestion::TakesJavaLock, || {
        functions(trace, stack).take(DEPTH).any(|function| TAKE.iter().any(|take| function.starts_with(take)))
    })
}

#[cfg(test)]
mod tests {
    use dwell_trace_dsl::trace;

    use super::*;

    #[test]
    fn a_monitor_is_taken_and_a_park_is_not() {
        let mut trace = trace("a: #j");
        let stack = trace.events().off_cpu_key(0).stack();
        assert!(!takes_java_lock(&trace, stack));
        let mut takes_in = |function: &str| {
            trace.frames.function.fill(function.into());
            trace.tables_changed();
            takes_java_lock(&trace, stack)
        };
        assert!(!takes_in("ObjectMonitor::wait(long, bool, JavaThread*)"));
        assert!(takes_in("ObjectMonitor::enter(JavaThread*)"));
    }
}
