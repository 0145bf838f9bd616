//! How many waits each key has, and when the first of them ended: what a reader of all keys needs no pass over the rows for.

/// The waits of a key: its rows in which the thread did not only leave the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct KeyWaits {
    /// When the first of them ended, ns; `u64::MAX` where there are none.
    pub first_end_ns: u64,
    /// How many there are.
    pub count: u64,
}

impl KeyWaits {
    /// Those of a key without waits.
    pub const NONE: Self = Self { first_end_ns: u64::MAX, count: 0 };

    /// Counts a row that waited so long, if it did.
    pub(super) fn add(&mut self, start_ns: u64, wait_ns: u64) {
        if wait_ns > 0 {
            self.first_end_ns = self.first_end_ns.min(start_ns.saturating_add(wait_ns));
            self.count += 1;
        }
    }
}
