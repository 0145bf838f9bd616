//! How finely a profile tells a long recording, so that this program and the browser have memory for it.
//!
//! The format has a sample for each stretch of a thread's time and a marker for each wait. Where there would be millions, short stretches of
//! a thread are summed over a grain of time, by stack and state, and only the longest waits have markers. No time is lost by that: the
//! weights of a thread add up as without it.

use dwell_analyze::Fold;
use dwell_analyze::selected::{ThreadActivity, for_each_piece};
use dwell_model::Reason;

/// Samples from which on they are summed.
const MOST_SAMPLES: u64 = 1_000_000;
/// Grains of all threads together: each may be several samples.
const GRAINS: u64 = 150_000;
/// Waits that have a marker.
const MOST_MARKERS: u64 = 200_000;
/// Parts of a doubling of the length, among which waits are counted.
const PARTS: u32 = 16;

/// How finely a profile is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grain {
    /// Shorter stretches are summed over this time, ns; 0: none.
    pub sum_below_ns: u64,
    /// Shorter waits have no marker, ns; 0: all have one.
    pub markers_from_ns: u64,
    /// Waits without a marker.
    pub unmarked: u64,
}

impl Grain {
    /// As finely as what the fold's query selects allows.
    pub fn new(fold: &Fold<'_>) -> Self {
        let mut counts = Counts { pieces: 0, time_ns: 0, waits: vec![0; bucket(u64::MAX) + 1] };
        for thread in 0..fold.trace.threads.tid.len() {
            for_each_piece(fold, thread, |piece| {
                if piece.selected && piece.from_ns < piece.to_ns {
                    let length_ns = piece.to_ns - piece.from_ns;
                    counts.pieces += 1;
                    counts.time_ns = counts.time_ns.saturating_add(length_ns);
                    if matches!(piece.did, ThreadActivity::Waited(wait) if wait.reason == Reason::Waiting) {
                        counts.waits[bucket(length_ns)] += 1;
                    }
                }
            });
        }
        counts.grain()
    }

    /// Sentences without a full stop for who reads the profile; none where everything is told.
    pub fn remarks(&self) -> Vec<String> {
        let micros = |ns: u64| ns.div_ceil(1000);
        let summed = (self.sum_below_ns > 0)
            .then(|| format!("what is shorter than {} µs is summed by stack", micros(self.sum_below_ns)));
        let unmarked = (self.unmarked > 0).then(|| {
            format!("{} waits shorter than {} µs have no marker", self.unmarked, micros(self.markers_from_ns))
        });
        summed.into_iter().chain(unmarked).collect()
    }
}

/// What a profile without a grain would have.
struct Counts {
    pieces: u64,
    time_ns: u64,
    /// Waits by [`bucket`] of their length.
    waits: Vec<u64>,
}

impl Counts {
    fn grain(&self) -> Grain {
        let sum_below_ns = if self.pieces > MOST_SAMPLES { (self.time_ns / GRAINS).max(1) } else { 0 };
        let (mut marked, mut from) = (0, self.waits.len());
        while from > 0 && marked + self.waits[from - 1] <= MOST_MARKERS {
            from -= 1;
            marked += self.waits[from];
        }
        let unmarked = self.waits[..from].iter().sum();
        Grain { sum_below_ns, markers_from_ns: if unmarked > 0 { least_of(from) } else { 0 }, unmarked }
    }
}

/// Which of the counted lengths: 16 for each doubling, in order.
fn bucket(length_ns: u64) -> usize {
    if length_ns < u64::from(PARTS) {
        return length_ns as usize;
    }
    let doublings = length_ns.ilog2() - PARTS.ilog2();
    ((doublings * PARTS) as usize) + (length_ns >> doublings) as usize
}

/// The shortest length in a bucket, ns.
fn least_of(bucket: usize) -> u64 {
    let (bucket, parts) = (bucket as u64, u64::from(PARTS));
    if bucket < 2 * parts {
        return bucket;
    }
    let doublings = bucket / parts - 1;
    (bucket - doublings * parts).checked_shl(doublings as u32).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_begin_where_they_say() {
        for length_ns in [0, 1, 15, 16, 17, 31, 32, 33, 1000, 123_456_789, u64::MAX] {
            let at = bucket(length_ns);
            assert!(least_of(at) <= length_ns && bucket(least_of(at)) == at, "{length_ns}");
            assert!(length_ns == u64::MAX || bucket(length_ns + 1) >= at, "{length_ns}");
        }
    }

    fn counted(waits: &[(u64, u64)], pieces: u64) -> Grain {
        let mut counts = Counts { pieces, time_ns: 3_000_000_000, waits: vec![0; bucket(u64::MAX) + 1] };
        waits.iter().for_each(|(length_ns, count)| counts.waits[bucket(*length_ns)] += count);
        counts.grain()
    }

    #[test]
    fn a_short_recording_is_told_whole() {
        let grain = counted(&[(5, 100_000), (7000, 50_000)], MOST_SAMPLES);
        assert_eq!((grain, grain.remarks()), (Grain::default(), Vec::new()));
    }

    #[test]
    fn of_a_long_one_the_longest_waits_are_marked() {
        let grain = counted(&[(5000, 3_000_000), (70_000, MOST_MARKERS)], MOST_SAMPLES + 1);
        assert_eq!((grain.sum_below_ns, grain.unmarked), (20_000, 3_000_000));
        assert!(grain.markers_from_ns > 5000 && grain.markers_from_ns <= 70_000, "{grain:?}");
        assert_eq!(grain.remarks().len(), 2);
        assert_eq!(counted(&[(5000, MOST_MARKERS + 1)], 0).unmarked, MOST_MARKERS + 1);
    }
}
