//! The walk: explains every wait by what the thread that ended it, or held what was waited for, did meanwhile; a wait of that
//! thread in turn; down to what nobody's wait explains. The parts of a wait add up to it, to the nanosecond.
//!
//! A *window* is a part of a thread's time that others ask for. Its *cells* are the thread's rows: the run queue behind the row
//! before, the run, and the wait of the row. Rows are taken latest end first, and a window asks only for what came before its end:
//! so all that is asked of a cell has come before it is explained, and it is explained once, whoever asks. A window names
//! only the first and last of its whole cells; only what lies across its edges is walked at once. So the work is in proportion to
//! the rows, however many ask (two steps a row), but for locks that are handed on through a queue: a step for each hand-over
//! that a wait sees.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dwell_model::{ObjectType, Outcome, StackId, WakerKind};
use dwell_store::{Trace, WordMap};
use dwell_work::stop;

use crate::stacks::object::object_type;
use crate::study::explain::chains::{Chains, Idleness, NodeId, PATH, WAITS};
use crate::study::explain::classes::Classes;
use crate::study::explain::cpu_runs::CpuRuns;
use crate::study::explain::found::Found;
use crate::study::explain::names::Names;
use crate::study::explain::terms::{Cause, CauseKind, Link, NOTHING, RoleId, WaitClass};
use crate::study::intervals::Activity;
use crate::study::thread_index::{Bounds, Piece, ThreadIndex};

/// Who asks, and how many waits ask through it.
type Askers = Vec<(NodeId, u64)>;

/// Steps after which it is asked whether anybody still waits for the answer.
const CHECKED: u64 = 4096;

/// What is asked of a thread where the walk is.
#[derive(Default)]
struct Asked {
    /// Who asks for the cells at hand.
    active: Askers,
    /// Rows behind whose cells one does not ask any more, the latest first.
    until: BinaryHeap<(usize, NodeId, u64)>,
}

/// How many threads in a row wait at one instant, each because of the next, and one of them: who meets that one again is in a
/// circle (R. P. Brent, 1980).
#[derive(Clone, Copy)]
struct Hops {
    count: u32,
    seen: usize,
}

impl Hops {
    const NONE: Self = Self { count: 0, seen: usize::MAX };

    /// With another thread.
    fn and(self, thread: usize) -> Self {
        let count = self.count + 1;
        Self { count, seen: if count.is_power_of_two() { thread } else { self.seen } }
    }

    fn is_circle(self, thread: usize) -> bool {
        self.seen == thread
    }
}

/// A part of a wait that is to be explained.
struct Window {
    thread: usize,
    row: usize,
    from: u64,
    to: u64,
    askers: Askers,
    hops: Hops,
}

/// The walk over a trace.
pub struct Walk<'a, 'f, 't> {
    trace: &'t Trace,
    index: ThreadIndex<'t>,
    names: &'a mut Names<'f, 't>,
    classes: &'a Classes<'a, 't>,
    cpus: &'a CpuRuns,
    chains: Chains,
    found: Found,
    asked: Vec<Asked>,
    /// What is asked of cells that the walk has not reached: by last row, who and the first row.
    asks: WordMap<usize, Vec<(NodeId, u64, usize)>>,
    windows: Vec<Window>,
}

impl<'a, 'f, 't> Walk<'a, 'f, 't> {
    /// A walk that has asked nothing yet.
    pub fn new(
        trace: &'t Trace,
        names: &'a mut Names<'f, 't>,
        classes: &'a Classes<'a, 't>,
        cpus: &'a CpuRuns,
    ) -> Self {
        let asked = (0..trace.threads.tid.len()).map(|_| Asked::default()).collect();
        Self {
            trace,
            index: ThreadIndex::new(trace),
            names,
            classes,
            cpus,
            chains: Chains::new(),
            found: Found::default(),
            asked,
            asks: WordMap::default(),
            windows: Vec::new(),
        }
    }

