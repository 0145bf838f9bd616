//! What a fiber that waits at a channel does there.

use dwell_model::StackId;
use dwell_store::Trace;

/// Frames at the leaf in which the runtime's function is.
const DEPTH: usize = 8;

/// Whether a stack is one of a fiber that sends to one channel: whoever has something to hand over is held up.
pub fn sends(trace: &Trace, stack: StackId) -> bool {
    is_in(trace, stack, "runtime.chansend")
}

/// Whether a stack is one of a fiber that receives from one channel.
pub fn receives(trace: &Trace, stack: StackId) -> bool {
    is_in(trace, stack, "runtime.chanrecv")
}

fn is_in(trace: &Trace, stack: StackId, prefix: &str) -> bool {
    let stacks = &trace.stacks;
    let rows = std::iter::successors(stack.get(), |&row| stacks.parent[row].get()).take(DEPTH);
    let mut functions = rows.filter_map(|row| Some(trace.frames.function[stacks.frame[row].get()?].as_str()));
    functions.any(|function| function.starts_with(prefix))
}
