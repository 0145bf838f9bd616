//! Copies the text of source files into the result.
//!
//! Finalization often runs as root, and the paths come from debug information: whoever built a file can write
//! `/etc/shadow` there. So a file is copied only if two users may read it themselves: the one on whose behalf Dwell runs,
//! who will read the copy, and the owner of the file whose debug information has the path. A file that not everybody may
//! read must also have a source file's name. Access lists beyond mode bits are ignored.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use dwell_files::open_regular;
use dwell_model::ModuleId;
use dwell_store::tables::{SourceRow, Sources};
use dwell_store::{CodeTables, Table};

use crate::code::access::{ReaderAccess, User, real_path};

/// Largest file that is copied: the SQLite amalgamation has 9 MB.
const MOST_BYTES_OF_FILE: u64 = 16 << 20;
/// Most text that is copied.
const MOST_BYTES: u64 = 64 << 20;
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

/// Reads source files.
pub struct SourceReader<'a> {
    search_dirs: &'a [PathBuf],
    reader: User,
    bytes_left: u64,
    access: ReaderAccess,
}

impl<'a> SourceReader<'a> {
    /// A reader for a result that will be `reader`'s.
    pub fn new(search_dirs: &'a [PathBuf], reader: User) -> Self {
        Self { search_dirs, reader, bytes_left: MOST_BYTES, access: ReaderAccess::default() }
    }

    /// Fills in the text of the files in `tables.sources`. `origins` has one for each module.
    pub fn fill_all(&mut self, tables: &mut CodeTables, origins: &[Origin]) {
        let CodeTables { code, inlines, lines, sources } = tables;
        let mut modules: Vec<BTreeSet<ModuleId>> = vec![BTreeSet::new(); sources.len()];
        let named = lines.file.iter().zip(&lines.code).chain(inlines.call_file.iter().zip(&inlines.code));
        for (source, code_id) in named {
            if let (Some(source), Some(row)) = (source.get(), code_id.get()) {
                modules[source].insert(code.module[row]);
            }
        }
        for (row, modules) in modules.iter().enumerate() {
            let origins = modules.iter().filter_map(|module| origins.get(module.get()?).cloned());
            self.fill(sources, row, &origins.collect::<Vec<_>>());
        }
    }

