//! What each thread, process, object and CPU did over time.
//!
//! Takes the events of a trace; gives pieces of time with states, and what coarse drawings of them are made from. It draws nothing.

pub mod band_kind;
pub mod counter_rows;
pub mod groups;
pub mod lanes;
pub mod pieces;
pub mod pyramid;
pub mod states;
pub mod sum;
pub mod thread_history;
