//! How long durations are, on a logarithmic scale: fast and slow ones stand apart as humps.

use dwell_view::answer;

/// Bins per power of two.
const PER_OCTAVE: f64 = 4.0;

answer! {
    /// Durations from `from_ns` up to `to_ns`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Bin {
        /// Shortest.
        pub from_ns: u64,
        /// Longest is below this.
        pub to_ns: u64,
        /// How many.
        pub count: u64,
        /// Their sum.
        pub total_ns: u64,
    }
}

answer! {
    /// A population of durations: a local maximum of the histogram and what is around it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Hump {
        /// Where it is highest.
        pub centre_ns: u64,
        /// How many.
        pub count: u64,
        /// Their sum.
        pub total_ns: u64,
    }
}

answer! {
    /// A histogram: bins in order, each a fourth of a power of two wide, without gaps from the first to the last that is
    /// not empty.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Histogram {
        /// The bins.
        pub bins: Vec<Bin>,
        /// Its populations.
        pub humps: Vec<Hump>,
    }
}

/// The histogram of durations, ns, in any order.
pub fn histogram_of(durations: impl Iterator<Item = u64>) -> Histogram {
    let mut bins = Vec::new();
    durations.for_each(|ns| add(&mut bins, ns, 1));
    of_bins(&bins)
}

/// Counts a duration `count` times.
pub fn add(bins: &mut Vec<(u64, u64)>, ns: u64, count: u64) {
    if ns == 0 {
        return;
    }
    let bin = bin_of(ns);
    if bins.len() <= bin {
        bins.resize(bin + 1, (0, 0));
    }
    bins[bin].0 += count;
    bins[bin].1 = bins[bin].1.saturating_add(ns.saturating_mul(count));
}

fn bin_of(ns: u64) -> usize {
    let mut bin = ((ns as f64).log2() * PER_OCTAVE) as usize;
    // Rounding of the logarithm at the edges.
    while edge(bin + 1) <= ns {
        bin += 1;
    }
    while bin > 0 && edge(bin) > ns {
        bin -= 1;
    }
    bin
}

fn edge(bin: usize) -> u64 {
    (bin as f64 / PER_OCTAVE).exp2().ceil() as u64
}

/// The histogram of counted durations.
pub fn of_bins(bins: &[(u64, u64)]) -> Histogram {
    let Some(first) = bins.iter().position(|(count, _)| *count > 0) else { return Histogram::default() };
    let bin = |(index, (count, total_ns)): (usize, &(u64, u64))| Bin {
        from_ns: edge(first + index),
        to_ns: edge(first + index + 1),
        count: *count,
        total_ns: *total_ns,
    };
    // The shortest durations share their bins: 1, 2, 3 ns.
    let bins: Vec<Bin> = bins[first..].iter().enumerate().map(bin).filter(|bin| bin.from_ns < bin.to_ns).collect();
    let humps = humps(&bins);
    Histogram { bins, humps }
}

/// Part of the highest bin that a hump must reach.
const HUMP_HEIGHT: f64 = 0.01;
/// A valley between two humps is lower than this part of the lower one.
const VALLEY: f64 = 0.5;

/// Local maxima of the smoothed counts, told apart by valleys.
fn humps(bins: &[Bin]) -> Vec<Hump> {
    let height = |index: usize| {
        let around = [index.checked_sub(1), Some(index), Some(index + 1)];
        let count = |at: Option<usize>| at.and_then(|at| bins.get(at)).map_or(0, |bin| bin.count);
        (count(around[0]) + 2 * count(around[1]) + count(around[2])) as f64 / 4.0
    };
    let heights: Vec<f64> = (0..bins.len()).map(height).collect();
    let highest = heights.iter().copied().fold(0.0, f64::max);
    let mut parts: Vec<(usize, usize, usize)> = Vec::new();
    let (mut begin, mut peak, mut valley) = (0, 0, 0);
    for index in 1..heights.len() {
        if heights[index] < heights[valley] {
            valley = index;
        }
        let risen = heights[index] > heights[peak] || heights[valley] < VALLEY * heights[index].min(heights[peak]);
        if risen && valley > peak && heights[valley] < VALLEY * heights[index].min(heights[peak]) {
            parts.push((begin, peak, valley));
            (begin, peak, valley) = (valley, index, index);
        } else if heights[index] > heights[peak] {
            (peak, valley) = (index, index);
        }
    }
    parts.push((begin, peak, heights.len()));
    let hump = |(begin, peak, end): (usize, usize, usize)| Hump {
        centre_ns: middle(&bins[peak]),
        count: bins[begin..end].iter().map(|bin| bin.count).sum(),
        total_ns: bins[begin..end].iter().map(|bin| bin.total_ns).sum(),
    };
    let high = |part: &(usize, usize, usize)| heights[part.1] >= HUMP_HEIGHT * highest;
    parts.into_iter().filter(high).map(hump).collect()
}

fn middle(bin: &Bin) -> u64 {
    bin.total_ns.checked_div(bin.count).unwrap_or(bin.from_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_a_fourth_of_a_power_of_two() {
        for ns in [1, 2, 3, 4, 5, 1000, 1024, 40_000_000, u64::MAX / 2] {
            let bin = bin_of(ns);
            assert!(edge(bin) <= ns && ns < edge(bin + 1), "{ns}");
        }
        assert_eq!(edge(4 * 10), 1024);
    }

    #[test]
    fn two_populations_are_two_humps() {
        let mut bins = Vec::new();
        for index in 0..400u64 {
            add(&mut bins, 700_000 + index * 1000, 3);
            add(&mut bins, 40_000_000 + index * 20_000, 1);
        }
        let humps = of_bins(&bins).humps;
        assert_eq!(humps.len(), 2, "{humps:?}");
        assert_eq!((humps[0].count, humps[1].count), (1200, 400));
        assert!((humps[1].centre_ns as f64 / 44e6 - 1.0).abs() < 0.15);
        assert_eq!(of_bins(&[]), Histogram::default());
    }
}
