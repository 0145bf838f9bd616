//! Goroutines of profiled Go programs, sampled from outside: what each does, where, and for what it waits.
//!
//! Where probes in the program see each change of state (`hooks/goroutines.rs`), a first look tells how goroutines stood before. Else
//! a pass over a process's goroutines is made as often as a small part of one CPU allows. Between two passes nothing is known: a
//! change is taken as of the middle. Goroutines that live shorter than that are seen by chance.

use std::hash::BuildHasher;
use std::path::Path;

use bytemuck::Zeroable;
use dwell_goroutines::{
    ChangePoints, Goroutine, GoroutineReader, GoroutineState, PassCounts, Unsupported, change_points_of, reader_of,
};
use dwell_model::{Notice, StackEnd, losses, notice};
use dwell_store::raw::RecordBuffer;
use dwell_store::raw::wire::{
    FIBER_FLAG_SEEDED, FiberNewRecord, FiberStateRecord, RecordHeader, StackHeader, fiber_kind, fiber_state, kind,
};
use foldhash::fast::FixedState;
use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use crate::clock::{monotonic_ns, thread_cpu_ns, uneven};
use crate::options::FiberMode;
use crate::programs::memory::ProcessMemory;
use crate::topics::goroutine_sockets::GoroutineSockets;

/// Between two passes, at least.
const SHORTEST_INTERVAL_NS: u64 = 10_000_000;
/// … and at most: who waits for so long is seen.
const LONGEST_INTERVAL_NS: u64 = 2_000_000_000;
/// A pass may cost this part of one CPU.
const COST_SHARE: u64 = 100;
/// … and the first one this part, until the next.
const FIRST_COST_SHARE: u64 = 10;
/// Looks at a program whose changes of state are seen, until no goroutine moved meanwhile.
const MOST_FIRST_LOOKS: u64 = 8;
/// Go programs that are looked at.
const MOST_PROCESSES: usize = 64;

/// Sets probes in the program of a file, at the points when the state of its goroutines changes.
pub type SetProbes<'w> = dyn FnMut(&Path, &ChangePoints) -> crate::error::Result<()> + 'w;

/// The Go programs of a collection.
#[derive(Default)]
pub struct Goroutines {
    /// Whether to see each change of state.
    is_exact: bool,
    processes: Vec<GoProcess>,
    unsupported: Vec<Notice>,
    counted: PassCounts,
    processes_left_out: u64,
    passes: u64,
    intervals_ns: u64,
}

/// One of them.
struct GoProcess {
    pid: u32,
    memory: ProcessMemory,
    reader: GoroutineReader,
    /// Whether its changes of state are seen.
    is_exact: bool,
    seen: HashMap<u64, Sighting>,
    stacks: HashSet<u64>,
    sockets: GoroutineSockets,
    passes: u64,
    last_ns: u64,
    next_ns: u64,
}

/// How a goroutine was seen last.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sighting {
    state: GoroutineState,
    thread: u32,
    object: u64,
    /// Of which `object` is the socket.
    descriptor: Option<u32>,
    stack: u64,
    pass: u64,
}

impl Goroutines {
    /// Of no program yet; `None` where goroutines are not looked at.
    pub fn new(look: FiberMode) -> Option<Self> {
        (look != FiberMode::None).then(|| Self { is_exact: look == FiberMode::Exact, ..Self::default() })
    }

    /// The program in file `path` is about to be launched.
    pub fn prepare(&mut self, path: &Path, watch: &mut SetProbes<'_>) {
        if self.is_exact {
            self.watch(path, watch);
        }
    }

    /// Has the changes of state in this program seen, if it is one of Go. Returns whether they are.
    fn watch(&mut self, path: &Path, watch: &mut SetProbes<'_>) -> bool {
        let watched = match change_points_of(path) {
            Ok(None) => return false,
            Ok(Some(points)) => watch(path, &points).map_err(|error| not_exact(&error.reason())),
            Err(unsupported) => Err(remark(&unsupported)),
        };
        let is_watched = watched.is_ok();
        self.unsupported.extend(watched.err());
        is_watched
    }

    /// Process `pid` runs another program now.
    pub fn program(&mut self, pid: u32, watch: &mut SetProbes<'_>) {
        self.processes.retain(|process| process.pid != pid);
        match reader_of(pid) {
            Ok(None) => {}
            Ok(Some(_)) if self.processes.len() >= MOST_PROCESSES => self.processes_left_out += 1,
            Ok(Some(reader)) => {
                let is_exact = self.is_exact && self.watch(Path::new(&format!("/proc/{pid}/exe")), watch);
                self.processes.extend(GoProcess::new(pid, reader, is_exact));
            }
            Err(unsupported) => self.unsupported.push(remark(&unsupported)),
        }
        self.unsupported.dedup();
    }

    /// Nanoseconds until the next pass is due; `None` where there is no Go program.
    pub fn due_in(&self, now_ns: u64) -> Option<u64> {
        self.processes.iter().map(|process| process.next_ns.saturating_sub(now_ns)).min()
    }

