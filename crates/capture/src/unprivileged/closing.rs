//! When tracepoints are closed. The kernel takes some 40 ms for the last event of each, and lets nobody create threads with such
//! events meanwhile. So a process of their own closes them, one after the other, and only while no collection of this user
//! runs: collections hold a lock together, who closes takes it alone.
#![allow(unsafe_code, reason = "fork, and nothing but system calls behind it")]

use std::ffi::{CStr, CString};
use std::fs::OpenOptions;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use dwell_rights::Right;
use rustix::fs::{FlockOperation, MemfdFlags, flock, memfd_create};

/// What a collection holds.
pub struct Lock {
    /// The lock's file, from which others take it.
    path: CString,
    _held: OwnedFd,
}

impl Lock {
    /// Waits while a tracepoint is being closed, then holds others back. In `folder`, which all collections of this user have;
    /// without one for this collection alone. None where neither can be made.
    pub fn hold(folder: Option<&Path>) -> Option<Self> {
        let (path, held) = folder.and_then(in_folder).or_else(in_memory)?;
        flock(&held, FlockOperation::LockShared).ok()?;
        Some(Self { path, _held: held })
    }

    /// Where it lies.
    pub fn path(&self) -> CString {
        self.path.clone()
    }
}

fn in_folder(folder: &Path) -> Option<(CString, OwnedFd)> {
    std::fs::create_dir_all(folder).ok()?;
    let path = folder.join("tracepoints.lock");
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).custom_flags(flags).open(&path);
    Some((CString::new(path.as_os_str().as_bytes()).ok()?, file.ok()?.into()))
}

fn in_memory() -> Option<(CString, OwnedFd)> {
    let file = memfd_create("tracepoints.lock", MemfdFlags::CLOEXEC).ok()?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    Some((CString::new(path).ok()?, file))
}

/// Runs `act` in a process that nobody waits for, that ends with it, and that has no more than these rights.
///
/// # Safety
/// `act` makes system calls only, and allocates no memory: other threads may have held the allocator's lock.
pub unsafe fn in_own_process(rights: &[Right], act: impl FnOnce()) {
    // SAFETY: behind the forks come only system calls on memory that is allocated already.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            if dwell_rights::keep(rights).is_ok() && libc::fork() == 0 {
                act();
            }
            libc::_exit(0);
        }
        if child > 0 {
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
    }
}

/// Opens the lock of [`Lock::path`] for [`close`]; negative without one.
///
/// # Safety
/// Behind a fork: a system call, and nothing is allocated.
pub unsafe fn open(path: &CStr) -> RawFd {
    // SAFETY: the path ends.
    unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC | libc::O_NONBLOCK) }
}

/// Closes the events, each while no collection holds `lock`; that may take long, and needs no rights.
///
/// # Safety
/// Behind a fork: system calls, and nothing is allocated.
pub unsafe fn close(lock: RawFd, events: &[RawFd]) {
    if dwell_rights::keep(&[]).is_err() {
        return; // the process ends, and with it its events
    }
    for &event in events.iter().filter(|&&event| event >= 0) {
        // SAFETY: plain numbers.
        unsafe {
            libc::flock(lock, libc::LOCK_EX);
            libc::close(event);
            libc::flock(lock, libc::LOCK_UN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn nothing_is_closed_while_a_collection_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        for place in [Some(folder.path()), None] {
            let lock = Lock::hold(place).expect("a lock");
            let also = place.map(|place| Lock::hold(Some(place)).expect("a second collection"));
            let (reader, writer) = std::io::pipe().expect("a pipe");
            let (path, event) = (lock.path(), writer.as_raw_fd());
            // SAFETY: system calls only.
            unsafe {
                in_own_process(&[], || {
                    // Other tests run beside this one: which numbers are free below, nobody knows.
                    let above = |fd| libc::fcntl(fd, libc::F_DUPFD, 512);
                    let (lock, event) = (above(open(&path)), above(event));
                    libc::syscall(libc::SYS_close_range, 3, 511, 0);
                    close(lock, &[event]);
                });
            }
            drop(writer);
            let closed = |ms| {
                let mut poll = libc::pollfd { fd: reader.as_raw_fd(), events: libc::POLLIN, revents: 0 };
                // SAFETY: one valid entry.
                unsafe { libc::poll(&raw mut poll, 1, ms) > 0 }
            };
            assert!(!closed(100), "closed while {place:?} is held");
            drop(lock);
            assert!(also.is_none() || !closed(100), "closed while the second holds {place:?}");
            drop(also);
            assert!(closed(Duration::from_secs(20).as_millis() as i32));
        }
    }
}
