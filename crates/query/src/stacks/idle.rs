//! Waits of idle workers: nothing was held up, there was nothing to do. By one table of patterns over the functions on
//! the stack and the type of what was waited on.
//!
//! A pattern must be clear: a condition variable on which productive work waits is contention, whatever the thread is
//! called. So a worker's function counts only next to the waiting call, where no task of the program is in between.

use dwell_model::{ObjectType as T, StackId};
use dwell_store::WordMap;
use dwell_view::glob;

use crate::stacks::call_stacks::CallStacks;

/// One pattern.
struct Pattern {
    /// Types of object that it is about; empty: any.
    types: &'static [T],
    /// Where the function must be.
    place: StackPlace,
    /// Names of functions, demangled; `*` stands for any characters. `f < g`: f, called by g.
    functions: &'static [&'static str],
}

/// Where on the stack a pattern's function must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StackPlace {
    /// Among the system's frames at the leaf: the waiting call itself.
    Call,
    /// The function above the waiting call.
    Caller,
    /// One of the first functions above the waiting call.
    Near,
    /// In Java's library, with nothing of the program's below.
    JavaLibrary,
    /// Anywhere: a thread that does nothing else.
    Anywhere,
}

/// How many functions above the waiting call are near: a loop and a lambda or wrapper in it.
const NEAR: usize = 3;
/// Frames looked at, at most.
const DEPTH: usize = 64;

/// How functions begin that are of Java's library, or of the virtual machine for it.
const OF_JAVA: &[&str] = &[
    "java.",
    "jdk.",
    "sun.",
    "Unsafe_Park",
    "Parker::",
    "ObjectMonitor::",
    "ObjectSynchronizer::",
    "JVM_MonitorWait",
    "JVM_Sleep",
    "JavaThread::sleep",
    "os::Platform",
];

const POOL: &[T] =
    &[T::ConditionVariable, T::Semaphore, T::Futex, T::TbbScheduler, T::JvmMonitor, T::GoRuntime, T::Unknown];
const POLL: &[T] = &[T::Event, T::Socket, T::Stream, T::Unknown];

