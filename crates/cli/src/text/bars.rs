//! Pictures in characters: bars by utilization class, histograms, sparklines.

use super::style::{Ink, Style};
use super::units;

/// The utilization classes, worst first, as `Value::ByClass` orders them: name, colour, and the shade that stands for
/// the colour where there is none.
pub const CLASSES: [(&str, Ink, char); 5] = [
    ("idle", Ink::Idle, '█'),
    ("poor", Ink::Poor, '▓'),
    ("ok", Ink::Ok, '▒'),
    ("ideal", Ink::Ideal, '░'),
    ("over", Ink::Over, '·'),
];

/// Columns of a bar in a table.
pub const BAR_WIDTH: usize = 10;
/// Rows of a histogram; more counts than that share rows.
const HISTOGRAM_ROWS: usize = 20;
const HISTOGRAM_WIDTH: usize = 40;

/// The classes' parts of a bar that is `columns` long for `full` nanoseconds: `(class, length)`.
fn parts(classes: &[u64; 5], full: u64, columns: usize) -> [(usize, usize); 5] {
    let mut sum = 0u128;
    let mut drawn = 0usize;
    let mut parts = [(0, 0); 5];
    for (class, &ns) in classes.iter().enumerate() {
        sum += u128::from(ns);
        // Each end is rounded, not each length: the bar's length is the sum's.
        let end = (sum * columns as u128 + u128::from(full) / 2).checked_div(u128::from(full)).unwrap_or(0);
        let end = usize::try_from(end).unwrap_or(columns).min(columns);
        parts[class] = (class, end.saturating_sub(drawn));
        drawn = drawn.max(end);
    }
    parts
}

/// A bar by class as spans of one colour each, padded with blanks to `columns`.
pub fn class_bar(classes: &[u64; 5], full: u64, columns: usize, style: &Style) -> Vec<(Option<Ink>, String)> {
    let mut spans = Vec::new();
    let mut used = 0;
    for (class, length) in parts(classes, full, columns).into_iter().filter(|part| part.1 > 0) {
        let (_, ink, shade) = CLASSES[class];
        let block = if style.color { '█' } else { shade };
        spans.push((Some(ink), block.to_string().repeat(length)));
        used += length;
    }
    spans.push((None, " ".repeat(columns.saturating_sub(used))));
    spans
}

/// What the blocks of [`class_bar`] mean.
pub fn class_legend(style: &Style) -> Vec<String> {
    let entry = |(name, ink, shade): &(&str, Ink, char)| {
        let block = if style.color { '█' } else { *shade };
        format!("{} {name}", style.paint(*ink, block.to_string()))
    };
    let entries = CLASSES.iter().map(entry).collect::<Vec<_>>().join("  ");
    match style.width {
        70.. => vec![format!("CPU utilization meanwhile: {entries}")],
        _ => vec!["CPU utilization meanwhile:".into(), entries],
    }
}

/// Nanoseconds by class in words: `idle 1.20 s, poor 3.00 s`; classes without time are left out.
pub fn class_words(classes: &[u64; 5]) -> String {
    let words = CLASSES.iter().zip(classes).filter(|(_, ns)| **ns > 0);
    words.map(|((name, ..), ns)| format!("{name} {}", units::duration(*ns))).collect::<Vec<_>>().join(", ")
}

/// A histogram of time by count, one line each, the empty counts at the end left out.
pub fn histogram(times: &[u64], style: &Style) -> Vec<String> {
    let used = times.iter().rposition(|&ns| ns > 0).map_or(0, |last| last + 1);
    let total: u128 = times.iter().map(|&ns| u128::from(ns)).sum();
    let groups = grouped(&times[..used]);
    let most = groups.iter().map(|group| group.1).max().unwrap_or(0);
    let label_width = groups.iter().map(|group| group.0.chars().count()).max().unwrap_or(0);
    let room = style.width.saturating_sub(label_width + 24).min(HISTOGRAM_WIDTH);
    let line = |(label, ns): &(String, u64)| {
        let bar = bar(*ns, most, room);
        let pad = " ".repeat(room.saturating_sub(bar.chars().count()));
        let share = if total == 0 { 0.0 } else { *ns as f64 / total as f64 };
        let bar = style.paint(Ink::Ideal, bar);
        format!("{label:>label_width$}  {bar}{pad} {:>8} {:>8}", units::duration(*ns), units::percent(share))
    };
    groups.iter().map(line).collect()
}

/// Counts in rows: zero alone, the others in groups of equal size.
fn grouped(times: &[u64]) -> Vec<(String, u64)> {
    let Some((zero, rest)) = times.split_first() else { return Vec::new() };
    let size = rest.len().div_ceil(HISTOGRAM_ROWS - 1).max(1);
    let mut groups = vec![("0".to_owned(), *zero)];
    for (index, chunk) in rest.chunks(size).enumerate() {
        let first = index * size + 1;
        let last = first + chunk.len() - 1;
        let label = if first == last { first.to_string() } else { format!("{first}–{last}") };
        groups.push((label, chunk.iter().fold(0, |sum, ns| sum.saturating_add(*ns))));
    }
    groups
}

/// A bar in eighths of a column.
pub fn bar(value: u64, full: u64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (u128::from(value) * columns as u128 * 8).checked_div(u128::from(full)).unwrap_or(0);
    let eighths = usize::try_from(eighths).unwrap_or(0).max(usize::from(value > 0));
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// A histogram in one line: `▁▂▇█`, in at most `columns` characters.
pub fn sparkline(values: &[u64], columns: usize) -> String {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let size = values.len().div_ceil(columns.max(1)).max(1);
    let sum = |chunk: &[u64]| chunk.iter().map(|&value| u128::from(value)).sum::<u128>();
    let sums: Vec<u128> = values.chunks(size).map(sum).collect();
    let most = sums.iter().copied().max().unwrap_or(0).max(1);
    let level = |sum: &u128| match sum {
        0 => ' ',
        sum => LEVELS[usize::try_from((sum * 7).div_ceil(most)).unwrap_or(7).min(7)],
    };
    sums.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(spans: Vec<(Option<Ink>, String)>) -> String {
        spans.into_iter().map(|span| span.1).collect()
    }

    #[test]
    fn a_bar_is_as_long_as_its_share_and_never_longer() {
        let plain = Style::plain(80);
        assert_eq!(text(class_bar(&[4, 2, 2, 1, 1], 10, 10, &plain)), "████▓▓▒▒░·");
        assert_eq!(text(class_bar(&[0, 5, 0, 0, 0], 10, 10, &plain)), "▓▓▓▓▓     ");
        assert_eq!(text(class_bar(&[0; 5], 0, 4, &plain)), "    ");
        assert_eq!(text(class_bar(&[u64::MAX; 5], u64::MAX, 4, &plain)), "████");
    }

    #[test]
    fn histograms_group_many_counts() {
        let lines = histogram(&[0, 5, 10, 0], &Style::plain(80));
        assert_eq!(lines.len(), 3);
        assert!(lines[2].contains("66.7 %"), "{lines:?}");
        let many = histogram(&vec![1; 100], &Style::plain(80));
        assert!(many.len() <= HISTOGRAM_ROWS);
        assert!(many[1].trim_start().starts_with("1–6"), "{many:?}");
        assert!(histogram(&[], &Style::plain(80)).is_empty());
    }

    #[test]
    fn sparklines_fit() {
        assert_eq!(sparkline(&[0, 1, 8], 10), " ▂█");
        assert_eq!(sparkline(&[1; 100], 10).chars().count(), 10);
        assert_eq!(sparkline(&[], 10), "");
    }
}
