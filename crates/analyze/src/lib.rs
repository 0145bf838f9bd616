//! Metrics, aggregation, reports and findings: pure functions over a [`dwell_store::Trace`].
//!
//! One sweep over time cuts every interval by the utilization meanwhile, one fold sums the pieces by what they can be
//! grouped by, and every report is a projection of the fold to a [`View`]. Nothing here reads or writes files, and
//! nothing formats numbers for people: that is the presenter's. Exact numbers for programs are [`json`].

mod analysis;
mod blame;
mod call_stacks;
mod classify;
pub mod compare;
mod conservation;
mod correlation;
mod counter_filter;
mod critical_path;
mod distribution;
pub mod explore;
mod findings;
mod fold;
mod grouping;
mod index;
mod intervals;
pub mod json;
pub mod latency;
mod length_cut;
mod lengths;
mod metrics;
mod notices;
mod parallel;
mod quantile;
mod query;
mod reports;
mod selection;
mod sentences;
mod sockets;
pub mod source;
pub mod stop;
mod sums;
mod sweep;
mod tasks;
mod thread_index;
mod thread_times;
pub mod timeline;
pub mod view;
mod windows;

/// For the fuzzer.
pub mod readers {
    pub use crate::index::open_indexed;
}

pub use analysis::Analysis;
pub use conservation::check_conservation;
pub use findings::FINDINGS;
pub use fold::Fold;
pub use index::{BuildError, INDEXED_EVENTS, answered, open};
pub use metrics::METRICS;
pub use notices::NOTICES;
pub use query::{
    CallStackMode, Filter, FilterKey, FrameRates, Level, Query, QueryError, Thresholds, glob, parse_levels,
    parse_metric,
};
pub use reports::{Loss, Report, lost, report, report_of, warnings};
pub use sentences::{Prose, SENTENCES, Sentence, SentenceDef, Word};
pub use sockets::socket_lengths;
pub use sweep::CLASSES;
pub use thread_times::{ThreadTimes, thread_times};
pub use view::{Column, Row, Value, View};
pub use windows::elapsed_ns;

#[cfg(test)]
mod picture;
#[cfg(test)]
mod said;
#[cfg(test)]
mod tests;