const PATTERNS: &[Pattern] = &[
    // Event loops: a set of descriptors is waited on for whatever comes.
    Pattern {
        types: POLL,
        place: StackPlace::Call,
        functions: &["epoll_wait", "epoll_pwait*", "__epoll_wait*", "*sys_epoll_wait", "*sys_epoll_pwait*", "ep_poll"],
    },
    // Accept loops.
    Pattern {
        types: &[T::Socket, T::Unknown],
        place: StackPlace::Call,
        functions: &["accept", "accept4", "__libc_accept*", "*sys_accept4", "*sys_accept", "inet_csk_accept"],
    },
    // poll and select are event loops only in a library's loop; else they wait for one answer.
    Pattern {
        types: POLL,
        place: StackPlace::Near,
        functions: &[
            "event_base_loop",
            "event_base_dispatch",
            "event_dispatch",
            "uv_run",
            "uv__io_poll",
            "g_main_loop_run",
            "g_main_context_iterate*",
            "g_main_context_poll*",
            "aeMain",
            "aeProcessEvents",
            "aeApiPoll",
            "ev_run",
            "ngx_process_events_and_timers",
            "ngx_*_process_events",
            "boost::asio::detail::*::run*",
            "asio::detail::*::run*",
            "mio::*::poll",
            "tokio::runtime::*park*",
            "QEventDispatcher*",
            "ServerLoop",
            "fpm_event_loop",
            "rte_eal_*",
            "server_mainloop*",
        ],
    },
    // Threads that handle signals.
    Pattern {
        types: &[T::Signal, T::Unknown],
        place: StackPlace::Call,
        functions: &[
            "sigwait",
            "__sigwait",
            "sigwaitinfo",
            "sigtimedwait",
            "__sigtimedwait",
            "pause",
            "__pause",
            "sigsuspend*",
        ],
    },
    // Loops whose descriptors a thread of the library watches, and media that is played by a clock.
    Pattern { types: &[], place: StackPlace::Anywhere, functions: &["Tcl_WaitForEvent", "gst_clock_id_wait*"] },
    // Timer threads.
    Pattern {
        types: &[T::Sleep, T::Timer, T::ConditionVariable, T::Signal],
        place: StackPlace::Near,
        functions: &[
            "timer_helper_thread",
            "timer_sigev_thread",
            "*TimerThread*",
            "*timer_thread*",
            "*TimerQueue*",
            "WatcherThread::*",
        ],
    },
    // Thread pools of C and C++.
    Pattern {
        types: POOL,
        place: StackPlace::Near,
        functions: &[
            "g_thread_pool_wait_for_new_task",
            "QThreadPoolThread::run*",
            "ngx_thread_pool_cycle",
            "bioProcessBackgroundJobs",
            "IOThreadMain",
            "blas_thread_server",
            "POOL_thread",
            "background_thread_entry",
            "fio_worker*",
            "uv_cond_wait < worker",
            "node::inspector::*StartIoThreadMain*",
            "worker_thread_idle*",
            "*wait_for_work*",
            "*WaitForWork*",
            "*wait_for_task*",
            "*WaitForTask*",
            "*wait_for_job*",
            "*WaitForJob*",
            "*take_work_from_queue*",
            "*ThreadPool*::worker*",
            "*ThreadPool*::Worker*",
            "*ThreadPool::run*",
            "*ThreadPool::ThreadPool(*)::{lambda*",
            "*thread_pool*::worker*",
            "thread_pool_worker*",
            "*worker_loop*",
            "*WorkerLoop*",
            "*workerLoop*",
            "*::worker_main*",
            "*PlatformWorkerThread*",
            "*WorkerThreadsTaskRunner*",
            "boost::asio::detail::scheduler::do_run_one*",
            "asio::detail::scheduler::do_run_one*",
            "folly::*ThreadPoolExecutor::threadRun*",
            "Per_thread_connection_handler::block_until_new_connection*",
            "srv_worker_thread*",
            "srv_purge_coordinator*",
            "buf_flush_page_cleaner*",
        ],
    },
    // Python's: a worker of concurrent.futures that waits for an item, with nothing of the program's in between.
    Pattern { types: &[T::ConditionVariable, T::Mutex], place: StackPlace::Caller, functions: &["_worker"] },
    // gevent's: a thread of its pool, whose locks are its own.
    Pattern {
        types: &[T::ConditionVariable, T::Mutex],
        place: StackPlace::Anywhere,
        functions: &["Queue.get < _WorkerGreenlet.run"],
    },
    // multiprocessing's: the thread that sends what is put into a queue.
    Pattern { types: &[T::ConditionVariable], place: StackPlace::Near, functions: &["Condition.wait < Queue._feed"] },
    // oneTBB: workers without work leave their arena and sleep.
    Pattern {
        types: POOL,
        place: StackPlace::Near,
        functions: &[
            "tbb::detail::r1::rml::private_worker::run*",
            "tbb::detail::r1::rml::internal::thread_monitor::*",
            "tbb::*thread_monitor::commit_wait*",
            "rml::internal::*",
        ],
    },
    Pattern {
        types: &[T::TbbScheduler],
        place: StackPlace::Anywhere,
        functions: &["*private_worker::run*", "*private_worker::thread_routine*"],
    },
    // Rust.
    Pattern {
        types: &[],
        place: StackPlace::Near,
        functions: &[
            "rayon_core::sleep::Sleep::sleep*",
            "rayon_core::registry::WorkerThread::wait_until*",
            "tokio::runtime::*park*",
            "tokio::runtime::blocking::pool::*::run*",
            "threadpool::*",
            "futures_executor::thread_pool::PoolState::work*",
        ],
    },
    // What tokio is built on may be inlined in many frames below.
    Pattern {
        types: &[],
        place: StackPlace::Anywhere,
        functions: &[
            "tokio::runtime::scheduler::multi_thread::park::*",
            "tokio::runtime::scheduler::multi_thread::worker::Context::park*",
        ],
    },
    // Go: a thread without a goroutine.
    Pattern {
        types: &[],
        place: StackPlace::Anywhere,
        functions: &[
            "runtime.stopm",
            "runtime.sysmon",
            "runtime.netpoll",
            "runtime.templateThread",
            "runtime.sigqueue*",
            "runtime.usleep",
            "runtime.epollwait",
            "*runtime/*syscall.EpollWait",
        ],
    },
    // Erlang: a scheduler without a process to run, and the threads that poll or handle signals.
    Pattern {
        types: &[],
        place: StackPlace::Near,
        functions: &["erts_schedule", "erts_sys_main_thread", "erts_check_io*", "erts_poll_wait*"],
    },
    // The JVM's own threads without work.
    Pattern {
        types: &[],
        place: StackPlace::Near,
        functions: &[
            "WorkerThread::run*",
            "GangWorker::*",
            "AbstractGangWorker::*",
            "GCTaskThread::*",
            "VMThread::*",
            "CompileQueue::get*",
            "ConcurrentGCThread::*",
            "G1ServiceThread::*",
            "G1ConcurrentRefineThread*",
            "G1PrimaryConcurrentRefineThread*",
            "G1SecondaryConcurrentRefineThread*",
            "G1ConcurrentMarkThread*",
            "MonitorDeflationThread::*",
            "ServiceThread::*",
            "SignalHandler*",
            "os::signal_wait*",
            "JVM_WaitForReferencePendingList",
        ],
    },
    // Java's own pools, timers and queues: the wait is many functions below.
    Pattern {
        types: &[],
        place: StackPlace::JavaLibrary,
        functions: &[
            "java.util.concurrent.ThreadPoolExecutor.getTask*",
            "java.util.concurrent.ForkJoinPool.awaitWork*",
            "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.take*",
            "java.lang.ref.ReferenceQueue.remove*",
            "java.lang.ref.Reference$ReferenceHandler.run*",
        ],
    },
    // The library's own threads, such as the one that closes connections that nobody used for long.
    Pattern {
        types: &[T::Sleep],
        place: StackPlace::JavaLibrary,
        functions: &["jdk.internal.misc.InnocuousThread.run*"],
    },
];

