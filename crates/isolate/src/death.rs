//! Why an item has no answer.

use std::fmt;
use std::time::Duration;

/// Why an item has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// It took more than these bytes of memory.
    Memory(u64),
    /// It took longer than this.
    Deadline(Duration),
    /// Its process crashed, or gave what is no answer.
    Crash,
    /// No process could be made for it.
    NoProcess,
    /// All items together took longer than this.
    NoTime(Duration),
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(bytes) if *bytes >= 1 << 30 => write!(f, "needed more than {} GiB", bytes >> 30),
            Self::Memory(bytes) => write!(f, "needed more than {} MiB", bytes >> 20),
            Self::Deadline(time) => write!(f, "took longer than {} s", time.as_secs_f64()),
            Self::Crash => f.write_str("its reader crashed"),
            Self::NoProcess => f.write_str("no process could be made to read it"),
            Self::NoTime(time) => write!(f, "all files together took longer than {} s", time.as_secs_f64()),
        }
    }
}
