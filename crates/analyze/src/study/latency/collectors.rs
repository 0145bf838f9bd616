//! Waits that are pauses of a garbage collector: told by the thread that ends them, and by the function that they are in.

use dwell_store::{EventKey, Trace};

/// Threads that collect garbage, or stop the others for it, by the beginning of their names.
const THREADS: &[&str] = &[
    "GC Thread",
    "G1 ",
    "ZGC",
    "ZDriver",
    "ZWorker",
    "Shenandoah",
    "VM Thread",
    ".NET GC",
    ".NET Server GC",
    ".NET BGC",
];
/// Functions in which threads stand still for a collector, by the beginning of their names: of Go, whose threads have no names
/// of their own, the JVM and .NET.
const FUNCTIONS: &[&str] = &[
    "runtime.gcstopm",
    "runtime.stopTheWorldWithSema",
    "runtime.stopTheWorldGC",
    "SafepointSynchronize::block",
    "SafepointMechanism::process",
    "Thread::RareDisablePreemptiveGC",
    "ThreadSuspend::",
    "WKS::gc_heap::wait_for_gc_done",
    "SVR::gc_heap::wait_for_gc_done",
];

/// Which threads collect, and which stacks stand still for it.
pub struct CollectorPauses {
    threads: Vec<bool>,
    stacks: Vec<bool>,
}

impl CollectorPauses {
    /// Those of a trace: time in proportion to its threads, frames and stacks.
    pub fn new(trace: &Trace) -> Self {
        let begins = |names: &[&str], name: &String| names.iter().any(|begin| name.starts_with(begin));
        let frames: Vec<bool> = trace.frames.function.iter().map(|name| begins(FUNCTIONS, name)).collect();
        let mut stacks: Vec<bool> = Vec::with_capacity(trace.stacks.frame.len());
        for (frame, parent) in trace.stacks.frame.iter().zip(&trace.stacks.parent) {
            let own = frame.get().and_then(|frame| frames.get(frame)).copied().unwrap_or(false);
            // Parents come before their children.
            let inherited = parent.get().and_then(|parent| stacks.get(parent)).copied().unwrap_or(false);
            stacks.push(own || inherited);
        }
        Self { threads: trace.threads.name.iter().map(|name| begins(THREADS, name)).collect(), stacks }
    }

    /// Whether a wait is such a pause.
    pub fn pause(&self, key: &EventKey) -> bool {
        let of = |all: &[bool], row: Option<usize>| row.and_then(|row| all.get(row)).copied().unwrap_or(false);
        of(&self.threads, key.waker().get()) || of(&self.stacks, key.stack().get())
    }
}
