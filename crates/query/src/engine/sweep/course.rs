//! What a thread does next: its start, the end of the wait or of the run-queue time that it is in, its next sample, its
//! next interval off the CPU, its end. No other thread has a part in that.

use std::ops::Range;

use dwell_store::{Events, OUTSIDE, OffCpuTimes};

use crate::engine::sweep::swept::SweepInput;
use crate::question::windows::Part;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not yet started, or ended.
    Absent,
    Running,
    Blocked,
    Runnable,
}

/// What happens to a thread; at the same time, the first of these comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub enum StepKind {
    /// It is ready, and waits for a CPU.
    Woken,
    /// It runs again.
    Ran,
    Start,
    Sample,
    /// A task or an announced wait begins or ends.
    Edge,
    /// It leaves the CPU to wait.
    Blocks,
    /// It leaves the CPU, and is ready.
    Queues,
    /// It leaves the CPU for no time.
    Passes,
    End,
}

/// One thing that happens to a thread.
#[derive(Clone, Copy, Debug)]
pub struct ThreadStep {
    pub time: u64,
    pub what: StepKind,
    /// Change of n(t).
    pub running: i8,
    /// Change of c(t).
    pub ready: i8,
}

impl ThreadStep {
    /// Order of steps: what n(t) is when an interval begins depends on it. Threads that leave the CPU at one instant leave
    /// it in the order of their numbers, behind those that come and before those that end.
    pub fn place(&self) -> u128 {
        let rank = u128::from(self.what >= StepKind::Blocks) + u128::from(self.what == StepKind::End);
        u128::from(self.time) << 2 | rank
    }
}

/// Where a thread is.
#[derive(Clone, Copy, Debug)]
pub struct ThreadCursor {
    pub phase: Phase,
    /// When its last step was.
    now: u64,
    /// Tasks and announced waits that it is in when the sweep begins.
    pub context: u32,
    /// Row that it is in when the sweep begins.
    pub row: usize,
    /// Rows that begin while it is off the CPU or not alive.
    pub misplaced: u64,
    /// When it becomes runnable, or runs.
    pending: u64,
    /// Time in the run queue behind the wait that it is in.
    runnable_ns: u64,
    /// Rows to come, and the first of them.
    pub rows: (usize, usize),
    ahead: OffCpuTimes,
    /// Samples to come, and when the first of them is.
    pub samples: (usize, usize),
    sample_ns: u64,
    /// Stretches of the nesting to come, and when the first of them begins.
    pub edges: (usize, usize),
    edge_ns: u64,
}

/// Pending event of a thread that has ended: nothing comes.
const ENDED: u64 = u64::MAX;

impl ThreadCursor {
    /// What a thread does when a sweep of `part` begins.
    pub fn new(swept: &SweepInput<'_>, part: Part, thread: usize) -> Self {
        let (trace, events, from) = (swept.trace, swept.events, part.from);
        let (start, end) = (trace.threads.start_ns[thread], trace.threads.end_ns[thread]);
        let (rows, samples) = (events.off_cpu.of(thread), events.samples.of(thread));
        let off_cpu = &events.off_cpu;
        let first = |time: u64| off_cpu.partition_point(rows.clone(), |start| start < time);
        let alive_from = first(start.max(from));
        let (stretches, nesting) = (swept.nesting.of_thread(thread), swept.nesting);
        let next_edge = stretches.start + nesting.start_ns[stretches.clone()].partition_point(|edge| *edge < from);
        let next_sample = events.samples.partition_point(samples.clone(), |time| time <= from);
        let mut course = Self {
            phase: Phase::Absent,
            now: from,
            context: if next_edge > stretches.start { nesting.context[next_edge - 1] } else { OUTSIDE },
            row: 0,
            misplaced: 0,
            pending: 0,
            runnable_ns: 0,
            rows: (alive_from, rows.end),
            ahead: OffCpuTimes::default(),
            samples: (next_sample, samples.end),
            sample_ns: 0,
            edges: (next_edge, stretches.end),
            edge_ns: 0,
        };
        if end < start || end < from {
            course.misplaced = misplaced(swept, part, first(from)..rows.end);
            course.rows.0 = rows.end;
            course.pending = ENDED;
            return course;
        }
        course.look_ahead(swept);
        if start >= from {
            course.misplaced = misplaced(swept, part, first(from)..alive_from);
            return course;
        }
        course.phase = Phase::Running;
        let last = (alive_from > rows.start).then(|| alive_from - 1);
        let last = last.map(|last| (last, off_cpu.times(last)));
        if let Some((row, times)) = last.filter(|(_, times)| (start..=end).contains(&times.start_ns)) {
            course.row = row;
            let woken = times.start_ns.saturating_add(times.wait_ns);
            let ran = woken.saturating_add(times.runnable_ns);
            course.runnable_ns = times.runnable_ns;
            if times.wait_ns > 0 && woken >= from {
                (course.phase, course.pending) = (Phase::Blocked, woken);
            } else if times.runnable_ns > 0 && ran >= from {
                (course.phase, course.pending) = (Phase::Runnable, ran);
            }
        }
        course
    }

    /// Whether the interval that it is in when the sweep begins has a part of what it is for still ahead: a wait until its
    /// end, an interval without a wait until the thread runs.
    pub fn goes_on(&self, events: &Events) -> bool {
        let is_its_kind = match self.phase {
            Phase::Blocked => true,
            Phase::Runnable => events.off_cpu.wait_ns(self.row) == 0,
            Phase::Absent | Phase::Running => false,
        };
        is_its_kind && self.pending > self.now
    }

