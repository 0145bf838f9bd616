//! Which row ends a wait: a time-out or a signal can break it off, and it goes on.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use dwell_model::{Outcome, StackId};
use dwell_query::engine::alike_objects::without_count;
use dwell_store::{EventKey, Trace};

use crate::study::explain::interval_polls::{CUT_NS, IntervalPolls, WaitPlace, interval_polls};
use crate::study::explain::terms::{GOES_ON_NS, PlaceId, is_client_socket};

/// Rows beside a time-out in which the wait that goes on is looked for.
const LOOKED_AT: usize = 64;

/// How long a thread waits for something else at most between two parts of a wait, ns: PostgreSQL takes locks to look for deadlocks.
const MEANWHILE_NS: u64 = 3_000_000;

/// How long a thread of Ruby waits for the lock that all share until it looks again, more or less, ns: TIME_QUANTUM_MSEC of thread_pthread.c.
const RUBY_SLICE_NS: std::ops::Range<u64> = 95_000_000..110_000_000;

/// See the module.
pub struct WaitEnds<'t> {
    trace: &'t Trace,
    /// The lines at which answers are waited for, by stack.
    places: HashMap<StackId, PlaceId>,
    /// Where these waits are cut into intervals, or keep a pace.
    interval_polls: IntervalPolls,
    /// Rows that go on, each with the one that ends it: the walk comes from behind, and each part of a long wait leads to the next.
    known: KnownEnds,
}

impl<'t> WaitEnds<'t> {
    /// Those of a trace.
    pub fn new(trace: &'t Trace, place_of: &mut impl FnMut(&EventKey) -> PlaceId) -> Self {
        let asks = |key: &&EventKey| is_client_socket(waited_for(trace, key));
        let keys = &trace.events().keys;
        let places: HashMap<StackId, PlaceId> =
            keys.iter().filter(asks).map(|key| (key.stack(), place_of(key))).collect();
        let place_of = |key: &EventKey| places.get(&key.stack()).copied().filter(|_| asks(&key));
        let interval_polls = interval_polls(trace, &place_of);
        Self { trace, places, interval_polls, known: KnownEnds::new() }
    }

    /// The row whose waker ends the wait of `row`: its own; after a time-out, that of the wait for the same object at the same place
    /// that goes on with it. A thread of Ruby waits for everything on one object, but not everywhere.
    pub fn ended_by(&self, thread: usize, row: usize) -> usize {
        let key = self.trace.events().off_cpu_key(row);
        // A signal breaks a wait off that goes on behind its handler.
        let is_broken_off = matches!(Outcome::from_code(key.outcome()), Outcome::TimedOut | Outcome::Interrupted);
        if !is_broken_off || !key.object().is_some() {
            return row;
        }
        let is_cut = self.is_interval_poll(&key);
        let end = self.last_part(thread, row).filter(|end| outcome_of(self.trace, *end) == Outcome::Woken);
        let end = end.filter(|end| self.trace.events().off_cpu_key(*end).waker().is_some());
        end.or_else(|| self.usual_end(thread, row).filter(|_| is_cut)).unwrap_or(row)
    }

    /// The key of the row that ends a wait for an answer which a time-out cut, where nobody who is recorded gave that answer.
    pub fn key_of_answer(&self, thread: usize, row: usize) -> Option<u32> {
        let events = self.trace.events();
        if !is_client_socket(waited_for(self.trace, &events.off_cpu_key(row))) {
            return None;
        }
        let end = self.last_part(thread, row).filter(|end| outcome_of(self.trace, *end) == Outcome::Woken)?;
        events.off_cpu_key(end).waker().get().is_none().then(|| events.off_cpu.key(end))
    }

    /// Whether the wait of a row, which its time-out ended, goes on to the end of the recording.
    pub fn is_unfinished(&self, thread: usize, row: usize) -> bool {
        self.last_part(thread, row).is_some_and(|end| outcome_of(self.trace, end) == Outcome::Unfinished)
    }

    /// The key of the row that ends a wait which a signal broke off, where it went on.
    pub fn key_of_end(&self, thread: usize, row: usize) -> Option<u32> {
        let end = self.last_part(thread, row)?;
        (outcome_of(self.trace, row) == Outcome::Interrupted).then(|| self.trace.events().off_cpu.key(end))
    }

    /// Whether the wait is one of several for the same object, each as long as a thread of Ruby waits for the lock that all share until it
    /// looks again.
    pub fn is_ruby_slice(&self, thread: usize, row: usize) -> bool {
        let (events, rows) = (self.trace.events(), &self.trace.events().off_cpu);
        let goes_on = |(before, behind): (usize, usize)| {
            let is_soon = rows.start_ns(behind).saturating_sub(rows.end_ns(before)) < GOES_ON_NS;
            is_soon && events.off_cpu_key(behind).object() == events.off_cpu_key(before).object()
        };
        let waits = |row: &usize| rows.wait_ns(*row) > 0;
        let next = (row + 1..rows.of(thread).end).take(LOOKED_AT).find(waits).map(|next| (row, next));
        let last = (rows.of(thread).start..row).rev().take(LOOKED_AT).find(waits).map(|last| (last, row));
        RUBY_SLICE_NS.contains(&rows.wait_ns(row)) && next.into_iter().chain(last).any(goes_on)
    }

    /// Whether the key's waits are parts of a wait for an answer.
    pub fn is_interval_poll(&self, key: &EventKey) -> bool {
        self.is_among(&self.interval_polls.cut, key)
    }

