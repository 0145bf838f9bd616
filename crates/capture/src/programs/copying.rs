//! Copies files of the profiled program into the result, beside the collection: a drain must not wait for a disk, nor for
//! a file system that the program itself serves.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, UNIX_EPOCH};

use dwell_store::Folder;

use crate::clock::StartTime;
use crate::options::User;
use crate::programs::reopening::FileReopener;
use crate::programs::view::open_owned;

/// No file larger than this is copied whole …
const MOST_FILE_BYTES: u64 = 256 << 20;
/// … and no more than this in all.
const MOST_BYTES: u64 = 1 << 30;
/// Open files that wait to be copied at most, so that descriptors are left for everything else.
const MOST_OPEN: usize = 400;
/// How long the end of the collection waits for copies.
const PATIENCE: Duration = Duration::from_secs(20);

/// How far a file's times may lie before the clock's: file systems take the time of the last tick, FAT an even second, a server its own.
const CLOCKS_DIFFER: Duration = Duration::from_secs(3);

/// Where a file's contents come from.
pub enum CopyOrigin {
    /// A file that is open.
    File(File),
    /// A file that may be in this folder, by its name. It must belong to one of the owners, and one that was written before its
    /// process was born is an earlier process's with the same id.
    Named { folder: Arc<OwnedFd>, name: String, owners: Vec<u32>, born: Option<StartTime> },
}

/// What is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopySubject {
    /// A map or log of run-time code: the part that fits is better than nothing.
    JitMap,
    /// A file with code: whole, or not at all.
    Module,
}

/// How many files of a kind were to be copied, and are.
#[derive(Default)]
struct Count {
    wanted: AtomicU64,
    done: AtomicU64,
}

struct Job {
    origin: CopyOrigin,
    target: String,
    what: CopySubject,
}

/// The thread that copies. Dropping this leaves unfinished copies behind.
pub struct Copying {
    jobs: Option<Sender<Job>>,
    finished: Receiver<()>,
    counts: Arc<[Count; 2]>,
    /// Open files that wait.
    open: Arc<AtomicUsize>,
}

impl Copying {
    /// Starts the thread, which copies into `folder` what `owner`, or without one this process's user, may read. Where no thread can
    /// be made, all copies are counted as not done.
    pub fn start(folder: Folder, owner: Option<User>) -> Self {
        let (jobs, inbox) = channel::<Job>();
        let (finish, finished) = channel();
        let counts: Arc<[Count; 2]> = Arc::default();
        let done = Arc::clone(&counts);
        let open = Arc::new(AtomicUsize::new(0));
        let (waiting, target) = (Arc::clone(&open), folder);
        let is_roots = owner.is_none() && rustix::process::geteuid().is_root();
        let reopening = (!is_roots).then(|| FileReopener::start(owner));
        let work = move || {
            // What it opens is the profiled program's, and where it writes the user's.
            if dwell_rights::confine::keep_to_copy().is_err() {
                return;
            }
            let mut bytes_left = MOST_BYTES;
            for job in inbox {
                let (what, opened) = (job.what, usize::from(matches!(job.origin, CopyOrigin::File(_))));
                let copied = copy(job, &target, &mut bytes_left, &reopening);
                waiting.fetch_sub(opened, Ordering::Relaxed);
                if copied.is_ok() {
                    done[what as usize].done.fetch_add(1, Ordering::Relaxed);
                }
            }
            let _ = finish.send(()); // nobody waits any more when that took too long
        };
        let started = std::thread::Builder::new().spawn(work);
        Self { jobs: started.is_ok().then_some(jobs), finished, counts, open }
    }

    /// Copies a file to the file `target` of the folder, some time later.
    pub fn copy(&self, origin: CopyOrigin, target: String, what: CopySubject) {
        self.counts[what as usize].wanted.fetch_add(1, Ordering::Relaxed);
        if matches!(origin, CopyOrigin::File(_)) {
            if self.open.load(Ordering::Relaxed) >= MOST_OPEN {
                return; // counted as not done
            }
            self.open.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(Job { origin, target, what }); // without the thread, it is counted as not done
        }
    }

    /// Waits for what was to be copied. Returns how many maps of code and how many modules were not.
    pub fn finish(&mut self) -> (u64, u64) {
        self.jobs = None;
        let _ = self.finished.recv_timeout(PATIENCE);
        let lost = |what: CopySubject| {
            let count = &self.counts[what as usize];
            count.wanted.load(Ordering::Relaxed).saturating_sub(count.done.load(Ordering::Relaxed))
        };
        (lost(CopySubject::JitMap), lost(CopySubject::Module))
    }
}

/// Who opens files once more before they are copied; none where the result is root's.
type Reader = Option<io::Result<FileReopener>>;

