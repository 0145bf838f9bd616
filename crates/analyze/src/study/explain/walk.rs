//! The walk: explains every wait by what the thread that ended it, or held what was waited for, did meanwhile; a wait of that
//! thread in turn; down to what nobody's wait explains. The parts of a wait add up to it, to the nanosecond.
//!
//! A *window* is a part of a thread's time that others ask for. Its *cells* are the thread's rows: the run queue behind the row
//! before, the run, and the wait of the row. Rows are taken latest end first, and a window asks only for what came before its end:
//! so all that is asked of a cell has come before it is explained, and it is explained once, whoever asks. A window names
//! only the first and last of its whole cells; only what lies across its edges is walked at once. So the work is in proportion to
//! the rows, however many ask (two steps a row), but for locks that are handed on through a queue: a step for each hand-over
//! that a wait sees.

mod booking;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use dwell_model::{ObjectType, Outcome};
use dwell_store::Trace;
use dwell_work::stop;

use crate::study::explain::askers::{Asked, Askers, Open};
use crate::study::explain::cause_pieces::CausePieces;
use crate::study::explain::chains::{Chains, Idleness, NodeId};
use crate::study::explain::classes::Classes;
use crate::study::explain::collections::Collections;
use crate::study::explain::cpu_runs::{CpuRuns, LastLooks};
use crate::study::explain::found::FoundCauses;
use crate::study::explain::gil_turns::GilTurns;
use crate::study::explain::hops::Hops;
use crate::study::explain::key_facts::{KeyFacts, KnownKeys};
use crate::study::explain::names::Names;
use crate::study::explain::outside::ended_from_outside;
use crate::study::explain::process_ends::ProcessEnds;
use crate::study::explain::recent_rows::{RecentRows, Row};
use crate::study::explain::terms::{CauseKind, Link, WaitClass, parks_threads};
use crate::study::explain::wait_parts::{Wait, WaitPart};
use crate::study::poll_loops::PollLoops;
use crate::study::thread_index::{Reached, ThreadIndex};

/// Steps after which it is asked whether anybody still waits for the answer.
const CHECKED: u64 = 4096;

/// A part of a wait that is to be explained.
struct Window {
    thread: usize,
    row: usize,
    from: u64,
    to: u64,
    askers: Askers,
    hops: Hops,
}

/// What is known of a trace before walks over it begin; several go on at once.
pub struct KnownFacts<'a, 'f, 't> {
    trace: &'t Trace,
    index: ThreadIndex<'t>,
    names: &'a Names<'f, 't>,
    classes: &'a Classes<'a, 't>,
    cpus: &'a CpuRuns,
    keys: &'a KnownKeys,
    gil_turns: GilTurns,
    poll_loops: PollLoops,
    collections: Collections,
}

impl<'a, 'f, 't> KnownFacts<'a, 'f, 't> {
    /// That of a trace; `keys` have made the names.
    pub fn new(
        trace: &'t Trace,
        names: &'a Names<'f, 't>,
        keys: &'a KnownKeys,
        classes: &'a Classes<'a, 't>,
        cpus: &'a CpuRuns,
    ) -> Self {
        Self {
            trace,
            index: ThreadIndex::new(trace),
            names,
            classes,
            cpus,
            keys,
            gil_turns: GilTurns::new(trace),
            poll_loops: PollLoops::new(trace),
            collections: Collections::default(),
        }
    }

    /// The trace.
    pub fn trace(&self) -> &'t Trace {
        self.trace
    }

    /// The thread that a sleep waited for which looks for something again and again. A worker sleeps in what it was given to do.
    fn ends_poll(&self, thread: usize, row: usize) -> Option<usize> {
        self.poll_loops.ender(row).filter(|_| !self.classes.is_busy_worker(thread))
    }
}

/// A walk over a trace.
pub struct WaitWalk<'a, 'f, 't> {
    known: &'a KnownFacts<'a, 'f, 't>,
    trace: &'t Trace,
    rows: RecentRows<'t>,
    /// Where samples of each thread were looked for last.
    reached: Vec<Reached>,
    process_ends: ProcessEnds<'t>,
    last_looks: LastLooks,
    chains: Chains,
    found: FoundCauses,
    asked: Vec<Asked>,
    open: Open,
    windows: Vec<Window>,
    /// What happened when, where that is to be told.
    pieces: Option<CausePieces>,
}

