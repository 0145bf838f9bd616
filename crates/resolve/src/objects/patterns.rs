//! Which function of which runtime library means which kind of object: one table.
//!
//! A futex is only an address; the library functions between it and the program's own code say what it belongs to. The
//! frames are looked through from the leaf outwards, as far as they belong to a runtime. A more telling runtime wins
//! over a plainer one (a pthread condition variable inside the JVM is the JVM's); among equals the innermost does (the
//! mutex that `pthread_cond_wait` takes again is a mutex).

use dwell_model::ObjectType;

/// How the address of the futex leads to the object's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refine {
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

impl Refine {
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
    /// that is made of those, 5 one that waits for a single thing.
    rank: u8,
    /// Beginning of the module's base name; empty for any module.
    module: &'static str,
    /// Names of functions; `*` at the end stands for any rest.
    functions: &'static [&'static str],
    /// The type of the object.
    kind: ObjectType,
    /// How to find its address.
    refine: Refine,
}

macro_rules! patterns {
    ($($rank:literal $module:literal $kind:ident $refine:ident: $($function:literal)*;)*) => {
        &[$(Pattern {
            rank: $rank,
            module: $module,
            functions: &[$($function,)*],
            kind: ObjectType::$kind,
            refine: Refine::$refine,
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
    1 "" Barrier Same: "std::barrier*" "std::__tree_barrier*" "std::latch*";
    // Rust.
    1 "" Mutex Same: "std::sys::sync::mutex::*" "std::sys::*futex_mutex*";
    1 "" RwLock Same: "std::sys::sync::rwlock::*" "std::sys::*futex_rwlock*";
    1 "" ConditionVariable Same: "std::sys::sync::condvar::*" "std::sys::*futex_condvar*";
    // Each thread parks on a word of its own: the place says which lock.
    2 "" Mutex Place: "parking_lot::raw_mutex::*";
    2 "" RwLock Place: "parking_lot::raw_rwlock::*";
    2 "" ConditionVariable Place: "parking_lot::condvar::*";
    2 "" Mutex Place: "absl::*Mutex::Lock*" "absl::*Mutex::ReaderLock*" "absl::*MutexDelay*";
    2 "" ConditionVariable Place: "absl::*CondVar::Wait*" "absl::*Mutex::Await*";
    1 "" Once Same: "std::sys::sync::once::*" "std::sync::once*" "parking_lot::once::*";
    // Boost makes its shared mutex of a mutex and three condition variables.
    1 "" ConditionVariable Same: "boost::condition_variable*";
    3 "" RwLock Same: "boost::shared_mutex::*" "boost::upgrade_mutex::*";
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
    // CPython. Whoever takes the GIL waits for nothing else, whatever its Python functions are called.
    5 "" Gil Same: "take_gil*" "_PyThreadState_Attach*" "PyEval_RestoreThread" "PyEval_AcquireThread" "PyGILState_Ensure";
    1 "" Mutex Same: "PyThread_acquire_lock*";
    2 "" Mutex Place: "_PyParkingLot*" "_PySemaphore_Wait*" "PyMutex_Lock*" "_PyMutex_Lock*" "_PyRawMutex_Lock*";
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
    PYTHON_LIBRARY,
    "[vdso]",
];

/// Functions of runtimes that programs contain themselves: static libraries, the Rust and Go runtimes.
#[rustfmt::skip]
const RUNTIME_FUNCTIONS: &[&str] = &[
    "std::sys::*", "std::sys_common::*", "std::thread::*", "std::sync::*", "std::panic*", "std::rt::*", "__rust_*", "core::*", "alloc::*",
    "std::__*", "std::this_thread::*", "std::condition_variable*", "std::mutex::*", "std::unique_lock*", "std::lock_guard*",
    "std::scoped_lock*", "std::shared_lock*", "std::shared_mutex*", "std::timed_mutex*", "std::thread::*", "std::future*",
    "__gthread_*", "parking_lot::*", "parking_lot_core::*", "lock_api::*", "runtime.*", "sync.*", "time.Sleep*",
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
    match name.split_once('*') {
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
pub struct Recognised {
    /// The type of the object.
    pub kind: ObjectType,
    /// How to find its address.
    pub refine: Refine,
    /// Whether the futex is one of a C library's lock that knows its owner.
    pub has_owner: bool,
}

/// What the frames of a wait, leaf first, say of its object. The innermost function knows its memory, the most telling
/// one what it is for: the GIL is made of a condition variable.
pub fn recognise<'a>(callers: impl Iterator<Item = Caller<'a>>) -> Option<Recognised> {
    let mut best: Option<&Pattern> = None;
    let mut innermost: Option<&Pattern> = None;
    for caller in callers {
        let found = PATTERNS.iter().filter(|pattern| pattern.fits(caller)).max_by_key(|pattern| pattern.rank);
        if found.is_none() && !caller.is_runtime() {
            break;
        }
        innermost = innermost.or(found);
        if let Some(pattern) = found.filter(|pattern| best.is_none_or(|best| pattern.rank > best.rank)) {
            best = Some(pattern);
        }
    }
    let best = best?;
    let innermost = innermost?;
    let refine = if best.refine == Refine::Place { Refine::Place } else { innermost.refine };
    let has_owner = innermost.rank == C_LIBRARY && matches!(innermost.kind, ObjectType::Mutex | ObjectType::RwLock);
    Some(Recognised { kind: best.kind, refine, has_owner })
}

/// Whether a frame belongs to a runtime rather than to the program.
pub fn is_library(caller: Caller<'_>) -> bool {
    let is_java = || caller.module.starts_with("[jit] ") && caller.matches(JAVA_LIBRARY);
    caller.is_runtime() || is_java() || PATTERNS.iter().any(|pattern| pattern.fits(caller))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `module function` per line, leaf first.
    fn kind(stack: &str) -> Option<ObjectType> {
        let callers = stack.lines().map(|line| {
            let (module, function) = line.trim().split_once(' ').expect("module function");
            Caller { module, function }
        });
        recognise(callers).map(|found| found.kind)
    }

    #[test]
    fn the_stacks_of_glibc_2_36() {
        use ObjectType::*;
        let stacks = [
            ("libc.so.6 __lll_lock_wait\nlibc.so.6 ___pthread_mutex_lock\napp main", Mutex),
            ("libc.so.6 [libc.so.6]+0x8912b\nlibc.so.6 pthread_mutex_lock\napp main", Mutex),
            ("libc.so.6 [libc.so.6]+0x88f16\nlibc.so.6 pthread_cond_timedwait\napp main", ConditionVariable),
            ("libc.so.6 __lll_lock_wait\nlibc.so.6 __pthread_mutex_cond_lock\nlibc.so.6 pthread_cond_wait", Mutex),
            ("libc.so.6 __futex_abstimed_wait64\nlibc.so.6 ___pthread_rwlock_rdlock\napp main", RwLock),
            ("libc.so.6 __futex_abstimed_wait_common\nlibc.so.6 do_futex_wait.constprop.0\napp main", Semaphore),
            ("libc.so.6 pthread_barrier_wait\napp main", Barrier),
            ("libc.so.6 futex_wait\nlibc.so.6 __pthread_once_slow\napp main", Once),
            ("libc.so.6 __futex_abstimed_wait_common\nlibc.so.6 __pthread_clockjoin_ex\napp main", ThreadJoin),
        ];
        for (stack, expected) in stacks {
            assert_eq!(kind(stack), Some(expected), "{stack}");
        }
    }

    #[test]
    fn java_has_a_library_of_its_own() {
        let is_own = |module, function| !is_library(Caller { module, function });
        assert!(
            !is_own("[jit] java", "java.lang.Thread.sleep") && !is_own("[jit] app", "jdk.internal.misc.Unsafe.park")
        );
        assert!(is_own("[jit] java", "com.example.Pool.take") && is_own("app", "java.lang.Thread.sleep"));
    }

    #[test]
    fn the_more_telling_runtime_wins() {
        use ObjectType::*;
        assert_eq!(kind("libc.so.6 pthread_cond_wait\nlibjvm.so Parker::park(bool, long)\napp f"), Some(JvmMonitor));
        assert_eq!(kind("libc.so.6 pthread_cond_timedwait\npython3.11 take_gil\npython3.11 _PyEval"), Some(Gil));
        assert_eq!(kind("libc.so.6 syscall\nlibgomp.so.1 [libgomp.so.1]+0x1d4f2\napp f"), Some(OpenMpBarrier));
        assert_eq!(kind("libgomp.so.1 gomp_mutex_lock_slow\nlibgomp.so.1 GOMP_critical_start"), Some(Mutex));
        assert_eq!(kind("libc.so.6 syscall\nlibtbb.so.12 tbb::detail::r1::wait(x)\napp f"), Some(TbbScheduler));
    }

    #[test]
    fn rust_waits_are_told_apart() {
        let lock = "libc.so.6 syscall\napp std::sys::pal::unix::futex::futex_wait\napp <std::sys::sync::mutex::futex::Mutex>::lock";
        assert_eq!(kind(lock), Some(ObjectType::Mutex));
        let wait =
            "libc.so.6 syscall\napp <std::sys::sync::condvar::futex::Condvar>::wait_optional_timeout\napp app::main";
        assert_eq!(kind(wait), Some(ObjectType::ConditionVariable));
    }

    #[test]
    fn pythons_own_library_is_told_by_its_source() {
        let found = |path: &str, functions: &[&str]| {
            let native = Caller { module: "libc.so.6", function: "sem_wait" };
            let lock = Caller { module: "python3.11", function: "PyThread_acquire_lock_timed" };
            let library = functions.iter().map(|&function| Caller { module: python_module(path), function });
            let own = Caller { module: "app.py", function: "" };
            recognise([native, lock].into_iter().chain(library).chain([own])).map(|found| (found.kind, found.refine))
        };
        let threading = "/usr/lib/python3.11/threading.py";
        let cases: [(&str, &[&str], _); 7] = [
            (threading, &["Thread._wait_for_tstate_lock", "Thread.join"], (ObjectType::ThreadJoin, Refine::Place)),
            (threading, &["join"], (ObjectType::ThreadJoin, Refine::Place)),
            (threading, &["Condition.wait", "Event.wait"], (ObjectType::ConditionVariable, Refine::Place)),
            (threading, &["Condition.wait", "Semaphore.acquire"], (ObjectType::Semaphore, Refine::Place)),
            (threading, &["Condition.wait", "Barrier._wait"], (ObjectType::Barrier, Refine::Place)),
            ("/usr/lib/python3.11/logging/__init__.py", &["wait"], (ObjectType::Mutex, Refine::Same)),
            (threading, &[], (ObjectType::Mutex, Refine::Same)),
        ];
        for (path, functions, (kind, refine)) in cases {
            let (found_kind, found_refine) = found(path, functions).expect("a pattern");
            assert_eq!(found_kind, kind, "{path} {functions:?}");
            assert_eq!(found_refine == Refine::Place, refine == Refine::Place, "{path} {functions:?}");
        }
    }

    #[test]
    fn a_java_monitor_is_known_by_its_place() {
        use ObjectType::*;
        let park = "libc.so.6 pthread_cond_wait\nlibjvm.so os::PlatformEvent::park()\n";
        let kind = |callers: &str| kind(&format!("{park}{callers}\napp f"));
        assert_eq!(
            kind("libjvm.so ObjectMonitor::EnterI(JavaThread*)\nlibjvm.so ObjectMonitor::enter(JavaThread*)"),
            Some(JvmMonitor)
        );
        assert_eq!(kind("libjvm.so ObjectMonitor::wait(long, bool, JavaThread*)"), Some(ConditionVariable));
        assert_eq!(kind("libjvm.so ObjectMonitor::ReenterI(x)\nlibjvm.so ObjectMonitor::wait(x)"), Some(JvmMonitor));
        assert_eq!(kind("libjvm.so JavaThread::sleep(long)\nlibjvm.so JVM_Sleep"), Some(Sleep));
    }

    #[test]
    fn a_lock_behind_parking_is_known_by_its_place() {
        use ObjectType::*;
        let parked = "libc.so.6 syscall\nlibabsl_synchronization.so.20220623.0.0 absl::debian3::synchronization_internal::Waiter::Wait\n\
                      libabsl_synchronization.so.20220623.0.0 AbslInternalPerThreadSemWait_debian3\n\
                      libabsl_synchronization.so.20220623.0.0 absl::debian3::Mutex::Block";
        let found = |last: &str| {
            let stack = format!("{parked}\napp {last}\napp main");
            let callers = stack.lines().filter_map(|line| line.trim().split_once(' '));
            recognise(callers.map(|(module, function)| Caller { module, function }))
        };
        let lock = found("absl::debian3::Mutex::Lock").unwrap();
        assert_eq!((lock.kind, lock.refine), (Mutex, Refine::Place));
        let wait = found("absl::debian3::CondVar::Wait").unwrap();
        assert_eq!(wait.kind, ConditionVariable);
    }

    #[test]
    fn a_boost_shared_mutex_is_no_condition_variable() {
        use ObjectType::*;
        let wait =
            "libc.so.6 pthread_cond_wait\napp boost::posix::pthread_cond_wait\napp boost::condition_variable::wait";
        assert_eq!(kind(&format!("{wait}\napp boost::shared_mutex::lock\napp f")), Some(RwLock));
        assert_eq!(kind(&format!("{wait}\napp f")), Some(ConditionVariable));
    }

    #[test]
    fn nobody_holds_what_the_jvm_waits_for_itself() {
        use ObjectType::*;
        let wait = "libc.so.6 pthread_cond_timedwait64\nlibjvm.so os::PlatformMonitor::wait(long)\nlibjvm.so Monitor::wait_without_safepoint_check";
        assert_eq!(kind(&format!("{wait}\nlibjvm.so VMThread::wait_for_operation()")), Some(ConditionVariable));
        assert_eq!(
            kind("libc.so.6 __new_sem_wait_slow64\nlibjvm.so PosixSemaphore::wait()\nlibjvm.so GangWorker::loop()"),
            Some(Semaphore)
        );
        assert_eq!(kind("libc.so.6 pthread_mutex_lock\nlibjvm.so Mutex::lock_contended(Thread*)"), Some(JvmMonitor));
    }

    #[test]
    fn the_innermost_function_knows_the_memory() {
        let frames = [("libc.so.6", "pthread_cond_timedwait"), ("python3.11", "take_gil")];
        let found = recognise(frames.into_iter().map(|(module, function)| Caller { module, function }));
        assert_eq!(found, Some(Recognised { kind: ObjectType::Gil, refine: Refine::CondVar, has_owner: false }));
    }

    #[test]
    fn the_gil_is_known_by_its_memory_and_its_users() {
        let gil = |symbol: &str, frames: &[(&'static str, &'static str)]| {
            is_gil(symbol, frames.iter().map(|&(module, function)| Caller { module, function }))
        };
        let inlined = [("libc.so.6", "pthread_cond_timedwait"), ("python3.11", "_PyEval_EvalFrameDefault")];
        let stripped = [
            ("libc.so.6", "[libc.so.6]+0x88f16"),
            ("python3.11", "[python3.11]+0x1234"),
            ("python3.11", "PyEval_RestoreThread"),
        ];
        let other = [("libc.so.6", "pthread_mutex_lock"), ("python3.11", "PyInterpreterState_Clear")];
        assert!(gil("_PyRuntime", &inlined));
        assert!(gil("_PyRuntime", &stripped));
        assert!(!gil("_PyRuntime", &other));
        assert!(!gil("other_lock", &inlined));
    }

    #[test]
    fn a_lock_far_outside_says_nothing() {
        assert_eq!(kind("app my_wait\nlibc.so.6 pthread_once\napp main"), None);
        assert_eq!(kind("libc.so.6 syscall\napp my_lock\nlibc.so.6 pthread_once"), None);
    }

    #[test]
    fn addresses_lead_to_the_object() {
        assert_eq!(Refine::CondVar.base(0x1c8), 0x1a0);
        assert_eq!(Refine::CondVar.base(0x1cc), 0x1a0);
        assert_eq!(Refine::RwLock.base(0x168), 0x160);
        assert_eq!(Refine::RwLock.base(0x16c), 0x160);
        assert_eq!(Refine::Barrier.base(0x124), 0x120);
        assert_eq!(Refine::CondVar.base(8), 0);
    }
}
