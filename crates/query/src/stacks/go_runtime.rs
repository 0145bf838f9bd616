//! Goroutines by which Go's runtime works.

use dwell_store::Trace;

/// The goroutine that runs the program's main function.
pub const GO_MAIN: &str = "runtime.main";

/// The goroutine that takes signals: it stays in a call of the runtime for all its life (os/signal/signal_unix.go).
const SIGNAL_LOOP: &str = "os/signal.loop";

/// Whether a thread is a goroutine of the runtime's own: it yields to all others, and so is ready most of the time, or idles.
pub fn is_of_go_runtime(trace: &Trace, thread: usize) -> bool {
    let name = trace.threads.name.get(thread).filter(|_| thread < trace.fiber_threads);
    name.is_some_and(|name| is_runtime_goroutine(name))
}

/// The same of a goroutine by its name.
pub fn is_runtime_goroutine(name: &str) -> bool {
    name == SIGNAL_LOOP || name.starts_with("runtime.") && name != GO_MAIN
}