    /// Makes the passes that are due into `records`; all, `at_end`.
    pub fn read(&mut self, records: &mut RecordBuffer, at_end: bool) {
        let mut gone = Vec::new();
        for process in &mut self.processes {
            let now_ns = monotonic_ns();
            if process.next_ns > now_ns && (process.is_exact || !at_end) {
                continue;
            }
            let (last_ns, is_first) = (process.last_ns, process.passes == 0);
            let Some(pass) = process.pass(now_ns, records) else {
                gone.push(process.pid);
                continue;
            };
            self.counted.torn += pass.torn;
            self.counted.unreadable = self.counted.unreadable.max(pass.unreadable);
            self.counted.left_out = self.counted.left_out.max(pass.left_out);
            if !is_first && !process.is_exact {
                self.passes += 1;
                self.intervals_ns += now_ns - last_ns;
            }
        }
        self.processes.retain(|process| !gone.contains(&process.pid));
    }

    /// Recording goes on after a pause: what was seen before says nothing.
    pub fn begin_anew(&mut self) {
        for process in &mut self.processes {
            process.next_ns = 0;
            if process.is_exact {
                process.passes = 0;
                process.seen.clear();
                process.reader.forget_stacks();
            }
        }
    }

    /// Tells everything again: what was told before will be forgotten.
    pub fn describe_again(&mut self) {
        for process in &mut self.processes {
            (process.next_ns, process.passes) = (0, 0);
            process.seen.clear();
            process.stacks.clear();
            process.sockets.forget();
            process.reader.forget_stacks();
        }
    }

    /// The mean time between two passes, ns; `None` where there were none.
    pub fn interval_ns(&self) -> Option<u64> {
        self.intervals_ns.checked_div(self.passes)
    }

    /// What could not be seen: name and count, zeros left out.
    pub fn losses(&self) -> impl Iterator<Item = (String, u64)> {
        let all = [
            (losses::GOROUTINES_TORN, self.counted.torn),
            (losses::GOROUTINES_UNREADABLE, self.counted.unreadable),
            (losses::GOROUTINES_LEFT_OUT, self.counted.left_out),
            (losses::GO_PROCESSES_LEFT_OUT, self.processes_left_out),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count))
    }

    /// The programs whose goroutines cannot be read.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.unsupported)
    }
}

impl GoProcess {
    fn new(pid: u32, reader: GoroutineReader, is_exact: bool) -> Option<Self> {
        Some(Self {
            pid,
            memory: ProcessMemory::of(pid)?,
            reader,
            is_exact,
            seen: HashMap::new(),
            stacks: HashSet::new(),
            sockets: GoroutineSockets::new(),
            passes: 0,
            last_ns: 0,
            next_ns: 0,
        })
    }

    /// Looks at every goroutine, and writes what has changed. `None` when the process has ended.
    fn pass(&mut self, now_ns: u64, records: &mut RecordBuffer) -> Option<PassCounts> {
        let began_ns = thread_cpu_ns();
        let is_first = self.passes == 0;
        let changed_ns = if is_first || self.is_exact { now_ns } else { self.last_ns.midpoint(now_ns) };
        self.passes += 1;
        self.sockets.begin_pass(now_ns);
        let mut writer = Writer {
            pid: self.pid,
            changed_ns,
            seen_ns: now_ns,
            is_first: is_first || self.is_exact,
            stacks: &mut self.stacks,
            sockets: &mut self.sockets,
            records,
        };
        let (seen, number, is_exact) = (&mut self.seen, self.passes, self.is_exact);
        let pass = self.reader.pass(&mut self.memory, &mut |goroutine| {
            let before = seen.get(&goroutine.id).copied();
            if is_exact && before.is_some() {
                return; // the probes see what becomes of it
            }
            let sighting = writer.sighting(goroutine, before, number);
            seen.insert(goroutine.id, sighting);
        });
        let Some(pass) = pass else {
            self.end(now_ns, records);
            return None;
        };
        let is_complete = pass.torn == 0;
        self.last_ns = now_ns;
        if is_exact {
            let is_done = is_complete || number >= MOST_FIRST_LOOKS;
            self.next_ns = if is_done { u64::MAX } else { now_ns + SHORTEST_INTERVAL_NS };
            return Some(PassCounts { torn: if number == MOST_FIRST_LOOKS { pass.torn } else { 0 }, ..pass });
        }
        seen.retain(|&id, sighting| {
            // One that moved while it was read is missing for a pass.
            let missed = number - sighting.pass;
            let is_there = missed == 0 || !is_complete && missed < 3;
            if !is_there {
                writer.state(id, fiber_state::ENDED, &Sighting { thread: 0, object: 0, stack: 0, ..*sighting });
            }
            is_there
        });
        let cost_ns = thread_cpu_ns().saturating_sub(began_ns + self.sockets.take_cost_ns());
        // The first one reads what later ones find unchanged.
        let share = if is_first { FIRST_COST_SHARE } else { COST_SHARE };
        let interval_ns = (cost_ns * share).clamp(SHORTEST_INTERVAL_NS, LONGEST_INTERVAL_NS);
        self.next_ns = now_ns + uneven(interval_ns, (self.passes, now_ns));
        Some(pass)
    }