    /// Asks what `thread` did from `from` to `to`, for the program's path. Before [`Self::walk`].
    pub fn ask_for_path(&mut self, thread: usize, from: u64, to: u64) {
        self.window(thread, (from, to), vec![(PATH, 1)], Hops::NONE);
        self.empty();
    }

    /// Explains the parts of each wait that `seeds` gives for its thread, row, start and end, and what they need. Tells the
    /// class of every wait.
    pub fn walk(
        mut self,
        mut seeds: impl FnMut(usize, usize, (u64, u64), WaitClass) -> Vec<(u64, u64)>,
    ) -> (Chains, Found) {
        let rows = &self.trace.events().off_cpu;
        let mut next: BinaryHeap<(u64, Reverse<usize>, usize)> = BinaryHeap::new();
        let last = |thread: usize| rows.of(thread).next_back();
        for thread in 0..self.asked.len() {
            next.extend(last(thread).map(|row| (self.bounds(thread, row).woken, Reverse(thread), row)));
        }
        while let Some((_, Reverse(thread), row)) = next.pop() {
            self.step();
            self.cell(thread, row, &mut seeds);
            if row > rows.of(thread).start {
                next.push((self.bounds(thread, row - 1).woken, Reverse(thread), row - 1));
            }
        }
        (self.chains, self.found)
    }

    fn step(&mut self) {
        self.found.steps += 1;
        if self.found.steps.is_multiple_of(CHECKED) {
            stop::check();
        }
    }

    fn bounds(&self, thread: usize, row: usize) -> Bounds {
        self.index.bounds(thread, row)
    }

    /// When the cell of a row begins: when the thread was woken before, or born.
    fn begin(&self, thread: usize, row: usize) -> u64 {
        let first = self.trace.events().off_cpu.of(thread).start;
        if row == first { self.trace.threads.start_ns[thread] } else { self.bounds(thread, row - 1).woken }
    }

    /// Explains the cell of a row, and its wait when it holds somebody up.
    fn cell(
        &mut self,
        thread: usize,
        row: usize,
        seeds: &mut impl FnMut(usize, usize, (u64, u64), WaitClass) -> Vec<(u64, u64)>,
    ) {
        for (node, weight, first) in self.asks.remove(&row).unwrap_or_default() {
            add(&mut self.asked[thread].active, node, weight);
            self.asked[thread].until.push((first, node, weight));
        }
        let bounds = self.bounds(thread, row);
        let askers = self.asked[thread].active.clone();
        if !askers.is_empty() {
            self.before_wait(thread, row, self.begin(thread, row), &askers);
            self.wait(Window { thread, row, from: bounds.start, to: bounds.woken, askers, hops: Hops::NONE });
            self.empty();
        }
        if bounds.woken > bounds.start {
            let class = self.classes.of(thread, row);
            for (from, to) in seeds(thread, row, (bounds.start, bounds.woken), class) {
                let link = self.link(thread, row);
                let node = self.chains.below(WAITS, link, Idleness::Busy);
                self.windows.push(Window { thread, row, from, to, askers: vec![(node, 1)], hops: Hops::NONE });
                self.empty();
            }
        }
        let asked = &mut self.asked[thread];
        while let Some((_, node, weight)) = asked.until.peek().copied().filter(|(first, ..)| *first >= row) {
            asked.until.pop();
            take(&mut asked.active, node, weight);
        }
    }

    /// What a thread did in the cell of a row before its wait, from `from` on.
    fn before_wait(&mut self, thread: usize, row: usize, from: u64, askers: &Askers) {
        let bounds = self.bounds(thread, row);
        let first = self.trace.events().off_cpu.of(thread).start;
        if row == first {
            self.running(thread, from.max(self.trace.threads.start_ns[thread]), bounds.start, askers);
            return;
        }
        let before = self.bounds(thread, row - 1);
        self.running(thread, before.ran.max(from), bounds.start, askers);
        self.run_queue(thread, row - 1, (before.woken.max(from), before.ran), askers);
    }

