//! One pass over time: how many threads ran and were ready at every instant, and every interval of every thread cut by
//! the utilization class meanwhile.
//!
//! Each thread has at most one event ahead: the end of the wait or of the run-queue time that it is in. A heap of
//! those, merged with the off-CPU rows (sorted by start), the samples (sorted) and the threads' starts and ends, gives
//! all changes of n(t) and c(t) in order of time. A clock counts the time of each class so far; an interval is cut by
//! class by subtracting the clock's reading at its start from that at its end: O(1) per event, however often the class
//! changed in between. Filters have no part in this: n(t) and c(t) count every thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use dwell_store::Trace;

use crate::query::{Query, Thresholds};
use crate::windows::Windows;

/// Nanoseconds by utilization class: idle, poor, ok, ideal, over.
pub type ByClass = [u64; 5];

/// The classes' ids, in the order of [`ByClass`].
pub const CLASSES: [&str; 5] = ["idle", "poor", "ok", "ideal", "over"];

/// One off-CPU row, cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffCpuSplit {
    /// Blocked part.
    pub blocked: ByClass,
    /// Part in the run queue.
    pub runnable: ByClass,
    /// Class in which it began, when it began inside the windows: there it is counted.
    pub began: Option<usize>,
}

/// What a sweep tells. All are about the time inside the windows.
pub trait Visitor {
    /// Off-CPU row `row` is over.
    fn off_cpu(&mut self, row: usize, split: &OffCpuSplit) {
        let _ = (row, split);
    }
    /// Sample `row` stands for `running` time of its thread: all since the thread's sample before. Estimates are left
    /// out.
    fn sample(&mut self, row: usize, running: &ByClass) {
        let _ = (row, running);
    }
    /// The sweep is over; of the running time of thread `thread`, no sample stands for `unsampled`.
    fn thread(&mut self, thread: usize, unsampled: &ByClass) {
        let _ = (thread, unsampled);
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

/// Runs over the trace inside `windows` and tells `visitor`.
pub fn sweep(trace: &Trace, query: &Query, windows: &Windows, visitor: &mut impl Visitor) -> Levels {
    Sweep::new(trace, query, windows).run(visitor)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not yet started, or ended.
    Absent,
    Running,
    Blocked,
    Runnable,
}

/// Where one thread is.
#[derive(Clone, Copy, Debug)]
struct ThreadState {
    phase: Phase,
    /// Class in which the row at hand began, when it is counted.
    began: Option<u8>,
    /// Off-CPU row that it is in.
    row: usize,
    /// When it becomes runnable, or runs: the heap's valid entry of this thread.
    pending: u64,
    /// The clock when the phase began.
    since: ByClass,
    /// Blocked part of the row at hand.
    blocked: ByClass,
    /// Running time so far, the phase at hand left out.
    ran: ByClass,
    /// Running time for which samples stand.
    sampled: ByClass,
}

struct Sweep<'t> {
    trace: &'t Trace,
    windows: &'t Windows,
    /// Index of the window that `now` is in or before.
    window: usize,
    now: u64,
    class_of: Vec<u8>,
    clock: ByClass,
    running: usize,
    ready: usize,
    cpus: usize,
    threads: Vec<ThreadState>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    levels: Levels,
}

/// Where the next event comes from.
#[derive(Clone, Copy)]
enum Source {
    Pending,
    Start,
    Sample,
    Row,
    End,
}

impl<'t> Sweep<'t> {
    fn new(trace: &'t Trace, query: &Query, windows: &'t Windows) -> Self {
        let count = trace.threads.tid.len();
        let target = target_concurrency(trace, query);
        let absent = ThreadState {
            phase: Phase::Absent,
            began: None,
            row: 0,
            pending: 0,
            since: [0; 5],
            blocked: [0; 5],
            ran: [0; 5],
            sampled: [0; 5],
        };
        Self {
            trace,
            windows,
            window: 0,
            now: 0,
            class_of: (0..=count).map(|running| class_of(running, target, &query.thresholds) as u8).collect(),
            clock: [0; 5],
            running: 0,
            ready: 0,
            cpus: trace.manifest.cpus.usable.max(1) as usize,
            threads: vec![absent; count],
            heap: BinaryHeap::with_capacity(count),
            levels: Levels {
                histogram_cpu: vec![0; count + 1],
                histogram_concurrency: vec![0; count + 1],
                ..Levels::default()
            },
        }
    }

