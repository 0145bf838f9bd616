//! Copies the text of source files into the result.
//!
//! Finalization often runs as root, and the paths come from debug information, which whoever built a file can make say
//! `/etc/shadow`. So a file is copied only if those could read it themselves who get to read the copy, and who named it:
//! the user on whose behalf Dwell runs, and the owner of the file whose debug information has the path. What not
//! everybody may read must also be called as sources are. Access lists beyond mode bits are not looked at.

use std::collections::HashMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use dwell_model::ModuleId;
use dwell_store::tables::Sources;
use dwell_store::{CodeTables, Table};

/// Largest file that is copied: the SQLite amalgamation has 9 MB.
const MOST_BYTES_OF_FILE: u64 = 16 << 20;
/// Most text that is copied.
const MOST_BYTES: u64 = 64 << 20;
/// `O_NONBLOCK` on Linux: opening a pipe does not wait for its writer.
const O_NONBLOCK: i32 = 0o4000;
/// How files are called whose text may be copied although not everybody may read it.
const EXTENSIONS: &[&str] = &[
    "adb", "ads", "asm", "c", "c++", "cc", "cl", "cpp", "cppm", "cs", "cu", "cuh", "cxx", "d", "def", "f", "f90", "fs",
    "go", "h", "h++", "hh", "hpp", "hs", "hxx", "inc", "inl", "ipp", "ixx", "java", "js", "jl", "kt", "l", "lua", "m",
    "mjs", "ml", "mm", "nim", "pas", "php", "pl", "pm", "py", "pyx", "rb", "rs", "s", "scala", "swift", "tcc", "tpp",
    "ts", "v", "y", "zig",
];

/// Codes of the column `state`.
mod state {
    pub const READ: u8 = 0;
    pub const NOT_FOUND: u8 = 1;
    pub const NOT_PERMITTED: u8 = 2;
    pub const NO_TEXT: u8 = 3;
    pub const TOO_LARGE: u8 = 4;
}

/// A user as mode bits know one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// User id.
    pub uid: u32,
    /// Id of the one group that counts.
    pub gid: u32,
}

impl User {
    /// Nobody in particular: may read what everybody may.
    pub const ANYBODY: Self = Self { uid: u32::MAX, gid: u32::MAX };

    /// Who this process runs as.
    pub fn current() -> Self {
        fs::metadata("/proc/self").map_or(Self::ANYBODY, |own| Self { uid: own.uid(), gid: own.gid() })
    }

    /// Whether the mode gives the user the permission `bit` of `rwx`, 4, 2 or 1.
    fn may(self, bit: u32, metadata: &Metadata) -> bool {
        let shift = match self {
            Self { uid: 0, .. } => return true,
            Self { uid, .. } if uid == metadata.uid() => 6,
            Self { gid, .. } if gid == metadata.gid() => 3,
            _ => 0,
        };
        metadata.mode() >> shift & bit != 0
    }
}

/// Who named a source file, and what it was built into.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The owner of the file that names it.
    pub namer: User,
    /// When that file was written.
    pub built: Option<SystemTime>,
    /// Its folder.
    pub folder: Option<PathBuf>,
}

impl Origin {
    /// Nobody knows who names the sources.
    pub fn unknown() -> Self {
        Self { namer: User::ANYBODY, built: None, folder: None }
    }

    /// The file at `path` names the sources.
    pub fn of_file(path: &Path) -> Self {
        let metadata = path.metadata().ok();
        Self {
            namer: metadata.as_ref().map_or(User::ANYBODY, |file| User { uid: file.uid(), gid: file.gid() }),
            built: metadata.and_then(|file| file.modified().ok()),
            folder: path.parent().map(Path::to_owned),
        }
    }
}

/// Fills in the text of the files in `tables.sources`. `origins` has one for each module.
pub fn fill(tables: &mut CodeTables, origins: &[Origin], search_dirs: &[PathBuf], reader: User) {
    let CodeTables { code, inlines, lines, sources } = tables;
    let mut modules: Vec<Vec<ModuleId>> = vec![Vec::new(); sources.len()];
    let named = lines.file.iter().zip(&lines.code).chain(inlines.call_file.iter().zip(&inlines.code));
    for (source, code_id) in named {
        let (Some(source), Some(row)) = (source.get(), code_id.get()) else { continue };
        if modules[source].last() != Some(&code.module[row]) {
            modules[source].push(code.module[row]);
        }
    }
    let mut files = Reader::new(search_dirs, reader);
    for (row, modules) in modules.iter_mut().enumerate() {
        modules.sort_unstable();
        modules.dedup();
        let origins = modules.iter().filter_map(|module| origins.get(module.get()?).cloned());
        files.fill(sources, row, &origins.collect::<Vec<_>>());
    }
}

