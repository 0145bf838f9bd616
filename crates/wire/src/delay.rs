//! What kept threads from their work.

use crate::declare::{Char, constants, enums, records};
use crate::header::{COMM_BYTES, RecordHeader};

constants! {
    /// Most short delays of a DELAYS record, a power of two.
    DELAYS: usize = 32, DWELL_DELAYS;
}

enums! {
    /// Numbers of [`DelayRecord::vector`].
    delay_vector: u8 = delay_vector, VECTOR_ {
        /// No interrupt, or one that `text` names.
        NONE = 0,
        /// The CPU's own timer.
        LOCAL_TIMER = 1,
        /// Another CPU wants it to schedule.
        RESCHEDULE = 2,
        /// Another CPU wants it to call a function.
        CALL_FUNCTION = 3,
        /// The kernel's work that waited for an interrupt.
        IRQ_WORK = 4,
        /// Of the platform.
        PLATFORM = 5,
        /// The CPU's temperature.
        THERMAL = 6,
    }
}

records! {
    /// What kept a thread from its work.
    DelayRecord = record_delay, 56 {
        /// `tid`: the thread; `time_ns`: when it ended.
        h: RecordHeader,
        /// When it began.
        begin_ns: u64,
        /// Device interrupt: its number; soft interrupt: its vector; IPI: address of the function that it was for, or
        /// 0; fault: the memory's address; system call and signal: number; idle-state exit: the state; migration: the
        /// CPU before; kernel work: address of the work item's function or 0; steal: ns that were stolen between begin
        /// and end.
        detail: u64,
        /// Preemption, kernel work, run queue: who had the CPU.
        other_tid: u32,
        /// Where it ended.
        cpu: u16,
        /// Delay of the model crate.
        kind: u8,
        /// One of [`delay_vector`].
        vector: u8,
        /// Device interrupt: its name; `other_tid`'s name; fault: the mapped file's name.
        text: [Char; COMM_BYTES],
    }
    /// A delay of a DELAYS record.
    ShortDelay = short_delay, 12 {
        /// After `base_ns`.
        begin_ns: u32,
        /// How long it took.
        length_ns: u32,
        /// As in [`DelayRecord`].
        detail: u16,
        /// Delay of the model crate.
        kind: u8,
        /// 0.
        reserved: u8,
    }
    /// The fixed part of a DELAYS record; `count` short delays follow.
    DelaysHeader = record_delays, 32 {
        /// `tid`: the thread; `time_ns`: when the last of them ended.
        h: RecordHeader,
        /// What their times count from.
        base_ns: u64,
        /// Where they all were.
        cpu: u16,
        /// Of the delays.
        count: u16,
        /// 0.
        reserved: u32,
    } followed by delays: [ShortDelay; DELAYS]
}
