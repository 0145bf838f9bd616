//! The files in which programs write what they announce: finds them, and drains them into the trace.
//!
//! Files are read by `pread` and never mapped (see the crate itt-wire): a program that truncates its file hurts nobody but
//! itself. What it wrote goes to the trace as it is; only its wish to pause, resume or end the collection is understood here.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bytemuck::Zeroable;
use dwell_itt_wire::layout::{Clock, NAMES_BYTES, RINGS_BYTES, State};
use dwell_itt_wire::{Name, Reader, Round, Sink, names};
use dwell_model::losses;
use dwell_store::raw::wire::{IttHeader, RecordHeader, kind};
use dwell_unwind::parse_maps;

use super::folder::{FileVerdict, Folder, FolderEntry};
use super::library::is_ours;
use crate::clock::monotonic_ns;
use crate::error::{Error, Result};
use crate::output::recorder::Recorder;
use crate::programs::process_lifetimes::ProcessLifetimes;
use crate::ticks::{Line, Ticks};

/// Files drained in a round; with more, each has its turn.
const MOST_DRAINED: usize = 512;
/// Files open at a time.
const MOST_OPEN: usize = 4096;
/// What a file can hold that was not drained yet: more than that does not come of a process that has ended.
const MOST_LEFT_BYTES: u64 = NAMES_BYTES + RINGS_BYTES;
/// Bytes of a round from which the next one comes sooner.
const BUSY_BYTES: u64 = 1 << 20;

/// What a program asks of the collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramRequest {
    /// Stop recording for now.
    Pause,
    /// Record again.
    Resume,
    /// Record no more.
    Detach,
}

/// What a round of draining found.
#[derive(Default)]
pub struct DrainRound {
    /// Wishes and when they came, ns, in the order of time.
    pub wishes: Vec<(u64, ProgramRequest)>,
    /// Whether the next round should come soon.
    pub busy: bool,
    /// Whether there was more than a round drains.
    pub more: bool,
}

/// One process's file.
struct Shared {
    reader: Reader,
    tgid: u32,
    /// Its number in this collection.
    source: u32,
    last: Round,
    /// Its process has ended, or runs another program.
    ended: bool,
    /// Drained since.
    bytes_since: u64,
    /// Nothing more will come of it.
    is_done: bool,
}

/// All files of a collection.
pub struct Itt {
    folders: Vec<Folder>,
    files: Vec<Shared>,
    /// The file that the next round begins with.
    next: usize,
    sources: u32,
    ticks: Ticks,
    /// Users whose files were taken: those of processes that ended at once belong to one of them.
    owners: Vec<u32>,
    state: State,
    library_told: bool,
    names_lost: u64,
    ringless_lost: u64,
    damaged_bytes: u64,
    files_refused: u64,
}

impl Itt {
    /// Watches `folders`.
    pub fn new(folders: Vec<Folder>) -> Self {
        Self {
            folders,
            files: Vec::new(),
            next: 0,
            sources: 0,
            ticks: Ticks::start(),
            owners: vec![rustix::process::geteuid().as_raw()],
            state: State::Recording,
            library_told: false,
            names_lost: 0,
            ringless_lost: 0,
            damaged_bytes: 0,
            files_refused: 0,
        }
    }

    /// The user of the launched program.
    pub fn expect_owner(&mut self, uid: u32) {
        self.owners.push(uid);
    }

    /// Whether some process announces something.
    pub fn is_used(&self) -> bool {
        !self.files.is_empty()
    }

    /// What process `tgid` ran until `time_ns` ended.
    pub fn end_program(&mut self, tgid: u32, time_ns: u64) {
        let of_program = |file: &&mut Shared| file.tgid == tgid && file.reader.header().opened_ns < time_ns;
        self.files.iter_mut().filter(of_program).for_each(|file| file.ended = true);
    }

    /// The library as a process of this collection has it loaded; told once.
    pub fn library_in_use(&mut self) -> Option<PathBuf> {
        if self.library_told {
            return None;
        }
        let found = self.files.iter().filter(|file| !file.ended).find_map(|file| loaded_library(file.tgid));
        self.library_told = found.is_some();
        found
    }

