//! A value in words.

use dwell_view::Value;

use super::style::printable;
use super::{bars, units};

/// Columns of a sparkline in a table.
const SPARKLINE_WIDTH: usize = 16;

/// Whether a value is an amount.
pub fn is_number(value: &Value) -> bool {
    use Value::{Count, CountChange, Fraction, Ns, NsChange, Real};
    matches!(value, Count(_) | CountChange(_) | Ns(_) | NsChange(_) | Fraction(_) | Real(_))
}

/// A value in words, without control characters.
pub fn words(value: &Value) -> String {
    match value {
        Value::None | Value::Rows(_) => String::new(),
        Value::Text(text) => printable(text).into_owned(),
        Value::Prose(prose) => printable(&prose.to_string()).into_owned(),
        Value::Count(count) => units::count(*count),
        Value::Ns(ns) => units::duration(*ns),
        Value::CountChange(change) => units::signed(*change, units::count),
        Value::NsChange(change) => units::signed(*change, units::duration),
        Value::Fraction(fraction) => units::percent(*fraction),
        Value::Real(real) => units::real(*real),
        Value::ByClass(classes) => bars::class_words(classes),
        Value::Histogram(times) => bars::sparkline(times, SPARKLINE_WIDTH),
        Value::Parts(parts) => largest_share(parts),
        Value::Stack(frames) => frames.iter().map(|frame| printable(frame)).collect::<Vec<_>>().join(" ← "),
    }
}

/// The largest part with its share of the whole: a cell has no room for more.
fn largest_share(parts: &[(&str, u64)]) -> String {
    let whole = parts.iter().fold(0u64, |sum, (_, ns)| sum.saturating_add(*ns));
    let largest = parts.iter().max_by_key(|(_, ns)| *ns).filter(|_| whole > 0);
    largest.map_or_else(String::new, |(name, ns)| format!("{name} {:.0} %", *ns as f64 * 100.0 / whole as f64))
}