    /// Asks what a thread did from `from` to `to`.
    fn window(&mut self, thread: usize, (from, to): (u64, u64), askers: Askers, hops: Hops) {
        self.step();
        let threads = &self.trace.threads;
        let (born, end) = (threads.start_ns[thread], threads.end_ns[thread].max(threads.start_ns[thread]));
        let mut time = to;
        if time > end {
            self.book_here(&askers, (CauseKind::Ended, thread), (end.max(from), time));
            time = end.max(from);
        }
        if time > from && time > born {
            time = self.window_in_life(thread, (from.max(born), time), &askers, hops);
        }
        if time <= from {
            return;
        }
        // Before its birth its creator was busy with making it.
        match threads.parent[thread].get().filter(|parent| *parent != thread && *parent < threads.tid.len()) {
            Some(parent) if !hops.is_circle(parent) => self.window(parent, (from, time), askers, hops.and(parent)),
            _ => self.book_here(&askers, (CauseKind::Unborn, thread), (from, time)),
        }
    }

    /// The same within the thread's life. Returns its begin, where that is not before the window's.
    fn window_in_life(&mut self, thread: usize, (from, to): (u64, u64), askers: &Askers, hops: Hops) -> u64 {
        let rows = &self.trace.events().off_cpu;
        let all = rows.of(thread);
        let behind = rows.partition_point(all.clone(), |start| start < to);
        if behind == all.start {
            self.running(thread, from, to, askers);
            return from;
        }
        let mut row = behind - 1;
        let bounds = self.bounds(thread, row);
        self.running(thread, bounds.ran.max(from), to, askers);
        self.run_queue(thread, row, (bounds.woken.max(from), bounds.ran.min(to)), askers);
        if bounds.woken >= to {
            // The window ends within the wait of this row.
            if hops.is_circle(thread) {
                self.book_here(askers, (CauseKind::Circle, thread), (from, to));
                return from;
            }
            let (begin, end) = (bounds.start.max(from), to);
            let askers_of = askers.clone();
            self.wait(Window { thread, row, from: begin, to: end, askers: askers_of, hops: hops.and(thread) });
            self.before_wait(thread, row, from, askers);
            if row == all.start || self.begin(thread, row) <= from {
                return from;
            }
            row -= 1;
        } else if bounds.woken <= from {
            return from;
        }
        // From here on the window ends where a row's wait does.
        let first = rows.partition_point(all.start..row + 1, |start| start < from);
        let first = if first <= row && self.begin(thread, first) < from { first + 1 } else { first };
        if first <= row {
            self.asks.entry(row).or_default().extend(askers.iter().map(|(node, weight)| (*node, *weight, first)));
            if first == all.start {
                return from;
            }
            row = first - 1;
        }
        let bounds = self.bounds(thread, row);
        if bounds.woken > from {
            let (begin, end) = (bounds.start.max(from), bounds.woken);
            let askers_of = askers.clone();
            self.wait(Window { thread, row, from: begin, to: end, askers: askers_of, hops: Hops::NONE });
            self.before_wait(thread, row, from, askers);
        }
        from
    }

    /// A wait of a thread that others wait for: it goes on with their chains, but for a sleep, which ends them.
    fn wait(&mut self, window: Window) {
        let Window { thread, row, from, to, askers, hops } = window;
        if from >= to {
            return;
        }
        let kind = object_type(self.trace, self.trace.events().off_cpu_key(row).object());
        let askers = match kind {
            ObjectType::Sleep | ObjectType::Timer => askers,
            _ => self.askers_below(thread, row, askers),
        };
        if !askers.is_empty() {
            self.windows.push(Window { thread, row, from, to, askers, hops });
        }
    }

    /// Those who ask, with the wait of `row` in their chains.
    fn askers_below(&mut self, thread: usize, row: usize, askers: Askers) -> Askers {
        let link = self.link(thread, row);
        let idle = self.classes.idleness(thread, row);
        let mut below = Askers::new();
        for (node, weight) in askers {
            add(&mut below, self.chains.below(node, link, idle), weight);
        }
        below
    }

