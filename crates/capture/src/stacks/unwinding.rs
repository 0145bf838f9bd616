//! Gives the BPF programs the unwind tables of what is mapped, as soon as it is mapped.
//!
//! The registry of the unwind crate decides what lies where; this writes it into the maps.
#![allow(unsafe_code, reason = "shards of tables are written through a mapping of the map's memory")]

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use dwell_model::{Notice, losses, notice};
use dwell_unwind::{
    CallFrames, Code, Mapping as UnwindMapping, Registry, Row, Step, Update, parse_maps, program_files,
};
use dwell_wire::{PythonProcess, UNWIND_SHARD_SHIFT, UNWIND_SHARDS};
use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};

use crate::error::{Error, Result};
use crate::kernel::perf::Mapping;

const SHARD_WORDS: usize = 1 << UNWIND_SHARD_SHIFT;
/// Code up to this size has its table made at once: 2 ms at most.
const AT_ONCE_BYTES: u64 = 2 << 20;

/// The maps of processes that run CPython: what is known of each, and whether there is any.
pub struct InterpreterMaps {
    /// `interpreter_processes`.
    pub processes: MapHandle,
    /// `interpreters_in_use`.
    pub in_use: MapHandle,
}

/// The BPF maps that tables are written to.
struct Maps {
    processes: MapHandle,
    interpreters: InterpreterMaps,
    words: MapHandle,
}

/// The tables, and where the BPF programs find them.
pub struct UnwindTables {
    registry: Registry,
    /// None where all stacks are walked in user space.
    maps: Option<Maps>,
    shards: HashMap<u32, Shard>,
    /// What is known of each process that runs an interpreter.
    interpreters: HashMap<u32, PythonProcess>,
    /// Processes that had no room in a map.
    refused: u64,
    waiting: Vec<UnwindMapping>,
}

impl UnwindTables {
    /// Without tables yet. `processes` and `words` are the maps `unwind_processes` and `unwind_words`.
    pub fn new(processes: MapHandle, words: MapHandle, interpreters: InterpreterMaps) -> Self {
        Self { maps: Some(Maps { processes, interpreters, words }), ..Self::in_user_space() }
    }

    /// Without tables yet, and for nobody but us.
    pub fn in_user_space() -> Self {
        Self {
            registry: Registry::new(UNWIND_SHARDS * SHARD_WORDS as u32),
            maps: None,
            shards: HashMap::new(),
            interpreters: HashMap::new(),
            refused: 0,
            waiting: Vec::new(),
        }
    }

    /// Makes the tables of a program, its interpreter and its libraries before it runs.
    pub fn prepare(&mut self, program: &Path) -> Result<()> {
        let files = program_files(program);
        let updates = self.registry.prepare(files.iter().map(PathBuf::as_path));
        self.apply(updates)
    }

    /// A file was mapped into a recorded process. One that has ended would stay in the maps for good.
    pub fn map(&mut self, mapping: &Mapping) -> Result<()> {
        let header = &mapping.header;
        let build_id = header.build_id.get(..header.build_id_bytes as usize).unwrap_or_default();
        self.take(UnwindMapping {
            tgid: header.h.tid,
            start: header.start,
            length: header.length,
            file_offset: header.file_offset,
            path: PathBuf::from(OsStr::from_bytes(&mapping.path)),
            build_id: build_id.to_vec(),
        })
    }

    /// Large files wait: reading one takes up to 100 ms, in which the tables of libc and the program would be missing.
    fn take(&mut self, mapping: UnwindMapping) -> Result<()> {
        if mapping.length > AT_ONCE_BYTES && !self.registry.knows(&mapping) {
            self.waiting.push(mapping);
            return Ok(());
        }
        let updates = self.registry.map(&mapping);
        self.apply(updates)
    }

