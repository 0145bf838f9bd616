//! Goroutines by which Go's runtime works.

use dwell_store::Trace;

/// Whether a thread is a goroutine of the runtime's own: it yields to all others, and so is ready most of the time, or idles.
pub fn is_of_go_runtime(trace: &Trace, thread: usize) -> bool {
    let name = trace.threads.name.get(thread).filter(|_| thread < trace.fiber_threads);
    name.is_some_and(|name| name.starts_with("runtime.") && name != "runtime.main")
}
