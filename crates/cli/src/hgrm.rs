//! Percentile distributions as HdrHistogram's tools print and read them (`.hgrm`): values in µs, to three digits.
//!
//! The format is that of `outputPercentileDistribution` of HdrHistogram's Java, which its plotter reads.

use hdrhistogram::Histogram;

/// Digits of a value that are kept.
const DIGITS: u8 = 3;
/// Lines for each halving of the distance to 100 %.
const TICKS: u32 = 5;
/// Sub-buckets that three digits take.
const SUB_BUCKETS: u32 = 2048;
const NS_PER_US: f64 = 1000.0;

/// The distribution of lengths in ns.
pub fn render(lengths_ns: &[u64]) -> String {
    let most = lengths_ns.iter().copied().max().unwrap_or(0).max(2);
    let Ok(mut histogram) = Histogram::<u64>::new_with_bounds(1, most, DIGITS) else { return String::new() };
    lengths_ns.iter().for_each(|&length| histogram.saturating_record(length));
    let mut text = format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let mut total = 0;
    for step in histogram.iter_quantiles(TICKS) {
        total += step.count_since_last_iteration();
        let value = step.value_iterated_to() as f64 / NS_PER_US;
        let quantile = step.quantile_iterated_to();
        text.push_str(&format!("{value:12.3} {quantile:14.12} {total:10}"));
        text.push_str(&if quantile < 1.0 { format!(" {:14.2}\n", 1.0 / (1.0 - quantile)) } else { "\n".into() });
    }
    let (mean, deviation) = (histogram.mean() / NS_PER_US, histogram.stdev() / NS_PER_US);
    let max = histogram.max() as f64 / NS_PER_US;
    text.push_str(&format!("#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]\n"));
    text.push_str(&format!("#[Max     = {max:12.3}, Total count    = {:12}]\n", histogram.len()));
    text.push_str(&format!("#[Buckets = {:12}, SubBuckets     = {SUB_BUCKETS:12}]\n", histogram.buckets()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines stand where HdrHistogram's Java has them; the footer's figures are those of its port for Python.
    #[test]
    fn as_hdr_histogram_prints_it() {
        let lengths: Vec<u64> = [60, 100, 200, 300, 400, 1000, 100_000, 230, 240, 250].repeat(10);
        let text = render(&lengths);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "       Value     Percentile TotalCount 1/(1-Percentile)");
        assert_eq!(lines[2], "       0.060 0.000000000000         10           1.00");
        assert!(lines.contains(&"       0.100 0.200000000000         20           1.25"), "{text}");
        assert!(lines.contains(&"       0.240 0.500000000000         50           2.00"), "{text}");
        assert!(lines.contains(&"     100.031 1.000000000000        100"), "{text}");
        assert!(text.contains("#[Mean    =       10.278, StdDeviation   =       29.908]\n"), "{text}");
        assert!(
            text.ends_with(
                "Total count    =          100]\n#[Buckets =            7, SubBuckets     =         2048]\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn nothing_and_zero_are_printed_too() {
        assert!(render(&[]).contains("Total count    =            0]"));
        assert!(render(&[0, 0]).contains("       0.000 1.000000000000          2\n"));
    }
}
