//! A result's folder on the disk: its manifest and log, and the folders of its parts.

use std::io;
use std::path::{Path, PathBuf};

use dwell_files::Folder;

use crate::error::{Error, Result};
use crate::manifest::{Manifest, TRACE_FORMAT};

/// Numbers of results in one folder.
const NUMBERS: u32 = 1_000_000;
/// Rights of a result: it holds what root could read of the profiled program's files.
pub(crate) const PRIVATE: u32 = 0o700;
pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const LOG: &str = "log.txt";
const SPOOL: &str = "spool";
const MODULES: &str = "modules";
pub(crate) const TABLES: &str = "tables";
/// A manifest holds command lines and remarks.
pub(crate) const MOST_MANIFEST_BYTES: u64 = 16 << 20;
/// The end of a log that is read.
pub(crate) const MOST_LOG_BYTES: u64 = 1 << 20;
/// The begin of a line of it that is read.
const MOST_LINE_BYTES: usize = 4 << 10;

/// Where a result lies on disk, held open: whatever its path leads to later, this is the result.
#[derive(Clone, Debug)]
pub struct ResultFolder {
    held: Folder,
}

impl ResultFolder {
    /// Makes the folder `path`, which must not be there yet.
    pub fn create(path: &Path) -> Result<Self> {
        Self::fill(Folder::create(path, PRIVATE), path)
    }

    /// Makes the folder `name` in a folder that is held.
    pub fn create_in(parent: &Folder, name: &str) -> Result<Self> {
        Self::fill(parent.make_folder(name, PRIVATE), &parent.path().join(name))
    }

