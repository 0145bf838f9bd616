//! Ranges of lengths.

use std::ops::Range;

/// The range of lengths `FROM-TO`, ns: each end is a number with ns (or nothing), us, µs, ms or s behind it; either may be
/// left out. `None` when it is none or empty.
pub fn parse_lengths(text: &str) -> Option<Range<u64>> {
    let (from, to) = text.split_once('-')?;
    let end = |text: &str, open: u64| if text.is_empty() { Some(open) } else { parse_length(text) };
    let range = end(from.trim(), 0)?..end(to.trim(), u64::MAX)?;
    (!range.is_empty()).then_some(range)
}

fn parse_length(text: &str) -> Option<u64> {
    let digits = text.find(|letter: char| letter != '.' && !letter.is_ascii_digit()).unwrap_or(text.len());
    let unit = match text[digits..].trim() {
        "" | "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some((text[..digits].parse::<f64>().ok()? * unit).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_ranges_with_units() {
        assert_eq!(parse_lengths("100us-5ms"), Some(100_000..5_000_000));
        assert_eq!(parse_lengths("1.5ms-"), Some(1_500_000..u64::MAX));
        assert_eq!(parse_lengths("-10"), Some(0..10));
        for text in ["", "5", "5ms-1ms", "a-b", "1h-2h", "1..2-3", "-0", "--"] {
            assert_eq!(parse_lengths(text), None, "{text}");
        }
    }
}
