//! The results and instruction traces that are served: one, or all of a folder. Clients name them by ids that are looked up in
//! these lists.

use std::path::{Path, PathBuf};

use dwell_anatomy::trace;
use dwell_store::{CodeTables, Folder, Manifest, ResultFolder, State};

use super::unresponsive_fs::UnresponsivePaths;
use crate::error::Error;
use crate::problem::{Fault, Problem};

/// What an instruction trace's name ends in.
const TRACE: &str = ".dwt";

/// Where results are.
#[derive(Clone, Debug)]
pub struct Library {
    path: PathBuf,
    kind: Kind,
    silent: UnresponsivePaths,
}

/// What the path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Result,
    Trace,
    Folder,
}

/// One result of the list.
#[derive(Debug)]
pub struct Listed {
    /// Its id: the folder's name.
    pub id: String,
    /// Where it is.
    path: PathBuf,
    /// What was run, when and how, or why that cannot be read.
    pub manifest: Result<Manifest, dwell_store::Error>,
    /// Bytes of its tables.
    pub size_bytes: u64,
}

impl Library {
    /// The result or trace at `path`, or those in it. Fails without any.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let kind = match path {
            path if path.join("manifest.json").exists() => Kind::Result,
            path if path.is_dir() || !path.exists() => Kind::Folder,
            _ => Kind::Trace,
        };
        let library = Self {
            path: path.canonicalize().unwrap_or_else(|_| path.to_owned()),
            kind,
            silent: UnresponsivePaths::default(),
        };
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

    /// The results and traces of a folder, which may have none yet.
    pub fn folder(path: &Path) -> Self {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { path, kind: Kind::Folder, silent: UnresponsivePaths::default() }
    }

    /// Whether it is one result or one trace.
    pub fn is_single(&self) -> bool {
        self.kind != Kind::Folder
    }

    /// The present instruction traces: their ids, which are their files' names, and the files.
    pub fn traces(&self) -> Vec<(String, PathBuf)> {
        let named = |path: PathBuf| Some((path.file_name()?.to_str()?.to_owned(), path));
        if self.kind != Kind::Folder {
            return (self.kind == Kind::Trace).then(|| self.path.clone()).into_iter().filter_map(named).collect();
        }
        let Ok(folder) = Folder::open(&self.path) else { return Vec::new() };
        let names = folder.names().unwrap_or_default();
        // A link may lead anywhere.
        let is_trace = |name: &&str| name.ends_with(TRACE) && folder.has_file(name);
        let traces = names.iter().filter_map(|name| name.to_str()).filter(is_trace);
        traces.rev().filter_map(|name| named(self.path.join(name))).collect()
    }

    /// The file of a trace.
    pub fn trace(&self, id: &str) -> Result<PathBuf, Problem> {
        let found = self.traces().into_iter().find(|trace| trace.0 == id);
        found.map(|trace| trace.1).ok_or_else(|| Problem::new(Fault::NoResult, "there is no such trace"))
    }

    /// The present results, the newest first; those that cannot be read are last.
    pub fn results(&self) -> Vec<Listed> {
        if self.kind != Kind::Folder {
            let opened = (self.kind == Kind::Result).then(|| ResultFolder::open(&self.path));
            return opened.and_then(|opened| listed(&self.path, opened)).into_iter().collect();
        }
        let Ok(parent) = Folder::open(&self.path) else { return Vec::new() };
        let names = parent.names().unwrap_or_default();
        let names = names.iter().filter_map(|name| name.to_str()).map(str::to_owned).collect();
        let mut results = self.look(&parent, names);
        let started = |result: &Listed| result.manifest.as_ref().map_or(f64::MIN, |manifest| manifest.started_at);
        results.sort_by(|a, b| started(b).total_cmp(&started(a)).then_with(|| b.id.cmp(&a.id)));
        results
    }

    /// Those of the names that mean results.
    fn look(&self, parent: &Folder, names: Vec<String>) -> Vec<Listed> {
        let (parent, path) = (parent.clone(), self.path.clone());
        // A link may lead anywhere.
        let one = move |name: &str| {
            let is_meant = ResultFolder::is_meant(&parent, name);
            is_meant.then(|| listed(&path.join(name), ResultFolder::open_in(&parent, name))).flatten()
        };
        let unread = |path: PathBuf, source| listed(&path, Err(dwell_store::Error::Io { path: path.clone(), source }));
        let found = self.silent.look(names, one).into_iter();
        found.filter_map(|(name, found)| found.unwrap_or_else(|error| unread(self.path.join(name), error))).collect()
    }

    /// The result of this id.
    pub fn find(&self, id: &str) -> Result<ResultFolder, Problem> {
        let none = || Problem::new(Fault::NoResult, "there is no such result");
        match self.kind {
            Kind::Trace => Err(none()),
            Kind::Result if self.path.file_name().and_then(|name| name.to_str()) == Some(id) => {
                Ok(ResultFolder::open(&self.path)?)
            }
            Kind::Result => Err(none()),
            Kind::Folder => {
                let parent = Folder::open(&self.path).map_err(|_| none())?;
                match self.look(&parent, vec![id.to_owned()]).pop() {
                    None => Err(none()),
                    Some(Listed { manifest: Err(error), .. }) => Err(error.into()),
                    Some(_) => Ok(ResultFolder::open_in(&parent, id)?),
                }
            }
        }
    }

    /// The tables of machine code and source text of a result.
    pub fn code(&self, id: &str) -> Result<CodeTables, Problem> {
        Ok(CodeTables::read(&self.find(id)?)?)
    }
}

fn listed(path: &Path, opened: Result<ResultFolder, dwell_store::Error>) -> Option<Listed> {
    let id = path.file_name()?.to_str()?.to_owned();
    let size_bytes = opened.as_ref().map_or(0, size_bytes);
    let manifest = opened.and_then(|folder| folder.manifest());
    Some(Listed { id, path: path.to_owned(), manifest, size_bytes })
}

/// Bytes of a result's tables.
fn size_bytes(folder: &ResultFolder) -> u64 {
    let Ok(tables) = folder.tables() else { return 0 };
    let names = tables.names().unwrap_or_default();
    names.iter().filter_map(|name| name.to_str()).map(|name| tables.size(name)).sum()
}

impl Listed {
    /// Why it cannot be viewed, or not yet.
    pub fn problem(&self) -> Option<(Fault, String)> {
        match &self.manifest {
            Err(error) => Some((Fault::of(error), error.to_string())),
            Ok(manifest) if manifest.state != State::Finalized => {
                let command = format!("dwell finalize {}", self.path.display());
                Some((Fault::NotFinalized, format!("is not finalized yet: {command}")))
            }
            Ok(_) => None,
        }
    }
}
