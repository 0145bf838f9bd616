//! Who asks whom through a third: a broker, such as Redis with its blocking pops or a message queue, wakes a worker because a client
//! told it to, and the client because the worker did.
//!
//! What a loop does between two of its waits it does for whoever ended the first one. Who was the first to have another one woken
//! is the client of that one.

use std::collections::{BTreeSet, HashMap};

use dwell_model::Outcome;
use dwell_store::{EventKey, Trace};

use crate::study::explain::programs::Programs;
use crate::study::explain::terms::{RoleId, is_of_event_loop};

/// When the first role first had the second one woken by a loop, ns.
#[derive(Default)]
pub struct Brokers {
    asked: HashMap<(RoleId, RoleId), u64>,
}

/// A wake-up by a loop: when, and of which role.
type WakeUp = (u64, RoleId);

impl Brokers {
    /// Those of a trace: a pass over the rows that its loops ended.
    pub fn new(trace: &Trace, programs: &Programs, role_of: &dyn Fn(usize) -> RoleId) -> Self {
        let mut brokers = Self::default();
        for (broker, mut wake_ups) in wake_ups(trace, programs, role_of) {
            wake_ups.sort_unstable();
            brokers.of_loop(trace, broker, &wake_ups, role_of);
        }
        brokers
    }

    /// What one loop did for others, by its wake-ups in order of time.
    fn of_loop(&mut self, trace: &Trace, broker: usize, wake_ups: &[WakeUp], role_of: &dyn Fn(usize) -> RoleId) {
        let (events, rows) = (trace.events(), &trace.events().off_cpu);
        let mut next = 0;
        let mut told_by: Option<RoleId> = None;
        for row in rows.of(broker).filter(|row| rows.wait_ns(*row) > 0) {
            let began = rows.start_ns(row);
            let until = next + wake_ups[next..].partition_point(|(time, _)| *time <= began);
            let woken: BTreeSet<RoleId> = wake_ups[next..until].iter().map(|(_, role)| *role).collect();
            next = until;
            if let Some(asker) = told_by {
                let mut others = woken.iter().filter(|role| **role != asker);
                // Of several nobody knows for whom which one was.
                if let (Some(other), None) = (others.next(), others.next()) {
                    let first = self.asked.entry((asker, *other)).or_insert(u64::MAX);
                    *first = began.min(*first);
                }
            }
            told_by = ender_of_loop(&events.off_cpu_key(row), role_of).filter(|asker| *asker != role_of(broker));
        }
    }

    /// Whether `asker` is the client of `other`, by way of a third.
    pub fn is_client(&self, asker: RoleId, other: RoleId) -> bool {
        let asked = |by, whom| self.asked.get(&(by, whom)).copied();
        asked(asker, other).is_some_and(|first| asked(other, asker).is_none_or(|answer| first < answer))
    }
}

/// Who ended a wait of an event loop.
fn ender_of_loop(key: &EventKey, role_of: &dyn Fn(usize) -> RoleId) -> Option<RoleId> {
    let is_told = is_of_event_loop(key.syscall()) && Outcome::from_code(key.outcome()) == Outcome::Woken;
    key.waker().get().filter(|_| is_told).map(role_of)
}

/// What each loop woke that threads of two roles tell what to do.
fn wake_ups(trace: &Trace, programs: &Programs, role_of: &dyn Fn(usize) -> RoleId) -> HashMap<usize, Vec<WakeUp>> {
    let events = trace.events();
    let mut told_by: HashMap<usize, BTreeSet<RoleId>> = HashMap::new();
    for key in events.keys.iter() {
        if let Some((broker, ender)) = key.thread().get().zip(ender_of_loop(key, role_of)) {
            told_by.entry(broker).or_default().insert(ender);
        }
    }
    told_by.retain(|broker, enders| enders.iter().filter(|ender| **ender != role_of(*broker)).count() >= 2);
    let mut wake_ups: HashMap<usize, Vec<WakeUp>> = told_by.into_keys().map(|broker| (broker, Vec::new())).collect();
    if wake_ups.is_empty() {
        return wake_ups;
    }
    for thread in 0..trace.threads.tid.len() {
        let role = role_of(thread);
        // To start a program is to ask it.
        let creator = programs.creator(thread).filter(|creator| role_of(*creator) != role);
        if let Some(of) = creator.and_then(|creator| wake_ups.get_mut(&creator)) {
            of.push((trace.threads.start_ns[thread], role));
        }
        events.off_cpu.for_each_wait(events.off_cpu.of(thread), |row, wait_ns, key| {
            let waker = events.key(key).waker().get().filter(|waker| wait_ns > 0 && role_of(*waker) != role);
            if let Some(of) = waker.and_then(|waker| wake_ups.get_mut(&waker)) {
                of.push((events.off_cpu.woken_ns(row), role));
            }
        });
    }
    wake_ups
}
