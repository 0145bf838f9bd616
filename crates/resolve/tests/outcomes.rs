//! How waits end, and by whom.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod trace;

use dwell_model::{Outcome, WakerKind};
use trace::{check_conservation, trace};

/// Outcome and waker of each wait of thread 10.
fn ends(text: &str, length_ms: u64) -> Vec<String> {
    let launch = "0 new tid=10 tgid=10 name=dwell\n0 exec tid=10 name=app path=/bin/app";
    let trace = trace(&format!("{launch}\n{text}"), length_ms);
    check_conservation(&trace);
    let end = |row: usize| {
        let (outcome, waker) = (trace.off_cpu.outcome[row], trace.off_cpu.waker_kind[row]);
        format!("{} {}", Outcome::from_code(outcome).id(), WakerKind::from_code(waker).id())
    };
    (1..trace.off_cpu.thread.len()).map(end).collect()
}

#[test]
fn calls_and_contexts_tell_how_a_wait_ended() {
    let ends = ends(
        "1 switch out=10 state=1 call=202 object=0x1000
         2 switch in=10 wake=2 by=hardirq
         3 switch out=10 state=1 call=202 object=0x1000
         4 switch in=10 wake=4 by=99
         5 switch out=10 state=1 call=202 object=0x1000
         6 switch in=10 wake=6 by=99 signal
         7 switch out=10 state=1 call=230
         8 switch in=10 wake=8 by=hardirq
         9 switch out=10 state=1 call=45 object=5
         10 switch in=10 wake=10 by=softirq
         11 switch out=10 state=1 call=0 object=6
         12 switch in=10 wake=12 by=idle",
        13,
    );
    let expected = [
        "timed-out timer",
        "woken other-thread",
        "interrupted other-thread",
        "woken timer",
        "woken network",
        "woken interrupt",
    ];
    assert_eq!(ends, expected);
}

#[test]
fn quotas_and_limits_of_a_control_group_end_waits_for_devices() {
    let ends = ends(
        "1 switch out=10 state=2 iowait call=17 object=5
         2 switch in=10 wake=2 by=io-quota
         3 switch out=10 state=2 iowait call=17 object=5
         4 switch in=10 wake=4 by=softirq
         5 switch out=10 state=2 iowait memory-limit
         6 switch in=10 wake=6 by=hardirq
         7 switch out=10 state=2 iowait memory-limit
         8 switch in=10 wake=8 by=99
         9 switch out=10 state=2 iowait memory-limit
         10 switch in=10 wake=10 by=10
         11 switch out=10 state=2 iowait
         12 switch in=10 wake=12 by=hardirq",
        13,
    );
    let expected = [
        "woken io-quota",
        "woken interrupt",
        "woken memory-limit",
        "woken memory-limit",
        "woken thread",
        "woken interrupt",
    ];
    assert_eq!(ends, expected);
}
