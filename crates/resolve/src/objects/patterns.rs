//! Which function of which runtime library means which kind of object: one table.
//!
//! A futex is only an address; the library functions between it and the program's own code say what it belongs to. The
//! frames are looked through from the leaf outwards, as far as they belong to a runtime. A more telling runtime wins
//! over a plainer one (a pthread condition variable inside the JVM is the JVM's); among equals the innermost does (the
//! mutex that `pthread_cond_wait` takes again is a mutex).

use dwell_model::ObjectType;

/// How the address of the futex leads to the object's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternRefinement {
    /// It is the object's.
    Same,
    /// glibc's condition variable sleeps on one of two words, 40 and 44 bytes inside.
    CondVar,
    /// glibc's read/write lock sleeps on words 8 and 12 bytes inside.
    RwLock,
    /// glibc's barrier sleeps on its second word.
    Barrier,
    /// None is the object's: each wait has a lock of its own, as CPython's conditions are made. Its place tells.
    Place,
}

impl PatternRefinement {
    /// The object's address.
    pub fn base(self, address: u64) -> u64 {
        let down = match self {
            Self::Same | Self::Place => 0,
            Self::CondVar if address.is_multiple_of(8) => 40,
            Self::CondVar => 44,
            Self::RwLock => address % 8 + 8,
            Self::Barrier if address % 8 == 4 => 4,
            Self::Barrier => 0,
        };
        address.saturating_sub(down)
    }
}

/// The rank of a C library.
const C_LIBRARY: u8 = 0;

/// What a pattern says of a wait.
#[derive(Clone, Copy, Debug)]
struct Pattern {
    /// How telling: 0 a C library, 1 a language's library, 2 a scheduler built on them, 3 a named function of one, 4 one
    /// that is made of those, 5 and more one that waits for a single thing.
    rank: u8,
    /// Beginning of the module's base name; empty for any module.
    module: &'static str,
    /// Names of functions; `*` at the end stands for any rest.
    functions: &'static [&'static str],
    /// The type of the object.
    kind: ObjectType,
    /// How to find its address.
    refine: PatternRefinement,
}

macro_rules! patterns {
    ($($rank:literal $module:literal $kind:ident $refine:ident: $($function:literal)*;)*) => {
        &[$(Pattern {
            rank: $rank,
            module: $module,
            functions: &[$($function,)*],
            kind: ObjectType::$kind,
            refine: PatternRefinement::$refine,
        },)*]
    };
}

