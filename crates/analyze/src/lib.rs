//! Explanation, findings, reports and timeline: pure functions over a [`dwell_store::Trace`] and the sums of [`dwell_query`].
//!
//! Every report is a projection of the sums to a [`dwell_view::View`]. Nothing here reads or writes files, and nothing formats
//! numbers for people: that is the presenter's.
//!
//! The folders, each of which knows only those before it: `study` (who waited for whom), `tables` (columns and notes of every
//! report); then `findings` and `reports`, `timeline`, `explore`, `source`, and `selected` (plain data for exports).

pub mod explore;
mod findings;
mod notices;
mod reports;
pub mod selected;
mod sentences;
pub mod source;
mod study;
mod tables;
pub mod timeline;

/// For the fuzzer.
pub mod readers {
    pub use dwell_query::engine::index::open_indexed;
}

pub use dwell_query::Analysis;
pub use dwell_query::engine::conservation::check_conservation;
pub use dwell_query::engine::fold::Fold;
pub use dwell_query::engine::index::{BuildError, INDEXED_EVENTS, answered, open};
pub use dwell_query::engine::thread_times::{ThreadTimes, thread_times};
pub use dwell_query::measure::metrics::METRICS;
pub use dwell_query::measure::utilization::Thresholds;
pub use dwell_query::question::error::QueryError;
pub use dwell_query::question::filter::{Filter, FilterKey};
pub use dwell_query::question::handles::refuse_handles;
pub use dwell_query::question::level::{CallStackMode, Level, parse_levels};
pub use dwell_query::question::metric::parse_metric;
pub use dwell_query::question::options;
pub use dwell_query::question::query::Query;
pub use dwell_query::question::rates::FrameRates;
pub use dwell_query::question::windows::elapsed_ns;
pub use dwell_query::stacks::call_stacks::CallStacks;
pub use dwell_query::stacks::own_code;
pub use dwell_query::stacks::project::OF_GO;
pub use findings::FINDINGS;
pub use reports::{COLUMNS, Report, compare, report, report_of, report_of_handle};
pub use sentences::sentences;
pub use study::latency;
pub use study::sockets::socket_lengths;
pub use tables::columns::ColumnDef;
pub use tables::losses::{Loss, lost, warnings};

#[cfg(test)]
mod tests;
