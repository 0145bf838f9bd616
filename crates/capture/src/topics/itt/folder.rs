//! The folder in which programs make their shared files, and which of these files are to be believed.
//!
//! Everything in it can be written by the profiled programs: only regular files of the right owner are opened, without
//! following links, and their number is bounded. A collector holds a lock on its folder: what one left that was killed has
//! none any more, and the next collection removes it.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use dwell_itt_wire::layout::{RINGS_AT, RINGS_BYTES, SUFFIX, State, VARIABLE};
use rustix::fs::{
    AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, ResolveFlags, flock, fstat, open, openat, openat2, unlinkat,
};

use crate::clock::monotonic_ns;

/// Memory that needs no disk, on every Linux.
const SHARED_MEMORY: &str = "/dev/shm";
/// What folders in it are called.
const PREFIX: &str = "dwell-";
/// … and what follows in the name of a collection's, in hexadecimal; that of `dwell env` is the user's number.
const NONCE_DIGITS: usize = 16;
/// Everyone may make files, nobody may list or remove those of others: children change their user.
const FOLDER_MODE: u32 = 0o1733;
/// Names that are looked at, at most; no honest folder has more.
const MOST_NAMES: usize = 20_000;
/// After a look the folder is left alone for so many times what the look took: whatever programs put there, it costs a
/// twentieth of a CPU.
const REST: u64 = 19;
/// How long a look may take, ns; the rest of the files has to wait.
const MOST_LOOK_NS: u64 = 20_000_000;
/// A file that no profiled process is known for is left alone after this time, ns.
const PATIENCE_NS: u64 = 1_000_000_000;

/// A folder of shared files.
pub struct Folder {
    pub path: PathBuf,
    fd: OwnedFd,
    /// Made for this collection, and removed with it.
    own: bool,
    changed: Option<(i64, i64)>,
    /// When it may be looked at again, ns.
    rests_until_ns: u64,
    /// Whether something of the last look is to be looked at again.
    again: bool,
    names: HashMap<CString, FileFate>,
    /// Whether there were more names than are kept; counted once.
    overflowed: bool,
}

/// What became of a file.
#[derive(Clone, Copy)]
enum FileFate {
    /// It has waited since then, ns.
    Waits(u64),
    /// It is looked at no more.
    Settled,
}

/// A file in the folder, not opened yet.
pub struct FolderEntry<'f> {
    /// The process id in its name.
    pub pid: u32,
    /// Whether the folder was made for this collection: only profiled programs were told its name, which cannot be listed.
    pub in_own_folder: bool,
    folder: &'f OwnedFd,
    name: &'f CStr,
}

impl FolderEntry<'_> {
    /// Opens it for reading and writing if it is a regular file, not of more bytes than the layout has.
    pub fn open(&self) -> io::Result<File> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let named = openat(self.folder, self.name, flags, Mode::empty())?;
        dwell_files::open_named(named, OFlags::RDWR, |metadata| {
            metadata.len() <= RINGS_AT + RINGS_BYTES && metadata.nlink() <= 1
        })
    }
}

/// What to do with a file that was found.
pub enum FileVerdict {
    /// It is taken.
    Taken,
    /// Not ready yet, or its process is not known yet.
    Later,
    /// Nothing of ours.
    Refused,
}

impl Folder {
    /// Makes a folder for one collection: in shared memory, else in `fallback`.
    pub fn make(fallback: &Path) -> io::Result<Self> {
        sweep();
        // One that is new and not locked yet looks to another collection like one that was left.
        Self::make_one(fallback).or_else(|_| Self::make_one(fallback))
    }

    fn make_one(fallback: &Path) -> io::Result<Self> {
        let name = format!("{PREFIX}{:0NONCE_DIGITS$x}", nonce());
        let shared = Path::new(SHARED_MEMORY).join(&name);
        make_folder(&shared)
            .map(|()| shared)
            .or_else(|_| {
                let beside = fallback.join(&name);
                make_folder(&beside).map(|()| beside)
            })
            .and_then(|path| Self::open(path, true))
            .and_then(|folder| folder.locked())
    }

    /// Locks it as long as it is open. Fails when a collection has it, or takes it for one that was left.
    fn locked(self) -> io::Result<Self> {
        flock(&self.fd, FlockOperation::NonBlockingLockExclusive)?;
        if fstat(&self.fd)?.st_nlink == 0 { Err(io::ErrorKind::NotFound.into()) } else { Ok(self) }
    }

