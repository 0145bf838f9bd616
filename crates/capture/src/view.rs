//! What a process sees as its files: its root, which a mount namespace or a chroot may make another than ours.
//!
//! A view is kept open beyond its process: a map of run-time code is complete only when the process has ended. The
//! temporary folder is kept beside the root, since mounts below the root fall away with the last process that sees them.
//! Everything there is the profiled program's: what is opened is told by type and owner first.
#![allow(unsafe_code, reason = "openat2 has no safe interface")]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;
use std::sync::Arc;

use dwell_unwind::read_regular;

/// Where the maps of run-time code are, as `perf` has it.
const TEMPORARY: &[u8] = b"tmp";

/// A process's files, by descriptors that name but do not open.
pub struct View {
    key: [u64; 5],
    root: OwnedFd,
    /// Shared with the copies that are to be made from there.
    temporary: Option<Arc<OwnedFd>>,
}

impl View {
    /// The view of process `pid`; `None` when it is gone. One that is equal to it among `known` is shared.
    pub fn of(pid: u32, known: &[Rc<Self>]) -> Option<Rc<Self>> {
        let root = open_path(libc::AT_FDCWD, format!("/proc/{pid}/root").as_bytes(), 0).ok()?;
        let temporary = open_path(root.as_raw_fd(), TEMPORARY, libc::RESOLVE_IN_ROOT).ok().map(Arc::new);
        let (device, inode) = identity(&root)?;
        let (tmp_device, tmp_inode) = temporary.as_deref().and_then(identity).unwrap_or_default();
        let namespace = std::fs::metadata(format!("/proc/{pid}/ns/mnt")).ok()?.ino();
        let key = [namespace, device, inode, tmp_device, tmp_inode];
        let shared = known.iter().find(|view| view.key == key).cloned();
        Some(shared.unwrap_or_else(|| Rc::new(Self { key, root, temporary })))
    }

    /// The folder of temporary files.
    pub fn temporary(&self) -> Option<Arc<OwnedFd>> {
        self.temporary.clone()
    }

    /// Opens `path` as the process would; links lead nowhere out of its root.
    pub fn open(&self, path: &[u8]) -> io::Result<File> {
        let resolve = libc::RESOLVE_IN_ROOT | libc::RESOLVE_NO_MAGICLINKS;
        read_regular(openat2(self.root.as_raw_fd(), path, libc::O_PATH, resolve)?)
    }
}

/// Opens the file `name` in `folder`: no link, nothing mounted there, a regular file, and owned by one of `owners`. (`perf`
/// takes root's files, too; the result is not root's, but whoever called Dwell may read it.)
pub fn open_owned(folder: BorrowedFd<'_>, name: &str, owners: &[u32]) -> io::Result<File> {
    let resolve = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_XDEV;
    let flags = libc::O_PATH | libc::O_NOFOLLOW;
    let file = read_regular(openat2(folder.as_raw_fd(), name.as_bytes(), flags, resolve)?)?;
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

fn open_path(folder: RawFd, path: &[u8], resolve: u64) -> io::Result<OwnedFd> {
    openat2(folder, path, libc::O_PATH | libc::O_DIRECTORY, resolve)
}

fn openat2(folder: RawFd, path: &[u8], flags: i32, resolve: u64) -> io::Result<OwnedFd> {
    let path = CString::new(path).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: all fields are plain numbers.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (flags | libc::O_CLOEXEC) as u64;
    how.resolve = resolve;
    // SAFETY: path and `how` are valid for the call, the size is that of `how`; a non-negative result is a new
    // descriptor of ours.
    unsafe {
        let fd = libc::syscall(libc::SYS_openat2, folder, path.as_ptr(), &raw const how, size_of::<libc::open_how>());
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd as RawFd)) }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
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
        let own = View::of(std::process::id(), &[]).expect("own view");
        let again = View::of(std::process::id(), std::slice::from_ref(&own)).expect("own view");
        assert!(Rc::ptr_eq(&own, &again));
        assert!(own.open(b"/proc/self/exe").is_err(), "no magic links");
        assert!(own.open(b"/dev/null").is_err(), "no devices");
    }
}
