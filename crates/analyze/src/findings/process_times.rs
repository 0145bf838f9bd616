//! How long each process ran, in which system calls of its own, and collecting garbage.

use std::collections::{BTreeMap, HashMap};

use dwell_model::{ProcessId, StackId};
use dwell_query::engine::fold::Fold;
use dwell_query::stacks::collectors::CollectorFunctions;
use dwell_query::stacks::system_calls::system_call;

/// The running time of a process that the filters let through, ns.
#[derive(Default)]
pub struct ProcessTimes<'t> {
    /// All of it.
    pub running_ns: u64,
    /// Within system calls, and where.
    in_calls: BTreeMap<(&'t str, StackId), u64>,
    /// Within functions that collect garbage, by stack.
    pub collecting: BTreeMap<StackId, u64>,
}

impl ProcessTimes<'_> {
    /// The time within some of the calls, by stack.
    pub fn within<'c>(&'c self, calls: &'c [&str]) -> impl Iterator<Item = (StackId, u64)> + 'c {
        let times = self.in_calls.iter().filter(|((call, _), _)| calls.contains(call));
        times.map(|((_, stack), ns)| (*stack, *ns))
    }

    /// The time within some of the calls.
    pub fn within_ns(&self, calls: &[&str]) -> u64 {
        self.within(calls).map(|(_, ns)| ns).sum()
    }
}

/// Of each process that ran.
pub fn process_times<'t>(fold: &Fold<'t>) -> BTreeMap<ProcessId, ProcessTimes<'t>> {
    let mut times: BTreeMap<ProcessId, ProcessTimes<'t>> = BTreeMap::new();
    let mut collectors = CollectorFunctions::default();
    let mut calls: HashMap<StackId, Option<&'t str>> = HashMap::new();
    for (_, site) in fold.selected_sites().filter(|(_, site)| site.key.reason.is_none()) {
        let Some(thread) = site.key.thread.get() else { continue };
        let (stack, ns) = (site.key.stack, site.busy_ns([true; 5]));
        let of = times.entry(fold.trace.threads.process[thread]).or_default();
        of.running_ns = of.running_ns.saturating_add(ns);
        if let Some(call) = *calls.entry(stack).or_insert_with(|| system_call(&fold.sums.stacks, stack)) {
            *of.in_calls.entry((call, stack)).or_default() += ns;
        }
        if collectors.are_at(&fold.sums.stacks, stack) {
            *of.collecting.entry(stack).or_default() += ns;
        }
    }
    times
}
