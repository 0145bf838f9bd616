//! The lengths of intervals, with and without outliers.

use dwell_query::measure::quantile::{median, quantile};

/// Outliers are those above the median and so many times the median of the distances from it.
pub const OUTLIER_DISTANCES: u64 = 5;
/// The distance counts as at least so many ns: what reading the clock twice may differ by. Intervals that mostly take the
/// same time would all be outliers else.
pub const LEAST_DISTANCE_NS: u64 = 20;
/// And as at least such a part of the median: a thousandth.
pub const LEAST_DISTANCE_PART: u64 = 1000;

/// What the lengths of one type's intervals are like, all exact. Times in ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// In order.
    sorted: Vec<u64>,
    /// Longer ones are outliers.
    pub limit_ns: u64,
    /// Sum of all lengths.
    pub total_ns: u64,
    /// Average of all.
    pub mean_ns: u64,
    /// Average of those that are no outliers.
    pub mean_without_outliers_ns: u64,
    /// Standard deviation of all.
    pub stddev_ns: u64,
    /// Standard deviation of those that are no outliers.
    pub stddev_without_outliers_ns: u64,
    /// How many are longer than the limit.
    pub outliers: usize,
}

impl Statistics {
    /// Of lengths in any order; `limit_ns` is above what they are outliers, else the median and five times the usual
    /// distance from it: the median of all, but no less than clocks and anybody can tell apart.
    pub fn new(mut lengths: Vec<u64>, limit_ns: Option<u64>) -> Self {
        lengths.sort_unstable();
        let limit_ns = limit_ns.unwrap_or_else(|| usual_limit(&lengths));
        let usual = &lengths[..lengths.partition_point(|length| *length <= limit_ns)];
        let (mean_ns, stddev_ns) = moments(&lengths);
        let (mean_without_outliers_ns, stddev_without_outliers_ns) = moments(usual);
        Self {
            limit_ns,
            total_ns: lengths.iter().fold(0, |sum, length| sum.saturating_add(*length)),
            mean_ns,
            mean_without_outliers_ns,
            stddev_ns,
            stddev_without_outliers_ns,
            outliers: lengths.len() - usual.len(),
            sorted: lengths,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// The lengths in order.
    pub fn sorted(&self) -> &[u64] {
        &self.sorted
    }

    /// The length that `per_ten_thousand` of 10,000 do not exceed; 0 for none.
    pub fn quantile_ns(&self, per_ten_thousand: usize) -> u64 {
        quantile(&self.sorted, per_ten_thousand).unwrap_or(0)
    }

    /// The median.
    pub fn median_ns(&self) -> u64 {
        self.quantile_ns(5_000)
    }
}

fn usual_limit(sorted: &[u64]) -> u64 {
    let middle = median(sorted).unwrap_or(0);
    let mut distances: Vec<u64> = sorted.iter().map(|length| length.abs_diff(middle)).collect();
    distances.sort_unstable();
    let usual = median(&distances).unwrap_or(0);
    let distance = usual.max(middle / LEAST_DISTANCE_PART).max(LEAST_DISTANCE_NS);
    middle.saturating_add(distance.saturating_mul(OUTLIER_DISTANCES))
}

/// Mean and standard deviation, rounded.
fn moments(lengths: &[u64]) -> (u64, u64) {
    if lengths.is_empty() {
        return (0, 0);
    }
    let count = lengths.len() as f64;
    let mean = lengths.iter().map(|length| *length as f64).sum::<f64>() / count;
    let variance = lengths.iter().map(|length| (*length as f64 - mean).powi(2)).sum::<f64>() / count;
    (mean.round() as u64, variance.sqrt().round() as u64)
}