    fn link(&mut self, thread: usize, row: usize) -> Link {
        let key = self.trace.events().off_cpu_key(row);
        let label = self.names.label_of(key.object(), key.syscall());
        if self.classes.is_lock(&key) {
            self.names.note_lock(label);
        }
        Link { role: self.names.role_of(thread), label, place: self.names.place_of(key.stack()) }
    }

    /// Explains the parts of waits that have been asked for.
    fn empty(&mut self) {
        while let Some(window) = self.windows.pop() {
            self.explain(window);
        }
    }

    fn explain(&mut self, Window { thread, row, from, to, askers, hops }: Window) {
        let events = self.trace.events();
        let key = events.off_cpu_key(row);
        let (kind, outcome) = (object_type(self.trace, key.object()), Outcome::from_code(key.outcome()));
        if matches!(kind, ObjectType::Sleep | ObjectType::Timer) {
            return self.book(&askers, (CauseKind::Slept, thread), row, (from, to));
        }
        let threads = self.trace.threads.tid.len();
        let other = |found: Option<usize>| found.filter(|found| *found != thread && *found < threads);
        let given_up = self.classes.of(thread, row) == WaitClass::GivenUp;
        let ended_by = if given_up { row } else { self.classes.ended_by(thread, row) };
        let has_ender = matches!(outcome, Outcome::Woken | Outcome::Interrupted | Outcome::TimedOut);
        let waker = other(events.off_cpu_key(ended_by).waker().get().filter(|_| has_ender));
        let holder = other(key.holder().get());
        let in_vain = waker.is_none_or(|waker| self.asked_again(thread, waker, to));
        if outcome == Outcome::TimedOut && in_vain {
            return self.book(&askers, (CauseKind::TimedOut, thread), row, (from, to));
        }
        if outcome == Outcome::Unfinished && holder.is_none() {
            return self.book(&askers, (CauseKind::Unfinished, thread), row, (from, to));
        }
        if waker.is_none() && holder.is_none() {
            let is_device = matches!(kind, ObjectType::PageFault | ObjectType::BlockIo);
            let by = match WakerKind::from_code(key.waker_kind()) {
                WakerKind::OtherThread => CauseKind::Outside,
                WakerKind::Network => CauseKind::Network,
                WakerKind::Timer => CauseKind::Timer,
                WakerKind::Interrupt if is_device => CauseKind::Device,
                WakerKind::Interrupt => CauseKind::Interrupt,
                _ => CauseKind::Unknown,
            };
            return self.book(&askers, (by, thread), row, (from, to));
        }
        let mut cut = from;
        if let Some(holder) = holder.filter(|holder| Some(*holder) != waker) {
            // The holder had it at first; since when the waker had it, its own rows tell.
            cut = waker.map_or(to, |waker| self.taken_over(row, waker, (from, to)));
            if cut > from {
                self.window(holder, (from, cut), askers.clone(), hops);
            }
        }
        if let Some(waker) = waker.filter(|_| to > cut) {
            self.window(waker, (cut, to), askers, hops);
        }
    }

    /// Whether `other` waited at that instant, and `thread` ended that wait: it asked once more, and only that was answered.
    fn asked_again(&self, thread: usize, other: usize, time: u64) -> bool {
        let (events, rows) = (self.trace.events(), &self.trace.events().off_cpu);
        let all = rows.of(other);
        let behind = rows.partition_point(all.clone(), |start| start < time);
        behind
            .checked_sub(1)
            .filter(|row| *row >= all.start)
            .is_some_and(|row| rows.woken_ns(row) > time && events.off_cpu_key(row).waker().get() == Some(thread))
    }

    /// Since when the waker had what the wait of `row` was for: from its own wait for the same object on; else from its last
    /// row that began within the wait, since what it was in before it did without the lock.
    fn taken_over(&self, row: usize, waker: usize, (from, to): (u64, u64)) -> u64 {
        let (events, rows) = (self.trace.events(), &self.trace.events().off_cpu);
        let (object, began) = (events.off_cpu_key(row).object(), rows.start_ns(row));
        let all = rows.of(waker);
        let behind = rows.partition_point(all.clone(), |start| start < to);
        let first = rows.partition_point(all.clone(), |start| start < began);
        let queued_too = (first.saturating_sub(1).max(all.start)..behind)
            .any(|other| events.off_cpu_key(other).object() == object && rows.woken_ns(other) > began);
        if queued_too {
            return from; // its own wait tells the holder
        }
        let before = first.checked_sub(1).filter(|before| *before >= all.start).map(|before| rows.end_ns(before));
        before.filter(|ran| *ran > began).map_or(from, |ran| ran.clamp(from, to))
    }

