//! A source of records that needs no rights: perf events of one's own processes, as a plain user may open them where
//! `kernel.perf_event_paranoid` is 2 or less.
//!
//! Switch records tell when threads leave the CPU and come back, tracepoints of system calls what they wait for, copies of
//! their stacks where. /proc tells what descriptors stand for, and the call of a thread that waits in one that is not traced.
//! What this cannot see: wakers outside the profiled processes, the time between a wake-up and the CPU where the waker is not
//! known, kernel stacks.

mod calls;
mod closing;
mod events;
mod ids;
pub mod look;
mod objects;
mod processes;
pub mod record;
mod ring;
pub mod sockets;
mod stacks;
mod threads;
mod unix_peers;
mod wakers;

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::CString;
use std::io::ErrorKind;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use bytemuck::{Zeroable, bytes_of};
use dwell_model::{SyscallClass, Topic};
use dwell_store::raw::wire::{
    RecordHeader, RegistersRecord, SampleRecord, THREAD_SEEDED, ThreadNewRecord, kind, object_kind,
};

use self::closing::Lock;
use self::events::{Events, Plan, Tracepoint};
use self::look::Place;
use self::objects::{Holder, Objects};
use self::processes::Processes;
use self::record::{Call, Sample, Sort, Stamp, What};
use self::stacks::{Found, Stacks};
use self::threads::{Entered, Thread, Threads, class};
use crate::clock::monotonic_ns;
use crate::collect::drained::{Drained, follow, take_record};
use crate::collect::source::{Source, Targets};
use crate::error::{Error, Result};
use crate::keeper::Keeper;
use crate::options::Options;
use crate::perf::{self, Mapping};
use crate::proc;
use crate::unwinding::Unwinding;
use crate::waiting;

/// Records of the last moment may still be written by other CPUs: they wait for the next round.
const HELD_NS: u64 = 1_000_000;
/// Threads whose calls are looked at in /proc in a round.
const MOST_LOOKS: usize = 256;
/// Looks at a process's threads at most so often: one that creates them without end is recorded by those seen so far.
const MOST_LISTINGS: usize = 16;
/// What an event costs whoever creates a thread, and how much of that is borne in a second.
const NS_PER_EVENT: u64 = 15_000;
const MOST_BIRTH_NS: u64 = 100_000_000;

/// A record in a ring.
#[derive(Clone, Copy)]
struct Entry {
    time_ns: u64,
    ring: u16,
    at: u64,
}

/// The source.
pub struct Unprivileged {
    events: Events,
    drained: Option<Rc<RefCell<Drained>>>,
    processes: Processes,
    threads: Threads,
    stacks: Stacks,
    objects: Objects,
    entries: Vec<Entry>,
    /// When recording was paused or resumed; not yet reached by what was read.
    turns: Vec<(u64, bool)>,
    /// As records told.
    lost: u64,
    /// As the events told at the end: the last losses of a ring have no record.
    lost_by_events: u64,
    sampling_interval_ns: u64,
    attached: Vec<u32>,
    own_only: bool,
    /// The thread whose events came first.
    first: u32,
    /// Threads that were made since then, CLOCK_MONOTONIC ns.
    births: u64,
    births_since_ns: u64,
    has_shed: bool,
    /// Threads that ran already and that this user may not look at.
    states_hidden: u64,
    notices: Vec<String>,
    /// What the kernel said of BPF programs that it refused.
    log: String,
    scratch: Vec<u8>,
    _lock: Option<Lock>,
}

