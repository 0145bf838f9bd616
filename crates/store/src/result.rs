//! A result's folder, and its tables in memory.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use dwell_files::Folder;
use dwell_model::{ModuleId, ObjectId, ProcessId, StackId, ThreadId};

use crate::annotations::Annotations;
use crate::code_tables::CodeTables;
use crate::delays::DelayTables;
use crate::error::{Error, Result};
use crate::events::Events;
use crate::index::Index;
use crate::manifest::{Manifest, State, TRACE_FORMAT};
use crate::nesting::Nesting;
use crate::parquet_file;
use crate::sockets::{Referred, SocketTables};
use crate::table::Table;
use crate::table_reader::TableReader;
use crate::tables::{Frames, Losses, Modules, Notices, Objects, OffCpu, Pauses, Processes, Samples, Stacks, Threads};

/// Numbers of results in one folder.
const NUMBERS: u32 = 1_000_000;
/// Rights of a result: it holds what root could read of the profiled program's files.
const PRIVATE: u32 = 0o700;
const MANIFEST: &str = "manifest.json";
const LOG: &str = "log.txt";
const SPOOL: &str = "spool";
const MODULES: &str = "modules";
const TABLES: &str = "tables";
const TABLES_PARTIAL: &str = "tables.partial";
/// A manifest holds command lines and remarks.
const MOST_MANIFEST_BYTES: u64 = 16 << 20;
/// The end of a log that is read.
const MOST_LOG_BYTES: u64 = 1 << 20;
/// The begin of a line of it that is read.
const MOST_LINE_BYTES: usize = 4 << 10;

/// Where a result lies on disk, held open: whatever its path leads to later, this is the result.
#[derive(Clone, Debug)]
pub struct ResultFolder {
    held: Folder,
}

impl ResultFolder {
    /// Makes the folder `path`, which must not be there yet.
    pub fn create(path: &Path) -> Result<Self> {
        Self::fill(Folder::create(path, PRIVATE), path)
    }

    /// The same in a folder that is held.
    pub fn create_in(parent: &Folder, name: &str) -> Result<Self> {
        Self::fill(parent.make_folder(name, PRIVATE), &parent.path().join(name))
    }

