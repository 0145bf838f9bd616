//! What is asked of a result, and the sums that answer it: pure functions over a [`dwell_store::Trace`].
//!
//! One sweep over time cuts every interval by the utilization meanwhile, and one fold sums the pieces by what they can be
//! grouped by. What the sums mean is said in `dwell-analyze`.
//!
//! The folders, each of which knows only those before it: `measure` (what is summed), `question` (what is asked), `stacks` (what
//! surrounds an event), `history` (what each thread did over time), `engine` (sweep, index, fold).

mod analysis;
pub mod engine;
pub mod history;
pub mod measure;
pub mod question;
pub mod stacks;

pub use analysis::Analysis;
pub use question::query::Query;
