//! What /proc tells of processes: their mappings, arguments and threads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use bytemuck::Zeroable;
use dwell_store::raw::wire::{MapHeader, RecordHeader, kind};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::clock::{StartTime, suspended_ns, ticks_per_second};
use crate::kernel::perf::Mapping;

/// Processes whose program has this base name, kernel threads left out; `own_only` = and those that this user may not look at.
pub fn pids_named(name: &str, own_only: bool) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let own = std::process::id();
    let mut named: Vec<u32> = pids.filter(|&pid| pid != own && is_named(pid, name)).collect();
    if own_only && named.iter().any(|&pid| may_look_at(pid)) {
        named.retain(|&pid| may_look_at(pid));
    }
    named.sort_unstable();
    named
}

/// Whether process `pid` is there and may be recorded; `own_only` = only if this user may look at it.
pub fn may_record(pid: u32, own_only: bool) -> bool {
    is_alive(pid) && (!own_only || may_look_at(pid))
}

/// These processes, and all that live and descend from them, this one and what it started left out; of the descendants only those
/// that this user may look at, with `own_only`.
pub fn with_descendants(pids: &[u32], own_only: bool) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in all.filter(|pid| *pid != std::process::id()) {
        if let Some(parent) = parent_of(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut family = pids.to_vec();
    let mut known: BTreeSet<u32> = pids.iter().copied().collect();
    let mut next = 0;
    while let Some(pid) = family.get(next) {
        let new = children.remove(pid).unwrap_or_default().into_iter();
        // One that ends while Dwell attaches is nobody's mistake.
        let new = new.filter(|pid| known.insert(*pid) && is_alive(*pid) && (!own_only || may_look_at(*pid)));
        family.extend(new.collect::<Vec<_>>());
        next += 1;
    }
    family
}

/// The 4th field of proc_pid_stat(5); the name in parentheses before it is the program's choice.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(1)?.parse().ok()
}

fn is_named(pid: u32, name: &str) -> bool {
    let executable = fs::read_link(format!("/proc/{pid}/exe")).ok();
    let base = executable.as_deref().and_then(|path| path.file_name());
    let comm = self::name(pid).unwrap_or_default();
    base.is_some_and(|base| base == name || comm == name)
}

/// Whether the process is there and has not ended, as far as `/proc` shows it: `hidepid` may hide it.
pub fn is_alive(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return is_there(pid);
    };
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// When a process began, in ticks since the machine was started: with its id, what tells it from every other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStart(u64);

impl ProcessStart {
    /// Whether it began after `time_ns`, CLOCK_MONOTONIC. Within a tick, 10 ms mostly, the answer is no.
    pub fn is_after(self, time_ns: u64) -> bool {
        self.boot_ns() > time_ns.saturating_add(suspended_ns())
    }

    /// The same as a birth, to a tick.
    pub fn birth(self) -> StartTime {
        StartTime::at_boot(self.boot_ns())
    }

    /// On CLOCK_BOOTTIME.
    fn boot_ns(self) -> u64 {
        self.0.saturating_mul(1_000_000_000 / ticks_per_second())
    }
}

/// When the process began that has this id now.
pub fn began(pid: u32) -> Option<ProcessStart> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses is the program's choice. The field is the 22nd, starttime of proc_pid_stat(5).
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(19)?.parse().ok().map(ProcessStart)
}

/// Whether some process has this id, one that has ended and was not waited for included.
pub fn is_there(pid: u32) -> bool {
    let id = i32::try_from(pid).ok().and_then(Pid::from_raw);
    id.is_some_and(|id| !matches!(test_kill_process(id), Err(Errno::SRCH)))
}

/// Whether this user may look at a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Allowed,
    Forbidden,
    /// It has ended, or `hidepid` hides it.
    Gone,
}

/// Whether this user may look at the process without any capability in force: the kernel's own rule, that of ptrace(2).
pub fn look_at(pid: u32) -> Look {
    let has_program = |tid: &u32| fs::read_link(format!("/proc/{pid}/task/{tid}/exe")).is_ok();
    match fs::read_link(format!("/proc/{pid}/exe")) {
        Ok(_) => Look::Allowed,
        // The first thread of a process may have ended before the others.
        Err(error) if is_gone(&error) && !threads(pid).iter().any(has_program) => Look::Gone,
        Err(error) if is_gone(&error) => Look::Allowed,
        Err(_) => Look::Forbidden,
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::SRCH))
}

/// The same: whether it is there, and allowed.
pub fn may_look_at(pid: u32) -> bool {
    look_at(pid) == Look::Allowed
}

