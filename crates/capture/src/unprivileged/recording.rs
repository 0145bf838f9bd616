//! A recording by perf events: what it has open, and what it knows of its processes and threads.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use dwell_model::{Notice, Topic, notice};

use super::births::CreationRate;
use super::closing::Lock;
use super::entries::Entries;
use super::events::{self, Events, TracePlan};
use super::ids;
use super::objects::Objects;
use super::opening::{check_yours, refuse_what_needs_bpf, refused, tracepoints};
use super::processes::Processes;
use super::stacks::Stacks;
use super::threads::Threads;
use crate::drain::drained::EventSink;
use crate::drain::source::Targets;
use crate::error::{Error, Result};
use crate::options::Options;

/// The source.
pub struct Unprivileged {
    pub(super) events: Events,
    pub(super) drained: Option<Rc<RefCell<EventSink>>>,
    pub(super) processes: Processes,
    pub(super) threads: Threads,
    pub(super) stacks: Stacks,
    pub(super) objects: Objects,
    pub(super) entries: Entries,
    /// When recording was paused or resumed; not yet reached by what was read.
    pub(super) turns: Vec<(u64, bool)>,
    /// As records told.
    pub(super) lost: u64,
    /// As the events told at the end: the last losses of a ring have no record.
    pub(super) lost_by_events: u64,
    pub(super) sampling_interval_ns: u64,
    /// What the child is still to run.
    pub(super) program: Option<PathBuf>,
    pub(super) attached: Vec<u32>,
    pub(super) own_only: bool,
    /// The thread whose events came first.
    pub(super) first: u32,
    pub(super) births: CreationRate,
    /// Threads that ran already and that this user may not look at.
    pub(super) states_hidden: u64,
    pub(super) notices: Vec<Notice>,
    /// What the kernel said of BPF programs that it refused.
    pub(super) log: String,
    _lock: Option<Lock>,
}

impl Unprivileged {
    /// Opens the events of the targets. `why` is what speaks against BPF, when that was tried before.
    pub fn start(options: &Options, targets: &Targets<'_>, why: Option<&Error>) -> Result<Self> {
        refuse_what_needs_bpf(options, why)?;
        let sees_kernel = events::sees_kernel();
        let lock = Lock::hold(ids::cache_folder().as_deref());
        let calls = tracepoints(sees_kernel, lock.as_ref());
        let (sampling_interval_ns, from_exec) = (options.sampling_interval_ns, targets.launching());
        let plan = TracePlan { sampling_interval_ns, calls, sees_kernel, from_exec };
        let first = targets.pids.first().copied().unwrap_or(0);
        let events = Events::open(first, plan, lock.as_ref().map(Lock::path).unwrap_or_default())
            .map_err(|error| refused(&error, why))?;
        check_yours(first, options.own_only && !targets.launching())?;
        let mut source = Self {
            events,
            drained: None,
            processes: Processes::new(options, targets),
            threads: Threads::new(options.start_paused),
            stacks: Stacks::default(),
            objects: Objects::default(),
            entries: Entries::default(),
            turns: Vec::new(),
            lost: 0,
            lost_by_events: 0,
            sampling_interval_ns: options.sampling_interval_ns,
            program: targets.program.map(Path::to_owned),
            attached: if targets.launching() { Vec::new() } else { targets.pids.to_vec() },
            own_only: options.own_only,
            first,
            births: CreationRate::default(),
            states_hidden: 0,
            notices: Vec::new(),
            log: why.map(Error::log).unwrap_or_default().to_owned(),
            _lock: lock,
        };
        source.explain(why, options, sees_kernel);
        Ok(source)
    }

    /// Says what this source is, and what it lacks.
    fn explain(&mut self, why: Option<&Error>, options: &Options, sees_kernel: bool) {
        let reason = why.map_or_else(|| "--source perf".to_owned(), Error::reason);
        self.notices.push(notice!(WITHOUT_BPF, error = reason));
        if !sees_kernel {
            self.notices.push(notice!(KERNEL_UNSEEN));
        }
        if !self.events.traces_calls() {
            self.notices.push(notice!(CALLS_UNTRACED));
        }
        if options.topics.contains(&Topic::System) {
            self.notices.push(notice!(SYSTEM_CALLS_UNCOUNTED_WITHOUT_BPF));
        }
    }

    pub(super) fn with_drained(&mut self, act: impl FnOnce(&mut Self, &mut EventSink)) {
        if let Some(drained) = self.drained.clone() {
            act(self, &mut drained.borrow_mut());
        }
    }
}
