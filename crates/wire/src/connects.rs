//! Connections that programs open, counted by process and address.

use crate::declare::{constants, records};
use crate::header::RecordHeader;

constants! {
    /// Segments with data up to which a connection that ended is a brief one: a request or two, with what TLS or logging in sends.
    BRIEF_SEGMENTS: u32 = 8, BRIEF_SEGMENTS;
}

records! {
    /// For the collector: to whom which process connects.
    ConnectKey = connect_key, 24 {
        /// The process.
        tgid: u32,
        /// Port at the other end.
        remote_port: u16,
        /// 0.
        reserved: u16,
        /// Address of the other end, in the form of IPv6.
        remote_address: [u8; 16],
    }
    /// For the collector: what is counted of one [`ConnectKey`], since its first connection.
    ConnectCounts = connect_counts, 64 {
        /// Connections that were asked for.
        connects: u64,
        /// Those that were there and ended after no more than [`BRIEF_SEGMENTS`].
        brief: u64,
        /// Of the brief ones: from asking until they were there, in sum.
        connect_ns: u64,
        /// Of the brief ones: from asking until one of the ends began to close them, in sum.
        life_ns: u64,
        /// When the latest was asked for.
        last_ns: u64,
        /// Key of a stack that asked for one of the latest.
        user_stack: u64,
        /// When that was taken.
        stack_ns: u64,
        /// The thread that asked for the latest.
        tid: u32,
        /// 0.
        reserved: u32,
    }
    /// Connections that a process opened to one address since the record before.
    ConnectsRecord = record_connects, 72 {
        /// `tid`: who asked for the latest; `time_ns`: when.
        h: RecordHeader,
        /// Address of the other end, in the form of IPv6.
        remote_address: [u8; 16],
        /// Key of a stack that asked for one of the latest.
        user_stack: u64,
        /// Of the brief ones: from asking until they were there, in sum.
        connect_ns: u64,
        /// Of the brief ones: from asking until one of the ends began to close them, in sum.
        life_ns: u64,
        /// Connections that were asked for.
        connects: u32,
        /// Those that were there and ended after no more than [`BRIEF_SEGMENTS`].
        brief: u32,
        /// Port at the other end.
        remote_port: u16,
        /// 0.
        reserved: [u16; 3],
    }
}
