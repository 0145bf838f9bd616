//! Names for everything that the replay left as numbers.
//! It takes the replayed run and what the trace tells once; it gives code, objects and types of tasks as tables.
//! It does not find a name itself: it asks the folders before it, in order.

mod assign_ids;
mod named;
mod notices;
mod plan;
mod raw;
mod task_types;

pub use assign_ids::{annotations, events, fibers};
pub use named::{Named, name};
pub use raw::ReplayedTrace;
