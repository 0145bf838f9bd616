//! What the events of one place have in common: thread, object, stack, waker, reason.

use dwell_model::{ObjectId, Reason, StackId, ThreadId};

use crate::tables::OffCpu;

/// Reason of a key of running time.
const RAN: u8 = u8::MAX;

/// What the events of one place have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct EventKey {
    pub(super) thread: u32,
    pub(super) object: u32,
    pub(super) stack: u32,
    pub(super) waker: u32,
    pub(super) waker_stack: u32,
    pub(super) holder: u32,
    syscall: i16,
    reason: u8,
    outcome: u8,
    waker_kind: u8,
    again: u8,
    unused: [u8; 2],
}

impl EventKey {
    /// The key of running time of `thread` at `stack`.
    pub fn running(thread: ThreadId, stack: StackId) -> Self {
        Self {
            thread: thread.raw(),
            object: u32::MAX,
            stack: stack.raw(),
            waker: u32::MAX,
            waker_stack: u32::MAX,
            holder: u32::MAX,
            syscall: -1,
            reason: RAN,
            outcome: 0,
            waker_kind: 0,
            again: 0,
            unused: [0; 2],
        }
    }

    /// The key of an off-CPU row; `again`: it goes on in the same call as the thread's wait before it.
    pub(super) fn off_cpu(rows: &OffCpu, row: usize, again: bool) -> Self {
        Self {
            thread: rows.thread[row].raw(),
            object: rows.object[row].raw(),
            stack: rows.stack[row].raw(),
            waker: rows.waker[row].raw(),
            waker_stack: rows.waker_stack[row].raw(),
            holder: rows.holder[row].raw(),
            syscall: rows.syscall[row],
            reason: Reason::from_code(rows.reason[row]).code(),
            outcome: rows.outcome[row],
            waker_kind: rows.waker_kind[row],
            again: u8::from(again),
            unused: [0; 2],
        }
    }

    /// The thread.
    pub fn thread(&self) -> ThreadId {
        ThreadId::from_raw(self.thread)
    }

    /// What it waited on.
    pub fn object(&self) -> ObjectId {
        ObjectId::from_raw(self.object)
    }

    /// Where it was.
    pub fn stack(&self) -> StackId {
        StackId::from_raw(self.stack)
    }

    /// Who woke it.
    pub fn waker(&self) -> ThreadId {
        ThreadId::from_raw(self.waker)
    }

    /// Where the waker was.
    pub fn waker_stack(&self) -> StackId {
        StackId::from_raw(self.waker_stack)
    }

    /// Who held the lock when the wait began, where the lock tells it.
    pub fn holder(&self) -> ThreadId {
        ThreadId::from_raw(self.holder)
    }

    /// System call that it was in; -1 for none.
    pub fn syscall(&self) -> i16 {
        self.syscall
    }

    /// Why it was off the CPU; none: it ran.
    pub fn reason(&self) -> Option<Reason> {
        (self.reason != RAN).then(|| Reason::from_code(self.reason))
    }

    /// Outcome's code.
    pub fn outcome(&self) -> u8 {
        self.outcome
    }

    /// Whether the wait goes on in the same call as the thread's wait before it, as far as `off_cpu.same_call` and what the thread did
    /// in between tell.
    pub fn again(&self) -> bool {
        self.again != 0
    }

    /// Waker kind's code.
    pub fn waker_kind(&self) -> u8 {
        self.waker_kind
    }
}
