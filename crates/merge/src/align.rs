//! The clock of one host on that of another.
//!
//! Of an exchange, a question and its answer, both ends have two times. The question arrives after it was sent and the
//! answer too, which bounds the offset from both sides: the nearer to each other, the smaller the delay of both ways was.
//! Which question is which of the other host's is not recorded, so that wrong pairs are among the bounds, and clocks drift.
//! The offset taken is the one within the most bounds (Marzullo's algorithm, as NTP uses it to choose among clocks):
//! wrong pairs agree on nothing.

/// The offset lies between these, ns, both included: what is added to the second clock to get the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// A question arrived no earlier than it was sent.
    pub least: i64,
    /// An answer came no later than it arrived.
    pub most: i64,
}

/// The offset found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// Added to the second clock to get the first, ns.
    pub offset_ns: i64,
    /// It is wrong by so much at most, when the bounds that agree are right, ns.
    pub error_ns: u64,
    /// Bounds that agree.
    pub agreeing: usize,
}

/// The offset within the most of `bounds`; of several such, the one closest to `guess_ns`. None without any bounds.
pub fn align(bounds: &[Bounds], guess_ns: i64) -> Option<Alignment> {
    let sound = bounds.iter().filter(|bounds| bounds.least <= bounds.most);
    // A bound begins before another one ends at the same place.
    let mut edges: Vec<(i64, bool)> = sound.flat_map(|bounds| [(bounds.least, false), (bounds.most, true)]).collect();
    edges.sort_unstable();
    let (mut covering, mut best): (usize, Option<(usize, i64, i64)>) = (0, None);
    for (index, &(at, ends)) in edges.iter().enumerate() {
        if ends {
            covering -= 1;
            continue;
        }
        covering += 1;
        // Only here the number can be the largest: up to the next end.
        let Some(&(next, true)) = edges.get(index + 1) else { continue };
        let nearer = |low: i64, high: i64| {
            at.abs_diff(guess_ns).min(next.abs_diff(guess_ns)) < low.abs_diff(guess_ns).min(high.abs_diff(guess_ns))
        };
        if best.is_none_or(|(most, low, high)| covering > most || (covering == most && nearer(low, high))) {
            best = Some((covering, at, next));
        }
    }
    best.map(|(agreeing, low, high)| Alignment {
        offset_ns: low.midpoint(high),
        error_ns: high.abs_diff(low).div_ceil(2),
        agreeing,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Exchanges of two hosts whose clocks differ by `offset`: each with its delays there and back and its time at the
    /// server, ns. Times are those of a client that asks every `pace`.
    fn synthetic(offset: i64, delays: &[(u32, u32, u32)], pace: i64) -> Vec<(i64, i64, i64, i64)> {
        let exchange = |(index, &(there, busy, back)): (usize, &(u32, u32, u32))| {
            let asked = index as i64 * pace;
            let received = asked + i64::from(there) - offset;
            let replied = received + i64::from(busy);
            (asked, received, replied, replied + offset + i64::from(back))
        };
        delays.iter().enumerate().map(exchange).collect()
    }

    fn bounds(exchanges: &[(i64, i64, i64, i64)]) -> Vec<Bounds> {
        let of = |&(asked, received, replied, answered): &(i64, i64, i64, i64)| Bounds {
            least: asked - received,
            most: answered - replied,
        };
        exchanges.iter().map(of).collect()
    }

    #[test]
    fn without_exchanges_there_is_no_offset() {
        assert_eq!(align(&[], 0), None);
        assert_eq!(align(&[Bounds { least: 2, most: 1 }], 0), None);
    }

    #[test]
    fn wrong_pairs_do_not_count() {
        let right = [(90, 130), (95, 140), (80, 105)].map(|(least, most)| Bounds { least, most });
        let wrong = [(1000, 1010), (-500, -400), (1005, 1020)].map(|(least, most)| Bounds { least, most });
        let all: Vec<Bounds> = right.into_iter().chain(wrong).collect();
        assert_eq!(align(&all, 1000), Some(Alignment { offset_ns: 100, error_ns: 5, agreeing: 3 }));
    }

    #[test]
    fn of_two_that_are_as_good_the_guess_decides() {
        let bounds = [(0, 10), (100, 110)].map(|(least, most)| Bounds { least, most });
        assert_eq!(align(&bounds, 90).map(|found| found.offset_ns), Some(105));
        assert_eq!(align(&bounds, -5).map(|found| found.offset_ns), Some(5));
    }

    proptest! {
        /// Whatever the skew, and however much longer one way takes: the error says how wrong the offset can be, and is
        /// no more than half of the shortest round trip.
        #[test]
        fn the_offset_is_found_within_the_error(
            offset in -1_000_000_000_000_i64..1_000_000_000_000,
            delays in proptest::collection::vec((10_000..5_000_000_u32, 0..10_000_000_u32, 10_000..5_000_000_u32), 1..60),
        ) {
            let found = align(&bounds(&synthetic(offset, &delays, 50_000_000)), 0).unwrap();
            prop_assert_eq!(found.agreeing, delays.len());
            prop_assert!(found.offset_ns.abs_diff(offset) <= found.error_ns);
            let shortest = delays.iter().map(|(there, _, back)| u64::from(there + back)).min().unwrap();
            prop_assert!(found.error_ns <= shortest.div_ceil(2));
        }

        /// Every question is paired with every answer, and some were seen on one side only.
        #[test]
        fn the_right_pairs_are_found_among_all(
            offset in -1_000_000_000_i64..1_000_000_000,
            delays in proptest::collection::vec((10_000..500_000_u32, 0..3_000_000_u32, 10_000..500_000_u32), 12..40),
            paces in proptest::collection::vec(4_000_000..40_000_000_i64, 40),
            lost in proptest::collection::vec(0..40_usize, 0..3),
        ) {
            let mut exchanges = synthetic(offset, &delays, 0);
            let mut at = 0;
            for ((asked, received, replied, answered), pace) in exchanges.iter_mut().zip(&paces) {
                at += pace;
                for time in [asked, received, replied, answered] {
                    *time += at;
                }
            }
            let client = exchanges.iter().enumerate().filter(|(index, _)| !lost.contains(index));
            let client: Vec<_> = client.map(|(_, exchange)| *exchange).collect();
            let pairs = client.iter().flat_map(|&(asked, .., answered)| {
                exchanges.iter().map(move |&(_, received, replied, _)| (asked, received, replied, answered))
            });
            let found = align(&bounds(&pairs.collect::<Vec<_>>()), 0).unwrap();
            prop_assert!(found.offset_ns.abs_diff(offset) <= found.error_ns.max(500_000), "{:?}, {}", found, offset);
        }
    }
}
