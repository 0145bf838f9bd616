//! Threads that sleep between looks whether a lock is free, and those that only watch others.

use dwell_model::VainTry;
use dwell_store::tables::VainTryRow;

use super::*;

/// What is told of a thread that sleeps in cells 2 to 4 and 7 to 9, with tries of `kind` right before that.
fn told_of_sleeps(kind: VainTry) -> Vec<(CauseKind, String, u64)> {
    let mut trace = trace("a: ##sss##sss##");
    for cell in [2, 7] {
        let (time_ns, thread, kind) = (cell * CELL - 1_000, ThreadId::new(0), kind.code());
        trace.vain_tries.push(VainTryRow { time_ns, thread, kind, object: "/lock".into(), holder: String::new() });
    }
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    causes(&explain(&fold))
}

#[test]
fn sleeps_between_tries_for_a_lock_are_waits_for_it() {
    assert_eq!(told_of_sleeps(VainTry::FileLock), [(CauseKind::Slept, "a".into(), 6)]);
    assert_eq!(told_of_sleeps(VainTry::Connection), [], "nobody has what it waits for");
}

/// How long others held `a` up, in cells, whose first thread waits for an object of `kind` in `function` until the other one has run.
fn waits_of_watcher(picture: &str, kind: ObjectType, function: &str) -> u64 {
    let mut trace = trace(picture);
    trace.objects.kind.fill(kind.code());
    let waiting = trace.frames.function.iter().position(|known| known == "pthread_mutex_lock").unwrap();
    trace.frames.function[waiting] = function.into();
    trace.off_cpu.syscall.fill(202); // futex
    trace.tables_changed();
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    let explanation = explain(&fold);
    explanation.causes.iter().filter(|root| !root.cause.no_work).map(|root| root.wait_ns / CELL).sum()
}

#[test]
fn a_mutex_that_a_thread_without_work_takes_until_a_time_is_a_clock() {
    let (alarm, worker) = ("a: mmmmmmmm\nb: ########", "a: ##mmmm##\nb: ######");
    assert_eq!(waits_of_watcher(alarm, ObjectType::Mutex, "__pthread_mutex_clocklock64"), 0);
    assert!(waits_of_watcher(worker, ObjectType::Mutex, "__pthread_mutex_clocklock64") > 0, "it has work");
    assert!(waits_of_watcher(worker, ObjectType::Mutex, "pthread_mutex_lock") > 0);
}
