//! One collection, from the first look at the options to the last drained record.

pub mod drained;
mod late;
pub mod lives;
mod looked_up;
mod own;
mod pausing;
pub mod source;

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dwell_model::Topic;
use dwell_rights::{self as rights, Raised, Right};
use dwell_store::raw::wire::kind;
use dwell_store::{CpuInfo, DelayFacts, Folder, Manifest, ResultFolder, State, TRACE_FORMAT};

use self::drained::{Drained, describe_running, follow, walk_copies, walk_waiting};
use self::late::Late;
use self::looked_up::LookedUp;
use self::source::{Source, Targets};
use crate::clock::{monotonic_ns, own_cpu_ns, time_of_day};
use crate::error::{Error, Result};
use crate::itt::{Itt, Preparation, Wish};
use crate::keeper::Keeper;
use crate::launch::{self, Child};
use crate::losing::Losing;
use crate::machine;
use crate::options::{Options, Target};
use crate::outliers::Outliers;
use crate::perf::{self, Mapping};
use crate::proc::{self, Began};
use crate::processor_trace::ProcessorTrace;
use crate::recorder::Recorder;
use crate::system::System;
use crate::task_probes::{self, Program};
use crate::unwinding::Unwinding;
use crate::waiting;
use crate::watch::Watch;

/// Pause between two drains; the rings hold about a second of the fastest switching.
const ROUND: Duration = Duration::from_millis(20);
/// Pause when programs announce much, or may end a pause.
const SHORT_ROUND: Duration = Duration::from_millis(2);
/// Rounds, of 64 MiB of each file at most, in which what is left of ITT is drained when the collection is over.
const MOST_LAST_ROUNDS: usize = 10;
/// A program that has mapped nothing for so long has likely mapped what it starts with.
const QUIET: Duration = Duration::from_millis(3);
const ROUNDS_PER_LOSS_COUNT: u64 = 16;
/// Targets whose end is noticed at once; that of others is noticed with the next round.
const MAX_POLLED: usize = 64;
/// A program that has mapped nothing for so long has started, and would announce itself if it meant to.
const STARTED_NS: u64 = 250_000_000;
/// How long a stopped collection waits for the program to end by the same Ctrl-C.
const GRACE_NS: u64 = 300_000_000;

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

/// Records into `folder` until the program ends, the duration is over or `stop` is set. Returns the manifest, which
/// is also written. The profiled program is left alone in every case.
pub fn collect(
    folder: &ResultFolder,
    options: &Options,
    progress: &mut dyn FnMut(&Progress),
    stop: &AtomicBool,
) -> Result<Manifest> {
    let mut collection = Collection::start(folder, options)?;
    while !collection.is_over(stop)? {
        collection.wait();
        collection.round(false)?;
        progress(&collection.progress());
    }
    collection.finish(folder)
}

struct Collection<'a> {
    options: &'a Options,
    source: Box<dyn Source + 'a>,
    drained: Rc<RefCell<Drained>>,
    mappings: Vec<Mapping>,
    unwinding: Unwinding,
    keeper: Keeper,
    outliers: Option<Outliers>,
    modules: Folder,
    system: Option<System>,
    child: Option<Child>,
    /// The running processes that it was attached to.
    attached: Vec<(u32, Option<Began>)>,
    pidfds: Vec<OwnedFd>,
    itt: Itt,
    paused: bool,
    paused_at_ns: u64,
    /// `--resume-after`, since the start of the collection, while the pause is still that of the start.
    resume_at_ns: Option<u64>,
    /// Whether programs' files had more than a round drains.
    itt_left: bool,
    /// Whether there is a reason not to wait long for the next round.
    soon: bool,
    stopping_since_ns: Option<u64>,
    /// Recording is over for good although the program runs: at the data limit, or as it wished.
    is_done: bool,
    rounds: u64,
    late: Late,
    losing: Losing,
    losses_seen: u64,
    /// The nice value of this thread before the collection.
    nice: i32,
    /// There may be intervals in which threads run.
    has_intervals: bool,
    manifest: Manifest,
}

