//! Waits of idle workers: nothing was held up, there was nothing to do. By one table of patterns over the functions on
//! the stack and the type of what was waited on.
//!
//! A pattern must be clear: a condition variable on which productive work waits is contention, whatever the thread is
//! called. So a worker's function counts only next to the waiting call, where no task of the program is in between.

use dwell_model::{ObjectType as T, StackId};
use dwell_store::WordMap;
use dwell_view::glob;

use crate::stacks::call_stacks::{CallStacks, FunctionId};

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
    /// All functions but the system's: a thread that a library has for itself.
    Whole,
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
            "NMethodSweeper::sweeper_loop",
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
    // Waitress's workers, whose queue a loop fills.
    Pattern {
        types: &[T::ConditionVariable, T::Mutex],
        place: StackPlace::Anywhere,
        functions: &["Condition.wait < ThreadedTaskDispatcher.handler_thread"],
    },
    // The first thread of a manager's server, which others end.
    Pattern { types: &[], place: StackPlace::Anywhere, functions: &["Event.wait < Server.serve_forever"] },
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
    // Boehm's collector: its threads that mark, which have no names where the library is stripped.
    Pattern {
        types: &[T::ConditionVariable],
        place: StackPlace::Whole,
        functions: &["GC_mark_thread*", "GC_help_marker*", "GC_wait_marker*", "[libgc.so*]*"],
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

/// The judgement of each stack and type, and what the patterns say of each function, made once.
#[derive(Default)]
pub struct IdleWaits {
    memo: WordMap<(StackId, T), bool>,
    of_function: WordMap<FunctionId, usize>,
    matches: Vec<FunctionMatches>,
}

/// What the patterns say of a function by its name.
struct FunctionMatches {
    /// Numbers of the patterns that name it, each with the caller that the pattern names, too.
    patterns: Vec<(usize, Option<&'static str>)>,
    /// Whether it runs an event loop until its answer comes.
    blocks: bool,
    /// Whether Go's runtime waits for another thread in it.
    is_at_work: bool,
    /// Whether it is of Java's library, or one by which that parks threads.
    is_of_java: bool,
}

impl FunctionMatches {
    fn new(name: &str) -> Self {
        let matches_any = |patterns: &[&str]| patterns.iter().any(|pattern| glob(pattern, name));
        let named = PATTERNS.iter().enumerate().flat_map(|(number, pattern)| {
            let split = |functions: &&'static str| match functions.split_once(" < ") {
                Some((function, caller)) => (function, Some(caller)),
                None => (*functions, None),
            };
            let is_it = |(function, _): &(&str, Option<&str>)| glob(function, name);
            pattern.functions.iter().map(split).filter(is_it).map(move |(_, caller)| (number, caller))
        });
        Self {
            patterns: named.collect(),
            blocks: matches_any(BLOCKING_CALLS),
            is_at_work: matches_any(GO_AT_WORK),
            is_of_java: OF_JAVA.iter().any(|start| name.starts_with(start)),
        }
    }
}

/// In Go a thread parks where it has no goroutine; goroutines wait without one. These wait for another thread nevertheless: for a
/// lock of the runtime, or until all others have stopped.
const GO_AT_WORK: &[&str] =
    &["runtime.lock2*", "runtime.lockWithRank*", "runtime.stopTheWorld*", "runtime.forEachP*", "runtime.gcMark*"];

impl IdleWaits {
    /// Whether a wait at `stack` on an object of type `object` is an idle worker's.
    pub fn is_idle(&mut self, stacks: &CallStacks<'_>, stack: StackId, object: T) -> bool {
        if let Some(known) = self.memo.get(&(stack, object)) {
            return *known;
        }
        let is_idle = self.judge(stacks, stack, object);
        self.memo.insert((stack, object), is_idle);
        is_idle
    }

    /// Where in [`Self::matches`] a function is.
    fn number_of(&mut self, stacks: &CallStacks<'_>, function: FunctionId) -> usize {
        *self.of_function.entry(function).or_insert_with(|| {
            self.matches.push(FunctionMatches::new(stacks.function_name(function)));
            self.matches.len() - 1
        })
    }

    fn judge(&mut self, stacks: &CallStacks<'_>, stack: StackId, object: T) -> bool {
        let functions = stacks.whole_chain(stack).take(DEPTH).map(|at| (stacks.function(at), stacks.is_system(at)));
        let functions: Vec<(FunctionId, bool)> = functions.collect();
        let numbers: Vec<usize> = functions.iter().map(|(function, _)| self.number_of(stacks, *function)).collect();
        let places: Vec<(&FunctionMatches, bool)> = numbers
            .iter()
            .zip(&functions)
            .map(|(number, (_, is_system))| (&self.matches[*number], *is_system))
            .collect();
        let caller_is = |at: usize, caller: &str| {
            functions.get(at + 1).is_some_and(|(function, _)| glob(caller, stacks.function_name(*function)))
        };
        is_idle_at(&places, object, caller_is)
    }
}

/// Whether a wait is an idle worker's: by its functions from the innermost on, each with whether it is the system's; `caller_is` tells
/// whether the caller of the one at a place has such a name.
fn is_idle_at(places: &[(&FunctionMatches, bool)], object: T, caller_is: impl Fn(usize, &str) -> bool) -> bool {
    if object == T::GoRuntime {
        return !places.iter().any(|(function, _)| function.is_at_work);
    }
    if places.iter().any(|(function, _)| function.blocks) {
        return false;
    }
    let first = |is: &dyn Fn(&FunctionMatches, bool) -> bool| {
        places.iter().position(|(function, is_system)| is(function, *is_system)).unwrap_or(places.len())
    };
    // The waiting call: the system's frames at the leaf. A stack of nothing but these is all call.
    let call = first(&|_, is_system| !is_system);
    let java = first(&|function, is_system| !is_system && !function.is_of_java);
    let range = |place: StackPlace| match place {
        StackPlace::Call => 0..call,
        StackPlace::Caller => call..places.len().min(call + 1),
        StackPlace::Near => 0..places.len().min(call + NEAR),
        StackPlace::JavaLibrary => 0..java,
        StackPlace::Anywhere | StackPlace::Whole => 0..places.len(),
    };
    let own = || places.iter().filter(|(_, is_system)| !is_system);
    let is_all = |number: usize| own().all(|(function, _)| function.patterns.iter().any(|(of, _)| *of == number));
    let holds = |at: usize, (number, caller): (usize, Option<&str>)| {
        let pattern = &PATTERNS[number];
        let is_of_type = pattern.types.is_empty() || pattern.types.contains(&object);
        let range = range(pattern.place);
        is_of_type
            && range.contains(&at)
            && (pattern.place != StackPlace::Whole || is_all(number))
            && caller.is_none_or(|caller| range.contains(&(at + 1)) && caller_is(at, caller))
    };
    let is_at = |(at, (function, _)): (usize, &(&FunctionMatches, bool))| {
        function.patterns.iter().any(|pattern| holds(at, *pattern))
    };
    places.iter().enumerate().any(is_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_idle(functions: &[(&str, bool)], object: T) -> bool {
        let matches: Vec<FunctionMatches> = functions.iter().map(|(name, _)| FunctionMatches::new(name)).collect();
        let places: Vec<(&FunctionMatches, bool)> =
            matches.iter().zip(functions).map(|(function, (_, is_system))| (function, *is_system)).collect();
        is_idle_at(&places, object, |at, caller| functions.get(at + 1).is_some_and(|(name, _)| glob(caller, name)))
    }

    #[test]
    fn a_caller_can_be_asked_for() {
        let wait = |names: [&'static str; 3]| [(names[0], true), (names[1], false), (names[2], false)];
        assert!(is_idle(&wait(["pthread_cond_wait", "uv_cond_wait", "worker"]), T::ConditionVariable));
        assert!(!is_idle(&wait(["pthread_cond_wait", "uv_cond_wait", "main"]), T::ConditionVariable));
        assert!(!is_idle(&wait(["pthread_cond_wait", "worker", "uv_cond_wait"]), T::ConditionVariable));
        assert!(!is_idle(&wait(["pthread_cond_wait", "uv_cond_wait", "worker"])[..2], T::ConditionVariable));
    }

    #[test]
    fn where_the_function_is_counts() {
        assert!(is_idle(&[("epoll_wait", true), ("main", false)], T::Event));
        assert!(!is_idle(&[("epoll_wait", true), ("main", false)], T::Mutex), "of another type");
        assert!(!is_idle(&[("poll", true), ("ask", false), ("epoll_wait", false)], T::Event), "not the call itself");
        let far = ["a", "b", "c", "fio_worker_main"].map(|name| (name, false));
        assert!(!is_idle(&far, T::ConditionVariable) && is_idle(&far[1..], T::ConditionVariable));
        let loop_in_call = [("poll", true), ("g_main_context_iterate", false), ("g_dbus_call_sync", false)];
        assert!(is_idle(&loop_in_call[..2], T::Event) && !is_idle(&loop_in_call, T::Event));
    }

    #[test]
    fn a_library_that_has_a_thread_for_itself_is_all_that_it_runs() {
        let stripped = [("pthread_cond_wait", true), ("[libgc.so.1.5.1]func@0xf920", false), ("start_thread", true)];
        assert!(is_idle(&stripped, T::ConditionVariable));
        let of_program = [&stripped[..2], &[("main", false)]].concat();
        assert!(!is_idle(&of_program, T::ConditionVariable), "it waits for the markers");
    }
}