impl<'a, 'f, 't> WaitWalk<'a, 'f, 't> {
    /// A walk that has asked nothing yet.
    pub fn new(known: &'a KnownFacts<'a, 'f, 't>) -> Self {
        let trace = known.trace;
        let asked = (0..trace.threads.tid.len()).map(|_| Asked::default()).collect();
        Self {
            known,
            trace,
            rows: RecentRows::new(trace),
            reached: vec![Reached::default(); trace.threads.tid.len()],
            process_ends: ProcessEnds::new(trace),
            last_looks: known.cpus.last_looks(),
            chains: Chains::new(),
            found: FoundCauses::default(),
            asked,
            open: 0,
            windows: Vec::new(),
            pieces: None,
        }
    }

    /// The same walk, which tells what happened when.
    pub fn with_pieces(self) -> Self {
        Self { pieces: Some(CausePieces::default()), ..self }
    }

    /// What happened when; nothing without [`Self::with_pieces`].
    pub fn pieces(self) -> CausePieces {
        self.pieces.unwrap_or_default()
    }

    /// Asks what `thread` did in a span of time, for the program's path or for whoever asks from outside. Before [`Self::walk`].
    pub fn ask(&mut self, thread: usize, span: (u64, u64), root: NodeId) {
        self.window(thread, span, Askers::one(root), Hops::NONE);
        self.empty();
    }

    /// Explains the parts of each wait that `choose` gives, and what they need. It is asked about every wait of these bounds.
    /// Of several bounds the latest come first.
    pub fn walk(&mut self, (begin, end): (u64, u64), choose: &mut impl FnMut(&Wait, &mut Vec<WaitPart>)) {
        let mut next: BinaryHeap<(u64, Reverse<usize>, usize)> = BinaryHeap::new();
        for thread in 0..self.asked.len() {
            let first = self.rows.of(thread).start;
            if let Some(row) = self.rows.behind(thread, end).checked_sub(1).filter(|row| *row >= first) {
                next.push((self.rows.row(thread, row).bounds.woken, Reverse(thread), row));
            }
        }
        let mut parts = Vec::new();
        while let Some(mut latest) = next.peek_mut() {
            let (woken, Reverse(thread), row) = *latest;
            if woken <= begin && self.open == 0 {
                break;
            }
            self.step();
            self.cell(thread, row, choose, &mut parts);
            if row > self.rows.of(thread).start {
                *latest = (self.rows.row(thread, row - 1).bounds.woken, Reverse(thread), row - 1);
            } else {
                PeekMut::pop(latest);
            }
        }
    }

    /// What was found.
    pub fn found(self) -> (Chains, FoundCauses) {
        (self.chains, self.found)
    }

    fn step(&mut self) {
        self.found.steps += 1;
        if self.found.steps.is_multiple_of(CHECKED) {
            stop::check();
        }
    }

    /// When the cell of a row begins: when the thread was woken before, or born.
    fn begin(&mut self, thread: usize, row: usize) -> u64 {
        match self.rows.of(thread).start {
            first if first == row => self.trace.threads.start_ns[thread],
            _ => self.rows.row(thread, row - 1).bounds.woken,
        }
    }

    /// Explains the cell of a row, and its wait when it holds somebody up.
    fn cell(
        &mut self,
        thread: usize,
        row: usize,
        choose: &mut impl FnMut(&Wait, &mut Vec<WaitPart>),
        parts: &mut Vec<WaitPart>,
    ) {
        let Row { bounds, key, .. } = self.rows.row(thread, row);
        let askers = self.asked[thread].reach(row);
        if !askers.is_empty() {
            let askers = askers.clone();
            let begin = self.begin(thread, row);
            self.before_wait(thread, row, begin, &askers);
            self.wait(Window { thread, row, from: bounds.start, to: bounds.woken, askers, hops: Hops::NONE });
            self.empty();
        }
        if bounds.woken > bounds.start {
            let class = self.known.classes.of(thread, row, key);
            choose(&Wait { thread, row, key, span: (bounds.start, bounds.woken), class }, parts);
            if !parts.is_empty() {
                let link = self.facts(key).link;
                for WaitPart { from, to, root } in parts.drain(..) {
                    let askers = Askers::one(self.chains.below(root, link, Idleness::Busy));
                    self.windows.push(Window { thread, row, from, to, askers, hops: Hops::NONE });
                    self.empty();
                }
            }
        }
        self.asked[thread].leave(row, &mut self.open);
    }

    fn facts(&self, key: u32) -> KeyFacts {
        self.known.keys.of(key)
    }

