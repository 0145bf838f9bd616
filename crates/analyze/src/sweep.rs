//! One pass over time: how many threads ran and were ready at every instant, and every interval of every thread cut by
//! the utilization class meanwhile.
//!
//! Each thread has one event ahead: its start, the end of the wait or of the run-queue time that it is in, its next
//! sample, its next interval off the CPU, its end. A heap of those gives all changes of n(t) and c(t) in order of time.
//! A clock counts the time of each class so far; an interval is cut by class by subtracting the clock's reading at its
//! start from that at its end: O(1) per event, however often the class changed in between. A sweep can begin at any
//! time, since what each thread did then is found by binary search; what it tells of a part of the time is the part of
//! what a sweep of the whole tells. Filters have no part in this: n(t) and c(t) count every thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

use dwell_store::{Events, Nesting, OUTSIDE, Trace};

use crate::query::{Query, Thresholds};
use crate::stop;
use crate::windows::Part;

/// Nanoseconds by utilization class: idle, poor, ok, ideal, over.
pub type ByClass = [u64; 5];

/// The classes' ids, in the order of [`ByClass`].
pub const CLASSES: [&str; 5] = ["idle", "poor", "ok", "ideal", "over"];

/// The part of one off-CPU row inside the swept time and in one context, cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffCpuSplit {
    /// Tasks and announced waits that it was in: a number of [`Nesting`].
    pub context: u32,
    /// Blocked part.
    pub blocked: ByClass,
    /// Part in the run queue.
    pub runnable: ByClass,
    /// Class in which it began, when it began inside: there it is counted.
    pub began: Option<usize>,
}

/// What a sweep tells. All are about the time inside.
pub trait Visitor {
    /// Off-CPU row `row` is over, or its context or the swept time is.
    fn off_cpu(&mut self, row: usize, split: &OffCpuSplit) {
        let _ = (row, split);
    }
    /// `thread` ran; `sample` is the sample that stands for it: the next one, or the thread's last. None: the thread
    /// has no samples, or none in `context`, which it was in.
    fn ran(&mut self, thread: usize, sample: Option<usize>, context: u32, running: &ByClass) {
        let _ = (thread, sample, context, running);
    }
    /// From `from` to `to`, `running` threads ran and `ready` ran or were runnable.
    fn level(&mut self, from: u64, to: u64, running: usize, ready: usize) {
        let _ = (from, to, running, ready);
    }
}

/// What holds for the program as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels {
    /// Time at each number of running threads.
    pub histogram_cpu: Vec<u64>,
    /// Time at each number of running or runnable threads.
    pub histogram_concurrency: Vec<u64>,
    /// CPU time during which more threads were ready than there are CPUs.
    pub oversubscribed_ns: u64,
    /// Rows that begin while their thread is off the CPU or not alive: the trace is damaged there.
    pub misplaced_rows: u64,
}

impl Levels {
    /// Time average of a histogram.
    pub fn average(histogram: &[u64]) -> f64 {
        let time: u64 = histogram.iter().sum();
        let weighted: f64 = histogram.iter().enumerate().map(|(count, ns)| count as f64 * *ns as f64).sum();
        if time == 0 { 0.0 } else { weighted / time as f64 }
    }

    /// Adds those of another part of the time.
    pub fn add(&mut self, other: &Self) {
        add_histogram(&mut self.histogram_cpu, &other.histogram_cpu);
        add_histogram(&mut self.histogram_concurrency, &other.histogram_concurrency);
        self.oversubscribed_ns = self.oversubscribed_ns.saturating_add(other.oversubscribed_ns);
        self.misplaced_rows = self.misplaced_rows.saturating_add(other.misplaced_rows);
    }
}

fn add_histogram(ours: &mut Vec<u64>, theirs: &[u64]) {
    let used = theirs.iter().rposition(|ns| *ns > 0).map_or(0, |last| last + 1);
    if ours.len() < used {
        ours.resize(used, 0);
    }
    for (ours, theirs) in ours.iter_mut().zip(theirs) {
        *ours = ours.saturating_add(*theirs);
    }
}