fn copy(job: Job, folder: &Folder, bytes_left: &mut u64, reader: &Reader) -> io::Result<()> {
    let source = match job.origin {
        CopyOrigin::File(file) => file,
        CopyOrigin::Named { folder, name, owners, born } => match open_owned(folder.as_fd(), &name, &owners) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Ok(file) if is_older(&file, born) => return Ok(()),
            opened => opened?,
        },
    };
    let mut source = match reader {
        None => source,
        Some(Ok(reopening)) => reopening.reopen(source)?,
        Some(Err(_)) => return Err(io::ErrorKind::PermissionDenied.into()), // nobody can tell what the user may read
    };
    let limit = MOST_FILE_BYTES.min(*bytes_left);
    let bytes = source.metadata()?.len();
    if bytes > limit && job.what == CopySubject::Module {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    source.rewind()?; // its headers were read
    let copied = write(source, limit, (folder, &job.target))?;
    *bytes_left -= copied.min(*bytes_left);
    if copied < bytes { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
}

/// Whether the file was last changed before `born`. What is restored or copied may have been written before.
fn is_older(file: &File, born: Option<StartTime>) -> bool {
    let changed = |file: &Metadata| {
        let since_1970 = Duration::new(u64::try_from(file.ctime()).ok()?, u32::try_from(file.ctime_nsec()).ok()?);
        Some(file.modified().ok()?.max(UNIX_EPOCH + since_1970))
    };
    let changed = file.metadata().ok().as_ref().and_then(changed);
    changed.zip(born).is_some_and(|(changed, born)| changed + CLOCKS_DIFFER < born.earliest())
}

/// Under another name until it is done: half a file would be taken for a whole one, also when the collection ends meanwhile.
fn write(source: File, limit: u64, (folder, name): (&Folder, &str)) -> io::Result<u64> {
    if folder.has(name) {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let part = format!("{name}.part");
    let mut target = folder.create_file(&part)?;
    let copied = io::copy(&mut source.take(limit), &mut target);
    let copied = copied.and_then(|bytes| folder.rename(&part, name).map(|()| bytes));
    if copied.is_err() {
        let _ = folder.remove(&part); // the copy counts as not done
    }
    copied
}

#[cfg(test)]
mod tests {
    use crate::clock::monotonic_ns;

    use super::*;

    #[test]
    fn files_are_copied_and_what_cannot_be_is_counted() {
        let folder = tempfile::tempdir().expect("folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("perf-1.map"), "1000 10 f\n").expect("file");
        let large = File::create(path("large")).expect("file");
        large.set_len(MOST_FILE_BYTES + 1).expect("a sparse file");
        let owners = vec![folder.path().metadata().expect("metadata").uid()];
        let born_at = |name: &str, born: Option<StartTime>| {
            let folder: OwnedFd = File::open(folder.path()).expect("folder").into();
            CopyOrigin::Named { folder: folder.into(), name: name.into(), owners: owners.clone(), born }
        };
        let named = |name: &str| born_at(name, None);
        let mut copying = Copying::start(Folder::open(folder.path()).expect("folder"), None);
        copying.copy(named("perf-1.map"), "copy".into(), CopySubject::JitMap);
        copying.copy(named("perf-2.map"), "none".into(), CopySubject::JitMap);
        copying.copy(named("perf-1.map"), "copy".into(), CopySubject::JitMap); // is there already
        let born = |after_s: u64| Some(StartTime::at(monotonic_ns() + after_s * 1_000_000_000));
        copying.copy(born_at("perf-1.map", born(0)), "its own".into(), CopySubject::JitMap);
        copying.copy(born_at("perf-1.map", born(60)), "a stranger's".into(), CopySubject::JitMap);
        copying.copy(CopyOrigin::File(File::open(path("large")).expect("file")), "module".into(), CopySubject::Module);
        assert_eq!(copying.finish(), (1, 1));
        assert_eq!(std::fs::read_to_string(path("copy")).expect("copy"), "1000 10 f\n");
        assert!(path("its own").exists());
        assert!(["none", "module", "a stranger's"].iter().all(|name| !path(name).exists()));
    }

    #[test]
    fn a_copy_that_breaks_off_leaves_nothing() {
        let folder = tempfile::tempdir().expect("folder");
        let (target, held) = (folder.path().join("a.elf"), Folder::open(folder.path()).expect("folder"));
        let unreadable = File::open(folder.path()).expect("a folder cannot be read as a file");
        assert!(write(unreadable, 100, (&held, "a.elf")).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 0);
        let (reader, mut writer) = io::pipe().expect("pipe");
        let copy = std::thread::spawn(move || write(OwnedFd::from(reader).into(), 100, (&held, "a.elf")));
        let part = folder.path().join("a.elf.part");
        while !part.exists() {
            std::thread::yield_now();
        }
        io::Write::write_all(&mut writer, b"half").expect("written");
        assert!(!target.exists(), "not before it is whole");
        drop(writer);
        assert_eq!(copy.join().expect("copied").expect("copied"), 4);
        assert!(target.exists() && !part.exists());
    }
}