impl Unprivileged {
    /// Opens the events of the targets. `why` is what speaks against BPF, when that was tried before.
    pub fn start(options: &Options, targets: &Targets<'_>, why: Option<&Error>) -> Result<Self> {
        refuse_what_needs_bpf(options, why)?;
        let sees_kernel = events::sees_kernel();
        let lock = Lock::hold(ids::cache_folder().as_deref());
        let calls = tracepoints(sees_kernel, lock.as_ref());
        let (sampling_interval_ns, from_exec) = (options.sampling_interval_ns, targets.launching);
        let plan = Plan { sampling_interval_ns, calls, sees_kernel, from_exec };
        let first = targets.pids.first().copied().unwrap_or(0);
        let events = Events::open(first, plan, lock.as_ref().map(Lock::path).unwrap_or_default())
            .map_err(|error| refused(&error, why))?;
        check_yours(first, options.own_only && !targets.launching)?;
        let mut source = Self {
            events,
            drained: None,
            processes: Processes::new(options, targets),
            threads: Threads::new(options.start_paused),
            stacks: Stacks::default(),
            objects: Objects::default(),
            entries: Vec::new(),
            turns: Vec::new(),
            lost: 0,
            lost_by_events: 0,
            sampling_interval_ns: options.sampling_interval_ns,
            attached: if targets.launching { Vec::new() } else { targets.pids.to_vec() },
            own_only: options.own_only,
            first,
            births: 0,
            births_since_ns: 0,
            has_shed: false,
            states_hidden: 0,
            notices: Vec::new(),
            log: why.map(Error::log).unwrap_or_default().to_owned(),
            scratch: Vec::new(),
            _lock: lock,
        };
        source.explain(why, options, sees_kernel);
        Ok(source)
    }

    /// Says what this source is, and what it lacks.
    fn explain(&mut self, why: Option<&Error>, options: &Options, sees_kernel: bool) {
        let reason = why.map_or_else(|| "--source perf".to_owned(), Error::reason);
        self.notices.push(format!(
            "Recorded without BPF ({reason}): waits and their number are exact where the losses name no lost perf records; \
             wakers outside the profiled program, and how long a thread that such a waker woke waited for a CPU, are not \
             known."
        ));
        if !sees_kernel {
            self.notices.push(
                "What the kernel did is not known: a plain user sees that where kernel.perf_event_paranoid is 1 or less.".into(),
            );
        }
        if !self.events.traces_calls() {
            self.notices.push("System calls could not be traced: what short waits were for is not known.".into());
        }
        if options.topics.contains(&Topic::System) {
            self.notices.push("System calls are not counted without BPF.".into());
        }
    }

    fn collect_entries(&mut self, line_ns: u64) {
        for (number, ring) in self.events.rings.iter_mut().enumerate() {
            ring.look();
            let mut at = ring.tail;
            while let Some(record) = ring.record(at, &mut self.scratch) {
                let time_ns = record::stamp(record).map_or(0, |stamp| stamp.time_ns);
                if time_ns > line_ns {
                    break;
                }
                let size = record.len() as u64;
                self.entries.push(Entry { time_ns, ring: number as u16, at });
                at += size;
            }
        }
        self.entries.sort_by_key(|entry| entry.time_ns);
    }

    /// Gives the rings back up to the records that were read.
    fn release(&mut self) {
        let mut scratch = std::mem::take(&mut self.scratch);
        for entry in &self.entries {
            let ring = &mut self.events.rings[usize::from(entry.ring)];
            let end = entry.at + ring.record(entry.at, &mut scratch).map_or(0, |record| record.len() as u64);
            // Within a ring, entries may be out of order by a moment: the latest counts.
            if end > ring.tail {
                ring.tail = end;
            }
        }
        for ring in &mut self.events.rings {
            let tail = ring.tail;
            ring.release(tail);
        }
        self.scratch = scratch;
        self.entries.clear();
    }

    fn turn(&mut self, time_ns: u64) {
        while let Some(&(at_ns, paused)) = self.turns.first().filter(|(at_ns, _)| *at_ns <= time_ns) {
            self.turns.remove(0);
            if self.threads.is_paused && !paused {
                self.with_drained(|source, drained| {
                    source.threads.seed(at_ns, &mut |bytes| take_record(drained, bytes));
                });
            }
            self.threads.is_paused = paused;
        }
    }

    fn with_drained(&mut self, act: impl FnOnce(&mut Self, &mut Drained)) {
        if let Some(drained) = self.drained.clone() {
            act(self, &mut drained.borrow_mut());
        }
    }