#[rustfmt::skip]
const PATTERNS: &[Pattern] = patterns! {
    // glibc and musl; in any module, since programs link them statically.
    0 "" Mutex Same: "__lll_lock_wait*" "__GI___lll_lock_wait*" "__pthread_mutex_lock*" "___pthread_mutex_lock*"
        "pthread_mutex_*" "__pthread_mutex_*" "__lll_mutex_lock*" "mtx_lock" "mtx_timedlock" "__lock" "__lockfile";
    0 "" ConditionVariable CondVar: "__pthread_cond_wait*" "___pthread_cond_*" "pthread_cond_wait*"
        "pthread_cond_timedwait*" "pthread_cond_clockwait*" "__pthread_cond_timedwait*" "__pthread_cond_clockwait*"
        "cnd_wait" "cnd_timedwait";
    0 "" RwLock RwLock: "__pthread_rwlock_*" "___pthread_rwlock_*" "pthread_rwlock_*";
    0 "" Semaphore Same: "sem_wait*" "sem_timedwait*" "sem_clockwait*" "__new_sem_wait*" "___sem_*" "__sem_*"
        "do_futex_wait*";
    0 "" Barrier Barrier: "pthread_barrier_wait*" "__pthread_barrier_wait*" "___pthread_barrier_wait*";
    0 "" Once Same: "pthread_once" "__pthread_once*" "___pthread_once*" "call_once";
    0 "" ThreadJoin Same: "pthread_join*" "__pthread_join*" "___pthread_join*" "__pthread_clockjoin*"
        "__pthread_timedjoin*" "pthread_timedjoin*" "pthread_clockjoin*" "thrd_join";
    // C++.
    1 "" Once Same: "__cxa_guard_acquire*" "std::call_once*";
    1 "" Futex Same: "std::__atomic_wait*" "std::__atomic_futex_unsigned*" "std::__detail::__platform_wait*";
    1 "" Semaphore Same: "std::counting_semaphore*" "std::__atomic_semaphore*" "std::__platform_semaphore*";
    2 "" Barrier Same: "std::latch*";
    // Its threads sleep on a word of libstdc++'s pool, which many share: the place says which barrier.
    2 "" Barrier Place: "std::barrier*" "std::__tree_barrier*" "std::__atomic_wait_address<std::__barrier_phase_t*"
        "std::__detail::__waiter<*std::__tree_barrier<*";
    // A thread of std::async is joined once.
    2 "" ThreadJoin Same: "std::__future_base::_Async_state_common*";
    // Rust.
    1 "" Mutex Same: "std::sys::sync::mutex::*" "std::sys::*futex_mutex*";
    1 "" RwLock Same: "std::sys::sync::rwlock::*" "std::sys::*futex_rwlock*";
    1 "" ConditionVariable Same: "std::sys::sync::condvar::*" "std::sys::*futex_condvar*";
    // Each thread parks on a word of its own: the place says which lock.
    2 "" Mutex Place: "parking_lot::raw_mutex::*" "*RawMutex::lock*";
    2 "" RwLock Place: "parking_lot::raw_rwlock::*" "*RawRwLock::lock*";
    2 "" ConditionVariable Place: "parking_lot::condvar::*";
    2 "" Mutex Place: "absl::*Mutex::Lock*" "absl::*Mutex::ReaderLock*" "absl::*MutexDelay*";
    // These wait until a condition holds, for which nobody has the mutex.
    2 "" ConditionVariable Place: "absl::*CondVar::Wait*" "absl::*Mutex::Await*" "absl::*Mutex::LockWhen*" "absl::*Mutex::ReaderLockWhen*";
    2 "" Barrier Same: "std::sync::barrier::Barrier>::wait*" "std::sync::barrier::Barrier::wait*";
    1 "" Once Same: "std::sys::sync::once::*" "std::sync::once*" "parking_lot::once::*";
    // Boost makes its shared mutex of a mutex and three condition variables.
    1 "" ConditionVariable Same: "boost::condition_variable*";
    3 "" RwLock Same: "boost::shared_mutex::*" "boost::upgrade_mutex::*";
    3 "" Barrier Same: "boost::barrier::*" "absl::*Barrier::Block*";
    // GLib's own, on words of theirs (gthread-posix.c); its once is made of them.
    1 "" Mutex Same: "g_mutex_lock*" "g_rec_mutex_lock*";
    1 "" ConditionVariable Same: "g_cond_wait" "g_cond_wait_until";
    2 "" Once Same: "g_once_init_enter*" "g_once_impl";
    // OpenMP. Debian strips libgomp: what waits in it waits at a barrier unless a name says otherwise.
    3 "" Mutex Same: "GOMP_critical*" "gomp_mutex_lock*" "omp_set_lock" "omp_set_nest_lock" "GOMP_atomic_start"
        "__kmp_acquire_*lock*" "__kmpc_critical*" "__kmpc_set_lock";
    3 "" OpenMpBarrier Same: "GOMP_barrier*" "GOMP_parallel*" "gomp_barrier_wait*" "gomp_team_barrier_wait*"
        "gomp_thread_start" "gomp_team_end" "GOMP_taskwait" "__kmp_barrier*" "__kmp_join_barrier*"
        "__kmp_fork_barrier*" "__kmp_hyper_barrier*" "__kmp_suspend*" "__kmp_flag*" "kmp_flag*" "__kmp_wait*";
    2 "libgomp.so" OpenMpBarrier Same: "*";
    2 "libomp.so" OpenMpBarrier Same: "*";
    2 "libiomp5.so" OpenMpBarrier Same: "*";
    // oneTBB.
    2 "" TbbScheduler Same: "tbb::detail::r1::*" "tbb::internal::*";
    2 "libtbb.so" TbbScheduler Same: "*";
    // Go.
    2 "" GoRuntime Same: "runtime.futex*" "runtime.notesleep*" "runtime.notetsleep*" "runtime.semasleep*"
        "runtime.lock*" "runtime.stopm*" "runtime.mPark*" "runtime.findRunnable*";
    // The JVM.
    2 "libjvm.so" JvmMonitor Same: "ObjectMonitor::*" "ObjectSynchronizer::*" "Parker::park*" "Unsafe_Park*"
        "PlatformMonitor::*" "Monitor::*" "Mutex::*" "os::PlatformEvent::*" "PlatformEvent::*" "JVM_MonitorWait*"
        "*";
    // What it waits for itself, and nobody holds.
    3 "libjvm.so" ConditionVariable Same: "os::PlatformMonitor::wait*" "PlatformMonitor::wait*" "Monitor::wait*";
    3 "libjvm.so" Semaphore Same: "PosixSemaphore::*" "Semaphore::wait*";
    // Each Java thread waits on a word of its own: the place says which monitor. `wait` takes the monitor again at its end.
    4 "libjvm.so" JvmMonitor Place: "ObjectMonitor::enter*" "ObjectMonitor::EnterI*" "ObjectMonitor::ReenterI*"
        "ObjectSynchronizer::enter*";
    4 "libjvm.so" ConditionVariable Place: "ObjectMonitor::wait*" "ObjectSynchronizer::wait*";
    4 "libjvm.so" Sleep Place: "JavaThread::sleep*" "JVM_Sleep*" "os::sleep*";
    // Futures, queues, pools and latches park threads, too, and nobody holds these: only locks are locks.
    4 "libjvm.so" ConditionVariable Place: "Parker::park*" "Unsafe_Park*";
    5 "[jit] " JvmMonitor Place: "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire*"
        "java.util.concurrent.locks.AbstractQueuedLongSynchronizer.acquire*" "java.util.concurrent.locks.StampedLock.*";
    6 "[jit] " ConditionVariable Place: "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await*"
        "java.util.concurrent.CountDownLatch.await*" "java.util.concurrent.SynchronousQueue*";
    6 "[jit] " Semaphore Place: "java.util.concurrent.Semaphore.*acquire*";
    6 "[jit] " ThreadJoin Place: "java.lang.Thread.join*";
    // Made of a lock and its condition.
    7 "[jit] " Barrier Place: "java.util.concurrent.CyclicBarrier.*" "java.util.concurrent.Phaser.*";
    // CPython. Whoever takes the GIL waits for nothing else, whatever its Python functions are called.
    5 "" Gil Same: "take_gil*" "_PyThreadState_Attach*" "PyEval_RestoreThread" "PyEval_AcquireThread" "PyGILState_Ensure";
    1 "" Mutex Same: "PyThread_acquire_lock*";
    2 "" Mutex Place: "_PyParkingLot*" "_PySemaphore_Wait*" "PyMutex_Lock*" "_PyMutex_Lock*" "_PyRawMutex_Lock*";
    // Ruby. Each thread waits on a word of its own, for everything: the place says what for.
    4 "libruby" Mutex Place: "rb_mutex_lock*" "rb_mutex_synchronize*";
    5 "libruby" ConditionVariable Place: "rb_mutex_sleep*";
    // The lock that all share: after its turn, and after a call without it (thread.c, thread_pthread.c).
    3 "libruby" Gil Same: "rb_threadptr_execute_interrupts*" "rb_thread_schedule*" "rb_nogvl*" "rb_thread_call_without_gvl*"
        "rb_thread_io_blocking_*" "rb_wait_for_single_fd*" "rb_thread_wait_for_single_fd*" "rb_thread_fd_*" "rb_thread_wait_fd*"
        "rb_io_wait*" "rb_io_maybe_wait*" "rb_waitpid*" "gvl_acquire*" "thread_sched_to_running*" "thread_sched_wait_running*" "thread_sched_yield*";
    4 "libruby" Sleep Place: "rb_thread_wait_for*" "rb_thread_sleep*" "sleep_hrtime*" "rb_f_sleep*";
    // PostgreSQL's lightweight locks: each process waits on a semaphore of its own.
    3 "postgres" RwLock Place: "LWLockAcquire*" "LWLockWaitForVar" "LWLockAcquireOrWait" "PGSemaphoreLock";
    // Python's own library, by its source; before 3.11 functions have no class. Threads end by giving back a lock.
    3 "[python library] threading" ConditionVariable Place: "Condition.wait*" "Event.wait" "wait" "wait_for";
    4 "[python library] threading" Semaphore Place: "Semaphore.acquire" "acquire";
    4 "[python library] threading" Barrier Place: "Barrier.*" "_enter" "_wait";
    4 "[python library] threading" ThreadJoin Place: "Thread.join" "Thread._wait_for_tstate_lock" "join"
        "_wait_for_tstate_lock" "_shutdown";
    3 "[python library] futures" ConditionVariable Place: "_worker";
    3 "" ConditionVariable Place: "_queue_SimpleQueue_get*";
};

