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
#[cfg(test)]
mod tests;

use dwell_store::{Events, Nesting, Trace};

use self::account::Account;
use self::course::{Course, Step};

use crate::query::{Query, Thresholds};
use crate::stop;
use crate::windows::Part;

/// Nanoseconds by utilization class: idle, poor, ok, ideal, over.
pub type ByClass = [u64; 5];

/// The classes' ids, in the order of [`ByClass`].
pub const CLASSES: [&str; 5] = ["idle", "poor", "ok", "ideal", "over"];

/// The part of one off-CPU row inside the swept time and in one context, cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffCpuSplit<const N: usize = 5> {
    /// Tasks and announced waits that it was in: a number of [`Nesting`].
    pub context: u32,
    /// Blocked part.
    pub blocked: [u64; N],
    /// Part in the run queue.
    pub runnable: [u64; N],
    /// Class in which it began, when it began inside: there it is counted.
    pub began: Option<usize>,
}

/// What a sweep by `N` classes tells. All are about the time inside.
pub trait Visitor<const N: usize = 5> {
    /// Off-CPU row `row` is over, or its context or the swept time is.
    fn off_cpu(&mut self, row: usize, split: &OffCpuSplit<N>) {
        let _ = (row, split);
    }
    /// `thread` ran; `sample` is the sample that stands for it: the next one, or the thread's last. None: the thread
    /// has no samples, or none in `context`, which it was in.
    fn ran(&mut self, thread: usize, sample: Option<usize>, context: u32, running: &[u64; N]) {
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

    /// The events of `trace`, with a class for each of these numbers of running threads, from 1 on; 0 for all others.
    pub fn by_running(trace: &'t Trace, counts: &[usize]) -> Self {
        let class = |running| counts.iter().position(|count| *count == running).map_or(0, |class| class as u8 + 1);
        let class_of = (0..=trace.threads.tid.len()).map(class).collect();
        Self { trace, events: trace.events(), nesting: trace.nesting(), class_of }
    }

    /// The class of a number of running threads.
    pub fn class_of(&self, running: usize) -> u8 {
        self.class_of.get(running).copied().unwrap_or(0)
    }

    /// Runs over a part of the time and tells `visitor`.
    pub fn sweep<const N: usize>(&self, part: Part, visitor: &mut impl Visitor<N>) -> Levels {
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

/// How the program stood right behind a step.
#[derive(Clone, Copy)]
struct Moment<const N: usize> {
    /// Time of each class until then.
    clock: [u64; N],
    running: u32,
}

struct Sweep<'s, 't, const N: usize> {
    swept: &'s Swept<'t>,
    part: Part,
    now: u64,
    clock: [u64; N],
    running: usize,
    ready: usize,
    cpus: usize,
    courses: Vec<Course>,
    accounts: Vec<Account<N>>,
    levels: Levels,
    slab: Slab<N>,
}

/// The steps between two instants.
#[derive(Default)]
struct Slab<const N: usize> {
    /// Thread by thread.
    steps: Vec<Step>,
    /// Where each thread's steps end.
    ends: Vec<usize>,
    /// The steps' order in time, and their numbers.
    order: Vec<u128>,
    /// Of each step.
    moments: Vec<Moment<N>>,
    /// What the threads did when it began.
    before: Vec<Course>,
}

impl<'s, 't, const N: usize> Sweep<'s, 't, N> {
    fn new(swept: &'s Swept<'t>, part: Part) -> Self {
        let count = swept.trace.threads.tid.len();
        let courses: Vec<Course> = (0..count).map(|thread| Course::new(swept, part, thread)).collect();
        Self {
            swept,
            part,
            now: part.from,
            clock: [0; N],
            running: courses.iter().filter(|course| course.is_running()).count(),
            ready: courses.iter().filter(|course| course.is_ready()).count(),
            cpus: swept.trace.manifest.cpus.usable.max(1) as usize,
            accounts: courses.iter().map(Account::new).collect(),
            courses,
            levels: Levels {
                histogram_cpu: vec![0; count + 1],
                histogram_concurrency: vec![0; count + 1],
                ..Levels::default()
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
            self.tell(visitor);
            if until == self.part.to {
                break;
            }
            let steps = self.slab.steps.len().max(1);
            let wanted = (u128::from(length) * most as u128 / steps as u128).max(1);
            (from, length) = (until, u64::try_from(wanted).unwrap_or(u64::MAX).min(length.saturating_mul(GROWTH)));
        }
        self.advance(self.part.to, visitor);
        let last = Moment { clock: self.clock, running: 0 };
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
        let place = |(number, step): (usize, &Step)| step.place() << 32 | number as u128;
        slab.order.extend(slab.steps.iter().enumerate().map(place));
        slab.order.sort_unstable();
        slab.moments.resize(slab.steps.len(), Moment { clock: [0; N], running: 0 });
        for place in &slab.order {
            let number = *place as u32 as usize;
            let step = &slab.steps[number];
            self.advance(step.time, visitor);
            self.running = self.running.wrapping_add_signed(isize::from(step.running));
            self.ready = self.ready.wrapping_add_signed(isize::from(step.ready));
            slab.moments[number] = Moment { clock: self.clock, running: self.running as u32 };
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
        visitor.level(self.now, time, self.running, self.ready);
        self.now = time;
    }

    /// Tells the steps of each thread.
    fn tell(&mut self, visitor: &mut impl Visitor<N>) {
        let mut begin = 0;
        for (thread, end) in self.slab.ends.iter().enumerate() {
            let account = &mut self.accounts[thread];
            let steps = self.slab.steps[begin..*end].iter().zip(&self.slab.moments[begin..*end]);
            steps.for_each(|(step, moment)| account.step(self.swept, (thread, step.what), moment, visitor));
            begin = *end;
        }
    }
}

fn minus<const N: usize>(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
    std::array::from_fn(|class| a[class] - b[class])
}

/// Adds `b` to `a`.
pub fn add<const N: usize>(a: &mut [u64; N], b: &[u64; N]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a = a.saturating_add(*b);
    }
}
