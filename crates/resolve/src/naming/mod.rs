//! Names for everything that the replay left as numbers.
//! It takes the replayed run and what the trace tells once; it gives code, objects and types of tasks as tables.
//! It does not find a name itself: it asks the folders before it, in order.

mod named;
mod notices;
mod plan;
mod raw;
mod renumber;
mod task_types;

pub use named::{Named, name};
pub use raw::Raw;
pub use renumber::{annotations, events};