    /// Whether tables wait to be made.
    pub fn is_behind(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Makes the table of the smallest file that waits.
    pub fn catch_up(&mut self) -> Result<()> {
        self.waiting.sort_unstable_by_key(|mapping| std::cmp::Reverse(mapping.length));
        let Some(mapping) = self.waiting.pop() else { return Ok(()) };
        let updates = self.registry.map(&mapping);
        self.apply(updates)
    }

    /// Makes all tables that process `tgid` waits for.
    pub fn catch_up_with(&mut self, tgid: u32) -> Result<()> {
        let (of_process, others) = std::mem::take(&mut self.waiting).into_iter().partition(|it| it.tgid == tgid);
        self.waiting = others;
        let updates: Vec<_> = Vec::into_iter(of_process).flat_map(|mapping| self.registry.map(&mapping)).collect();
        self.apply(updates)
    }

    /// Code that process `tgid` made at run time has these rows now.
    pub fn set_run_time_code(&mut self, tgid: u32, region: (u64, u64), rows: &[Row]) -> Result<()> {
        let updates = self.registry.set_run_time_code(tgid, region.0, region.1, rows);
        self.apply(updates)
    }

    /// Process `tgid` runs V8, where a function's description lies at offset `javascript`.
    pub fn set_javascript(&mut self, tgid: u32, javascript: u32) -> Result<()> {
        let updates = self.registry.set_javascript(tgid, javascript);
        self.apply(updates)
    }

    /// A thread of process `tgid` came; the process was forked by `parent` when that is another one.
    pub fn thread_new(&mut self, tgid: u32, parent: u32) -> Result<()> {
        if parent == 0 || parent == tgid {
            return Ok(());
        }
        let updates = self.registry.fork(parent, tgid);
        let inherited = self.waiting.iter().filter(|mapping| mapping.tgid == parent);
        let inherited: Vec<_> = inherited.map(|mapping| UnwindMapping { tgid, ..mapping.clone() }).collect();
        self.waiting.extend(inherited);
        self.apply(updates)
    }

    /// Process `tgid` ended: its tables are not needed any more. When its id `is_reused`, the kernel side has what is of the new
    /// process.
    pub fn forget_process(&mut self, tgid: u32, is_reused: bool) -> Result<()> {
        self.waiting.retain(|mapping| mapping.tgid != tgid);
        let updates = self.registry.exit(tgid);
        if is_reused { Ok(()) } else { self.apply(updates) }
    }

    /// Process `tgid` runs another program, or is new to us: takes its mappings as they are now, when it `is_still` there.
    pub fn read_process(&mut self, tgid: u32, is_still: bool) -> Result<()> {
        self.waiting.retain(|mapping| mapping.tgid != tgid);
        let updates = self.registry.exec(tgid);
        self.apply(updates)?;
        if !is_still {
            return Ok(());
        }
        let text = std::fs::read(format!("/proc/{tgid}/maps")).unwrap_or_default();
        parse_maps(tgid, &text).into_iter().try_for_each(|mapping| self.take(mapping))
    }

    /// The code of process `tgid` for walks in user space: what rows say, or, when `complete`, all that its files say.
    pub fn code(&mut self, tgid: u32, complete: bool) -> ProcessCode<'_> {
        ProcessCode { tgid, complete, registry: &mut self.registry, shards: &self.shards }
    }

