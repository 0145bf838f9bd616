//! A folder that is held open: what is read, made, renamed or deleted in it is in this folder, wherever its path leads by
//! then. No link is followed in it, nothing but regular files is opened, and no file that is there is written to.
//!
//! Root works in folders of users, and so that it needs no openat2 (Linux 5.6), an entry is named by one name, which can
//! lead nowhere but to an entry; folders in folders are held in their turn.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, RawMode, Uid, chownat, fchmod, fchown, fstat, linkat, mkdirat,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::{kind_of, open_named, openat, refused};

/// How deep folders lie in one another where all of them are visited.
const DEPTH: usize = 16;
/// What the owner of a folder, and of a file, may always do.
const OWNER_USES_FOLDER: RawMode = 0o700;
const OWNER_READS_AND_WRITES: RawMode = 0o600;
const OPEN_FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// See the module. Clones share the descriptor.
#[derive(Clone, Debug)]
pub struct Folder {
    fd: Arc<OwnedFd>,
    /// For messages, and for paths that leave this process.
    path: PathBuf,
    owner: u32,
    /// Who gets what is made in it: whose the folder is, when that is not root but this process is.
    heir: Option<(Uid, Gid)>,
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Folder {
    /// Holds the folder that `path` leads to, by links too: the user named it.
    ///
    /// # Errors
    ///
    /// Those of open(2).
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::of(openat(CWD, path, OPEN_FOLDER, Mode::empty())?, path.to_owned())
    }

    /// Makes the folder `path`, with these rights less the umask's, but always its owner's, and holds it.
    ///
    /// # Errors
    ///
    /// Those of mkdir(2); [`io::ErrorKind::AlreadyExists`] when something is there.
    pub fn create(path: &Path, mode: u32) -> io::Result<Self> {
        Self::of(make_folder(CWD, path, mode)?, path.to_owned())
    }

    fn of(fd: OwnedFd, path: PathBuf) -> io::Result<Self> {
        let status = fstat(&fd)?;
        let is_heir = rustix::process::geteuid().is_root() && status.st_uid != 0;
        let heir = is_heir.then(|| (Uid::from_raw(status.st_uid), Gid::from_raw(status.st_gid)));
        Ok(Self { fd: Arc::new(fd), path, owner: status.st_uid, heir })
    }

    /// Where it was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it belongs to the user of this process, be it root.
    pub fn is_this_users(&self) -> bool {
        rustix::process::geteuid().as_raw() == self.owner
    }

    /// Holds the folder `name` in it.
    ///
    /// # Errors
    ///
    /// Those of openat(2); [`io::ErrorKind::InvalidInput`] when something else is in its place.
    pub fn folder(&self, name: &str) -> io::Result<Self> {
        let fd = openat(&self.fd, entry(name)?, OPEN_FOLDER | OFlags::NOFOLLOW, Mode::empty());
        let fd = fd.map_err(|error| match error {
            Errno::NOTDIR | Errno::LOOP => refused("no folder is in its place"),
            other => other.into(),
        })?;
        Self::of(fd, self.path.join(name))
    }

    /// Makes the folder `name` in it, with these rights less the umask's, but always its owner's, and holds it.
    ///
    /// # Errors
    ///
    /// Those of mkdirat(2); [`io::ErrorKind::AlreadyExists`] when something is there.
    pub fn make_folder(&self, name: &str, mode: u32) -> io::Result<Self> {
        let made = make_folder(&self.fd, entry(name)?, mode)?;
        self.bequeath(&made);
        Self::of(made, self.path.join(name))
    }

