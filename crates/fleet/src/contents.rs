//! What lies in a store, by the names of its files.

use std::io;
use std::path::Path;

use dwell_files::Folder;

use crate::CAUSES;
use crate::levels::{LEVELS, folder_if_any, names};

/// How many files a store has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreContents {
    /// Tables.
    pub whole: u64,
    /// Files of sums that a compaction made.
    pub summed: u64,
    /// Tables of causes.
    pub causes: u64,
    /// Files that an agent writes at the moment, or that one left when it was killed. No question reads them.
    pub partial: u64,
}

impl StoreContents {
    /// Looks into the store at this path.
    ///
    /// # Errors
    ///
    /// Where no folder is there, or one cannot be listed.
    pub fn of(path: &Path) -> io::Result<Self> {
        let store = Folder::open(path)?;
        let mut contents = Self::default();
        each_file(&store, |file| {
            contents.whole += u64::from(file.ends_with(".parquet"));
            contents.partial += u64::from(file.ends_with(".parquet.partial"));
        })?;
        if let Some(levels) = folder_if_any(&store, LEVELS)? {
            each_file(&levels, |file| contents.summed += u64::from(file.ends_with(".parquet")))?;
        }
        if let Some(causes) = folder_if_any(&store, CAUSES)? {
            each_file(&causes, |file| {
                contents.causes += u64::from(file.ends_with(".parquet"));
                contents.partial += u64::from(file.ends_with(".parquet.partial"));
            })?;
        }
        Ok(contents)
    }
}

/// Calls `see` with the name of each file that lies by day and service.
fn each_file(parent: &Folder, mut see: impl FnMut(&str)) -> io::Result<()> {
    for day in names(parent, "day=", "")? {
        let day = parent.folder(&day)?;
        for service in names(&day, "service=", "")? {
            names(&day.folder(&service)?, "", "")?.iter().for_each(|file| see(file));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::{CauseRow, FleetRow, FleetStore};

    #[test]
    fn files_that_are_half_written_are_counted_apart() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("fleet");
        assert!(StoreContents::of(&path).is_err());
        let store = FleetStore::open(&path).unwrap();
        assert_eq!(StoreContents::of(&path).unwrap(), StoreContents::default());
        store.write("a", "h", 7, &[FleetRow::default()]).unwrap();
        store.write("b", "h", 7, &[FleetRow::default()]).unwrap();
        fs::write(path.join("day=1970-01-01/service=b/h-8.parquet.partial"), "PAR1").unwrap();
        fs::write(path.join("notes.txt"), "").unwrap();
        store.write_causes("a", "h", 7, &[CauseRow::default()]).unwrap();
        let contents = StoreContents { whole: 2, summed: 0, causes: 1, partial: 1 };
        assert_eq!(StoreContents::of(&path).unwrap(), contents);
    }
}