    /// What could not be covered: name and count, zeros left out.
    pub fn losses(&self) -> Vec<(String, u64)> {
        let losses = self.registry.losses();
        let all = [
            (losses::UNWIND_FILES_UNREADABLE, losses.unreadable_files),
            (losses::UNWIND_FILES_WITHOUT_TABLE, losses.files_without_table),
            (losses::UNWIND_FILES_REPLACED, losses.replaced_files),
            (losses::UNWIND_TABLE_SPACE, losses.table_space),
            (losses::UNWIND_MAPPINGS, losses.mappings),
            (losses::UNWIND_ENTRIES, losses.entries),
            (losses::UNWIND_PROCESSES, self.refused),
            (losses::INTERPRETERS_UNKNOWN, losses.unknown_interpreters),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)).collect()
    }

    /// The files without a table, a sentence each.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        let notices = self.registry.take_notices().into_iter();
        notices.map(|it| notice!(NO_UNWIND_TABLE, path = it.path.display(), reason = it.reason)).collect()
    }

    fn apply(&mut self, updates: Vec<Update>) -> Result<()> {
        let failed = |source| Error::Bpf { what: "writing unwind tables".into(), source };
        for update in updates {
            match update {
                Update::Words { first, words } => self.write_words(first, &words)?,
                Update::Process { tgid, value } => {
                    let Some(maps) = &self.maps else { continue };
                    // A full map means frame-pointer stacks for this process, no more.
                    let written = maps.processes.update(&tgid.to_ne_bytes(), &value, MapFlags::ANY);
                    self.refused += u64::from(written.is_err());
                }
                Update::Interpreter { tgid, value } => self.write_interpreter(tgid, &value)?,
                Update::Forget { tgid } => self.forget(tgid).map_err(failed)?,
            }
        }
        Ok(())
    }

    /// What is known of each process that runs an interpreter.
    pub fn interpreters(&self) -> &HashMap<u32, PythonProcess> {
        &self.interpreters
    }

    fn write_interpreter(&mut self, tgid: u32, value: &[u8]) -> Result<()> {
        let failed = |source| Error::Bpf { what: "describing an interpreter".into(), source };
        if let Ok(process) = bytemuck::try_pod_read_unaligned(value) {
            self.interpreters.insert(tgid, process);
        }
        let Some(Maps { interpreters, .. }) = &self.maps else { return Ok(()) };
        // A full map means that this process has no frames of scripts, no more.
        let written = interpreters.processes.update(&tgid.to_ne_bytes(), value, MapFlags::ANY);
        self.refused += u64::from(written.is_err());
        interpreters.in_use.update(&0u32.to_ne_bytes(), &1u32.to_ne_bytes(), MapFlags::ANY).map_err(failed)
    }

    fn forget(&mut self, tgid: u32) -> libbpf_rs::Result<()> {
        self.interpreters.remove(&tgid);
        let maps = self.maps.iter().flat_map(|maps| [&maps.processes, &maps.interpreters.processes]);
        for map in maps {
            match map.delete(&tgid.to_ne_bytes()) {
                Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn write_words(&mut self, first: u32, words: &[u64]) -> Result<()> {
        let (mut at, mut rest) = (first as usize, words);
        while !rest.is_empty() {
            let (number, within) = ((at / SHARD_WORDS) as u32, at % SHARD_WORDS);
            let (now, later) = rest.split_at(rest.len().min(SHARD_WORDS - within));
            self.shard(number)?.write(within, now);
            at += now.len();
            rest = later;
        }
        Ok(())
    }

    fn shard(&mut self, number: u32) -> Result<&mut Shard> {
        let entry = match self.shards.entry(number) {
            std::collections::hash_map::Entry::Occupied(entry) => return Ok(entry.into_mut()),
            std::collections::hash_map::Entry::Vacant(entry) => entry,
        };
        let failed = |source| Error::Bpf { what: "making room for unwind tables".into(), source };
        let Some(maps) = &self.maps else { return Ok(entry.insert(Shard::of_our_own()?)) };
        let (shard, map) = Shard::in_map()?;
        let fd = map.as_fd().as_raw_fd() as u32;
        maps.words.update(&number.to_ne_bytes(), &fd.to_ne_bytes(), MapFlags::ANY).map_err(failed)?;
        Ok(entry.insert(shard))
    }
}

/// The code of one process; see [`UnwindTables::code`].
pub struct ProcessCode<'u> {
    tgid: u32,
    complete: bool,
    registry: &'u mut Registry,
    shards: &'u HashMap<u32, Shard>,
}

impl Code for ProcessCode<'_> {
    fn step(&mut self, pc: u64) -> Step {
        let word = |number: u32| {
            let number = number as usize;
            self.shards.get(&((number / SHARD_WORDS) as u32))?.read(number % SHARD_WORDS)
        };
        self.registry.step(self.tgid, pc, word)
    }

    fn frames(&mut self, pc: u64) -> Option<(Rc<CallFrames>, u64)> {
        if self.complete { self.registry.frames(self.tgid, pc) } else { None }
    }

    fn is_mapped(&self, pc: u64) -> bool {
        self.registry.is_mapped(self.tgid, pc)
    }
}

/// Table words in our memory: that of a BPF array, which its mapping keeps, or of nobody else.
struct Shard {
    base: *mut u64,
}

impl Shard {
    fn in_map() -> Result<(Self, MapHandle)> {
        let failed = |source| Error::Bpf { what: "making room for unwind tables".into(), source };
        let options = bpf_map_create_opts {
            sz: size_of::<bpf_map_create_opts>() as libbpf_rs::libbpf_sys::size_t,
            map_flags: libbpf_rs::libbpf_sys::BPF_F_MMAPABLE,
            ..Default::default()
        };
        let _raised = dwell_rights::raise(&[dwell_rights::BPF]);
        let map = MapHandle::create(MapType::Array, Some("unwind_shard"), 4, 8, SHARD_WORDS as u32, &options);
        let map = map.map_err(failed)?;
        Ok((Self::mapped(libc::MAP_SHARED, map.as_fd().as_raw_fd())?, map))
    }

    fn of_our_own() -> Result<Self> {
        Self::mapped(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1)
    }

    fn mapped(flags: i32, fd: i32) -> Result<Self> {
        // SAFETY: a new mapping of the whole array, whose size is what it was created with, or of memory of that size.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), SHARD_WORDS * 8, libc::PROT_READ | libc::PROT_WRITE, flags, fd, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(Error::last_os("mapping unwind tables"));
        }
        Ok(Self { base: base.cast() })
    }

    fn read(&self, within: usize) -> Option<u64> {
        // SAFETY: within < SHARD_WORDS, the length of the mapping, which lives as long as `self`; it is written by us only.
        (within < SHARD_WORDS).then(|| unsafe { self.base.add(within).read() })
    }

    /// Writes `words` from word `within` on; the caller keeps them inside the shard.
    fn write(&mut self, within: usize, words: &[u64]) {
        let count = words.len().min(SHARD_WORDS.saturating_sub(within));
        // SAFETY: within + count <= SHARD_WORDS, the length of the mapping, which lives as long as `self`.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), self.base.add(within), count) };
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `create` mapped.
        unsafe { libc::munmap(self.base.cast(), SHARD_WORDS * 8) };
    }
}
