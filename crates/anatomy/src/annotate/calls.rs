//! The annotated trace: each call with its clock.

use std::collections::VecDeque;

use super::stacks::Change;

/// Calls that are kept; those that begin later are counted.
pub const MOST_CALLS: usize = 1 << 22;
/// Changes of the stack that are kept.
const MOST_RUNS: usize = 1 << 20;

/// A call of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function's number.
    pub function: u32,
    /// Its phase.
    pub phase: u16,
    /// How many functions were active above it.
    pub depth: u16,
    /// The thread, or the virtual CPU.
    pub thread: u32,
    /// The number of the outermost call of its stack: the same for all calls of one stack.
    pub root: u32,
    /// When it began, in ticks of the model's clock.
    pub begin: u64,
    /// When it ended; the end of the trace when it did not.
    pub end: u64,
    /// Instructions of its thread in it and in what it called.
    pub instructions: u64,
}

/// From when on a stack was executed, until the next one was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// When that began, in ticks.
    pub begin: u64,
    /// The number of its outermost call.
    pub root: u32,
}

/// All calls, in the order of their begins.
#[derive(Default)]
pub struct Calls {
    /// By serial number of the frame, as far as they are kept.
    pub kept: Vec<Call>,
    /// Calls that were not kept.
    pub more: u64,
    /// Which stack was executed when, as far as these are kept.
    pub runs: Vec<Run>,
    /// From when on calls or changes of the stack are missing, in ticks.
    pub missing: Option<u64>,
}

impl Calls {
    /// Something happened to a stack. `instructions` have been executed by its thread before.
    pub fn apply(&mut self, change: Change, thread: u32, ticks: u64, instructions: u64) {
        match change {
            Change::Enter { serial, depth, function, phase } => {
                if depth == 0 {
                    self.run(serial, ticks);
                }
                if serial != self.kept.len() as u64 || self.kept.len() >= MOST_CALLS {
                    self.more += 1;
                    self.missing.get_or_insert(ticks);
                    return;
                }
                let root = self.runs.last().map_or(0, |run| run.root);
                let (begin, end) = (ticks, u64::MAX);
                self.kept.push(Call { function, phase, depth, thread, root, begin, end, instructions });
            }
            Change::Leave { serial } => {
                if let Some(call) = self.kept.get_mut(serial as usize).filter(|call| call.end == u64::MAX) {
                    call.end = ticks;
                    call.instructions = instructions.saturating_sub(call.instructions);
                }
            }
            Change::Resume { serial } => self.run(serial, ticks),
        }
    }

    fn run(&mut self, serial: u64, begin: u64) {
        let Ok(root) = u32::try_from(serial) else { return };
        if self.runs.len() < MOST_RUNS {
            self.runs.push(Run { begin, root });
        } else {
            self.missing.get_or_insert(begin);
        }
    }

    /// The trace has ended; so many instructions each thread has executed.
    pub fn finish(&mut self, ticks: u64, instructions: impl Fn(u32) -> u64) {
        for call in self.kept.iter_mut().filter(|call| call.end == u64::MAX) {
            call.end = ticks;
            call.instructions = instructions(call.thread).saturating_sub(call.instructions);
        }
    }
}

/// What is known of an execution before the model has seen it.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    /// The block.
    pub block: u32,
    /// Which row counts it.
    pub row: u32,
    /// Instructions of the block.
    pub instructions: u16,
    /// How many changes come before it.
    pub changes: u32,
}

/// Executions between the walker, which goes before, and the model.
#[derive(Default)]
pub struct Plan {
    /// Executions that the model has not begun.
    pub executions: VecDeque<Planned>,
    /// Their changes, each with its thread, and whether work on a packet begins with it.
    pub changes: VecDeque<(Change, u32, bool)>,
}
