//! Remarks of collection, finalization and merging as sentences. A result names the row of `dwell_model::notices` and the values; the
//! English beside them stands for a row that is not known or damaged.

use dwell_model::{Notice, TemplatePiece, template_pieces};
use dwell_store::{Table, Trace};
use dwell_view::{Prose, Sentence, Word};

/// The remarks of a result.
pub fn remarks(trace: &Trace) -> impl Iterator<Item = Prose> {
    let notices = &trace.notices;
    let remark = |row| notices.notice(row).and_then(|it| known(&it));
    (0..notices.len()).map(move |row| remark(row).unwrap_or_else(|| Prose::plain(&notices.text[row])))
}

/// A remark of the table; `None` if there is no such row, or values lack.
fn known(notice: &Notice) -> Option<Prose> {
    let def = notice.def()?;
    let names = template_pieces(def.text).filter_map(TemplatePiece::name);
    let values: Option<Vec<_>> =
        names.map(|name| Some((name, Word::from(notice.values.get(name)?.as_str())))).collect();
    Some(Sentence::new(def, values?).into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use dwell_store::Manifest;
    use dwell_store::tables::NoticeRow;

    use super::*;

    #[test]
    fn a_stored_remark_is_its_row_and_a_damaged_one_its_text() {
        let notice = dwell_model::notice!(FILE_CHANGED, path = "/a", now = "/b {path}");
        let sentence = known(&notice).unwrap();
        assert_eq!(sentence.to_string(), notice.to_string());
        assert_eq!(sentence.parts()[0]["values"]["now"]["text"], "/b {path}");
        assert_eq!(known(&Notice { values: [].into(), ..notice }), None);
    }

    #[test]
    fn a_row_that_is_not_known_stays_in_english() {
        let mut trace = Trace::new(Manifest::default());
        let known = dwell_model::notice!(FILE_CHANGED, path = "/a", now = "/b");
        let unknown = Notice { id: "of-nobody".to_owned(), values: BTreeMap::new() };
        trace.notices.push((&known).into());
        trace.notices.push(NoticeRow { text: "Its English.".to_owned(), ..(&unknown).into() });
        let remarks: Vec<Prose> = remarks(&trace).collect();
        assert_eq!(remarks[0].parts()[0]["id"], "file-changed");
        assert_eq!((remarks[1].to_string().as_str(), &remarks[1].parts()[0]["id"]), ("Its English.", &"plain".into()));
    }
}
