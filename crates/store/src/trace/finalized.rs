//! A finalized result in memory, with every table.

use std::sync::{Arc, OnceLock};

use dwell_model::{ModuleId, ObjectId, ProcessId, StackId, ThreadId};

use super::annotations::Annotations;
use super::code_tables::CodeTables;
use super::delays::DelayTables;
use super::events::Events;
use super::fibers::FiberTables;
use super::nesting::Nesting;
use super::sockets::{ReferredRows, SocketTables};
use super::stack_answers::StackAnswers;
use crate::error::{Error, Result};
use crate::folder::{ResultFolder, TABLES};
use crate::index::Index;
use crate::manifest::{Manifest, State, TRACE_FORMAT};
use crate::peak::peak_bytes;
use crate::table::{self, Table, TableReader};
use crate::tables::{
    AcceptQueues, Connects, EventCounts, Frames, Losses, Modules, Notices, Objects, OffCpu, OpenRequests, Pauses,
    Processes, SampledSends, Samples, SendQueues, Stacks, Threads, VainTries,
};

/// Where the tables lie until all of them are written.
const TABLES_PARTIAL: &str = "tables.partial";

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
    pub event_counts: EventCounts,
    pub open_requests: OpenRequests,
    /// Connections that waited to be accepted.
    pub accept_queues: AcceptQueues,
    pub sampled_sends: SampledSends,
    pub send_queues: SendQueues,
    pub vain_tries: VainTries,
    pub connects: Connects,
    pub fibers: FiberTables,
    /// How many of the threads are fibers, the first ones: all of `fibers` where these stand for threads, else 0.
    pub fiber_threads: usize,
    /// Of the threads behind the fibers, the row that each has where threads stand for themselves; empty without fibers.
    pub beside_fibers: Vec<usize>,
    pub losses: Losses,
    pub notices: Notices,
    /// Made of the tables at first use, or mapped.
    events: OnceLock<Arc<Events>>,
    nesting: OnceLock<Arc<Nesting>>,
    /// Of the tables `stacks` and `frames`, as far as somebody asked.
    stack_answers: OnceLock<Arc<StackAnswers>>,
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
            event_counts: EventCounts::default(),
            open_requests: OpenRequests::default(),
            accept_queues: AcceptQueues::default(),
            sampled_sends: SampledSends::default(),
            send_queues: SendQueues::default(),
            vain_tries: VainTries::default(),
            connects: Connects::default(),
            fibers: FiberTables::default(),
            fiber_threads: 0,
            beside_fibers: Vec::new(),
            losses: Losses::default(),
            notices: Notices::default(),
            events: OnceLock::new(),
            nesting: OnceLock::new(),
            stack_answers: OnceLock::new(),
            index: None,
        }
    }

    /// The off-CPU intervals and samples thread by thread: of the index, or made of the tables once. Tables that are
    /// changed afterwards do not change them.
    pub fn events(&self) -> &Events {
        let rows_named = (&self.stacks, &self.objects);
        self.events.get_or_init(|| Arc::new(Events::of(&self.threads, &self.off_cpu, &self.samples, rows_named)))
    }

    /// What each thread says that it is in at every instant; made of the tables once, as the events are.
    pub fn nesting(&self) -> &Nesting {
        let made = || Nesting::of(&self.annotations, &self.threads, &self.events().samples);
        self.nesting.get_or_init(|| Arc::new(if self.annotations.nests() { made() } else { Nesting::default() }))
    }

    /// What was found out about its stacks.
    pub fn stack_answers(&self) -> &StackAnswers {
        self.stack_answers.get_or_init(|| Arc::new(StackAnswers::new(self.stacks.frame.len())))
    }

    /// After tables were changed: the events are made of them anew, and what is known of stacks is found out again.
    pub fn tables_changed(&mut self) {
        (self.events, self.nesting, self.index) = (OnceLock::new(), OnceLock::new(), None);
        self.stack_answers = OnceLock::new();
    }

    /// The index that the events are of. The tables `off_cpu` and `samples` are empty then.
    pub fn index(&self) -> Option<&Index> {
        self.index.as_deref()
    }

    /// The index, for whoever asks later whether it was damaged.
    pub fn shared_index(&self) -> Option<Arc<Index>> {
        self.index.clone()
    }

    pub(super) fn set_events(&mut self, events: Events, index: Index) {
        self.events = OnceLock::from(Arc::new(events));
        self.nesting = OnceLock::new();
        self.index = Some(Arc::new(index));
    }

    /// Reads a finalized result. Fails when the folder is no result, is not finalized, or a table is damaged or names rows that
    /// are not there.
    pub fn read(folder: &ResultFolder) -> Result<Self> {
        let tables = TableReader::new(folder.tables()?);
        let mut trace = Self::read_without_events(folder, &tables)?;
        trace.off_cpu = tables.read()?;
        trace.samples = tables.read()?;
        trace.check().map_err(|reason| Error::table(tables.folder().path(), reason))?;
        Ok(trace)
    }

    /// Reads a finalized result without the tables `off_cpu` and `samples`, the largest ones.
    pub(super) fn read_without_events(folder: &ResultFolder, tables: &TableReader) -> Result<Self> {
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
        trace.annotations = Annotations::read(tables)?;
        trace.sockets = SocketTables::read(tables)?;
        trace.delays = DelayTables::read(tables)?;
        trace.event_counts = tables.read()?;
        trace.open_requests = tables.read()?;
        trace.accept_queues = tables.read()?;
        trace.sampled_sends = tables.read()?;
        trace.send_queues = tables.read()?;
        trace.vain_tries = tables.read()?;
        trace.connects = tables.read()?;
        trace.fibers = FiberTables::read(tables)?;
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
        table::write(&partial, &self.processes)?;
        table::write(&partial, &self.threads)?;
        table::write(&partial, &self.off_cpu)?;
        table::write(&partial, &self.samples)?;
        table::write(&partial, &self.stacks)?;
        table::write(&partial, &self.frames)?;
        table::write(&partial, &self.modules)?;
        table::write(&partial, &self.objects)?;
        table::write(&partial, &self.pauses)?;
        self.annotations.write(&partial)?;
        self.sockets.write(&partial)?;
        self.delays.write(&partial)?;
        table::write(&partial, &self.event_counts)?;
        table::write(&partial, &self.open_requests)?;
        table::write(&partial, &self.accept_queues)?;
        table::write(&partial, &self.sampled_sends)?;
        table::write(&partial, &self.send_queues)?;
        table::write(&partial, &self.vain_tries)?;
        table::write(&partial, &self.connects)?;
        self.fibers.write(&partial)?;
        table::write(&partial, &self.losses)?;
        table::write(&partial, &self.notices)?;
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

    /// For how long a thread lived while it was recorded, ns.
    pub fn life_ns(&self, thread: usize) -> u64 {
        self.threads.end_ns[thread].saturating_sub(self.threads.start_ns[thread])
    }

    /// Whether threads are fibers that were looked at now and then.
    pub fn has_sampled_fibers(&self) -> bool {
        self.fiber_threads > 0 && self.manifest.fiber_interval_ns > 0
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
        rows.stacks("objects.created_stack", &self.objects.created_stack)?;
        rows.modules("frames.module", &self.frames.module)?;
        rows.objects("off_cpu.object", &self.off_cpu.object)?;
        let all = |name: &str, holds: bool| holds.then_some(()).ok_or_else(|| format!("column {name} is damaged"));
        let thread = |id: &ThreadId| id.get().is_some_and(|row| row < rows.threads);
        all("event_counts.thread", self.event_counts.thread.iter().all(thread))?;
        rows.processes("open_requests.process", &self.open_requests.process)?;
        rows.processes("accept_queues.process", &self.accept_queues.process)?;
        rows.processes("accept_queues.owner", &self.accept_queues.owner)?;
        rows.processes("sampled_sends.process", &self.sampled_sends.process)?;
        rows.processes("send_queues.process", &self.send_queues.process)?;
        all("vain_tries.thread", self.vain_tries.thread.iter().all(thread))?;
        all("connects.thread", self.connects.thread.iter().all(thread))?;
        all("connects.time_ns", self.connects.time_ns.is_sorted())?;
        rows.stacks("connects.stack", &self.connects.stack)?;
        all("vain_tries.time_ns", self.vain_tries.time_ns.is_sorted())?;
        all("send_queues.time_ns", self.send_queues.time_ns.is_sorted())?;
        all("sampled_sends.time_ns", self.sampled_sends.time_ns.is_sorted())?;
        all("open_requests.time_ns", self.open_requests.time_ns.is_sorted())?;
        all("accept_queues.time_ns", self.accept_queues.time_ns.is_sorted())?;
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
        let referred = ReferredRows {
            processes: rows.processes,
            threads: rows.threads,
            objects: rows.objects,
            stacks: rows.stacks,
        };
        self.fibers.check(&referred)?;
        self.sockets.check(&referred)
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
