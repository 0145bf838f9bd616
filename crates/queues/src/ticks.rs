//! The clock of the benchmark: the time stamp counter where the kernel trusts it, else nanoseconds. It is also what a time
//! without a clock of its own means to ITT.
#![allow(unsafe_code, reason = "reading the time stamp counter")]

use std::fs;
use std::time::{Duration, Instant};

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// Clock sources that are the counter, scaled by a hypervisor or not: then it is the same on all CPUs.
const COUNTERS: [&str; 3] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page"];
/// How long the rate is measured before a run; after it, the run itself tells.
const MEASURING: Duration = Duration::from_millis(20);

/// The clock.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    is_counter: bool,
}

impl Ticks {
    /// The best that this machine has.
    pub fn choose() -> Self {
        let source = fs::read_to_string(CLOCK_SOURCE).unwrap_or_default();
        Self { is_counter: cfg!(target_arch = "x86_64") && COUNTERS.contains(&source.trim()) }
    }

    /// Now; never 0.
    #[inline(always)]
    pub fn now(self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if self.is_counter {
            // SAFETY: every x86-64 has it, and where it is trapped the kernel would not keep time by it.
            return unsafe { core::arch::x86_64::_rdtsc() }.max(1);
        }
        nanoseconds().max(1)
    }

    /// Ticks in a second, roughly.
    pub fn per_second(self) -> f64 {
        let (begun, ticks) = (Instant::now(), self.now());
        std::thread::sleep(MEASURING);
        Span { ticks: self.now() - ticks, ns: begun.elapsed().as_nanos() as u64 }.per_second()
    }
}

/// What passed by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// By this clock.
    pub ticks: u64,
    /// By the kernel's.
    pub ns: u64,
}

impl Span {
    fn per_second(self) -> f64 {
        self.ticks.max(1) as f64 * 1e9 / self.ns.max(1) as f64
    }

    /// Ticks as nanoseconds, by this span's rate.
    pub fn to_ns(self, ticks: u64) -> u64 {
        (ticks as f64 * self.ns as f64 / self.ticks.max(1) as f64).round() as u64
    }
}

fn nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_tell_the_same_time() {
        for clock in [Ticks::choose(), Ticks { is_counter: false }] {
            let (begun, ticks) = (Instant::now(), clock.now());
            std::thread::sleep(Duration::from_millis(10));
            let span = Span { ticks: clock.now() - ticks, ns: begun.elapsed().as_nanos() as u64 };
            assert_eq!(span.to_ns(span.ticks), span.ns);
            let rate = clock.per_second() / span.per_second();
            assert!((0.8..1.25).contains(&rate), "{rate}");
        }
    }
}