/// T: how many threads the program could use at once.
pub fn target_concurrency(trace: &Trace, query: &Query) -> u32 {
    let manifest = &trace.manifest;
    query.target_concurrency.or(manifest.target_concurrency).unwrap_or(manifest.cpus.usable).max(1)
}

/// The class of `running` threads at target concurrency `target`.
pub fn class_of(running: usize, target: u32, limits: &Thresholds) -> usize {
    let share = running as f64 / f64::from(target);
    match running {
        0 => 0,
        _ if share <= limits.poor => 1,
        _ if share <= limits.ok => 2,
        _ if share <= limits.ideal => 3,
        _ => 4,
    }
}

/// What is swept, and by which classes.
#[derive(Clone)]
pub struct Swept<'t> {
    trace: &'t Trace,
    events: &'t Events,
    nesting: &'t Nesting,
    class_of: Vec<u8>,
}

impl<'t> Swept<'t> {
    /// The events of `trace`, with the classes of `query`.
    pub fn new(trace: &'t Trace, query: &Query) -> Self {
        let events = trace.events();
        let target = target_concurrency(trace, query);
        let class = |running| class_of(running, target, &query.thresholds) as u8;
        let nesting = trace.nesting();
        Self { trace, events, nesting, class_of: (0..=trace.threads.tid.len()).map(class).collect() }
    }

    /// Runs over a part of the time and tells `visitor`.
    pub fn sweep(&self, part: Part, visitor: &mut impl Visitor) -> Levels {
        let mut sweep = Sweep::new(self, part);
        sweep.run(visitor);
        sweep.levels
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not yet started, or ended.
    Absent,
    Running,
    Blocked,
    Runnable,
}

/// What comes next; at the same time, the first of these comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Pending,
    Start,
    Sample,
    Edge,
    Row,
    End,
}

/// Where one thread is.
#[derive(Clone, Copy, Debug)]
struct ThreadState {
    phase: Phase,
    /// Class in which the row at hand began, when it is counted.
    began: Option<u8>,
    /// Off-CPU row that it is in.
    row: usize,
    /// When it becomes runnable, or runs.
    pending: u64,
    /// Rows to come.
    next_row: usize,
    end_row: usize,
    /// Samples to come.
    next_sample: usize,
    end_sample: usize,
    /// Tasks and announced waits that it is in, and its stretches of [`Nesting`] to come.
    context: u32,
    next_edge: usize,
    end_edge: usize,
    /// The clock when the phase began.
    since: ByClass,
    /// Blocked part of the row at hand.
    blocked: ByClass,
    /// Running time since the last sample, the phase at hand left out.
    ran: ByClass,
}

type Event = Reverse<(u64, u8, u32)>;

struct Sweep<'s, 't> {
    swept: &'s Swept<'t>,
    part: Part,
    now: u64,
    clock: ByClass,
    running: usize,
    ready: usize,
    cpus: usize,
    threads: Vec<ThreadState>,
    heap: BinaryHeap<Event>,
    levels: Levels,
}

impl<'s, 't> Sweep<'s, 't> {
    fn new(swept: &'s Swept<'t>, part: Part) -> Self {
        let count = swept.trace.threads.tid.len();
        let mut sweep = Self {
            swept,
            part,
            now: part.from,
            clock: [0; 5],
            running: 0,
            ready: 0,
            cpus: swept.trace.manifest.cpus.usable.max(1) as usize,
            threads: Vec::with_capacity(count),
            heap: BinaryHeap::with_capacity(count),
            levels: Levels {
                histogram_cpu: vec![0; count + 1],
                histogram_concurrency: vec![0; count + 1],
                ..Levels::default()
            },
        };
        for thread in 0..count {
            let state = sweep.state_at_start(thread);
            sweep.running += usize::from(state.phase == Phase::Running);
            sweep.ready += usize::from(matches!(state.phase, Phase::Running | Phase::Runnable));
            sweep.threads.push(state);
            sweep.heap.extend(sweep.next_event(thread));
        }
        sweep
    }

