//! Writes to a store that may be away: what cannot be written waits in a buffer, and is written in its order when the store is back.
//!
//! A folder is written at once, unless something waits for it. To a bucket a thread writes, from the buffer, so that a slow network delays
//! no row. Retries take longer and longer, up to half a minute.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::bucket::is_refusal;
use super::buffer::StoreBuffer;
use super::{FleetStore, StoreFile, StoreLocation, StorePlace};
use crate::causes::CauseRow;
use crate::table::FleetRow;

/// Time until a store that is away is tried again: first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long an agent that ends goes on writing what waits; systemd kills it after 90 s.
const MOST_TIME_TO_END: Duration = Duration::from_secs(60);

/// Where files wait that cannot be written, and how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferChoice {
    /// The folder.
    pub folder: PathBuf,
    /// What may be in it.
    pub most_bytes: u64,
}

/// What became of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreOutcome {
    /// Files that the store has.
    pub written: u64,
    /// Files that are lost: the buffer was full, or could not be written either.
    pub dropped: u64,
    /// Files that wait in the buffer.
    pub waiting: u64,
    /// Why the last one could not be written; empty where all could.
    pub why: String,
}

/// A store, its buffer and the thread that writes; clones are the same one.
#[derive(Clone)]
pub struct StoreWriter {
    shared: Arc<Shared>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

struct Shared {
    store: FleetStore,
    name: String,
    choice: BufferChoice,
    /// Tells people a sentence.
    tell: fn(&str),
    state: Mutex<WriterState>,
    changed: Condvar,
}

#[derive(Default)]
struct WriterState {
    /// Opened when something has to wait.
    buffer: Option<StoreBuffer>,
    outcome: StoreOutcome,
    /// Whether the last file could not be written, and files that are written since the store is back.
    away: bool,
    written_late: u64,
    told_full: bool,
    /// When the thread has to be at its end; none while the agent goes on.
    end: Option<Instant>,
}

impl StoreWriter {
    /// Opens the store, and goes on with what waits in the buffer. A bucket that does not answer counts as away. `tell` is called with
    /// sentences about the store.
    ///
    /// # Errors
    ///
    /// Where the store or the buffer cannot be written.
    pub fn open(location: &StoreLocation, choice: &BufferChoice, tell: fn(&str)) -> io::Result<Self> {
        let store = FleetStore::at(location)?;
        let mut state = WriterState::default();
        let is_bucket = matches!(store.place, StorePlace::Bucket(_));
        if is_bucket || choice.folder.is_dir() {
            state.buffer = Some(open_buffer(choice)?);
        }
        let shared = Arc::new(Shared {
            store,
            name: location.to_string(),
            choice: choice.clone(),
            tell,
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        if is_bucket && let Err(error) = shared.store.check() {
            if is_refusal(&error) {
                return Err(error);
            }
            shared.fail(&mut shared.lock(), &error);
        }
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("store".into()).spawn(move || of_thread.write_what_waits())?;
        Ok(Self { shared, thread: Arc::new(Mutex::new(Some(thread))) })
    }

    /// Writes what `service` did on `host` in the row of time that began at `start_ns`, or lets it wait.
    pub fn write(&self, service: &str, host: &str, start_ns: i64, rows: &[FleetRow]) {
        self.shared.add(StoreFile::of_waits(service, host, start_ns, rows));
    }

    /// Writes why `service` waited on `host` in the window that began at `start_ns`, or lets it wait.
    pub fn write_causes(&self, service: &str, host: &str, start_ns: i64, rows: &[CauseRow]) {
        self.shared.add(StoreFile::of_causes(service, host, start_ns, rows));
    }

    /// Writes what waits as long as the store takes it, and gives the buffer back. Nothing can be written afterwards.
    pub fn end(&self) -> StoreOutcome {
        self.shared.lock().end = Some(Instant::now() + MOST_TIME_TO_END);
        self.shared.changed.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        let mut state = self.shared.lock();
        let buffer = state.buffer.take();
        let (waiting, dropped) = buffer.map_or((0, 0), |buffer| (buffer.len(), buffer.dropped()));
        let mut outcome = state.outcome.clone();
        (outcome.waiting, outcome.dropped) = (waiting, outcome.dropped + dropped);
        outcome
    }
}

fn open_buffer(choice: &BufferChoice) -> io::Result<StoreBuffer> {
    StoreBuffer::open(&choice.folder, choice.most_bytes).map_err(|error| {
        let why = format!("its buffer {} cannot be used: {error}", choice.folder.display());
        io::Error::new(io::ErrorKind::InvalidInput, why)
    })
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a file at once where it can, else lets it wait.
    fn add(&self, file: io::Result<StoreFile>) {
        let mut state = self.lock();
        let added = file.and_then(|file| {
            let waits = state.buffer.as_ref().is_some_and(|buffer| buffer.len() > 0);
            let is_folder = matches!(self.store.place, StorePlace::Folder(_));
            if is_folder && !waits {
                match self.store.put(&file) {
                    Ok(()) => {
                        state.outcome.written += 1;
                        return Ok(());
                    }
                    Err(error) => self.fail(&mut state, &error),
                }
            }
            self.buffer(&mut state, &file)
        });
        if let Err(error) = added {
            state.outcome.dropped += 1;
            state.outcome.why = error.to_string();
        }
        self.changed.notify_all();
    }

    fn buffer(&self, state: &mut WriterState, file: &StoreFile) -> io::Result<()> {
        if state.buffer.is_none() && state.end.is_none() {
            state.buffer = Some(open_buffer(&self.choice)?);
        }
        let buffer = state.buffer.as_mut().ok_or_else(|| io::Error::other("the agent ends"))?;
        let before = buffer.dropped();
        buffer.add(file)?;
        if buffer.dropped() > before && !state.told_full {
            state.told_full = true;
            let (folder, mib) = (self.choice.folder.display(), self.choice.most_bytes >> 20);
            (self.tell)(&format!("note: the buffer {folder} has its {mib} MiB, and the oldest files are dropped"));
        }
        Ok(())
    }

    /// Says once that the store is away.
    fn fail(&self, state: &mut WriterState, error: &io::Error) {
        state.outcome.why = error.to_string();
        if !state.away {
            state.away = true;
            let folder = self.choice.folder.display();
            (self.tell)(&format!("note: the store {} is away, and files wait in {folder}: {error}", self.name));
        }
    }

    /// What the thread does: the oldest file, again and again, until the agent ends and nothing waits or the store is away.
    fn write_what_waits(&self) {
        let mut pause = FIRST_PAUSE;
        let mut state = self.lock();
        loop {
            let Some((number, file)) = state.buffer.as_mut().and_then(StoreBuffer::oldest) else {
                self.be_back(&mut state);
                if state.end.is_some() {
                    return;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            if state.end.is_some_and(|end| end < Instant::now()) {
                return;
            }
            drop(state);
            let done = self.store.put(&file);
            state = self.lock();
            match done {
                Ok(()) => {
                    if let Some(buffer) = &mut state.buffer {
                        buffer.remove(number);
                    }
                    state.outcome.written += 1;
                    state.written_late += u64::from(state.away);
                    pause = FIRST_PAUSE;
                }
                Err(error) => {
                    self.fail(&mut state, &error);
                    if state.end.is_some() {
                        return;
                    }
                    let waited = self.changed.wait_timeout_while(state, pause, |state| state.end.is_none());
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// Says that a store that was away has all that waited.
    fn be_back(&self, state: &mut WriterState) {
        if !state.away || state.written_late == 0 {
            return;
        }
        let files = if state.written_late == 1 { "1 file".into() } else { format!("{} files", state.written_late) };
        (self.tell)(&format!("note: the store {} is back: {files} that waited are written", self.name));
        (state.away, state.written_late, state.told_full) = (false, 0, false);
    }
}
