//! What objects are called in a sentence, by their type and name.

use std::collections::{HashMap, HashSet};

use dwell_model::ObjectType;
use dwell_store::Trace;

use crate::study::explain::terms::parks_threads;

/// `PostgreSQL lock in LockRelationOid`: the name says that it is a lock.
pub fn is_called_lock(name: &str) -> bool {
    name.split(" in ").next().is_some_and(|what| what.ends_with(" lock"))
}

/// Whether it is what a goroutine waits for that waits for several things: `Select in main.worker`.
pub fn is_select(name: &str) -> bool {
    name.starts_with("Select in ")
}

/// Whether it is a set of what a thread waits for at once, whose name tells the call: `poll {TCP …, pipe}`.
pub fn is_set(name: &str) -> bool {
    name.ends_with('}') && (name.starts_with("poll {") || name.starts_with("epoll {"))
}

/// Whether the name begins with the title.
pub fn starts_alike(name: &str, title: &str) -> bool {
    name.get(..title.len()).is_some_and(|start| start.eq_ignore_ascii_case(title))
}

/// Whether the name says what it is, by its class: `java.util.HashMap monitor`, `PriceService monitor`, `java.util.concurrent.locks.ReentrantLock`.
pub fn is_of_class(name: &str, kind: ObjectType) -> bool {
    kind == ObjectType::JvmMonitor && (name.contains('.') || name.ends_with(" monitor"))
}

/// Whether objects of the type lie in the program's memory.
pub fn is_in_memory(kind: ObjectType) -> bool {
    use ObjectType::*;
    !matches!(kind, Socket | Stream | Timer | Sleep | ChildProcess | Signal | ThreadJoin | PageFault | BlockIo)
}

/// `a` or `an`.
pub fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'O']) { "an" } else { "a" }
}

/// What an object of a type is called before its name.
pub fn title(kind: ObjectType) -> &'static str {
    use ObjectType::*;
    match kind {
        Mutex => "mutex",
        ConditionVariable => "condition variable",
        RwLock => "read/write lock",
        Semaphore => "semaphore",
        Barrier => "barrier",
        SpinLock => "spin lock",
        Once => "once",
        ThreadJoin => "join of",
        Futex => "futex",
        Event => "event",
        Timer => "timer",
        Sleep => "sleep",
        ChildProcess => "child process",
        Signal => "signal",
        IoUring => "io_uring",
        PageFault => "page fault",
        KernelLock => "kernel lock",
        FileLock => "file lock",
        Channel => "channel",
        WaitGroup => "wait group",
        Gil => "GIL",
        JvmMonitor => "JVM monitor",
        GoRuntime => "Go runtime",
        TbbScheduler => "TBB scheduler",
        OpenMpBarrier => "OpenMP barrier",
        BlockIo => "block I/O",
        Unknown | Socket | Stream | User => "",
    }
}

/// Objects of a variable from which on they are told as one: each thread has its own.
const ARRAY: usize = 3;

/// The variable that has an object, at an offset mostly.
pub fn array_of(name: &str) -> &str {
    name.split_once(" + 0x").map_or(name, |(variable, _)| variable)
}

/// The variables that have several objects of one type, on each of which threads park.
pub fn arrays(trace: &Trace) -> HashSet<(ObjectType, &str)> {
    let mut counts: HashMap<(ObjectType, &str), usize> = HashMap::new();
    for (name, kind) in trace.objects.name.iter().zip(&trace.objects.kind) {
        let kind = ObjectType::from_code(*kind);
        if name.contains(" + 0x") && parks_threads(kind) {
            *counts.entry((kind, array_of(name))).or_default() += 1;
        }
    }
    counts.retain(|_, count| *count >= ARRAY);
    counts.into_keys().collect()
}
