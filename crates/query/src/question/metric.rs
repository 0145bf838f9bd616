//! Metrics by name.

use dwell_model::MetricDef;

use crate::measure::metrics::METRICS;
use crate::question::error::QueryError;

/// The metric of this id.
pub fn parse_metric(id: &str) -> Result<&'static MetricDef, QueryError> {
    let found = METRICS.iter().find(|metric| metric.id == id);
    found.ok_or_else(|| QueryError::unknown("metric", id, METRICS.iter().map(|metric| metric.id)))
}