impl<'a> Collection<'a> {
    fn start(folder: &ResultFolder, options: &'a Options) -> Result<Self> {
        let mut manifest = begin_manifest(folder, options)?;
        let announcing = Preparation::of(options, folder.path());
        let child = match &options.target {
            Target::Launch(launch) => Some(launch::spawn(launch, &announcing.variables)?),
            Target::Attach(pids) => check_attachable(pids, options.own_only).map(|()| None)?,
        };
        let probed = find_task_probes(options, child.as_ref())?;
        let targets = child.as_ref().map_or_else(|| attached(options).to_vec(), |child| vec![child.pid]);
        let begin = Targets { pids: &targets, launching: child.is_some(), probes: &probed };
        let raised = rights::raise(&TO_START);
        let mut source = source::open(options, &begin)?;
        source.lower(raised);
        keep_log(folder, source.log());
        let mut unwinding = source.unwinding()?;
        if let Some(child) = &child {
            unwinding.prepare(&child.path)?;
        }
        let modules = folder.modules()?;
        save_vdso(&modules);
        let pidfds = targets.iter().take(MAX_POLLED).filter_map(|&pid| launch::pidfd(pid as i32)).collect();
        let drained = Rc::new(RefCell::new(Drained::new(recorder(folder, options)?, options.own_only)));
        drained.borrow_mut().looked_up = (!source.sees_mappings()).then(LookedUp::default);
        source.connect(&drained)?;
        manifest.cpus = machine::cpus(targets.first().copied().unwrap_or(0));
        manifest.delays = source.take_delays();
        source.name().clone_into(&mut manifest.source);
        if child.is_some() {
            seed(source.as_mut())?; // recorded from its exec on: nothing comes of it yet
        }
        let nice = launch::be_prompt();
        // As late as can be, so that what Dwell does before is no part of the elapsed time.
        let now = monotonic_ns();
        (manifest.start_ns, manifest.started_at) = (now, time_of_day());
        folder.write_manifest(&manifest)?;
        if options.start_paused {
            drained.borrow_mut().recorder.mark(kind::PAUSE, now);
        }
        let itt = announcing.begin(child.as_ref().map(|child| child.uid), &mut manifest.notices);
        let mut collection = Self {
            options,
            source,
            drained,
            mappings: Vec::new(),
            unwinding,
            keeper: Keeper::new(modules.clone()),
            outliers: outliers(folder, options, &mut manifest.notices),
            modules,
            system: system(options),
            child,
            attached: attached(options).iter().map(|&pid| (pid, proc::began(pid))).collect(),
            pidfds,
            itt,
            paused: options.start_paused,
            paused_at_ns: now,
            resume_at_ns: options.resume_after_ns,
            itt_left: false,
            soon: false,
            stopping_since_ns: None,
            is_done: false,
            rounds: 0,
            late: Late::default(),
            losing: Losing::begin(now),
            losses_seen: 0,
            nice,
            has_intervals: options.requests || !options.task_probes.is_empty(),
            manifest,
        };
        collection.read_system(true);
        collection.let_go(&targets)?;
        settle_rights(options, collection.source.name())?;
        Ok(collection)
    }

    /// Lets the launched program run, or takes the running ones in.
    fn let_go(&mut self, targets: &[u32]) -> Result<()> {
        if let Some(child) = &mut self.child {
            return child.release();
        }
        let now = self.manifest.start_ns;
        let _looking = looking(self.options);
        let mut drained = self.drained.borrow_mut();
        describe_running(targets, now, &mut drained);
        follow(&mut drained, &mut self.unwinding, &mut self.keeper, now)?;
        for mut mapping in targets.iter().flat_map(|&pid| proc::mappings(pid, now)) {
            self.keeper.mapped(&mut mapping);
            drained.recorder.meta().map(mapping.header, &mapping.path);
        }
        drop(drained);
        while self.unwinding.is_behind() {
            self.unwinding.catch_up()?;
        }
        seed(self.source.as_mut())?;
        self.round(false) // at once, while the threads that wait still stand where the seeding found them
    }

    fn is_over(&mut self, stop: &AtomicBool) -> Result<bool> {
        let now = monotonic_ns();
        let ended = match &mut self.child {
            Some(child) => child.exit_status().is_some(),
            None => !self.attached.iter().any(|&(pid, began)| proc::is_alive(pid) && proc::began(pid) == began),
        };
        let elapsed = now - self.manifest.start_ns;
        if stop.load(Ordering::Relaxed) && self.stopping_since_ns.is_none() {
            self.stopping_since_ns = Some(now);
        }
        let grace = if self.child.is_some() { GRACE_NS } else { 0 };
        let stopped = self.stopping_since_ns.is_some_and(|since| now - since >= grace);
        if self.paused && !self.is_done && self.resume_at_ns.is_some_and(|after| elapsed >= after) {
            self.resume(now)?;
            self.round(false)?;
        }
        Ok(ended || stopped || self.options.duration_ns.is_some_and(|duration| elapsed >= duration))
    }