    /// Takes new files of `profiled` processes in and drains all. While recording is `paused`, events are dropped, as
    /// are the kernel's, until a program asks to resume. Fails when the trace cannot be written.
    pub fn round(&mut self, profiled: &ProcessLifetimes, recorder: &mut Recorder, paused: bool) -> Result<DrainRound> {
        let mut drained = DrainRound::default();
        if self.folders.is_empty() {
            return Ok(drained);
        }
        let now_ns = monotonic_ns();
        let line = self.ticks.advance();
        self.look(now_ns, profiled);
        let count = self.files.len();
        let mut sink =
            Records { recorder, header: IttHeader::zeroed(), line, paused, wishes: Vec::new(), failure: None };
        for index in (0..count.min(MOST_DRAINED)).map(|turn| (self.next + turn) % count) {
            let Some(file) = self.files.get_mut(index) else { continue };
            sink.begin(file, line, now_ns);
            match file.reader.drain(&mut sink) {
                Ok(round) => {
                    drained.busy |= round.more || round.bytes >= BUSY_BYTES;
                    drained.more |= round.more;
                    file.bytes_since += if file.ended { round.bytes } else { 0 };
                    file.is_done = file.ended && (!round.more || file.bytes_since > MOST_LEFT_BYTES);
                    file.last = round;
                }
                Err(_) => {
                    // Truncated, or otherwise no shared file any more: what comes of it is over.
                    self.files_refused += 1;
                    file.is_done = true;
                }
            }
        }
        drained.more |= count > MOST_DRAINED;
        self.next = if count > MOST_DRAINED { (self.next + MOST_DRAINED) % count } else { 0 };
        let Records { mut wishes, failure, .. } = sink;
        wishes.sort_by_key(|(time_ns, _)| *time_ns);
        drained.wishes = wishes;
        self.close_ended();
        failure.map_or(Ok(drained), Err)
    }

    /// Ends recording in all programs. Files of processes that came and went since the last look are still taken in.
    pub fn stop(&mut self) {
        self.state = State::Off;
        self.folders.iter_mut().for_each(Folder::end_rest);
        for file in &self.files {
            let _ = file.reader.set_state(State::Off); // its process may be gone, and the file cut
        }
    }

    /// What was lost beside what records say: name and count, zeros left out. Removes files of processes that are gone.
    pub fn finish(&mut self) -> Vec<(String, u64)> {
        let files_cut = self.files.iter().filter(|file| file.last.more).count() as u64;
        self.files.iter_mut().for_each(|file| file.is_done = true);
        self.close_ended();
        self.folders.iter().for_each(Folder::remove_stale);
        let all = [
            (losses::ITT_NAMES_LOST, self.names_lost),
            (losses::ITT_EVENTS_WITHOUT_RING, self.ringless_lost),
            (losses::ITT_FILE_BYTES_DAMAGED, self.damaged_bytes),
            (losses::ITT_FILES_REFUSED, self.files_refused),
            (losses::ITT_FILES_CUT, files_cut),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)).collect()
    }

    fn look(&mut self, now_ns: u64, profiled: &ProcessLifetimes) {
        let (files, owners, sources, state) = (&mut self.files, &mut self.owners, &mut self.sources, self.state);
        // A program can make any number of files: its memory is looked at once.
        let mut maps: HashMap<u32, String> = HashMap::new();
        for folder in &mut self.folders {
            self.files_refused += folder.look(now_ns, &mut |entry| {
                let pid = entry.pid;
                if !profiled.contains(pid) || files.len() >= MOST_OPEN {
                    return FileVerdict::Later;
                }
                let Ok(file) = entry.open() else { return FileVerdict::Refused };
                let maps = maps.entry(pid).or_insert_with(|| maps_of(pid));
                let owner = owner(&file, entry, maps, owners);
                match owner {
                    FileOwner::Running | FileOwner::Gone => {}
                    FileOwner::Unknown => return FileVerdict::Later,
                    FileOwner::Other => return FileVerdict::Refused,
                }
                let Ok(reader) = Reader::open(file) else { return FileVerdict::Later };
                if reader.set_state(state).is_err() {
                    return FileVerdict::Refused;
                }
                let ended = matches!(owner, FileOwner::Gone);
                let last = Round::default();
                files.push(Shared { reader, tgid: pid, source: *sources, last, ended, bytes_since: 0, is_done: false });
                *sources += 1;
                FileVerdict::Taken
            });
        }
    }

    fn close_ended(&mut self) {
        for file in self.files.extract_if(.., |file| file.is_done) {
            self.names_lost += file.last.names_lost;
            self.ringless_lost += file.last.ringless_lost;
            self.damaged_bytes += file.last.damaged_bytes;
        }
    }
}

