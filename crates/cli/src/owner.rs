//! Whose the files are that Dwell writes: under sudo, the user's who called it.
//!
//! Root writes into folders that others own, so nothing here follows a symbolic link, and a folder changes hands only
//! after everything in it did.

use std::env;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, fchown, openat, statat};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// How deep the folders of a result go, and then some.
const DEPTH: usize = 16;

/// The user on whose behalf root runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invoker {
    /// Login name.
    pub name: String,
    uid: u32,
    gid: u32,
}

impl Invoker {
    /// The user who called sudo, when this is root and that user is not.
    pub fn of_sudo() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let number = |name: &str| env::var(name).ok()?.parse::<u32>().ok();
        let name = env::var("SUDO_USER").ok().filter(|name| !name.is_empty())?;
        let (uid, gid) = (number("SUDO_UID")?, number("SUDO_GID")?);
        (uid != 0).then_some(Self { name, uid, gid })
    }

    /// Makes this process the user's, for good. Only while it has one thread: the kernel changes no others.
    pub fn become_user(&self) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        set_thread_groups(&[gid])?;
        set_thread_res_gid(gid, gid, gid)?;
        Ok(set_thread_res_uid(uid, uid, uid)?)
    }

    /// The user as finalization asks for one.
    pub fn user(&self) -> dwell_resolve::User {
        dwell_resolve::User { uid: self.uid, gid: self.gid }
    }

    /// Gives an open file to the user.
    pub fn take_file(&self, file: &File) -> io::Result<()> {
        let (uid, gid) = self.ids();
        Ok(fchown(file, uid, gid)?)
    }

    /// Gives the folder `path` and all in it to the user.
    pub fn take_folder(&self, path: &Path) -> io::Result<()> {
        self.take(CWD, path, DEPTH)
    }

    fn take(&self, parent: BorrowedFd<'_>, name: &Path, depth: usize) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(parent, name, flags, Mode::empty())?;
        let (uid, gid) = self.ids();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            match (entry.file_type(), name.to_bytes()) {
                (_, b"." | b"..") => {}
                (FileType::Directory | FileType::Unknown, bytes) if depth > 0 && is_folder(&folder, name) => {
                    self.take(folder.as_fd(), Path::new(OsStr::from_bytes(bytes)), depth - 1)?;
                }
                _ => chownat(&folder, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?,
            }
        }
        Ok(fchown(&folder, uid, gid)?)
    }

    fn ids(&self) -> (Option<Uid>, Option<Gid>) {
        (Some(Uid::from_raw(self.uid)), Some(Gid::from_raw(self.gid)))
    }
}

/// Whether the entry is a folder, for file systems that do not tell it with the name.
fn is_folder(parent: &OwnedFd, name: &CStr) -> bool {
    let status = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    status.is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::Directory)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn a_folder_changes_hands_and_links_are_not_followed() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("r000th"), folder.path().join("outside"));
        fs::create_dir_all(inside.join("tables")).unwrap();
        fs::write(inside.join("tables/threads.parquet"), "x").unwrap();
        fs::write(&outside, "x").unwrap();
        symlink(&outside, inside.join("link")).unwrap();
        let nobody = Invoker { name: "nobody".into(), uid: 65534, gid: 65534 };
        nobody.take_folder(&inside).unwrap();
        let owner = |path: &Path| fs::symlink_metadata(path).unwrap().uid();
        assert_eq!(owner(&inside), 65534);
        assert_eq!(owner(&inside.join("tables/threads.parquet")), 65534);
        assert_eq!(owner(&inside.join("link")), 65534);
        assert_eq!(owner(&outside), 0);
        assert!(nobody.take_folder(&inside.join("link")).is_err());
    }
}