    /// Reads the machine's counters when that is due, or `now`.
    fn read_system(&mut self, now: bool) {
        let mut drained = self.drained.borrow_mut();
        let programs = std::mem::take(&mut drained.programs);
        let Some(system) = self.system.as_mut().filter(|_| !self.is_done) else { return };
        programs.into_iter().for_each(|pid| system.process(pid));
        if now || system.due_in(monotonic_ns()) == 0 {
            system.read(self.source.system_calls(), drained.recorder.events());
        }
    }

    /// Sleeps until the next round, or until a target ends or maps a file.
    fn wait(&mut self) {
        let wakers = self.source.wakers().into_iter();
        let due = self.system.as_ref().map(|system| Duration::from_nanos(system.due_in(monotonic_ns())));
        let may_resume = self.paused && !self.is_done && self.itt.is_used();
        let round = if std::mem::take(&mut self.soon) || may_resume { SHORT_ROUND } else { ROUND };
        let round = if self.unwinding.is_behind() { QUIET.min(round) } else { round };
        let timeout = due.map_or(round, |due| due.min(round));
        let due_ns = monotonic_ns() + timeout.as_nanos() as u64;
        let readable = wait_readable(self.pidfds.iter().map(OwnedFd::as_fd).chain(wakers), timeout);
        self.late.note(monotonic_ns().saturating_sub(due_ns));
        // A target that has ended stays readable for good: once is enough to be woken.
        let mut readable = readable.into_iter();
        self.pidfds.retain(|_| readable.next() != Some(true));
    }

    fn round(&mut self, at_end: bool) -> Result<()> {
        self.read_system(false);
        let time_ns = self.source.drain(&mut self.mappings, monotonic_ns(), at_end)?;
        let mut borrowed = self.drained.borrow_mut();
        let drained = &mut *borrowed;
        if let Some(failure) = drained.failure.take() {
            return Err(failure);
        }
        walk_waiting(drained, &mut self.unwinding);
        let is_quiet = self.mappings.is_empty();
        self.mappings = drained.take_mappings(std::mem::take(&mut self.mappings), time_ns, at_end);
        let looking = looking(self.options);
        follow(drained, &mut self.unwinding, &mut self.keeper, time_ns)?;
        if is_quiet {
            self.unwinding.catch_up()?;
        }
        drop(looking);
        walk_copies(drained, &mut self.unwinding, Some(time_ns));
        self.source.read_sockets(drained.recorder.meta(), time_ns, false);
        self.keeper.end_round();
        drop(borrowed);
        let settled_ns = self.source.settle(&mut self.unwinding, &mut self.keeper, time_ns)?;
        let wishes = self.drain_itt()?;
        self.look_at_running(time_ns)?;
        let mut borrowed = self.drained.borrow_mut();
        let drained = &mut *borrowed;
        drained.recorder.end_round(settled_ns)?;
        if drained.recorder.wants_all_again() {
            let since_ns = self.source.tell_again()?;
            drained.recorder.all_is_told_again(since_ns, monotonic_ns());
        }
        if let Some(outliers) = &mut self.outliers
            && outliers.is_due(&mut drained.recorder, &drained.lives, time_ns)
        {
            note_losses(&*self.source, &mut self.losing, &mut self.manifest);
            outliers.keep(&mut drained.recorder, &self.manifest, &self.modules, time_ns)?;
        }
        let limit = self.options.data_limit_bytes;
        let is_full = limit > 0 && !self.paused && recorded_bytes(&drained.recorder, self.options) >= limit;
        drop(borrowed);
        if is_full {
            self.record_no_more(time_ns, "Recording stopped at the data limit; the program ran on.")?;
        }
        self.heed(&wishes)
    }

