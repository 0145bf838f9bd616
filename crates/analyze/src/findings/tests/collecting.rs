//! CPU time that a garbage collector takes.

use super::*;

/// A thread that collects garbage at each `1`.
fn collecting(cells: &'static str) -> Trace {
    let mut trace = repeated(&[("a", cells)], 100);
    let frame = trace.frames.function.iter().position(|known| known == "f1").unwrap();
    trace.frames.function[frame] = "runtime.gcBgMarkWorker.func2".into();
    trace
}

#[test]
fn a_collector_that_takes_much_of_the_cpu_time() {
    let finding = the("garbage-collection", &collecting("1111####"));
    assert!(finding.evidence.to_string().contains("400 ms, 50.0 %"), "{}", finding.evidence);
    assert_eq!(finding.cost_ns, 400 * CELL);
    assert!(!ids(&collecting("11######")).contains(&"garbage-collection"), "a quarter is usual");
}

#[test]
fn a_collector_that_hardly_ran_is_nothing() {
    let mut trace = collecting("1111####");
    let frame = trace.frames.function.iter().position(|known| known == "runtime.gcBgMarkWorker.func2").unwrap();
    trace.frames.function[frame] = "main.run".into();
    assert!(!ids(&trace).contains(&"garbage-collection"), "no collector");
    assert!(
        !ids(&collecting("11......................")).contains(&"garbage-collection"),
        "little of the elapsed time"
    );
}
