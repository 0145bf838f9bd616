//! One collection, from the first look at the options to the last drained record.

mod pausing;

use std::cell::RefCell;
use std::collections::HashSet;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytemuck::{bytes_of, pod_read_unaligned};
use dwell_model::{Delay, Topic};
use dwell_store::raw::c_string;
use dwell_store::raw::wire::{
    DelayRecord, ExecRecord, ObjectRecord, RecordHeader, RegistersRecord, ThreadExitRecord, ThreadNewRecord, kind,
    object_kind,
};
use dwell_store::{DelayFacts, Manifest, ResultFolder, State, TRACE_FORMAT};
use libbpf_rs::{RingBuffer, RingBufferBuilder};

use crate::clock::{monotonic_ns, own_usage, time_of_day};
use crate::error::{Error, Result};
use crate::fault_places::FaultPlaces;
use crate::hooks::Hooks;
use crate::itt::{self, Itt, Preparation, Wish};
use crate::keeper::Keeper;
use crate::launch::{self, Child};
use crate::machine;
use crate::options::{Options, Target};
use crate::outliers::Outliers;
use crate::perf::{MapEvents, Mapping};
use crate::proc;
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
/// Copied stacks, of 28 KiB at most, that wait for the tables of large files, or for time.
const MAX_HELD_COPIES: usize = 256;
/// How long copied stacks are walked in a round: the rings fill meanwhile.
const WALKING_NS: u64 = 10_000_000;
/// How long they are walked when the collection is over.
const LAST_WALKING_NS: u64 = 1_000_000_000;
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
        collection.round()?;
        progress(&collection.progress());
    }
    collection.finish(folder)
}

/// What happened to a process, or asks user space to look something up while it still can.
enum News {
    ThreadNew { tgid: u32, parent: u32 },
    ThreadExit(u32),
    Program { pid: u32 },
    Mapped(Mapping),
    EpollMembers { pid: u32, fd: i32, key: u64 },
}

/// Registers, and a piece of the stack from the stack pointer on.
type StackCopy = (RegistersRecord, Vec<u8>);

struct Drained {
    recorder: Recorder,
    failure: Option<Error>,
    processes: HashSet<u32>,
    threads: u64,
    exits: u64,
    last_exit_ns: u64,
    waiting: Vec<RegistersRecord>,
    copies: Vec<StackCopy>,
    copies_lost: u64,
    seeded_stacks_lost: u64,
    /// Of all CPUs, with their times.
    news: Vec<(u64, News)>,
    /// Processes that ended, or run another program, and when.
    ended_programs: Vec<(u32, u64)>,
    /// Processes that ran a program since the machine's counters were read.
    programs: Vec<u32>,
    fault_places: FaultPlaces,
    /// A process has the library mapped through which programs announce what they do.
    announces: bool,
    /// When a process last mapped a file.
    mapped_ns: u64,
}

impl Drained {
    fn new(recorder: Recorder) -> Self {
        Self {
            recorder,
            failure: None,
            processes: HashSet::new(),
            threads: 0,
            exits: 0,
            last_exit_ns: 0,
            waiting: Vec::new(),
            copies: Vec::new(),
            copies_lost: 0,
            seeded_stacks_lost: 0,
            news: Vec::new(),
            ended_programs: Vec::new(),
            programs: Vec::new(),
            fault_places: FaultPlaces::default(),
            announces: false,
            mapped_ns: 0,
        }
    }

    /// Takes the mappings of recorded processes. Returns those of processes that may be recorded, as far as was read: of one
    /// that came before `read_ns`, when the rings began to be drained, the fork has been.
    fn take_mappings(&mut self, mappings: Vec<Mapping>, read_ns: u64) -> Vec<Mapping> {
        let known = |mapping: &Mapping| self.processes.contains(&mapping.header.h.tid);
        let (ours, others): (Vec<_>, Vec<_>) = mappings.into_iter().partition(known);
        self.announces |= ours.iter().any(|mapping| itt::is_library(&mapping.path));
        self.mapped_ns = if ours.is_empty() { self.mapped_ns } else { read_ns };
        self.news.extend(ours.into_iter().map(|mapping| (mapping.header.h.time_ns, News::Mapped(mapping))));
        others.into_iter().filter(|mapping| mapping.header.h.time_ns >= read_ns).collect()
    }
}

