//! What programs said and could not be kept.

/// What was said and could not be kept, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnkeptCounts {
    /// Events that the programs' buffers had no room for.
    pub lost: u64,
    /// Events of unknown threads.
    pub unknown_threads: u64,
    /// Ends without a beginning.
    pub unmatched_ends: u64,
    /// Tasks within too many others.
    pub deep: u64,
    /// Ids beyond those that can be open at once.
    pub ids: u64,
    /// Rows beyond those that are kept.
    pub rows: u64,
    /// Values that are no numbers.
    pub values: u64,
    /// Synchronization objects beyond those that are kept.
    pub objects: u64,
    /// Announced waits whose end was not announced.
    pub unended_waits: u64,
    /// Pieces of work whose requester is unknown.
    pub askers: u64,
    /// Names of task types beyond those that are kept.
    pub names: u64,
}
