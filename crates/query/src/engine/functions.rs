//! The functions of a stack.

use dwell_model::StackId;

use crate::engine::fold::Fold;
use crate::stacks::call_stacks::{FunctionId, NO_FUNCTION};

/// Functions of a stack, leaf first; an empty stack is one unknown function.
pub fn functions(fold: &Fold<'_>, stack: StackId) -> Vec<FunctionId> {
    let functions: Vec<_> = fold.sums.stacks.chain(stack).map(|stack| fold.sums.stacks.function(stack)).collect();
    if functions.is_empty() { vec![NO_FUNCTION] } else { functions }
}
