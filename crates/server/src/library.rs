//! The results and instruction traces that are served: one, or all of a folder. Clients name them by ids that are looked up in
//! these lists.

use std::fs;
use std::path::{Path, PathBuf};

use dwell_anatomy::trace;
use dwell_store::{CodeTables, Manifest, ResultFolder, State};

use crate::Error;
use crate::problem::{Fault, Problem};

/// What an instruction trace's name ends in.
const TRACE: &str = ".dwt";

/// Where results are.
#[derive(Clone, Debug)]
pub struct Library {
    path: PathBuf,
    kind: Kind,
}

/// What the path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Result,
    Trace,
    Folder,
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
    /// The result or trace at `path`, or those in it. Fails when there is none.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let kind = match path {
            path if path.join("manifest.json").exists() => Kind::Result,
            path if path.is_dir() || !path.exists() => Kind::Folder,
            _ => Kind::Trace,
        };
        let library = Self { path: path.canonicalize().unwrap_or_else(|_| path.to_owned()), kind };
        match kind {
            Kind::Result => drop(ResultFolder::open(path)?),
            Kind::Trace => {
                let of_trace = |source| Error::Trace { path: path.to_owned(), source };
                trace::recorded(&library.path).map_err(of_trace)?;
            }
            // Its error says what is wrong with the folder.
            Kind::Folder if library.results().is_empty() && library.traces().is_empty() => {
                ResultFolder::open(path)?;
            }
            Kind::Folder => {}
        }
        Ok(library)
    }

    /// Whether it is one result or one trace.
    pub fn is_single(&self) -> bool {
        self.kind != Kind::Folder
    }

    /// The instruction traces that there are now: their ids, which are their files' names, and the files.
    pub fn traces(&self) -> Vec<(String, PathBuf)> {
        let named = |path: PathBuf| Some((path.file_name()?.to_str()?.to_owned(), path));
        if self.kind != Kind::Folder {
            return (self.kind == Kind::Trace).then(|| self.path.clone()).into_iter().filter_map(named).collect();
        }
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        // A link may lead anywhere.
        let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let mut traces: Vec<_> = files.filter_map(|entry| named(entry.path())).collect();
        traces.retain(|(name, _)| name.ends_with(TRACE));
        traces.sort();
        traces.reverse();
        traces
    }

    /// The file of a trace.
    pub fn trace(&self, id: &str) -> Result<PathBuf, Problem> {
        let found = self.traces().into_iter().find(|trace| trace.0 == id);
        found.map(|trace| trace.1).ok_or_else(|| Problem::new(Fault::NoResult, "there is no such trace"))
    }

    /// The results that there are now, the newest first.
    pub fn results(&self) -> Vec<Listed> {
        if self.kind != Kind::Folder {
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
        found.ok_or_else(|| Problem::new(Fault::NoResult, "there is no such result"))
    }
}

impl Library {
    /// The tables of machine code and source text of a result.
    pub fn code(&self, id: &str) -> Result<CodeTables, Problem> {
        let tables = CodeTables::read(&self.find(id)?.folder)?;
        tables.ok_or_else(|| {
            Problem::new(Fault::NoCode, "the Dwell that finalized this result kept neither code nor sources")
        })
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
