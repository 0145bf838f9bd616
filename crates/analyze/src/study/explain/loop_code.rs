//! What event loops run between their waits: whoever waits for an answer in a coroutine, a promise or a task has no thread that shows it, but
//! the loop ran its function when it asked, and runs it again when the answer is there.

use std::collections::BTreeMap;

use dwell_model::StackId;
use dwell_query::engine::fold::Fold;

use crate::study::event_loop_turns::runs_loop;
use crate::study::explain::mostly_ran::mostly_ran;
use crate::study::explain::names::Names;
use crate::study::explain::places::is_of_program;
use crate::study::explain::terms::RoleId;

/// Samples in the program's functions from which on one of these is told.
const SAMPLES: u64 = 3;

/// The function of the program's own sources, with its line, that loops of the role ran mostly when they ran handlers. None where hardly any
/// sample found one.
pub fn loop_code(fold: &Fold<'_>, names: &Names<'_, '_>, role: RoleId) -> Option<String> {
    let events = fold.trace.events();
    let mut own: BTreeMap<StackId, bool> = BTreeMap::new();
    let mut of_stack: BTreeMap<StackId, u64> = BTreeMap::new();
    for row in names.members_of(role).flat_map(|thread| events.samples.of(thread)) {
        let stack = events.key(events.samples.key(row)).stack();
        if *own.entry(stack).or_insert_with(|| is_in_handler(fold, stack)) {
            *of_stack.entry(stack).or_default() += 1;
        }
    }
    let samples: u64 = of_stack.values().sum();
    if samples < SAMPLES {
        return None;
    }
    mostly_ran(fold, &of_stack).map(|(place, _)| place).filter(|place| !place.starts_with('['))
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
