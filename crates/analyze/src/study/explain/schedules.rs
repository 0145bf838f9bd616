//! Threads that keep a schedule: each turn begins at a multiple of a period (a frame rate, a control loop, a timer of an interval), however
//! long the turn before took. Their sleeps are how they work.
//!
//! Who sleeps for a time that does not depend on the work before drifts: the distances between its turns differ by chance. Where they are
//! counted from a clock, what one turn is late makes the next distance shorter, so that neighbours go together: their correlation is near -1/2.
//! Where the work differs from turn to turn, the sleeps make up for it: they differ far more than the distances.

use dwell_model::{ObjectType, Outcome};
use dwell_query::stacks::object::object_type;
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
/// How much sleeps that make up for the work differ at least, as a part of the period, and how much the distances do at most, as a part of that: standard
/// deviations.
const WORK_DIFFERS: f64 = 0.02;
const MADE_UP: f64 = 0.25;
/// Of sleeps of one length: how much they differ at most, as a part of how much the distances do.
const ONE_LENGTH: f64 = 0.3;

/// Whether the sleeps that are the cause keep a schedule.
pub fn keeps_schedule(trace: &Trace, names: &Names<'_, '_>, root: &RootCause) -> bool {
    if !matches!(root.cause.kind, CauseKind::Slept | CauseKind::TimedOut | CauseKind::Timer) {
        return false;
    }
    let mut threads = names.members_of(root.cause.role).map(|thread| sleeps_of(trace, names, thread, root));
    let mut any = false;
    threads.all(|sleeps| {
        any |= sleeps.len() > TURNS;
        let ends: Vec<u64> = sleeps.iter().map(|sleep| sleep.end_ns).collect();
        sleeps.len() <= 1 || (are_of_clock(&ends) && !have_one_length(&sleeps)) || make_up_for_work(&sleeps)
    }) && any
}

/// A sleep.
#[derive(Clone, Copy)]
struct Sleep {
    end_ns: u64,
    length_ns: u64,
}

/// A thread's waits that are the cause.
fn sleeps_of(trace: &Trace, names: &Names<'_, '_>, thread: usize, root: &RootCause) -> Vec<Sleep> {
    let (events, mut sleeps) = (trace.events(), Vec::new());
    events.off_cpu.for_each_wait(events.off_cpu.of(thread), |row, _, key| {
        let key = events.key(key);
        let is_for_it = match root.cause.kind {
            // A timed wait may be a sleep, too.
            CauseKind::Slept => {
                matches!(object_type(trace, key.object()), ObjectType::Sleep | ObjectType::Timer)
                    || Outcome::from_code(key.outcome()) == Outcome::TimedOut
            }
            _ => names.has_label(&key, root.cause.label),
        };
        if is_for_it && names.is_at(key.stack(), &root.at) {
            sleeps.push(Sleep { end_ns: events.off_cpu.woken_ns(row), length_ns: events.off_cpu.wait_ns(row) });
        }
    });
    sleeps
}

/// Whether sleeps are all as long, while the distances between their ends differ: nothing makes up for the work.
fn have_one_length(sleeps: &[Sleep]) -> bool {
    let lengths: Vec<f64> = sleeps.iter().map(|sleep| sleep.length_ns as f64).collect();
    let ends: Vec<u64> = sleeps.iter().map(|sleep| sleep.end_ns).collect();
    let (_, late) = usual_distances(&ends);
    standard_deviation(&lengths) < ONE_LENGTH * standard_deviation(&late)
}

/// The usual distance of instants, and by how much each that is near it is longer.
fn usual_distances(instants: &[u64]) -> (f64, Vec<f64>) {
    let distances = instants.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64);
    let mut sorted: Vec<f64> = distances.clone().collect();
    sorted.sort_by(f64::total_cmp);
    let period = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    let is_usual = |distance: &f64| (distance - period).abs() <= USUAL * period;
    (period, distances.filter(is_usual).map(|it| it - period).collect())
}

/// Whether sleeps end a period or several after the one before, however long they take: what the work is longer they are shorter.
fn make_up_for_work(sleeps: &[Sleep]) -> bool {
    let distance = |pair: &[Sleep]| pair[1].end_ns.saturating_sub(pair[0].end_ns) as f64;
    let mut sorted: Vec<f64> = sleeps.windows(2).map(distance).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(period) = sorted.get(sorted.len() / 2).copied().filter(|period| *period > 0.0) else { return false };
    // By how much a distance is longer than whole periods, and the sleep at its end.
    let turn = |pair: &[Sleep]| {
        let distance = distance(pair);
        let late = distance - (distance / period).round() * period;
        (late.abs() <= JITTER * period && distance > USUAL * period).then_some((late, pair[1].length_ns as f64))
    };
    let (late, lengths): (Vec<f64>, Vec<f64>) = sleeps.windows(2).filter_map(turn).unzip();
    let differ = standard_deviation(&lengths);
    late.len() >= TURNS
        && late.len() as f64 >= MOST * sorted.len() as f64
        && differ >= WORK_DIFFERS * period
        && standard_deviation(&late) <= MADE_UP * differ
}

fn standard_deviation(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / count).sqrt()
}

/// Whether these instants are multiples of a period, but for what each is late.
fn are_of_clock(instants: &[u64]) -> bool {
    let (period, late) = usual_distances(instants);
    let distances = instants.len().saturating_sub(1);
    if period <= 0.0 || late.len() < TURNS || (late.len() as f64) < MOST * distances as f64 {
        return false;
    }
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    let deviation = standard_deviation(&late);
    let together = late.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / late.len() as f64;
    deviation <= JITTER * period && CORRELATION.contains(&(together / deviation.powi(2)))
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

    #[test]
    fn sleeps_of_one_length_keep_no_schedule_though_their_distances_go_together() {
        let by_turns = |lengths: &dyn Fn(u64) -> u64| -> Vec<Sleep> {
            let turns = noise(1_500_000).enumerate().map(|(turn, late)| (turn as u64, late));
            turns
                .map(|(turn, late)| Sleep { end_ns: turn * 120_000_000 + late, length_ns: lengths(late) })
                .take(40)
                .collect()
        };
        let (constant, rest) = (by_turns(&|late| 118_000_000 + late / 100), by_turns(&|late| 118_000_000 + late));
        let ends: Vec<u64> = constant.iter().map(|sleep| sleep.end_ns).collect();
        assert!(are_of_clock(&ends));
        assert!(have_one_length(&constant) && !have_one_length(&rest));
    }

    #[test]
    fn sleeps_until_the_next_frame_make_up_for_its_work() {
        let period = 16_666_667;
        let works: Vec<u64> = noise(9_000_000).take(60).collect();
        // They are late by what changes slowly, as of a CPU that sleeps deeper in longer sleeps.
        let frames = works.iter().enumerate().map(|(turn, work)| {
            let end_ns = turn as u64 * period + turn as u64 % 30 * 2000;
            Sleep { end_ns, length_ns: period - work }
        });
        assert!(make_up_for_work(&frames.collect::<Vec<_>>()));
        let mut end_ns = 0;
        let of_one_length = works.iter().map(|work| {
            end_ns += work + 10_000_000;
            Sleep { end_ns, length_ns: 10_000_000 }
        });
        assert!(!make_up_for_work(&of_one_length.collect::<Vec<_>>()));
        let mut end_ns = 0;
        let longer_each_time = works.iter().map(|pause| {
            end_ns += pause + 1_000_000;
            Sleep { end_ns, length_ns: *pause }
        });
        assert!(!make_up_for_work(&longer_each_time.collect::<Vec<_>>()), "pauses by chance");
    }
}