    /// Replays what was read until `line_ns`.
    fn replay(&mut self, unwinding: &mut Unwinding, keeper: &mut Keeper, line_ns: u64) -> Result<()> {
        let Some(drained) = self.drained.clone() else { return Ok(()) };
        let rings = std::mem::take(&mut self.events.rings);
        let entries = std::mem::take(&mut self.entries);
        let mut scratch = Vec::new();
        let mut failed = Ok(());
        for entry in &entries {
            self.turn(entry.time_ns);
            let Some(ring) = rings.get(usize::from(entry.ring)) else { continue };
            let Some((stamp, what)) = ring
                .record(entry.at, &mut scratch)
                .and_then(|bytes| record::parse(bytes, |event| self.events.has_chain(event)))
            else {
                continue;
            };
            let mut drained = drained.borrow_mut();
            let mut world = World { drained: &mut drained, unwinding, keeper };
            failed = failed.and(self.take(stamp, what, &mut world));
        }
        self.events.rings = rings;
        self.entries = entries;
        self.turn(line_ns);
        failed
    }

    fn take(&mut self, stamp: Stamp, what: What<'_>, world: &mut World<'_>) -> Result<()> {
        let about = if let What::Fork { tid, .. } = what { tid } else { stamp.tid };
        if self.threads.all.get(&about).is_some_and(|thread| stamp.time_ns < thread.since_ns) {
            return Ok(());
        }
        match what {
            What::In => self.threads.comes(stamp, &mut |bytes| take_record(world.drained, bytes)),
            What::Out { runnable: true } => {
                self.threads.preempted(stamp, &mut |bytes| take_record(world.drained, bytes));
            }
            What::Out { runnable: false } => self.blocks(stamp, world),
            What::Sample(identifier, sample) => return self.sample(stamp, identifier, &sample, world),
            What::Lost(count) => self.lost += count,
            What::Map(mapping) => self.map(stamp, mapping, world),
            what => {
                if matches!(what, What::Fork { .. }) {
                    self.count_births(stamp.time_ns);
                }
                self.processes.take(stamp, &what, &mut self.threads, &mut |bytes| take_record(world.drained, bytes));
            }
        }
        Ok(())
    }

    fn map(&mut self, stamp: Stamp, mapping: Mapping, world: &mut World<'_>) {
        if !self.processes.is_recorded(stamp.tgid) {
            return;
        }
        self.processes.mapped(stamp, &mapping.path, &mut |bytes| take_record(world.drained, bytes));
        self.stacks.mapped(stamp.tgid);
        world.drained.mapped(vec![mapping], stamp.time_ns);
    }

    fn sample(&mut self, stamp: Stamp, identifier: u64, sample: &Sample<'_>, world: &mut World<'_>) -> Result<()> {
        if !self.threads.all.contains_key(&stamp.tid) {
            return Ok(());
        }
        let Some(sort) = self.events.sort(identifier) else { return Ok(()) };
        match sort {
            Sort::Fault => self.threads.runs(stamp.tid, true),
            Sort::Leave => {
                let key = self.kernel_stack(stamp, sample, world);
                self.threads.leaves(stamp.tid, key);
            }
            Sort::Clock => {
                if !sample.in_kernel {
                    self.threads.runs(stamp.tid, false);
                }
                let (found, _) = self.stack(stamp, sample, sort, world)?;
                let kernel_stack = self.kernel_stack(stamp, sample, world);
                if !self.threads.is_paused {
                    let in_kernel = u16::from(sample.in_kernel);
                    let record = SampleRecord { in_kernel, kernel_stack, ..self.clock_record(stamp, found.key) };
                    take_record(world.drained, bytes_of(&record));
                }
            }
            Sort::Enter => {
                let Some(call) = sample.call(self.events.layout) else { return Ok(()) };
                let (found, cut) = self.stack(stamp, sample, sort, world)?;
                self.threads.enter(stamp, call, found.key, cut);
                self.processes.enter(stamp.tgid, &call);
                self.writes(stamp, &call, found.key, world);
            }
        }
        Ok(())
    }

    fn clock_record(&self, stamp: Stamp, user_stack: u64) -> SampleRecord {
        let size = size_of::<SampleRecord>() as u16;
        SampleRecord {
            h: RecordHeader { kind: kind::SAMPLE, size, tid: stamp.tid, time_ns: stamp.time_ns },
            cpu: stamp.cpu,
            period_ns: u32::try_from(self.sampling_interval_ns).unwrap_or(u32::MAX),
            user_stack,
            ..SampleRecord::zeroed()
        }
    }

