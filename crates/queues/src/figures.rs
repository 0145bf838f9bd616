//! What latencies are like, with and without outliers.

/// How many times the median distance from the median a latency may be above it before it is an outlier.
const DISTANCES: u64 = 5;

/// Figures of latencies, all exact. Times in ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    sorted: Vec<u64>,
    /// Longer ones are outliers.
    pub limit_ns: u64,
    /// Average of all.
    pub mean_ns: f64,
    /// Average of those that are no outliers.
    pub mean_without_outliers_ns: f64,
    /// Standard deviation of all.
    pub stddev_ns: f64,
    /// Standard deviation of those that are no outliers.
    pub stddev_without_outliers_ns: f64,
    /// How many are longer than the limit.
    pub outliers: usize,
}

impl Figures {
    /// Of latencies in any order. Above `limit_ns` they are outliers; without it, above the median and five times the
    /// median of the distances from it.
    pub fn of(mut latencies: Vec<u64>, limit_ns: Option<u64>) -> Self {
        latencies.sort_unstable();
        let limit_ns = limit_ns.unwrap_or_else(|| usual_limit(&latencies));
        let usual = &latencies[..latencies.partition_point(|latency| *latency <= limit_ns)];
        let (mean_ns, stddev_ns) = moments(&latencies);
        let (mean_without_outliers_ns, stddev_without_outliers_ns) = moments(usual);
        let outliers = latencies.len() - usual.len();
        Self {
            limit_ns,
            mean_ns,
            mean_without_outliers_ns,
            stddev_ns,
            stddev_without_outliers_ns,
            outliers,
            sorted: latencies,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// What `per_ten_thousand` of 10,000 do not exceed; 0 for none.
    pub fn quantile_ns(&self, per_ten_thousand: usize) -> u64 {
        quantile(&self.sorted, per_ten_thousand)
    }
}

fn quantile(sorted: &[u64], per_ten_thousand: usize) -> u64 {
    let rank = (sorted.len() as u128 * per_ten_thousand as u128).div_ceil(10_000) as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

fn usual_limit(sorted: &[u64]) -> u64 {
    let median = quantile(sorted, 5_000);
    let mut distances: Vec<u64> = sorted.iter().map(|latency| latency.abs_diff(median)).collect();
    distances.sort_unstable();
    median.saturating_add(quantile(&distances, 5_000).saturating_mul(DISTANCES))
}

/// Mean and standard deviation.
fn moments(latencies: &[u64]) -> (f64, f64) {
    if latencies.is_empty() {
        return (0.0, 0.0);
    }
    let count = latencies.len() as f64;
    let mean = latencies.iter().map(|&latency| latency as f64).sum::<f64>() / count;
    let variance = latencies.iter().map(|&latency| (latency as f64 - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_with_and_without_outliers() {
        // Median 10, distances 0, 1, 1, 2, 90: their median is 1.
        let figures = Figures::of(vec![100, 9, 10, 11, 12], None);
        assert_eq!((figures.limit_ns, figures.outliers, figures.count()), (16, 1, 5));
        assert_eq!((figures.mean_ns, figures.mean_without_outliers_ns), (28.4, 10.5));
        assert!((figures.stddev_without_outliers_ns - 1.25_f64.sqrt()).abs() < 1e-12);
        assert_eq!((figures.quantile_ns(0), figures.quantile_ns(5_000), figures.quantile_ns(10_000)), (9, 11, 100));
        assert_eq!(Figures::of(vec![100, 9, 10], Some(9)).outliers, 2);
        assert_eq!(Figures::of(Vec::new(), None), Figures::default());
    }
}