    /// What a thread did in the cell of a row before its wait, from `from` on.
    fn before_wait(&mut self, thread: usize, row: usize, from: u64, askers: &Askers) {
        let left = self.rows.row(thread, row).bounds.start;
        if row == self.rows.of(thread).start {
            self.running(thread, from.max(self.trace.threads.start_ns[thread]), left, askers);
            return;
        }
        let before = self.rows.row(thread, row - 1);
        self.running(thread, before.bounds.ran.max(from), left, askers);
        self.run_queue(thread, before, (before.bounds.woken.max(from), before.bounds.ran), askers);
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
        let all = self.rows.of(thread);
        let behind = self.rows.behind(thread, to);
        if behind == all.start {
            self.running(thread, from, to, askers);
            return from;
        }
        let mut row = behind - 1;
        let last = self.rows.row(thread, row);
        let bounds = last.bounds;
        self.running(thread, bounds.ran.max(from), to, askers);
        self.run_queue(thread, last, (bounds.woken.max(from), bounds.ran.min(to)), askers);
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
        let first = self.rows.behind(thread, from).min(row + 1);
        let first = if first <= row && self.begin(thread, first) < from { first + 1 } else { first };
        if first <= row {
            self.asked[thread].ask(askers, (first, row), &mut self.open);
            if first == all.start {
                return from;
            }
            row = first - 1;
        }
        let bounds = self.rows.row(thread, row).bounds;
        if bounds.woken > from {
            let (begin, end) = (bounds.start.max(from), bounds.woken);
            let askers_of = askers.clone();
            self.wait(Window { thread, row, from: begin, to: end, askers: askers_of, hops: Hops::NONE });
            self.before_wait(thread, row, from, askers);
        }
        from
    }

    /// A wait of a thread that others wait for: it goes on with their chains, but for a sleep that waits for nobody, which ends them.
    fn wait(&mut self, window: Window) {
        let Window { thread, row, from, to, askers, hops } = window;
        if from >= to {
            return;
        }
        let Row { bounds, key, .. } = self.rows.row(thread, row);
        let (facts, ns) = (self.facts(key), bounds.woken.saturating_sub(bounds.start));
        let askers = match facts.object_type {
            ObjectType::Sleep | ObjectType::Timer if self.known.ends_poll(thread, row).is_none() => askers,
            _ => {
                let idle = self.known.classes.idleness(thread, row, key);
                let mut below = Askers::default();
                for (node, waits) in askers.iter() {
                    let link = self.chains.node(node).link;
                    // Of a pool whose threads take work by turns, one waits for it and has their lock.
                    let is_mate = |link: Link| link.role == facts.link.role && parks_threads(facts.object_type);
                    // Whoever holds a lock has it whatever he waits for, and whatever that one waits for whom he waits for.
                    let is_held = self.chains.any_above(node, |link| self.known.names.is_held(link.label, link.place));
                    // One of several that take connections by turns has the lock while it waits for the next.
                    let accepts = |link: Link| {
                        self.known.names.is_held(link.label, link.place) && self.known.names.accepts(facts.link.label)
                    };
                    let holds = is_held && !link.is_some_and(|link| is_mate(link) || accepts(link));
                    let is_asked =
                        || self.chains.any_above(node, |link| self.known.names.is_question(link.label, link.place));
                    let idle = match link {
                        _ if holds || is_asked() => Idleness::Busy,
                        Some(link) => self.known.classes.idleness_for(link.role, (key, ns), idle),
                        None => idle,
                    };
                    below.add(self.chains.below(node, facts.link, idle), waits);
                }
                below
            }
        };
        if !askers.is_empty() {
            self.windows.push(Window { thread, row, from, to, askers, hops });
        }
    }

    /// Explains the parts of waits that have been asked for.
    fn empty(&mut self) {
        while let Some(window) = self.windows.pop() {
            self.explain(window);
        }
    }

