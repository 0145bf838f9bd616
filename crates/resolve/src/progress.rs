//! How far finalization is, and who is told.

/// Who is told how far finalization is. `done` of `total` in a unit that only the ratio matters of; called from
/// several threads.
pub trait Progress: Sync {
    /// Step `name` has done `done` of `total`.
    fn step(&self, name: &'static str, done: u64, total: u64);
}

/// Tells nobody.
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _: &'static str, _: u64, _: u64) {}
}