    /// Adds the files at `paths` that are not among `sources` yet; `origin` names them.
    pub fn add<'p>(&mut self, sources: &mut Sources, paths: impl Iterator<Item = &'p str>, origin: &Origin) {
        let known: BTreeSet<String> = sources.path.iter().cloned().collect();
        let added: BTreeSet<&str> = paths.filter(|path| !known.contains(*path)).collect();
        for path in added {
            let row = SourceRow { path: path.to_owned(), text: String::new(), state: state::NOT_FOUND, newer: false };
            let row = sources.push(row);
            self.fill(sources, row, std::slice::from_ref(origin));
        }
    }

    /// Fills row `row` of `sources`, whose file each of `origins` names. Who may read it: the reader, and all of those.
    fn fill(&mut self, sources: &mut Sources, row: usize, origins: &[Origin]) {
        let path = PathBuf::from(&sources.path[row]);
        let mut problem = state::NOT_FOUND;
        for candidate in self.candidates(&path, origins) {
            match self.read(&candidate, origins) {
                Ok((text, written)) => {
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
        let file = open_regular(path).map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => state::NO_TEXT,
            ErrorKind::PermissionDenied => state::NOT_PERMITTED,
            _ => state::NOT_FOUND,
        })?;
        let metadata = file.metadata().map_err(|_| state::NOT_FOUND)?;
        if metadata.len() == 0 {
            return Err(state::NO_TEXT);
        }
        if !self.may_read(&file, &metadata, origins) {
            return Err(state::NOT_PERMITTED);
        }
        if metadata.len() > MOST_BYTES_OF_FILE.min(self.bytes_left) {
            return Err(state::TOO_LARGE);
        }
        let mut bytes = Vec::new();
        file.take(metadata.len() + 1).read_to_end(&mut bytes).map_err(|_| state::NO_TEXT)?;
        // Files that the kernel makes up, as in /proc, have another length than they say.
        if bytes.len() as u64 != metadata.len() || bytes.contains(&0) {
            return Err(state::NO_TEXT);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // Bytes that are no UTF-8 are longer as text.
        self.bytes_left = self.bytes_left.checked_sub(text.len() as u64).ok_or(state::TOO_LARGE)?;
        Ok((text, metadata.modified().ok()))
    }

    fn may_read(&mut self, file: &File, metadata: &Metadata, origins: &[Origin]) -> bool {
        let Some(real) = real_path(file) else { return false };
        let reader = self.reader;
        let mut may = |user: User| self.access.may_read(user, &real, metadata);
        if may(User::ANYBODY) {
            return true;
        }
        let extension = real.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let is_source = extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()));
        is_source && may(reader) && !origins.is_empty() && origins.iter().all(|origin| may(origin.namer))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const STRANGER: User = User { uid: 54_321, gid: 54_321 };

    fn write(path: &Path, mode: u32) {
        fs::write(path, "int main;\n").expect("file");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("mode");
    }

    /// State of the file at `path` for a result of `reader`'s, named by `namer`.
    fn state_of(path: &Path, reader: User, namer: User) -> u8 {
        let mut sources = Sources::default();
        let origin = Origin { namer, ..Origin::unknown() };
        let path = path.display().to_string();
        SourceReader::new(&[], reader).add(&mut sources, [path.as_str()].into_iter(), &origin);
        assert_eq!(sources.text[0].is_empty(), sources.state[0] != state::READ);
        sources.state[0]
    }

    #[test]
    fn what_not_everybody_may_read_is_for_those_who_may() {
        let folder = tempfile::tempdir().expect("folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("mode");
        let (public, private) = (folder.path().join("public.c"), folder.path().join("private.c"));
        let (no_source, link) = (folder.path().join("shadow"), folder.path().join("link.c"));
        write(&public, 0o644);
        write(&private, 0o600);
        write(&no_source, 0o600);
        symlink(&no_source, &link).expect("link");
        let own = User::current();
        assert_eq!(state_of(&public, STRANGER, STRANGER), state::READ);
        assert_eq!(state_of(&private, own, own), state::READ);
        assert_eq!(state_of(&private, STRANGER, own), state::NOT_PERMITTED);
        assert_eq!(state_of(&private, own, STRANGER), state::NOT_PERMITTED);
        assert_eq!(state_of(&no_source, own, own), state::NOT_PERMITTED);
        assert_eq!(state_of(&link, own, own), state::NOT_PERMITTED, "the name that counts is the file's own");
    }

    #[test]
    fn a_public_file_in_a_private_folder_is_private() {
        let folder = tempfile::tempdir().expect("folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("mode");
        let path = folder.path().join("public.c");
        write(&path, 0o644);
        let own = User::current();
        assert_eq!(state_of(&path, own, own), state::READ);
        assert_eq!(state_of(&path, STRANGER, own), state::NOT_PERMITTED);
        assert_eq!(state_of(&path, own, User::ANYBODY), state::NOT_PERMITTED);
    }

    #[test]
    fn what_is_no_source_is_not_copied() {
        let folder = tempfile::tempdir().expect("folder");
        let binary = folder.path().join("binary.c");
        fs::write(&binary, b"a\0b").expect("file");
        let own = User::current();
        for path in [binary.as_path(), folder.path(), Path::new("/dev/zero"), Path::new("/proc/self/maps")] {
            assert_eq!(state_of(path, own, own), state::NO_TEXT, "{}", path.display());
        }
        assert_eq!(state_of(Path::new("/nonexistent/a.c"), own, own), state::NOT_FOUND);
    }

    #[test]
    fn text_that_grows_beyond_the_room_is_left_out() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("a.c");
        fs::write(&path, [0xff; 100]).expect("file");
        let path = path.display().to_string();
        let mut reader = SourceReader::new(&[], User::current());
        let origin = Origin { namer: User::current(), ..Origin::unknown() };
        for (bytes_left, left, expected) in
            [(299, 299, state::TOO_LARGE), (300, 0, state::READ), (0, 0, state::TOO_LARGE)]
        {
            reader.bytes_left = bytes_left;
            let mut sources = Sources::default();
            reader.add(&mut sources, [path.as_str()].into_iter(), &origin);
            assert_eq!((sources.state[0], reader.bytes_left), (expected, left), "{bytes_left} bytes");
        }
    }

    #[test]
    fn files_that_have_moved_are_found_by_the_end_of_their_path() {
        let folder = tempfile::tempdir().expect("folder");
        fs::create_dir(folder.path().join("src")).expect("folder");
        write(&folder.path().join("src/a.c"), 0o644);
        let dirs = [folder.path().to_owned()];
        let mut sources = Sources::default();
        let origin = Origin { namer: User::current(), ..Origin::unknown() };
        SourceReader::new(&dirs, User::current()).add(&mut sources, ["/build/x/src/a.c"].into_iter(), &origin);
        assert_eq!((sources.state[0], sources.text[0].as_str()), (state::READ, "int main;\n"));
    }
}
