//! What a command gives up before it reads what others made: root's rights where its user's suffice, and then all but reading
//! and a few places to write ([`dwell_rights::confine`]).
//!
//! Under sudo the process becomes the user's who called it. It stays root's only where that user could not do what was asked for:
//! a result in root's home, say. Then it reads any file, and still writes nowhere else. Finalization, which puts what other files
//! say into the result, runs as the owner of the result's folder, whoever calls it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use dwell_rights::confine::{Needs, confine};
use dwell_store::{Folder, ResultFolder};
use rustix::fs::{Access, AtFlags, CWD, OFlags, accessat};

use crate::error::{Hinted, Result, shell_word};
use crate::owner::Invoker;

/// What a command reads and writes.
#[derive(Debug, Default)]
pub struct Reading {
    reads: Vec<PathBuf>,
    writes: Vec<PathBuf>,
    /// Folders that it writes below, wherever these are by now.
    held: Vec<Folder>,
    fetches: Option<PathBuf>,
    keeps_no_index: bool,
    serves: bool,
}

impl Reading {
    /// Reads the results or traces at these paths, all of which answer.
    pub fn of<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Result<Self> {
        let reads: Vec<PathBuf> = paths.into_iter().map(Path::to_owned).collect();
        await_answers(&reads)?;
        Ok(Self { reads, ..Self::default() })
    }

    /// Writes a file of this name as well; `None` and `-` are standard output.
    pub fn writing_file(mut self, file: Option<&Path>) -> Self {
        let file = file.filter(|file| *file != Path::new("-"));
        self.writes.extend(file.map(|file| if is_device(file) { file.to_owned() } else { folder_of(file) }));
        self
    }

    /// Writes below this folder, or makes it.
    pub fn writing_below(mut self, folder: &Path) -> Self {
        self.writes.push(if folder.is_dir() { folder.to_owned() } else { folder_of(folder) });
        self
    }

    /// Writes below this folder, wherever somebody may have moved it.
    pub fn writing_held(mut self, folder: &Folder) -> Self {
        self.held.push(folder.clone());
        self
    }

    /// Reads folders that are no results, and keeps no index in them.
    pub fn without_index(mut self) -> Self {
        self.keeps_no_index = true;
        self
    }

    /// Asks other machines, and keeps their answers in `cache`.
    pub fn fetching(mut self, cache: Option<PathBuf>) -> Self {
        self.fetches = cache;
        self
    }

    /// Answers on a socket.
    pub fn serving(mut self) -> Self {
        self.serves = true;
        self
    }

    /// Gives up all else, for good. Only while this process has one thread.
    pub fn confine(&self) -> Result<()> {
        if let Some(invoker) = Invoker::of_sudo() {
            let became = invoker.become_user_if(|| self.is_allowed());
            became.map_err(|error| cannot_become(&invoker.name, &error))?;
        }
        self.confine_as_is()
    }

    /// The same where this process finalizes `folder`: as the folder's owner, or not at all. What root alone may read must not get into
    /// a result that is another's.
    pub fn confine_as_owner(&self, folder: &Folder) -> Result<()> {
        let owner = Invoker::of_folder(folder).map_err(|error| cannot_become("the owner of the result", &error))?;
        if let Some(owner) = owner {
            owner.become_user().map_err(|error| cannot_become(&owner.name, &error))?;
        }
        self.confine_as_is()
    }

    /// The same, as whom this process runs.
    pub fn confine_as_is(&self) -> Result<()> {
        if let Some(cache) = &self.fetches {
            let _ = fs::create_dir_all(cache); // who fetches into it says why it is not there
        }
        let caches = dwell_store::caches().filter(|_| !self.keeps_no_index);
        // An index lies in its result, or in the user's caches.
        let results = self.reads.iter().filter(|path| path.is_dir() && !self.keeps_no_index);
        let optional = results.chain(&self.fetches).map(PathBuf::as_path);
        let optional = optional.chain(caches.as_ref().map(Folder::path));
        let optional = optional.chain(self.fetches.is_some().then_some(Path::new("/dev/null"))); // of the programs that fetch
        let places = self.writes.iter().map(PathBuf::as_path).chain(optional);
        let others = |folder: &Folder| !folder.is_this_users();
        let is_of_others = self.writes.iter().any(|path| is_of_others(path)) || self.held.iter().any(others);
        let held = self.held.iter().filter_map(|folder| folder.as_fd().try_clone_to_owned().ok());
        let needs = Needs {
            writes: places.filter_map(place).chain(held).collect(),
            writes_for_others: Invoker::of_sudo().is_some() || is_of_others,
            fetches: self.fetches.is_some(),
            serves: self.serves,
        };
        confine(&needs).map_err(|error| Hinted::new(format!("cannot give up rights: {error}")))
    }