    /// Whether it is on a CPU.
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Whether it is on a CPU or in a run queue.
    pub fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Running | Phase::Runnable)
    }

    /// How many rows begin before `until`.
    pub fn rows_until(&self, swept: &SweepInput<'_>, until: u64) -> usize {
        swept.events.off_cpu.partition_point(self.rows.0..self.rows.1, |start| start < until) - self.rows.0
    }

    /// Reads the times of the first row, sample and stretch to come.
    fn look_ahead(&mut self, swept: &SweepInput<'_>) {
        self.look_at_row(swept);
        self.look_at_sample(swept);
        self.look_at_edge(swept);
    }

    fn look_at_row(&mut self, swept: &SweepInput<'_>) {
        if self.rows.0 < self.rows.1 {
            self.ahead = swept.events.off_cpu.times(self.rows.0);
        }
    }

    fn look_at_sample(&mut self, swept: &SweepInput<'_>) {
        if self.samples.0 < self.samples.1 {
            self.sample_ns = swept.events.samples.time_ns(self.samples.0);
        }
    }

    fn look_at_edge(&mut self, swept: &SweepInput<'_>) {
        if self.edges.0 < self.edges.1 {
            self.edge_ns = swept.nesting.start_ns[self.edges.0];
        }
    }

    /// When the next step is, and which one.
    fn next(&self, swept: &SweepInput<'_>, thread: usize) -> Option<(u64, StepKind)> {
        if self.phase == Phase::Absent {
            return (self.pending != ENDED).then(|| (swept.trace.threads.start_ns[thread], StepKind::Start));
        }
        let (mut time, mut what) = (swept.trace.threads.end_ns[thread], StepKind::End);
        if self.rows.0 < self.rows.1 && self.ahead.start_ns <= time {
            what = match self.ahead {
                OffCpuTimes { wait_ns: 1.., .. } => StepKind::Blocks,
                OffCpuTimes { runnable_ns: 1.., .. } => StepKind::Queues,
                _ => StepKind::Passes,
            };
            time = self.ahead.start_ns;
        }
        if self.edges.0 < self.edges.1 && self.edge_ns <= time {
            (time, what) = (self.edge_ns, StepKind::Edge);
        }
        if self.samples.0 < self.samples.1 && self.sample_ns <= time {
            (time, what) = (self.sample_ns, StepKind::Sample);
        }
        if matches!(self.phase, Phase::Blocked | Phase::Runnable) && self.pending <= time {
            let is_woken = self.phase == Phase::Blocked && self.runnable_ns > 0;
            (time, what) = (self.pending, if is_woken { StepKind::Woken } else { StepKind::Ran });
        }
        Some((time, what))
    }

    /// Goes on in a sweep of `part` as far as `is_inside` holds for the time of what comes next.
    pub fn go(
        &mut self,
        (swept, part): (&SweepInput<'_>, Part),
        thread: usize,
        is_inside: impl Fn(u64) -> bool,
        steps: &mut Vec<ThreadStep>,
    ) {
        while let Some((time, what)) = self.next(swept, thread).filter(|(time, _)| is_inside(*time)) {
            // Samples from before its start, in a damaged trace, come right behind it.
            let time = time.max(self.now);
            self.now = time;
            let before = self.phase;
            self.step(swept, time, what);
            let change = |of: fn(Phase) -> bool| i8::from(of(self.phase)) - i8::from(of(before));
            let running = change(|phase| phase == Phase::Running);
            let ready = change(|phase| matches!(phase, Phase::Running | Phase::Runnable));
            steps.push(ThreadStep { time, what, running, ready });
            if what == StepKind::End {
                self.misplaced += misplaced(swept, part, self.rows.0..self.rows.1);
            }
        }
    }

    fn step(&mut self, swept: &SweepInput<'_>, time: u64, what: StepKind) {
        match what {
            StepKind::Woken => {
                self.phase = Phase::Runnable;
                self.pending = self.pending.saturating_add(self.runnable_ns);
            }
            StepKind::Ran | StepKind::Start => self.phase = Phase::Running,
            StepKind::Sample => {
                self.samples.0 += 1;
                self.look_at_sample(swept);
            }
            StepKind::Edge => {
                self.edges.0 += 1;
                self.look_at_edge(swept);
            }
            StepKind::Blocks | StepKind::Queues | StepKind::Passes => self.leave(swept, time, what),
            StepKind::End => (self.phase, self.pending) = (Phase::Absent, ENDED),
        }
    }

    fn leave(&mut self, swept: &SweepInput<'_>, time: u64, what: StepKind) {
        // What begins while it is off the CPU ends what it is in.
        self.misplaced += u64::from(self.phase != Phase::Running);
        let OffCpuTimes { wait_ns, runnable_ns, .. } = self.ahead;
        (self.phase, self.pending) = match what {
            StepKind::Blocks => (Phase::Blocked, time.saturating_add(wait_ns)),
            StepKind::Queues => (Phase::Runnable, time.saturating_add(runnable_ns)),
            _ => (Phase::Running, 0),
        };
        self.runnable_ns = runnable_ns;
        self.rows.0 += 1;
        self.look_at_row(swept);
    }
}

/// How many of these rows of a thread that is not alive begin in a part.
fn misplaced(swept: &SweepInput<'_>, part: Part, rows: Range<usize>) -> u64 {
    let begin = rows.start;
    (swept.events.off_cpu.partition_point(rows, |start| part.has(start)) - begin) as u64
}
