//! Where threads ran mostly, as a reader would say it: in the function that has most of the time.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use dwell_model::StackId;
use dwell_query::engine::fold::Fold;

use crate::study::explain::call_paths::{CauseAt, by_function};
use crate::study::explain::found::CauseId;
use crate::study::explain::places::{CodePlace, run_place};

/// Stacks that are looked at, those with the most time.
const LOOKED_AT: usize = 2000;

/// The function with most of the time, with its line, and the stack in it that has most; `ns` is the time of each stack. None where nothing
/// ran.
pub fn mostly_ran(fold: &Fold<'_>, ns: &BTreeMap<StackId, u64>) -> Option<(String, StackId)> {
    let mut stacks: Vec<(StackId, u64)> =
        ns.iter().map(|(stack, ns)| (*stack, *ns)).filter(|(_, ns)| *ns > 0).collect();
    stacks.sort_by_key(|(stack, ns)| (Reverse(*ns), *stack));
    stacks.truncate(LOOKED_AT);
    let places: Vec<CodePlace> =
        stacks.iter().map(|(stack, _)| run_place(fold.trace, &fold.sums.stacks, *stack)).collect();
    let with_places = (0 as CauseId..).zip(places.iter().zip(&stacks));
    let causes: Vec<CauseAt<'_>> =
        with_places.map(|(cause, (place, (_, ns)))| CauseAt { place, ns: *ns, cause }).collect();
    let groups = by_function(&causes).into_iter();
    let most = groups.max_by_key(|group| group.causes.iter().map(|cause| cause.ns).sum::<u64>())?;
    // They are in order: the first one has most.
    let first = most.causes.iter().map(|cause| cause.cause).min()?;
    Some((most.at, stacks.get(first as usize)?.0))
}
