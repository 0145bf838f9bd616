//! What is written: the raw trace and, when an interval was too long, a result of what was recorded lately.
//! Takes records in the order in which they are drained; gives chunks in the spool, and forgets what a bounded one may.
//! It does not change records, and decodes only those that may end an interval.

pub mod linked_result;
pub mod outliers;
pub mod processor_trace;
pub mod recorder;
pub mod spool_gc;
pub mod watch;