    /// The stack in a sample, walked by the tables of what is mapped by then.
    fn stack(
        &mut self,
        stamp: Stamp,
        sample: &Sample<'_>,
        sort: Sort,
        world: &mut World<'_>,
    ) -> Result<(Found, Option<Box<RegistersRecord>>)> {
        world.catch_up(stamp.time_ns)?;
        let Some(piece) = sample.piece(sort) else { return Ok((Found::default(), None)) };
        let header = RecordHeader { kind: kind::STACK, size: 0, tid: stamp.tid, time_ns: stamp.time_ns };
        let found = self.stacks.find((header, stamp.tgid), &piece, world.unwinding, world.drained.recorder.meta());
        let cut = (found.is_cut && sort == Sort::Enter).then(|| Box::new(piece.registers));
        Ok((found, cut))
    }

    fn kernel_stack(&mut self, stamp: Stamp, sample: &Sample<'_>, world: &mut World<'_>) -> u64 {
        let header = RecordHeader { kind: kind::STACK, size: 0, tid: stamp.tid, time_ns: stamp.time_ns };
        self.stacks.write_kernel(header, &sample.kernel_frames(), world.drained.recorder.meta())
    }

    fn blocks(&mut self, stamp: Stamp, world: &mut World<'_>) {
        let Self { threads, objects, .. } = self;
        let drained = RefCell::new(&mut *world.drained);
        let mut target = |tgid: u32, entered: &Entered| {
            let holder = Holder { tgid, tid: stamp.tid, time_ns: stamp.time_ns };
            look::target(objects, holder, &entered.call, &mut |bytes| take_record(&mut drained.borrow_mut(), bytes))
        };
        threads.blocks(stamp, &mut target, &mut |bytes| take_record(&mut drained.borrow_mut(), bytes));
    }

    /// A call that changes what is in a pipe or socket wakes who waits for that.
    fn writes(&mut self, stamp: Stamp, call: &Call, stack: u64, world: &mut World<'_>) {
        if class(call.number) != SyscallClass::Fd || self.threads.wakers.nobody_waits_for_objects() {
            return;
        }
        let holder = Holder { tgid: stamp.tgid, tid: stamp.tid, time_ns: stamp.time_ns };
        let fd = call.arguments[0] as i32;
        let object = self.objects.of(holder, fd, &mut |bytes| take_record(world.drained, bytes));
        let key = if object.kind == object_kind::SOCKET { object.peer } else { object.key };
        if key != 0 && object.can_wake() {
            self.threads.wakers.object_changes(stamp, call.number, key, stack);
        }
    }

    /// Looks at threads that wait, where their records do not say for sure in what; writes what is known by now.
    fn look_at_waiting(&mut self, unwinding: &mut Unwinding, line_ns: u64) {
        let untold = self.threads.all.iter().filter(|(_, thread)| thread.has_untold());
        let untold: Vec<u32> = untold.map(|(&tid, _)| tid).take(MOST_LOOKS).collect();
        for tid in untold {
            self.with_drained(|source, drained| {
                let Self { threads, objects, stacks, .. } = source;
                let Some(thread) = threads.all.get_mut(&tid) else { return };
                let seen_ns = thread.wait.as_ref().and_then(|wait| wait.seen.as_ref()).map(|(time_ns, _)| *time_ns);
                if seen_ns.is_some_and(|seen_ns| seen_ns <= line_ns) {
                    // It has not moved since: what was seen is where it is.
                    return threads.tell(tid, u64::MAX, &mut |bytes| take_record(drained, bytes));
                }
                if seen_ns.is_none() && !look::at(tid, thread, (objects, stacks), unwinding, drained) {
                    threads.tell(tid, 0, &mut |bytes| take_record(drained, bytes));
                }
            });
        }
    }

    /// Up to when all is told: not beyond the first wait that is still to be.
    fn told_ns(&self, line_ns: u64) -> u64 {
        let untold = self.threads.all.values().filter(|thread| thread.has_untold());
        untold.map(|thread| thread.off_ns.saturating_sub(1)).min().unwrap_or(u64::MAX).min(line_ns)
    }
}

/// What a record is replayed into.
struct World<'w> {
    drained: &'w mut Drained,
    unwinding: &'w mut Unwinding,
    keeper: &'w mut Keeper,
}

impl World<'_> {
    /// Follows what happened to processes so far, so that their code is known.
    fn catch_up(&mut self, now_ns: u64) -> Result<()> {
        if !self.drained.news.is_empty() {
            follow(self.drained, self.unwinding, self.keeper, now_ns)?;
        }
        while self.unwinding.is_behind() {
            self.unwinding.catch_up()?;
        }
        Ok(())
    }
}