struct Collection<'a> {
    options: &'a Options,
    hooks: Hooks,
    rings: RingBuffer<'a>,
    drained: Rc<RefCell<Drained>>,
    map_events: Vec<MapEvents>,
    mappings: Vec<Mapping>,
    unwinding: Unwinding,
    keeper: Keeper,
    outliers: Option<Outliers>,
    modules: PathBuf,
    system: Option<System>,
    child: Option<Child>,
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
    losses_seen: u64,
    /// The nice value of this thread before the collection.
    nice: i32,
    /// There may be intervals in which threads run.
    has_intervals: bool,
    manifest: Manifest,
}

impl<'a> Collection<'a> {
    fn start(folder: &ResultFolder, options: &'a Options) -> Result<Self> {
        let announcing = Preparation::of(options, folder.path());
        let child = match &options.target {
            Target::Launch(launch) => Some(launch::spawn(launch, &announcing.variables)?),
            Target::Attach(pids) => check_alive(pids).map(|()| None)?,
        };
        let probed = find_task_probes(options, child.as_ref())?;
        let mut hooks = Hooks::load(options)?;
        keep_log(folder, &hooks.log);
        let mut unwinding = hooks.unwinding()?;
        if let Some(child) = &child {
            unwinding.prepare(&child.path)?;
        }
        save_vdso(folder);
        let map_events = open_map_events(&mut hooks);
        let targets = child.as_ref().map_or_else(|| attached(options).to_vec(), |child| vec![child.pid]);
        for &pid in &targets {
            hooks.add_target(pid, child.is_some())?;
        }
        hooks.sample(&targets);
        hooks.set_task_probes(&probed, (!options.follow_children).then_some(targets.as_slice()))?;
        let pidfds = targets.iter().take(MAX_POLLED).filter_map(|&pid| launch::pidfd(pid as i32)).collect();
        let mut recorder = Recorder::create(&folder.spool(), monotonic_ns(), options.ring_buffer_ns)?;
        let probes = || options.task_probes.iter().map(|probe| probe.name.as_str());
        recorder.watch = options.trigger.clone().map(|trigger| Watch::new(trigger, probes()));
        let drained = Rc::new(RefCell::new(Drained::new(recorder)));
        let rings = open_rings(&hooks, &drained)?;
        let mut manifest = new_manifest(options, child.as_ref().map(|child| child.pid));
        manifest.delays = std::mem::take(&mut hooks.delays);
        if child.is_some() {
            hooks.seed()?; // recorded from its exec on: nothing comes of it yet
        }
        let nice = launch::be_prompt();
        // As late as can be, so that what Dwell does before is no part of the elapsed time.
        let now = monotonic_ns();
        manifest.start_ns = now;
        folder.write_manifest(&manifest)?;
        if options.start_paused {
            drained.borrow_mut().recorder.mark(kind::PAUSE, now);
        }
        let itt = announcing.begin(child.as_ref().map(|child| child.uid), &mut manifest.notices);
        let mut collection = Self {
            options,
            hooks,
            rings,
            drained,
            map_events,
            mappings: Vec::new(),
            unwinding,
            keeper: Keeper::new(folder.modules()),
            outliers: outliers(folder, options, &mut manifest.notices),
            modules: folder.modules(),
            system: system(options),
            child,
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
            losses_seen: 0,
            nice,
            has_intervals: options.requests || !options.task_probes.is_empty(),
            manifest,
        };
        collection.read_system(true);
        collection.let_go(&targets)?;
        Ok(collection)
    }

    /// Lets the launched program run, or takes the running ones in.
    fn let_go(&mut self, targets: &[u32]) -> Result<()> {
        if let Some(child) = &mut self.child {
            return child.release();
        }
        let now = self.manifest.start_ns;
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
        self.hooks.seed()?;
        self.round() // at once, while the threads that wait still stand where the seeding found them
    }

    fn is_over(&mut self, stop: &AtomicBool) -> Result<bool> {
        let now = monotonic_ns();
        let ended = match &mut self.child {
            Some(child) => child.exit_status().is_some(),
            None => !attached(self.options).iter().any(|&pid| proc::is_alive(pid)),
        };
        let elapsed = now - self.manifest.start_ns;
        if stop.load(Ordering::Relaxed) && self.stopping_since_ns.is_none() {
            self.stopping_since_ns = Some(now);
        }
        let grace = if self.child.is_some() { GRACE_NS } else { 0 };
        let stopped = self.stopping_since_ns.is_some_and(|since| now - since >= grace);
        if self.paused && !self.is_done && self.resume_at_ns.is_some_and(|after| elapsed >= after) {
            self.resume(now)?;
            self.round()?;
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
            system.read(self.hooks.system_calls(), drained.recorder.events());
        }
    }