    fn fill(made: io::Result<Folder>, path: &Path) -> Result<Self> {
        let held = made.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists { path: path.to_owned() },
            _ => Error::io(path, error),
        })?;
        for name in [SPOOL, MODULES] {
            held.make_folder(name, PRIVATE).map_err(|error| Error::io(&path.join(name), error))?;
        }
        Ok(Self { held })
    }

    /// Makes the next `rNNN` + `suffix` in `parent`, above every number that is there, so that it is the newest one:
    /// r000th, r001th, …
    pub fn create_next(parent: &Path, suffix: &str) -> Result<Self> {
        let here = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let first = numbered(here).map(|(number, _)| number + 1).max().unwrap_or(0);
        for number in first..NUMBERS {
            match Self::create(&parent.join(format!("r{number:03}{suffix}"))) {
                Err(Error::Exists { .. }) => {}
                other => return other,
            }
        }
        Err(Error::Exists { path: parent.join(format!("r999999{suffix}")) })
    }

    /// The folder of an existing result. Fails when it is none.
    pub fn open(path: &Path) -> Result<Self> {
        let held = Folder::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => not_a_result(path, "no such folder".into()),
            _ => Error::io(path, error),
        })?;
        Self::checked(held)
    }

    /// The same in a folder that is held. Links do not count.
    pub fn open_in(parent: &Folder, name: &str) -> Result<Self> {
        let path = parent.path().join(name);
        Self::checked(parent.folder(name).map_err(|error| Error::io(&path, error))?)
    }

    fn checked(held: Folder) -> Result<Self> {
        let folder = Self { held };
        folder.manifest()?;
        Ok(folder)
    }

    /// Whether the folder `path` holds the empty folders that a result begins with, and nothing else.
    pub fn is_empty(path: &Path) -> bool {
        let is_empty = |folder: Folder| folder.names().is_ok_and(|names| names.is_empty());
        let Ok(held) = Folder::open(path) else { return false };
        let Ok(names) = held.names() else { return false };
        !names.is_empty()
            && names.iter().all(|name| {
                let begun = [SPOOL, MODULES].into_iter().find(|begun| name.to_str() == Some(begun));
                begun.is_some_and(|name| held.folder(name).is_ok_and(is_empty))
            })
    }

    /// The newest result in `parent`: the highest number of `rNNNxx`.
    pub fn latest(parent: &Path) -> Option<PathBuf> {
        numbered(parent).max().map(|(_, path)| path)
    }

    /// The folder's path, for messages.
    pub fn path(&self) -> &Path {
        self.held.path()
    }

    /// The folder itself.
    pub fn held(&self) -> &Folder {
        &self.held
    }

    /// Where the raw spool lies until finalization. Fails when it is not there.
    pub fn spool(&self) -> Result<Folder> {
        self.part(SPOOL)
    }

    /// Whether there is a spool.
    pub fn has_spool(&self) -> bool {
        self.held.has_folder(SPOOL)
    }

    /// Deletes the spool.
    pub fn remove_spool(&self) -> Result<()> {
        self.held.remove(SPOOL).map_err(|error| Error::io(&self.path().join(SPOOL), error))
    }

    /// Where copies lie of what finalization could not read otherwise: the vDSO, and what [`crate::Kept`] names. Fails when
    /// it is not there.
    pub fn modules(&self) -> Result<Folder> {
        self.part(MODULES)
    }

    /// Where the tables lie. Fails when they are not there.
    pub fn tables(&self) -> Result<Folder> {
        self.part(TABLES)
    }

    fn part(&self, name: &str) -> Result<Folder> {
        self.held.folder(name).map_err(|error| Error::io(&self.path().join(name), error))
    }

    /// The log of collection and finalization; of a long one its last MiB, of a long line its first 4 KiB, with words that
    /// say so. Empty when there is none.
    pub fn log(&self) -> Result<String> {
        match self.held.read_end(LOG, MOST_LOG_BYTES) {
            Ok((bytes, 0)) => Ok(with_short_lines(&bytes)),
            Ok((bytes, before)) => {
                Ok(format!("[{before} bytes before this are left out]\n{}", with_short_lines(&bytes)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(Error::io(&self.path().join(LOG), error)),
        }
    }

    /// Adds a line to the log, in a new file: what is in its place may be anything by now.
    pub fn add_to_log(&self, line: &str) -> Result<()> {
        let before = self.log().unwrap_or_default(); // of a link it takes the place
        let written = self.held.replace(LOG, format!("{before}{}\n", line.trim_end()).as_bytes());
        written.map_err(|error| Error::io(&self.path().join(LOG), error))
    }

    /// Reads the manifest. Fails when there is none, or a newer version's.
    pub fn manifest(&self) -> Result<Manifest> {
        let not_a_result = |reason: String| not_a_result(self.path(), reason);
        let path = self.path().join(MANIFEST);
        let text = self.manifest_bytes().map_err(|error| match Error::io(&path, error) {
            Error::Io { source, .. } => not_a_result(format!("manifest.json: {source}")),
            strange => strange,
        })?;
        let value: serde_json::Value =
            serde_json::from_slice(&text).map_err(|error| not_a_result(format!("manifest.json: {error}")))?;
        let found = value.get("trace_format").and_then(serde_json::Value::as_u64).unwrap_or(0);
        if found > u64::from(TRACE_FORMAT) {
            let found = u32::try_from(found).unwrap_or(u32::MAX);
            return Err(Error::NewerVersion { path: self.path().to_owned(), found, supported: TRACE_FORMAT });
        }
        serde_json::from_value(value).map_err(|error| not_a_result(format!("manifest.json: {error}")))
    }

    /// The manifest as it is written.
    pub(crate) fn manifest_bytes(&self) -> io::Result<Vec<u8>> {
        self.held.read_all(MANIFEST, MOST_MANIFEST_BYTES)
    }

    /// Writes the manifest: whole or not at all.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<()> {
        let path = self.path().join(MANIFEST);
        let text = serde_json::to_string_pretty(manifest).map_err(|error| Error::table(&path, error))?;
        self.held.replace(MANIFEST, (text + "\n").as_bytes()).map_err(|error| Error::io(&path, error))
    }

    /// Whether the folder `name` in `parent` is meant to be a result, be it one that cannot be read: it has a manifest.
    pub fn is_meant(parent: &Folder, name: &str) -> bool {
        parent.folder(name).is_ok_and(|folder| folder.has(MANIFEST))
    }
}

/// A text whose lines are cut off where they are too long.
fn with_short_lines(text: &[u8]) -> String {
    let mut short = String::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.get(MOST_LINE_BYTES..).map(<[u8]>::len) {
            Some(more) if more > 0 => {
                short += &String::from_utf8_lossy(&line[..MOST_LINE_BYTES]);
                short += &format!(" [{more} bytes of this line are left out]\n");
            }
            _ => short += &String::from_utf8_lossy(line),
        }
    }
    short
}

