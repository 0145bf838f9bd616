//! The folder whose results are read, held open. A result is named by one word, which can lead to nothing but an entry of the folder;
//! a link does not count.

use std::path::{Path, PathBuf};

use dwell_store::{Folder, ResultFolder};

use super::refusal::Refusal;
use crate::error::{Hinted, Result, quoted};

/// See the module.
#[derive(Clone, Debug)]
pub struct ResultsFolder {
    folder: Folder,
    path: PathBuf,
}

impl ResultsFolder {
    /// Holds the folder.
    pub fn open(path: &Path) -> Result<Self> {
        let failed =
            |error| Hinted::new(format!("{}: {error}", path.display())).hint("--results takes a folder of results");
        let path = path.canonicalize().map_err(failed)?;
        let folder = Folder::open(&path).map_err(failed)?;
        if folder.has("manifest.json") {
            let hint = quoted(path.parent().unwrap_or(&path));
            return Err(Hinted::usage(format!("{} is a result itself", path.display()))
                .hint(format!("dwell mcp --results {hint} serves the folder that it lies in")));
        }
        Ok(Self { folder, path })
    }

    /// The folder itself.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the result of this name.
    pub fn find(&self, name: &str) -> std::result::Result<Folder, Refusal> {
        plain(name)?;
        let held = self.folder.folder(name);
        held.ok().filter(|_| ResultFolder::is_meant(&self.folder, name)).ok_or_else(|| {
            Refusal::new(format!("there is no result `{name}`")).hint("list_results names those that there are")
        })
    }
}

/// Refuses what is not one plain word.
pub fn plain(name: &str) -> std::result::Result<(), Refusal> {
    let leads_away = name.is_empty() || name.starts_with(['.', '-']) || name.contains(['/', '\0']);
    if leads_away {
        let refusal =
            Refusal::new("a result is named by one plain word, without `/` and without a dot at the beginning");
        return Err(refusal.hint("list_results names the results"));
    }
    Ok(())
}