impl Source for Unprivileged {
    fn name(&self) -> &'static str {
        "perf"
    }

    fn unwinding(&self) -> Result<Unwinding> {
        Ok(Unwinding::in_user_space())
    }

    fn connect(&mut self, drained: &Rc<RefCell<Drained>>) -> Result<()> {
        self.drained = Some(Rc::clone(drained));
        Ok(())
    }

    fn wakers(&self) -> Vec<BorrowedFd<'_>> {
        self.events.fds()
    }

    fn drain(&mut self, _: &mut Vec<Mapping>, now_ns: u64, at_end: bool) -> Result<u64> {
        let line_ns = if at_end { now_ns } else { now_ns.saturating_sub(HELD_NS) };
        self.collect_entries(if at_end { u64::MAX } else { line_ns });
        if at_end {
            self.lost_by_events = self.events.lost();
        }
        Ok(line_ns)
    }

    fn settle(&mut self, unwinding: &mut Unwinding, keeper: &mut Keeper, drained_ns: u64) -> Result<u64> {
        self.objects.begin_round();
        self.replay(unwinding, keeper, drained_ns)?;
        self.release();
        self.look_at_waiting(unwinding, drained_ns);
        Ok(self.told_ns(drained_ns))
    }

    fn seed(&mut self) -> Result<()> {
        std::mem::take(&mut self.attached).into_iter().try_for_each(|pid| self.attach(pid))
    }

    fn set_paused(&mut self, paused: bool) -> Result<()> {
        self.turns.push((monotonic_ns(), paused));
        Ok(())
    }

    fn losses(&self) -> Vec<(String, u64)> {
        let all = [
            ("perf_records_lost", self.lost.max(self.lost_by_events)),
            ("calls_unseen", self.threads.unseen_calls),
            ("threads_without_events", self.events.failed),
            ("states_hidden", self.states_hidden),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)).collect()
    }

    fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    fn log(&self) -> &str {
        &self.log
    }
}

impl Unprivileged {
    /// Takes in a process that runs already: its threads, and all that they create. Until a look finds no thread that was not
    /// there before: one without events passes none on.
    fn attach(&mut self, pid: u32) -> Result<()> {
        let mut seen = HashSet::from([self.first]);
        self.processes.attach(pid);
        let mut threads = proc::threads(pid);
        for _ in 0..MOST_LISTINGS {
            let new: Vec<u32> = threads.into_iter().filter(|&tid| seen.insert(tid)).collect();
            if new.is_empty() {
                break;
            }
            new.into_iter().for_each(|tid| self.events.add(tid));
            threads = proc::threads(pid);
        }
        check_yours(pid, self.own_only)?;
        for tid in proc::threads(pid) {
            self.seed_thread(pid, tid);
        }
        Ok(())
    }

