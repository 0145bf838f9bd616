//! What the naming of objects reads.

use dwell_model::StackId;

use super::callers::StackFrames;
use crate::code::function::DataSymbol;
use crate::code::mappings::Mappings;
use crate::hash::FastMap;
use crate::input::meta::Meta;
use crate::input::texts::Texts;
use crate::replay::annotations::SyncObject;
use crate::replay::creations::LockCreations;
use crate::replay::numbers::{StackNumber, SyncNumber};
use crate::replay::rows::RawOffCpu;
use crate::replay::threads::{ImageId, ThreadTable};
use crate::replay::waits::WaitKey;
use crate::row_of::RowOf;

/// The tables and records.
pub struct ObjectSources<'a> {
    /// Stacks with their functions.
    pub code: StackFrames<'a>,
    /// The row of each stack.
    pub stacks: &'a RowOf<StackNumber, StackId>,
    /// Object records.
    pub meta: &'a Meta,
    /// Threads, processes and images.
    pub thread_table: &'a ThreadTable,
    /// Data symbols over the addresses that were waited on.
    pub symbols: &'a FastMap<(ImageId, u64), DataSymbol>,
    /// The intervals.
    pub off_cpu: &'a RawOffCpu,
    /// Those of fibers.
    pub fibers: &'a RawOffCpu,
    /// Objects that programs told of.
    pub announced: &'a [SyncObject],
    /// Their names.
    pub texts: &'a Texts,
    /// Where locks were initialised.
    pub creations: &'a LockCreations,
}

impl<'a> ObjectSources<'a> {
    /// The stack of a wait.
    pub fn stack(&self, wait: &WaitKey) -> StackId {
        self.stacks.get(wait.stack)
    }

    /// Where the object at `address` of a program was initialised last before `time_ns`; of a forked program also before that.
    pub fn created(&self, image: ImageId, address: u64, time_ns: u64) -> StackId {
        let in_image = |image| self.creations.before(image, address, time_ns);
        let stack = in_image(image).or_else(|| in_image(Mappings::fork_root(self.thread_table, image)));
        stack.map_or(StackId::NONE, |stack| self.stacks.get(stack))
    }

    /// What a program told of an object.
    pub fn announced_object(&self, number: SyncNumber) -> Option<&'a SyncObject> {
        self.announced.get(number.get()?)
    }

    /// The function of the program's own code that waits.
    pub fn site(&self, wait: &WaitKey) -> &'a str {
        self.code.site(self.stack(wait)).unwrap_or("unknown code")
    }
}
