//! Who watches a replay, and what is told of an instruction.

use dwell_itrace::Mark;

use crate::counts::Level;

/// An instruction as it was executed; times in ticks ([`crate::TICKS_PER_CYCLE`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// Its number in the block that [`Observer::begin`] was told last.
    pub index: usize,
    /// When the one before it was dispatched.
    pub begun: u64,
    /// When it was dispatched.
    pub dispatched: u64,
    /// When its result was there.
    pub executed: u64,
    /// When it retired.
    pub retired: u64,
    /// Where its loads were found, the furthest.
    pub load: Option<Level>,
    /// Where the lines that it stores to were found, the furthest.
    pub store: Option<Level>,
    /// The DTLB lacked its page.
    pub dtlb_miss: bool,
    /// It had to wait for room in the window or the store buffer.
    pub stalled: bool,
}

/// Who watches a replay. `()` does not: rows are blocks.
pub trait Observer {
    /// Whether [`Observer::instruction`] is called: slower.
    const INSTRUCTIONS: bool = false;

    /// A block is about to be executed by a thread, at a number of ticks: the row of [`crate::Replay::rows`] that counts it.
    fn begin(&mut self, block: u32, thread: u32, ticks: u64) -> u32 {
        let _ = (thread, ticks);
        block
    }

    /// An instruction of the block that was begun last was executed.
    fn instruction(&mut self, instruction: &Instruction) {
        let _ = instruction;
    }

    /// The last instruction of the block that was begun last was predicted wrongly.
    fn mispredicted(&mut self) {}

    /// A mark passed.
    fn mark(&mut self, mark: Mark) {
        let _ = mark;
    }
}

impl Observer for () {}
