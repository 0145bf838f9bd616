//! Cuts each thread's life into running time and intervals off the CPU, to the nanosecond.
//!
//! Each thread is a small state machine. It is *running*, *off* the CPU (its open row says why), *unknown* (the trace
//! has not said yet which of the two), *paused* or *ended*. Every change of state happens at one instant, which closes
//! what was before and opens what comes after, so that lifetime = running + runnable + waiting holds by construction.
//! Where records were lost a change is missing: a thread that leaves the CPU twice, or comes back twice. The interval
//! in doubt then becomes one of reason *unknown*, and is counted.

use std::ops::Range;

use dwell_model::{Outcome, Reason, ThreadId, WakerKind};
use dwell_store::Table;
use dwell_store::tables::{PauseRow, Pauses};

use crate::replay::lock_owner::LockOwner;
use crate::replay::numbers::{StackNumber, WaitNumber};
use crate::replay::rows::{RawOffCpu, RawOffCpuRow};
use crate::replay::samples::SampleWeights;

/// A wake-up this much before the switch-out that it ends is the same event seen from two CPUs; an older one belongs
/// to another wait.
const WAKE_SLACK_NS: u64 = 100_000;
const NO_CPU: u16 = u16::MAX;

/// Why and where a thread leaves the CPU.
#[derive(Clone, Copy, Debug)]
pub struct SwitchOut {
    /// Why.
    pub reason: Reason,
    /// System call, -1 = none.
    pub syscall: i16,
    /// What it waits for, `NONE` when it does not wait.
    pub wait: WaitNumber,
    /// Where.
    pub stack: StackNumber,
    /// Who has the lock that it waits for, where that is known.
    pub owner: Option<LockOwner>,
    /// Whether its record says that it waits in the same call as the last time.
    pub same_call: bool,
}

/// How a thread comes back to a CPU.
#[derive(Clone, Copy, Debug)]
pub struct SwitchIn {
    /// The CPU.
    pub cpu: u16,
    /// When it was woken, ns since the collection's start; `None` when no wake-up was seen.
    pub wake_ns: Option<u64>,
    /// How its wait ended.
    pub outcome: Outcome,
    /// Who woke it, when that is a profiled thread.
    pub waker: ThreadId,
    /// In what context.
    pub waker_kind: WakerKind,
    /// Where the waker was.
    pub waker_stack: StackNumber,
}

/// Who made a thread, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadCreator {
    /// The thread that did, when it is profiled.
    pub thread: ThreadId,
    /// Where.
    pub stack: StackNumber,
}

/// How a thread's life begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadStart {
    /// It was just made and waits for a CPU.
    Created(ThreadCreator),
    /// It was there already, in a state that a later record will tell.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Unknown,
    Running,
    Off(usize),
    Paused,
    Ended,
}

#[derive(Clone, Debug)]
struct Track {
    state: State,
    /// When the state began.
    since: u64,
    /// Latest time at which it was certainly running.
    ran_until: u64,
    cpu: u16,
    /// Whether it has a record since the collection was last resumed.
    has_record: bool,
}

/// The state machines and the rows that they make.
#[derive(Default)]
pub struct OffCpuIntervals {
    rows: RawOffCpu,
    tracks: Vec<Track>,
    pauses: Pauses,
    paused_since: Option<u64>,
    /// Running time per sample.
    pub weights: SampleWeights,
    /// Intervals whose bounds had to be guessed.
    pub repaired: u64,
}

impl OffCpuIntervals {
    /// Whether the collection is paused.
    pub fn is_paused(&self) -> bool {
        self.paused_since.is_some()
    }

    /// Whether the thread's departure would make a row; of a SEEDED one only where its state is not known.
    pub fn takes_switch_out(&self, thread: ThreadId, seeded: bool) -> bool {
        match thread.get().and_then(|row| self.tracks.get(row)).map(|track| track.state) {
            Some(State::Unknown) => true,
            Some(State::Running | State::Off(_)) => !seeded,
            Some(State::Paused | State::Ended) | None => false,
        }
    }

    /// When the collection was last resumed, 0 when never.
    pub fn resumed_ns(&self) -> u64 {
        self.pauses.end_ns.last().copied().unwrap_or(0)
    }

