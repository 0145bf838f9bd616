//! Rows that begin in a stretch of time.

/// An off-CPU row that began in what is looked at.
#[derive(Clone, Copy, Debug)]
pub struct BegunRow {
    /// The row.
    pub row: usize,
    /// Class in which it began.
    pub class: usize,
    /// Its blocked time.
    pub wait_ns: u64,
    /// Number of its key.
    pub key: u32,
}
