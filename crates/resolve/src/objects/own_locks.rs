//! Locks of a program's own that its threads wait for in another call, such as a poll: each waits to be told.

use dwell_model::ObjectType;

use super::patterns::Caller;

/// Such a lock.
struct OwnLock {
    /// Beginning of the base name of the module that has it.
    module: &'static str,
    /// The functions of the lock.
    functions: &'static [&'static str],
    kind: ObjectType,
    /// What it is called, before the place that it is taken in.
    name: &'static str,
}

#[rustfmt::skip]
const OWN: &[OwnLock] = &[
    // src/backend/storage/lmgr: ProcSleep waits for the latch, LockAcquire is what is wanted.
    OwnLock { module: "postgres", functions: &["ProcSleep", "LockAcquire*"], kind: ObjectType::Mutex, name: "PostgreSQL lock" },
    OwnLock { module: "postgres", functions: &["ConditionVariableSleep", "ConditionVariableTimedSleep"], kind: ObjectType::ConditionVariable,
          name: "PostgreSQL condition variable" },
    // Threads stand until the virtual machine has collected garbage, changed code, …
    OwnLock { module: "libjvm.so", functions: &["InstanceKlass::initialize_impl*"], kind: ObjectType::Once, name: "class initialization" },
    OwnLock { module: "libjvm.so", functions: &["SafepointSynchronize::block*", "LinuxWaitBarrier::wait*", "VMThread::wait_until_executed*"], kind: ObjectType::Event,
          name: "JVM safepoint" },
    // sql/mdl.cc, storage/innobase/lock/lock0lock.cc (MySQL 5.7: lock0wait.cc), mysys/thr_lock.c: each session waits on a condition of its own.
    OwnLock { module: "mariadbd", functions: &["MDL_wait::timed_wait"], kind: ObjectType::RwLock, name: "metadata lock" },
    OwnLock { module: "mariadbd", functions: &["lock_wait"], kind: ObjectType::RwLock, name: "InnoDB lock" },
    OwnLock { module: "mariadbd", functions: &["thr_lock", "thr_multi_lock"], kind: ObjectType::RwLock, name: "table lock" },
    OwnLock { module: "mysqld", functions: &["MDL_wait::timed_wait"], kind: ObjectType::RwLock, name: "metadata lock" },
    OwnLock { module: "mysqld", functions: &["lock_wait_suspend_thread"], kind: ObjectType::RwLock, name: "InnoDB lock" },
    OwnLock { module: "mysqld", functions: &["thr_lock", "thr_multi_lock"], kind: ObjectType::RwLock, name: "table lock" },
    OwnLock { module: "postgres", functions: &["SyncRepWaitForLSN"], kind: ObjectType::ConditionVariable, name: "PostgreSQL synchronous replication" },
];

/// Frames from the leaf in which such a lock is looked for.
const OWN_DEPTH: usize = 12;

/// The lock of the program's own that a thread with these callers, leaf first, waits for: its type, and its name with the
/// function that takes it.
pub fn own_lock<'a>(callers: impl Iterator<Item = Caller<'a>>) -> Option<(ObjectType, String)> {
    let callers: Vec<Caller<'_>> = callers.take(OWN_DEPTH).collect();
    let is_of =
        |own: &OwnLock, caller: &Caller<'_>| caller.module.starts_with(own.module) && caller.matches(own.functions);
    let own = OWN.iter().find(|own| callers.iter().any(|caller| is_of(own, caller)))?;
    let outermost = callers.iter().rposition(|caller| is_of(own, caller))?;
    let taken_in = callers.get(outermost + 1).map_or("unknown code", |caller| caller.function);
    Some((own.kind, format!("{} in {taken_in}", own.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_own_lock_is_known_by_what_takes_it() {
        let of = |module: &'static str, stack: &str| {
            own_lock(stack.split(' ').map(|function| Caller { module, function })).map(|(_, name)| name)
        };
        let own = |stack: &str| of("postgres", stack);
        let row = "epoll_wait WaitEventSetWait WaitLatch ProcSleep [postgres]+0x45d95d LockAcquireExtended XactLockTableWait heap_update";
        assert_eq!(own(row).as_deref(), Some("PostgreSQL lock in XactLockTableWait"));
        assert_eq!(own("epoll_wait WaitEventSetWait WaitLatch pg_sleep"), None);
        assert_eq!(of("app", "epoll_wait LockAcquire main"), None, "another program's");
        let row = "pthread_cond_timedwait lock_wait(que_thr_t*) row_mysql_handle_errors row_search_mvcc";
        assert_eq!(of("mariadbd", row).as_deref(), Some("InnoDB lock in row_mysql_handle_errors"));
        assert_eq!(
            own("epoll_wait WaitEventSetWait secure_read LockAcquireExtended").as_deref(),
            Some("PostgreSQL lock in unknown code")
        );
    }
}
