//! When the next window of exact recording is, so that windows take no more than their share of a CPU.
//!
//! Time is cut into spans, of whole rows of time, one after the other. In each is one window, which stands for it, at an instant of chance:
//! every instant counts the same. The length of a span is decided before it begins, and what windows took until then decides it.

use std::hash::{BuildHasher, RandomState};

/// Weight of the newest window in what the next one is expected to take.
const NEWEST: f64 = 0.3;

/// See the module. Times are ns, of one clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSchedule {
    /// CPU time that windows may take, as part of the time.
    share: f64,
    window_ns: u64,
    /// When it began.
    began_ns: u64,
    /// CPU time that windows took.
    spent_ns: u64,
    /// CPU time that the next one is expected to take.
    expected_ns: f64,
}

/// A time for which one window stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSpan {
    /// When it begins.
    pub begin_ns: u64,
    /// When it ends.
    pub end_ns: u64,
    /// When its window begins.
    pub at_ns: u64,
}

impl WindowSchedule {
    /// Windows of this length that take `cpu_percent` of one CPU, from `now_ns` on. The first one is expected to keep one CPU busy.
    pub fn new(window_ns: u64, cpu_percent: f64, now_ns: u64) -> Self {
        let expected_ns = window_ns as f64;
        Self { share: cpu_percent / 100.0, window_ns, began_ns: now_ns, spent_ns: 0, expected_ns }
    }

    /// The span after what was before `begin_ns`; it ends where a row of time does, multiples of `row_ns`. `chance` says where in what is
    /// left of it the window is.
    pub fn next(&self, begin_ns: u64, now_ns: u64, (row_ns, chance): (u64, u64)) -> WindowSpan {
        let allowed_ns = (self.spent_ns as f64 + self.expected_ns) / self.share.max(f64::MIN_POSITIVE);
        let least_ns = self.began_ns.saturating_add(allowed_ns as u64).max(now_ns.saturating_add(self.window_ns));
        let end_ns = least_ns.div_ceil(row_ns.max(1)).saturating_mul(row_ns.max(1));
        let free_ns = end_ns.saturating_sub(now_ns).saturating_sub(self.window_ns);
        let after_ns = ((u128::from(free_ns) * u128::from(chance)) >> u64::BITS) as u64;
        WindowSpan { begin_ns: begin_ns.min(now_ns), end_ns, at_ns: now_ns + after_ns }
    }

    /// Notes what a window took, whether it succeeded or not.
    pub fn spend(&mut self, cost_ns: u64) {
        self.spent_ns = self.spent_ns.saturating_add(cost_ns);
        self.expected_ns += NEWEST * (cost_ns as f64 - self.expected_ns);
    }
}

/// A number by which a window begins at an instant of chance; each the same likely.
pub fn chance() -> u64 {
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const ROW: u64 = 300 * SECOND;

    #[test]
    fn a_window_lies_in_its_span() {
        let schedule = WindowSchedule::new(SECOND, 1.0, 50 * SECOND);
        let span = |chance| schedule.next(50 * SECOND, 50 * SECOND, (ROW, chance));
        assert_eq!(span(0), WindowSpan { begin_ns: 50 * SECOND, end_ns: ROW, at_ns: 50 * SECOND });
        assert_eq!(span(1 << 63).at_ns, 50 * SECOND + 249 * SECOND / 2);
        assert!(span(u64::MAX).at_ns < ROW - SECOND);
        let chances: Vec<u64> = (0..64).map(|_| chance()).collect();
        assert!(chances.iter().any(|it| it >> 63 == 0) && chances.iter().any(|it| it >> 63 == 1), "{chances:?}");
    }

    #[test]
    fn windows_keep_their_share_over_time() {
        for (percent, cost) in [(1.0, 2 * SECOND), (1.0, 40 * SECOND), (5.0, SECOND / 10), (0.1, 3 * SECOND)] {
            let mut schedule = WindowSchedule::new(SECOND, percent, 0);
            let (mut now, mut spent, mut windows) = (0, 0, 0);
            while now < 4_000 * ROW {
                now = schedule.next(now, now, (ROW, 0)).end_ns;
                assert_eq!(now % ROW, 0);
                schedule.spend(cost);
                (spent, windows) = (spent + cost, windows + 1);
            }
            let share = 100.0 * spent as f64 / now as f64;
            assert!(share <= percent, "{share} % of {percent} %");
            // One in each row where that costs less.
            let most = (cost as f64 / ROW as f64 * 100.0).min(percent);
            assert!(share > 0.97 * most, "{share} % of {most} % in {windows} windows");
        }
    }

    #[test]
    fn windows_that_are_longer_than_rows_come_one_after_the_other() {
        let schedule = WindowSchedule::new(5 * SECOND, 1_000.0, 0);
        let span = schedule.next(6 * SECOND, 7 * SECOND, (SECOND, u64::MAX));
        assert_eq!(span, WindowSpan { begin_ns: 6 * SECOND, end_ns: 12 * SECOND, at_ns: 7 * SECOND });
    }
}
