//! One pass over time.

/// Nanoseconds by utilization class: idle, poor, ok, ideal, over.
pub type ByClass = [u64; 5];

/// The classes' ids, in the order of [`ByClass`].
pub const CLASSES: [&str; 5] = ["idle", "poor", "ok", "ideal", "over"];
