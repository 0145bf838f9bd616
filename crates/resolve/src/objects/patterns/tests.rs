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
    assert!(!is_own("[jit] java", "java.lang.Thread.sleep") && !is_own("[jit] app", "jdk.internal.misc.Unsafe.park"));
    assert!(is_own("[jit] java", "com.example.Pool.take") && is_own("app", "java.lang.Thread.sleep"));
}

#[test]
fn the_more_telling_runtime_wins() {
    use ObjectType::*;
    assert_eq!(kind("libc.so.6 pthread_cond_wait\nlibjvm.so Parker::park(bool, long)\napp f"), Some(ConditionVariable));
    assert_eq!(kind("libc.so.6 pthread_cond_timedwait\npython3.11 take_gil\npython3.11 _PyEval"), Some(Gil));
    let ruby = |takes: &str| {
        kind(&format!(
            "libc.so.6 pthread_cond_wait\nlibruby-3.1.so.3.1.2 rb_native_cond_wait\nlibruby-3.1.so.3.1.2 {takes}"
        ))
    };
    assert_eq!(ruby("rb_threadptr_execute_interrupts"), Some(Gil));
    assert_eq!(ruby("rb_mutex_lock"), Some(Mutex));
    assert_eq!(kind("libc.so.6 syscall\nlibgomp.so.1 [libgomp.so.1]+0x1d4f2\napp f"), Some(OpenMpBarrier));
    assert_eq!(kind("libgomp.so.1 gomp_mutex_lock_slow\nlibgomp.so.1 GOMP_critical_start"), Some(Mutex));
    assert_eq!(kind("libc.so.6 syscall\nlibtbb.so.12 tbb::detail::r1::wait(x)\napp f"), Some(TbbScheduler));
}

#[test]
fn rust_waits_are_told_apart() {
    let lock = "libc.so.6 syscall\napp std::sys::pal::unix::futex::futex_wait\napp <std::sys::sync::mutex::futex::Mutex>::lock";
    assert_eq!(kind(lock), Some(ObjectType::Mutex));
    let wait = "libc.so.6 syscall\napp <std::sys::sync::condvar::futex::Condvar>::wait_optional_timeout\napp app::main";
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
        (
            threading,
            &["Thread._wait_for_tstate_lock", "Thread.join"],
            (ObjectType::ThreadJoin, PatternRefinement::Place),
        ),
        (threading, &["join"], (ObjectType::ThreadJoin, PatternRefinement::Place)),
        (threading, &["Condition.wait", "Event.wait"], (ObjectType::ConditionVariable, PatternRefinement::Place)),
        (threading, &["Condition.wait", "Semaphore.acquire"], (ObjectType::Semaphore, PatternRefinement::Place)),
        (threading, &["Condition.wait", "Barrier._wait"], (ObjectType::Barrier, PatternRefinement::Place)),
        ("/usr/lib/python3.11/logging/__init__.py", &["wait"], (ObjectType::Mutex, PatternRefinement::Same)),
        (threading, &[], (ObjectType::Mutex, PatternRefinement::Same)),
    ];
    for (path, functions, (kind, refine)) in cases {
        let (found_kind, found_refine) = found(path, functions).expect("a pattern");
        assert_eq!(found_kind, kind, "{path} {functions:?}");
        assert_eq!(
            found_refine == PatternRefinement::Place,
            refine == PatternRefinement::Place,
            "{path} {functions:?}"
        );
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
    assert_eq!((lock.kind, lock.refine), (Mutex, PatternRefinement::Place));
    let wait = found("absl::debian3::CondVar::Wait").unwrap();
    assert_eq!(wait.kind, ConditionVariable);
}

#[test]
fn a_boost_shared_mutex_is_no_condition_variable() {
    use ObjectType::*;
    let wait = "libc.so.6 pthread_cond_wait\napp boost::posix::pthread_cond_wait\napp boost::condition_variable::wait";
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
    assert_eq!(
        found,
        Some(RecognisedPattern { kind: ObjectType::Gil, refine: PatternRefinement::CondVar, has_owner: false })
    );
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
    assert_eq!(PatternRefinement::CondVar.base(0x1c8), 0x1a0);
    assert_eq!(PatternRefinement::CondVar.base(0x1cc), 0x1a0);
    assert_eq!(PatternRefinement::RwLock.base(0x168), 0x160);
    assert_eq!(PatternRefinement::RwLock.base(0x16c), 0x160);
    assert_eq!(PatternRefinement::Barrier.base(0x124), 0x120);
    assert_eq!(PatternRefinement::CondVar.base(8), 0);
}

#[test]
fn java_threads_park_for_locks_and_for_others() {
    let under = |library: &[&str]| {
        let native = ["Parker::park", "Unsafe_Park"].map(|function| Caller { module: "libjvm.so", function });
        let names: Vec<String> = library.iter().map(|name| format!("java.util.concurrent.{name}")).collect();
        let java = names.iter().map(|function| Caller { module: "[jit] shop", function });
        let own = Caller { module: "[jit] shop", function: "shop.Cart.add" };
        recognise(native.into_iter().chain(java).chain([own])).map(|found| found.kind)
    };
    let acquire = "locks.AbstractQueuedSynchronizer.acquire";
    assert_eq!(under(&["locks.LockSupport.park", "FutureTask.awaitDone"]), Some(ObjectType::ConditionVariable));
    assert_eq!(under(&["locks.LockSupport.park", acquire]), Some(ObjectType::JvmMonitor));
    let await_ = "locks.AbstractQueuedSynchronizer$ConditionObject.await";
    assert_eq!(under(&[acquire, await_]), Some(ObjectType::ConditionVariable));
    assert_eq!(under(&[acquire, "Semaphore.acquire"]), Some(ObjectType::Semaphore));
}
