//! How far finalization is, and who is told.

/// Shows how far finalization is. Called from several threads; only the ratio of `done` and `total` means something.
pub trait Progress: Sync {
    /// Step `name` has done `done` of `total`.
    fn step(&self, name: &'static str, done: u64, total: u64);
}

/// Tells nobody.
pub struct NoProgress;

impl Progress for NoProgress {
    fn step(&self, _: &'static str, _: u64, _: u64) {}
}
