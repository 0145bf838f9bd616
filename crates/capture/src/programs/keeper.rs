//! Keeps what finalization could not read any more: maps of run-time code, which end with their process, and files with
//! code that their path does not lead to, because they are in another mount namespace, were deleted or replaced.
//!
//! A mapped file is held open, once per build. It is copied when its path on this machine leads to another file: at once
//! for what is hidden from us, at the end for what was replaced meanwhile. What is where it was is never copied.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use dwell_files::open_regular;
use dwell_model::losses;
use dwell_store::{Folder, KeptFile, module_identity};
use dwell_unwind::build_id_of;

use crate::clock::StartTime;
use crate::kernel::namespace::ids_of;
use crate::kernel::perf::Mapping;
use crate::options::User;
use crate::programs::copying::{CopyOrigin, CopySubject, Copying};
use crate::programs::proc::{self, ProcessStart};
use crate::programs::view::{ProcessFiles, is_owned};

/// Files held open at most, so that descriptors are left for everything else.
const MOST_HELD: usize = 300;
/// Logs of run-time code that one process may have.
const MOST_DUMPS: usize = 8;
/// Users that a process was seen as, at most.
const MOST_OWNERS: usize = 4;

/// A process's side of it.
#[derive(Clone, Default)]
struct Process {
    view: Option<Rc<ProcessFiles>>,
    /// Its id in its own pid namespace, 0 when unknown.
    inner_pid: u32,
    owners: Vec<u32>,
    /// When it began; `None` when unknown.
    born: Option<StartTime>,
}

struct Dump {
    tgid: u32,
    time_ns: u64,
    file: File,
}

struct HeldFile {
    path: PathBuf,
    file: File,
    build_id: Vec<u8>,
}

/// See the module.
pub struct FileKeeper {
    processes: HashMap<u32, Process>,
    /// Processes that ended since the last round; their mappings may still be told.
    ended: Vec<u32>,
    views: Vec<Rc<ProcessFiles>>,
    dumps: Vec<Dump>,
    /// By identity; `None` for what is copied already, or cannot be.
    files: HashMap<String, Option<HeldFile>>,
    copying: Copying,
    dumps_lost: u64,
    files_lost: u64,
    processes_closed: u64,
}

impl FileKeeper {
    /// Keeps files in `folder`, the result's folder of modules, as far as `owner` of the result may read them.
    pub fn new(folder: Folder, owner: Option<User>) -> Self {
        Self {
            processes: HashMap::new(),
            ended: Vec::new(),
            views: Vec::new(),
            dumps: Vec::new(),
            files: HashMap::new(),
            copying: Copying::start(folder, owner),
            dumps_lost: 0,
            files_lost: 0,
            processes_closed: 0,
        }
    }

    /// Process `tgid` runs another program since `time_ns`, or is new to us. It is looked at if it `is_still` there.
    pub fn program(&mut self, tgid: u32, time_ns: u64, is_still: bool) {
        self.end_program(tgid, time_ns.saturating_sub(1));
        self.ended.retain(|&ended| ended != tgid);
        let known = self.processes.get(&tgid).and_then(|process| process.born);
        let mut process = Process { born: known, ..Process::default() };
        if is_still {
            process.born = known.or_else(|| proc::began(tgid).map(ProcessStart::birth));
            self.look_at(tgid, &mut process);
        }
        self.processes.insert(tgid, process);
    }

    /// A thread of process `tgid` came; `parent` forked the process when that is another one, at `born_ns` where this was seen.
    pub fn thread_new(&mut self, tgid: u32, parent: u32, born_ns: Option<u64>) {
        if self.ended.contains(&tgid) {
            self.end_round(); // the id is used again
        }
        if let Some(process) = self.processes.get_mut(&tgid) {
            return note_owner(tgid, process);
        }
        let mut process = self.processes.get(&parent).cloned().unwrap_or_default();
        process.born = born_ns.map(StartTime::at);
        // The child of a process in the same pid namespace as ours has the id that we know; others are asked.
        if process.inner_pid == parent && parent != 0 {
            process.inner_pid = tgid;
            note_owner(tgid, &mut process);
        } else {
            process.inner_pid = 0;
            self.look_at(tgid, &mut process);
        }
        self.processes.insert(tgid, process);
    }