/// CPython's main interpreter, whose GIL's mutex and condition variable lie in it.
const CPYTHON_STATE: &str = "_PyRuntime";

/// The functions of CPython that take or give up the GIL, with what it inlines them into.
const GIL_USERS: &[&str] = &[
    "take_gil*",
    "drop_gil*",
    "PyEval_RestoreThread*",
    "PyEval_SaveThread*",
    "PyEval_AcquireThread*",
    "PyEval_ReleaseThread*",
    "_PyEval_*",
    "_PyThreadState_Attach*",
    "_PyThreadState_Detach*",
    "PyGILState_Ensure*",
];

/// Whether a wait on the data symbol `symbol` is on CPython's GIL: the first function with a name outside the C library
/// is one that takes it. Its own `take_gil` is often inlined or without a name.
pub fn is_gil<'a>(symbol: &str, mut callers: impl Iterator<Item = Caller<'a>>) -> bool {
    symbol == CPYTHON_STATE
        && callers
            .find(|caller| !caller.is_libc() && !caller.function.starts_with('['))
            .is_some_and(|caller| caller.matches(GIL_USERS))
}

/// The C library's files.
const LIBC: &[&str] = &["libc.so", "libc-2", "libpthread", "ld-musl"];

/// What stands for the file of Python's library that makes locks into conditions, events, semaphores and joins.
pub const PYTHON_THREADING: &str = "[python library] threading";

