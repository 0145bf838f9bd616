//! Coarser levels of a store: the sums of an hour or a day of one service, of all hosts, in one file.
//!
//! Takes files of rows of time; gives `levels/day=YYYY-MM-DD/service=NAME/LEVEL-BEGIN-GENERATION.parquet` beside a manifest, which says
//! which files of rows each of them is made of; and, for a question, the files that answer it. docs/design/fleet-levels.md says why.

mod choice;
mod compact;
mod manifest;
mod merge;

use std::collections::BTreeSet;
use std::io;

use dwell_files::Folder;
use serde::{Deserialize, Serialize};

pub use choice::{FileNeed, StoreFiles};
pub use compact::{CompactionPlan, CompactionResult, StoreCompaction};

/// The folder in the store that the coarser levels lie in.
pub(crate) const LEVELS: &str = "levels";
/// Ends the name of a table.
const TABLE: &str = ".parquet";

/// How much time the sums of a file are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SumLevel {
    /// An hour, in UTC.
    Hourly,
    /// A day in UTC.
    Daily,
}

impl SumLevel {
    const fn length_ns(self) -> i64 {
        match self {
            Self::Hourly => 3_600_000_000_000,
            Self::Daily => 86_400_000_000_000,
        }
    }

    const fn id(self) -> &'static str {
        match self {
            Self::Hourly => "hourly",
            Self::Daily => "daily",
        }
    }

    /// The begin of the hour or day that this Unix time is in.
    pub(crate) const fn begin_of(self, unix_ns: i64) -> i64 {
        unix_ns - unix_ns.rem_euclid(self.length_ns())
    }
}

/// When the rows of a file begin, Unix time in ns, by the name that an agent gave it: HOST-START.parquet.
fn start_of(name: &str) -> Option<i64> {
    name.strip_suffix(TABLE)?.rsplit_once('-')?.1.parse().ok()
}

/// The names in a folder that begin and end like this.
pub(crate) fn names(folder: &Folder, begin: &str, end: &str) -> io::Result<BTreeSet<String>> {
    let names = folder.names()?.into_iter().filter_map(|name| name.into_string().ok());
    Ok(names.filter(|name| name.starts_with(begin) && name.ends_with(end)).collect())
}

/// The folder of this name; `None` where there is none.
pub(crate) fn folder_if_any(parent: &Folder, name: &str) -> io::Result<Option<Folder>> {
    match parent.folder(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_when_rows_begin() {
        assert_eq!(start_of("web-1-1795737300000000000.parquet"), Some(1_795_737_300_000_000_000));
        for other in ["web-1-7.parquet.partial", "web.parquet", "web-x.parquet", ""] {
            assert_eq!(start_of(other), None, "{other}");
        }
    }

    #[test]
    fn hours_and_days_begin_in_utc() {
        let t = 1_795_737_300_000_000_000; // 2026-11-26 23:55
        assert_eq!(crate::utc(SumLevel::Hourly.begin_of(t)), "2026-11-26 23:00:00");
        assert_eq!(crate::utc(SumLevel::Daily.begin_of(t)), "2026-11-26 00:00:00");
    }
}
