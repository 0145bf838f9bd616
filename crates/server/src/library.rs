//! The results that are served: one, or all of a folder. Clients name them by ids that are looked up in this list.

use std::fs;
use std::path::{Path, PathBuf};

use dwell_store::{CodeTables, Manifest, ResultFolder, State};

use crate::problem::Problem;

/// Where results are.
#[derive(Clone, Debug)]
pub struct Library {
    path: PathBuf,
    /// Whether `path` is a result itself.
    single: bool,
}

/// One result of the list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its id: the folder's name.
    pub id: String,
    /// Its folder.
    pub folder: ResultFolder,
    /// What was run, when and how.
    pub manifest: Manifest,
}

impl Library {
    /// The result at `path`, or the results in it. Fails when there is none.
    pub fn open(path: &Path) -> Result<Self, dwell_store::Error> {
        let single = path.join("manifest.json").exists();
        let library = Self { path: path.canonicalize().unwrap_or_else(|_| path.to_owned()), single };
        if !single && library.results().is_empty() {
            // Its error says what is wrong with the folder.
            ResultFolder::open(path)?;
        }
        if single {
            ResultFolder::open(path)?;
        }
        Ok(library)
    }

    /// Whether it is one result.
    pub fn is_single(&self) -> bool {
        self.single
    }

    /// The results that there are now, the newest first.
    pub fn results(&self) -> Vec<Listed> {
        if self.single {
            return listed(&self.path).into_iter().collect();
        }
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        // A link may lead anywhere.
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut results: Vec<Listed> = folders.filter_map(|entry| listed(&entry.path())).collect();
        results.sort_by(|a, b| b.manifest.started_at.total_cmp(&a.manifest.started_at).then(b.id.cmp(&a.id)));
        results
    }

    /// The result of this id.
    pub fn find(&self, id: &str) -> Result<Listed, Problem> {
        let found = self.results().into_iter().find(|result| result.id == id);
        found.ok_or_else(|| Problem::missing("there is no such result"))
    }
}

impl Library {
    /// The tables of machine code and source text of a result.
    pub fn code(&self, id: &str) -> Result<CodeTables, Problem> {
        let tables = CodeTables::read(&self.find(id)?.folder)?;
        tables.ok_or_else(|| Problem::missing("the Dwell that finalized this result kept neither code nor sources"))
    }
}

fn listed(path: &Path) -> Option<Listed> {
    let id = path.file_name()?.to_str()?.to_owned();
    let folder = ResultFolder::open(path).ok()?;
    let manifest = folder.manifest().ok()?;
    Some(Listed { id, folder, manifest })
}

impl Listed {
    /// Why it cannot be viewed yet.
    pub fn problem(&self) -> Option<String> {
        let command = format!("dwell finalize {}", self.folder.path().display());
        (self.manifest.state != State::Finalized).then(|| format!("is not finalized yet: {command}"))
    }

    /// Bytes of its tables.
    pub fn size_bytes(&self) -> u64 {
        let entries = fs::read_dir(self.folder.path().join("tables")).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.metadata().ok()).filter(fs::Metadata::is_file).map(|file| file.len()).sum()
    }
}
