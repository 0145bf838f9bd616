//! The sums: one sweep over time, an index of what it told, one fold by what events can be grouped by.
//!
//! Takes a trace and a query; gives sites with their weights, levels of concurrency, groups and lengths. It makes no tables.

pub mod alike_objects;
pub mod columns;
pub mod conservation;
pub mod fold;
pub mod functions;
pub mod grouping;
pub mod hidden_threads;
pub mod index;
pub mod key_equivalence;
pub mod length_cut;
pub mod row_sampling;
pub mod selection;
pub mod shares;
pub mod sites;
pub mod sums;
pub mod sweep;
pub mod target;
pub mod thread_times;