/// The largest resident set of this process so far; 0 when /proc does not tell. That of getrusage(2) begins with what
/// the parent had when it started this program.
pub fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<u64>().ok());
    peak.unwrap_or(0) * 1024
}

fn not_a_result(path: &Path, reason: String) -> Error {
    Error::NotAResult { path: path.to_owned(), reason }
}

/// The results `rNNNxx` in `parent` with their numbers.
fn numbered(parent: &Path) -> impl Iterator<Item = (u32, PathBuf)> {
    let held = Folder::open(parent).ok();
    let names = held.as_ref().and_then(|held| held.names().ok()).unwrap_or_default();
    let number = move |name: &str| {
        let digits = name.strip_prefix('r')?.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let number = digits.parse::<u32>().ok().filter(|number| *number < NUMBERS)?;
        let is_result = held.as_ref()?.folder(name).ok()?.has_file(MANIFEST);
        is_result.then_some(number)
    };
    let parent = parent.to_owned();
    names.into_iter().filter_map(move |name| Some((number(name.to_str()?)?, parent.join(name))))
}

/// A finalized result in memory: the manifest and every table.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the tables are documented where they are declared")]
pub struct Trace {
    pub manifest: Manifest,
    pub processes: Processes,
    pub threads: Threads,
    pub off_cpu: OffCpu,
    pub samples: Samples,
    pub stacks: Stacks,
    pub frames: Frames,
    pub modules: Modules,
    pub objects: Objects,
    pub pauses: Pauses,
    pub annotations: Annotations,
    pub sockets: SocketTables,
    pub delays: DelayTables,
    pub losses: Losses,
    pub notices: Notices,
    /// Made of the tables when first asked for, or mapped.
    events: OnceLock<Arc<Events>>,
    nesting: OnceLock<Arc<Nesting>>,
    index: Option<Arc<Index>>,
}

impl Trace {
    /// An empty trace under `manifest`.
    pub fn new(manifest: Manifest) -> Self {
        Self {
            manifest,
            processes: Processes::default(),
            threads: Threads::default(),
            off_cpu: OffCpu::default(),
            samples: Samples::default(),
            stacks: Stacks::default(),
            frames: Frames::default(),
            modules: Modules::default(),
            objects: Objects::default(),
            pauses: Pauses::default(),
            annotations: Annotations::default(),
            sockets: SocketTables::default(),
            delays: DelayTables::default(),
            losses: Losses::default(),
            notices: Notices::default(),
            events: OnceLock::new(),
            nesting: OnceLock::new(),
            index: None,
        }
    }

    /// The off-CPU intervals and samples thread by thread: of the index, or made of the tables once. Tables that are
    /// changed afterwards do not change them.
    pub fn events(&self) -> &Events {
        self.events.get_or_init(|| Arc::new(Events::of(self)))
    }

    /// What each thread says that it is in at every instant; made of the tables once, as the events are.
    pub fn nesting(&self) -> &Nesting {
        self.nesting.get_or_init(|| Arc::new(Nesting::of(self)))
    }

    /// After tables were changed: the events are made of them anew.
    pub fn tables_changed(&mut self) {
        (self.events, self.nesting, self.index) = (OnceLock::new(), OnceLock::new(), None);
    }

    /// The index that the events are of. The tables `off_cpu` and `samples` are empty then.
    pub fn index(&self) -> Option<&Index> {
        self.index.as_deref()
    }

    /// The index, for whoever asks later whether it was damaged.
    pub fn shared_index(&self) -> Option<Arc<Index>> {
        self.index.clone()
    }

