//! Which event keys count as one where only threads and CPUs matter: sites per key could be as many as intervals.

use std::collections::HashMap;
use std::hash::Hash;

use dwell_store::Trace;

use crate::engine::selection::Selection;
use crate::engine::sites::{classify, sites_of};
use crate::engine::sums::KeySums;
use crate::measure::site::Site;
use crate::question::filter::{Filter, FilterKey};
use crate::question::query::Query;
use crate::stacks::call_stacks::CallStacks;

/// For each key, the key that stands for it where only CPUs matter, outside of tasks: the first one that is classified
/// alike and that the other filters treat alike.
pub fn alike(trace: &Trace, stacks: &CallStacks<'_>, query: &Query) -> Vec<u32> {
    let of_site = |filter: &&Filter| !matches!(filter.key, FilterKey::Cpu | FilterKey::WaitLength | FilterKey::Counter);
    let kept = |filters: &[Filter]| filters.iter().filter(of_site).cloned().collect();
    let query = Query { filters: kept(&query.filters), exclude: kept(&query.exclude), ..query.clone() };
    let mut sites = site_of_each_key(trace, stacks);
    Selection::new(trace, &query).apply(stacks, &mut sites);
    first_like(&sites, |site| (site.key.reason, site.cpu_kind, site.idle, site.selected))
}

/// For each key, the key that stands for it where only threads and CPUs matter: the first one of its thread that is
/// classified alike.
pub fn alike_by_thread(trace: &Trace) -> Vec<u32> {
    let sites = site_of_each_key(trace, &CallStacks::new(trace, &Query::default()));
    first_like(&sites, |site| (site.key.thread, site.key.reason, site.cpu_kind, site.idle))
}

fn site_of_each_key(trace: &Trace, stacks: &CallStacks<'_>) -> Vec<Site> {
    let mut sums = KeySums::new(trace.events().keys.len());
    (0..trace.events().keys.len() as u64).for_each(|number| {
        sums.slot(number);
    });
    let (mut sites, _) = sites_of(trace, &sums, None, [true; 5]);
    classify(trace, stacks, &mut sites);
    sites
}

/// The number of the first site of the same kind, for each.
fn first_like<K: Eq + Hash>(sites: &[Site], kind: impl Fn(&Site) -> K) -> Vec<u32> {
    let mut first: HashMap<K, u32> = HashMap::new();
    sites.iter().enumerate().map(|(number, site)| *first.entry(kind(site)).or_insert(number as u32)).collect()
}