    /// Sleeps until the next round, or until a target ends or maps a file.
    fn wait(&mut self) {
        let mappings = self.map_events.iter().map(MapEvents::fd);
        let due = self.system.as_ref().map(|system| Duration::from_nanos(system.due_in(monotonic_ns())));
        let may_resume = self.paused && !self.is_done && self.itt.is_used();
        let round = if std::mem::take(&mut self.soon) || may_resume { SHORT_ROUND } else { ROUND };
        let round = if self.unwinding.is_behind() { QUIET.min(round) } else { round };
        let timeout = due.map_or(round, |due| due.min(round));
        let readable = wait_readable(self.pidfds.iter().map(OwnedFd::as_fd).chain(mappings), timeout);
        // A target that has ended stays readable for good: once is enough to be woken.
        let mut readable = readable.into_iter();
        self.pidfds.retain(|_| readable.next() != Some(true));
    }

    fn round(&mut self) -> Result<()> {
        self.read_system(false);
        let time_ns = monotonic_ns();
        let consumed = self.rings.consume();
        consumed.map_err(|source| Error::Bpf { what: "draining the rings".into(), source })?;
        // After the rings, or a fork could be read without what its parent mapped before.
        for events in &mut self.map_events {
            events.drain(&mut self.mappings);
        }
        let mut borrowed = self.drained.borrow_mut();
        let drained = &mut *borrowed;
        if let Some(failure) = drained.failure.take() {
            return Err(failure);
        }
        walk_waiting(drained, &mut self.unwinding);
        let is_quiet = self.mappings.is_empty();
        self.mappings = drained.take_mappings(std::mem::take(&mut self.mappings), time_ns);
        follow(drained, &mut self.unwinding, &mut self.keeper, time_ns)?;
        if is_quiet {
            self.unwinding.catch_up()?;
        }
        walk_copies(drained, &mut self.unwinding, Some(time_ns));
        self.hooks.read_sockets(drained.recorder.meta(), time_ns, false);
        self.keeper.end_round();
        drop(borrowed);
        let wishes = self.drain_itt()?;
        self.look_at_running(time_ns)?;
        let mut borrowed = self.drained.borrow_mut();
        let drained = &mut *borrowed;
        drained.recorder.end_round(time_ns)?;
        if let Some(outliers) = &mut self.outliers
            && outliers.is_due(&mut drained.recorder, &drained.processes, time_ns)
        {
            self.manifest.losses = self.hooks.losses();
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
        let found = self.itt.round(&drained.processes, &mut drained.recorder, self.paused)?;
        self.soon |= found.busy;
        self.itt_left = found.more;
        if let Some(library) = self.itt.library_in_use() {
            self.hooks.set_stitching(&library);
        }
        Ok(found.wishes)
    }

    /// What delays a thread while it runs is looked at only as long as there may be intervals in which it does: those that
    /// were asked for, and what a program announces, once it has started.
    fn look_at_running(&mut self, now_ns: u64) -> Result<()> {
        let Some(sees) = self.hooks.sees_running() else { return Ok(()) };
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
        self.hooks.see_running(wanted)?;
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
            self.losses_seen = self.hooks.losses().iter().map(|(_, count)| count).sum();
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
        self.hooks.read_sockets(self.drained.borrow_mut().recorder.meta(), now, true);
        self.itt.stop();
        self.round()?;
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
            self.manifest.losses = self.hooks.losses();
            outliers.keep(&mut drained.recorder, &self.manifest, &self.modules, now)?;
        }
        drained.recorder.flush(monotonic_ns())?;
        let manifest = &mut self.manifest;
        manifest.state = State::Collected;
        manifest.start_ns = manifest.start_ns.max(drained.recorder.kept_since_ns);
        manifest.end_ns = end_ns;
        manifest.exit_status = self.child.as_mut().and_then(Child::exit_status);
        (manifest.collector_cpu_ns, manifest.collector_peak_bytes) = own_usage();
        manifest.events = drained.recorder.event_count;
        manifest.losses = self.hooks.losses();
        let lost = self.map_events.iter().map(|events| events.lost).sum();
        if lost > 0 {
            manifest.losses.push(("mappings_lost".into(), lost));
        }
        let lost = [("stack_copies_lost", drained.copies_lost), ("seeded_stacks_lost", drained.seeded_stacks_lost)];
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
        manifest.notices.append(&mut self.hooks.notices);
        manifest.notices.append(&mut self.unwinding.take_notices());
        folder.write_manifest(manifest)?;
        Ok(manifest.clone())
    }
}

