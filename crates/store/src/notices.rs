//! Remarks as they are stored: in the manifest, which older versions wrote with texts, and as rows of a table.

use std::collections::BTreeMap;

use dwell_model::{Notice, notices};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::tables::{NoticeRow, Notices};

/// A remark in `manifest.json`.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    /// As before version 5.
    Text(String),
    /// The row of the table, and its values.
    Known { id: String, values: BTreeMap<String, String> },
}

pub(crate) fn serialize<S: Serializer>(notices: &[Notice], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(notices.iter().map(|it| Stored::Known { id: it.id.clone(), values: it.values.clone() }))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Notice>, D::Error> {
    let stored = Vec::<Stored>::deserialize(from)?;
    let notice = |stored| match stored {
        Stored::Text(text) => Notice::plain(text),
        Stored::Known { id, values } => Notice { id, values },
    };
    Ok(stored.into_iter().map(notice).collect())
}

impl From<&Notice> for NoticeRow {
    fn from(notice: &Notice) -> Self {
        let (id, values) = match notice.id == notices::PLAIN.id {
            true => Default::default(),
            false => (notice.id.clone(), serde_json::to_string(&notice.values).unwrap_or_default()),
        };
        Self { text: notice.to_string(), id, values }
    }
}

impl Notices {
    /// The remark of a row; `None` where the row has only text.
    pub fn notice(&self, row: usize) -> Option<Notice> {
        let id = self.id.get(row).filter(|id| !id.is_empty())?;
        Some(Notice { id: id.clone(), values: serde_json::from_str(self.values.get(row)?).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use dwell_model::notice;

    use super::*;

    #[test]
    fn a_row_is_the_remark_and_its_english() {
        let mut rows = Notices::default();
        let (remark, plain) = (notice!(SYMBOLS_UNREAD, path = "/a \"b\"", reason = "c"), Notice::plain("As it came."));
        rows.push((&remark).into());
        rows.push((&plain).into());
        assert_eq!(rows.text, ["The symbols of /a \"b\" could not be read: c.", "As it came."]);
        assert_eq!((rows.notice(0), rows.notice(1), rows.notice(2)), (Some(remark), None, None));
        rows.values[0] = "no JSON".to_owned();
        assert_eq!(rows.notice(0), None);
    }

    #[test]
    fn a_manifest_may_have_texts() {
        let read = |json| deserialize(&mut serde_json::Deserializer::from_str(json)).unwrap();
        assert_eq!(read(r#"["As it came."]"#), [Notice::plain("As it came.")]);
        let mut json = Vec::new();
        let remarks = [notice!(RECORDING_ENDED), Notice::plain("x")];
        serialize(&remarks, &mut serde_json::Serializer::new(&mut json)).unwrap();
        assert_eq!(read(std::str::from_utf8(&json).unwrap()), remarks);
    }
}
