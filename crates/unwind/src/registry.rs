//! Which tables exist, where they lie in the space of words, and what is mapped in which process.
//!
//! The registry is fed with what happens to processes and answers with what to write into the BPF maps of `unwind_tables.h`, in
//! that order. A file's table is made once and shared by all processes that map the file, told by build-id or by device,
//! inode, size and time. Tables stay until the registry goes. It opens files, but knows nothing of BPF.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::elf::PAGE_BYTES;
use crate::error::{Error, Result};
use crate::frames::CallFrames;
use crate::interpreters::{Interpreter, why_unknown};
use crate::maps::{Mapping, parse_maps};
use crate::row::{Row, Rule, Step};
use crate::run_time_code::Areas;
use crate::table::{Layout, TablePlace, UnwindTable, extras_index_and_rows};
use crate::vdso;
use bytemuck::bytes_of;
use dwell_files::{open_regular, open_regular_of};
use dwell_wire::{UNWIND_BLOCK_SHIFT, UNWIND_MAPPINGS, UnwindMapping, UnwindProcess};

/// Bytes of a process's value.
const PROCESS_BYTES: usize = size_of::<UnwindProcess>() + UNWIND_MAPPINGS * size_of::<UnwindMapping>();

/// What to write into a BPF map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// Into the shards of `unwind_words`, from word number `first` on. It may cross shards.
    Words {
        /// Number of the first word.
        first: u32,
        /// The words.
        words: Vec<u64>,
    },
    /// Into `unwind_processes`: the value of key `tgid`.
    Process {
        /// The process.
        tgid: u32,
        /// A `struct unwind_process`.
        value: Vec<u8>,
    },
    /// Into `interpreter_processes`: the value of key `tgid`, which runs an interpreter that is known.
    Interpreter {
        /// The process.
        tgid: u32,
        /// A `struct python_process`, or that of another interpreter in its place.
        value: Vec<u8>,
    },
    /// Out of `unwind_processes` and `interpreter_processes`: delete key `tgid`, which may not be there.
    Forget {
        /// The process.
        tgid: u32,
    },
}

/// What could not be covered by tables; stacks through it are walked by frame pointers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Files that could not be opened or read.
    pub unreadable_files: u64,
    /// Files without (usable) call frame information.
    pub files_without_table: u64,
    /// Files replaced on disk since they were mapped.
    pub replaced_files: u64,
    /// Tables that had no room left in the space of words.
    pub table_space: u64,
    /// Mappings beyond the most that a process can have.
    pub mappings: u64,
    /// Entries of call frame information that could not be used.
    pub entries: u64,
    /// Files with an interpreter whose frames are not known.
    pub unknown_interpreters: u64,
}

/// A file that has no table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The file, as the process sees it.
    pub path: PathBuf,
    /// Why, for people.
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum FileKey {
    BuildId(Vec<u8>),
    Inode { device: u64, inode: u64, size: u64, modified: (i64, i64) },
    Vdso,
}

impl FileKey {
    fn of_file(file: &File) -> std::io::Result<Self> {
        let data = file.metadata()?;
        Ok(Self::Inode {
            device: data.dev(),
            inode: data.ino(),
            size: data.size(),
            modified: (data.mtime(), data.mtime_nsec()),
        })
    }
}

/// A table that was given its place.
#[derive(Clone, Debug)]
struct Placed {
    first_word: u32,
    blocks: u32,
    layout: Layout,
    build_id: Vec<u8>,
    interpreter: Option<Interpreter>,
    /// As the first process that mapped it saw it.
    path: PathBuf,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    end: u64,
    offset: u32,
    table: u32,
    blocks: u32,
}

/// Tables and processes; see the module.
#[derive(Debug)]
pub struct Registry {
    tables: HashMap<FileKey, Option<Placed>>,
    processes: HashMap<u32, BTreeMap<u64, Range>>,
    /// Of processes that run V8.
    javascript: HashMap<u32, u32>,
    run_time_code: Areas,
    next_word: u32,
    capacity_words: u32,
    losses: Losses,
    notices: Vec<Notice>,
    /// By the first word of the file's table; none for a file that cannot be read again.
    frames: HashMap<u32, Option<Rc<CallFrames>>>,
}