    fn running(&mut self, thread: usize, from: u64, to: u64, askers: &Askers) {
        if from >= to {
            return;
        }
        let run = Piece { activity: Activity::Running, from, to, row: None, stack: StackId::NONE };
        let mut pieces: Vec<(u64, u64, StackId)> = Vec::new();
        self.index.split_running(thread, run, &mut |piece| pieces.push((piece.from, piece.to, piece.stack)));
        for (from, to, stack) in pieces {
            let cause = Cause {
                kind: CauseKind::Ran,
                role: self.names.role_of(thread),
                label: NOTHING,
                place: self.names.run_place_of(stack),
                behind: NOTHING,
                no_work: false,
            };
            self.count(askers, cause, stack, (from, to));
        }
    }

    fn run_queue(&mut self, thread: usize, row: usize, (from, to): (u64, u64), askers: &Askers) {
        if from >= to {
            return;
        }
        let ran = self.cpus.most(self.trace.events().off_cpu.cpu(row), (from, to));
        let behind: RoleId = ran.map_or(NOTHING, |thread| self.names.role_of(thread));
        let role = self.names.role_of(thread);
        let cause = Cause { kind: CauseKind::RunQueue, role, label: NOTHING, place: NOTHING, behind, no_work: false };
        self.count(askers, cause, StackId::NONE, (from, to));
    }

    fn book_here(&mut self, askers: &Askers, (kind, thread): (CauseKind, usize), span: (u64, u64)) {
        let role = self.names.role_of(thread);
        let cause = Cause { kind, role, label: NOTHING, place: NOTHING, behind: NOTHING, no_work: false };
        self.count(askers, cause, StackId::NONE, span);
    }

    /// Books a part of the wait of a row.
    fn book(&mut self, askers: &Askers, (kind, thread): (CauseKind, usize), row: usize, span: (u64, u64)) {
        let key = self.trace.events().off_cpu_key(row);
        let label = match kind {
            CauseKind::Slept => NOTHING,
            _ => self.names.label_of(key.object(), key.syscall()),
        };
        let (role, place) = (self.names.role_of(thread), self.names.place_of(key.stack()));
        self.count(askers, Cause { kind, role, label, place, behind: NOTHING, no_work: false }, key.stack(), span);
    }

    fn count(&mut self, askers: &Askers, cause: Cause, stack: StackId, (from, to): (u64, u64)) {
        if from >= to || askers.is_empty() {
            return;
        }
        let mut numbers = [None; 2];
        for (node, weight) in askers {
            let of = self.chains.node(*node);
            let no_work = of.idle.has_no_work(cause.kind);
            let number = *numbers[usize::from(no_work)]
                .get_or_insert_with(|| self.found.number(Cause { no_work, ..cause }, stack));
            let sum = self.found.waits_ns.entry((*node, number)).or_default();
            *sum = sum.saturating_add(weight.saturating_mul(to - from));
            if of.root == WAITS {
                self.found.span(number, (from, to));
            }
        }
    }
}

fn add(askers: &mut Askers, node: NodeId, weight: u64) {
    match askers.iter_mut().find(|(known, _)| *known == node) {
        Some((_, sum)) => *sum += weight,
        None => askers.push((node, weight)),
    }
}

fn take(askers: &mut Askers, node: NodeId, weight: u64) {
    if let Some(at) = askers.iter().position(|(known, _)| *known == node) {
        askers[at].1 -= weight.min(askers[at].1);
        if askers[at].1 == 0 {
            askers.swap_remove(at);
        }
    }
}
