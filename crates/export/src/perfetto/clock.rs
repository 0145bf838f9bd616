//! The clock of the trace.

use dwell_analyze::Fold;

/// When something happened on the monotonic clock at the collection, ns. `time_ns` is since the start of the collection.
pub fn clock_ns(fold: &Fold<'_>, time_ns: u64) -> u64 {
    fold.trace.manifest.start_ns.saturating_add(time_ns)
}
