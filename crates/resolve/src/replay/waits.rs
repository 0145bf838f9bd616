//! What the records say of a wait, as keys: equal ones are resolved once.

use dwell_model::{CallKind, ProcessId, Syscall, ThreadId};
use dwell_store::raw::wire::{STATE_STOPPED, STATE_TRACED, STATE_UNINTERRUPTIBLE};

use crate::replay::annotations::CreatorStack;
use crate::replay::lock_owner::OwnerSource;
use crate::replay::numbers::{StackNumber, SyncNumber};
use crate::replay::threads::ImageId;

/// A stack as the events name it: keys of its user and its kernel part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackKey {
    /// User part, 0 = none.
    pub user: u64,
    /// Kernel part, 0 = none.
    pub kernel: u64,
    /// Who requested the work that the thread does.
    pub asker: CreatorStack,
}

/// How the scheduler sees a waiting thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sleep {
    /// A signal can end it.
    Interruptible,
    /// Only what it waits for can end it.
    Uninterruptible,
    /// The same, and it counts as waiting for a device.
    Device,
    /// Stopped by job control or a debugger.
    Stopped,
    /// Put aside by its runtime: a fiber, of which the scheduler knows nothing.
    Fiber,
}

impl Sleep {
    /// From `prev_state` of sched_switch and `in_iowait`.
    pub fn of(state: u32, iowait: bool) -> Self {
        match state {
            _ if state & (STATE_STOPPED | STATE_TRACED) != 0 => Self::Stopped,
            _ if state & STATE_UNINTERRUPTIBLE != 0 && iowait => Self::Device,
            _ if state & STATE_UNINTERRUPTIBLE != 0 => Self::Uninterruptible,
            _ => Self::Interruptible,
        }
    }
}

/// Whom a wait's arguments name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitTarget {
    /// Nobody.
    None,
    /// The thread whose id a futex is expected to hold.
    Thread(ThreadId),
    /// The process whose end is waited for.
    Process(ProcessId),
    /// The value that a futex is expected to hold: see [`expected`].
    Value(u8),
    /// Files that could not be read: the thread waited already when the recording began.
    Files,
    /// One of so many futexes, the first of which is known, if any.
    AnyOf(u16),
    /// CPython's global interpreter lock, whose memory the futex is part of.
    Gil,
    /// The Java lock that an object record describes.
    JavaLock,
}

/// Stands for a futex that is expected to hold -1.
pub const ALL_ONES: u8 = u8::MAX;

/// What tells the users of futexes by the value that they expect, 3 for more.
pub fn expected(value: u32) -> u8 {
    if value == u32::MAX { ALL_ONES } else { value.min(3) as u8 }
}

/// One kind of wait: everything that decides what object it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaitKey {
    /// Program that waits.
    pub image: ImageId,
    /// Where it waits.
    pub stack: StackNumber,
    /// System call, -1 = none.
    pub syscall: i16,
    /// Futex operation.
    pub operation: u16,
    /// How it sleeps.
    pub sleep: Sleep,
    /// Whom it waits for.
    pub hint: WaitTarget,
    /// Futex address or key of an object record.
    pub object: u64,
    /// What the program announced that it waits for.
    pub announced: Option<SyncNumber>,
    /// Who says who has what it waits for, if anybody does.
    pub owner_source: Option<OwnerSource>,
    /// Whether it waits because its control group is at its limit of memory.
    pub lacks_memory: bool,
}

impl WaitKey {
    /// The kind of its system call.
    pub fn kind(&self) -> CallKind {
        Syscall::kind_of(self.syscall)
    }
}