    /// Process `tgid` ended; it is `time_ns` now.
    pub fn exit(&mut self, tgid: u32, time_ns: u64) {
        self.end_program(tgid, time_ns);
        self.ended.push(tgid);
    }

    /// Forgets the processes that ended.
    pub fn end_round(&mut self) {
        if self.ended.is_empty() {
            return;
        }
        for tgid in self.ended.drain(..) {
            self.processes.remove(&tgid);
        }
        self.views.retain(|view| Rc::strong_count(view) > 1);
    }

    /// A file was mapped executable. Adds the build id that the kernel did not tell.
    pub fn mapped(&mut self, mapping: &mut Mapping) {
        if !is_file(&mapping.path) {
            return;
        }
        if is_dump(&mapping.path) {
            return self.hold_dump(mapping);
        }
        let known = identity(mapping).is_some_and(|identity| self.files.contains_key(&identity));
        if known && mapping.header.build_id_bytes > 0 {
            return;
        }
        let Some(file) = self.open(mapping) else { return self.lose(mapping) };
        if mapping.header.build_id_bytes == 0 {
            add_build_id(mapping, &file);
        }
        let build_id = build_id(mapping).to_vec();
        let Some(identity) = identity(mapping) else { return };
        if self.files.contains_key(&identity) {
            return;
        }
        if !build_id.is_empty() && build_id_of(&file).is_none_or(|found| !same(&found, &build_id)) {
            return self.lose(mapping); // what its path led to when the process was gone is another file
        }
        let held = HeldFile { path: path_of(mapping), file, build_id };
        self.hold(identity, held);
    }

    /// Keeps what there is of processes that still run. Returns counters of what was not kept.
    pub fn finish(&mut self, time_ns: u64) -> Vec<(String, u64)> {
        let running: Vec<u32> = self.processes.keys().copied().collect();
        for tgid in running {
            if let Some(process) = self.processes.get_mut(&tgid) {
                note_owner(tgid, process);
            }
            self.end_program(tgid, time_ns);
        }
        for (identity, held) in std::mem::take(&mut self.files) {
            if let Some(held) = held.filter(|held| !is_at_its_path(held)) {
                self.copy(&identity, held.file);
            }
        }
        let (maps, modules) = self.copying.finish();
        let all = [
            (losses::JIT_MAPS_UNREADABLE, maps + self.dumps_lost),
            (losses::MODULES_NOT_KEPT, modules + self.files_lost),
            (losses::PROCESSES_CLOSED, self.processes_closed),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)).collect()
    }

    fn look_at(&mut self, tgid: u32, process: &mut Process) {
        match ProcessFiles::of(tgid, &self.views) {
            Ok(view) => {
                if !self.views.iter().any(|known| Rc::ptr_eq(known, &view)) {
                    self.views.push(Rc::clone(&view));
                }
                process.view = Some(view);
            }
            // CAP_SYS_PTRACE is missing for another user's process, or a security module or a filter of calls refuses.
            Err(error) => self.processes_closed += u64::from(!is_gone(&error)),
        }
        process.inner_pid = inner_pid(tgid).unwrap_or(process.inner_pid);
        note_owner(tgid, process);
    }

    /// Takes the maps of the program that process `tgid` ran until `time_ns`.
    fn end_program(&mut self, tgid: u32, time_ns: u64) {
        let (ended, others) = std::mem::take(&mut self.dumps).into_iter().partition(|dump| dump.tgid == tgid);
        self.dumps = others;
        for Dump { time_ns, file, .. } in ended {
            let target = KeptFile::JitDump { tgid, time_ns }.file_name();
            self.copying.copy(CopyOrigin::File(file), target, CopySubject::JitMap);
        }
        let Some(process) = self.processes.get(&tgid).filter(|process| process.inner_pid != 0) else { return };
        let Some(folder) = process.view.as_ref().and_then(|view| view.temporary()) else { return };
        let name = format!("perf-{}.map", process.inner_pid);
        let target = KeptFile::PerfMap { tgid, time_ns }.file_name();
        let origin = CopyOrigin::Named { folder, name, owners: process.owners.clone(), born: process.born };
        self.copying.copy(origin, target, CopySubject::JitMap);
    }

    fn hold_dump(&mut self, mapping: &Mapping) {
        let (tgid, time_ns) = (mapping.header.h.tid, mapping.header.h.time_ns);
        let owners = self.processes.get(&tgid).map(|process| process.owners.clone()).unwrap_or_default();
        let by_path = || self.open_by_path(mapping).filter(|file| is_the_mapped(file, mapping));
        let file = open_mapped(mapping).or_else(by_path).filter(|file| is_owned(file, &owners).unwrap_or(false));
        let have = self.dumps.iter().filter(|dump| dump.tgid == tgid).count();
        match file.filter(|_| have < MOST_DUMPS && self.held() < MOST_HELD) {
            Some(file) => self.dumps.push(Dump { tgid, time_ns, file }),
            None => self.dumps_lost += 1,
        }
    }

    fn hold(&mut self, identity: String, held: HeldFile) {
        if !is_at_its_path(&held) {
            self.copy(&identity, held.file);
            self.files.insert(identity, None);
        } else {
            // A file that cannot be held is found by its path, unless it is replaced: finalization tells.
            let held = (self.held() < MOST_HELD).then_some(held);
            self.files.insert(identity, held);
        }
    }

    fn held(&self) -> usize {
        self.files.values().flatten().count() + self.dumps.len()
    }

    fn copy(&self, identity: &str, file: File) {
        let target = KeptFile::Module { identity: identity.to_owned() }.file_name();
        self.copying.copy(CopyOrigin::File(file), target, CopySubject::Module);
    }

    fn lose(&mut self, mapping: &Mapping) {
        let path = path_of(mapping);
        let named = match build_id(mapping) {
            [] => path.is_file(), // nothing tells one from another: finalization goes by the date
            told => build_id_of_path(&path).is_some_and(|found| same(&found, told)),
        };
        if let Some(identity) = identity(mapping).filter(|_| !named) {
            self.files_lost += u64::from(self.files.insert(identity, None).is_none());
        }
    }

    /// The mapped file itself while the process has it, or what its path leads to for the process. That may be any file
    /// by now: it must be the mapped one by its numbers, or by its build id, which is compared when it is known.
    fn open(&self, mapping: &Mapping) -> Option<File> {
        let told = |file: &File| !build_id(mapping).is_empty() || is_the_mapped(file, mapping);
        open_mapped(mapping).or_else(|| self.open_by_path(mapping).filter(told))
    }

    fn open_by_path(&self, mapping: &Mapping) -> Option<File> {
        self.processes.get(&mapping.header.h.tid)?.view.as_ref()?.open(&mapping.path).ok()
    }
}

