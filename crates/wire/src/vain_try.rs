//! Tries that failed at once, which programs repeat after a sleep.

use crate::declare::{Char, constants, records};
use crate::header::RecordHeader;

constants! {
    /// Bytes of the command line of whoever has a lock.
    HOLDER_BYTES: usize = 64, DWELL_HOLDER_BYTES;
}

records! {
    /// A thread tried something in vain.
    VainTryRecord = record_vain_try, 112 {
        /// `tid`: who tried; `time_ns`: when it failed.
        h: RecordHeader,
        /// Key of the file; 0 of a connection.
        object: u64,
        /// Of a connection, in the form of IPv6; else 0.
        remote_address: [u8; 16],
        /// The process that has the lock, 0 = not known.
        holder_tgid: u32,
        /// Of a connection.
        remote_port: u16,
        /// VainTry of the model crate.
        kind: u8,
        /// 0.
        reserved: u8,
        /// The holder's command line, as the collector finds it: its arguments, each ended by a zero byte, cut.
        holder: [Char; HOLDER_BYTES],
    }
}
