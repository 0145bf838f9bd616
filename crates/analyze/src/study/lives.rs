//! Lives of threads or processes that take turns: whether one begins when another has ended.

use crate::study::intervals::union_ns;

/// Some lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LifeSpans {
    /// How long all are together, ns.
    pub all_ns: u64,
    /// The time in which any lives, ns.
    pub any_ns: u64,
}

impl LifeSpans {
    /// Those of these spans; empty ones do not count.
    pub fn of(spans: Vec<(u64, u64)>) -> Self {
        let all_ns = spans.iter().map(|(from, to)| to.saturating_sub(*from)).sum();
        Self { all_ns, any_ns: union_ns(spans) }
    }

    /// How many are there at once, on average while any is: 1 where they follow one another.
    pub fn at_once(self) -> f64 {
        self.all_ns as f64 / self.any_ns.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_that_follow_one_another_are_one_at_once() {
        let lives = LifeSpans::of(vec![(0, 10), (10, 20), (19, 30), (40, 35)]);
        assert_eq!(lives, LifeSpans { all_ns: 31, any_ns: 30 });
        assert_eq!(LifeSpans::of(vec![(0, 10), (10, 20)]).at_once(), 1.0);
        assert_eq!(LifeSpans::of(vec![(0, 10), (0, 10)]).at_once(), 2.0);
        assert_eq!(LifeSpans::of(Vec::new()).at_once(), 0.0);
    }
}
