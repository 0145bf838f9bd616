//! Remarks as they are stored: in the manifest, and as rows of a table.

use std::collections::BTreeMap;

use dwell_model::Notice;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::tables::{NoticeRow, Notices};

/// A remark in `manifest.json`: the row of the table of remarks, and its values.
#[derive(Serialize, Deserialize)]
struct StoredNotice {
    id: String,
    values: BTreeMap<String, String>,
}

pub(crate) fn serialize<S: Serializer>(notices: &[Notice], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(notices.iter().map(|it| StoredNotice { id: it.id.clone(), values: it.values.clone() }))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Notice>, D::Error> {
    let stored = Vec::<StoredNotice>::deserialize(from)?;
    Ok(stored.into_iter().map(|StoredNotice { id, values }| Notice { id, values }).collect())
}

impl From<&Notice> for NoticeRow {
    fn from(notice: &Notice) -> Self {
        let values = serde_json::to_string(&notice.values).unwrap_or_default();
        Self { text: notice.to_string(), id: notice.id.clone(), values }
    }
}

impl Notices {
    /// The remark of a row; `None` where its values are damaged.
    pub fn notice(&self, row: usize) -> Option<Notice> {
        let id = self.id.get(row)?.clone();
        Some(Notice { id, values: serde_json::from_str(self.values.get(row)?).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use dwell_model::notice;

    use super::*;

    #[test]
    fn a_row_is_the_remark_and_its_english() {
        let mut rows = Notices::default();
        let remark = notice!(SYMBOLS_UNREAD, path = "/a \"b\"", reason = "c");
        rows.push((&remark).into());
        assert_eq!(rows.text, ["The symbols of /a \"b\" could not be read: c."]);
        assert_eq!((rows.notice(0), rows.notice(1)), (Some(remark), None));
        rows.values[0] = "no JSON".to_owned();
        assert_eq!(rows.notice(0), None);
    }

    #[test]
    fn a_manifest_keeps_its_remarks() {
        let remarks = [notice!(RECORDING_ENDED), notice!(SYMBOLS_UNREAD, path = "/a", reason = "b")];
        let mut json = Vec::new();
        serialize(&remarks, &mut serde_json::Serializer::new(&mut json)).unwrap();
        let read = deserialize(&mut serde_json::Deserializer::from_slice(&json)).unwrap();
        assert_eq!(read, remarks);
    }
}
