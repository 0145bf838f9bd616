//! The frames of a stack, as a reader sees them.

use dwell_model::StackId;
use dwell_store::Trace;
use dwell_view::answer;

use crate::stacks::call_stacks::CallStacks;

answer! {
    /// A frame of a stack, for people.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[allow(missing_docs, reason = "the columns of the frames table")]
    pub struct StackFrame {
        pub function: String,
        pub module: String,
        pub file: String,
        pub line: u32,
        pub inlined: bool,
        pub kernel: bool,
        /// Whether it is the system's: kernel, C library, a threading runtime.
        pub system: bool,
    }
}

/// The frames that `stacks` shows of `stack`, leaf first.
pub fn frames(stacks: &CallStacks<'_>, trace: &Trace, stack: StackId) -> Vec<StackFrame> {
    let frame = |place: StackId| {
        let frame = stacks.frame(place)?;
        Some(StackFrame {
            function: trace.frames.function[frame].clone(),
            module: module_path(trace, frame).to_owned(),
            file: trace.frames.file[frame].clone(),
            line: trace.frames.line[frame],
            inlined: trace.frames.inlined[frame],
            kernel: trace.frames.kernel[frame],
            system: stacks.is_system(place),
        })
    };
    stacks.chain(stack).filter_map(frame).collect()
}

/// The path of the file that a frame's code is in; empty where it is in none.
pub fn module_path(trace: &Trace, frame: usize) -> &str {
    trace.frames.module[frame].get().and_then(|row| trace.modules.path.get(row)).map_or("", String::as_str)
}

/// The functions of a stack, leaf first.
pub fn functions(trace: &Trace, stack: StackId) -> impl Iterator<Item = &str> {
    frame_rows(trace, stack).map(|frame| trace.frames.function[frame].as_str())
}

/// The rows of a stack's frames, leaf first.
pub fn frame_rows(trace: &Trace, stack: StackId) -> impl Iterator<Item = usize> {
    let stacks = &trace.stacks;
    let rows = std::iter::successors(stack.get(), |&row| stacks.parent[row].get());
    rows.filter_map(|row| stacks.frame[row].get())
}
