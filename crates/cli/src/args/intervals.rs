//! `--interval WHAT`: what counts as an interval beside what programs announce.

use dwell_capture::TaskProbe;

/// What makes intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntervalArg {
    /// What a thread does from receiving on a socket to sending on it.
    Socket,
    /// From one probe to another.
    Probe(TaskProbe),
}

impl IntervalArg {
    /// Its probes, when it has some.
    pub fn probe(&self) -> Option<&TaskProbe> {
        match self {
            Self::Socket => None,
            Self::Probe(probe) => Some(probe),
        }
    }
}

/// Understands the words.
pub fn interval(text: &str) -> Result<IntervalArg, String> {
    match text {
        "socket" => Ok(IntervalArg::Socket),
        text => TaskProbe::interval(text).map(IntervalArg::Probe),
    }
}
