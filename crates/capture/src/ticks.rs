//! From ticks of the time stamp counter to nanoseconds of CLOCK_MONOTONIC.
//!
//! Both are read together every round. What lies between two readings is on a straight line; a line begins where the one
//! before ends, so that time never jumps, and leans towards what is true: an error is gone within about a second.
#![allow(unsafe_code, reason = "reading the time stamp counter")]

use dwell_store::raw::wire::IttHeader;

use crate::clock::monotonic_ns;

/// 1 ns per tick in records.
const ONE: f64 = (1u64 << 32) as f64;
/// The rate is measured over so long at least: half of the time since the older of two anchors.
const ANCHOR_NS: u64 = 8_000_000_000;
/// Time in which an error goes away.
const SETTLE_NS: f64 = 1e9;
/// The rate never leans more than this.
const MOST_LEAN: f64 = 1e-3;
/// A larger error is no drift: the machine slept. Then the line begins anew.
const LARGEST_ERROR_NS: f64 = 1e6;

/// The two clocks at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    ticks: u64,
    ns: u64,
}

impl Pair {
    /// Reads both; the narrowest of a few tries.
    fn now() -> Self {
        let read = || {
            // SAFETY: every x86-64 processor has this instruction, which reads no memory.
            let counter = || unsafe { core::arch::x86_64::_rdtsc() };
            let (before, ns, after) = (counter(), monotonic_ns(), counter());
            (after.wrapping_sub(before), Self { ticks: before.wrapping_add(after.wrapping_sub(before) / 2), ns })
        };
        let tries = [(); 4].map(|()| read());
        tries.into_iter().min_by_key(|(width, _)| *width).map(|(_, pair)| pair).unwrap_or_default()
    }
}

/// The line that is good now: ns = base_ns + (ticks - base_ticks) * ns_per_tick / 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub base_ticks: u64,
    pub base_ns: u64,
    pub ns_per_tick: u64,
}

impl Line {
    /// For ticks that are nanoseconds.
    pub const IDENTITY: Self = Self { base_ticks: 0, base_ns: 0, ns_per_tick: 1 << 32 };

    /// That of an ITT record.
    pub fn of(header: &IttHeader) -> Self {
        Self { base_ticks: header.base_ticks, base_ns: header.base_ns, ns_per_tick: header.ns_per_tick }
    }

    /// CLOCK_MONOTONIC at `ticks`, of before or after the base.
    pub fn ns(&self, ticks: u64) -> u64 {
        let distance = i128::from(ticks) - i128::from(self.base_ticks);
        let ns = i128::from(self.base_ns) + ((distance * i128::from(self.ns_per_tick)) >> 32);
        u64::try_from(ns).unwrap_or(0)
    }
}

/// See the module.
pub struct Ticks {
    line: Line,
    /// What the rate is measured from, and what it will be measured from next.
    anchors: [Pair; 2],
}

impl Ticks {
    /// Begins to measure; the line is good after [`Ticks::advance`].
    pub fn start() -> Self {
        let now = Pair::now();
        Self { line: Line { base_ticks: now.ticks, base_ns: now.ns, ns_per_tick: 0 }, anchors: [now; 2] }
    }

    /// Reads the clocks; the line from now on.
    pub fn advance(&mut self) -> Line {
        self.take(Pair::now());
        self.line
    }

    fn take(&mut self, now: Pair) {
        let [from, next] = self.anchors;
        if now.ticks <= from.ticks || now.ns <= from.ns {
            return;
        }
        let rate = (now.ns - from.ns) as f64 / (now.ticks - from.ticks) as f64;
        let line_ns = self.line.ns(now.ticks);
        let error = now.ns as f64 - line_ns as f64;
        let is_first = self.line.ns_per_tick == 0;
        if is_first || error.abs() > LARGEST_ERROR_NS {
            self.line = Line { base_ticks: now.ticks, base_ns: now.ns, ns_per_tick: (rate * ONE) as u64 };
            self.anchors = if is_first { self.anchors } else { [now; 2] };
            return;
        }
        let leaning = 1.0 + (error / SETTLE_NS).clamp(-MOST_LEAN, MOST_LEAN);
        self.line = Line { base_ticks: now.ticks, base_ns: line_ns, ns_per_tick: (rate * leaning * ONE) as u64 };
        if now.ns - next.ns > ANCHOR_NS {
            self.anchors = [next, now];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter of 2.5 GHz and a clock that runs up to `slew` fast or slow, read with an error of up to 40 ns.
    fn pairs(slew: f64) -> impl Iterator<Item = (Pair, u64)> {
        (1..3000u64).map(move |round| {
            let ticks = 1_000_000 + round * 50_000_000;
            let true_ns = 5_000_000_000 + (round as f64 * 20e6 * (1.0 + slew)) as u64;
            (Pair { ticks, ns: true_ns + (round * 7919) % 40 }, true_ns)
        })
    }

    #[test]
    fn time_follows_the_clock_and_never_goes_back() {
        for slew in [-5e-4, 0.0, 5e-4] {
            let first = Pair { ticks: 1_000_000, ns: 5_000_000_000 };
            let mut ticks = Ticks {
                line: Line { base_ticks: 1_000_000, base_ns: 5_000_000_000, ns_per_tick: 0 },
                anchors: [first; 2],
            };
            let mut last = Line::IDENTITY;
            for (round, (pair, true_ns)) in pairs(slew).enumerate() {
                ticks.take(pair);
                let error = ticks.line.ns(pair.ticks).abs_diff(true_ns);
                assert!(error < 1000, "round {round}: {error} ns");
                if round > 0 {
                    assert!(last.ns(pair.ticks).abs_diff(ticks.line.ns(pair.ticks)) <= 1, "a jump in round {round}");
                }
                last = ticks.line;
            }
        }
    }

    #[test]
    fn this_machine_has_a_rate() {
        let mut ticks = Ticks::start();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let line = ticks.advance();
        let ns = line.ns(Pair::now().ticks);
        assert!(monotonic_ns().abs_diff(ns) < 1_000_000, "{line:?}");
    }

    #[test]
    fn times_before_the_base_and_absurd_ones_do_no_harm() {
        let line = Line { base_ticks: 1000, base_ns: 500, ns_per_tick: 1 << 31 };
        assert_eq!((line.ns(1200), line.ns(800), line.ns(0)), (600, 400, 0));
        assert!(line.ns(u64::MAX) > 0);
    }
}