/// What stands for the files of Python's standard library.
pub const PYTHON_LIBRARY: &str = "[python library]";

/// Those of its files whose functions are in the table, by the end of the path, and what stands for them.
const PYTHON_FILES: &[(&str, &str)] =
    &[("/threading.py", PYTHON_THREADING), ("/concurrent/futures/thread.py", "[python library] futures")];

/// What stands for a file of Python's standard library.
pub fn python_module(path: &str) -> &'static str {
    PYTHON_FILES.iter().find(|(end, _)| path.ends_with(end)).map_or(PYTHON_LIBRARY, |(_, module)| module)
}

/// Libraries whose frames are not the program's own code.
const RUNTIMES: &[&str] = &[
    "libc.so",
    "libc-2",
    "libpthread",
    "librt.so",
    "librt-2",
    "ld-linux",
    "ld-musl",
    "libstdc++.so",
    "libc++.so",
    "libgcc_s.so",
    "libgomp.so",
    "libomp.so",
    "libiomp5.so",
    "libtbb.so",
    "libjvm.so",
    "libpython",
    "python3",
    "libruby",
    "libphp",
    "php",
    PYTHON_LIBRARY,
    "[vdso]",
];

/// Functions of runtimes that programs contain themselves: static libraries, the Rust and Go runtimes.
#[rustfmt::skip]
const RUNTIME_FUNCTIONS: &[&str] = &[
    "std::sys::*", "std::sys_common::*", "std::thread::*", "std::sync::*", "std::panic*", "std::rt::*", "__rust_*", "core::*", "alloc::*",
    "std::__*", "std::this_thread::*", "std::condition_variable*", "std::mutex::*", "std::unique_lock*", "std::lock_guard*",
    "std::scoped_lock*", "std::shared_lock*", "std::shared_mutex*", "std::timed_mutex*", "std::thread::*", "std::future*",
    "__gthread_*", "parking_lot::*", "parking_lot_core::*", "lock_api::*", "dashmap::lock::*", "runtime.*", "sync.*", "time.Sleep*",
    "internal/*", "tbb::*", "__kmp*", "GOMP_*", "gomp_*", "nanosleep", "__nanosleep*", "__GI_*", "clock_nanosleep*", "__clock_nanosleep*",
    "usleep", "sleep", "__sleep*", "thrd_sleep", "__futex_*", "futex_wait*", "__lll_*", "lll_*", "__timedwait*",
    "__syscall*", "syscall", "__libc_*", "time_sleep", "pysleep", "AbslInternal*", "absl::*Mutex::*", "absl::*CondVar::*",
    "absl::*synchronization_internal::*", "absl::*base_internal::*", "boost::condition_variable*", "boost::posix::*", "boost::mutex::*", "boost::shared_mutex::*",
    "boost::upgrade_mutex::*", "boost::unique_lock*", "boost::shared_lock*", "boost::lock_guard*", "boost::this_thread::*",
];

