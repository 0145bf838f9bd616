//! Threads that wait for work where no function says so.

use dwell_model::ModuleId;

use super::*;

/// The causes in a picture whose second thread is called `name`, and waits at places without a name for `kind`.
fn causes_beside(picture: &str, name: &str, kind: ObjectType) -> Vec<(CauseKind, String, u64)> {
    let mut trace = trace(picture);
    trace.threads.name[1] = name.into();
    trace.objects.kind.fill(kind.code());
    trace.off_cpu.syscall.fill(202); // futex
    for (function, module) in trace.frames.function.iter_mut().zip(&mut trace.frames.module) {
        (*function, *module) = ("[app]func@0x10".into(), ModuleId::NONE);
    }
    trace.tables_changed();
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    causes(&explain(&fold))
}

#[test]
fn threads_that_the_kernel_keeps_for_io_uring_wait_for_work() {
    let waits = |name: &str| causes_beside("a: ##########\nb: mmmmmmmmmm", name, ObjectType::Unknown);
    assert_eq!(waits("iou-sqp-4711"), []);
    assert_eq!(waits("iou-wrk-4711"), []);
}

/// Three threads that wake one another by turns have a lock, unless a pool gives them work so and nothing says what they wait for.
#[test]
fn what_has_no_name_is_no_lock_of_a_pool() {
    let picture = "a: #mm#mm#mm#mm#mm#mm
                   b: m#mm#mm#mm#mm#mm#m
                   c: mm#mm#mm#mm#mm#mm#";
    let waits = |name: &str| {
        let mut trace = trace(picture);
        trace.threads.name.fill(name.into());
        trace.objects.kind.fill(ObjectType::ConditionVariable.code());
        trace.frames.function.fill("[app]func@0x10".into());
        trace.frames.module.fill(ModuleId::NONE);
        trace.tables_changed();
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        explain(&fold).demand_ns / CELL
    };
    assert_eq!(waits("rolldown-worker"), 0);
    assert!(waits("teller") > 0);
}
