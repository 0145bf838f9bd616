//! The ids of system calls' tracepoints: from tracefs where it can be read, else from a file that an earlier collection left
//! in the user's caches, else by trial.
//!
//! The trial opens every tracepoint that this user may, makes each call with arguments that fail, and looks which of them
//! counted. It is a process of its own, since it takes the kernel half a minute to close them: see `closing.rs`.
#![allow(unsafe_code, reason = "fork, and nothing but system calls behind it")]

use std::collections::HashMap;
use std::ffi::CStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

use super::calls::{EVERY, TracedCall};
use super::closing::{self, Lock};
use super::events::IOC_SET_FILTER;
use crate::kernel::perf::{self, Attributes};

/// Ids of tracepoints are below this.
const MOST_IDS: usize = 8192;
/// How often the trial makes a call: more often than it makes any other between two looks.
const REPEATED: u64 = 4096;
const TYPE_TRACEPOINT: u32 = 2;
const SAMPLE_RAW: u64 = 1 << 10;
const MOST_CACHE_BYTES: u64 = 64 << 10;
/// Filters that the kernel takes where a tracepoint has such a field: exits of calls, those of a single call, [`EVERY`].
const OF_EXITS: &CStr = c"ret == 0";
const OF_ONE_CALL: &CStr = c"__syscall_nr == 0";
const OF_EVERY: &CStr = c"id == 0";

/// Tracepoint ids by the numbers of the calls whose entry they trace; empty where none could be found.
pub type TracepointIds = HashMap<i32, u64>;

/// Finds the tracepoints of these calls, or [`EVERY`] if that is among them.
pub fn find(calls: &[TracedCall], lock: Option<&Lock>) -> TracepointIds {
    let known = from_tracefs(calls);
    if !known.is_empty() {
        return known;
    }
    let cache = cache_file();
    let wants_every = calls.contains(&EVERY);
    let cached = cache.as_deref().and_then(|path| read_cache(path, calls)).unwrap_or_default();
    if !cached.is_empty() && (!wants_every || cached.contains_key(&EVERY.number)) {
        return cached;
    }
    let found = by_trial(calls, lock).unwrap_or_default();
    if let Some(path) = cache.filter(|_| !found.is_empty() && has_descriptors_for_all()) {
        // Without it the next collection tries again.
        let _ = write_cache(&path, calls, &found);
    }
    found
}

/// Whether the trial could open every tracepoint that there may be.
fn has_descriptors_for_all() -> bool {
    getrlimit(Resource::Nofile).maximum.is_none_or(|most| most > MOST_IDS as u64)
}

fn from_tracefs(calls: &[TracedCall]) -> TracepointIds {
    let id = |root: &str, name: &str| {
        let event = if name == EVERY.name { "raw_syscalls/sys_enter" } else { &format!("syscalls/sys_enter_{name}") };
        let text = fs::read_to_string(format!("{root}/events/{event}/id")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let under = |root: &str| calls.iter().filter_map(|call| Some((call.number, id(root, call.name)?))).collect();
    let found: TracepointIds = under("/sys/kernel/tracing");
    if found.is_empty() { under("/sys/kernel/debug/tracing") } else { found }
}

/// One file for each build of a kernel: its tracepoints are numbered as it was linked.
fn cache_file() -> Option<PathBuf> {
    let version = fs::read_to_string("/proc/version").ok()?;
    let hash = version.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3) // FNV-1a
    });
    Some(cache_folder()?.join(format!("tracepoints-{hash:016x}")))
}

/// The folder of all collections of this user.
pub fn cache_folder() -> Option<PathBuf> {
    let caches = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = caches.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    Some(caches.join("dwell"))
}

/// How many calls were tried, then a line for each call that was found: name and id. A file of somebody else is not
/// read; a wrong id traces another call, whose records tell their own number.
fn read_cache(path: &Path, calls: &[TracedCall]) -> Option<TracepointIds> {
    let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let own = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_file() || !own || metadata.len() > MOST_CACHE_BYTES {
        return None;
    }
    let mut text = String::new();
    file.take(MOST_CACHE_BYTES).read_to_string(&mut text).ok()?;
    let entry = |line: &str| {
        let (name, id) = line.split_once(' ')?;
        let call = calls.iter().find(|call| call.name == name)?;
        let id = id.parse().ok().filter(|&id| (1..MOST_IDS as u64).contains(&id))?;
        Some((call.number, id))
    };
    let mut lines = text.lines();
    // An older Dwell tried fewer.
    let tried: usize = lines.next()?.parse().ok()?;
    (tried >= calls.len()).then(|| lines.filter_map(entry).collect())
}