    /// `time_ns`; of a time within a pause the pause's start.
    pub fn recorded(&self, time_ns: u64) -> u64 {
        if let Some(since) = self.paused_since.filter(|since| *since <= time_ns) {
            return since;
        }
        let after = self.pauses.start_ns.partition_point(|start_ns| *start_ns <= time_ns);
        let pause = after.checked_sub(1).filter(|&pause| time_ns < self.pauses.end_ns[pause]);
        pause.map_or(time_ns, |pause| self.pauses.start_ns[pause])
    }

    /// What a thread that is off the CPU left it in: system call and reason.
    pub fn open_row(&self, thread: ThreadId) -> Option<(i16, Reason, WaitNumber)> {
        let State::Off(row) = self.tracks.get(thread.get()?)?.state else { return None };
        Some((self.rows.syscall[row], Reason::from_code(self.rows.reason[row]), self.rows.wait[row]))
    }

    /// What a thread that is off the CPU waits for, where that is known later than that it waits.
    pub fn set_wait(&mut self, thread: ThreadId, wait: WaitNumber) {
        if let Some(&mut Track { state: State::Off(row), .. }) = self.track(thread) {
            self.rows.wait[row] = wait;
        }
    }

    /// The next thread begins.
    pub fn begin(&mut self, thread: ThreadId, time_ns: u64, beginning: ThreadStart) {
        debug_assert_eq!(thread.get(), Some(self.tracks.len()));
        let has_record = matches!(beginning, ThreadStart::Created(_));
        let track = Track { state: State::Unknown, since: time_ns, ran_until: time_ns, cpu: NO_CPU, has_record };
        self.tracks.push(track);
        self.weights.begin();
        if self.is_paused() {
            self.set(thread, State::Paused, time_ns);
        } else if let ThreadStart::Created(creator) = beginning {
            let why = SwitchOut {
                reason: Reason::Starting,
                syscall: -1,
                wait: WaitNumber::NONE,
                stack: StackNumber::NONE,
                owner: None,
                same_call: false,
            };
            let row = self.open(thread, time_ns, why);
            if creator.thread.is_some() {
                self.rows.waker[row] = creator.thread;
                self.rows.waker_kind[row] = WakerKind::Thread.code();
            }
            self.rows.waker_stack[row] = creator.stack;
        }
    }

    /// The thread leaves the CPU.
    pub fn switch_out(&mut self, thread: ThreadId, time_ns: u64, why: SwitchOut, cpu: u16) {
        let Some(track) = self.track(thread) else { return };
        track.has_record = true;
        match track.state {
            State::Running | State::Unknown => {
                track.cpu = cpu;
                self.close_running(thread, time_ns, why.stack);
            }
            State::Off(row) => self.close_doubtful(row, time_ns),
            State::Paused | State::Ended => return,
        }
        self.open(thread, time_ns, why);
    }

    /// The thread comes back to a CPU.
    pub fn switch_in(&mut self, thread: ThreadId, time_ns: u64, how: SwitchIn) {
        let Some(track) = self.track(thread) else { return };
        track.has_record = true;
        let (since, ran_until) = (track.since, track.ran_until);
        match track.state {
            State::Off(row) => self.close(row, time_ns, how),
            State::Unknown => self.add_first(thread, since..time_ns, how),
            State::Running => {
                // It left the CPU unseen, at the latest sign of its running or after it.
                self.repaired += 1;
                self.close_running(thread, ran_until, StackNumber::NONE);
                self.add_doubtful(thread, ran_until, time_ns, how.cpu);
            }
            State::Paused | State::Ended => return,
        }
        self.run(thread, time_ns, how.cpu);
    }

    /// The thread is seen running. Returns the running time since its sample before, `None` outside its recorded life.
    pub fn sample(&mut self, thread: ThreadId, time_ns: u64, cpu: u16) -> Option<u64> {
        self.see_running(thread, time_ns, cpu);
        let track = self.tracks.get_mut(thread.get()?)?;
        if track.state != State::Running {
            return None;
        }
        track.ran_until = time_ns;
        Some(time_ns - track.since)
    }

    /// A record says that the thread is on a CPU.
    pub fn see_running(&mut self, thread: ThreadId, time_ns: u64, cpu: u16) {
        let Some(track) = self.track(thread) else { return };
        track.has_record = true;
        match track.state {
            State::Unknown => {
                track.state = State::Running;
                track.cpu = cpu;
            }
            State::Off(row) => {
                // A new program's first record, in the instant that the thread was first told of, is no repair.
                if self.rows.start_ns[row] != time_ns || self.rows.reason[row] != Reason::Starting.code() {
                    self.close_doubtful(row, time_ns);
                }
                self.rows.cpu[row] = cpu;
                self.run(thread, time_ns, cpu);
            }
            State::Running | State::Paused | State::Ended => {}
        }
    }