    /// Opens the regular file `name` for reading. Whoever may link files of others into the folder must not learn from root
    /// what is in them: one with several names is opened only when it belongs to the folder's owner.
    ///
    /// # Errors
    ///
    /// Those of openat(2); [`io::ErrorKind::InvalidInput`] when something else than a regular file is there.
    pub fn read(&self, name: &str) -> io::Result<File> {
        let named = openat(&self.fd, entry(name)?, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let is_root = rustix::process::geteuid().is_root();
        open_named(named, OFlags::RDONLY, |file| !is_root || file.nlink() == 1 || file.uid() == self.owner)
    }

    /// The contents of the regular file `name`.
    ///
    /// # Errors
    ///
    /// As [`Folder::read`]; [`io::ErrorKind::FileTooLarge`] when it has more than `most` bytes.
    pub fn read_all(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read(name)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
        }
        Ok(bytes)
    }

    /// The last bytes of the regular file `name`, `most` of them, and how many are before them.
    ///
    /// # Errors
    ///
    /// As [`Folder::read`].
    pub fn read_end(&self, name: &str, most: u64) -> io::Result<(Vec<u8>, u64)> {
        let mut file = self.read(name)?;
        let before = file.metadata()?.len().saturating_sub(most);
        file.seek(SeekFrom::Start(before))?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok((bytes, before))
    }

    /// Makes the file `name` and opens it for writing and reading. Its owner may read and write it, whatever the umask.
    ///
    /// # Errors
    ///
    /// Those of openat(2); [`io::ErrorKind::AlreadyExists`] when something is there, be it a link that leads nowhere.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.fd, entry(name)?, flags, Mode::from_raw_mode(0o666))?;
        let mode = fstat(&file)?.st_mode;
        if mode & OWNER_READS_AND_WRITES != OWNER_READS_AND_WRITES {
            fchmod(&file, Mode::from_raw_mode(mode | OWNER_READS_AND_WRITES))?;
        }
        self.bequeath(&file);
        Ok(file.into())
    }

    /// Puts a file with these bytes in the place of `name`: whole or not at all. What was there is not written to.
    ///
    /// # Errors
    ///
    /// Those of the calls that it needs; the old file is there then.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let partial = format!("{name}.partial");
        self.remove(&partial)?;
        let written = self.create_file(&partial).and_then(|mut file| file.write_all(bytes));
        let done = written.and_then(|()| self.rename(&partial, name));
        if done.is_err() {
            let _ = self.remove(&partial); // the error says why it is not whole
        }
        done
    }

    /// Renames an entry; another file of the new name is replaced.
    ///
    /// # Errors
    ///
    /// Those of renameat(2).
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.fd, entry(from)?, &self.fd, entry(to)?)?)
    }

    /// Gives the file `name` the same name in the folder `to` too. A link is linked, not followed.
    ///
    /// # Errors
    ///
    /// Those of linkat(2).
    pub fn link(&self, name: &str, to: &Self) -> io::Result<()> {
        let name = entry(name)?;
        Ok(linkat(&self.fd, name, &to.fd, name, AtFlags::empty())?)
    }

    /// Deletes the entry `name`: a folder with all that is in it, and of a link the link. Nothing there is no error.
    ///
    /// # Errors
    ///
    /// Those of unlinkat(2); folders that lie deeper than any of a result are an error.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        remove(&self.fd, entry(name)?, DEPTH)
    }

    /// Deletes the folder itself, with all that is in it. What lies at its path by then stays, unless it is an empty folder.
    ///
    /// # Errors
    ///
    /// As [`Folder::remove`].
    pub fn delete(self) -> io::Result<()> {
        empty(&self.fd, DEPTH)?;
        Ok(unlinkat(CWD, &self.path, AtFlags::REMOVEDIR)?)
    }

    /// What is there under `name`, without following a link; `None` when nothing is, or it cannot be told.
    fn kind(&self, name: &str) -> Option<FileType> {
        let status = statat(&self.fd, entry(name).ok()?, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(status.st_mode))
    }

    /// Whether there is anything under `name`, be it a link that leads nowhere.
    pub fn has(&self, name: &str) -> bool {
        self.kind(name).is_some()
    }

    /// Whether a regular file is there under `name`.
    pub fn has_file(&self, name: &str) -> bool {
        self.kind(name) == Some(FileType::RegularFile)
    }

    /// Whether a folder is there under `name`.
    pub fn has_folder(&self, name: &str) -> bool {
        self.kind(name) == Some(FileType::Directory)
    }

    /// Bytes of the regular file `name`; 0 when there is none.
    pub fn size(&self, name: &str) -> u64 {
        let status = entry(name).and_then(|name| Ok(statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?));
        let regular = status.ok().filter(|it| FileType::from_raw_mode(it.st_mode) == FileType::RegularFile);
        regular.map_or(0, |status| u64::try_from(status.st_size).unwrap_or(0))
    }

    /// The names in it, sorted.
    ///
    /// # Errors
    ///
    /// Those of getdents(2).
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = names(&self.fd)?;
        names.sort_unstable();
        Ok(names)
    }

    /// Gives the folder and all in it to a user, when it is root's: then root put everything there. A folder of somebody else
    /// stays as it is, what root made in it was given away at once. The folder itself changes hands last.
    ///
    /// # Errors
    ///
    /// Those of fchownat(2).
    pub fn give_away(&self, uid: u32, gid: u32) -> io::Result<()> {
        if self.owner != 0 {
            return Ok(());
        }
        give_away(&self.fd, (Uid::from_raw(uid), Gid::from_raw(gid)), DEPTH)
    }

    /// Gives what was just made to the folder's owner. Where that cannot be, it stays root's, which harms nobody.
    fn bequeath(&self, made: &impl AsFd) {
        if let Some((uid, gid)) = self.heir {
            let _ = fchown(made, Some(uid), Some(gid));
        }
    }
}

