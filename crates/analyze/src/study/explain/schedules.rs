//! Threads that keep a schedule: each turn begins at a multiple of a period (a frame rate, a control loop, a timer of an interval), however
//! long the turn before took. Their sleeps are how they work.
//!
//! Who sleeps for a time that does not depend on the work before drifts: the distances between its turns differ by chance. Where they are
//! counted from a clock, what one turn is late makes the next distance shorter, so that neighbours go together: their correlation is near -1/2.

use dwell_store::Trace;

use crate::study::explain::names::Names;
use crate::study::explain::roots::RootCause;
use crate::study::explain::terms::CauseKind;

/// Turns that are needed to know.
const TURNS: usize = 20;
/// Distances that differ by this part from the usual one are of turns that were left out.
const USUAL: f64 = 0.5;
/// By how much usual distances differ, as a part of them, at most: their standard deviation.
const JITTER: f64 = 0.1;
/// The correlation of neighbours: work that takes long and short by turns has one near -1.
const CORRELATION: std::ops::Range<f64> = -0.8..-0.25;
/// Part of the turns that must have the usual distance.
const MOST: f64 = 0.8;

/// Whether the sleeps that are the cause keep a schedule.
pub fn keeps_schedule(trace: &Trace, names: &Names<'_, '_>, root: &RootCause) -> bool {
    if !matches!(root.cause.kind, CauseKind::Slept | CauseKind::TimedOut | CauseKind::Timer) {
        return false;
    }
    let mut threads = names.members_of(root.cause.role).map(|thread| ends_of(trace, names, (thread, &root.at)));
    let mut any = false;
    threads.all(|ends| {
        any |= ends.len() > TURNS;
        ends.len() <= 1 || are_of_clock(&ends)
    }) && any
}

/// When a thread's waits at a place ended, ns.
fn ends_of(trace: &Trace, names: &Names<'_, '_>, (thread, at): (usize, &str)) -> Vec<u64> {
    let (events, mut ends) = (trace.events(), Vec::new());
    events.off_cpu.for_each_wait(events.off_cpu.of(thread), |row, _, key| {
        if names.is_at(events.key(key).stack(), at) {
            ends.push(events.off_cpu.woken_ns(row));
        }
    });
    ends
}

/// Whether these instants are multiples of a period, but for what each is late.
fn are_of_clock(instants: &[u64]) -> bool {
    let distances: Vec<f64> = instants.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64).collect();
    let mut sorted = distances.clone();
    sorted.sort_by(f64::total_cmp);
    let Some(period) = sorted.get(sorted.len() / 2).copied().filter(|period| *period > 0.0) else { return false };
    let is_usual = |distance: f64| (distance - period).abs() <= USUAL * period;
    let late: Vec<f64> = distances.iter().filter(|it| is_usual(**it)).map(|it| it - period).collect();
    if late.len() < TURNS || (late.len() as f64) < MOST * distances.len() as f64 {
        return false;
    }
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    let variance = late.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / late.len() as f64;
    let together = late.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / late.len() as f64;
    variance.sqrt() <= JITTER * period && CORRELATION.contains(&(together / variance))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers up to `most` without order, the same in every run.
    fn noise(most: u64) -> impl Iterator<Item = u64> {
        std::iter::successors(Some(0x9e37_79b9_7f4a_7c15u64), |it| {
            let it = it ^ (it << 13);
            let it = it ^ (it >> 7);
            Some(it ^ (it << 17))
        })
        .map(move |it| it % most)
    }

    #[test]
    fn turns_of_a_clock_keep_a_schedule_and_sleeps_of_one_length_do_not() {
        let of_clock: Vec<u64> =
            noise(300_000).enumerate().map(|(turn, late)| turn as u64 * 16_666_667 + late).take(60).collect();
        assert!(are_of_clock(&of_clock));
        let some_left_out: Vec<u64> =
            of_clock.iter().enumerate().filter(|(turn, _)| turn % 9 != 4).map(|(_, it)| *it).collect();
        assert!(are_of_clock(&some_left_out), "two turns in one");
        let drifts = |most: u64| -> Vec<u64> {
            let sums = noise(most).scan(0, |time, late| {
                *time += 16_600_000 + late;
                Some(*time)
            });
            sums.take(60).collect()
        };
        assert!(!are_of_clock(&drifts(300_000)));
        assert!(!are_of_clock(&drifts(3_000_000)));
        let by_turns: Vec<u64> = (0..60).map(|turn| turn * 20_000_000 + turn % 2 * 1_500_000).collect();
        assert!(!are_of_clock(&by_turns), "long and short work by turns");
        assert!(!are_of_clock(&of_clock[..10]), "too few to know");
    }
}
