//! What lies in a store, by the names of its files.

use std::io;
use std::path::Path;

use dwell_files::Folder;

/// How many files a store has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreContents {
    /// Tables.
    pub whole: u64,
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
        for day in names(&store, "day=")? {
            let day = store.folder(&day)?;
            for service in names(&day, "service=")? {
                for file in names(&day.folder(&service)?, "")? {
                    contents.whole += u64::from(file.ends_with(".parquet"));
                    contents.partial += u64::from(file.ends_with(".parquet.partial"));
                }
            }
        }
        Ok(contents)
    }
}

/// The names in a folder that begin like this.
fn names(folder: &Folder, begin: &str) -> io::Result<Vec<String>> {
    let names = folder.names()?.into_iter().filter_map(|name| name.into_string().ok());
    Ok(names.filter(|name| name.starts_with(begin)).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::{FleetRow, FleetStore};

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
        assert_eq!(StoreContents::of(&path).unwrap(), StoreContents { whole: 2, partial: 1 });
    }
}