    fn run(mut self, visitor: &mut impl Visitor) -> Levels {
        let trace = self.trace;
        let mut starts = order_by(&trace.threads.start_ns).into_iter().peekable();
        let mut ends = order_by(&trace.threads.end_ns).into_iter().peekable();
        let (mut row, mut sample) = (0, 0);
        // One past every time: streams that are over.
        const OVER: u64 = u64::MAX;
        loop {
            let time_of = |next: Option<&usize>, times: &[u64]| next.map_or(OVER, |&thread| times[thread]);
            let row_time = trace.off_cpu.start_ns.get(row).copied().unwrap_or(OVER);
            let start_time = time_of(starts.peek(), &trace.threads.start_ns);
            let end_time = time_of(ends.peek(), &trace.threads.end_ns);
            let sample_time = trace.samples.time_ns.get(sample).copied().unwrap_or(OVER);
            let pending_time = self.heap.peek().map_or(OVER, |Reverse((time, _))| *time);
            // At the same time, the first of these comes first.
            let (mut time, mut source) = (pending_time, Source::Pending);
            let others = [
                (start_time, Source::Start),
                (sample_time, Source::Sample),
                (row_time, Source::Row),
                (end_time, Source::End),
            ];
            for (other, of) in others {
                if other < time {
                    (time, source) = (other, of);
                }
            }
            if time == OVER {
                break;
            }
            self.advance(time, visitor);
            match source {
                Source::Pending => self.pending(visitor),
                Source::Start => starts.next().into_iter().for_each(|thread| self.start(thread)),
                Source::End => ends.next().into_iter().for_each(|thread| self.end(thread, visitor)),
                Source::Sample => {
                    self.sample(sample, visitor);
                    sample += 1;
                }
                Source::Row => {
                    self.row(row, visitor);
                    row += 1;
                }
            }
        }
        self.advance(self.windows.parts().last().map_or(0, |(_, to)| *to), visitor);
        self.finish(visitor)
    }

    fn finish(mut self, visitor: &mut impl Visitor) -> Levels {
        for thread in 0..self.threads.len() {
            self.end(thread, visitor);
        }
        for (thread, state) in self.threads.iter().enumerate() {
            visitor.thread(thread, &minus(&state.ran, &state.sampled));
        }
        for histogram in [&mut self.levels.histogram_cpu, &mut self.levels.histogram_concurrency] {
            let used = histogram.iter().rposition(|ns| *ns > 0).map_or(0, |last| last + 1);
            histogram.truncate(used);
        }
        self.levels
    }

    /// Moves the clock to `time`.
    fn advance(&mut self, time: u64, visitor: &mut impl Visitor) {
        while self.now < time {
            let Some(&(from, to)) = self.windows.parts().get(self.window) else {
                self.now = time;
                return;
            };
            let (begin, end) = (self.now.max(from), time.min(to));
            if begin < end {
                self.pass(begin, end, visitor);
            }
            if to > time {
                self.now = time;
                return;
            }
            self.window += 1;
            self.now = self.now.max(to);
        }
    }

    fn pass(&mut self, from: u64, to: u64, visitor: &mut impl Visitor) {
        let ns = to - from;
        self.clock[usize::from(self.class_of[self.running])] += ns;
        self.levels.histogram_cpu[self.running] += ns;
        self.levels.histogram_concurrency[self.ready] += ns;
        if self.ready > self.cpus {
            self.levels.oversubscribed_ns = self.levels.oversubscribed_ns.saturating_add(self.running as u64 * ns);
        }
        visitor.level(from, to, self.running, self.ready);
    }

    /// Whether what happens now is counted.
    fn is_inside(&self) -> bool {
        // A row at the very end of the last window is one of zero length at the end of the collection.
        self.windows.parts().get(self.window).is_some_and(|(from, _)| *from <= self.now)
            || (self.window == self.windows.parts().len() && self.windows.contains(self.now))
    }