    /// What a thread does when the sweep begins.
    fn state_at_start(&mut self, thread: usize) -> ThreadState {
        let (trace, events, from) = (self.swept.trace, self.swept.events, self.part.from);
        let (start, end) = (trace.threads.start_ns[thread], trace.threads.end_ns[thread]);
        let (rows, samples) = (events.off_cpu.of(thread), events.samples.of(thread));
        let off_cpu = &events.off_cpu;
        let first = |time: u64| off_cpu.partition_point(rows.clone(), |start| start < time);
        let alive_from = first(start.max(from));
        let (stretches, nesting) = (self.swept.nesting.of_thread(thread), self.swept.nesting);
        let next_edge = stretches.start + nesting.start_ns[stretches.clone()].partition_point(|edge| *edge < from);
        let mut state = ThreadState {
            phase: Phase::Absent,
            began: None,
            row: 0,
            pending: 0,
            next_row: alive_from,
            end_row: rows.end,
            next_sample: events.samples.partition_point(samples.clone(), |time| time <= from),
            end_sample: samples.end,
            context: if next_edge > stretches.start { nesting.context[next_edge - 1] } else { OUTSIDE },
            next_edge,
            end_edge: stretches.end,
            since: [0; 5],
            blocked: [0; 5],
            ran: [0; 5],
        };
        if end < start || end < from {
            self.misplaced(first(from)..rows.end);
            state.next_row = state.end_row;
            state.pending = ENDED;
            return state;
        }
        if start >= from {
            self.misplaced(first(from)..alive_from);
            return state;
        }
        state.phase = Phase::Running;
        let last = (alive_from > rows.start).then(|| alive_from - 1);
        let last = last.filter(|last| (start..=end).contains(&off_cpu.start_ns(*last)));
        if let Some(last) = last {
            state.row = last;
            let (woken, ran) = (events.off_cpu.woken_ns(state.row), events.off_cpu.end_ns(state.row));
            if events.off_cpu.wait_ns(state.row) > 0 && woken >= from {
                (state.phase, state.pending) = (Phase::Blocked, woken);
            } else if events.off_cpu.runnable_ns(state.row) > 0 && ran >= from {
                (state.phase, state.pending) = (Phase::Runnable, ran);
            }
        }
        state
    }

    /// Rows of a thread that is not alive.
    fn misplaced(&mut self, rows: Range<usize>) {
        let begin = rows.start;
        let behind = self.swept.events.off_cpu.partition_point(rows, |start| self.part.has(start));
        self.levels.misplaced_rows += (behind - begin) as u64;
    }

    fn next_event(&self, thread: usize) -> Option<Event> {
        let (state, events) = (&self.threads[thread], self.swept.events);
        let threads = &self.swept.trace.threads;
        let event = |time: u64, source: Source| Reverse((time, source as u8, thread as u32));
        if state.phase == Phase::Absent {
            let to_come = state.pending != ENDED;
            return to_come.then(|| event(threads.start_ns[thread], Source::Start));
        }
        let (mut time, mut source) = (threads.end_ns[thread], Source::End);
        if state.next_row < state.end_row && events.off_cpu.start_ns(state.next_row) <= time {
            (time, source) = (events.off_cpu.start_ns(state.next_row), Source::Row);
        }
        if state.next_edge < state.end_edge && self.swept.nesting.start_ns[state.next_edge] <= time {
            (time, source) = (self.swept.nesting.start_ns[state.next_edge], Source::Edge);
        }
        if state.next_sample < state.end_sample && events.samples.time_ns(state.next_sample) <= time {
            (time, source) = (events.samples.time_ns(state.next_sample), Source::Sample);
        }
        if matches!(state.phase, Phase::Blocked | Phase::Runnable) && state.pending <= time {
            (time, source) = (state.pending, Source::Pending);
        }
        Some(event(time, source))
    }

