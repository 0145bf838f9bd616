//! Rows of the delays by thread.

/// Rows of one thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadRows {
    /// Of `delays`.
    pub delays: Vec<u32>,
    /// Of `sync_waits`.
    pub announced: Vec<u32>,
}