    fn fill(made: io::Result<Folder>, path: &Path) -> Result<Self> {
        let held = made.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists { path: path.to_owned() },
            _ => Error::io(path, error),
        })?;
        for name in [SPOOL, MODULES] {
            held.make_folder(name, PRIVATE).map_err(|error| Error::io(&path.join(name), error))?;
        }
        Ok(Self { held })
    }

    /// Makes the next `rNNN` + `suffix` in `parent`, above every number that is there, so that it is the newest one:
    /// r000th, r001th, …
    pub fn create_next(parent: &Path, suffix: &str) -> Result<Self> {
        let here = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let first = numbered(here).map(|(number, _)| number + 1).max().unwrap_or(0);
        for number in first..NUMBERS {
            match Self::create(&parent.join(format!("r{number:03}{suffix}"))) {
                Err(Error::Exists { .. }) => {}
                other => return other,
            }
        }
        Err(Error::Exists { path: parent.join(format!("r999999{suffix}")) })
    }

    /// The name that the next result in `parent` may have: `r000th`, `r001th`, …, where the suffix is `th`. Nobody holds it.
    pub fn next_name(parent: &Path, suffix: &str) -> String {
        let first = numbered(parent).map(|(number, _)| number + 1).max().unwrap_or(0);
        let names = (first..NUMBERS).map(|number| format!("r{number:03}{suffix}"));
        let is_free = |name: &String| !parent.join(name).exists();
        names.into_iter().find(is_free).unwrap_or_else(|| format!("r{NUMBERS}{suffix}"))
    }

    /// Opens the folder of an existing result. Fails when the folder is no result.
    pub fn open(path: &Path) -> Result<Self> {
        let held = Folder::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => not_a_result(path, "no such folder".into()),
            _ => Error::io(path, error),
        })?;
        Self::checked(held)
    }

    /// Opens the result `name` in a folder that is held. Links do not count.
    pub fn open_in(parent: &Folder, name: &str) -> Result<Self> {
        let path = parent.path().join(name);
        Self::checked(parent.folder(name).map_err(|error| Error::io(&path, error))?)
    }

    fn checked(held: Folder) -> Result<Self> {
        let folder = Self { held };
        folder.manifest()?;
        Ok(folder)
    }

    /// Makes the folder `path` for a result that is complete already: without the empty folders of one that begins.
    pub(crate) fn create_bare(path: &Path) -> Result<Self> {
        let held = Folder::create(path, PRIVATE).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists { path: path.to_owned() },
            _ => Error::io(path, error),
        })?;
        Ok(Self { held })
    }

    /// Whether the folder `path` holds nothing but the empty folders that a result begins with, or some of them.
    pub fn is_empty(path: &Path) -> bool {
        let is_empty = |folder: Folder| folder.names().is_ok_and(|names| names.is_empty());
        let Ok(held) = Folder::open(path) else { return false };
        let Ok(names) = held.names() else { return false };
        names.iter().all(|name| {
            let begun = [SPOOL, MODULES].into_iter().find(|begun| name.to_str() == Some(begun));
            begun.is_some_and(|name| held.folder(name).is_ok_and(is_empty))
        })
    }

    /// The newest result in `parent`: the highest number of `rNNNxx`.
    pub fn latest(parent: &Path) -> Option<PathBuf> {
        numbered(parent).max().map(|(_, path)| path)
    }

    /// The folder's path, for messages.
    pub fn path(&self) -> &Path {
        self.held.path()
    }

    /// The folder itself.
    pub fn held(&self) -> &Folder {
        &self.held
    }

    /// Where the raw spool lies until finalization. Fails when it is not there.
    pub fn spool(&self) -> Result<Folder> {
        self.part(SPOOL)
    }

    /// Whether there is a spool.
    pub fn has_spool(&self) -> bool {
        self.held.has_folder(SPOOL)
    }

    /// Deletes the spool.
    pub fn remove_spool(&self) -> Result<()> {
        self.held.remove(SPOOL).map_err(|error| Error::io(&self.path().join(SPOOL), error))
    }

    /// Where copies lie of what finalization could not read otherwise: the vDSO, and what [`crate::Kept`] names. Fails when
    /// it is not there.
    pub fn modules(&self) -> Result<Folder> {
        self.part(MODULES)
    }

    /// Where the tables lie. Fails when they are not there.
    pub fn tables(&self) -> Result<Folder> {
        self.part(TABLES)
    }

    fn part(&self, name: &str) -> Result<Folder> {
        self.held.folder(name).map_err(|error| Error::io(&self.path().join(name), error))
    }

    /// The log of collection and finalization; of a long one its last MiB, of a long line its first 4 KiB, with words that
    /// say so. Empty without a log.
    pub fn log(&self) -> Result<String> {
        match self.held.read_end(LOG, MOST_LOG_BYTES) {
            Ok((bytes, 0)) => Ok(with_short_lines(&bytes)),
            Ok((bytes, before)) => {
                Ok(format!("[{before} bytes before this are left out]\n{}", with_short_lines(&bytes)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(Error::io(&self.path().join(LOG), error)),
        }
    }

    /// Adds a line to the log, in a new file: what is in its place may be anything by now.
    pub fn add_to_log(&self, line: &str) -> Result<()> {
        let before = self.log().unwrap_or_default(); // of a link it takes the place
        let written = self.held.replace(LOG, format!("{before}{}\n", line.trim_end()).as_bytes());
        written.map_err(|error| Error::io(&self.path().join(LOG), error))
    }

    /// Reads the manifest. Fails when it is missing, or of another trace format.
    pub fn manifest(&self) -> Result<Manifest> {
        let not_a_result = |reason: String| not_a_result(self.path(), reason);
        let path = self.path().join(MANIFEST);
        let text = self.manifest_bytes().map_err(|error| match Error::io(&path, error) {
            Error::Io { source, .. } => not_a_result(format!("manifest.json: {source}")),
            strange => strange,
        })?;
        parse_manifest(self.path(), &text)
    }

    /// The manifest as it is written.
    pub(crate) fn manifest_bytes(&self) -> io::Result<Vec<u8>> {
        self.held.read_all(MANIFEST, MOST_MANIFEST_BYTES)
    }

    /// Writes the manifest: whole or not at all.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<()> {
        let path = self.path().join(MANIFEST);
        let text = manifest_text(manifest, &path)?;
        self.held.replace(MANIFEST, &text).map_err(|error| Error::io(&path, error))
    }

    /// Whether the folder `name` in `parent` is meant to be a result, be it one that cannot be read: it has a manifest.
    pub fn is_meant(parent: &Folder, name: &str) -> bool {
        parent.folder(name).is_ok_and(|folder| folder.has(MANIFEST))
    }
}

/// The manifest with this text, of the result at `path`. Fails when it is none, or of another trace format.
pub(crate) fn parse_manifest(path: &Path, text: &[u8]) -> Result<Manifest> {
    let unreadable = |error: serde_json::Error| not_a_result(path, format!("manifest.json: {error}"));
    let value: serde_json::Value = serde_json::from_slice(text).map_err(unreadable)?;
    let found = value.get("trace_format").and_then(serde_json::Value::as_u64);
    if let Some(found) = found.filter(|found| *found != u64::from(TRACE_FORMAT)) {
        return Err(Error::OtherFormat { path: path.to_owned(), found, supported: TRACE_FORMAT });
    }
    serde_json::from_value(value).map_err(unreadable)
}

/// The text of a manifest.
pub(crate) fn manifest_text(manifest: &Manifest, path: &Path) -> Result<Vec<u8>> {
    let text = serde_json::to_string_pretty(manifest).map_err(|error| Error::table(path, error))?;
    Ok((text + "\n").into_bytes())
}

/// A text whose lines are cut off where they are too long.
fn with_short_lines(text: &[u8]) -> String {
    let mut short = String::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.get(MOST_LINE_BYTES..).map(<[u8]>::len) {
            Some(more) if more > 0 => {
                short += &String::from_utf8_lossy(&line[..MOST_LINE_BYTES]);
                short += &format!(" [{more} bytes of this line are left out]\n");
            }
            _ => short += &String::from_utf8_lossy(line),
        }
    }
    short
}