    /// Tells of a thread that is there, and what it does. Its stack is walked at once by whoever called, if it stands still.
    fn seed_thread(&mut self, tgid: u32, tid: u32) {
        let folder = format!("/proc/{tgid}/task/{tid}");
        let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).unwrap_or_default();
        let mut name = [0; 16];
        let comm = read("comm");
        name.iter_mut().zip(comm.trim_end().bytes().take(15)).for_each(|(to, from)| *to = from);
        let switches = waiting::switches(&read("status")).unwrap_or(0);
        let looked = std::fs::read_to_string(format!("{folder}/syscall"));
        if looked.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
            self.states_hidden += 1;
        }
        let place = Place::parse(&looked.unwrap_or_default());
        let stamp = Stamp { tgid, tid, time_ns: monotonic_ns(), cpu: u16::MAX };
        let h = RecordHeader {
            kind: kind::THREAD_NEW,
            size: size_of::<ThreadNewRecord>() as u16,
            tid,
            time_ns: stamp.time_ns,
        };
        let born = ThreadNewRecord { h, tgid, flags: THREAD_SEEDED, comm: name, ..ThreadNewRecord::zeroed() };
        let mut thread = Thread::new(tgid, name);
        self.with_drained(|source, drained| {
            take_record(drained, bytes_of(&born));
            let holder = Holder { tgid, tid, time_ns: stamp.time_ns };
            let call = place.as_ref().and_then(|place| place.call);
            let target = call
                .map(|call| look::target(&mut source.objects, holder, &call, &mut |bytes| take_record(drained, bytes)));
            let stack = place.as_ref().map_or(0, |place| {
                let key = stacks::mix(stacks::mix(stamp.time_ns, tid.into()), place.ip) | 1 << 63;
                let h = RecordHeader { kind: kind::REGISTERS, size: 0, tid, time_ns: stamp.time_ns };
                drained.waiting.push(RegistersRecord { h, key, switches, tgid, ..place.registers() });
                key
            });
            thread.stands(stamp, place.map(|place| place.call), target.unwrap_or_default(), stack);
            source.threads.insert(tid, thread);
            source.threads.seed_one(tid, stamp.time_ns, &mut |bytes| take_record(drained, bytes));
        });
    }

    /// A program that creates threads without end pays for every call that is traced: the faster it does, the fewer are.
    fn count_births(&mut self, time_ns: u64) {
        if time_ns.saturating_sub(self.births_since_ns) > 1_000_000_000 {
            (self.births_since_ns, self.births) = (time_ns, 0);
        }
        self.births += 1;
        if self.births * self.events.inherited() as u64 * NS_PER_EVENT < MOST_BIRTH_NS || !self.events.has_many() {
            return;
        }
        self.events.shed();
        if !self.has_shed {
            self.has_shed = true;
            self.notices.push(
                "The program creates many threads: to keep that cheap, fewer system calls were traced from then on, at \
                 last only futexes; waits in others are known where they last some milliseconds."
                    .into(),
            );
        }
    }
}

/// The tracepoints of the calls that are traced: one of all of them, where that fires; else one of each.
fn tracepoints(sees_kernel: bool, lock: Option<&Lock>) -> Vec<Tracepoint> {
    let mut wanted = calls::all();
    let filter = CString::new(calls::filter(&wanted)).ok();
    wanted.extend(sees_kernel.then_some(calls::EVERY));
    let ids = ids::find(&wanted, lock);
    if let Some(&id) = ids.get(&calls::EVERY.number) {
        return vec![Tracepoint { id, filter }];
    }
    let most = calls::how_many(crate::machine::online().len());
    let of_each = wanted.iter().filter_map(|call| ids.get(&call.number));
    of_each.take(most).map(|&id| Tracepoint { id, filter: None }).collect()
}

/// Asks whether events that are open by now are of a process that its user may look at. CAP_PERFMON opens others' too, and
/// since the process was looked at first it may have become another user's; the kernel ends the events of one that does later.
fn check_yours(pid: u32, own_only: bool) -> Result<()> {
    if own_only && !proc::may_look_at(pid) && proc::is_alive(pid) { Err(Error::NotYours { pid }) } else { Ok(()) }
}

/// What only BPF can record was asked for.
fn refuse_what_needs_bpf(options: &Options, why: Option<&Error>) -> Result<()> {
    let topic = |topic: Topic| options.topics.contains(&topic).then(|| format!("--analyze {}", topic.id()));
    let wanted = topic(Topic::Sockets)
        .or_else(|| topic(Topic::Latency))
        .or_else(|| (!options.task_probes.is_empty()).then(|| "--task-probe and --interval".to_owned()))
        .or_else(|| options.requests.then(|| "--interval socket".to_owned()));
    let Some(what) = wanted else { return Ok(()) };
    let reason = why.map_or_else(|| "--source perf was given".to_owned(), Error::reason);
    Err(Error::NeedsBpf { what, reason })
}

/// Fails where this user can open no event of their own programs; else returns whether they may see what the kernel does for
/// them.
pub fn check() -> Result<bool> {
    events::opens().map_err(|error| refused(&error, None))?;
    Ok(events::sees_kernel())
}

fn refused(error: &std::io::Error, why: Option<&Error>) -> Error {
    let bpf = why.map_or_else(String::new, |error| format!("{}; ", error.reason()));
    match perf::forbidding_level(error) {
        Some(level) => {
            Error::PerfRefused { reason: format!("{bpf}kernel.perf_event_paranoid is {level}"), by_setting: true }
        }
        None => Error::PerfRefused { reason: format!("{bpf}perf_event_open: {error}"), by_setting: false },
    }
}