/// The flight recorder, if a trigger is set.
fn outliers(folder: &ResultFolder, options: &Options, notices: &mut Vec<String>) -> Option<Outliers> {
    options.trigger.as_ref()?;
    let traces = ProcessorTrace::begin();
    notices.extend(match &traces {
        Ok(Some(_)) => None,
        Ok(None) => Some("No instructions are traced: this machine has no Intel PT.".into()),
        Err(error) => Some(format!("No instructions are traced: Intel PT cannot be used ({error}).")),
    });
    let traces = traces.ok().flatten();
    Some(Outliers::new(folder, options.outliers_per_minute, options.outliers_bytes, traces))
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

fn check_alive(pids: &[u32]) -> Result<()> {
    match pids.iter().find(|&&pid| !proc::is_alive(pid)) {
        Some(pid) => Err(Error::NoSuchProcess { target: pid.to_string() }),
        None => Ok(()),
    }
}

fn open_map_events(hooks: &mut Hooks) -> Vec<MapEvents> {
    let opened: Result<Vec<MapEvents>> = machine::online().into_iter().map(MapEvents::open).collect();
    opened.unwrap_or_else(|error| {
        hooks.notices.push(format!("Code that was mapped during the collection is not named ({error})."));
        Vec::new()
    })
}

fn open_rings<'a>(hooks: &Hooks, drained: &Rc<RefCell<Drained>>) -> Result<RingBuffer<'a>> {
    let failed = |source| Error::Bpf { what: "opening the rings".into(), source };
    let mut builder = RingBufferBuilder::new();
    for ring in hooks.rings() {
        let drained = Rc::clone(drained);
        let take = move |bytes: &[u8]| {
            take_record(&mut drained.borrow_mut(), bytes);
            0
        };
        builder.add(ring, take).map_err(failed)?;
    }
    builder.build().map_err(failed)
}

fn take_record(drained: &mut Drained, bytes: &[u8]) {
    let Some(header) = bytes.get(..size_of::<RecordHeader>()).map(pod_read_unaligned::<RecordHeader>) else { return };
    if matches!(header.kind, kind::REGISTERS | kind::STACK_COPY) {
        if let Some((registers, copy)) = bytes.split_at_checked(size_of::<RegistersRecord>()) {
            let registers = pod_read_unaligned::<RegistersRecord>(registers);
            match header.kind {
                kind::REGISTERS => drained.waiting.push(registers),
                _ => drained.copies.push((registers, copy.to_vec())),
            }
        }
        return;
    }
    let fault = fault(&header, bytes).map(|fault| drained.fault_places.named(fault, header.time_ns));
    let bytes = fault.as_ref().map_or(bytes, bytes_of);
    if let Err(error) = drained.recorder.record(&header, bytes) {
        drained.failure.get_or_insert(error);
    }
    match header.kind {
        kind::THREAD_NEW => {
            drained.threads += 1;
            if let Some(new) = bytes.get(..size_of::<ThreadNewRecord>()).map(pod_read_unaligned::<ThreadNewRecord>) {
                drained.processes.insert(new.tgid);
                drained.fault_places.thread_new(header.tid, new.tgid);
                let (tgid, parent) = (new.tgid, new.parent_tgid);
                drained.news.push((header.time_ns, News::ThreadNew { tgid, parent }));
            }
        }
        kind::THREAD_EXIT => {
            let exit = bytes.get(..size_of::<ThreadExitRecord>()).map(pod_read_unaligned::<ThreadExitRecord>);
            if let Some(exit) = exit {
                drained.news.push((header.time_ns, News::ThreadExit(exit.tgid)));
                if exit.tgid == header.tid {
                    drained.fault_places.forget(exit.tgid);
                }
            }
            drained.exits += 1;
            drained.last_exit_ns = drained.last_exit_ns.max(header.time_ns);
        }
        kind::EXEC => {
            if let Some(exec) = bytes.get(..size_of::<ExecRecord>()).map(pod_read_unaligned::<ExecRecord>) {
                drained.news.push((header.time_ns, News::Program { pid: exec.tgid }));
                drained.fault_places.forget(exec.tgid);
            }
        }
        kind::OBJECT => {
            let object = bytes.get(..size_of::<ObjectRecord>()).map(pod_read_unaligned::<ObjectRecord>);
            let epoll = object
                .filter(|object| object.kind == object_kind::ANONYMOUS && c_string(&object.text) == "[eventpoll]");
            drained.news.extend(epoll.map(|object| {
                let (pid, fd, key) = (object.tgid, object.fd, object.key);
                (header.time_ns, News::EpollMembers { pid, fd, key })
            }));
        }
        _ => {}
    }
}

/// The record of a page fault.
fn fault(header: &RecordHeader, bytes: &[u8]) -> Option<DelayRecord> {
    let delay = bytes.get(..size_of::<DelayRecord>()).filter(|_| header.kind == kind::DELAY)?;
    let delay = pod_read_unaligned::<DelayRecord>(delay);
    matches!(Delay::from_code(delay.kind), Delay::MinorFault | Delay::MajorFault).then_some(delay)
}

/// The stacks of the threads that waited when they were seeded, before anything that takes longer: they may move.
fn walk_waiting(drained: &mut Drained, unwinding: &mut Unwinding) {
    for record in std::mem::take(&mut drained.waiting) {
        match waiting::stack(&record, unwinding) {
            Some((stack, frames)) => drained.recorder.meta().stack(stack, &frames),
            None => drained.seeded_stacks_lost += 1,
        }
    }
}

/// The stacks that the kernel side copied, when the tables are there that may have been missing. Not all wait for those,
/// and not longer than there is time. `read_ns` is when the rings began to be drained, none at the end of the collection:
/// of a later copy the process may not be known yet.
fn walk_copies(drained: &mut Drained, unwinding: &mut Unwinding, read_ns: Option<u64>) {
    let held = if unwinding.is_behind() && read_ns.is_some() { MAX_HELD_COPIES } else { 0 };
    let is_early = |(record, _): &StackCopy| read_ns.is_none_or(|read_ns| record.h.time_ns < read_ns);
    let (mut due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut drained.copies).into_iter().partition(is_early);
    let waiting = due.split_off(due.len().saturating_sub(held));
    let time_ns = if read_ns.is_some() { WALKING_NS } else { LAST_WALKING_NS };
    let mut left = walk_for(due, time_ns, drained, unwinding);
    left.extend(waiting.into_iter().chain(later));
    let lost = left.len().saturating_sub(if read_ns.is_some() { MAX_HELD_COPIES } else { 0 });
    drained.copies_lost += lost as u64;
    drained.copies = left.split_off(lost);
}

/// Those of process `tgid` from before `time_ns`, when its tables are about to go.
fn walk_copies_of(tgid: u32, time_ns: u64, drained: &mut Drained, unwinding: &mut Unwinding) {
    let goes = |(record, _): &StackCopy| record.tgid == tgid && record.h.time_ns < time_ns;
    if !drained.copies.iter().any(goes) {
        return;
    }
    let (due, others) = std::mem::take(&mut drained.copies).into_iter().partition(goes);
    drained.copies = others;
    drained.copies_lost += walk_for(due, WALKING_NS, drained, unwinding).len() as u64;
}

/// Walks the copies until the time is over. Returns those that are left.
fn walk_for(copies: Vec<StackCopy>, time_ns: u64, drained: &mut Drained, unwinding: &mut Unwinding) -> Vec<StackCopy> {
    let until = monotonic_ns() + time_ns;
    let mut copies = copies.into_iter();
    while monotonic_ns() < until {
        let Some((record, bytes)) = copies.next() else { break };
        let (stack, frames) = waiting::copied_stack(&record, bytes, unwinding);
        drained.recorder.meta().stack(stack, &frames);
    }
    copies.collect()
}

/// Follows what happened to processes, of all CPUs in the order of time: a child has what its parent had mapped until then.
fn follow(drained: &mut Drained, unwinding: &mut Unwinding, keeper: &mut Keeper, now_ns: u64) -> Result<()> {
    let mut all = std::mem::take(&mut drained.news);
    all.sort_by_key(|(time_ns, _)| *time_ns);
    for (time_ns, news) in all {
        let (kind, tid, key, text) = match news {
            News::ThreadNew { tgid, parent } => {
                unwinding.thread_new(tgid, parent)?;
                keeper.thread_new(tgid, parent);
                continue;
            }
            News::ThreadExit(tgid) => {
                unwinding.thread_exit(tgid);
                continue;
            }
            News::Mapped(mut mapping) => {
                unwinding.map(&mapping)?;
                keeper.mapped(&mut mapping);
                drained.recorder.meta().map(mapping.header, &mapping.path);
                continue;
            }
            News::Program { pid } => {
                walk_copies_of(pid, time_ns, drained, unwinding);
                drained.programs.push(pid);
                drained.ended_programs.push((pid, time_ns));
                unwinding.read_process(pid)?;
                keeper.program(pid, time_ns);
                (kind::COMMAND, pid, 0, proc::command_line(pid))
            }
            News::EpollMembers { pid, fd, key } => (kind::MEMBERS, pid, key, proc::epoll_members(pid, fd)),
        };
        drained.recorder.meta().text(RecordHeader { kind, size: 0, tid, time_ns: now_ns }, key, &text);
    }
    for tgid in unwinding.ended() {
        walk_copies_of(tgid, u64::MAX, drained, unwinding);
        unwinding.forget_process(tgid)?;
        keeper.exit(tgid, now_ns);
        drained.ended_programs.push((tgid, u64::MAX));
    }
    Ok(())
}

/// What a launched program tells by its exec and its mappings, of processes that run already.
fn describe_running(pids: &[u32], now_ns: u64, drained: &mut Drained) {
    for &pid in pids {
        let mut exec = ExecRecord {
            h: RecordHeader { kind: kind::EXEC, size: 0, tid: pid, time_ns: now_ns },
            tgid: pid,
            old_tid: pid,
            ..bytemuck::Zeroable::zeroed()
        };
        let path = proc::executable(pid);
        let kept = path.len().min(exec.path.len() - 1);
        exec.path[..kept].copy_from_slice(&path[..kept]);
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let kept = name.len().min(exec.comm.len() - 1);
        exec.comm[..kept].copy_from_slice(&name[..kept]);
        drained.processes.insert(pid);
        drained.recorder.meta().fixed(&exec);
        drained.news.push((now_ns, News::Program { pid }));
    }
}

fn new_manifest(options: &Options, child: Option<u32>) -> Manifest {
    let command = match &options.target {
        Target::Launch(launch) => launch.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        Target::Attach(_) => Vec::new(),
    };
    let first = child.or_else(|| attached(options).first().copied());
    Manifest {
        trace_format: TRACE_FORMAT,
        dwell_version: env!("CARGO_PKG_VERSION").into(),
        state: State::Collecting,
        analysis: analysis(options).into(),
        topics: options.topics.iter().map(|topic| topic.id().to_owned()).collect(),
        command,
        target_pids: attached(options).to_vec(),
        options: options.command_line.clone(),
        host: machine::host(),
        kernel: machine::kernel(),
        boot_id: machine::boot_id(),
        cpus: machine::cpus(first.unwrap_or(0)),
        target_concurrency: options.target_concurrency,
        sampling_interval_ns: options.sampling_interval_ns,
        started_at: time_of_day(),
        start_ns: 0,
        end_ns: 0,
        exit_status: None,
        collector_cpu_ns: 0,
        collector_peak_bytes: 0,
        task_probes: options.task_probes.iter().map(|probe| probe.name.clone()).collect(),
        delays: DelayFacts::default(),
        events: 0,
        losses: Vec::new(),
        notices: Vec::new(),
    }
}

/// What the kernel said of hooks that it refused, for whoever asks why something is missing.
fn keep_log(folder: &ResultFolder, log: &str) {
    if !log.is_empty() {
        // The notices name the hooks and the reasons all the same.
        let _ = std::fs::write(folder.log(), log);
    }
}

/// The vDSO is in no file, and the same in every process: a copy of ours lets the frames in it be named later.
fn save_vdso(folder: &ResultFolder) {
    let own = proc::mappings(std::process::id(), 0).into_iter().find(|mapping| mapping.path == b"[vdso]");
    let Some(vdso) = own else { return };
    let image = std::fs::File::open("/proc/self/mem").and_then(|memory| {
        use std::os::unix::fs::FileExt;
        let mut image = vec![0; vdso.header.length.min(1 << 20) as usize];
        memory.read_exact_at(&mut image, vdso.header.start)?;
        Ok(image)
    });
    // Without it, its few frames stay unnamed: not worth failing for.
    let _ = image.and_then(|image| std::fs::write(folder.modules().join("vdso.so"), image));
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
