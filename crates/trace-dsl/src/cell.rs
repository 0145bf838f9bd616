//! The grain of a picture.

/// A character of a picture, ns.
pub const CELL: u64 = 1_000_000;