    /// Whether this user may do it all.
    fn is_allowed(&self) -> bool {
        let may = |path: &Path, access| accessat(CWD, path, access, AtFlags::EACCESS).is_ok();
        let read = |path: &PathBuf| match path.is_dir() {
            true => {
                let manifest = || self.keeps_no_index || may(&path.join(MANIFEST), Access::READ_OK);
                may(path, Access::READ_OK | Access::EXEC_OK) && manifest()
            }
            false => may(path, Access::READ_OK),
        };
        let all = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
        self.reads.iter().all(read)
            && self.writes.iter().all(|path| may(path, Access::WRITE_OK))
            && self.held.iter().all(|folder| accessat(folder, c".", all, AtFlags::EACCESS).is_ok())
    }
}

fn cannot_become(user: &str, error: &std::io::Error) -> Hinted {
    Hinted::new(format!("cannot become {user}: {error}")).hint("run it as that user, without sudo")
}

const MANIFEST: &str = "manifest.json";
/// A file system that takes longer does not answer. A disk that spins up takes as long.
const PATIENCE: Duration = Duration::from_secs(10);

/// The same of the results in the current folder, among which a command finds the newest one or the next number.
pub fn await_results_here() -> Result<()> {
    let names = fs::read_dir(".").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let is_numbered = |name: &OsString| {
        let name = name.as_encoded_bytes();
        name.first() == Some(&b'r') && name.get(1).is_some_and(u8::is_ascii_digit)
    };
    await_answers(&names.filter(is_numbered).map(PathBuf::from).collect::<Vec<_>>())
}

/// Waits until all of the paths can be looked at, in a thread: looking may block for good, where a server is gone or a disk hangs.
/// Call it before anything else is asked of them.
pub fn await_answers(paths: &[impl AsRef<Path>]) -> Result<()> {
    let (sender, answers) = channel();
    let asked: Vec<PathBuf> = paths.iter().map(|path| path.as_ref().to_owned()).collect();
    let look = move || {
        for path in asked {
            let _ = fs::metadata(path.join(MANIFEST)).or_else(|_| fs::metadata(&path)); // whoever reads it says what is wrong
            let _ = sender.send(()); // nobody waits any more after the first that hangs
        }
    };
    // Without a thread to spare, whoever reads them waits.
    let Ok(looking) = thread::Builder::new().name("looking".into()).spawn(look) else { return Ok(()) };
    for path in paths.iter().map(AsRef::as_ref) {
        if answers.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let message = format!("{}: its file system does not answer", path.display());
            return Err(
                Hinted::new(message).hint(format!("see whether `ls {}` does", shell_word(&path.to_string_lossy())))
            );
        }
    }
    let _ = looking.join(); // it looked at all: there is one thread again
    Ok(())
}

/// Opens a result to read it, and gives up all that this does not need.
pub fn open(path: &Path, output: Option<&Path>) -> Result<ResultFolder> {
    Reading::of([path])?.writing_file(output).confine()?;
    Ok(ResultFolder::open(path)?)
}

/// Without opening it: who could write there is not asked, and a device does nothing.
fn place(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    File::options().read(true).custom_flags(flags.bits() as i32).open(path).ok().map(OwnedFd::from)
}

fn is_of_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.uid() != rustix::process::geteuid().as_raw())
}

/// Whether the path is written in place: /dev/stdout, a named pipe.
pub fn is_device(path: &Path) -> bool {
    let special = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    special || path.starts_with("/dev") || path.starts_with("/proc")
}

fn folder_of(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_owned()
}
