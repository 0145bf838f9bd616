//! Texts of SQL with places for values.

/// The template with these values; what a value says in braces stays as it is.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = template;
    let next = |rest: &str| values.iter().filter_map(|(name, value)| Some((rest.find(name)?, *name, *value))).min();
    while let Some((at, name, value)) = next(rest) {
        filled += &rest[..at];
        filled += value;
        rest = &rest[at + name.len()..];
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled_once() {
        assert_eq!(fill("{a} {b} {a}", &[("{a}", "{b}"), ("{b}", "x")]), "{b} x {b}");
    }
}
