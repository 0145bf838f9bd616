//! What waits add up to: for each thread, and for each object whether anybody waits there who has something to do.

use std::collections::HashMap;

use dwell_model::{ObjectId, ObjectType, Outcome};
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use crate::study::explain::account::Account;
use crate::study::explain::roles::JAVA_MAIN;
use crate::study::explain::terms::WaitClass;
use crate::study::explain::wait_parts::Wait;

/// What waits add up to.
pub struct WaitSums {
    /// What each thread did.
    pub of_thread: Vec<Account>,
    /// By each key of events, ns: all waits, and those of threads that had something to do.
    of_key: Vec<[u64; 2]>,
}

impl WaitSums {
    /// Nobody waited yet.
    pub fn new(trace: &Trace) -> Self {
        let of_thread = vec![Account::default(); trace.threads.tid.len()];
        Self { of_thread, of_key: vec![[0; 2]; trace.events().keys.len()] }
    }

    /// Adds so much of a wait, ns; returns it.
    pub fn add(&mut self, trace: &Trace, wait: &Wait, ns: u64) -> u64 {
        self.of_thread[wait.thread].add_wait(wait.class, ns);
        if let Some([all, busy]) = self.of_key.get_mut(wait.key as usize) {
            *all = all.saturating_add(ns);
            *busy = busy.saturating_add(if has_work(trace, wait) { ns } else { 0 });
        }
        ns
    }

    /// Adds those of others.
    pub fn add_all(&mut self, others: &Self) {
        self.of_thread.iter_mut().zip(&others.of_thread).for_each(|(sum, of)| sum.add(of));
        for (sums, of) in self.of_key.iter_mut().zip(&others.of_key) {
            *sums = [sums[0].saturating_add(of[0]), sums[1].saturating_add(of[1])];
        }
    }

    /// Which part of the waits on each object is of threads that had something to do.
    /// The program's end waited for those `on_path` for so many ns.
    pub fn busy_shares(&self, trace: &Trace, on_path: &[(ObjectId, u64)]) -> HashMap<ObjectId, f64> {
        let mut of_object: HashMap<ObjectId, [u64; 2]> = HashMap::new();
        for (key, [all, busy]) in trace.events().keys.iter().zip(&self.of_key) {
            let sums = of_object.entry(key.object()).or_default();
            *sums = [sums[0].saturating_add(*all), sums[1].saturating_add(*busy)];
        }
        for (object, path_ns) in on_path {
            if let Some([_, busy]) = of_object.get_mut(object) {
                *busy = (*busy).max(*path_ns);
            }
        }
        of_object.retain(|_, [all, _]| *all > 0);
        of_object.into_iter().map(|(object, [all, busy])| (object, (busy as f64 / all as f64).min(1.0))).collect()
    }
}

/// Whether the thread of a wait had something to do: it waits for others, or sleeps though it could go on. A loop's own time-out is none, nor
/// is the wait for threads that are there before the recording and after it.
fn has_work(trace: &Trace, wait: &Wait) -> bool {
    let key = trace.events().key(wait.key);
    match wait.class {
        WaitClass::Demand | WaitClass::GivenUp => true,
        WaitClass::Structure => Outcome::from_code(key.outcome()) != Outcome::Unfinished && !is_launcher(trace, &key),
        WaitClass::Own => object_type(trace, key.object()) == ObjectType::Sleep,
        WaitClass::Idle => false,
    }
}

/// Whether the thread only started the virtual machine, and waits for all of it.
fn is_launcher(trace: &Trace, key: &EventKey) -> bool {
    key.object().get().and_then(|object| trace.objects.name.get(object)).is_some_and(|name| name.contains(JAVA_MAIN))
}
