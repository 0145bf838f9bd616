//! How many threads the program could use at once.

use dwell_store::Trace;

use crate::question::query::Query;

/// T: how many threads the program could use at once.
pub fn target_concurrency(trace: &Trace, query: &Query) -> u32 {
    let manifest = &trace.manifest;
    query.target_concurrency.or(manifest.target_concurrency).unwrap_or(manifest.cpus.usable).max(1)
}
