//! Sums over all events of a trace.

use dwell_model::{StackEnd, StackId};

/// Sums over all events.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct EventTotals {
    /// What all samples stand for, estimates too.
    pub weights_ns: u64,
    /// Samples and intervals that have a user stack.
    pub stacks: u64,
    /// Those that have a complete one.
    pub complete: u64,
}

impl EventTotals {
    /// Counts the stack of a sample or an interval; `ends` are those of the stacks table.
    pub(super) fn count(&mut self, ends: &[u8], stack: StackId) {
        let end = stack.get().and_then(|row| ends.get(row)).copied().unwrap_or(0);
        self.stacks += u64::from(end != 0);
        self.complete += u64::from(end == StackEnd::Complete.code());
    }
}