    pub(crate) fn set_events(&mut self, events: Events, index: Index) {
        self.events = OnceLock::from(Arc::new(events));
        self.nesting = OnceLock::new();
        self.index = Some(Arc::new(index));
    }

    /// Reads a finalized result. Fails when it is none, is not finalized, or a table is damaged or names rows that
    /// are not there.
    pub fn read(folder: &ResultFolder) -> Result<Self> {
        let tables = TableReader::new(folder.tables()?);
        let mut trace = Self::read_without_events(folder, &tables)?;
        trace.off_cpu = tables.read()?;
        trace.samples = tables.read()?;
        trace.check().map_err(|reason| Error::table(tables.folder().path(), reason))?;
        Ok(trace)
    }

    /// The same without the tables `off_cpu` and `samples`, the largest ones.
    pub(crate) fn read_without_events(folder: &ResultFolder, tables: &TableReader) -> Result<Self> {
        let manifest = folder.manifest()?;
        if manifest.state != State::Finalized {
            return Err(Error::NotFinalized { path: folder.path().to_owned() });
        }
        let mut trace = Self::new(manifest);
        trace.processes = tables.read()?;
        trace.threads = tables.read()?;
        trace.stacks = tables.read()?;
        trace.frames = tables.read()?;
        trace.modules = tables.read()?;
        trace.objects = tables.read()?;
        trace.pauses = tables.read()?;
        trace.annotations = Annotations::read(tables, trace.manifest.trace_format)?;
        trace.sockets = SocketTables::read(tables, trace.manifest.trace_format)?;
        trace.delays = DelayTables::read(tables, trace.manifest.trace_format)?;
        trace.losses = tables.read()?;
        trace.notices = tables.read()?;
        trace.check().map_err(|reason| Error::table(tables.folder().path(), reason))?;
        Ok(trace)
    }

    /// Writes the tables, those of `code` with them, then the manifest as finalized: until then the result counts as not
    /// finalized.
    pub fn write(&mut self, folder: &ResultFolder, code: &CodeTables) -> Result<()> {
        let held = folder.held();
        let failed = |error| Error::io(&folder.path().join(TABLES), error);
        [TABLES_PARTIAL, TABLES].into_iter().try_for_each(|stale| held.remove(stale)).map_err(failed)?;
        let partial = held.make_folder(TABLES_PARTIAL, 0o777).map_err(failed)?;
        parquet_file::write(&partial, &self.processes)?;
        parquet_file::write(&partial, &self.threads)?;
        parquet_file::write(&partial, &self.off_cpu)?;
        parquet_file::write(&partial, &self.samples)?;
        parquet_file::write(&partial, &self.stacks)?;
        parquet_file::write(&partial, &self.frames)?;
        parquet_file::write(&partial, &self.modules)?;
        parquet_file::write(&partial, &self.objects)?;
        parquet_file::write(&partial, &self.pauses)?;
        self.annotations.write(&partial)?;
        self.sockets.write(&partial)?;
        self.delays.write(&partial)?;
        parquet_file::write(&partial, &self.losses)?;
        parquet_file::write(&partial, &self.notices)?;
        code.write(&partial)?;
        held.rename(TABLES_PARTIAL, TABLES).map_err(failed)?;
        self.manifest.state = State::Finalized;
        self.manifest.trace_format = TRACE_FORMAT;
        self.manifest.finalization_peak_bytes = peak_bytes();
        folder.write_manifest(&self.manifest)
    }

    /// Length of the collection, ns, paused time included.
    pub fn elapsed_ns(&self) -> u64 {
        self.manifest.end_ns.saturating_sub(self.manifest.start_ns)
    }