    /// Whether the key's waits keep a pace by short time-outs, and are for no answer.
    pub fn keeps_pace(&self, key: &EventKey) -> bool {
        self.is_among(&self.interval_polls.paces, key)
    }

    fn is_among(&self, places: &HashSet<WaitPlace>, key: &EventKey) -> bool {
        self.places.get(&key.stack()).is_some_and(|place| places.contains(&(key.object(), *place)))
    }

    /// Whether waits of two keys are for the same thing at the same place.
    fn are_same(&self, key: &EventKey, other: &EventKey) -> bool {
        let place = |key: &EventKey| self.places.get(&key.stack());
        let same_place = key.stack() == other.stack() || place(key).is_some() && place(key) == place(other);
        key.object() == other.object() && same_place
    }

    /// The row by which somebody else ended a wait there next, or last: the answer can come before a wait that was cut goes on.
    fn usual_end(&self, thread: usize, row: usize) -> Option<usize> {
        let (events, rows) = (&self.trace.events(), &self.trace.events().off_cpu);
        let (all, key) = (rows.of(thread), events.off_cpu_key(row));
        let is_end = |other: &usize| {
            let end = events.off_cpu_key(*other);
            self.are_same(&key, &end) && waker_of(&end).is_some()
        };
        let mut behind = (row + 1..all.end).take(LOOKED_AT);
        behind.find(is_end).or_else(|| (all.start..row).rev().take(LOOKED_AT).find(is_end))
    }

    /// The last part of the wait of `row`, which does not end by a time-out: waits for the same object at the same place follow it, each
    /// soon after the one before.
    fn last_part(&self, thread: usize, row: usize) -> Option<usize> {
        let end = self.known.of(row).unwrap_or_else(|| self.find_last_part(thread, row));
        self.known.set(row, end);
        end
    }

    fn find_last_part(&self, thread: usize, row: usize) -> Option<usize> {
        let events = self.trace.events();
        let (rows, key) = (&events.off_cpu, events.off_cpu_key(row));
        if self.is_among(&self.interval_polls.in_vain, &key) {
            return None;
        }
        let is_answer = is_client_socket(waited_for(self.trace, &key)) && !self.is_interval_poll(&key);
        let goes_on_ns = if is_answer { CUT_NS } else { GOES_ON_NS };
        let (mut last, mut looked_at) = (row, 0);
        for next in row + 1..rows.of(thread).end {
            looked_at += 1;
            if looked_at > LOOKED_AT {
                return None;
            }
            let soon = rows.start_ns(next).saturating_sub(rows.end_ns(last)) < goes_on_ns;
            if !soon {
                return None;
            }
            last = next;
            if rows.wait_ns(next) == 0 {
                continue;
            }
            let key_of_next = events.off_cpu_key(next);
            if !self.are_same(&key, &key_of_next) {
                if rows.wait_ns(next) < MEANWHILE_NS {
                    continue;
                }
                return None;
            }
            if matches!(Outcome::from_code(key_of_next.outcome()), Outcome::Woken | Outcome::Unfinished) {
                return Some(next);
            }
            if let Some(end) = self.known.of(next) {
                return end;
            }
            looked_at = 0; // it goes on from there
        }
        None
    }
}

/// Rows and the ends of their waits, or that these have none, the last ones that were asked for: those of several walks at once.
struct KnownEnds(Vec<AtomicU64>);

impl KnownEnds {
    /// How many rows are known at most; rows whose numbers are equal but for multiples of it push one another out.
    const ROWS: usize = 4096;
    /// Stands for no end.
    const NO_END: u32 = u32::MAX;

    fn new() -> Self {
        Self((0..Self::ROWS).map(|_| AtomicU64::new(u64::MAX)).collect())
    }

    fn set(&self, row: usize, end: Option<usize>) {
        // Rows behind the 32nd bit are not kept.
        let end = end.map_or(Ok(Self::NO_END), u32::try_from);
        if let (Ok(key), Ok(end)) = (u32::try_from(row), end) {
            self.0[row % Self::ROWS].store(u64::from(key) << 32 | u64::from(end), Ordering::Relaxed);
        }
    }

    fn of(&self, row: usize) -> Option<Option<usize>> {
        let known = self.0[row % Self::ROWS].load(Ordering::Relaxed);
        let end = known as u32;
        let is_known = known >> 32 == row as u64 && known != u64::MAX;
        is_known.then_some((end != Self::NO_END).then_some(end as usize))
    }
}

fn outcome_of(trace: &Trace, row: usize) -> Outcome {
    Outcome::from_code(trace.events().off_cpu_key(row).outcome())
}

/// The name of what a key's waits are for, without a number.
pub fn waited_for<'t>(trace: &'t Trace, key: &EventKey) -> &'t str {
    key.object().get().and_then(|row| trace.objects.name.get(row)).map_or("", |name| without_count(name))
}

/// The other thread that ended a key's waits.
pub fn waker_of(key: &EventKey) -> Option<usize> {
    let woken = Outcome::from_code(key.outcome()) == Outcome::Woken;
    key.waker().get().filter(|waker| woken && key.thread().get() != Some(*waker))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_a_wait_has_no_end_is_known_as_well() {
        let known = KnownEnds::new();
        assert_eq!(known.of(7), None, "nobody asked");
        known.set(7, None);
        known.set(8, Some(9));
        assert_eq!((known.of(7), known.of(8)), (Some(None), Some(Some(9))));
        known.set(7 + KnownEnds::ROWS, Some(5000));
        assert_eq!(known.of(7), None, "pushed out");
    }
}