    /// The folder of `dwell env`, made if it is not there. Fails when somebody else has one under this name.
    pub fn of_user() -> io::Result<Self> {
        let uid = rustix::process::geteuid().as_raw();
        let path = Path::new(SHARED_MEMORY).join(format!("{PREFIX}{uid}"));
        match make_folder(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let folder = Self::open(path, false)?;
        if File::from(folder.fd.try_clone()?).metadata()?.uid() == uid {
            Ok(folder)
        } else {
            Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("{} belongs to another user", folder.path.display()),
            ))
        }
    }

    /// The folders that `dwell env` told the running processes `pids`.
    pub fn of_running(pids: &[u32]) -> Vec<Self> {
        let mut folders: Vec<Self> = Vec::new();
        for path in pids.iter().filter_map(|&pid| told_folder(pid)) {
            if folders.iter().all(|folder| folder.path != path) {
                folders.extend(Self::of_program(&path));
            }
        }
        folders
    }

    /// The folder that `dwell env` gave a running program. It is its word: nothing but a folder right in shared
    /// memory is opened, no link and no mount on top of it.
    pub fn of_program(path: &Path) -> io::Result<Self> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "not a folder of dwell env");
        let name = path.strip_prefix(SHARED_MEMORY).map_err(|_| wrong())?;
        let is_ours = name.as_os_str().as_bytes().starts_with(PREFIX.as_bytes()) && name.components().count() == 1;
        if !is_ours {
            return Err(wrong());
        }
        let memory = open(SHARED_MEMORY, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
        let fd = openat2(memory, name, flags, Mode::empty(), resolve)?;
        Ok(Self::with(path.to_owned(), fd, false))
    }

    fn open(path: PathBuf, own: bool) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(CWD, &path, flags, Mode::empty())?;
        Ok(Self::with(path, fd, own))
    }

    fn with(path: PathBuf, fd: OwnedFd, own: bool) -> Self {
        Self { path, fd, own, changed: None, rests_until_ns: 0, again: false, names: HashMap::new(), overflowed: false }
    }

    /// The next look comes now, and sees everything: it is the last one.
    pub fn end_rest(&mut self) {
        (self.rests_until_ns, self.again) = (0, true);
    }

    /// Shows every new file to `judge`. Returns how many were refused. Costs one system
    /// call while nothing changes.
    pub fn look(&mut self, now_ns: u64, judge: &mut dyn FnMut(&FolderEntry<'_>) -> FileVerdict) -> u64 {
        if now_ns < self.rests_until_ns {
            return 0;
        }
        let Ok(status) = rustix::fs::fstat(&self.fd) else { return 0 };
        let changed = (status.st_mtime, status.st_mtime_nsec as i64);
        if self.changed == Some(changed) && !self.again {
            return 0;
        }
        // What came within the grain of the folder's time is seen by the look after this one.
        self.again = self.changed != Some(changed);
        self.changed = Some(changed);
        let Ok(entries) = Dir::read_from(&self.fd) else { return 0 };
        let began_ns = monotonic_ns();
        let mut refused = 0;
        for entry in entries.flatten() {
            if monotonic_ns() - began_ns > MOST_LOOK_NS {
                self.again = true;
                break;
            }
            refused += self.judge(entry.file_name(), now_ns, judge);
        }
        self.rests_until_ns = now_ns + (monotonic_ns() - began_ns) * REST;
        refused
    }

    /// Shows one file to `judge` and keeps what it says. Returns 1 when it is refused.
    fn judge(&mut self, name: &CStr, now_ns: u64, judge: &mut dyn FnMut(&FolderEntry<'_>) -> FileVerdict) -> u64 {
        let since = match self.names.get(name) {
            Some(FileFate::Settled) => return 0,
            Some(FileFate::Waits(since)) => *since,
            None if matches!(name.to_bytes(), b"." | b"..") => return 0,
            None if self.names.len() >= MOST_NAMES => return u64::from(!std::mem::replace(&mut self.overflowed, true)),
            None => now_ns,
        };
        let verdict = match pid_of(name) {
            Some(pid) => judge(&FolderEntry { pid, in_own_folder: self.own, folder: &self.fd, name }),
            None => FileVerdict::Refused,
        };
        let (seen, refused) = match verdict {
            FileVerdict::Taken if self.own && unlinkat(&self.fd, name, AtFlags::empty()).is_ok() => {
                // Its process has it mapped and we have it open: nothing else needs the name.
                self.names.remove(name);
                return 0;
            }
            FileVerdict::Taken => (FileFate::Settled, 0),
            FileVerdict::Later if now_ns.saturating_sub(since) < PATIENCE_NS => {
                self.again = true;
                (FileFate::Waits(since), 0)
            }
            FileVerdict::Later => (FileFate::Settled, u64::from(self.own)),
            FileVerdict::Refused => (FileFate::Settled, 1),
        };
        self.names.insert(name.to_owned(), seen);
        refused
    }

    /// Removes the files of processes that are gone.
    pub fn remove_stale(&self) {
        let Ok(entries) = Dir::read_from(&self.fd) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            // What a process in a container still has mapped it keeps: only the name goes.
            if pid_of(name).is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
                let _ = unlinkat(&self.fd, name, AtFlags::empty());
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.own {
            // What is left in it belongs to programs that go on without being recorded. Links are removed, not followed.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Removes the folders of this user's collections that were killed.
fn sweep() {
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(SHARED_MEMORY).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let nonce = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).unwrap_or_default();
        if nonce.len() != NONCE_DIGITS || !nonce.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            continue;
        }
        let is_own = |folder: &Folder| fstat(&folder.fd).is_ok_and(|status| status.st_uid == own);
        let left = Folder::open(entry.path(), false).ok().filter(is_own);
        // The lock is held until the folder is gone. What cannot be removed is tried again by the next collection.
        let _ = left.and_then(|folder| folder.locked().ok()).map(|folder| fs::remove_dir_all(&folder.path));
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(FOLDER_MODE)) // whatever the umask is
}

/// A number that nobody can foresee.
fn nonce() -> u64 {
    let mut bytes = [0; 8];
    let random = File::open("/dev/urandom").and_then(|mut source| io::Read::read_exact(&mut source, &mut bytes));
    match random {
        Ok(()) => u64::from_ne_bytes(bytes),
        Err(_) => monotonic_ns(), // the folder is made anew or not at all
    }
}

/// The folder in the environment that process `pid` was started with.
fn told_folder(pid: u32) -> Option<PathBuf> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let variable = [VARIABLE.as_bytes(), b"="].concat();
    let value = environment.split(|&byte| byte == 0).find_map(|entry| entry.strip_prefix(variable.as_slice()))?;
    State::parse_variable(value).map(|(_, folder)| PathBuf::from(OsStr::from_bytes(folder)))
}