impl Registry {
    /// An empty registry for a space of `capacity_words` words: the number of shards (`max_entries` of `unwind_words`)
    /// times the words in a shard (2^19).
    pub fn new(capacity_words: u32) -> Self {
        Self {
            tables: HashMap::new(),
            processes: HashMap::new(),
            javascript: HashMap::new(),
            run_time_code: Areas::default(),
            next_word: 0,
            capacity_words,
            losses: Losses::default(),
            notices: Vec::new(),
            frames: HashMap::new(),
        }
    }

    /// What could not be covered so far.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// The files without a table since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Makes the tables of files ahead of their mapping: a program's executable, its interpreter and libraries, say.
    pub fn prepare<'p>(&mut self, paths: impl IntoIterator<Item = &'p Path>) -> Vec<Update> {
        let mut updates = Vec::new();
        for path in paths {
            match open_regular(path) {
                Ok(file) => {
                    self.table_of_file(file, path, &mut updates);
                }
                Err(error) => self.note(path, &Error::io(path, error)),
            }
        }
        updates
    }

    /// Something was mapped executable. Parsing a file that is not known yet takes 1 ms for libc and up to 100 ms for
    /// the largest libraries.
    pub fn map(&mut self, mapping: &Mapping) -> Vec<Update> {
        self.map_all(mapping.tgid, std::slice::from_ref(mapping))
    }

    /// Whether the mapped file, told by its build-id, was read before.
    pub fn knows(&self, mapping: &Mapping) -> bool {
        !mapping.build_id.is_empty() && self.tables.contains_key(&FileKey::BuildId(mapping.build_id.clone()))
    }

    /// All executable mappings of process `tgid` as `/proc/PID/maps` has them now; those known before are forgotten.
    pub fn seed(&mut self, tgid: u32) -> std::io::Result<Vec<Update>> {
        let text = std::fs::read(format!("/proc/{tgid}/maps"))?;
        self.processes.remove(&tgid);
        Ok(self.map_all(tgid, &parse_maps(tgid, &text)))
    }

    /// Several mappings of process `tgid` at once.
    pub fn map_all(&mut self, tgid: u32, mappings: &[Mapping]) -> Vec<Update> {
        let mut updates = Vec::new();
        for mapping in mappings.iter().filter(|mapping| mapping.tgid == tgid && mapping.length > 0) {
            let table = self.table_of_mapping(mapping, &mut updates);
            updates.extend(table.as_ref().and_then(|table| interpreter_update(mapping, table)));
            let range = table.and_then(|table| {
                let offset = table.layout.address_of_mapping(mapping.file_offset)?;
                Some(Range { end: mapping.end(), offset, table: table.first_word, blocks: table.blocks })
            });
            if range.is_some() || !self.is_more_run_time_code(mapping) {
                insert(self.processes.entry(tgid).or_default(), (mapping.start, mapping.end()), range);
            }
        }
        updates.push(self.process_update(tgid));
        updates
    }

    /// The code between `start` and `end` of process `tgid`, which it made at run time, has these rows now, ascending, counted from
    /// `start`.
    pub fn set_run_time_code(&mut self, tgid: u32, start: u64, end: u64, rows: &[Row]) -> Vec<Update> {
        let blocks = rows.last().map_or(0, |row| (row.pc >> UNWIND_BLOCK_SHIFT) + 1);
        let words = extras_index_and_rows(&[], rows, blocks as usize);
        let (next_word, capacity) = (&mut self.next_word, self.capacity_words);
        let area = self.run_time_code.next((tgid, start), words.len(), |count| {
            let first = *next_word;
            *next_word = first.checked_add(count).filter(|end| *end <= capacity)?;
            Some(first)
        });
        let Some(area) = area else {
            self.losses.table_space += 1;
            return Vec::new();
        };
        let range = Range { end, offset: 0, table: area.first_word, blocks };
        insert(self.processes.entry(tgid).or_default(), (start, end), Some(range));
        vec![Update::Words { first: area.first_word, words }, self.process_update(tgid)]
    }

    /// Process `tgid` runs V8, where a function's description lies at this offset ([`UnwindProcess::javascript`]).
    pub fn set_javascript(&mut self, tgid: u32, javascript: u32) -> Vec<Update> {
        self.javascript.insert(tgid, javascript);
        vec![self.process_update(tgid)]
    }

    /// Process `child` was forked and has its parent's mappings.
    pub fn fork(&mut self, parent: u32, child: u32) -> Vec<Update> {
        let Some(ranges) = self.processes.get(&parent).cloned() else { return Vec::new() };
        self.processes.insert(child, ranges);
        if let Some(javascript) = self.javascript.get(&parent).copied() {
            self.javascript.insert(child, javascript);
        }
        // The interpreter's state was copied in the kernel, in the fork itself.
        vec![self.process_update(child)]
    }

    /// Process `tgid` executes another program and has no mappings until they are reported.
    pub fn exec(&mut self, tgid: u32) -> Vec<Update> {
        self.exit(tgid)
    }

    /// Process `tgid` is gone.
    pub fn exit(&mut self, tgid: u32) -> Vec<Update> {
        self.processes.remove(&tgid);
        self.javascript.remove(&tgid);
        self.run_time_code.forget(tgid);
        vec![Update::Forget { tgid }]
    }

    /// The step for runtime address `pc` of process `tgid`. `word` reads what the updates wrote into the space of words.
    pub fn step(&self, tgid: u32, pc: u64, word: impl Fn(u32) -> Option<u64>) -> Step {
        self.place_at(tgid, pc).map_or(Step::of(Rule::NoTable), |place| place.step(word))
    }

    /// Whether it is known what is mapped at runtime address `pc` of process `tgid`.
    pub fn is_mapped(&self, tgid: u32, pc: u64) -> bool {
        self.place_at(tgid, pc).is_some()
    }

    /// The complete call frame information of the file at runtime address `pc` of process `tgid`, and the link-time
    /// address there. The file is read again, at its first use.
    pub fn frames(&mut self, tgid: u32, pc: u64) -> Option<(Rc<CallFrames>, u64)> {
        let place = self.place_at(tgid, pc)?;
        let placed = self.tables.values().flatten().find(|placed| placed.first_word == place.first_word)?;
        let address = placed.layout.base().checked_add(u64::from(place.pc))?;
        let frames = self.frames.entry(place.first_word).or_insert_with(|| {
            let vdso = placed.path == Path::new("[vdso]");
            let read = if vdso { vdso::frames() } else { read_frames(tgid, pc, placed) };
            read.map(Rc::new)
        });
        frames.clone().map(|frames| (frames, address))
    }

    fn place_at(&self, tgid: u32, pc: u64) -> Option<TablePlace> {
        let (start, range) = self.range_at(tgid, pc)?;
        let address = u32::try_from(pc - start).ok()?.checked_add(range.offset)?;
        Some(TablePlace { first_word: range.table, blocks: range.blocks, pc: address })
    }

    fn range_at(&self, tgid: u32, pc: u64) -> Option<(&u64, &Range)> {
        let found = self.processes.get(&tgid)?.range(..=pc).next_back()?;
        (pc < found.1.end).then_some(found)
    }

    fn process_update(&mut self, tgid: u32) -> Update {
        let empty = BTreeMap::new();
        let ranges = self.processes.get(&tgid).unwrap_or(&empty);
        self.losses.mappings += ranges.len().saturating_sub(UNWIND_MAPPINGS) as u64;
        let javascript = self.javascript.get(&tgid).copied().unwrap_or(0);
        Update::Process { tgid, value: process_value(ranges, javascript) }
    }

    /// Whether the mapping is memory that a runtime takes for a region of its code whose rows are known. It may be told after them.
    fn is_more_run_time_code(&self, mapping: &Mapping) -> bool {
        let is_read = |(_, range): (&u64, &Range)| self.run_time_code.is_read(mapping.tgid, range.table);
        is_anonymous(&mapping.path) && self.range_at(mapping.tgid, mapping.start).is_some_and(is_read)
    }

    fn table_of_mapping(&mut self, mapping: &Mapping, updates: &mut Vec<Update>) -> Option<Placed> {
        if mapping.path == Path::new("[vdso]") {
            return self.place_once(FileKey::Vdso, &mapping.path, updates, vdso::table);
        }
        let path = &mapping.path;
        if is_anonymous(path) || is_device(path) || is_code_log(path) {
            return None;
        }
        if let Some(known) = self.tables.get(&FileKey::BuildId(mapping.build_id.clone())) {
            return known.clone();
        }
        match open(mapping) {
            Ok(file) => {
                let table = self.table_of_file(file, &mapping.path, updates)?;
                let same = mapping.build_id.is_empty() || table.build_id == mapping.build_id;
                if !same {
                    self.note(&mapping.path, &Error::Replaced { path: mapping.path.clone() });
                }
                same.then_some(table)
            }
            Err(error) => {
                self.note(&mapping.path, &Error::io(&mapping.path, error));
                None
            }
        }
    }

    fn table_of_file(&mut self, file: File, path: &Path, updates: &mut Vec<Update>) -> Option<Placed> {
        match FileKey::of_file(&file) {
            Ok(key) => self.place_once(key, path, updates, || UnwindTable::of_open_file(file)),
            Err(error) => {
                self.note(path, &Error::io(path, error));
                None
            }
        }
    }

    /// The table of `key`, made by `make` and given its place when it is the first time.
    fn place_once(
        &mut self,
        key: FileKey,
        path: &Path,
        updates: &mut Vec<Update>,
        make: impl FnOnce() -> Result<UnwindTable>,
    ) -> Option<Placed> {
        if let Some(known) = self.tables.get(&key) {
            return known.clone();
        }
        let placed = match make() {
            Ok(table) => {
                if let Some(Interpreter::Unknown(unknown)) = table.interpreter() {
                    self.losses.unknown_interpreters += 1;
                    self.notices.push(Notice { path: path.to_owned(), reason: why_unknown(unknown) });
                }
                self.place(table, path, updates)
            }
            Err(error) => {
                self.note(path, &error);
                None
            }
        };
        if let Some(table) = placed.as_ref().filter(|table| !table.build_id.is_empty()) {
            self.tables.insert(FileKey::BuildId(table.build_id.clone()), placed.clone());
        }
        self.tables.insert(key, placed.clone());
        placed
    }

    fn place(&mut self, table: UnwindTable, path: &Path, updates: &mut Vec<Update>) -> Option<Placed> {
        self.losses.entries += table.skipped();
        let first_word = self.next_word;
        let end = u32::try_from(table.words().len()).ok().and_then(|count| first_word.checked_add(count));
        let Some(end) = end.filter(|end| *end <= self.capacity_words) else {
            self.losses.table_space += 1;
            return None;
        };
        self.next_word = end;
        let placed = Placed {
            first_word: first_word.saturating_add(u32::try_from(table.extras()).ok()?),
            blocks: u32::try_from(table.index().len()).ok()?,
            layout: table.layout().clone(),
            build_id: table.build_id().to_vec(),
            interpreter: table.interpreter(),
            path: path.to_owned(),
        };
        updates.push(Update::Words { first: first_word, words: table.into_words() });
        Some(placed)
    }

    fn note(&mut self, path: &Path, error: &Error) {
        let count = match error {
            Error::Io { .. } => &mut self.losses.unreadable_files,
            Error::Replaced { .. } => &mut self.losses.replaced_files,
            _ => &mut self.losses.files_without_table,
        };
        *count += 1;
        self.notices.push(Notice { path: path.to_owned(), reason: error.to_string() });
    }
}

