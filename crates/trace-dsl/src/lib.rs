//! For tests: results drawn as pictures, and what their threads say of themselves.

#![allow(clippy::unwrap_used, clippy::panic, reason = "who draws no picture fails his test")]

pub mod annotations;
mod cell;
mod picture;

pub use cell::CELL;
pub use picture::*;
