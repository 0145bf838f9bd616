//! Where threads ran mostly, as a reader would say it: in the function that has most of the time.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use dwell_model::StackId;
use dwell_query::engine::fold::Fold;

use crate::study::explain::call_paths::{CauseAt, CauseGroup, by_function};
use crate::study::explain::found::CauseId;
use crate::study::explain::places::{CodePlace, run_place};

/// Stacks that are looked at, those with the most time.
const LOOKED_AT: usize = 2000;

/// A function in which threads ran.
pub struct RanPlace {
    /// It, with its line.
    pub at: String,
    /// For how long, ns.
    pub ns: u64,
    /// The stack in it that has most.
    pub stack: StackId,
}

/// The function with most of the time; `ns` is the time of each stack. None where nothing ran.
pub fn mostly_ran(fold: &Fold<'_>, ns: &BTreeMap<StackId, u64>) -> Option<RanPlace> {
    ran_places(fold, ns).into_iter().next()
}

/// The functions, those with most of the time first.
pub fn ran_places(fold: &Fold<'_>, ns: &BTreeMap<StackId, u64>) -> Vec<RanPlace> {
    let mut stacks: Vec<(StackId, u64)> =
        ns.iter().map(|(stack, ns)| (*stack, *ns)).filter(|(_, ns)| *ns > 0).collect();
    stacks.sort_by_key(|(stack, ns)| (Reverse(*ns), *stack));
    stacks.truncate(LOOKED_AT);
    let places: Vec<CodePlace> =
        stacks.iter().map(|(stack, _)| run_place(fold.trace, &fold.sums.stacks, *stack)).collect();
    let with_places = (0 as CauseId..).zip(places.iter().zip(&stacks));
    let causes: Vec<CauseAt<'_>> =
        with_places.map(|(cause, (place, (_, ns)))| CauseAt { place, ns: *ns, cause }).collect();
    let place_of = |group: CauseGroup<'_>| {
        // They are in order: the first one has most.
        let first = group.causes.iter().map(|cause| cause.cause).min()?;
        let ns = group.causes.iter().map(|cause| cause.ns).fold(0, u64::saturating_add);
        Some(RanPlace { at: group.at, ns, stack: stacks.get(first as usize)?.0 })
    };
    let mut ran: Vec<RanPlace> = by_function(&causes).into_iter().filter_map(place_of).collect();
    ran.sort_by(|one, other| (other.ns, &one.at).cmp(&(one.ns, &other.at)));
    ran
}