/// The threads of a process; none when it has ended.
pub fn threads(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The name of a process, as the kernel has it: at most 15 bytes.
pub fn name(pid: u32) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.strip_suffix('\n')?.to_owned())
}

/// The arguments, zero-separated.
pub fn command_line(pid: u32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// The path of the program that the process runs: that by which it was started, where its name is a link beside the file,
/// as `redis-server` is one to `redis-check-rdb`.
pub fn executable(pid: u32) -> Vec<u8> {
    let link = format!("/proc/{pid}/exe");
    let Ok(path) = fs::read_link(&link) else { return Vec::new() };
    let name = name(pid).unwrap_or_default();
    let named = path.with_file_name(name);
    let inside = format!("/proc/{pid}/root{}", named.display());
    let is_same = is_same_file(Path::new(&link), Path::new(&inside));
    if is_same { named } else { path }.into_os_string().into_vec()
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let id = |path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    id(a).is_some_and(|a| id(b) == Some(a))
}

/// The executable mappings of a process that runs already.
pub fn mappings(pid: u32, time_ns: u64) -> Vec<Mapping> {
    mappings_of(&fs::read(format!("/proc/{pid}/maps")).unwrap_or_default(), pid, time_ns)
}

/// The executable mappings in the text of `/proc/PID/maps`.
pub fn mappings_of(text: &[u8], pid: u32, time_ns: u64) -> Vec<Mapping> {
    text.split(|&byte| byte == b'\n').filter_map(|line| parse_mapping(line, pid, time_ns)).collect()
}

/// `start-end perms offset major:minor inode   path`
fn parse_mapping(line: &[u8], pid: u32, time_ns: u64) -> Option<Mapping> {
    let text = String::from_utf8_lossy(line);
    let mut fields = text.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?;
    let offset = u64::from_str_radix(fields.next()?, 16).ok()?;
    let (major, minor) = fields.next()?.split_once(':')?;
    let inode = fields.next()?.parse().ok()?;
    let path = fields.next()?.trim_start();
    if permissions.as_bytes().get(2) != Some(&b'x') {
        return None;
    }
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    let header = MapHeader {
        h: RecordHeader { kind: kind::MAP, size: 0, tid: pid, time_ns },
        start,
        length: end.checked_sub(start)?,
        file_offset: offset,
        inode,
        device: u32::from_str_radix(major, 16).ok()? << 20 | u32::from_str_radix(minor, 16).ok()?,
        protection: 5,
        ..MapHeader::zeroed()
    };
    Some(Mapping { header, path: path.as_bytes().to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_mappings_of_this_process_are_read() {
        let own = mappings(std::process::id(), 7);
        assert!(own.iter().any(|mapping| mapping.path.ends_with(b"libc.so.6")));
        assert!(own.iter().all(|mapping| mapping.header.length > 0 && mapping.header.h.time_ns == 7));
    }

    #[test]
    fn a_program_has_the_name_by_which_it_was_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        // By another program: a test that forks meanwhile would keep what this one writes to, and nobody could execute it.
        let copied = std::process::Command::new("cp").arg("/usr/bin/sleep").arg(&file).status().expect("cp");
        assert!(copied.success());
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        for started in [&file, &link] {
            let mut child = std::process::Command::new(started).arg("60").spawn().expect("a process");
            let found = executable(child.id());
            child.kill().and_then(|()| child.wait()).expect("ended");
            assert_eq!(found, started.as_os_str().as_encoded_bytes());
        }
    }

    #[test]
    fn a_process_is_told_by_when_it_began() {
        let (own, now) = (began(std::process::id()).expect("this process"), crate::clock::monotonic_ns());
        assert!(!own.is_after(now) && own.is_after(0));
        assert_eq!(began(std::process::id()), Some(own));
        assert!(is_there(std::process::id()) && !is_there(0) && !is_there(u32::MAX));
    }

    #[test]
    fn only_executable_lines_count() {
        assert!(parse_mapping(b"1000-2000 rw-p 00000000 08:01 5   /x", 1, 0).is_none());
        assert!(parse_mapping(b"2000-1000 r-xp 00000000 08:01 5   /x", 1, 0).is_none());
        assert!(parse_mapping(b"garbage", 1, 0).is_none());
        let mapping = parse_mapping(b"1000-2000 r-xp 00000100 08:01 5   /a b", 1, 0).expect("good line");
        assert_eq!((mapping.header.file_offset, mapping.path.as_slice()), (0x100, b"/a b".as_slice()));
    }
}