/// Devices are mapped like files, but what is in `/dev/shm` are files.
fn is_device(path: &Path) -> bool {
    path.starts_with("/dev") && !path.starts_with("/dev/shm")
}

/// `jit-PID.dump`, which runtimes map to tell profilers of it: no code is run there.
fn is_code_log(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("jit-") && name.ends_with(".dump")
}

/// From the file as the process has it mapped; by its path when the process is gone.
fn read_frames(tgid: u32, pc: u64, placed: &Placed) -> Option<CallFrames> {
    let maps = std::fs::read(format!("/proc/{tgid}/maps")).unwrap_or_default();
    let mapping = parse_maps(tgid, &maps).into_iter().find(|mapping| (mapping.start..mapping.end()).contains(&pc));
    let file = mapping.and_then(|mapping| open(&mapping).ok()).or_else(|| open_regular(&placed.path).ok());
    let frames = CallFrames::of_open_file(file?).ok()?;
    (frames.build_id() == placed.build_id).then_some(frames)
}

/// The mapped file itself when the process still has it, even if its name is gone; else by its path as the process sees it.
fn open(mapping: &Mapping) -> std::io::Result<File> {
    let Mapping { tgid, start, path, .. } = mapping;
    open_regular(Path::new(&format!("/proc/{tgid}/map_files/{start:x}-{:x}", mapping.end())))
        .or_else(|_| open_regular_of(*tgid, path))
        .or_else(|_| open_regular(path))
}

