//! What a process sees as its files: its root, which a mount namespace or a chroot may make another than ours.
//!
//! A view is kept open beyond its process: a map of run-time code is complete only when the process has ended. The
//! temporary folder is kept beside the root, since mounts below the root fall away with the last process that sees them.
//! Everything there is the profiled program's: Dwell checks type and owner before it opens a file.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;
use std::sync::Arc;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dwell_files::{open_regular_in, read_regular};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

/// Where the maps of run-time code are, as `perf` has it.
const TEMPORARY: &str = "tmp";

/// A process's files, by descriptors that name but do not open.
pub struct ProcessFiles {
    key: [u64; 5],
    root: OwnedFd,
    /// Shared with the copies that are to be made from there.
    temporary: Option<Arc<OwnedFd>>,
}

impl ProcessFiles {
    /// The view of process `pid`. One that is equal to it among `known` is shared.
    ///
    /// # Errors
    ///
    /// Those of openat2: the process is gone, or this one may not look into it.
    pub fn of(pid: u32, known: &[Rc<Self>]) -> io::Result<Rc<Self>> {
        let root = open_folder(CWD, Path::new(&format!("/proc/{pid}/root")), ResolveFlags::empty())?;
        let temporary = open_folder(root.as_fd(), Path::new(TEMPORARY), ResolveFlags::IN_ROOT).ok().map(Arc::new);
        let (device, inode) = identity(&root).ok_or(io::ErrorKind::NotFound)?;
        let (tmp_device, tmp_inode) = temporary.as_deref().and_then(identity).unwrap_or_default();
        let namespace = std::fs::metadata(format!("/proc/{pid}/ns/mnt"))?.ino();
        let key = [namespace, device, inode, tmp_device, tmp_inode];
        let shared = known.iter().find(|view| view.key == key).cloned();
        Ok(shared.unwrap_or_else(|| Rc::new(Self { key, root, temporary })))
    }

    /// The folder of temporary files.
    pub fn temporary(&self) -> Option<Arc<OwnedFd>> {
        self.temporary.clone()
    }

    /// Opens `path` as the process would; links lead nowhere out of its root.
    pub fn open(&self, path: &[u8]) -> io::Result<File> {
        open_regular_in(&self.root, Path::new(OsStr::from_bytes(path)))
    }
}

/// Opens the file `name` in `folder`: no link, nothing mounted there, a regular file, and owned by one of `owners`. (`perf`
/// takes root's files, too; the result is not root's, but whoever called Dwell may read it.)
pub fn open_owned(folder: BorrowedFd<'_>, name: &str, owners: &[u32]) -> io::Result<File> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = read_regular(openat2(folder, name, flags, Mode::empty(), resolve)?)?;
    if is_owned(&file, owners)? { Ok(file) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Whether the file is one of `owners`'.
pub fn is_owned(file: &File, owners: &[u32]) -> io::Result<bool> {
    Ok(owners.contains(&file.metadata()?.uid()))
}

fn identity(fd: &OwnedFd) -> Option<(u64, u64)> {
    let metadata = std::fs::metadata(format!("/proc/self/fd/{}", fd.as_raw_fd())).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

fn open_folder(folder: BorrowedFd<'_>, path: &Path, resolve: ResolveFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat2(folder, path, flags, Mode::empty(), resolve)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn opened(folder: &std::path::Path, name: &str, owners: &[u32]) -> io::Result<File> {
        open_owned(File::open(folder)?.as_fd(), name, owners)
    }

    #[test]
    fn only_regular_files_of_the_owner_are_opened() {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::write(folder.path().join("perf-1.map"), "").expect("file");
        symlink("perf-1.map", folder.path().join("link")).expect("link");
        std::fs::create_dir(folder.path().join("folder")).expect("folder");
        let own = folder.path().metadata().expect("metadata").uid();
        assert!(opened(folder.path(), "perf-1.map", &[own]).is_ok());
        for refused in ["link", "folder", "none", "../x", "/etc/passwd"] {
            assert!(opened(folder.path(), refused, &[own]).is_err(), "{refused}");
        }
        assert!(opened(folder.path(), "perf-1.map", &[own + 1]).is_err(), "also root's");
    }

    #[test]
    fn equal_views_are_shared() {
        let own = ProcessFiles::of(std::process::id(), &[]).expect("own view");
        let again = ProcessFiles::of(std::process::id(), std::slice::from_ref(&own)).expect("own view");
        assert!(Rc::ptr_eq(&own, &again));
        assert!(own.open(b"/proc/self/exe").is_err(), "no magic links");
        assert!(own.open(b"/dev/null").is_err(), "no devices");
    }
}
