//! The manifest of a service and day: which files of sums count, and which files of rows each is made of.
//!
//! Replacing it is the one step that makes new files of sums count. A file is never written again under a name that a manifest has.

use std::collections::BTreeSet;
use std::io;

use dwell_files::Folder;
use serde::{Deserialize, Serialize};

use super::{SumLevel, TABLE};

/// Its name.
const MANIFEST: &str = "manifest.json";
/// More bytes than any manifest has: 20 million names.
const MOST_BYTES: u64 = 1 << 30;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelManifest {
    /// Hours and days with sums.
    pub spans: Vec<SummedSpan>,
}

/// An hour or a day whose sums are one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummedSpan {
    /// Hour or day.
    pub level: SumLevel,
    /// Its begin, Unix time in ns.
    pub begin_ns: i64,
    /// How many times its sums were made.
    pub generation: u64,
    /// Names of the files of rows that are summed.
    pub of: BTreeSet<String>,
}

impl LevelManifest {
    /// The one in this folder; an empty one where there is none yet.
    pub fn read(folder: &Folder) -> io::Result<Self> {
        match folder.read_all(MANIFEST, MOST_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|why| {
                let path = folder.path().join(MANIFEST);
                io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged: {why}", path.display()))
            }),
        }
    }

    /// Puts it in the place of the folder's old one, and then deletes the files of sums that it does not have.
    pub fn commit(&self, folder: &Folder) -> io::Result<()> {
        folder.replace(MANIFEST, &serde_json::to_vec(self)?)?;
        let files: BTreeSet<String> = self.spans.iter().map(SummedSpan::file).collect();
        for name in super::names(folder, "", "")? {
            if name != MANIFEST && !files.contains(&name) {
                folder.remove(&name)?;
            }
        }
        Ok(())
    }

    /// The hour or day that begins then.
    pub fn span(&self, level: SumLevel, begin_ns: i64) -> Option<&SummedSpan> {
        self.spans.iter().find(|span| span.level == level && span.begin_ns == begin_ns)
    }

    /// Those of a level.
    pub fn of_level(&self, level: SumLevel) -> impl Iterator<Item = &SummedSpan> {
        self.spans.iter().filter(move |span| span.level == level)
    }

    /// Adds it, or puts it in the place of its older generation.
    pub fn put(&mut self, span: SummedSpan) {
        self.spans.retain(|old| (old.level, old.begin_ns) != (span.level, span.begin_ns));
        self.spans.push(span);
    }
}

impl SummedSpan {
    /// The name of its file.
    pub fn file(&self) -> String {
        format!("{}-{}-{}{TABLE}", self.level.id(), self.begin_ns, self.generation)
    }

    /// When it ends, Unix time in ns.
    pub const fn end_ns(&self) -> i64 {
        self.begin_ns + self.level.length_ns()
    }
}
