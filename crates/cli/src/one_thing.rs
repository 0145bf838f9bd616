//! A report of one thing as text: every field of its row, those too that a table has no room for, and what to ask next.

use std::path::Path;

use dwell_view::{Row, Value, View};

use crate::args::Asked;
use crate::error::{quoted, shell_word};

/// The one row that is asked for as a list of all its fields; none where no handle is asked for, or it has several rows.
pub fn whole(view: &View, asked: &Asked) -> Option<View> {
    let is_one = asked.is_of_one() && view.rows.len() == 1 && handle(view).is_some();
    is_one.then(|| {
        let mut whole = View { single: true, ..view.clone() };
        whole.columns.iter_mut().for_each(|column| column.detail = false);
        let claims = whole.columns.iter().position(|column| column.id == "claims");
        if let (Some(at), Some(row)) = (claims, whole.rows.first_mut())
            && let Value::Rows(claims) = &mut row.values[at]
        {
            claims.rows.iter_mut().for_each(|claim| as_command(claim, asked));
        }
        whole
    })
}

/// The question of a claim, its first value, as the command that asks it.
fn as_command(claim: &mut Row, asked: &Asked) {
    let Some(Value::Stack(words)) = claim.values.first() else { return };
    let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
    claim.values[0] = Value::Text(command(&words.join(" "), asked));
}

/// What to ask next about the thing: lines that end with a newline, or nothing.
pub fn next(whole: &View, asked: &Asked) -> String {
    let Some(handle) = handle(whole) else { return String::new() };
    let questions: &[&str] = match handle.chars().next() {
        Some('w') => &["explain --for", "blame", "bottom-up --filter object="],
        Some('t') => &["explain --for", "waits --filter thread=", "hotspots --filter thread="],
        _ => &[],
    };
    let line = |question: &&str| {
        let space = if question.ends_with('=') { "" } else { " " };
        format!("  {}\n", command(&format!("{question}{space}{handle}"), asked))
    };
    let lines: String = questions.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("\nNext\n{lines}") }
}

fn command(question: &str, asked: &Asked) -> String {
    let result = asked.result.as_deref().map(|path: &Path| format!(" {}", quoted(path)));
    format!("dwell report {question}{}", result.unwrap_or_default())
}

/// The handle of the row.
fn handle(view: &View) -> Option<&str> {
    match view.field("handle") {
        Some(Value::Text(handle)) => Some(handle),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;
    use crate::text::style::Style;
    use crate::views::finding;

    #[test]
    fn a_finding_is_shown_whole() {
        let asked = Asked::parse(&["findings".into(), "f1".into(), "r 1".into()]).unwrap();
        let whole = whole(&finding(), &asked).unwrap();
        let text = text::render(&whole, 0, &Style::plain(100)) + &next(&whole, &asked);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn questions_follow_an_object() {
        let asked = Asked::parse(&["w3".into()]).unwrap();
        let mut object = finding();
        object.rows[0].values[1] = Value::Text("w3".into());
        let next = next(&object, &asked);
        assert!(next.contains("  dwell report explain --for w3\n") && next.contains("--filter object=w3\n"), "{next}");
        let all = Asked::parse(&["waits".into()]).unwrap();
        assert_eq!(super::whole(&object, &all), None);
    }
}