    fn run(&mut self, visitor: &mut impl Visitor) {
        let mut events = 0u32;
        while let Some(&Reverse((time, source, thread))) = self.heap.peek() {
            if !self.part.has(time) {
                break;
            }
            events = events.wrapping_add(1);
            if events.is_multiple_of(CHECKED) {
                stop::check();
            }
            self.advance(time, visitor);
            let thread = thread as usize;
            match source {
                0 => self.pending(thread, visitor),
                1 => self.start(thread),
                2 => self.sample(thread, visitor),
                3 => self.edge(thread, visitor),
                4 => self.row(thread, visitor),
                _ => self.end(thread, visitor),
            }
            let next = self.next_event(thread);
            if let Some(mut top) = self.heap.peek_mut() {
                match next {
                    Some(next) => *top = next,
                    None => drop(PeekMut::pop(top)),
                }
            }
        }
        self.advance(self.part.to, visitor);
        for thread in 0..self.threads.len() {
            self.stop(thread, visitor);
        }
    }

    /// Moves the clock to `time`.
    fn advance(&mut self, time: u64, visitor: &mut impl Visitor) {
        let ns = time.saturating_sub(self.now);
        if ns == 0 {
            return;
        }
        self.clock[usize::from(self.swept.class_of[self.running])] += ns;
        self.levels.histogram_cpu[self.running] += ns;
        self.levels.histogram_concurrency[self.ready] += ns;
        if self.ready > self.cpus {
            self.levels.oversubscribed_ns =
                self.levels.oversubscribed_ns.saturating_add((self.running as u64).saturating_mul(ns));
        }
        visitor.level(self.now, time, self.running, self.ready);
        self.now = time;
    }

    fn start(&mut self, thread: usize) {
        let state = &mut self.threads[thread];
        state.phase = Phase::Running;
        state.since = self.clock;
        self.running += 1;
        self.ready += 1;
    }

    fn end(&mut self, thread: usize, visitor: &mut impl Visitor) {
        self.stop(thread, visitor);
        let state = &mut self.threads[thread];
        (state.phase, state.pending) = (Phase::Absent, ENDED);
        let rest = state.next_row..state.end_row;
        self.misplaced(rest);
    }

    /// Tells what is known of a thread that ends, or at the end of the sweep.
    fn stop(&mut self, thread: usize, visitor: &mut impl Visitor) {
        if self.threads[thread].phase == Phase::Absent {
            return;
        }
        self.close_row(thread, visitor);
        self.leave_cpu(thread);
        self.ready -= 1;
        self.tell_ran(thread, visitor);
        self.threads[thread].phase = Phase::Absent;
    }

    /// Tells what the thread ran since its last sample, or since its context began.
    fn tell_ran(&mut self, thread: usize, visitor: &mut impl Visitor) {
        let sample = self.stand_in(thread);
        let state = &mut self.threads[thread];
        let ran = std::mem::take(&mut state.ran);
        visitor.ran(thread, sample, state.context, &ran);
    }

    /// The sample that stands for what the thread runs now: its next one in the same context, else the last one.
    fn stand_in(&self, thread: usize) -> Option<usize> {
        let (state, nesting) = (&self.threads[thread], self.swept.nesting);
        let next = Some(state.next_sample).filter(|next| *next < state.end_sample);
        let stretches = nesting.of_thread(thread);
        let Some(current) = state.next_edge.checked_sub(1).filter(|current| stretches.contains(current)) else {
            // What runs after the last sample is of that.
            return next.or_else(|| self.swept.events.samples.of(thread).last());
        };
        let edge = || nesting.start_ns[state.next_edge];
        let is_within =
            |next: &usize| state.next_edge == state.end_edge || self.swept.events.samples.time_ns(*next) <= edge();
        next.filter(is_within)
            .or_else(|| Some(nesting.sample[current] as usize).filter(|row| *row != u32::MAX as usize))
    }

    /// The thread begins or ends a task or an announced wait: what it did until now was in the context before.
    fn edge(&mut self, thread: usize, visitor: &mut impl Visitor) {
        let clock = self.clock;
        let state = &mut self.threads[thread];
        let passed = minus(&clock, &state.since);
        state.since = clock;
        let began = state.began.take().map(usize::from);
        let (row, context) = (state.row, state.context);
        let blocked = std::mem::take(&mut state.blocked);
        match state.phase {
            Phase::Running => add(&mut state.ran, &passed),
            Phase::Blocked => {
                visitor.off_cpu(row, &OffCpuSplit { context, blocked: passed, runnable: [0; 5], began });
            }
            Phase::Runnable => visitor.off_cpu(row, &OffCpuSplit { context, blocked, runnable: passed, began }),
            Phase::Absent => {}
        }
        self.tell_ran(thread, visitor);
        let state = &mut self.threads[thread];
        state.context = self.swept.nesting.context[state.next_edge];
        state.next_edge += 1;
    }