    /// A record says that the thread was on a CPU when recording began or was resumed.
    pub fn seen_on_cpu(&mut self, thread: ThreadId, time_ns: u64) {
        if self.track(thread).is_some_and(|track| track.state == State::Unknown) {
            self.see_running(thread, time_ns, NO_CPU);
        }
    }

    /// A record says that the thread was off the CPU already when recording began or was resumed.
    pub fn seen_off_cpu(&mut self, thread: ThreadId, why: SwitchOut) {
        let Some(track) = self.track(thread) else { return };
        track.has_record = true;
        let since = track.since;
        if track.state == State::Unknown {
            self.open(thread, since, why);
        }
    }

    /// The thread's life ends.
    pub fn end(&mut self, thread: ThreadId, time_ns: u64) {
        let Some(track) = self.track(thread) else { return };
        match track.state {
            State::Running | State::Unknown => self.close_running(thread, time_ns, StackNumber::NONE),
            State::Off(row) => self.close_unfinished(row, time_ns),
            State::Paused | State::Ended => {}
        }
        self.set(thread, State::Ended, time_ns);
    }

    /// The collection pauses: open intervals are cut here.
    pub fn pause(&mut self, time_ns: u64) {
        if self.is_paused() {
            return;
        }
        self.paused_since = Some(time_ns);
        for row in 0..self.tracks.len() {
            let thread = ThreadId::new(row);
            if self.tracks[row].state != State::Ended {
                self.cut(thread, time_ns);
                self.set(thread, State::Paused, time_ns);
            }
        }
    }

    /// The collection goes on: SEEDED records will tell how each thread stands.
    pub fn resume(&mut self, time_ns: u64) {
        let Some(start_ns) = self.paused_since.take() else { return };
        self.pauses.push(PauseRow { start_ns, end_ns: time_ns });
        for row in 0..self.tracks.len() {
            if self.tracks[row].state == State::Paused {
                self.set(ThreadId::new(row), State::Unknown, time_ns);
                self.tracks[row].has_record = false;
            }
        }
    }

    /// Closes what is open at the end of an interval of recording.
    fn cut(&mut self, thread: ThreadId, time_ns: u64) {
        let Some(&mut Track { state, since, .. }) = self.track(thread) else { return };
        match state {
            State::Running => self.close_running(thread, time_ns, StackNumber::NONE),
            State::Off(row) => self.close_unfinished(row, time_ns),
            // It has no record: it slept all the time.
            State::Unknown => self.add_doubtful(thread, since, time_ns, NO_CPU),
            State::Paused | State::Ended => {}
        }
    }

    /// Threads without a record since the last pause: they ended in it.
    pub fn silent_since_pause(&self) -> Vec<ThreadId> {
        let silent = |track: &Track| track.state == State::Unknown && !track.has_record && !self.pauses.is_empty();
        let rows = self.tracks.iter().enumerate();
        let after = self.resumed_ns();
        rows.filter(|(_, track)| silent(track) && track.since == after).map(|(row, _)| ThreadId::new(row)).collect()
    }

    /// The silent thread `thread` ended in the last pause. Returns when that began.
    pub fn end_in_pause(&mut self, thread: ThreadId) -> Option<u64> {
        let start_ns = *self.pauses.start_ns.last()?;
        self.set(thread, State::Ended, start_ns);
        Some(start_ns)
    }

    /// The collection ends. Returns the rows in the order of their start, and the pauses.
    pub fn finish(&mut self, time_ns: u64) -> (RawOffCpu, Pauses) {
        for row in 0..self.tracks.len() {
            self.cut(ThreadId::new(row), time_ns);
            self.tracks[row].state = State::Ended;
        }
        if let Some(start_ns) = self.paused_since.take() {
            self.pauses.push(PauseRow { start_ns, end_ns: time_ns });
        }
        let rows = std::mem::take(&mut self.rows).in_order_of(|rows| &rows.start_ns);
        (rows, std::mem::take(&mut self.pauses))
    }

    fn track(&mut self, thread: ThreadId) -> Option<&mut Track> {
        self.tracks.get_mut(thread.get()?)
    }

    fn set(&mut self, thread: ThreadId, state: State, time_ns: u64) {
        if let Some(track) = self.track(thread) {
            track.state = state;
            track.since = time_ns;
            track.ran_until = time_ns;
        }
    }