/// Makes a folder and opens it. Under a umask that takes the owner's rights (0177), it could not be used.
fn make_folder(parent: impl AsFd, path: impl Arg + Copy, mode: RawMode) -> io::Result<OwnedFd> {
    mkdirat(&parent, path, Mode::from_raw_mode(mode))?;
    let made = openat(&parent, path, OPEN_FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
    let given = fstat(&made)?.st_mode;
    if given & OWNER_USES_FOLDER != OWNER_USES_FOLDER {
        fchmod(&made, Mode::from_raw_mode(given | OWNER_USES_FOLDER))?;
    }
    Ok(made)
}

/// A name that can only be that of an entry.
fn entry(name: &str) -> io::Result<&str> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(refused("this is a path, not the name of a file"));
    }
    Ok(name)
}

fn names(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        match entry?.file_name().to_bytes() {
            b"." | b".." => {}
            name => names.push(OsStr::from_bytes(name).to_owned()),
        }
    }
    Ok(names)
}

/// The folder `name`; `None` when it is none.
fn folder_in(parent: &OwnedFd, name: impl Arg + Copy) -> io::Result<Option<OwnedFd>> {
    match openat(parent, name, OPEN_FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn is_folder(parent: &OwnedFd, name: &OsStr) -> bool {
    statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|status| kind_of(status.st_mode) == FileType::Directory)
}

fn remove(parent: &OwnedFd, name: impl AsRef<OsStr>, depth: usize) -> io::Result<()> {
    let name = name.as_ref();
    if !is_folder(parent, name) {
        return match unlinkat(parent, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        };
    }
    let Some(depth) = depth.checked_sub(1) else { return Err(refused("folders lie too deep in one another")) };
    if let Some(folder) = folder_in(parent, name)? {
        empty(&folder, depth)?;
    }
    Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}

fn empty(folder: &OwnedFd, depth: usize) -> io::Result<()> {
    names(folder)?.into_iter().try_for_each(|name| remove(folder, name, depth))
}

fn give_away(folder: &OwnedFd, to: (Uid, Gid), depth: usize) -> io::Result<()> {
    for name in names(folder)? {
        match (depth.checked_sub(1), is_folder(folder, &name)) {
            (Some(depth), true) => {
                if let Some(inner) = folder_in(folder, &name)? {
                    give_away(&inner, to, depth)?;
                }
            }
            _ => chownat(folder, &name, Some(to.0), Some(to.1), AtFlags::SYMLINK_NOFOLLOW)?,
        }
    }
    Ok(fchown(folder, Some(to.0), Some(to.1))?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    fn held() -> (tempfile::TempDir, Folder) {
        let folder = tempfile::tempdir().expect("folder");
        let held = Folder::open(folder.path()).expect("held");
        (folder, held)
    }

    #[test]
    fn what_is_held_stays_the_same_when_its_path_leads_elsewhere() {
        let (parent, _) = held();
        let (path, moved) = (parent.path().join("result"), parent.path().join("moved"));
        let result = Folder::create(&path, 0o700).expect("made");
        fs::rename(&path, &moved).expect("moved");
        symlink("/etc", &path).expect("link");
        result.replace("manifest.json", b"{}").expect("written");
        assert_eq!(fs::read(moved.join("manifest.json")).expect("there"), b"{}");
        assert_eq!(result.read_all("manifest.json", 2).expect("read"), b"{}");
        assert!(result.read_all("manifest.json", 1).is_err(), "larger than asked for");
        result.remove("manifest.json").expect("removed");
        result.remove("manifest.json").expect("nothing there is no error");
        assert!(!moved.join("manifest.json").exists());
    }

    #[test]
    fn links_are_replaced_and_removed_but_never_followed() {
        let (folder, held) = held();
        let (outside, _) = self::held();
        let secret = outside.path().join("secret");
        fs::write(&secret, "kept").expect("file");
        for name in ["file", "file.partial", "folder"] {
            symlink(&secret, folder.path().join(name)).expect("link");
        }
        symlink(outside.path(), folder.path().join("to-folder")).expect("link");
        assert!(held.read("file").is_err() && held.folder("to-folder").is_err());
        assert!(held.create_file("file").is_err() && held.make_folder("folder", 0o700).is_err());
        held.replace("file", b"new").expect("replaced");
        held.remove("to-folder").expect("removed");
        assert_eq!(fs::read_to_string(&secret).expect("there"), "kept");
        assert!(folder.path().join("file").symlink_metadata().expect("there").is_file());
        for name in ["", ".", "..", "../x", "/etc/passwd", "a/b", "a\0b"] {
            assert!(held.read(name).is_err() && held.remove(name).is_err() && !held.has(name), "{name:?}");
        }
    }

    #[test]
    fn folders_are_removed_with_all_that_is_in_them_but_not_too_deep() {
        let (folder, held) = held();
        fs::create_dir_all(folder.path().join("a/b/c")).expect("folders");
        fs::write(folder.path().join("a/b/file"), "x").expect("file");
        symlink("/", folder.path().join("a/root")).expect("link");
        held.remove("a").expect("removed");
        assert_eq!(held.names().expect("names"), Vec::<OsString>::new());
        fs::create_dir_all(folder.path().join("a/".repeat(DEPTH + 2))).expect("folders");
        assert!(held.remove("a").is_err());
    }

    #[test]
    fn what_root_makes_in_a_users_folder_is_the_users() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        const NOBODY: u32 = 65534;
        let (folder, _) = held();
        chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("owner");
        let held = Folder::open(folder.path()).expect("held");
        held.make_folder("tables", 0o700).and_then(|made| made.replace("file", b"x")).expect("made");
        fs::write(folder.path().join("roots"), "x").expect("file");
        fs::hard_link(folder.path().join("roots"), folder.path().join("linked")).expect("link");
        let owner = |name: &str| fs::metadata(folder.path().join(name)).expect("there").uid();
        assert_eq!((owner("tables"), owner("tables/file"), owner("roots")), (NOBODY, NOBODY, 0));
        assert!(held.read("linked").is_err(), "another's file under a second name");
        held.give_away(NOBODY, NOBODY).expect("given away");
        assert_eq!(owner("roots"), 0, "what somebody put there may be anything");
    }
}