    fn start(&mut self, thread: usize) {
        if self.trace.threads.end_ns[thread] < self.trace.threads.start_ns[thread] {
            return;
        }
        self.threads[thread].phase = Phase::Running;
        self.threads[thread].since = self.clock;
        self.running += 1;
        self.ready += 1;
    }

    fn end(&mut self, thread: usize, visitor: &mut impl Visitor) {
        if self.threads[thread].phase != Phase::Absent {
            self.close_row(thread, visitor);
            self.leave_cpu(thread);
            self.ready -= 1;
            self.threads[thread].phase = Phase::Absent;
        }
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
        visitor.off_cpu(state.row, &OffCpuSplit { blocked, runnable, began });
    }

    fn row(&mut self, row: usize, visitor: &mut impl Visitor) {
        let Some(thread) = self.trace.off_cpu.thread[row].get() else { return };
        match self.threads[thread].phase {
            Phase::Running => {}
            Phase::Absent => {
                self.levels.misplaced_rows += 1;
                return;
            }
            Phase::Blocked | Phase::Runnable => {
                self.levels.misplaced_rows += 1;
                self.close_row(thread, visitor);
            }
        }
        self.leave_cpu(thread);
        let class = self.class_of[self.running];
        let began = self.is_inside().then_some(class);
        let (wait_ns, runnable_ns) = (self.trace.off_cpu.wait_ns[row], self.trace.off_cpu.runnable_ns[row]);
        let blocked = wait_ns > 0;
        let pending = self.now.saturating_add(if blocked { wait_ns } else { runnable_ns });
        let state = &mut self.threads[thread];
        state.row = row;
        state.began = began;
        state.blocked = [0; 5];
        state.pending = pending;
        state.phase = if blocked { Phase::Blocked } else { Phase::Runnable };
        self.ready -= usize::from(blocked);
        if blocked || runnable_ns > 0 {
            self.heap.push(Reverse((pending, thread as u32)));
        } else {
            self.close_row(thread, visitor);
        }
    }

    /// The next wake-up, or the next return to a CPU.
    fn pending(&mut self, visitor: &mut impl Visitor) {
        let Some(mut top) = self.heap.peek_mut() else { return };
        let Reverse((time, thread)) = *top;
        let thread = thread as usize;
        let state = &mut self.threads[thread];
        let stale = state.pending != time;
        let runnable_ns = self.trace.off_cpu.runnable_ns[state.row];
        match state.phase {
            Phase::Blocked if !stale => {
                state.blocked = minus(&self.clock, &state.since);
                state.since = self.clock;
                state.phase = Phase::Runnable;
                self.ready += 1;
                state.pending = time.saturating_add(runnable_ns);
                if runnable_ns > 0 {
                    top.0.0 = state.pending;
                } else {
                    PeekMut::pop(top);
                    self.close_row(thread, visitor);
                }
            }
            Phase::Runnable if !stale => {
                PeekMut::pop(top);
                self.close_row(thread, visitor);
            }
            _ => {
                PeekMut::pop(top);
            }
        }
    }

    fn sample(&mut self, row: usize, visitor: &mut impl Visitor) {
        // An estimate stands for running time all over its thread's life, not for that since the sample before.
        let estimated = self.trace.samples.estimated[row];
        let Some(thread) = self.trace.samples.thread[row].get().filter(|_| !estimated) else { return };
        let state = &mut self.threads[thread];
        let mut ran = state.ran;
        if state.phase == Phase::Running {
            add(&mut ran, &minus(&self.clock, &state.since));
        }
        let running = minus(&ran, &state.sampled);
        state.sampled = ran;
        visitor.sample(row, &running);
    }
}

/// Row numbers in order of `times`.
fn order_by(times: &[u64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|&row| times[row]);
    order
}

fn minus(a: &ByClass, b: &ByClass) -> ByClass {
    std::array::from_fn(|class| a[class] - b[class])
}

/// Adds `b` to `a`.
pub fn add(a: &mut ByClass, b: &ByClass) {
    for (a, b) in a.iter_mut().zip(b) {
        *a = a.saturating_add(*b);
    }
}
