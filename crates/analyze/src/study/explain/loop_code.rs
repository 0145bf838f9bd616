//! What event loops run between their waits: whoever waits for an answer in a coroutine, a promise or a task has no thread that shows it, but
//! the loop ran its function when it asked, and runs it again when the answer is there.

use std::collections::BTreeMap;

use dwell_model::StackId;
use dwell_query::engine::fold::Fold;

use crate::study::event_loop_turns::runs_loop;
use crate::study::explain::mostly_ran::{RanPlace, ran_places};
use crate::study::explain::names::Names;
use crate::study::explain::places::is_of_program;
use crate::study::explain::terms::RoleId;

/// The function of the program's own sources, with its line, that loops of the role ran mostly when they ran handlers. None where that is less
/// than so many samples stand for.
pub fn loop_code(fold: &Fold<'_>, names: &Names<'_, '_>, role: RoleId, samples: u64) -> Option<String> {
    let most = loop_places(fold, names, role, samples).into_iter().next();
    most.map(|ran| ran.at).filter(|place| !place.starts_with('['))
}

/// All of these functions, those with most of the time first.
pub fn loop_places(fold: &Fold<'_>, names: &Names<'_, '_>, role: RoleId, samples: u64) -> Vec<RanPlace> {
    let mut in_handler: BTreeMap<StackId, bool> = BTreeMap::new();
    let mut of_stack: BTreeMap<StackId, u64> = BTreeMap::new();
    let ran = fold.sums.sites.iter().filter(|site| site.key.reason.is_none() && site.key.stack.is_some());
    let of_role = ran.filter(|site| site.key.thread.get().is_some_and(|thread| names.role_of(thread) == role));
    for site in of_role {
        let stack = site.key.stack;
        if *in_handler.entry(stack).or_insert_with(|| is_in_handler(fold, stack)) {
            let sum = of_stack.entry(stack).or_default();
            *sum = site.time.iter().fold(*sum, |sum, ns| sum.saturating_add(*ns));
        }
    }
    let least_ns = samples.saturating_mul(fold.trace.manifest.sampling_interval_ns);
    if of_stack.values().fold(0u64, |sum, ns| sum.saturating_add(*ns)) < least_ns {
        return Vec::new();
    }
    ran_places(fold, &of_stack)
}

/// Whether a loop called a function of the program there.
fn is_in_handler(fold: &Fold<'_>, stack: StackId) -> bool {
    let stacks = &fold.sums.stacks;
    let chain: Vec<StackId> = stacks.whole_chain(stack).collect();
    let name = |stack: &StackId| stacks.frame(*stack).map_or("", |frame| fold.trace.frames.function[frame].as_str());
    let Some(of_loop) = chain.iter().position(|stack| runs_loop(name(stack))) else { return false };
    let is_named = |stack: &StackId| !name(stack).starts_with('[');
    chain[..of_loop].iter().any(|stack| is_named(stack) && is_of_program(fold.trace, stacks, *stack))
}
