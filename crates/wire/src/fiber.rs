//! Fibers: lines of execution that a runtime puts on threads, as the collector sees them.

use crate::declare::{enums, records};
use crate::header::RecordHeader;

enums! {
    /// Numbers of [`FiberNewRecord::kind`].
    fiber_kind: u16 = fiber_kind, FIBER_KIND_ {
        /// A goroutine of Go.
        GOROUTINE = 1,
    }
    /// Numbers of [`FiberStateRecord::state`].
    fiber_state: u16 = fiber_state, FIBER_ {
        /// It could run, and waits for a thread.
        READY = 1,
        /// It runs on a thread.
        RUNNING = 2,
        /// It is in a system call, and keeps its thread.
        IN_CALL = 3,
        /// It waits for something of the program.
        WAITING = 4,
        /// It has ended.
        ENDED = 5,
        /// It has a thread to itself, whose intervals are its own: it runs, or is in a system call. Where every change is seen.
        ON_THREAD = 6,
    }
    /// What the hooks of goroutines are told of the instruction that one passes.
    goroutine_change: u16 = goroutine_change, GOROUTINE_ {
        /// The goroutine in R14 waits.
        PARKS = 0,
        /// The one in AX can run again.
        IS_READY = 1,
        /// The one in AX runs on this thread.
        RUNS = 2,
        /// The one in AX ends.
        ENDS = 3,
        /// The one in AX has to wait for a thread.
        YIELDS = 4,
        /// The one in BX was made.
        IS_MADE = 5,
    }
    /// Bits of [`FiberNewRecord::flags`] and [`FiberStateRecord::flags`].
    fiber_flag: u32 = fiber_flag, FIBER_FLAG_ {
        /// It was there before the collection; of a state: it was so when it was first looked at.
        SEEDED = 1,
    }
}

pub use fiber_flag::SEEDED as FIBER_FLAG_SEEDED;

records! {
    /// A fiber was seen for the first time.
    FiberNewRecord = record_fiber_new, 64 {
        /// `tid`: 0; `time_ns`: since when it is there; estimated where states are sampled.
        h: RecordHeader,
        /// The runtime's number for it; never used again in the process.
        fiber: u64,
        /// The one that made it, 0 = not known.
        parent: u64,
        /// Key of a stack record: of one frame, the function that it began with.
        entry_stack: u64,
        /// Key of a stack record of where it was made, 0 = not known.
        creator_stack: u64,
        /// Its process.
        tgid: u32,
        /// Of [`fiber_flag`].
        flags: u32,
        /// One of [`fiber_kind`].
        kind: u16,
        /// 0.
        reserved: u16,
        /// 0.
        reserved2: u32,
    }
    /// A fiber is in another state, or waits for something else or elsewhere. It stays so until its next record.
    FiberStateRecord = record_fiber_state, 72 {
        /// `tid`: the thread that it is on, 0 = none; of [`fiber_state::RUNNING`] and [`fiber_state::IN_CALL`] as its process's pid
        /// namespace has it. `time_ns`: since when; estimated where states are sampled.
        h: RecordHeader,
        /// As in its [`FiberNewRecord`].
        fiber: u64,
        /// Key of a stack record of where it stands, 0 = not known.
        user_stack: u64,
        /// Address of what it waits for, 0 = not known.
        object: u64,
        /// When it was seen so first; where states are sampled, later than `time_ns`.
        seen_ns: u64,
        /// Of [`fiber_state::READY`]: the fiber that ended its wait, or made it; 0 = not known, or the runtime.
        waker: u64,
        /// Key of a stack record of where that one was, 0 = not known.
        waker_stack: u64,
        /// Its process.
        tgid: u32,
        /// One of [`fiber_state`].
        state: u16,
        /// Of [`fiber_flag`].
        flags: u16,
    }
    /// How goroutines of a program lie in memory, and where: what the hooks of their states must know. Bytes.
    GoroutineLayout = goroutine_layout, 40 {
        /// From the instruction at which a goroutine begins to wait to `runtime.semtable`; 0 = not known.
        semaphores: u64,
        /// In `runtime.g`: goid.
        number: u16,
        /// m.
        thread: u16,
        /// sched.sp, behind which is sched.pc.
        sched_sp: u16,
        /// sched.bp.
        sched_bp: u16,
        /// parentGoid, 0 = there is none.
        parent: u16,
        /// gopc.
        created_at: u16,
        /// startpc.
        entry: u16,
        /// waiting.
        waiting: u16,
        /// In `runtime.m`: curg.
        current: u16,
        /// In `runtime.sudog`: g.
        sudog_goroutine: u16,
        /// next.
        sudog_next: u16,
        /// prev.
        sudog_previous: u16,
        /// elem.
        sudog_element: u16,
        /// waitlink, behind which is waittail.
        sudog_waitlink: u16,
        /// c.
        sudog_channel: u16,
        /// 0.
        reserved: u16,
    }
}