    fn explain(&mut self, Window { thread, row, from, to, askers, hops }: Window) {
        let Row { bounds, key, .. } = self.rows.row(thread, row);
        let facts = self.facts(key);
        let (kind, outcome) = (facts.object_type, facts.outcome);
        if let Some(ender) = self.known.ends_poll(thread, row) {
            self.goes_on((thread, row), (from, to), facts);
            return self.window(ender, (from, to), askers, hops);
        }
        if matches!(kind, ObjectType::Sleep | ObjectType::Timer) {
            // A thread of the runtime that looks after the others did not keep them.
            let is_idle = self.known.classes.of(thread, row, key) == WaitClass::Idle;
            let kind = if is_idle { CauseKind::Timer } else { CauseKind::Slept };
            return self.book(&askers, (kind, thread), row, (from, to));
        }
        if kind == ObjectType::Signal && self.known.classes.of(thread, row, key) == WaitClass::Demand {
            return self.book(&askers, (CauseKind::Stopped, thread), row, (from, to));
        }
        let has_ender = matches!(outcome, Outcome::Woken | Outcome::Interrupted | Outcome::TimedOut);
        let ender = has_ender.then(|| self.ender(thread, row, key)).flatten();
        let of_process = |ender| if kind == ObjectType::ChildProcess { self.process_ends.ender(ender) } else { ender };
        let (mut waker, mut holder) = (ender.map(of_process), facts.holder());
        if kind == ObjectType::Gil && outcome == Outcome::TimedOut {
            // It asks for the GIL each 5 ms, which is no time-out of the program (nor is the JVM's); who ends a later wait had it later.
            holder = holder.or_else(|| self.known.gil_turns.holder(self.trace.events().key(key).object(), thread, to));
            waker = waker.filter(|_| holder.is_none());
        }
        let in_vain = waker.is_none_or(|waker| self.asked_again(thread, waker, bounds.woken));
        let asks_holder = matches!(kind, ObjectType::Gil | ObjectType::JvmMonitor) && holder.is_some();
        if outcome == Outcome::TimedOut && in_vain && !asks_holder {
            let kind = self.kind_of_time_out(thread, row, key);
            return self.book(&askers, (kind, thread), row, (from, to));
        }
        // A signal that ended the thread gave it nothing.
        let is_killed = outcome == Outcome::Interrupted && self.is_last(thread, row);
        if (outcome == Outcome::Unfinished || is_killed) && holder.is_none() {
            return self.book(&askers, (CauseKind::Unfinished, thread), row, (from, to));
        }
        if waker.is_none() && holder.is_none() {
            let end = self.known.classes.wait_ends().key_of_end(thread, row).unwrap_or(key);
            return match ended_from_outside(self.trace, end, kind) {
                _ if self.known.classes.kept_loops().has_row(row) => {
                    self.book(&askers, (CauseKind::OpenRequests, thread), row, (from, to));
                }
                CauseKind::Collected => self.book_here(&askers, (CauseKind::Collected, thread), (from, to)),
                kind => self.book(&askers, (kind, thread), row, (from, to)),
            };
        }
        let mut cut = from;
        if let Some(holder) = holder.filter(|holder| Some(*holder) != waker) {
            // The holder had it at first; since when the waker had it, its own rows tell.
            cut = waker.map_or(to, |waker| self.taken_over(row, waker, (from, to)));
            if cut > from {
                self.goes_on((thread, row), (from, cut), facts);
                self.window(holder, (from, cut), askers.clone(), hops);
            }
        }
        if let Some(waker) = waker.filter(|_| to > cut) {
            self.goes_on((thread, row), (cut, to), facts);
            self.window(waker, (cut, to), askers, hops);
        }
    }

    /// Whether the thread waited for nothing more after the wait of a row.
    fn is_last(&self, thread: usize, row: usize) -> bool {
        let (mut later, rows) = (row + 1..self.rows.of(thread).end, &self.trace.events().off_cpu);
        self.trace.threads.exited[thread] && later.all(|row| rows.wait_ns(row) == 0)
    }

    /// Tells that a part of a wait is because of what another thread did.
    fn goes_on(&mut self, (thread, row): (usize, usize), span: (u64, u64), facts: KeyFacts) {
        if let Some(pieces) = &mut self.pieces {
            pieces.add_wait(thread, row, span, facts.link);
        }
    }

    /// The thread that ended the wait of a row: where that ended by its time-out and went on, the one that ended it then.
    fn ender(&mut self, thread: usize, row: usize, key: u32) -> Option<usize> {
        let facts = self.facts(key);
        // A signal that nobody sent breaks a wait off that goes on.
        let goes_on =
            facts.outcome == Outcome::TimedOut || facts.outcome == Outcome::Interrupted && facts.waker().is_none();
        if !goes_on || self.known.classes.of(thread, row, key) == WaitClass::GivenUp {
            return facts.waker();
        }
        match self.known.classes.wait_ends().ended_by(thread, row) {
            same if same == row => facts.waker(),
            later => {
                let key = self.trace.events().off_cpu.key(later);
                self.facts(key).waker()
            }
        }
    }

    /// Whether `other` waited at that instant, and `thread` ended that wait: it asked once more, and only that was answered.
    fn asked_again(&mut self, thread: usize, other: usize, time: u64) -> bool {
        let first = self.rows.of(other).start;
        let Some(row) = self.rows.behind(other, time).checked_sub(1).filter(|row| *row >= first) else { return false };
        let Row { bounds, key, .. } = self.rows.row(other, row);
        bounds.woken > time && self.facts(key).waker() == Some(thread)
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
}