fn write_cache(path: &Path, calls: &[TracedCall], found: &TracepointIds) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
    let line = |call: &TracedCall| Some(format!("{} {}\n", call.name, found.get(&call.number)?));
    let text = format!("{}\n{}", calls.len(), calls.iter().filter_map(line).collect::<String>());
    // Two collections may end their trials at once: the file is whole at any time.
    let own = path.with_extension(std::process::id().to_string());
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&own)?;
    file.write_all(text.as_bytes()).and_then(|()| fs::rename(&own, path)).inspect_err(|_| {
        let _ = fs::remove_file(&own);
    })
}

/// What the trial works with: made before the fork, since nothing can be allocated behind it.
struct Trial {
    numbers: Vec<(i32, bool)>,
    events: Vec<i32>,
    counts: Vec<u64>,
    is_known: Vec<bool>,
    found: Vec<u64>,
    /// Where among them [`EVERY`] is.
    every: Option<usize>,
    attributes: Attributes,
}

fn by_trial(calls: &[TracedCall], lock: Option<&Lock>) -> io::Result<TracepointIds> {
    let mut trial = Trial {
        numbers: calls.iter().map(|call| (call.number, call.can_be_tried)).collect(),
        events: vec![-1; MOST_IDS],
        counts: vec![0; MOST_IDS],
        is_known: vec![false; MOST_IDS],
        found: vec![0; calls.len()],
        every: calls.iter().position(|call| *call == EVERY),
        attributes: Attributes {
            ty: TYPE_TRACEPOINT,
            size: size_of::<Attributes>() as u32,
            sample_type: SAMPLE_RAW,
            flags: if calls.contains(&EVERY) { 0 } else { perf::FLAG_EXCLUDE_KERNEL },
            ..Attributes::default()
        },
    };
    let (reader, writer) = io::pipe()?;
    let lock = lock.map(Lock::path).unwrap_or_default();
    // SAFETY: system calls only. Tracepoints that no plain user may open take the right.
    unsafe { closing::in_own_process(&[dwell_rights::PERFMON], || trial.run(writer.as_raw_fd(), &lock)) };
    drop(writer);
    let mut bytes = Vec::new();
    reader.take(size_of_val(trial.found.as_slice()) as u64).read_to_end(&mut bytes)?;
    let ids = bytes.chunks_exact(8).map(|id| id.iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte)));
    Ok(calls.iter().map(|call| call.number).zip(ids).filter(|(_, id)| *id != 0).collect())
}

/// Descriptors of the trial's process: where it writes the ids, and the lock of who closes tracepoints.
const RESULTS: i32 = 3;
const LOCK: i32 = 4;

/// A copy of the descriptor, beyond these two.
unsafe fn high(fd: i32) -> i32 {
    // SAFETY: plain numbers.
    unsafe { libc::fcntl(fd, libc::F_DUPFD, LOCK + 1) }
}

impl Trial {
    /// Runs in a process of its own, writes the ids to `out`, and closes the tracepoints when it may.
    ///
    /// # Safety
    /// Behind a fork: system calls only, and no memory is allocated.
    unsafe fn run(&mut self, out: i32, lock: &CStr) {
        // SAFETY: plain numbers, and memory that is there.
        unsafe {
            libc::setsid();
            // Who reads what Dwell prints must not wait for this process.
            let (out, lock) = (high(out), high(closing::open(lock)));
            libc::dup2(out, RESULTS);
            if libc::dup2(lock, LOCK) < 0 {
                libc::close(LOCK); // without a lock, what the collector has under this number
            }
            libc::syscall(libc::SYS_close_range, LOCK + 1, u32::MAX, 0);
            (0..RESULTS).for_each(|fd| {
                libc::close(fd);
            });
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
            for id in 1..MOST_IDS {
                self.events[id] = self.open(id, 0);
            }
            for index in 0..self.numbers.len() {
                let (number, can_be_tried) = self.numbers[index];
                if can_be_tried {
                    self.try_call(index, number);
                }
            }
            for index in 0..self.numbers.len() {
                let (number, _) = self.numbers[index];
                if i64::from(number) == libc::SYS_exit || i64::from(number) == libc::SYS_exit_group {
                    self.try_ending(index, number);
                }
            }
            libc::write(RESULTS, self.found.as_ptr().cast(), size_of_val(self.found.as_slice()));
            libc::close(RESULTS);
            closing::close(LOCK, &self.events);
        }
    }

