//! What is summed beforehand, so that a question about a part of the time costs what it shows: sums and wait lengths
//! by key for blocks of time and blocks of blocks, and what curves and bands are drawn from when many intervals share a
//! pixel.
//!
//! A block's sums are what a sweep of its time tells, and those of a larger block are its parts' added up: a question
//! is answered by the largest blocks inside its range and by sweeps of what is left at the ends. The numbers are the
//! same as those of one sweep over all, to the nanosecond.

mod began;
mod begun;
mod blocks;
mod by_cpu;
mod by_running;
mod chart_buckets;
mod code;
mod levels;
pub mod make;
pub mod running;
mod times;

pub use self::begun::BegunRow;
pub use self::blocks::AnswerPlan;
pub use self::levels::pieces;
pub use self::make::{BuildError, INDEXED_EVENTS, answered, open, open_indexed};