    /// Whether every id names a row that is there and every order that readers rely on holds.
    fn check(&self) -> std::result::Result<(), String> {
        let rows = Rows {
            processes: self.processes.len(),
            threads: self.threads.len(),
            stacks: self.stacks.len(),
            frames: self.frames.len(),
            modules: self.modules.len(),
            objects: self.objects.len(),
        };
        rows.processes("processes.parent", &self.processes.parent)?;
        rows.processes("threads.process", &self.threads.process)?;
        rows.processes("objects.process", &self.objects.process)?;
        rows.threads("threads.parent", &self.threads.parent)?;
        rows.threads("off_cpu.waker", &self.off_cpu.waker)?;
        rows.threads("off_cpu.holder", &self.off_cpu.holder)?;
        rows.stacks("off_cpu.stack", &self.off_cpu.stack)?;
        rows.stacks("off_cpu.waker_stack", &self.off_cpu.waker_stack)?;
        rows.stacks("samples.stack", &self.samples.stack)?;
        rows.stacks("objects.first_stack", &self.objects.first_stack)?;
        rows.modules("frames.module", &self.frames.module)?;
        rows.objects("off_cpu.object", &self.off_cpu.object)?;
        let all = |name: &str, holds: bool| holds.then_some(()).ok_or_else(|| format!("column {name} is damaged"));
        let thread = |id: &ThreadId| id.get().is_some_and(|row| row < rows.threads);
        all("off_cpu.thread", self.off_cpu.thread.iter().all(thread))?;
        all("samples.thread", self.samples.thread.iter().all(thread))?;
        all("threads.process", self.threads.process.iter().all(|id| id.is_some()))?;
        all("stacks.frame", self.stacks.frame.iter().all(|id| id.get().is_some_and(|row| row < rows.frames)))?;
        let below = |(row, parent): (usize, &StackId)| parent.get().is_none_or(|parent| parent < row);
        all("stacks.parent", self.stacks.parent.iter().enumerate().all(below))?;
        all("off_cpu.start_ns", self.off_cpu.start_ns.is_sorted())?;
        all("samples.time_ns", self.samples.time_ns.is_sorted())?;
        self.annotations.check(rows.processes, rows.threads, rows.objects)?;
        self.delays.check(rows.threads)?;
        self.sockets.check(&Referred {
            processes: rows.processes,
            threads: rows.threads,
            objects: rows.objects,
            stacks: rows.stacks,
        })
    }
}

struct Rows {
    processes: usize,
    threads: usize,
    stacks: usize,
    frames: usize,
    modules: usize,
    objects: usize,
}

macro_rules! bounds {
    ($($rows:ident: $id:ty),*) => {
        impl Rows {$(
            fn $rows(&self, column: &str, ids: &[$id]) -> std::result::Result<(), String> {
                let good = ids.iter().all(|id| id.get().is_none_or(|row| row < self.$rows));
                good.then_some(()).ok_or_else(|| format!("column {column} names rows that are not there"))
            }
        )*}
    };
}

bounds!(processes: ProcessId, threads: ThreadId, stacks: StackId, modules: ModuleId, objects: ObjectId);

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn of_a_long_log_the_end_is_read_and_of_a_long_line_the_begin() {
        let folder = tempfile::tempdir().unwrap();
        let result = ResultFolder::create(&folder.path().join("r")).unwrap();
        let log = |bytes: &[u8]| {
            fs::write(result.path().join(LOG), bytes).unwrap();
            result.log().unwrap()
        };
        assert_eq!(log(b"one\ntwo"), "one\ntwo");
        assert_eq!(log(&[b"one\n", [b'x'; MOST_LINE_BYTES].as_slice()].concat()).len(), 4 + MOST_LINE_BYTES);
        let lines = [b"one\n", vec![b'x'; 5000].as_slice(), b"\nthree\n"].concat();
        let expected = format!("one\n{} [905 bytes of this line are left out]\nthree\n", "x".repeat(4096));
        assert_eq!(log(&lines), expected);
        let long = log(&vec![b'x'; 3 << 20]);
        assert!(long.starts_with("[2097152 bytes before this are left out]\nxxx") && long.len() < 5000, "{long}");
    }

    #[test]
    fn the_next_result_is_the_newest_after_a_gap_too() {
        let folder = tempfile::tempdir().unwrap();
        let made = || {
            let result = ResultFolder::create_next(folder.path(), "th").unwrap();
            fs::write(result.path().join("manifest.json"), "{}").unwrap();
            result.path().to_owned()
        };
        let all: Vec<PathBuf> = (0..3).map(|_| made()).collect();
        assert!(all[2].ends_with("r002th"));
        fs::remove_dir_all(&all[0]).unwrap();
        fs::create_dir(folder.path().join("r003th")).unwrap();
        let next = made();
        assert!(next.ends_with("r004th"), "{}", next.display());
        assert_eq!(ResultFolder::latest(folder.path()), Some(next));
    }
}
