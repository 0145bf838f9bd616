//! Memory that is taken and given back again and again.

use super::*;

/// A thread that is in page faults at each `1`, and in munmap at each `2`.
fn churning(cells: &'static str) -> Trace {
    let mut trace = repeated(&[("a", cells)], 100);
    for (function, name) in [("f1", "asm_exc_page_fault"), ("f2", "__x64_sys_munmap")] {
        if let Some(frame) = trace.frames.function.iter().position(|known| known == function) {
            (trace.frames.function[frame], trace.frames.kernel[frame]) = (name.into(), true);
        }
    }
    trace
}

#[test]
fn pages_that_are_cleared_again_and_again() {
    let finding = the("memory-churn", &churning("1112####"));
    let text = finding.evidence.to_string();
    assert!(text.contains("400 ms, 50.0 %") && text.contains("300 ms in page faults, 100 ms in munmap"), "{text}");
    assert_eq!(finding.cost_ns, 400 * CELL);
    assert!(!ids(&churning("1111####")).contains(&"memory-churn"), "it is touched for the first time, and kept");
    assert!(!ids(&churning("2#######")).contains(&"memory-churn"), "that is little");
}

#[test]
fn files_that_are_mapped_are_not_memory() {
    let of_files = |cells: &'static str, opens: &str| {
        let mut trace = churning(cells);
        let frame = trace.frames.function.iter().position(|known| known == "f3").unwrap();
        (trace.frames.function[frame], trace.frames.kernel[frame]) = (opens.into(), true);
        trace
    };
    assert!(!ids(&of_files("1112233####", "__x64_sys_openat")).contains(&"memory-churn"), "it opens what it maps");
    assert!(ids(&of_files("1112233####", "__x64_sys_read")).contains(&"memory-churn"), "it opens nothing");
}