/// Whether what `/proc` had of a process is not there any more.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

fn open_mapped(mapping: &Mapping) -> Option<File> {
    let (start, end) = (mapping.header.start, mapping.header.start.saturating_add(mapping.header.length));
    open_regular(Path::new(&format!("/proc/{}/map_files/{start:x}-{end:x}", mapping.header.h.tid))).ok()
}

/// Whether the file has the numbers that the mapped one has. (Some file systems show others; then it is not taken.)
fn is_the_mapped(file: &File, mapping: &Mapping) -> bool {
    let Ok(metadata) = file.metadata() else { return false };
    let device = libc::major(metadata.dev()) << 20 | libc::minor(metadata.dev());
    (device, metadata.ino()) == (mapping.header.device, mapping.header.inode)
}

fn is_file(path: &[u8]) -> bool {
    path.starts_with(b"/")
        && !path.starts_with(b"//")
        && ![&b"/dev/"[..], b"/memfd:", b"/SYSV"].iter().any(|it| path.starts_with(it))
}

/// `jit-PID.dump`: a process maps its log of run-time code so that a profiler learns where it is.
fn is_dump(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let pid = name.strip_prefix(b"jit-").and_then(|rest| rest.strip_suffix(b".dump"));
    pid.is_some_and(|pid| !pid.is_empty() && pid.iter().all(u8::is_ascii_digit))
}

fn build_id(mapping: &Mapping) -> &[u8] {
    mapping.header.build_id.get(..mapping.header.build_id_bytes as usize).unwrap_or_default()
}

fn identity(mapping: &Mapping) -> Option<String> {
    module_identity(build_id(mapping), mapping.header.device, mapping.header.inode)
}

