//! Conditions on the value of a counter.

use std::cmp::Ordering;

/// `NAME<=8`: a counter and what its value must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition<'t> {
    pub(super) name: &'t str,
    pub(super) operator: &'static str,
    pub(super) limit: f64,
}

impl<'t> Condition<'t> {
    /// Understands `NAME`, one of `<=`, `>=`, `<`, `>`, `=`, and a number; `None` when it is not that.
    pub fn parse(text: &'t str) -> Option<Self> {
        let at = text.find(['<', '>', '='])?;
        let (name, rest) = text.split_at(at);
        let operator = ["<=", ">=", "<", ">", "="].into_iter().find(|operator| rest.starts_with(operator))?;
        let limit = rest[operator.len()..].trim().parse::<f64>().ok().filter(|limit| limit.is_finite())?;
        (!name.trim().is_empty()).then_some(Self { name: name.trim(), operator, limit })
    }

    /// Whether a value fulfils it.
    pub fn holds(&self, value: f64) -> bool {
        match value.partial_cmp(&self.limit) {
            Some(Ordering::Less) => self.operator.starts_with('<'),
            Some(Ordering::Equal) => self.operator.ends_with('='),
            Some(Ordering::Greater) => self.operator.starts_with('>'),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_understood() {
        let parsed = |text| Condition::parse(text).map(|it| (it.name, it.operator, it.limit));
        assert_eq!(parsed("recv_ctrl<=8"), Some(("recv_ctrl", "<=", 8.0)));
        assert_eq!(parsed("queue depth > -1.5"), Some(("queue depth", ">", -1.5)));
        assert_eq!(parsed("a=1e3"), Some(("a", "=", 1000.0)));
        assert_eq!(["", "a", "<5", "a<", "a<x", "a=nan"].map(parsed), [None; 6]);
    }
}