/// Reads source files.
struct Reader<'a> {
    search_dirs: &'a [PathBuf],
    reader: User,
    room: u64,
    /// The folders above a folder, and itself.
    folders: HashMap<PathBuf, Vec<Metadata>>,
}

impl<'a> Reader<'a> {
    /// A reader for a result that will be `reader`'s.
    fn new(search_dirs: &'a [PathBuf], reader: User) -> Self {
        Self { search_dirs, reader, room: MOST_BYTES, folders: HashMap::new() }
    }

    /// Fills row `row` of `sources`, whose file each of `origins` names. Who may read it: the reader, and all of those.
    fn fill(&mut self, sources: &mut Sources, row: usize, origins: &[Origin]) {
        let path = PathBuf::from(&sources.path[row]);
        let mut problem = state::NOT_FOUND;
        for candidate in self.candidates(&path, origins) {
            match self.read(&candidate, origins) {
                Ok((text, written)) => {
                    self.room -= text.len() as u64;
                    let newer = |origin: &Origin| matches!((origin.built, written), (Some(built), Some(written)) if written > built);
                    sources.newer[row] = origins.iter().any(newer);
                    sources.text[row] = text;
                    problem = state::READ;
                    break;
                }
                Err(reason) if problem == state::NOT_FOUND => problem = reason,
                Err(_) => {}
            }
        }
        sources.state[row] = problem;
    }

    /// Where the file may lie: where the path says, and under the search folders with less and less of the path.
    fn candidates(&self, path: &Path, origins: &[Origin]) -> Vec<PathBuf> {
        let parts: Vec<Component<'_>> = path.components().filter(|part| matches!(part, Component::Normal(_))).collect();
        let folders = origins.iter().filter_map(|origin| origin.folder.as_ref()).filter(|_| path.is_relative());
        let mut candidates: Vec<PathBuf> = if path.is_absolute() { vec![path.to_owned()] } else { Vec::new() };
        candidates.extend(folders.map(|folder| folder.join(path)));
        for folder in self.search_dirs {
            candidates.extend((0..parts.len()).map(|from| folder.join(parts[from..].iter().collect::<PathBuf>())));
        }
        candidates
    }

    /// The text of the file at `path` and when it was written, or the state that says why not.
    fn read(&mut self, path: &Path, origins: &[Origin]) -> Result<(String, Option<SystemTime>), u8> {
        let is_file = fs::metadata(path).map_err(|_| state::NOT_FOUND)?.is_file();
        if !is_file {
            return Err(state::NO_TEXT);
        }
        let opened = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path);
        let file = opened.map_err(|_| state::NOT_PERMITTED)?;
        let metadata = file.metadata().map_err(|_| state::NOT_FOUND)?;
        // Looked at again, and by the file that was opened: the path may lead elsewhere by now.
        if !metadata.is_file() || metadata.len() == 0 {
            return Err(state::NO_TEXT);
        }
        if !self.may_read(&file, &metadata, origins) {
            return Err(state::NOT_PERMITTED);
        }
        if metadata.len() > MOST_BYTES_OF_FILE.min(self.room) {
            return Err(state::TOO_LARGE);
        }
        let mut bytes = Vec::new();
        file.take(metadata.len() + 1).read_to_end(&mut bytes).map_err(|_| state::NO_TEXT)?;
        // Files that the kernel makes up, as in /proc, have another length than they say.
        if bytes.len() as u64 != metadata.len() || bytes.contains(&0) {
            return Err(state::NO_TEXT);
        }
        Ok((String::from_utf8_lossy(&bytes).into_owned(), metadata.modified().ok()))
    }

    fn may_read(&mut self, file: &File, metadata: &Metadata, origins: &[Origin]) -> bool {
        let Ok(real) = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) else { return false };
        let (reader, folders) = (self.reader, self.folders_above(&real));
        let may = |user: User| user.may(4, metadata) && folders.iter().all(|folder| user.may(1, folder));
        if !folders.is_empty() && may(User::ANYBODY) {
            return true;
        }
        let extension = real.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let is_source = extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()));
        let named = !origins.is_empty() && origins.iter().all(|origin| may(origin.namer));
        is_source && !folders.is_empty() && may(reader) && named
    }

    /// The folders that a look-up of `real`, a path without links, goes through; none when one cannot be looked at.
    fn folders_above(&mut self, real: &Path) -> &[Metadata] {
        let folder = real.parent().unwrap_or(Path::new("/")).to_owned();
        self.folders.entry(folder).or_insert_with_key(|folder| {
            let metadata = folder.ancestors().map(fs::metadata).collect::<Result<Vec<_>, _>>();
            metadata.unwrap_or_default()
        })
    }
}