fn add_build_id(mapping: &mut Mapping, file: &File) {
    let Some(found) = build_id_of(file) else { return };
    let bytes = found.len().min(mapping.header.build_id.len());
    mapping.header.build_id[..bytes].copy_from_slice(&found[..bytes]);
    mapping.header.build_id_bytes = bytes as u32;
}

/// The kernel tells the first 20 bytes at most.
fn same(found: &[u8], told: &[u8]) -> bool {
    found.get(..found.len().min(20)) == Some(told)
}

fn path_of(mapping: &Mapping) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(&mapping.path))
}

fn build_id_of_path(path: &Path) -> Option<Vec<u8>> {
    build_id_of(&open_regular(path).ok()?)
}

/// Whether the path leads to the file for us too. File systems in layers show one file under several numbers: then the
/// build id tells.
fn is_at_its_path(held: &HeldFile) -> bool {
    let (Ok(there), Ok(ours)) = (held.path.metadata(), held.file.metadata()) else { return false };
    (there.dev(), there.ino()) == (ours.dev(), ours.ino())
        || (!held.build_id.is_empty() && build_id_of_path(&held.path).is_some_and(|id| same(&id, &held.build_id)))
}

/// The process's id in the innermost of its pid namespaces: the one that it names its files by.
fn inner_pid(tgid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{tgid}/status")).ok()?;
    ids_of(&status)?.last().copied()
}

/// The user as whom the process runs.
fn user(tgid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{tgid}/status")).ok()?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_whitespace().nth(1)?.parse().ok() // real, effective, saved, of the file system
}

/// Processes change their user after they started.
fn note_owner(tgid: u32, process: &mut Process) {
    let Ok(metadata) = fs::metadata(format!("/proc/{tgid}")) else { return };
    if process.owners.contains(&metadata.uid()) || process.owners.len() >= MOST_OWNERS {
        return;
    }
    // A process can make root the owner of its folder (PR_SET_DUMPABLE), but not its own.
    let owner = if metadata.uid() == 0 { user(tgid) } else { Some(metadata.uid()) };
    process.owners.extend(owner.filter(|owner| !process.owners.contains(owner)));
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use bytemuck::Zeroable;
    use dwell_store::raw::wire::MapHeader;

    use super::*;

    /// As if this process had mapped `path`, and unmapped it since.
    fn mapping(path: &Path) -> Mapping {
        let metadata = path.metadata().expect("metadata");
        let mut header = MapHeader { start: 16, length: 4096, inode: metadata.ino(), ..MapHeader::zeroed() };
        header.h.tid = std::process::id();
        header.device = libc::major(metadata.dev()) << 20 | libc::minor(metadata.dev());
        Mapping { header, path: path.as_os_str().as_bytes().to_vec() }
    }

    #[test]
    fn a_log_that_is_another_file_now_is_not_taken() {
        let folder = tempfile::tempdir().expect("folder");
        let (dump, secret) = (folder.path().join("jit-1.dump"), folder.path().join("secret"));
        fs::write(&dump, "JiTD").expect("file");
        fs::write(&secret, "secret").expect("file");
        let modules = folder.path().join("modules");
        fs::create_dir(&modules).expect("folder");
        let mut keeper = FileKeeper::new(Folder::open(&modules).expect("folder"), None);
        keeper.program(std::process::id(), 1, true);
        let mut told = mapping(&dump);
        keeper.mapped(&mut told);
        assert_eq!((keeper.dumps.len(), keeper.dumps_lost), (1, 0));
        fs::remove_file(&dump).expect("removed");
        symlink(&secret, &dump).expect("link");
        keeper.mapped(&mut told);
        assert_eq!((keeper.dumps.len(), keeper.dumps_lost), (1, 1));
        let library = folder.path().join("a.so");
        fs::write(&library, "no ELF file").expect("file");
        let mut told = mapping(&library);
        fs::remove_file(&library).expect("removed");
        symlink(&secret, &library).expect("link");
        keeper.mapped(&mut told);
        keeper.finish(2);
        let kept: Vec<_> = fs::read_dir(&modules).expect("folder").flatten().map(|entry| entry.path()).collect();
        assert_eq!(kept.iter().filter(|path| path.to_string_lossy().contains("jit-")).count(), 1, "{kept:?}");
        for path in kept {
            assert_ne!(fs::read_to_string(path).expect("text"), "secret");
        }
    }
}
