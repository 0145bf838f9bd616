//! Stacks that have nothing of a program.

use dwell_model::{StackEnd, StackId};
use dwell_query::stacks::frames::{frame_rows, module_path};
use dwell_query::stacks::own_code::is_system_module;
use dwell_store::Trace;

/// Whether nothing tells where a wait was: it has no stack, or one without callers.
pub fn is_bare(trace: &Trace, stack: StackId) -> bool {
    !stack.is_some() || is_without_callers(trace, stack)
}

/// Whether a stack was cut short within the C library, so that nobody knows what the thread waits for: threads that a runtime starts
/// before Dwell has its tables, and that never wait again.
pub fn is_without_callers(trace: &Trace, stack: StackId) -> bool {
    let is_cut = stack.get().is_some_and(|row| trace.stacks.end[row] != StackEnd::Complete.code());
    is_cut
        && frame_rows(trace, stack)
            .all(|frame| trace.frames.kernel[frame] || is_system_module(module_path(trace, frame)))
}

/// Whether a stack is one of a thread of the kernel, which has no program: what it waits for is work.
pub fn is_of_kernel(trace: &Trace, stack: StackId) -> bool {
    let outermost = std::iter::successors(stack.get(), |&row| trace.stacks.parent[row].get()).last();
    let frame = outermost.and_then(|row| trace.stacks.frame[row].get());
    frame.is_some_and(|frame| trace.frames.kernel[frame])
}
