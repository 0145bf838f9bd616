//! The critical path: the chain of running and waiting segments that determined the elapsed time.
//!
//! It is followed backwards from the end of the main process's last thread. While the thread runs, that is a segment.
//! Where it waited and a thread of the program ended the wait, the path goes over to the waker at the time of the
//! wake-up, and follows it no further back than the start of that wait (golang/go#57175): then it is back at the
//! waiter. So it does where the thread slept again and again until another one had done what it looked for. A wait that a timer, the network or another program ended stays a waiting segment. A thread's time before
//! its start is its creator's. Every instant is on the path exactly once, so that its segments add up to the elapsed
//! time.
//!
//! Where the last thread begins to run the path is back at it, whatever came behind: pieces of the path between such
//! instants are followed side by side.

use dwell_model::{ObjectId, Outcome, ThreadId};
use dwell_query::stacks::go_runtime::{GO_MAIN, is_of_go_runtime};
use dwell_store::{Trace, WordMap};
use dwell_work::{parallel, stop};

use crate::study::intervals::Activity;
use crate::study::poll_loops::PollLoops;
use crate::study::thread_index::{Reached, ThreadIndex, ThreadPiece};

/// A segment of the path; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The thread; none where no thread of the program is on the path.
    pub thread: Option<usize>,
    /// What it did there: running time is split by samples. `row` is its off-CPU row.
    pub piece: ThreadPiece,
}

/// A wait that the path went around, by way of the waker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detour {
    /// What was waited on.
    pub object: ObjectId,
    /// Start of the part of the wait that the path went around.
    pub from: u64,
    /// End of the wait.
    pub to: u64,
    /// Whether a detour around the same object has it inside: then that one counts.
    pub nested: bool,
}

/// Hears of the path, latest first. It may have as many segments as the trace has intervals: nobody keeps them.
pub trait Follower {
    /// The path has this segment: without gap or overlap.
    fn segment(&mut self, segment: Segment);
    /// It went around this wait.
    fn detour(&mut self, detour: Detour);
}

/// Pieces of the path that are followed side by side.
const PIECES: u64 = 16;

/// Follows the path from `to` back to `from`: each follower hears of parts of it.
pub fn critical_path<F: Follower + Send>(
    trace: &Trace,
    index: &ThreadIndex<'_>,
    (from, to): (u64, u64),
    new: impl Fn() -> F + Sync,
) -> Vec<F> {
    let last = last_thread(trace, to);
    let polls = PollLoops::new(trace);
    let instants = instants((index, &polls), (from, to), last);
    let follow = |follower: &mut F, piece: usize| {
        Walker::new((trace, index, &polls), follower, instants[piece + 1]).walk(instants[piece], last);
    };
    parallel::fold(instants.len() - 1, new, follow)
}