    /// Drains what programs announce. Returns what they wish.
    fn drain_itt(&mut self) -> Result<Vec<(u64, Wish)>> {
        let mut drained = self.drained.borrow_mut();
        let drained = &mut *drained;
        for (tgid, time_ns) in drained.ended_programs.drain(..) {
            self.itt.end_program(tgid, time_ns);
        }
        let found = self.itt.round(&drained.lives, &mut drained.recorder, self.paused)?;
        self.soon |= found.busy;
        self.itt_left = found.more;
        if let Some(library) = self.itt.library_in_use() {
            self.source.set_stitching(&library);
        }
        Ok(found.wishes)
    }

    /// What delays a thread while it runs is looked at only as long as there may be intervals in which it does: those that
    /// were asked for, and what a program announces, once it has started.
    fn look_at_running(&mut self, now_ns: u64) -> Result<()> {
        let Some(sees) = self.source.sees_running() else { return Ok(()) };
        let (announces, mapped_ns) = {
            let drained = self.drained.borrow();
            (drained.announces, drained.mapped_ns.max(self.manifest.start_ns))
        };
        self.has_intervals |= announces || self.itt.is_used();
        let is_starting = self.options.itt && now_ns.saturating_sub(mapped_ns) < STARTED_NS;
        let wanted = self.has_intervals || (sees && is_starting);
        if wanted == sees {
            return Ok(());
        }
        self.source.see_running(wanted)?;
        if wanted {
            let seconds = (now_ns - self.manifest.start_ns) as f64 / 1e9;
            self.manifest.notices.push(format!(
                "What delays threads while they run is known from {seconds:.3} s on, when a program first announced something."
            ));
        }
        Ok(())
    }

    /// Asking the kernel for the loss counters costs more than a quiet round: not every time.
    fn progress(&mut self) -> Progress {
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
            paused: self.paused,
        }
    }

    fn finish(mut self, folder: &ResultFolder) -> Result<Manifest> {
        let now = monotonic_ns();
        self.read_system(true);
        self.source.read_sockets(self.drained.borrow_mut().recorder.meta(), now, true);
        self.itt.stop();
        self.round(true)?;
        for _ in 0..MOST_LAST_ROUNDS {
            if self.itt_left {
                self.drain_itt()?;
            }
        }
        launch::be_patient(self.nice);
        let mut drained = self.drained.borrow_mut();
        let all_gone = drained.threads > 0 && drained.exits == drained.threads;
        let end_ns = if all_gone { drained.last_exit_ns } else { now };
        walk_copies(&mut drained, &mut self.unwinding, None);
        if let Some(outliers) = &mut self.outliers {
            note_losses(&*self.source, &mut self.losing, &mut self.manifest);
            outliers.keep(&mut drained.recorder, &self.manifest, &self.modules, now)?;
        }
        drained.recorder.flush(monotonic_ns())?;
        note_losses(&*self.source, &mut self.losing, &mut self.manifest);
        let manifest = &mut self.manifest;
        manifest.state = State::Collected;
        manifest.start_ns = manifest.start_ns.max(drained.recorder.kept_since_ns);
        manifest.end_ns = end_ns;
        manifest.exit_status = self.child.as_mut().and_then(Child::exit_status);
        (manifest.collector_cpu_ns, manifest.collector_peak_bytes) = (own_cpu_ns(), dwell_store::peak_bytes());
        manifest.events = drained.recorder.event_count;
        let lost = [
            ("stack_copies_lost", drained.copies_lost),
            ("seeded_stacks_lost", drained.seeded_stacks_lost),
            ("mappings_out_of_scope", drained.mappings_out_of_scope()),
        ];
        let lost = lost.into_iter().filter(|(_, count)| *count > 0);
        manifest.losses.extend(lost.map(|(name, count)| (name.to_owned(), count)));
        manifest.losses.extend(self.unwinding.losses());
        manifest.losses.extend(self.system.iter().flat_map(System::losses));
        manifest.losses.extend(self.keeper.finish(monotonic_ns()));
        manifest.losses.extend(self.itt.finish());
        if let Some(outliers) = &mut self.outliers {
            let (mut notices, losses) = outliers.finish(&self.modules, drained.recorder.watch.as_ref());
            manifest.notices.append(&mut notices);
            manifest.losses.extend(losses);
        }
        manifest.notices.extend(self.late.notice());
        manifest.notices.extend(self.child.as_ref().and_then(Child::notice));
        manifest.notices.append(&mut self.source.take_notices());
        manifest.notices.append(&mut self.unwinding.take_notices());
        folder.write_manifest(manifest)?;
        Ok(manifest.clone())
    }
}

