//! Which waits are to be explained: those who walk are asked about each wait, and give the parts that hold somebody up.

use crate::study::explain::chains::NodeId;
use crate::study::explain::terms::WaitClass;

/// A wait of the trace, for those who choose which are to be explained.
pub struct Wait {
    /// Who waited.
    pub thread: usize,
    /// Its off-CPU row.
    pub row: usize,
    /// Number of the row's key.
    pub key: u32,
    /// From when to when.
    pub span: (u64, u64),
    /// Whether it holds somebody up.
    pub class: WaitClass,
}

/// A part of a wait that is to be explained.
pub struct WaitPart {
    /// From when, ns.
    pub from: u64,
    /// Until when, ns.
    pub to: u64,
    /// Above which chains that is: [`WAITS`](crate::study::explain::chains::WAITS) or [`SERVED`](crate::study::explain::chains::SERVED).
    pub root: NodeId,
}