    unsafe fn open(&mut self, id: usize, pid: i32) -> i32 {
        self.attributes.config = id as u64;
        // SAFETY: `attributes` is a valid perf_event_attr of the size that it states.
        unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const self.attributes, pid, -1, -1, 0) as i32 }
    }

    unsafe fn count(event: i32) -> u64 {
        let mut count = 0u64;
        // SAFETY: reads at most 8 bytes into a valid place.
        unsafe { libc::read(event, (&raw mut count).cast(), 8) };
        count
    }

    unsafe fn try_call(&mut self, index: usize, number: i32) {
        // SAFETY: the events are ours, and so are the lists; calls with such arguments change nothing.
        unsafe {
            for id in 1..MOST_IDS {
                self.counts[id] = if self.events[id] >= 0 { Self::count(self.events[id]) } else { 0 };
            }
            for _ in 0..REPEATED {
                libc::syscall(i64::from(number), -1i64, -1i64, -1i64, -1i64, -1i64, -1i64);
            }
            for id in 1..MOST_IDS {
                let event = self.events[id];
                if event < 0 || Self::count(event) - self.counts[id] < REPEATED {
                    continue;
                }
                self.is_known[id] = true;
                let has = |filter: &CStr| libc::ioctl(event, IOC_SET_FILTER, filter.as_ptr()) >= 0;
                if has(OF_EXITS) {
                    continue;
                }
                match self.every {
                    _ if has(OF_ONE_CALL) => self.found[index] = id as u64,
                    Some(every) if has(OF_EVERY) => self.found[every] = id as u64,
                    _ => {}
                }
            }
        }
    }

    /// Of a call that does not return: it is the last one that a process makes.
    unsafe fn try_ending(&mut self, index: usize, number: i32) {
        let mut ends = [0; 2];
        // SAFETY: as above; the child makes two calls.
        unsafe {
            if libc::pipe2(ends.as_mut_ptr(), 0) != 0 {
                return;
            }
            let child = libc::fork();
            if child == 0 {
                let mut byte = 0u8;
                libc::read(ends[0], (&raw mut byte).cast(), 1);
                libc::syscall(i64::from(number), 0);
            }
            let (mut candidate, mut candidates) = (0, 0);
            for id in 1..MOST_IDS {
                let is_open = self.events[id] >= 0 && !self.is_known[id];
                self.counts[id] = if is_open { self.open(id, child).cast_unsigned().into() } else { u64::MAX };
            }
            libc::write(ends[1], [0u8].as_ptr().cast(), 1);
            libc::waitpid(child, std::ptr::null_mut(), 0);
            for id in 1..MOST_IDS {
                let event = self.counts[id] as i32;
                if event >= 0 && Self::count(event) > 0 {
                    (candidate, candidates) = (id as u64, candidates + 1);
                }
                libc::close(event);
            }
            if candidates == 1 {
                self.found[index] = candidate;
                self.is_known[candidate as usize] = true;
            }
            libc::close(ends[0]);
            libc::close(ends[1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_read_as_it_was_written_and_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("dwell/tracepoints-1");
        let calls = super::super::calls::all();
        let found = HashMap::from([(202, 522), (0, 841)]);
        write_cache(&path, &calls, &found).expect("written");
        assert_eq!(read_cache(&path, &calls), Some(found));
        fs::write(&path, "500\nfutex 99999999\nread -1\nno such\n\0\u{fffd}\npoll 7").expect("written");
        assert_eq!(read_cache(&path, &calls), Some(HashMap::from([(7, 7)])));
        fs::write(&path, "5\npoll 7").expect("written");
        assert_eq!(read_cache(&path, &calls), None);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        assert_eq!(read_cache(&link, &calls), None);
    }
}
