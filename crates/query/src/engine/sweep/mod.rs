//! One pass over time: how many threads ran and were ready at every instant, and every interval of every thread cut by
//! the utilization class meanwhile.
//!
//! A clock counts the time of each class so far; an interval is cut by class by subtracting the clock's reading at its
//! start from that at its end: O(1) per event, however often the class changed in between. A sweep can begin at any
//! time, since what each thread did then is found by binary search; what it tells of a part of the time is the part of
//! what a sweep of the whole tells. Filters have no part in this: n(t) and c(t) count every thread.
//!
//! It goes slab by slab of a few thousand events, so that what it looks at stays near the CPU, and over each slab three
//! times: the steps of each thread are listed, which depend on no other thread ([`course`]); they are ordered by time,
//! which gives n(t), c(t) and the clock's reading at each; then each thread's are told with these ([`account`]).

mod account;
mod course;
mod swept;

use dwell_work::stop;

use self::account::{ClockSnapshot, IntervalSplitter};
use self::course::{ThreadCursor, ThreadStep};
pub use self::swept::{ConcurrencyStats, OffCpuSplit, SweepInput, Visitor};
use crate::question::windows::Part;

/// An interval off the CPU that is under way when a part of the time begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenInterval {
    /// Its row.
    pub row: usize,
    /// The class then.
    pub class: usize,
    /// The tasks and announced waits that its thread is in then.
    pub context: u32,
}

impl SweepInput<'_> {
    /// The waits, and the times in the run queue without a wait, that began before `part` and go on in it.
    pub fn under_way(&self, part: Part) -> Vec<OpenInterval> {
        let courses: Vec<ThreadCursor> =
            (0..self.trace.threads.tid.len()).map(|thread| ThreadCursor::new(self, part, thread)).collect();
        let running = courses.iter().filter(|course| course.is_running()).count();
        let class = usize::from(self.class_of(running));
        let of = |course: &ThreadCursor| OpenInterval { row: course.row, class, context: course.context };
        courses.iter().filter(|course| course.goes_on(self.events)).map(of).collect()
    }

    /// Runs over a part of the time and tells `visitor`.
    pub fn sweep<const N: usize>(&self, part: Part, visitor: &mut impl Visitor<N>) -> ConcurrencyStats {
        let mut sweep = Sweep::new(self, part);
        sweep.run(visitor);
        sweep.levels
    }
}

/// Steps of a slab, about: what is noted of them fits into a CPU's own cache. Tests have small ones, to cross their
/// limits often.
const SLAB: usize = if cfg!(test) { 48 } else { 1 << 14 };
/// Steps of a slab for each thread, at least: each slab looks at all of them.
const SLAB_PER_THREAD: usize = if cfg!(test) { 1 } else { 4 };
/// How much longer than the slab before the next one may be: behind an idle time there may be many events.
const GROWTH: u64 = 4;

struct Sweep<'s, 't, const N: usize> {
    swept: &'s SweepInput<'t>,
    part: Part,
    now: u64,
    clock: [u64; N],
    running: usize,
    ready: usize,
    cpus: usize,
    courses: Vec<ThreadCursor>,
    accounts: Vec<IntervalSplitter<N>>,
    levels: ConcurrencyStats,
    slab: Slab<N>,
}

/// The steps between two instants.
#[derive(Default)]
struct Slab<const N: usize> {
    /// Thread by thread.
    steps: Vec<ThreadStep>,
    /// Where each thread's steps end.
    ends: Vec<usize>,
    /// The steps' order in time, and their numbers.
    order: Vec<u128>,
    /// Of each step.
    moments: Vec<ClockSnapshot<N>>,
    /// What the threads did when it began.
    before: Vec<ThreadCursor>,
}

impl<'s, 't, const N: usize> Sweep<'s, 't, N> {
    fn new(swept: &'s SweepInput<'t>, part: Part) -> Self {
        let count = swept.trace.threads.tid.len();
        let courses: Vec<ThreadCursor> = (0..count).map(|thread| ThreadCursor::new(swept, part, thread)).collect();
        Self {
            swept,
            part,
            now: part.from,
            clock: [0; N],
            running: courses.iter().filter(|course| course.is_running()).count(),
            ready: courses.iter().filter(|course| course.is_ready()).count(),
            cpus: swept.trace.manifest.cpus.usable.max(1) as usize,
            accounts: courses.iter().map(IntervalSplitter::new).collect(),
            courses,
            levels: ConcurrencyStats {
                histogram_cpu: vec![0; count + 1],
                histogram_concurrency: vec![0; count + 1],
                ..ConcurrencyStats::default()
            },
            slab: Slab::default(),
        }
    }

