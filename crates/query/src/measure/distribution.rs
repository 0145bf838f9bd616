//! Percentiles of durations from a log-linear histogram: 64 steps per power of two, so that a percentile is right to
//! less than 1 %. Histograms of parts add up to the whole's.

use crate::measure::bins::{PAGES, STEPS, middle};
use crate::measure::lengths::Run;

/// How often which duration occurred. Memory in proportion to the powers of two that occur.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    count: u64,
    /// The shortest and the longest: no percentile lies outside.
    bounds: Option<(u64, u64)>,
    /// Page `p` has the counts of one power of two; absent ones are empty.
    pages: Vec<Option<Box<[u64; STEPS]>>>,
}

impl Distribution {
    /// The lengths of a run of waits.
    pub fn add(&mut self, run: &Run) {
        run.for_each_bin(|bin, count| self.add_bin(bin, count));
        let (shortest, longest) = self.bounds.unwrap_or((run.min, run.max));
        self.bounds = Some((shortest.min(run.min), longest.max(run.max)));
    }

    /// Adds the lengths of another part.
    pub fn merge(&mut self, other: &Self) {
        other.for_each_bin(|bin, count| self.add_bin(bin, count));
        if let Some((shortest, longest)) = other.bounds {
            let ours = self.bounds.unwrap_or((shortest, longest));
            self.bounds = Some((shortest.min(ours.0), longest.max(ours.1)));
        }
    }

    /// Adds those of another part, place by place.
    pub fn merged(mut sums: Vec<Self>, part: &[Self]) -> Vec<Self> {
        sums.iter_mut().zip(part).for_each(|(sum, part)| sum.merge(part));
        sums
    }

    /// Memory that it takes, bytes.
    pub fn bytes(&self) -> usize {
        let counts = self.pages.iter().flatten().count() * size_of::<[u64; STEPS]>();
        size_of::<Self>() + size_of_val(self.pages.as_slice()) + counts
    }

    /// Tells the bins that are not empty.
    pub fn for_each_bin(&self, mut tell: impl FnMut(u16, u64)) {
        for (page, counts) in self.pages.iter().enumerate() {
            for (step, count) in counts.iter().flat_map(|counts| counts.iter().enumerate()).filter(|(_, it)| **it > 0) {
                tell((page * STEPS + step) as u16, *count);
            }
        }
    }

    fn add_bin(&mut self, bin: u16, count: u64) {
        let (page, step) = (usize::from(bin) / STEPS, usize::from(bin) % STEPS);
        if page >= PAGES {
            return;
        }
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let counts = self.pages[page].get_or_insert_with(|| Box::new([0; STEPS]));
        counts[step] += count;
        self.count += count;
    }

    /// The duration that a fraction `quantile` of the occurrences does not exceed; `None` without any.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let (shortest, longest) = self.bounds?;
        let rank = ((self.count as f64 * quantile).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (page, counts) in self.pages.iter().enumerate() {
            for (step, count) in counts.iter().flat_map(|counts| counts.iter().enumerate()) {
                seen += count;
                if seen >= rank {
                    return Some(middle(page, step).clamp(shortest, longest));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_uniform_distribution() {
        let mut distribution = Distribution::default();
        (1..=1000u64).for_each(|us| distribution.add(&Run::one(0, 0, us * 1000)));
        let near = |quantile, expected: f64| {
            let found = distribution.quantile(quantile).unwrap() as f64;
            assert!((found / expected - 1.0).abs() < 0.01, "{found} for {expected}");
        };
        near(0.5, 500_000.0);
        near(0.99, 990_000.0);
        assert_eq!(Distribution::default().quantile(0.5), None);
    }
}
