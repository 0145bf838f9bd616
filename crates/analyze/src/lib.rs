//! Metrics, aggregation, reports and findings: pure functions over a [`dwell_store::Trace`].
//!
//! One sweep over time cuts every interval by the utilization meanwhile, one fold sums the pieces by what they can be
//! grouped by, and every report is a projection of the fold to a [`dwell_view::View`]. Nothing here reads or writes files, and
//! nothing formats numbers for people: that is the presenter's.
//!
//! The folders, each of which knows only those before it: `measure` (what is summed), `question` (what is asked), `stacks` (what
//! surrounds an event), `history` (what each thread did over time), `engine` (sweep, index, fold), `study` (who waited for whom),
//! `tables` (columns and notes of every report); then `findings` and `reports`, `timeline`, `explore`, `source`, and `selected` (plain
//! data for exports).

mod analysis;
mod engine;
pub mod explore;
mod findings;
mod history;
mod measure;
mod notices;
mod question;
mod reports;
pub mod selected;
mod sentences;
pub mod source;
mod stacks;
mod study;
mod tables;
pub mod timeline;

/// For the fuzzer.
pub mod readers {
    pub use crate::engine::index::open_indexed;
}

pub use analysis::Analysis;
pub use engine::conservation::check_conservation;
pub use engine::fold::Fold;
pub use engine::index::{BuildError, INDEXED_EVENTS, answered, open};
pub use engine::thread_times::{ThreadTimes, thread_times};
pub use findings::FINDINGS;
pub use measure::metrics::METRICS;
pub use measure::utilization::Thresholds;
pub use question::error::QueryError;
pub use question::filter::{Filter, FilterKey};
pub use question::handles::refuse_handles;
pub use question::level::{CallStackMode, Level, parse_levels};
pub use question::metric::parse_metric;
pub use question::options;
pub use question::query::Query;
pub use question::rates::FrameRates;
pub use question::windows::elapsed_ns;
pub use reports::{COLUMNS, Report, compare, report, report_of, report_of_handle};
pub use sentences::sentences;
pub use stacks::call_stacks::CallStacks;
pub use stacks::own_code;
pub use study::latency;
pub use study::sockets::socket_lengths;
pub use tables::columns::ColumnDef;
pub use tables::losses::{Loss, lost, warnings};

#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