/// The process id in `PID-NONCE.itt`.
fn pid_of(name: &CStr) -> Option<u32> {
    let name = OsStr::from_bytes(name.to_bytes()).to_str()?;
    let (pid, nonce) = name.strip_suffix(SUFFIX)?.split_once('-')?;
    pid.parse().ok().filter(|_| !nonce.is_empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn seen(folder: &mut Folder) -> (Vec<(u32, bool)>, u64) {
        let mut found = Vec::new();
        folder.rests_until_ns = 0;
        let refused = folder.look(1, &mut |entry| match entry.open() {
            Ok(_) => {
                found.push((entry.pid, true));
                FileVerdict::Taken
            }
            Err(_) => {
                found.push((entry.pid, false));
                FileVerdict::Refused
            }
        });
        found.sort_unstable();
        (found, refused)
    }

    #[test]
    fn only_regular_files_of_the_right_name_are_opened() {
        let beside = tempfile::tempdir().expect("folder");
        let mut folder = Folder::make(beside.path()).expect("folder");
        let path = folder.path.clone();
        let at = |name: &str| path.join(name);
        fs::write(at("12-a.itt"), "x").expect("file");
        symlink("/etc/passwd", at("13-a.itt")).expect("link");
        fs::create_dir(at("14-a.itt")).expect("folder");
        fs::write(at("15-a.other"), "x").expect("file");
        fs::write(at("x-a.itt"), "x").expect("file");
        fs::write(at("17-.itt"), "x").expect("file");
        File::create(at("18-a.itt")).and_then(|file| file.set_len(1 << 40)).expect("file");
        fs::write(at("19-a.itt"), "x").and_then(|()| fs::hard_link(at("19-a.itt"), at("20-a.itt"))).expect("file");
        let pipe = CString::new(at("21-a.itt").as_os_str().as_bytes()).expect("path");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RWXU, 0).expect("pipe");
        let (found, refused) = seen(&mut folder);
        assert_eq!(found, [(12, true), (13, false), (14, false), (18, false), (19, false), (20, false), (21, false)]);
        assert_eq!(refused, 9);
        assert_eq!(seen(&mut folder), (vec![], 0), "each is looked at once");
        assert!(!at("12-a.itt").exists(), "what is taken loses its name");
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_collection_left_is_removed() {
        let beside = tempfile::tempdir().expect("folder");
        let left = Path::new(SHARED_MEMORY).join(format!("{PREFIX}{:016x}", nonce()));
        make_folder(&left).and_then(|()| fs::write(left.join("12-a.itt"), "x")).expect("folder");
        let (one, other) = (Folder::make(beside.path()), Folder::make(beside.path()));
        assert!(!left.exists());
        assert!(one.is_ok_and(|folder| folder.path.exists()) && other.is_ok_and(|folder| folder.path.exists()));
    }

    #[test]
    fn what_comes_later_is_seen_and_waiting_ends() {
        let beside = tempfile::tempdir().expect("folder");
        let mut folder = Folder::make(beside.path()).expect("folder");
        seen(&mut folder);
        fs::write(folder.path.join("12-a.itt"), "x").expect("file");
        let mut looks = 0;
        let mut refused = 0;
        for tenth in 0..20 {
            refused += folder.look(tenth * PATIENCE_NS / 10, &mut |_| {
                looks += 1;
                FileVerdict::Later
            });
        }
        assert_eq!((looks, refused), (11, 1), "one more look when it has waited long enough");
    }

    #[test]
    fn names_without_bound_are_not_kept() {
        let beside = tempfile::tempdir().expect("folder");
        let mut folder = Folder::make(beside.path()).expect("folder");
        for number in 0..MOST_NAMES + 100 {
            File::create(folder.path.join(format!("{number}-a.itt"))).expect("file");
        }
        let (mut looks, mut refused) = (0, 0);
        for _ in 0..100 {
            folder.rests_until_ns = 0;
            refused += folder.look(1, &mut |_| {
                looks += 1;
                FileVerdict::Refused
            });
        }
        assert_eq!((looks, refused), (MOST_NAMES, MOST_NAMES as u64 + 1), "that there were more is counted");
    }

    #[test]
    fn a_look_that_took_long_is_not_repeated_soon() {
        let beside = tempfile::tempdir().expect("folder");
        let mut folder = Folder::make(beside.path()).expect("folder");
        (0..8).for_each(|at| drop(File::create(folder.path.join(format!("{at}-a.itt"))).expect("file")));
        let mut looks = 0;
        let slow = &mut |_: &FolderEntry<'_>| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            looks += 1;
            FileVerdict::Later
        };
        for ms in 0..90 {
            folder.look(ms * 1_000_000, slow);
        }
        assert!((1..8).contains(&looks), "{looks} of 8 files of 5 ms each in 20 ms, and a rest after that");
    }

    /// Processes without number come and go in a long collection.
    #[test]
    fn what_is_taken_takes_no_room() {
        let beside = tempfile::tempdir().expect("folder");
        let mut folder = Folder::make(beside.path()).expect("folder");
        let mut taken = 0;
        for number in 0..200 {
            File::create(folder.path.join(format!("{number}-a.itt"))).expect("file");
            taken += seen(&mut folder).0.len();
        }
        assert_eq!((taken, folder.names.len()), (200, 0));
    }

    #[test]
    fn a_programs_word_leads_nowhere_else() {
        for path in
            ["/etc", "/dev/shm", "/dev/shm/../../etc", "/dev/shm/dwell-x/../../etc", "/dev/shm/other", "dwell-1"]
        {
            assert!(Folder::of_program(Path::new(path)).is_err(), "{path}");
        }
        let link = format!("/dev/shm/dwell-link-{}", std::process::id());
        symlink("/etc", &link).expect("link");
        assert!(Folder::of_program(Path::new(&link)).is_err());
        fs::remove_file(&link).expect("link");
    }

    #[test]
    fn files_of_the_dead_go() {
        let beside = tempfile::tempdir().expect("folder");
        let folder = Folder::make(beside.path()).expect("folder");
        let (dead, alive) =
            (folder.path.join("4194999-a.itt"), folder.path.join(format!("{}-a.itt", std::process::id())));
        fs::write(&dead, "x").and_then(|()| fs::write(&alive, "x")).expect("files");
        folder.remove_stale();
        assert!(!dead.exists() && alive.exists());
    }
}