/// What the BPF programs need to know of the interpreter that the mapping brings.
fn interpreter_update(mapping: &Mapping, table: &Placed) -> Option<Update> {
    let address = table.layout.base() + u64::from(table.layout.address_of_mapping(mapping.file_offset)?);
    let value = table.interpreter?.process_value(mapping.start.wrapping_sub(address))?;
    Some(Update::Interpreter { tgid: mapping.tgid, value })
}

/// Whether a mapping of this path is of no file.
fn is_anonymous(path: &Path) -> bool {
    !path.is_absolute() || path.starts_with("//anon")
}

/// Puts a mapping in, cutting away what it covers of those before.
fn insert(ranges: &mut BTreeMap<u64, Range>, (start, end): (u64, u64), range: Option<Range>) {
    split(ranges, start);
    split(ranges, end);
    let covered: Vec<u64> = ranges.range(start..end).map(|(start, _)| *start).collect();
    for key in covered {
        ranges.remove(&key);
    }
    if let Some(range) = range {
        ranges.insert(start, range);
    }
}

/// Makes two of the range that `at` lies within.
fn split(ranges: &mut BTreeMap<u64, Range>, at: u64) {
    let Some((&start, range)) = ranges.range_mut(..at).next_back().filter(|(_, range)| range.end > at) else { return };
    let tail = *range;
    range.end = at;
    if let Some(offset) = u32::try_from(at - start).ok().and_then(|cut| tail.offset.checked_add(cut)) {
        ranges.insert(at, Range { offset, ..tail });
    }
}

/// What the map `unwind_processes` has of a process.
fn process_value(ranges: &BTreeMap<u64, Range>, javascript: u32) -> Vec<u8> {
    let mut value = Vec::with_capacity(PROCESS_BYTES);
    let count = u32::try_from(ranges.len().min(UNWIND_MAPPINGS)).unwrap_or(0);
    value.extend(bytes_of(&UnwindProcess { count, javascript }));
    for (&start, &Range { end, offset, table, blocks }) in ranges.iter().take(UNWIND_MAPPINGS) {
        let pages = u32::try_from((end - start).div_ceil(PAGE_BYTES)).unwrap_or(u32::MAX);
        value.extend(bytes_of(&UnwindMapping { start, pages, offset, table, blocks }));
    }
    value.resize(PROCESS_BYTES, 0);
    value
}