/// Calls that run an event loop until their answer comes: within them a loop waits for that, and not for whatever comes.
const BLOCKING_CALLS: &[&str] = &["g_*_sync", "g_*_sync_internal*"];

/// The judgement of each stack and type, made once.
#[derive(Default)]
pub struct IdleWaits {
    memo: WordMap<(StackId, T), bool>,
}

/// In Go a thread parks where it has no goroutine; goroutines wait without one. These wait for another thread nevertheless: for a
/// lock of the runtime, or until all others have stopped.
const GO_AT_WORK: &[&str] =
    &["runtime.lock2*", "runtime.lockWithRank*", "runtime.stopTheWorld*", "runtime.forEachP*", "runtime.gcMark*"];

impl IdleWaits {
    /// Whether a wait at `stack` on an object of type `object` is an idle worker's.
    pub fn is_idle(&mut self, stacks: &CallStacks<'_>, stack: StackId, object: T) -> bool {
        *self.memo.entry((stack, object)).or_insert_with(|| judge(stacks, stack, object))
    }
}

/// Whether a function is of Java's library, or one by which that parks threads.
fn is_of_java(function: &str) -> bool {
    OF_JAVA.iter().any(|start| function.starts_with(start))
}

/// Whether the first of `places` is the function that the pattern names, called by the one that it names with it.
fn is_at(functions: &str, places: &[(&str, bool)]) -> bool {
    let is = |pattern: &str, at: usize| places.get(at).is_some_and(|(name, _)| glob(pattern, name));
    match functions.split_once(" < ") {
        Some((function, caller)) => is(function, 0) && is(caller, 1),
        None => is(functions, 0),
    }
}

fn judge(stacks: &CallStacks<'_>, stack: StackId, object: T) -> bool {
    let places: Vec<(&str, bool)> = stacks
        .whole_chain(stack)
        .take(DEPTH)
        .map(|place| (stacks.function_name(stacks.function(place)), stacks.is_system(place)))
        .collect();
    // The waiting call: the system's frames at the leaf. A stack of nothing but these is all call.
    let call = places.iter().position(|(_, is_system)| !is_system).unwrap_or(places.len());
    let near = places.len().min(call + NEAR);
    let java = places.iter().position(|(name, is_system)| !is_system && !is_of_java(name)).unwrap_or(places.len());
    let found = |pattern: &Pattern, range: &[(&str, bool)]| {
        (0..range.len()).any(|at| pattern.functions.iter().any(|functions| is_at(functions, &range[at..])))
    };
    if object == T::GoRuntime {
        let is_at_work = |(name, _): &(&str, bool)| GO_AT_WORK.iter().any(|function| glob(function, name));
        return !places.iter().any(is_at_work);
    }
    if places.iter().any(|(name, _)| BLOCKING_CALLS.iter().any(|call| glob(call, name))) {
        return false;
    }
    let holds = |pattern: &Pattern| match pattern.place {
        StackPlace::Call => found(pattern, &places[..call]),
        StackPlace::Caller => found(pattern, &places[call..places.len().min(call + 1)]),
        StackPlace::Near => found(pattern, &places[..near]),
        StackPlace::JavaLibrary => found(pattern, &places[..java]),
        StackPlace::Anywhere => found(pattern, &places),
    };
    PATTERNS.iter().any(|pattern| (pattern.types.is_empty() || pattern.types.contains(&object)) && holds(pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_can_be_asked_for() {
        let places = [("uv_cond_wait", false), ("worker", false), ("start_thread", true)];
        assert!(is_at("uv_cond_wait < worker", &places));
        assert!(is_at("uv_*", &places));
        assert!(!is_at("uv_cond_wait < main", &places));
        assert!(!is_at("uv_cond_wait < worker", &places[..1]));
        assert!(!is_at("worker", &places));
    }
}
