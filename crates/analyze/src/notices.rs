//! Remarks of collection, finalization and merging as sentences. A result of this version names the row of `dwell_model::notices`
//! and the values; an older one has English text, in which they are found again, and a text that fits no row stays as it came.

use std::sync::LazyLock;

use dwell_model::Notice;
use dwell_model::notices::{self, NOTICES};
use dwell_store::{Table, Trace};
use dwell_view::{Piece, Prose, Sentence, SentenceDef, Word, pieces};

/// The table as sentences, without the row for plain text.
static DEFS: LazyLock<Vec<SentenceDef>> = LazyLock::new(|| {
    let known = NOTICES.iter().filter(|def| def.id != notices::PLAIN.id);
    known.map(|def| SentenceDef { id: def.id, text: def.text, japanese: def.japanese }).collect()
});

/// The remarks of a result.
pub fn remarks(trace: &Trace) -> impl Iterator<Item = Prose> {
    let notices = &trace.notices;
    (0..notices.len())
        .map(|row| notices.notice(row).and_then(|it| known(&it)).unwrap_or_else(|| told(&notices.text[row])))
}

/// A remark of the table; `None` if there is no such row, or values lack.
fn known(notice: &Notice) -> Option<Prose> {
    let def = DEFS.iter().find(|def| def.id == notice.id)?;
    let names = pieces(def.text).filter_map(|piece| match piece {
        Piece::Value(name) => Some(name),
        _ => None,
    });
    let values: Option<Vec<_>> =
        names.map(|name| Some((name, Word::from(notice.values.get(name)?.as_str())))).collect();
    Some(Sentence::new(def, values?).into())
}

/// The remark that an older result has as text.
fn told(text: &str) -> Prose {
    let sentence = DEFS.iter().find_map(|def| Some(Sentence::new(def, values(def, text)?)));
    sentence.map_or_else(|| Prose::plain(text), Prose::from)
}

/// The values with which the template reads like the text; `None` if there are none. A value ends where the text behind it is
/// met first, the last one at the end.
fn values(def: &'static SentenceDef, text: &str) -> Option<Vec<(&'static str, Word)>> {
    let mut pieces = pieces(def.text).peekable();
    let mut values = Vec::new();
    let mut rest = text;
    while let Some(piece) = pieces.next() {
        match piece {
            Piece::Text(literal) => rest = rest.strip_prefix(literal)?,
            Piece::Value(name) => {
                let Some(Piece::Text(behind)) = pieces.next() else { return None };
                let (value, after) = match pieces.peek() {
                    None => (rest.strip_suffix(behind)?, ""),
                    Some(_) => rest.split_once(behind)?,
                };
                values.push((name, Word::from(value)));
                rest = after;
            }
            Piece::Number(..) => return None,
        }
    }
    rest.is_empty().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_is_known_by_its_text_and_keeps_its_values() {
        let text = "/lib/x (1).so could not be read: code in it has no names; give its folder with --search-dir.";
        let told = told(text);
        assert_eq!(told.to_string(), text);
        assert_eq!(told.parts()[0]["id"], "file-missing");
        assert_eq!(told.parts()[0]["values"]["path"]["text"], "/lib/x (1).so");
        let text = "Stacks through /opt/a: b.so: it has (two). tables.";
        assert_eq!(super::told(text).parts()[0]["values"]["reason"]["text"], "b.so: it has (two). tables");
    }

    #[test]
    fn a_stored_remark_is_its_row_and_a_damaged_one_its_text() {
        let notice = dwell_model::notice!(FILE_CHANGED, path = "/a", now = "/b {path}");
        let sentence = known(&notice).unwrap();
        assert_eq!(sentence.to_string(), notice.to_string());
        assert_eq!(sentence.parts()[0]["values"]["now"]["text"], "/b {path}");
        assert_eq!(known(&Notice { values: [].into(), ..notice }), None);
        assert_eq!(known(&Notice::plain("file-changed")), None);
    }

    #[test]
    fn a_text_of_nobody_stays_as_it_came() {
        for text in
            ["", "A later version says something else.", "Threads whose running code was not", "7 bytes of a chunk"]
        {
            assert_eq!(told(text).to_string(), text);
            assert_eq!(told(text).parts()[0]["id"], "plain");
        }
    }

    #[test]
    fn every_remark_is_known_as_itself() {
        for def in DEFS.iter() {
            let text: String = def.text.chars().filter(|letter| !"{}".contains(*letter)).collect();
            assert_eq!(told(&text).parts()[0]["id"], def.id);
        }
    }
}
