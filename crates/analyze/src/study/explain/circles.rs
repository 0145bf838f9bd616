//! Whether threads wake one another in a circle, as those do that take turns: in a pipeline each one wakes the next, and nobody the first.

use std::collections::BTreeSet;

use dwell_store::WordMap;

/// Pairs of the waker and the woken thread, with how often.
pub type WakeUps = WordMap<(u32, u32), u64>;

/// Whether there is a circle among those who wake others. Rare wake-ups do not count. Where each was woken once only, no circle can have
/// closed: then there may be one.
pub fn have_circle(wake_ups: &WakeUps) -> bool {
    let most = wake_ups.values().copied().max().unwrap_or(0);
    if most == 1 {
        return true;
    }
    let mut left: BTreeSet<(u32, u32)> =
        wake_ups.iter().filter(|(_, count)| RARE * **count >= most).map(|(pair, _)| *pair).collect();
    // Who wakes nobody is on no circle, nor are those who wake only such.
    loop {
        let waking: BTreeSet<u32> = left.iter().map(|(waker, _)| *waker).collect();
        let before = left.len();
        left.retain(|(_, woken)| waking.contains(woken));
        if left.len() == before {
            return !left.is_empty();
        }
    }
}

/// A wake-up counts that is so many times rarer than the most frequent one, at most.
const RARE: u64 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipeline_has_no_circle_and_turns_are_one() {
        let count = |pairs: &[(u32, u32)]| pairs.iter().map(|pair| (*pair, 9)).collect::<WakeUps>();
        assert!(!have_circle(&count(&[(0, 1), (1, 2), (2, 3)])));
        assert!(have_circle(&count(&[(0, 1), (1, 2), (2, 0)])));
        assert!(have_circle(&count(&[(5, 0), (0, 1), (1, 0)])));
        assert!(!have_circle(&count(&[])));
        assert!(have_circle(&[((0, 1), 1), ((1, 2), 1)].into_iter().collect()), "a lock that each had once");
        let mut end = count(&[(0, 1), (1, 2)]);
        end.insert((2, 0), 1);
        assert!(have_circle(&end));
        end.extend([((0, 1), 100), ((1, 2), 100)]);
        assert!(!have_circle(&end), "as when threads end");
    }
}