/// Instants in order, `from` and `to` and those between at which the last thread begins to run: no part of the path
/// crosses them.
fn instants((index, polls): (&ThreadIndex<'_>, &PollLoops), (from, to): (u64, u64), last: Option<usize>) -> Vec<u64> {
    let mut instants = vec![from];
    for piece in 1..PIECES {
        let about = from + (u128::from(to - from) * u128::from(piece) / u128::from(PIECES)) as u64;
        let runs = |last| index.begins_to_run(last, about).filter(|time| !polls.is_within(last, *time));
        let began = last.and_then(runs);
        let before = instants.last().copied().unwrap_or(from);
        instants.extend(began.filter(|began| (before + 1..to).contains(began)));
    }
    instants.push(to);
    instants
}

/// How long after its call of `exit` the waits of the other threads are broken off at most, ns.
const EXIT_NS: u64 = 5_000_000;
/// How long the last helper of a runtime outlives the program's first thread at most, ns.
const HELPERS_END_NS: u64 = 50_000_000;

/// The thread of the main process that ends it, as far as that is known at `to`: the last one, but none whose wait the end of the
/// others broke off. One that is there at `to` is as good as any: the first one, then.
pub fn last_thread(trace: &Trace, to: u64) -> Option<usize> {
    let threads = &trace.threads;
    let of_main: Vec<usize> =
        (0..threads.tid.len()).filter(|thread| threads.process[*thread].get() == Some(0)).collect();
    let is_there = |thread: &usize| threads.start_ns[*thread] < to;
    let any = || (0..threads.tid.len()).rev().filter(is_there).max_by_key(|thread| threads.end_ns[*thread].min(to));
    ending_thread(trace, 0, &of_main, to).or_else(any)
}

/// The same of the process in row `process`, which has the threads `members`; none where none of them was there before `to`.
pub fn ending_thread(trace: &Trace, process: usize, members: &[usize], to: u64) -> Option<usize> {
    let threads = &trace.threads;
    let end = |thread: &usize| threads.end_ns[*thread].min(to);
    let is_there = |thread: &usize| threads.start_ns[*thread] < to && !is_of_go_runtime(trace, *thread);
    let members = members.iter().copied().filter(is_there);
    let members: Vec<(usize, Option<u64>)> = members.map(|thread| (thread, broken_off_ns(trace, thread, to))).collect();
    // A Go program ends when its main function returns, whoever was seen after its last look.
    let is_main = |thread: usize| thread < trace.fiber_threads && threads.name[thread] == GO_MAIN;
    let go_main = members.iter().find(|(thread, broken_off)| is_main(*thread) && broken_off.is_none());
    // Who ends a process breaks off the waits of its other threads, and ends after that, though the kernel may take longer for them.
    let exit_ns = members.iter().filter_map(|(_, broken_off)| *broken_off).max();
    let is_ender = |(thread, broken_off): &&(usize, Option<u64>)| {
        broken_off.is_none() && exit_ns.is_some_and(|exit| threads.end_ns[*thread] + EXIT_NS >= exit)
    };
    let ender = members.iter().find(is_ender);
    let first = members.iter().find(|(thread, _)| trace.processes.pid.get(process) == threads.tid.get(*thread));
    // Of a program that was killed, nobody ended it: its first thread is the one that it would have ended with.
    let killed = first.filter(|(_, broken_off)| exit_ns.is_some() && broken_off.is_some());
    let last = members.iter().rev().max_by_key(|(thread, _)| end(thread));
    // A program ends when its first thread returns. Helpers of its runtime, which that one tells to go, end right after it.
    let returned = first.filter(|(first, broken_off)| {
        let gap_ns = last.map_or(0, |(last, _)| end(last).saturating_sub(end(first)));
        broken_off.is_none() && gap_ns <= (to / 100).min(HELPERS_END_NS)
    });
    go_main.or(ender).or(killed).or(returned).or(last).map(|(thread, _)| *thread)
}

/// When the last wait of a thread that ended before `to` was broken off, if it was.
fn broken_off_ns(trace: &Trace, thread: usize, to: u64) -> Option<u64> {
    let (threads, events) = (&trace.threads, trace.events());
    let rows = &events.off_cpu;
    let last = |thread: usize| {
        // Behind it there may be stays in run queues.
        let waits = |row: &usize| rows.wait_ns(*row) > 0;
        let row = rows.of(thread).rev().find(waits).filter(|_| threads.end_ns[thread] <= to)?;
        Some((row, events.off_cpu_key(row)))
    };
    let (row, key) = last(thread)?;
    let is_broken_off = |outcome: u8| Outcome::from_code(outcome) == Outcome::Interrupted;
    // Whoever joins a thread that is broken off is woken by its end.
    let by_end = || key.waker().get().and_then(last).is_some_and(|(_, key)| is_broken_off(key.outcome()));
    (is_broken_off(key.outcome()) || by_end()).then(|| rows.woken_ns(row))
}

/// Steps after which it is asked whether anybody still waits for the path.
const CHECKED: u32 = 4096;

/// A wait that the path is going around.
struct Open {
    waiter: usize,
    /// Where the path returns to the waiter.
    bound: u64,
    object: ObjectId,
}

struct Walker<'a, 't, F> {
    trace: &'t Trace,
    index: &'a ThreadIndex<'t>,
    polls: &'a PollLoops,
    follower: &'a mut F,
    open: Vec<Open>,
    /// Rows gone around at this instant. None twice: wakers that wake one another at one instant would never end.
    followed: WordMap<usize, ()>,
    /// Where the path is; it only goes back.
    time: u64,
    /// Where the path last looked at each thread.
    reached: Vec<Reached>,
    /// Pieces of the running time at hand.
    samples: Vec<ThreadPiece>,
}

impl<'a, 't, F: Follower> Walker<'a, 't, F> {
    fn new(
        (trace, index, polls): (&'t Trace, &'a ThreadIndex<'t>, &'a PollLoops),
        follower: &'a mut F,
        time: u64,
    ) -> Self {
        let reached = vec![Reached::default(); trace.threads.tid.len()];
        let (open, followed, samples) = (Vec::new(), WordMap::default(), Vec::new());
        Self { trace, index, polls, follower, open, followed, time, reached, samples }
    }

    fn walk(mut self, from: u64, last: Option<usize>) {
        let mut thread = last;
        let mut steps = 0u32;
        while self.time > from {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(CHECKED) {
                stop::check();
            }
            let bound = self.open.last().map_or(from, |open| open.bound.max(from));
            if self.time <= bound {
                thread = self.open.pop().map(|open| open.waiter);
                continue;
            }
            let Some(current) = thread else {
                self.outside(bound);
                continue;
            };
            match self.before(current) {
                None => thread = self.before_life(current, bound),
                Some(piece) => thread = Some(self.step(current, piece, bound)),
            }
        }
    }

    /// What a thread did before the time at hand.
    fn before(&mut self, thread: usize) -> Option<ThreadPiece> {
        self.index.before_from(thread, self.time, &mut self.reached[thread])
    }

    /// One interval of the thread at hand; returns the thread with which the path goes on.
    fn step(&mut self, thread: usize, piece: ThreadPiece, bound: u64) -> usize {
        let cut = ThreadPiece { from: piece.from.max(bound), to: self.time.min(piece.to), ..piece };
        let ended_here = piece.activity == Activity::Waiting && piece.to == self.time;
        if let Some(ender) = piece.row.filter(|_| ended_here).and_then(|row| self.poll_loop(thread, row, cut)) {
            return ender;
        }
        let waker = piece.row.filter(|_| ended_here).and_then(|row| self.waker(thread, row));
        if let Some((waker, row)) = waker {
            let object = self.trace.events().off_cpu_key(row).object();
            let nested = self.open.iter().any(|open| open.object == object);
            self.follower.detour(Detour { object, from: cut.from, to: cut.to, nested });
            self.open.push(Open { waiter: thread, bound: cut.from, object });
            return waker;
        }
        self.segment(Some(thread), cut);
        self.go_back(cut.from);
        thread
    }

    /// Goes around a loop of sleeps, where the row `row` is the last of them: returns the thread that it waited for.
    fn poll_loop(&mut self, thread: usize, row: usize, cut: ThreadPiece) -> Option<usize> {
        let of = *self.polls.ended_by(row)?;
        let bound = self.open.last().map_or(of.span.0, |open| open.bound.max(of.span.0));
        if of.done_ns <= bound || of.done_ns >= self.time || of.ender == thread {
            return None;
        }
        self.index.before(of.ender, of.done_ns)?;
        let object = self.trace.events().off_cpu_key(row).object();
        self.segment(Some(thread), ThreadPiece { from: of.done_ns, ..cut });
        self.follower.detour(Detour { object, from: bound, to: of.done_ns, nested: false });
        self.open.push(Open { waiter: thread, bound, object });
        self.go_back(of.done_ns);
        Some(of.ender)
    }

    /// The thread of the program that ended the wait, where the path can go.
    fn waker(&mut self, thread: usize, row: usize) -> Option<(usize, usize)> {
        let waker: ThreadId = self.trace.events().off_cpu_key(row).waker();
        let waker = waker.get().filter(|waker| *waker != thread && *waker < self.trace.threads.tid.len())?;
        self.before(waker)?;
        self.followed.insert(row, ()).is_none().then_some((waker, row))
    }

    /// The path is where the thread is not alive: before its start its creator made it, after its end nobody ran.
    fn before_life(&mut self, thread: usize, bound: u64) -> Option<usize> {
        let threads = &self.trace.threads;
        let end = threads.end_ns[thread];
        if self.time > end && end > threads.start_ns[thread] {
            self.outside(end.max(bound));
            return Some(thread);
        }
        let parent = threads.parent[thread].get().filter(|parent| *parent < threads.tid.len() && *parent != thread);
        // Creators are older; a chain that is not, in a damaged trace, ends here.
        parent.filter(|parent| threads.start_ns[*parent] < self.time && self.before(*parent).is_some())
    }

    /// Time down to `bound` in which no thread of the program is on the path.
    fn outside(&mut self, bound: u64) {
        let piece = ThreadPiece {
            activity: Activity::Waiting,
            from: bound,
            to: self.time,
            row: None,
            stack: dwell_model::StackId::NONE,
        };
        self.segment(None, piece);
        self.go_back(bound);
    }

    fn go_back(&mut self, time: u64) {
        if time < self.time && !self.followed.is_empty() {
            self.followed = WordMap::default();
        }
        self.time = time;
    }

    fn segment(&mut self, thread: Option<usize>, piece: ThreadPiece) {
        let Some(of) = thread.filter(|_| piece.activity == Activity::Running) else {
            return self.follower.segment(Segment { thread, piece });
        };
        let (pieces, reached) = (&mut self.samples, &mut self.reached[of]);
        self.index.split_running_from(of, piece, reached, &mut |piece| pieces.push(piece));
        // Samples go forwards, the path backwards.
        pieces.drain(..).rev().for_each(|piece| self.follower.segment(Segment { thread, piece }));
    }
}

#[cfg(test)]
mod tests {
    use dwell_trace_dsl::{CELL, build};

    use super::*;

    #[derive(Default)]
    struct Kept {
        segments: Vec<Segment>,
        detours: Vec<Detour>,
    }

    impl Follower for Kept {
        fn segment(&mut self, segment: Segment) {
            self.segments.push(segment);
        }
        fn detour(&mut self, detour: Detour) {
            self.detours.push(detour);
        }
    }

    impl Kept {
        fn in_order(mut self) -> Self {
            self.segments.sort_by_key(|segment| segment.piece.from);
            self.detours.sort_by_key(|detour| (detour.to, detour.from));
            self
        }
    }

    #[test]
    fn its_pieces_are_those_of_the_whole() {
        let cells = |line: &str| line.chars().cycle().take(3000).collect::<Vec<char>>();
        let lines = [("a", cells("##mm#s-#mmm1#m")), ("b", cells("#mm##1mm#-")), ("c", cells("m##lll#m-#s"))];
        let trace = build(&lines, 2);
        let index = ThreadIndex::new(&trace);
        for (from, to) in [(0, 3000 * CELL), (100 * CELL + 7, 2500 * CELL + 9), (10, 20), (5 * CELL, 17 * CELL)] {
            let parts = critical_path(&trace, &index, (from, to), Kept::default);
            let mut pieces = Kept::default();
            parts.into_iter().for_each(|part| {
                pieces.segments.extend(part.segments);
                pieces.detours.extend(part.detours);
            });
            let mut whole = Kept::default();
            Walker::new((&trace, &index, &PollLoops::new(&trace)), &mut whole, to).walk(from, last_thread(&trace, to));
            let (pieces, whole) = (pieces.in_order(), whole.in_order());
            assert_eq!(pieces.segments, whole.segments);
            assert_eq!(pieces.detours, whole.detours);
            if to - from > 1000 * CELL {
                let count = instants((&index, &PollLoops::new(&trace)), (from, to), last_thread(&trace, to)).len();
                assert!(count > 8 && whole.detours.len() > 100, "{count} {}", whole.detours.len());
            }
        }
    }
}
