//! Sentences are their templates with the values.

use dwell_view::{Prose, Word};
use serde_json::json;

use super::*;

#[test]
fn a_sentence_is_its_template_with_the_values() {
    let took = |waits: u64| {
        say!(
            FINE_GRAINED_WAITS,
            waits = waits,
            name = "{name} 100 %",
            each = Word::Ns(8_330_000),
            queued = Word::Ns(0),
            share = Word::part(1, 3),
        )
    };
    let text = took(4).to_string();
    assert!(text.contains("{name} 100 %") && text.contains("8.33 ms") && text.contains("33.3 %"), "{text}");
    let task = say!(WITHIN_TASK, share = Word::part(0, 0), task = "t");
    let prose = Prose::from(took(4)).and([task]);
    assert_eq!(prose.to_string(), format!("{text} 0.0 % of it lies within the task t."));
    assert_eq!(prose.parts()[1]["values"], json!({ "share": { "share": 0.0 }, "task": { "text": "t" } }));
    assert_eq!(say!(CREATED_AT, place = None::<String>).to_string(), "It was created at an unknown place.");
}

#[test]
fn ids_are_unique_and_braces_are_paired() {
    let ids: std::collections::BTreeSet<&str> = sentences().map(|def| def.id).collect();
    assert_eq!(ids.len(), sentences().count());
    for def in sentences() {
        assert_eq!(def.text.matches('{').count(), def.text.matches('}').count(), "{}", def.id);
    }
}