    fn end(&mut self, now_ns: u64, records: &mut RecordBuffer) {
        if self.is_exact {
            return; // with its threads
        }
        let changed_ns = self.last_ns.midpoint(now_ns);
        let mut writer = Writer {
            pid: self.pid,
            changed_ns,
            seen_ns: now_ns,
            is_first: false,
            stacks: &mut self.stacks,
            sockets: &mut self.sockets,
            records,
        };
        for (&id, sighting) in &self.seen {
            writer.state(id, fiber_state::ENDED, &Sighting { thread: 0, object: 0, stack: 0, ..*sighting });
        }
    }
}

/// Writes what a pass saw.
struct Writer<'w> {
    pid: u32,
    /// When what changed did, as far as is known, and when it was seen.
    changed_ns: u64,
    seen_ns: u64,
    is_first: bool,
    stacks: &'w mut HashSet<u64>,
    sockets: &'w mut GoroutineSockets,
    records: &'w mut RecordBuffer,
}

impl Writer<'_> {
    fn sighting(&mut self, goroutine: &Goroutine<'_>, before: Option<Sighting>, pass: u64) -> Sighting {
        if before.is_none() {
            self.new_fiber(goroutine);
        }
        let stack = match goroutine.stack {
            Some([]) => 0,
            Some(frames) => self.stack(frames),
            None if goroutine.state == GoroutineState::Running => 0,
            None => before.map_or(0, |before| before.stack),
        };
        let &Goroutine { state, thread, .. } = goroutine;
        let waits_on = |before: &Sighting| (before.state, before.stack, before.descriptor);
        let (object, descriptor) = match goroutine.descriptor {
            None => (goroutine.object, None),
            // It has the same connection, as far as that can be told without looking at it each time.
            Some(_) if before.as_ref().map(waits_on) == Some((state, stack, goroutine.descriptor)) => {
                (before.map_or(0, |before| before.object), goroutine.descriptor)
            }
            Some(number) => match self.sockets.key((self.pid, number), self.records) {
                Some(key) => (key, Some(number)),
                None => (0, None), // asked for again in the next pass
            },
        };
        let now = Sighting { state, thread, object, descriptor, stack, pass };
        if before.is_none_or(|before| Sighting { pass, ..before } != now) {
            self.state(goroutine.id, state_number(state), &now);
        }
        now
    }

    fn new_fiber(&mut self, goroutine: &Goroutine<'_>) {
        let entry_stack = self.stack(&[goroutine.entry]);
        // Within the call, so that the line is the call's.
        let creator_stack = if goroutine.created_at == 0 { 0 } else { self.stack(&[goroutine.created_at - 1]) };
        self.records.fixed(&FiberNewRecord {
            h: self.header(kind::FIBER_NEW, 0),
            fiber: goroutine.id,
            parent: goroutine.parent,
            entry_stack,
            creator_stack,
            tgid: self.pid,
            flags: if self.is_first { FIBER_FLAG_SEEDED } else { 0 },
            kind: fiber_kind::GOROUTINE,
            ..FiberNewRecord::zeroed()
        });
    }

    fn state(&mut self, fiber: u64, state: u16, sighting: &Sighting) {
        self.records.fixed(&FiberStateRecord {
            h: self.header(kind::FIBER_STATE, sighting.thread),
            fiber,
            user_stack: sighting.stack,
            object: sighting.object,
            seen_ns: self.seen_ns,
            tgid: self.pid,
            state,
            flags: if self.is_first { FIBER_FLAG_SEEDED as u16 } else { 0 },
            ..FiberStateRecord::zeroed()
        });
    }

    /// The key of a stack, which is written when it is new.
    fn stack(&mut self, frames: &[u64]) -> u64 {
        let key = FixedState::default().hash_one((self.pid, frames)).max(1);
        if self.stacks.insert(key) {
            let h = self.header(kind::STACK, self.pid);
            let header = StackHeader { h, key, tgid: self.pid, count: 0, flags: 0, end: StackEnd::Complete as u8 };
            self.records.stack(header, frames);
        }
        key
    }

    fn header(&self, kind: u16, tid: u32) -> RecordHeader {
        RecordHeader { kind, size: 0, tid, time_ns: self.changed_ns }
    }
}

fn state_number(state: GoroutineState) -> u16 {
    match state {
        GoroutineState::Ready => fiber_state::READY,
        GoroutineState::Running => fiber_state::RUNNING,
        GoroutineState::InCall => fiber_state::IN_CALL,
        GoroutineState::Waiting => fiber_state::WAITING,
    }
}

fn not_exact(error: &str) -> Notice {
    notice!(GOROUTINES_NOT_EXACT, error = error)
}

fn remark(unsupported: &Unsupported) -> Notice {
    match unsupported {
        Unsupported::Version(version) => notice!(GO_VERSION_UNKNOWN, version = version),
        Unsupported::NoChangePoints(version) => {
            not_exact(&format!("its file, made with {version}, does not say where its goroutines change"))
        }
        Unsupported::NoList(version) => notice!(GOROUTINES_NOT_FOUND, version = version),
    }
}