fn not_a_result(path: &Path, reason: String) -> Error {
    Error::NotAResult { path: path.to_owned(), reason }
}

/// The results `rNNNxx` in `parent` with their numbers.
fn numbered(parent: &Path) -> impl Iterator<Item = (u32, PathBuf)> {
    let held = Folder::open(parent).ok();
    let names = held.as_ref().and_then(|held| held.names().ok()).unwrap_or_default();
    let number = move |name: &str| {
        let digits = name.strip_prefix('r')?.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let number = digits.parse::<u32>().ok().filter(|number| *number < NUMBERS)?;
        let is_result = held.as_ref()?.folder(name).ok()?.has_file(MANIFEST);
        is_result.then_some(number)
    };
    let parent = parent.to_owned();
    names.into_iter().filter_map(move |name| Some((number(name.to_str()?)?, parent.join(name))))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_a_collection_leaves_that_is_killed_as_it_starts_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r");
        assert!(!ResultFolder::is_empty(&path), "it is not there");
        fs::create_dir(&path).unwrap();
        assert!(ResultFolder::is_empty(&path));
        fs::create_dir(path.join(SPOOL)).unwrap();
        assert!(ResultFolder::is_empty(&path));
        fs::write(path.join(SPOOL).join("0"), "x").unwrap();
        assert!(!ResultFolder::is_empty(&path));
    }

    #[test]
    fn of_a_long_log_the_end_is_read_and_of_a_long_line_the_begin() {
        let folder = tempfile::tempdir().unwrap();
        let result = ResultFolder::create(&folder.path().join("r")).unwrap();
        let log = |bytes: &[u8]| {
            fs::write(result.path().join(LOG), bytes).unwrap();
            result.log().unwrap()
        };
        assert_eq!(log(b"one\ntwo"), "one\ntwo");
        assert_eq!(log(&[b"one\n", [b'x'; MOST_LINE_BYTES].as_slice()].concat()).len(), 4 + MOST_LINE_BYTES);
        let lines = [b"one\n", vec![b'x'; 5000].as_slice(), b"\nthree\n"].concat();
        let expected = format!("one\n{} [905 bytes of this line are left out]\nthree\n", "x".repeat(4096));
        assert_eq!(log(&lines), expected);
        let long = log(&vec![b'x'; 3 << 20]);
        assert!(long.starts_with("[2097152 bytes before this are left out]\nxxx") && long.len() < 5000, "{long}");
    }

    #[test]
    fn the_next_result_is_the_newest_after_a_gap_too() {
        let folder = tempfile::tempdir().unwrap();
        let made = || {
            let result = ResultFolder::create_next(folder.path(), "th").unwrap();
            fs::write(result.path().join("manifest.json"), "{}").unwrap();
            result.path().to_owned()
        };
        let all: Vec<PathBuf> = (0..3).map(|_| made()).collect();
        assert!(all[2].ends_with("r002th"));
        fs::remove_dir_all(&all[0]).unwrap();
        fs::create_dir(folder.path().join("r003th")).unwrap();
        let next = made();
        assert!(next.ends_with("r004th"), "{}", next.display());
        assert_eq!(ResultFolder::latest(folder.path()), Some(next));
    }
}
