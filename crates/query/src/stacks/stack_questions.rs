//! Questions about stacks whose answers are remembered with the trace.

use dwell_model::StackId;
use dwell_store::{STACK_QUESTIONS, Trace};

/// What is asked of a stack.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the function that asks it has its name")]
pub enum StackQuestion {
    HandsToQueue,
    ReceivesFromQueue,
    ConsumesMessages,
    TakesMessage,
    AwaitsResult,
    CallsSynchronously,
    TakesJavaLock,
    IsWithoutCallers,
    IsOfKernel,
    IsNamelessAtLeaf,
    WaitsForLock,
}

const _: () = assert!((StackQuestion::WaitsForLock as u32) < STACK_QUESTIONS);

/// The answer, remembered or found out.
pub fn answer(trace: &Trace, stack: StackId, question: StackQuestion, find_out: impl FnOnce() -> bool) -> bool {
    trace.stack_answers().of(stack, question as u32, find_out)
}
