//! Durations as people read them.

/// A duration in a sentence: three digits and a unit.
pub fn duration(ns: u64) -> String {
    let exact = ns as f64;
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (exact / 1e3, "µs"),
        1_000_000..1_000_000_000 => (exact / 1e6, "ms"),
        _ => (exact / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}
