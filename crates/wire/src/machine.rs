//! Counters of the machine and of its network interfaces.

use crate::declare::{Char, enums, records};
use crate::header::RecordHeader;

/// A counter that is not known.
pub const COUNTER_UNKNOWN: u64 = u64::MAX;

enums! {
    /// Bits of [`InterfaceHeader::flags`].
    interface_flag: u32 = interface_flag, INTERFACE_ {
        /// In a network namespace that is not the collector's.
        FOREIGN = 1,
    }
}

pub use interface_flag::FOREIGN as INTERFACE_FOREIGN;

records! {
    /// The fixed part of a MACHINE record. Counters follow as they stood at the record's time: `count` numbers (u64) of
    /// MACHINE_COUNTERS of the model crate, in that order. Since boot, times in ns; [`COUNTER_UNKNOWN`] where not
    /// known.
    MachineHeader = record_machine, 24 {
        /// `tid`: 0.
        h: RecordHeader,
        /// Of the counters.
        count: u32,
        /// Online.
        cpus: u32,
    }
    /// The fixed part of an INTERFACE record. As in a [`MachineHeader`], `count` counters follow, of INTERFACE_COUNTERS
    /// of the model crate.
    InterfaceHeader = record_interface, 48 {
        /// `tid`: a process in the network namespace.
        h: RecordHeader,
        /// Of the counters.
        count: u32,
        /// Of [`interface_flag`].
        flags: u32,
        /// Inode of the network namespace.
        network: u64,
        /// Of the interface.
        name: [Char; 16],
    }
}