    fn run(&mut self, thread: ThreadId, time_ns: u64, cpu: u16) {
        if let Some(track) = self.track(thread) {
            *track = Track { state: State::Running, since: time_ns, ran_until: time_ns, cpu, has_record: true };
        }
    }

    fn open(&mut self, thread: ThreadId, start_ns: u64, why: SwitchOut) -> usize {
        let row = self.rows.push(RawOffCpuRow {
            thread,
            start_ns,
            wait_ns: 0,
            runnable_ns: 0,
            cpu: NO_CPU,
            reason: why.reason.code(),
            outcome: Outcome::Unknown.code(),
            syscall: why.syscall,
            wait: why.wait,
            stack: why.stack,
            waker: ThreadId::NONE,
            waker_kind: WakerKind::Unknown.code(),
            waker_stack: StackNumber::NONE,
            owner: why.owner.map_or(ThreadId::NONE, |owner| owner.thread),
            same_call: why.same_call,
        });
        self.set(thread, State::Off(row), start_ns);
        row
    }

    /// Closes a row by the thread's return to a CPU.
    fn close(&mut self, row: usize, time_ns: u64, how: SwitchIn) {
        let start = self.rows.start_ns[row];
        self.rows.cpu[row] = how.cpu;
        if self.rows.reason[row] != Reason::Waiting.code() {
            self.rows.runnable_ns[row] = time_ns - start;
            return;
        }
        let wake = how.wake_ns.filter(|&wake| wake + WAKE_SLACK_NS >= start);
        let ready = wake.map_or(time_ns, |wake| wake.clamp(start, time_ns));
        self.rows.wait_ns[row] = ready - start;
        self.rows.runnable_ns[row] = time_ns - ready;
        self.rows.outcome[row] = how.outcome.code();
        if wake.is_some() {
            self.rows.waker[row] = how.waker;
            self.rows.waker_kind[row] = how.waker_kind.code();
            self.rows.waker_stack[row] = how.waker_stack;
        }
    }

    /// Closes a row whose end was not recorded by the thread's return.
    fn close_unfinished(&mut self, row: usize, time_ns: u64) {
        let off = time_ns - self.rows.start_ns[row];
        if self.rows.reason[row] == Reason::Waiting.code() {
            self.rows.wait_ns[row] = off;
            self.rows.outcome[row] = Outcome::Unfinished.code();
        } else {
            self.rows.runnable_ns[row] = off;
        }
    }

    /// Closes a row whose end was lost: the thread was off the CPU at most until `time_ns`.
    fn close_doubtful(&mut self, row: usize, time_ns: u64) {
        self.repaired += 1;
        self.rows.reason[row] = Reason::Unknown.code();
        self.rows.wait[row] = WaitNumber::NONE;
        self.rows.wait_ns[row] = time_ns - self.rows.start_ns[row];
    }

    /// Adds a whole row whose beginning is unknown.
    fn add_doubtful(&mut self, thread: ThreadId, start_ns: u64, end_ns: u64, cpu: u16) {
        if start_ns == end_ns {
            return;
        }
        self.rows.push(RawOffCpuRow {
            thread,
            start_ns,
            wait_ns: end_ns - start_ns,
            runnable_ns: 0,
            cpu,
            reason: Reason::Unknown.code(),
            outcome: Outcome::Unknown.code(),
            syscall: -1,
            wait: WaitNumber::NONE,
            stack: StackNumber::NONE,
            waker: ThreadId::NONE,
            waker_kind: WakerKind::Unknown.code(),
            waker_stack: StackNumber::NONE,
            owner: ThreadId::NONE,
            same_call: false,
        });
    }

    /// Adds the row of a thread that was off the CPU from before the trace began to tell of it.
    fn add_first(&mut self, thread: ThreadId, span: Range<u64>, how: SwitchIn) {
        let rows = self.rows.len();
        self.add_doubtful(thread, span.start, span.end, how.cpu);
        if let (Some(wake), true) = (how.wake_ns, self.rows.len() > rows) {
            let ready = wake.clamp(span.start, span.end);
            self.rows.wait_ns[rows] = ready - span.start;
            self.rows.runnable_ns[rows] = span.end - ready;
        }
    }

    /// The thread ran until `time_ns`.
    fn close_running(&mut self, thread: ThreadId, time_ns: u64, stack: StackNumber) {
        let Some(&mut Track { since, cpu, .. }) = self.track(thread) else { return };
        self.weights.ran(thread, since..time_ns, cpu, stack);
    }
}
