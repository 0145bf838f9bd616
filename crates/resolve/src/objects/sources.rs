//! What the naming of objects reads.

use dwell_model::StackId;
use dwell_store::tables::OffCpu;

use super::callers::Code;
use crate::code::function::DataSymbol;
use crate::hash::FastMap;
use crate::input::meta::Meta;
use crate::input::texts::Texts;
use crate::replay::annotations::SyncObject;
use crate::replay::lives::{ImageId, Lives};
use crate::replay::waits::Wait;

/// The tables and records.
pub struct Sources<'a> {
    /// Stacks with their functions.
    pub code: Code<'a>,
    /// The stack of each raw stack.
    pub stacks: &'a [StackId],
    /// Object records.
    pub meta: &'a Meta,
    /// Threads, processes and images.
    pub lives: &'a Lives,
    /// Data symbols over the addresses that were waited on.
    pub symbols: &'a FastMap<(ImageId, u64), DataSymbol>,
    /// The intervals, still with raw numbers.
    pub off_cpu: &'a OffCpu,
    /// Objects that programs told of.
    pub told: &'a [SyncObject],
    /// Their names.
    pub texts: &'a Texts,
}

impl<'a> Sources<'a> {
    /// The stack of a wait.
    pub fn stack(&self, wait: &Wait) -> StackId {
        self.stacks.get(wait.stack as usize).copied().unwrap_or(StackId::NONE)
    }

    /// The function of the program's own code that waits.
    pub fn site(&self, wait: &Wait) -> &'a str {
        self.code.site(self.stack(wait)).unwrap_or("unknown code")
    }
}