/// Puts into the manifest what was lost until now, and when.
fn note_losses(source: &dyn Source, losing: &mut Losing, manifest: &mut Manifest) {
    manifest.losses = source.losses();
    losing.look(monotonic_ns(), &manifest.losses);
    manifest.loss_times = losing.times();
}

/// The writing end of the raw trace, with what a trigger looks for.
fn recorder(folder: &ResultFolder, options: &Options) -> Result<Recorder> {
    let mut recorder = Recorder::create(&folder.spool()?, monotonic_ns(), options.ring_buffer_ns)?;
    let probes = || options.task_probes.iter().map(|probe| probe.name.as_str());
    recorder.watch = options.trigger.clone().map(|trigger| Watch::new(trigger, probes()));
    Ok(recorder)
}

/// The flight recorder, if a trigger is set.
fn outliers(folder: &ResultFolder, options: &Options, notices: &mut Vec<String>) -> Option<Outliers> {
    options.trigger.as_ref()?;
    let traces = if options.own_only { Err(foreign_code()) } else { trace_processor() };
    notices.extend(match &traces {
        Ok(Some(_)) => None,
        Ok(None) => Some("No instructions are traced: this machine has no Intel PT.".into()),
        Err(error) => Some(format!("No instructions are traced: Intel PT cannot be used ({error}).")),
    });
    let traces = traces.ok().flatten();
    Some(Outliers::new(folder, options.outliers_per_minute, options.outliers_bytes, traces))
}

fn trace_processor() -> io::Result<Option<ProcessorTrace>> {
    let _raised = rights::raise(&[rights::PERFMON]);
    ProcessorTrace::begin()
}

/// Intel PT traces a CPU, whoever's code it runs.
fn foreign_code() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "only root may: it would trace other users' code too")
}

/// What counts for the data limit: what a bounded recording does not forget, or everything.
fn recorded_bytes(recorder: &Recorder, options: &Options) -> u64 {
    if options.ring_buffer_ns.is_some() { recorder.meta_bytes() } else { recorder.written_bytes() }
}

fn system(options: &Options) -> Option<System> {
    options.topics.contains(&Topic::System).then(|| System::new(options.system_interval_ns))
}

/// What the collection is called.
fn analysis(options: &Options) -> &'static str {
    let topic = if options.topics.contains(&Topic::Latency) { Topic::Latency } else { Topic::Threading };
    topic.id()
}

fn attached(options: &Options) -> &[u32] {
    match &options.target {
        Target::Attach(pids) => pids,
        Target::Launch(_) => &[],
    }
}

fn find_task_probes(options: &Options, child: Option<&Child>) -> Result<task_probes::Places> {
    let program = match (child, attached(options)) {
        (Some(child), _) => Program::Path(&child.path),
        (None, [first, ..]) => Program::Process(*first),
        (None, []) => return Ok(task_probes::Places::default()),
    };
    task_probes::find(&options.task_probes, &program)
}

fn check_attachable(pids: &[u32], own_only: bool) -> Result<()> {
    if let Some(pid) = pids.iter().find(|&&pid| !proc::is_alive(pid)) {
        return Err(Error::NoSuchProcess { target: pid.to_string() });
    }
    match pids.iter().find(|&&pid| own_only && !proc::may_look_at(pid)) {
        Some(&pid) => Err(Error::NotYours { pid }),
        None => Ok(()),
    }
}

/// What is in force while the source of records is opened.
const TO_START: [Right; 3] = [rights::BPF, rights::PERFMON, rights::SYSLOG];
/// What is in force while the targets' threads are taken in.
const TO_SEED: [Right; 2] = [rights::BPF, rights::PERFMON];

fn seed(source: &mut dyn Source) -> Result<()> {
    let _raised = rights::raise(&TO_SEED);
    source.seed()
}

