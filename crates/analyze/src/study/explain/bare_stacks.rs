//! Stacks that have nothing of a program.

use dwell_model::{StackEnd, StackId};
use dwell_query::stacks::frames::{frame_rows, module_path};
use dwell_query::stacks::own_code::is_system_module;
use dwell_query::stacks::stack_questions::{StackQuestion, answer};
use dwell_store::{EventKey, Trace};

use crate::study::explain::places::is_nameless;

/// Whether nothing tells where a wait was: it has no stack, or one without callers.
pub fn is_bare(trace: &Trace, stack: StackId) -> bool {
    !stack.is_some() || is_without_callers(trace, stack)
}

/// Whether a stack was cut short within the C library, so that nobody knows what the thread waits for: threads that a runtime starts
/// before Dwell has its tables, and that never wait again.
pub fn is_without_callers(trace: &Trace, stack: StackId) -> bool {
    answer(trace, stack, StackQuestion::IsWithoutCallers, || {
        let is_cut = stack.get().is_some_and(|row| trace.stacks.end[row] != StackEnd::Complete.code());
        is_cut
            && frame_rows(trace, stack)
                .all(|frame| trace.frames.kernel[frame] || is_system_module(module_path(trace, frame)))
    })
}

/// What threads of pools are called, in part.
const WORKERS: &[&str] = &["worker", "pool", "tokio", "rayon"];

/// Whether waits of a key are of a pool's thread at a place without a name: what has no name there may be where it waits for work, which
/// its mates give it by turns as they do a lock.
pub fn is_of_nameless_pool(trace: &Trace, key: &EventKey) -> bool {
    let is_worker = |thread: usize| {
        let (name, process) = (trace.threads.name.get(thread)?.to_lowercase(), trace.threads.process[thread].get()?);
        // Who has no name of its own has the program's.
        let is_own = !trace.processes.name[process].to_lowercase().starts_with(&name);
        Some(is_own && WORKERS.iter().any(|word| name.contains(word)))
    };
    is_nameless_at_leaf(trace, key.stack()) && key.thread().get().and_then(is_worker) == Some(true)
}

/// Whether the innermost function outside of the system's libraries has no name.
fn is_nameless_at_leaf(trace: &Trace, stack: StackId) -> bool {
    answer(trace, stack, StackQuestion::IsNamelessAtLeaf, || {
        let is_own = |frame: &usize| !trace.frames.kernel[*frame] && !is_system_module(module_path(trace, *frame));
        frame_rows(trace, stack).find(is_own).is_some_and(|frame| is_nameless(&trace.frames.function[frame]))
    })
}

/// Whether a stack is one of a thread of the kernel, which has no program: what it waits for is work.
pub fn is_of_kernel(trace: &Trace, stack: StackId) -> bool {
    answer(trace, stack, StackQuestion::IsOfKernel, || {
        let outermost = std::iter::successors(stack.get(), |&row| trace.stacks.parent[row].get()).last();
        let frame = outermost.and_then(|row| trace.stacks.frame[row].get());
        frame.is_some_and(|frame| trace.frames.kernel[frame])
    })
}
