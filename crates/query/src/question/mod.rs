//! What is asked: range, filters, grouping, metrics; words from the command line become values here.
//!
//! Takes texts and a trace's length; gives a query and the windows of time that it looks at. A word that does not exist is an error
//! that carries the nearest one. It sums nothing.

pub mod condition;
pub mod counter_time;
pub mod error;
pub mod filter;
pub mod handles;
mod hint;
pub mod length_rules;
pub mod lengths;
pub mod level;
pub mod metric;
pub mod options;
pub mod query;
pub mod rates;
pub mod windows;
pub mod words;