/// Gives up the rights that nothing needs any more once recording has begun. Kept, without effect until they are raised:
/// with BPF, CAP_BPF for the tables of code that is mapped later, and CAP_PERFMON where hooks come and go (delays, and who asks
/// for work through ITT); for users who may record everyone, the rights that read their processes and files. Root keeps a list.
fn settle_rights(options: &Options, source: &str) -> Result<()> {
    let mut kept = Vec::new();
    if source == "bpf" {
        kept.push(rights::BPF);
        let hooks_come_and_go = options.itt || options.topics.contains(&Topic::Latency);
        kept.extend(hooks_come_and_go.then_some(rights::PERFMON));
    }
    if !options.own_only {
        kept.extend(TO_LOOK);
    }
    let sets_uprobes_as_events = options.itt && !task_probes::are_set_at_once();
    let opens_events = options.topics.contains(&Topic::Latency) && perf::level_for_root().is_some();
    let settled =
        rights::keep(&kept).and_then(|()| rights::confine::confine_recorder(sets_uprobes_as_events || opens_events));
    settled.map_err(|source| Error::System { what: "giving up capabilities", source })
}

/// What reads processes and files of other users, for whoever may record these.
const TO_LOOK: [Right; 2] = [rights::PTRACE, rights::READ_SEARCH];

/// Nothing while only own processes are recorded: these are read with the user's own rights.
fn looking(options: &Options) -> Option<Raised> {
    (!options.own_only).then(|| rights::raise(&TO_LOOK))
}

/// The manifest is written first of all: a folder without it is nothing that can be finalized.
fn begin_manifest(folder: &ResultFolder, options: &Options) -> Result<Manifest> {
    let manifest = new_manifest(options);
    folder.write_manifest(&manifest)?;
    Ok(manifest)
}

/// What is known before anything is begun.
fn new_manifest(options: &Options) -> Manifest {
    let command = match &options.target {
        Target::Launch(launch) => launch.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        Target::Attach(_) => Vec::new(),
    };
    Manifest {
        trace_format: TRACE_FORMAT,
        dwell_version: env!("CARGO_PKG_VERSION").into(),
        state: State::Collecting,
        analysis: analysis(options).into(),
        topics: options.topics.iter().map(|topic| topic.id().to_owned()).collect(),
        command,
        target_pids: attached(options).to_vec(),
        source: String::new(),
        options: options.command_line.clone(),
        host: machine::host(),
        kernel: machine::kernel(),
        boot_id: machine::boot_id(),
        cpus: CpuInfo::default(),
        target_concurrency: options.target_concurrency,
        sampling_interval_ns: options.sampling_interval_ns,
        started_at: time_of_day(),
        start_ns: 0,
        end_ns: 0,
        exit_status: None,
        collector_cpu_ns: 0,
        collector_peak_bytes: 0,
        finalization_peak_bytes: 0,
        task_probes: options.task_probes.iter().map(|probe| probe.name.clone()).collect(),
        delays: DelayFacts::default(),
        events: 0,
        losses: Vec::new(),
        loss_times: Vec::new(),
        notices: Vec::new(),
    }
}

/// What the kernel said of hooks that it refused, for whoever asks why something is missing.
fn keep_log(folder: &ResultFolder, log: &str) {
    if !log.is_empty() {
        // The notices name the hooks and the reasons all the same.
        let _ = folder.add_to_log(log);
    }
}

/// The vDSO is in no file, and the same in every process: a copy of ours lets the frames in it be named later.
fn save_vdso(modules: &Folder) {
    let own = proc::mappings(std::process::id(), 0).into_iter().find(|mapping| mapping.path == b"[vdso]");
    let Some(vdso) = own else { return };
    // Not by /proc/self/mem, which is root's while a program has capabilities of its file.
    let image = waiting::own_memory(vdso.header.start, vdso.header.length.min(1 << 20) as usize);
    if image.is_empty() {
        return;
    }
    // Without it, its few frames stay unnamed: not worth failing for.
    let _ = modules.replace("vdso.so", &image);
    dwell_unwind::provide_vdso(image);
}

/// Which of the descriptors are readable, after `timeout` at most. One call only: asking a perf event clears the answer.
#[allow(unsafe_code, reason = "poll")]
fn wait_readable<'f>(fds: impl Iterator<Item = BorrowedFd<'f>>, timeout: Duration) -> Vec<bool> {
    let entry = |fd: BorrowedFd<'_>| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut polled: Vec<libc::pollfd> = fds.map(entry).collect();
    let milliseconds = timeout.as_nanos().div_ceil(1_000_000) as i32;
    // SAFETY: the array is valid for its length during the call.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, milliseconds) };
    polled.iter().map(|entry| entry.revents != 0).collect()
}
