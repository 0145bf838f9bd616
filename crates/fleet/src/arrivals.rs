//! What came and went with a step: versions and hosts.

use std::collections::BTreeMap;

/// From when to when something was there, among the rows around a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresenceSpan {
    /// A version's or a host's name.
    pub name: String,
    /// The first row that it is in.
    pub first: usize,
    /// The last row that it is in.
    pub last: usize,
}

/// What came and went with a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresenceChange {
    /// Names that are in no row before the step but the one right before it, and in rows from the step on.
    pub came: Vec<String>,
    /// Names that are in rows before the step, and in none after the step's own.
    pub went: Vec<String>,
}

/// What came and went at row `at` of `length` rows, by the rows in which each name is. A row may be cut by what happened in it, so that the
/// row before the step counts as the step's, too. Empty names count for nothing, and where all that was before has gone and all that is after
/// has come, names of both are told.
pub fn changes_at(spans: &[PresenceSpan], at: usize, length: usize) -> PresenceChange {
    let mut whole = BTreeMap::<&str, (usize, usize)>::new();
    for span in spans.iter().filter(|span| !span.name.is_empty()) {
        let (first, last) = whole.entry(&span.name).or_insert((span.first, span.last));
        (*first, *last) = ((*first).min(span.first), (*last).max(span.last));
    }
    let is_step = |row: usize| row == at || row + 1 == at;
    let names = |of: &dyn Fn(usize, usize) -> bool| {
        let chosen = whole.iter().filter(|(_, (first, last))| of(*first, *last));
        chosen.map(|(name, _)| (*name).to_owned()).collect()
    };
    PresenceChange {
        came: names(&|first, last| first > 0 && is_step(first) && last >= at),
        went: names(&|first, last| last + 1 < length && is_step(last) && first < at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(name: &str, first: usize, last: usize) -> PresenceSpan {
        PresenceSpan { name: name.into(), first, last }
    }

    #[test]
    fn what_comes_and_goes_with_a_step_is_named() {
        let spans = [span("1.4", 0, 6), span("1.5", 6, 11), span("always", 0, 11), span("", 6, 11)];
        let change = changes_at(&spans, 6, 12);
        assert_eq!((change.came, change.went), (vec!["1.5".to_owned()], vec!["1.4".to_owned()]));
        assert_eq!(changes_at(&spans, 7, 12).came, ["1.5"], "it came in the row before");
        for at in [3, 5, 8, 11] {
            assert_eq!(changes_at(&spans, at, 12), PresenceChange::default(), "{at}");
        }
    }

    #[test]
    fn a_name_that_was_there_before_on_another_host_did_not_come() {
        let spans = [span("1.5", 0, 2), span("1.5", 6, 11), span("1.4", 0, 11)];
        assert_eq!(changes_at(&spans, 6, 12), PresenceChange::default());
        let short = [span("cron", 6, 6)];
        assert_eq!(changes_at(&short, 7, 12).came, [] as [String; 0], "it was gone before the step");
    }
}
