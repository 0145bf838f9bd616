//! Which files may be read for a result: those that the user may read whose result it will be.
//!
//! Paths come from the profiled program, which can have bound its own file over any path. Where this process runs as the result's
//! owner, the kernel decides when a file is opened. Root, on behalf of a user, asks here before it opens a file: modules, debug
//! files and sources. Access lists beyond mode bits are ignored.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dwell_files::open_regular;

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

/// See the module.
#[derive(Debug, Default)]
pub struct ReaderAccess {
    reader: Option<User>,
    /// The folders above a folder, and itself.
    folders: HashMap<PathBuf, Vec<Metadata>>,
}

impl ReaderAccess {
    /// For a result of `reader`'s; `None` where this process runs as the result's owner.
    pub fn of(reader: Option<User>) -> Self {
        Self { reader, folders: HashMap::new() }
    }

    /// Whether the file at `path` may be read for the result.
    pub fn admits(&mut self, path: &Path) -> bool {
        let Some(reader) = self.reader else { return true };
        let Ok(file) = open_regular(path) else { return true }; // whoever opens it says why it cannot
        real_path(&file)
            .zip(file.metadata().ok())
            .is_some_and(|(real, metadata)| self.may_read(reader, &real, &metadata))
    }

    /// Whether `user` may read the file at `real`, a path without links, and go through all folders above it.
    pub fn may_read(&mut self, user: User, real: &Path, metadata: &Metadata) -> bool {
        let folder = real.parent().unwrap_or(Path::new("/")).to_owned();
        let folders = self.folders.entry(folder).or_insert_with_key(|folder| {
            let metadata = folder.ancestors().map(fs::metadata).collect::<Result<Vec<_>, _>>();
            metadata.unwrap_or_default() // one that cannot be looked at lets nobody through
        });
        !folders.is_empty() && user.may(4, metadata) && folders.iter().all(|folder| user.may(1, folder))
    }
}

/// Where an open file lies, without links.
pub fn real_path(file: &File) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn root_reads_for_a_user_what_that_user_may_read() {
        const STRANGER: User = User { uid: 54_321, gid: 54_321 };
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("module.so");
        fs::write(&path, "x").expect("file");
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("mode");
        for (of_folder, of_file, admits) in [(0o755, 0o644, true), (0o755, 0o711, false), (0o700, 0o644, false)] {
            mode(folder.path(), of_folder);
            mode(&path, of_file);
            assert_eq!(ReaderAccess::of(Some(STRANGER)).admits(&path), admits, "{of_folder:o} {of_file:o}");
            assert!(ReaderAccess::of(None).admits(&path));
            assert!(ReaderAccess::of(Some(User::current())).admits(&path));
        }
    }
}
