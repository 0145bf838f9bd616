//! What waits add up to: for each thread, and for each object whether anybody waits there who has something to do.

use std::collections::{HashMap, HashSet};

use dwell_store::Trace;

use crate::study::explain::account::Account;
use crate::study::explain::terms::WaitClass;
use crate::study::explain::wait_parts::Wait;

/// Part of the waits on an object from which on all of them are of threads without work.
const NEARLY_ALL: f64 = 0.99;

/// What waits add up to.
pub struct WaitSums {
    /// What each thread did.
    pub of_thread: Vec<Account>,
    /// By each key of events, ns: all waits, and those of threads without work.
    of_key: Vec<[u64; 2]>,
}

impl WaitSums {
    /// Nobody waited yet.
    pub fn new(trace: &Trace) -> Self {
        let of_thread = vec![Account::default(); trace.threads.tid.len()];
        Self { of_thread, of_key: vec![[0; 2]; trace.events().keys.len()] }
    }

    /// Adds so much of a wait, ns; returns it.
    pub fn add(&mut self, wait: &Wait, ns: u64) -> u64 {
        self.of_thread[wait.thread].add_wait(wait.class, ns);
        if let Some([all, idle]) = self.of_key.get_mut(wait.key as usize) {
            *all = all.saturating_add(ns);
            *idle = idle.saturating_add(if wait.class == WaitClass::Idle { ns } else { 0 });
        }
        ns
    }

    /// The names of the objects at which only threads without work waited; several objects may have one.
    pub fn idle_objects(&self, trace: &Trace) -> HashSet<String> {
        let mut of_name: HashMap<&str, [u64; 2]> = HashMap::new();
        for (key, [all, idle]) in trace.events().keys.iter().zip(&self.of_key) {
            let Some(name) = key.object().get().and_then(|object| trace.objects.name.get(object)) else { continue };
            let sums = of_name.entry(name).or_default();
            *sums = [sums[0].saturating_add(*all), sums[1].saturating_add(*idle)];
        }
        of_name.retain(|_, [all, idle]| *all > 0 && *idle as f64 >= NEARLY_ALL * *all as f64);
        of_name.into_keys().map(str::to_owned).collect()
    }
}
