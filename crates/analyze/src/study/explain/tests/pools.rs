//! Threads that wait for work where no function says so.

use dwell_model::ModuleId;

use super::*;

/// How long threads wait on others, in cells, where all of them are called `name` and wait for `kind` at places without a name.
fn waits_without_names(picture: &str, name: &str, kind: ObjectType, syscall: i16) -> u64 {
    let mut trace = trace(picture);
    trace.threads.name.fill(name.into());
    trace.objects.kind.fill(kind.code());
    trace.off_cpu.syscall.fill(syscall);
    trace.frames.function.fill("[app]func@0x10".into());
    trace.frames.module.fill(ModuleId::NONE);
    trace.tables_changed();
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    explain(&fold).demand_ns / CELL
}

#[test]
fn threads_that_the_kernel_keeps_for_io_uring_wait_for_work() {
    const IO_URING_SETUP: i16 = 425;
    let waits = |name: &str| waits_without_names("a: mmmmmmmmmm", name, ObjectType::Unknown, IO_URING_SETUP);
    assert_eq!((waits("iou-sqp-4711"), waits("iou-wrk-4711")), (0, 0));
    assert_eq!(waits("teller"), 10, "a call that somebody has to end");
}

/// Three threads that wake one another by turns have a lock, unless a pool gives them work so and nothing says what they wait for.
#[test]
fn what_has_no_name_is_no_lock_of_a_pool() {
    let picture = "a: #mm#mm#mm#mm#mm#mm
                   b: m#mm#mm#mm#mm#mm#m
                   c: mm#mm#mm#mm#mm#mm#";
    let waits = |name: &str| waits_without_names(picture, name, ObjectType::ConditionVariable, -1);
    assert_eq!(waits("rolldown-worker"), 0);
    assert!(waits("teller") > 0);
}
