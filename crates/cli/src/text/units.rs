//! Numbers as people read them: three significant digits, the unit that fits, thousands apart.
//!
//! Only text output uses this; CSV and JSON carry the exact numbers.

/// A duration in nanoseconds: `8.33 s`, `1.90 ms`, `640 ns`, `0`.
pub fn duration(ns: u64) -> String {
    const UNITS: [(&str, f64); 3] = [("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    if ns == 0 {
        return "0".into();
    }
    if ns < 1000 {
        return format!("{ns} ns");
    }
    let exact = ns as f64;
    // The first unit in which three digits do not round up to 1000.
    let fits = |(unit, scale): &(&str, f64)| exact / scale < 999.5 || *unit == "s";
    let (unit, scale) = UNITS.iter().find(|candidate| fits(candidate)).unwrap_or(&UNITS[2]);
    format!("{} {unit}", significant(exact / scale))
}

/// A difference with its sign: `+1.90 ms`, `−12`, `0`.
pub fn signed(value: i64, words: impl Fn(u64) -> String) -> String {
    match value {
        0 => "0".into(),
        1.. => format!("+{}", words(value.unsigned_abs())),
        _ => format!("−{}", words(value.unsigned_abs())),
    }
}

/// A fraction of 1 as a percentage: `61.5 %`, `0.04 %`, `100 %`.
pub fn percent(fraction: f64) -> String {
    if !fraction.is_finite() {
        return "–".into();
    }
    let percent = fraction * 100.0;
    match percent.abs() {
        0.0 => "0 %".into(),
        ..0.01 => "<0.01 %".into(),
        ..0.995 => format!("{percent:.2} %"),
        _ => format!("{} %", significant(percent)),
    }
}

/// A number with a fraction, three significant digits: `2.13`, `1,240`, `0.031`.
pub fn real(value: f64) -> String {
    if value.is_finite() { significant(value) } else { "–".into() }
}

/// A count with its thousands apart: `4,210`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size in bytes: `12.3 MB`.
pub fn bytes(value: u64) -> String {
    const UNITS: [(&str, f64); 4] = [("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)];
    if value < 1000 {
        return format!("{value} B");
    }
    let exact = value as f64;
    let (unit, scale) = UNITS.iter().find(|(_, scale)| exact / scale < 999.5).unwrap_or(&UNITS[3]);
    format!("{} {unit}", significant(exact / scale))
}

fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return "0".into();
    }
    if magnitude >= 999.5 {
        let whole = count(magnitude.round() as u64);
        return if value < 0.0 { format!("-{whole}") } else { whole };
    }
    let before_point = magnitude.log10().floor() as i32 + 1;
    let rounds_up = magnitude >= 10f64.powi(before_point) - 0.5 * 10f64.powi(before_point - 3);
    let decimals = (3 - before_point - i32::from(rounds_up)).clamp(0, 5);
    format!("{value:.*}", usize::try_from(decimals).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_significant_digits_and_a_fitting_unit() {
        let cases = [
            (0, "0"),
            (7, "7 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (1_904_000, "1.90 ms"),
            (12_349_000, "12.3 ms"),
            (999_400, "999 µs"),
            (999_600, "1.00 ms"),
            (9_996_000, "10.0 ms"),
            (8_330_000_000, "8.33 s"),
            (123_400_000_000, "123 s"),
            (4_000_000_000_000, "4,000 s"),
            (u64::MAX, "18,446,744,074 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(duration(ns), text, "{ns}");
        }
    }

    #[test]
    fn fractions_counts_and_sizes() {
        assert_eq!(percent(0.615), "61.5 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.9996), "100 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.00042), "0.04 %");
        assert_eq!(percent(1e-9), "<0.01 %");
        assert_eq!(percent(f64::NAN), "–");
        assert_eq!(real(-2.126), "-2.13");
        assert_eq!(real(1240.4), "1,240");
        assert_eq!(count(4210), "4,210");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(bytes(12_345_678), "12.3 MB");
        assert_eq!(bytes(12), "12 B");
    }
}