/// Our library in the memory of process `tgid`, as a path that leads to it from here.
fn loaded_library(tgid: u32) -> Option<PathBuf> {
    let maps = fs::read(format!("/proc/{tgid}/maps")).ok()?;
    let mapping = parse_maps(tgid, &maps).into_iter().find(|mapping| is_ours(&mapping.path))?;
    Some(Path::new(&format!("/proc/{tgid}/root")).join(mapping.path.strip_prefix("/").ok()?))
}

/// What process `pid` has mapped. A process that has ended has no memory, whether it was waited for or not.
fn maps_of(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default()
}

/// Whose a file is.
enum FileOwner {
    /// A process that has it mapped.
    Running,
    /// A process that is gone.
    Gone,
    /// Not known yet.
    Unknown,
    /// Somebody else.
    Other,
}

/// Whether the file is of the process in its name: in its `maps` or, when it is gone, in a folder that nobody else knows or
/// owned by one of `owners`. A process that ends at once may have become another user before.
fn owner(file: &File, entry: &FolderEntry<'_>, maps: &str, owners: &mut Vec<u32>) -> FileOwner {
    let Ok(metadata) = file.metadata() else { return FileOwner::Unknown };
    let known = owners.contains(&metadata.uid());
    if maps.is_empty() {
        return if known || entry.in_own_folder { FileOwner::Gone } else { FileOwner::Other };
    }
    let (major, minor) = (libc::major(metadata.dev()), libc::minor(metadata.dev()));
    let numbers = format!(" {major:02x}:{minor:02x} {} ", metadata.ino());
    if !maps.lines().any(|line| line.contains(&numbers)) {
        return FileOwner::Unknown;
    }
    if !known {
        owners.push(metadata.uid());
    }
    FileOwner::Running
}

/// Puts what is drained from one file after another into the trace.
struct Records<'r> {
    recorder: &'r mut Recorder,
    /// Of the file that is being drained.
    header: IttHeader,
    line: Line,
    paused: bool,
    wishes: Vec<(u64, ProgramRequest)>,
    failure: Option<Error>,
}

impl Records<'_> {
    fn begin(&mut self, file: &Shared, line: Line, now_ns: u64) {
        self.line = if file.reader.header().clock == Clock::Tsc { line } else { Line::IDENTITY };
        self.header = IttHeader {
            h: RecordHeader { kind: 0, size: 0, tid: 0, time_ns: now_ns },
            tgid: file.tgid,
            source: file.source,
            base_ticks: self.line.base_ticks,
            base_ns: self.line.base_ns,
            ns_per_tick: self.line.ns_per_tick,
            ..IttHeader::zeroed()
        };
    }

    fn record(&mut self, kind: u16, tid: u32, lost: u32, bytes: &[u8]) {
        let mut header = IttHeader { lost, ..self.header };
        (header.h.kind, header.h.tid) = (kind, tid);
        if let Err(error) = self.recorder.itt(header, bytes) {
            self.failure.get_or_insert(error);
        }
    }
}

impl Sink for Records<'_> {
    fn names(&mut self, bytes: &[u8]) {
        for named in names(bytes) {
            let wish = match named.name {
                Name::Pause { .. } => ProgramRequest::Pause,
                Name::Resume { .. } => ProgramRequest::Resume,
                Name::Detach => ProgramRequest::Detach,
                _ => continue,
            };
            self.wishes.push((self.line.ns(named.ticks).min(self.header.h.time_ns), wish));
            self.paused &= wish != ProgramRequest::Resume;
        }
        self.record(kind::ITT_NAMES, 0, 0, bytes);
    }

    fn events(&mut self, tid: u32, lost: u32, bytes: &[u8]) {
        if !self.paused {
            self.record(kind::ITT_EVENTS, tid, lost, bytes);
        }
    }
}
