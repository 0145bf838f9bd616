//! What every export says of itself: of which recording it is, by whom it was written, what is missing in it.

use dwell_analyze::lost;
use dwell_store::Trace;

/// Who wrote it.
pub const EXPORTER: &str = concat!("dwell ", env!("CARGO_PKG_VERSION"));

/// The command that was recorded, and what is missing, in one line. `idle_ns` is the time of idle workers' waits that is left out;
/// `others` are remarks of the format.
pub fn title(trace: &Trace, idle_ns: u64, others: Vec<String>) -> String {
    let command = trace.manifest.command.join(" ");
    let mut remarks = remarks(trace, idle_ns);
    remarks.extend(others);
    if remarks.is_empty() { command } else { format!("{command} ({})", remarks.join("; ")) }
}

/// Sentences without a full stop: each loss of data with its count, other missing detail in sum, and the idle time left out.
pub fn remarks(trace: &Trace, idle_ns: u64) -> Vec<String> {
    let mut remarks: Vec<String> = lost(trace).map(|loss| format!("lost: {} {}", loss.count, loss.name)).collect();
    if idle_ns > 0 {
        remarks.push(format!("{idle_ns} ns of waits of idle workers are left out"));
    }
    remarks
}
