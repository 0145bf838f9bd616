//! `--interval WHAT`: what counts as an interval beside what programs announce.

/// What makes intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntervalArg {
    /// What a thread does from receiving on a socket to sending on it.
    Socket,
}

/// Understands the word.
pub fn interval(text: &str) -> Result<IntervalArg, String> {
    match text {
        "socket" => Ok(IntervalArg::Socket),
        _ => Err(format!("`{text}` is no interval; it is socket")),
    }
}