/// Java's standard library, in the modules of run-time code.
const JAVA_LIBRARY: &[&str] = &["java.*", "javax.*", "jdk.*", "sun.*", "com.sun.*"];

/// A user frame, as the table sees it.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// Base name of its module, empty when unknown.
    pub module: &'a str,
    /// Its function.
    pub function: &'a str,
}

impl Caller<'_> {
    /// Whether it is the runtime's own code.
    pub fn is_runtime(self) -> bool {
        RUNTIMES.iter().any(|runtime| self.module.starts_with(runtime)) || self.matches(RUNTIME_FUNCTIONS)
    }

    /// Whether it is of Java's standard library.
    fn is_java_library(self) -> bool {
        self.module.starts_with("[jit] ") && self.matches(JAVA_LIBRARY)
    }

    /// Whether its function is unknown although its module is the C library.
    pub fn is_nameless_libc(self) -> bool {
        self.is_libc() && self.function.starts_with('[')
    }

    /// Whether it is the C library's.
    pub fn is_libc(self) -> bool {
        LIBC.iter().any(|name| self.module.starts_with(name))
    }

    /// Whether its function has one of the names, in which `*` stands for any characters.
    pub fn matches(self, names: &[&str]) -> bool {
        names.iter().any(|name| name_matches(name, self.function))
    }
}

impl Pattern {
    fn fits(&self, caller: Caller<'_>) -> bool {
        (self.module.is_empty() || caller.module.starts_with(self.module)) && caller.matches(self.functions)
    }
}

/// `*` stands for any characters, at the end or between two parts.
fn name_matches(name: &str, function: &str) -> bool {
    // `<std::sys::sync::mutex::futex::Mutex>::lock` is how Rust writes methods.
    let function = if name.starts_with('<') { function } else { function.trim_start_matches('<') };
    // The star of `(*DB)` is Go's.
    let star = name.match_indices('*').find(|(at, _)| !name[..*at].ends_with('(')).map(|(at, _)| at);
    match star.map(|at| (&name[..at], &name[at + 1..])) {
        None => function == name || function.strip_prefix(name).is_some_and(|rest| rest.starts_with(['(', '.', '@'])),
        Some((prefix, "")) => function.starts_with(prefix),
        Some((prefix, rest)) => {
            let inner = rest.trim_end_matches('*');
            function.strip_prefix(prefix).is_some_and(|after| after.contains(inner))
        }
    }
}

/// What a wait is on, as the frames tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecognisedPattern {
    /// The type of the object.
    pub kind: ObjectType,
    /// How to find its address.
    pub refine: PatternRefinement,
    /// Whether the futex is one of a C library's lock that knows its owner.
    pub has_owner: bool,
}

/// What the frames of a wait, leaf first, say of its object. The innermost function knows its memory, the most telling
/// one what it is for: the GIL is made of a condition variable.
pub fn recognise<'a>(callers: impl Iterator<Item = Caller<'a>>) -> Option<RecognisedPattern> {
    let mut best: Option<&Pattern> = None;
    let mut innermost: Option<&Pattern> = None;
    for caller in callers {
        let found = PATTERNS.iter().filter(|pattern| pattern.fits(caller)).max_by_key(|pattern| pattern.rank);
        if found.is_none() && !caller.is_runtime() && !caller.is_java_library() {
            break;
        }
        innermost = innermost.or(found);
        if let Some(pattern) = found.filter(|pattern| best.is_none_or(|best| pattern.rank > best.rank)) {
            best = Some(pattern);
        }
    }
    let best = best?;
    let innermost = innermost?;
    let refine = if best.refine == PatternRefinement::Place { PatternRefinement::Place } else { innermost.refine };
    let has_owner = innermost.rank == C_LIBRARY && matches!(innermost.kind, ObjectType::Mutex | ObjectType::RwLock);
    Some(RecognisedPattern { kind: best.kind, refine, has_owner })
}

/// Whether a frame belongs to a runtime rather than to the program.
pub fn is_library(caller: Caller<'_>) -> bool {
    caller.is_runtime() || caller.is_java_library() || PATTERNS.iter().any(|pattern| pattern.fits(caller))
}

#[cfg(test)]
mod tests;
