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
    }
    /// Bits of [`FiberNewRecord::flags`].
    fiber_flag: u32 = fiber_flag, FIBER_FLAG_ {
        /// It was there before the collection.
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
    FiberStateRecord = record_fiber_state, 56 {
        /// `tid`: the thread that it is on as its process's pid namespace has it, 0 = none; `time_ns`: since when; estimated
        /// where states are sampled.
        h: RecordHeader,
        /// As in its [`FiberNewRecord`].
        fiber: u64,
        /// Key of a stack record of where it stands, 0 = not known.
        user_stack: u64,
        /// Address of what it waits for, 0 = not known.
        object: u64,
        /// When it was seen so first; where states are sampled, later than `time_ns`.
        seen_ns: u64,
        /// Its process.
        tgid: u32,
        /// One of [`fiber_state`].
        state: u16,
        /// 0.
        reserved: u16,
    }
}