    /// The thread at hand leaves the CPU, and stays ready.
    fn leave_cpu(&mut self, thread: usize) {
        let state = &mut self.threads[thread];
        add(&mut state.ran, &minus(&self.clock, &state.since));
        state.since = self.clock;
        self.running -= 1;
    }

    /// Ends the row that the thread is in, if any: it runs then.
    fn close_row(&mut self, thread: usize, visitor: &mut impl Visitor) {
        let state = &mut self.threads[thread];
        if !matches!(state.phase, Phase::Blocked | Phase::Runnable) {
            return;
        }
        let passed = minus(&self.clock, &state.since);
        let was_blocked = state.phase == Phase::Blocked;
        let (blocked, runnable) = if was_blocked { (passed, [0; 5]) } else { (state.blocked, passed) };
        let began = state.began.map(usize::from);
        state.phase = Phase::Running;
        state.since = self.clock;
        self.running += 1;
        self.ready += usize::from(was_blocked);
        let context = state.context;
        visitor.off_cpu(state.row, &OffCpuSplit { context, blocked, runnable, began });
    }

    fn row(&mut self, thread: usize, visitor: &mut impl Visitor) {
        if self.threads[thread].phase != Phase::Running {
            self.levels.misplaced_rows += 1;
            self.close_row(thread, visitor);
        }
        self.leave_cpu(thread);
        let class = self.swept.class_of[self.running];
        let off_cpu = &self.swept.events.off_cpu;
        let state = &mut self.threads[thread];
        let row = state.next_row;
        let (wait_ns, runnable_ns) = (off_cpu.wait_ns(row), off_cpu.runnable_ns(row));
        let blocked = wait_ns > 0;
        state.next_row += 1;
        state.row = row;
        state.began = Some(class);
        state.blocked = [0; 5];
        state.pending = self.now.saturating_add(if blocked { wait_ns } else { runnable_ns });
        state.phase = if blocked { Phase::Blocked } else { Phase::Runnable };
        self.ready -= usize::from(blocked);
        if !blocked && runnable_ns == 0 {
            self.close_row(thread, visitor);
        }
    }

    /// The next wake-up, or the next return to a CPU.
    fn pending(&mut self, thread: usize, visitor: &mut impl Visitor) {
        let state = &mut self.threads[thread];
        let runnable_ns = self.swept.events.off_cpu.runnable_ns(state.row);
        if state.phase == Phase::Blocked && runnable_ns > 0 {
            state.blocked = minus(&self.clock, &state.since);
            state.since = self.clock;
            state.phase = Phase::Runnable;
            self.ready += 1;
            state.pending = state.pending.saturating_add(runnable_ns);
        } else {
            self.close_row(thread, visitor);
        }
    }

    fn sample(&mut self, thread: usize, visitor: &mut impl Visitor) {
        let state = &mut self.threads[thread];
        if state.phase == Phase::Running {
            add(&mut state.ran, &minus(&self.clock, &state.since));
            state.since = self.clock;
        }
        let ran = std::mem::take(&mut state.ran);
        let sample = state.next_sample;
        state.next_sample += 1;
        visitor.ran(thread, Some(sample), state.context, &ran);
    }
}

/// Events after which it is asked whether anybody still waits for the sweep.
const CHECKED: u32 = 4096;

/// Pending event of a thread that has ended: nothing comes.
const ENDED: u64 = u64::MAX;

fn minus(a: &ByClass, b: &ByClass) -> ByClass {
    std::array::from_fn(|class| a[class] - b[class])
}

/// Adds `b` to `a`.
pub fn add(a: &mut ByClass, b: &ByClass) {
    for (a, b) in a.iter_mut().zip(b) {
        *a = a.saturating_add(*b);
    }
}