    fn run(&mut self, visitor: &mut impl Visitor<N>) {
        let most = (SLAB * 5 / N).max(SLAB_PER_THREAD * self.courses.len());
        let (mut from, mut length) = (self.part.from, self.first_length(most));
        loop {
            stop::check();
            let until = from.saturating_add(length).min(self.part.to);
            // No more can be cut off an instant.
            if !self.list(until, if length > 1 { 4 * most } else { usize::MAX }) {
                length = (length / 8).max(1);
                continue;
            }
            self.order(visitor);
            self.emit(visitor);
            if until == self.part.to {
                break;
            }
            let steps = self.slab.steps.len().max(1);
            let wanted = (u128::from(length) * most as u128 / steps as u128).max(1);
            (from, length) = (until, u64::try_from(wanted).unwrap_or(u64::MAX).min(length.saturating_mul(GROWTH)));
        }
        self.advance(self.part.to, visitor);
        let last = ClockSnapshot { clock: self.clock, running: 0 };
        for (thread, account) in self.accounts.iter_mut().enumerate() {
            account.stop(self.swept, thread, &last, visitor);
        }
        self.levels.misplaced_rows += self.courses.iter().map(|course| course.misplaced).sum::<u64>();
    }

    /// Length of the first slab, ns.
    fn first_length(&self, most: usize) -> u64 {
        let rows: usize = self.courses.iter().map(|course| course.rows_until(self.swept, self.part.to)).sum();
        let length = self.part.to - self.part.from;
        // Leaving the CPU, being woken and running again are a step each.
        let share = u128::from(length) * most as u128 / (3 * rows as u128).max(1);
        u64::try_from(share).unwrap_or(u64::MAX).clamp(1, length.max(1))
    }

    /// Lists the steps of every thread before `until`, at the end of the part all that belong to it; false when there are
    /// more than `most`: then it is as if nothing had been done.
    fn list(&mut self, until: u64, most: usize) -> bool {
        let (part, slab) = (self.part, &mut self.slab);
        let is_inside = |time: u64| if until == part.to { part.has(time) } else { time < until };
        slab.before.clone_from(&self.courses);
        slab.steps.clear();
        slab.ends.clear();
        for (thread, course) in self.courses.iter_mut().enumerate() {
            course.go((self.swept, part), thread, is_inside, &mut slab.steps);
            slab.ends.push(slab.steps.len());
            if slab.steps.len() > most {
                self.courses.clone_from(&slab.before);
                return false;
            }
        }
        true
    }

    /// Goes over the steps in order of time.
    fn order(&mut self, visitor: &mut impl Visitor<N>) {
        let mut slab = std::mem::take(&mut self.slab);
        slab.order.clear();
        let place = |(number, step): (usize, &ThreadStep)| step.place() << 32 | number as u128;
        slab.order.extend(slab.steps.iter().enumerate().map(place));
        slab.order.sort_unstable();
        slab.moments.resize(slab.steps.len(), ClockSnapshot { clock: [0; N], running: 0 });
        for place in &slab.order {
            let number = *place as u32 as usize;
            let step = &slab.steps[number];
            self.advance(step.time, visitor);
            self.running = self.running.wrapping_add_signed(isize::from(step.running));
            self.ready = self.ready.wrapping_add_signed(isize::from(step.ready));
            slab.moments[number] = ClockSnapshot { clock: self.clock, running: self.running as u32 };
        }
        self.slab = slab;
    }

    /// Moves the clock to `time`.
    fn advance(&mut self, time: u64, visitor: &mut impl Visitor<N>) {
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
        let denied = self.ready.min(self.cpus).saturating_sub(self.running) as u64;
        self.levels.denied_ns = self.levels.denied_ns.saturating_add(denied.saturating_mul(ns));
        visitor.level(self.now, time, self.running, self.ready);
        self.now = time;
    }

    /// Tells the steps of each thread.
    fn emit(&mut self, visitor: &mut impl Visitor<N>) {
        let mut begin = 0;
        for (thread, end) in self.slab.ends.iter().enumerate() {
            let account = &mut self.accounts[thread];
            let steps = self.slab.steps[begin..*end].iter().zip(&self.slab.moments[begin..*end]);
            steps.for_each(|(step, moment)| account.step(self.swept, (thread, step.what), moment, visitor));
            begin = *end;
        }
    }
}
