//! What a collection has while it runs, and how it goes.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use dwell_store::{Folder, Manifest, ResultFolder};

use super::collector_latency::SchedulingDelay;
use super::control_socket::ControlSocket;
use super::cpu_use::CpuUseWatch;
use super::loss_timeline::LossTimeline;
use super::manifest::note_losses;
use super::quotas::QuotaWatch;
use crate::clock::monotonic_ns;
use crate::drain::drained::EventSink;
use crate::drain::source::Source;
use crate::kernel::perf::Mapping;
use crate::options::Options;
use crate::output::outliers::Outliers;
use crate::priority::SavedScheduling;
use crate::programs::keeper::FileKeeper;
use crate::programs::launch::Child;
use crate::programs::proc::ProcessStart;
use crate::stacks::unwinding::UnwindTables;
use crate::topics::goroutines::Goroutines;
use crate::topics::itt::Itt;
use crate::topics::system::System;

const ROUNDS_PER_LOSS_COUNT: u64 = 16;

/// How a collection goes, for whoever shows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Since the start, ns.
    pub elapsed_ns: u64,
    /// Threads seen.
    pub threads: u64,
    /// Switches and samples recorded.
    pub events: u64,
    /// Records lost, of all kinds.
    pub losses: u64,
    /// Bytes in the spool.
    pub bytes: u64,
    /// Whether recording is paused.
    pub paused: bool,
}

/// Whether a collection records now.
pub(super) struct Pause {
    pub(super) is_on: bool,
    pub(super) since_ns: u64,
    /// `--resume-after`, since the start of the collection, while the pause is still that of the start.
    pub(super) resume_at_ns: Option<u64>,
    /// Recording is over for good although the program runs: at the data limit, or as it wished.
    pub(super) is_final: bool,
}

/// How a collection ends that was told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndRequest {
    Stop,
    Cancel,
}

pub(super) struct Collection<'a> {
    pub(super) options: &'a Options,
    pub(super) source: Box<dyn Source + 'a>,
    pub(super) drained: Rc<RefCell<EventSink>>,
    pub(super) mappings: Vec<Mapping>,
    pub(super) unwinding: UnwindTables,
    pub(super) keeper: FileKeeper,
    pub(super) outliers: Option<Outliers>,
    pub(super) modules: Folder,
    pub(super) system: Option<System>,
    pub(super) goroutines: Option<Goroutines>,
    pub(super) child: Option<Child>,
    /// The running processes that it was attached to.
    pub(super) attached: Vec<(u32, Option<ProcessStart>)>,
    pub(super) pidfds: Vec<OwnedFd>,
    pub(super) itt: Itt,
    pub(super) quotas: QuotaWatch,
    pub(super) cpu_use: CpuUseWatch,
    pub(super) pause: Pause,
    /// Whether programs' files had more than a round drains.
    pub(super) itt_left: bool,
    /// Whether there is a reason not to wait long for the next round.
    pub(super) soon: bool,
    pub(super) stopping_since_ns: Option<u64>,
    pub(super) rounds: u64,
    pub(super) scheduling_delay: SchedulingDelay,
    pub(super) losing: LossTimeline,
    pub(super) losses_seen: u64,
    /// How this thread was scheduled before the collection.
    pub(super) scheduled: SavedScheduling,
    /// Where it is steered from outside; none where no socket could be made.
    pub(super) control: Option<ControlSocket>,
    /// The result's folder, for the results that are made of it meanwhile, and how many there are.
    pub(super) folder: ResultFolder,
    pub(super) snapshots: u32,
    /// It was told to end.
    pub(super) ending: Option<EndRequest>,
    /// When what has joined the targets is to be looked up.
    pub(super) next_joining_ns: u64,
    /// There may be intervals in which threads run.
    pub(super) has_intervals: bool,
    pub(super) manifest: Manifest,
}

impl Collection<'_> {
    /// Asking the kernel for the loss counters costs more than a quiet round: not every time.
    pub(super) fn progress(&mut self) -> Progress {
        self.rounds += 1;
        if self.rounds.is_multiple_of(ROUNDS_PER_LOSS_COUNT) {
            note_losses(&*self.source, &mut self.losing, &mut self.manifest);
            self.losses_seen = self.manifest.losses.iter().map(|(_, count)| count).sum();
        }
        let drained = self.drained.borrow();
        Progress {
            elapsed_ns: monotonic_ns() - self.manifest.start_ns,
            threads: drained.threads,
            events: drained.recorder.event_count,
            losses: self.losses_seen,
            bytes: drained.recorder.written_bytes(),
            paused: self.pause.is_on,
        }
    }
}
