//! What the threads of a machine do right now, by snapshots: pure functions of what `capture` reads and the screen shows.
//!
//! The kernel keeps, for each thread, how long it ran and how long it was in the run queue. So the running, runnable and waiting time
//! between two snapshots are exact. What a thread waited *for* is seen at the snapshots only: a wait that was there at both, without a
//! switch between them, is certain, every other is an estimate, and its time is counted as such. Where
//! hooks in the scheduler sum all waits, nothing is estimated.

mod activity;
mod exact;
mod picture;
mod rows;
mod tree;
mod wait;

pub use activity::{Activity, ActivitySums, Interval, SumLosses, ThreadActivity};
pub use exact::{ExactActivity, ExactThread, ExactThreads, ExactWait};
pub use picture::{LiveBand, LivePicture, SeenColumn};
pub use rows::{GroupBy, Row, SortBy, Top, group, sort, waited_for};
pub use tree::{Branch, forest};
pub use wait::{Standing, WaitKind, WaitedFor};
