//! Loops that sleep and look again: nobody wakes them, but they wait for whoever does what they look for. It is taken for the thread
//! that was busy for most of such a loop and stopped, or ended, within its last sleep.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use dwell_model::{ObjectType, Outcome, StackId};
use dwell_query::question::windows::elapsed_ns;
use dwell_query::stacks::frames::frame_rows;
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace, WordMap};
use dwell_work::{parallel, stop};

/// Sleeps from which on they are a loop's, and how long they are at most on average, ns.
const POLLS: usize = 5;
const POLL_NS: u64 = 1_000_000_000;
/// A loop takes at least one part in so many of the recording.
const LOOP_PART: u64 = 50;
/// Loops for which it is asked who was busy: the longest ones.
const LOOKED_AT: usize = 64;
/// Waits of a thread in a loop from which on it is not asked what it did: it hands things on.
const MOST_WAITS: usize = 100_000;
/// Part of a loop in which whoever ends it is busy at least.
const BUSY: f64 = 0.5;
/// How many times longer than its other waits the one is in which a thread has stopped.
const STOPS: f64 = 3.0;
/// Part of its life that a process which is there to sleep (`sleep 0.2`) sleeps at least.
const SLEEPS: f64 = 0.8;

/// The loops of which it is known who ended what they waited for.
#[derive(Default)]
pub struct PollLoops {
    loops: Vec<PollLoop>,
    /// The loop of each of their sleeps.
    of_row: WordMap<usize, usize>,
}

/// Sleeps of a thread at one place, one after the other, and who ended what they waited for.
#[derive(Clone, Copy, Debug)]
pub struct PollLoop {
    /// The thread that sleeps.
    pub thread: usize,
    /// When the first sleep began and the last one ended, ns.
    pub span: (u64, u64),
    /// The thread that they waited for.
    pub ender: usize,
    /// When that one had done it, ns: within the span.
    pub done_ns: u64,
    last_row: usize,
}

/// Where a thread sleeps: an interpreter comes to one line by several stacks of its own functions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SleepPlace {
    Line(usize),
    Stack(StackId),
}

fn sleep_place(trace: &Trace, stack: StackId) -> SleepPlace {
    let line = frame_rows(trace, stack).find(|frame| trace.frames.script[*frame]);
    line.map_or(SleepPlace::Stack(stack), SleepPlace::Line)
}

/// The same before it is known who ended it.
struct Sleeps {
    thread: usize,
    place: SleepPlace,
    rows: Vec<usize>,
    from: u64,
    /// When the thread looked last and found nothing, and when its last sleep ended.
    last: (u64, u64),
    slept_ns: u64,
}

impl Sleeps {
    fn mean_ns(&self) -> u64 {
        self.slept_ns / self.rows.len().max(1) as u64
    }

    fn length_ns(&self) -> u64 {
        self.last.1.saturating_sub(self.from)
    }

    /// When whoever ends the loop is done at the soonest: what comes between that and what is looked for takes its time, too.
    fn done_from_ns(&self) -> u64 {
        self.last.0.saturating_sub(self.mean_ns() / 2)
    }

    /// Whether it is at the same place, and goes on to the other one's end.
    fn is_mate_of(&self, other: &Self) -> bool {
        self.place == other.place && self.last.1 >= other.done_from_ns()
    }

    fn is_poll(&self, elapsed_ns: u64) -> bool {
        self.rows.len() >= POLLS && self.mean_ns() <= POLL_NS && self.slept_ns >= elapsed_ns / LOOP_PART
    }
}

impl PollLoops {
    /// Those of a trace.
    pub fn new(trace: &Trace) -> Self {
        if trace.has_sampled_fibers() {
            return Self::default(); // when they stopped is not known
        }
        let mut places: WordMap<StackId, SleepPlace> = WordMap::default();
        let mut place_of = |stack: StackId| *places.entry(stack).or_insert_with(|| sleep_place(trace, stack));
        let place = |key: &EventKey| is_sleep(trace, key).then(|| place_of(key.stack()));
        let keys: Vec<Option<SleepPlace>> = trace.events().keys.iter().map(place).collect();
        let sleepers: BTreeSet<usize> = (trace.events().keys.iter().zip(&keys))
            .filter(|(_, place)| place.is_some())
            .filter_map(|(key, _)| key.thread().get())
            .collect();
        let sleepers: Vec<usize> = sleepers.into_iter().collect();
        let found = parallel::map(sleepers.len(), |at| sleeps_of(trace, &keys, sleepers[at]));
        let mut sleeps: Vec<Sleeps> = found.into_iter().flatten().collect();
        sleeps.sort_by_key(|of| (Reverse(of.slept_ns), of.thread, of.from));
        let mut found = Self::default();
        for of in sleeps.iter().take(LOOKED_AT) {
            stop::check();
            let may_end = |row: &usize| !is_broken_off(trace, of.thread, *row) && !is_served(trace, of);
            let Some(last_row) = of.rows.last().copied().filter(may_end) else { continue };
            let mates = sleeps.iter().filter(|mate| mate.is_mate_of(of)).map(|mate| mate.thread).collect();
            if let Some((ender, done_ns)) = ender(trace, of, &mates) {
                found.of_row.extend(of.rows.iter().map(|row| (*row, found.loops.len())));
                found.loops.push(PollLoop { thread: of.thread, span: (of.from, of.last.1), ender, done_ns, last_row });
            }
        }
        found
    }

    /// The thread that a sleep waited for; none of other rows, and of the last one, which is longer than that.
    pub fn ender(&self, row: usize) -> Option<usize> {
        self.of_row(row).filter(|of| of.last_row != row).map(|of| of.ender)
    }

    /// The loop that a row is the last sleep of.
    pub fn ended_by(&self, row: usize) -> Option<&PollLoop> {
        self.of_row(row).filter(|of| of.last_row == row)
    }

    /// Whether a thread is in such a loop at an instant.
    pub fn is_within(&self, thread: usize, time: u64) -> bool {
        self.loops.iter().any(|of| of.thread == thread && of.span.0 < time && time < of.span.1)
    }

    fn of_row(&self, row: usize) -> Option<&PollLoop> {
        self.loops.get(*self.of_row.get(&row)?)
    }
}

/// Whether waits of a key are sleeps, or waits for a process that does nothing else.
fn is_sleep(trace: &Trace, key: &EventKey) -> bool {
    match object_type(trace, key.object()) {
        ObjectType::Sleep => true,
        ObjectType::ChildProcess => key.waker().get().is_some_and(|child| only_sleeps(trace, child)),
        _ => false,
    }
}

fn only_sleeps(trace: &Trace, thread: usize) -> bool {
    let (threads, events) = (&trace.threads, trace.events());
    let Some(life_ns) = threads.end_ns.get(thread).map(|end| end.saturating_sub(threads.start_ns[thread])) else {
        return false;
    };
    let sleeps = |row: &usize| object_type(trace, events.off_cpu_key(*row).object()) == ObjectType::Sleep;
    let lengths = events.off_cpu.of(thread).take(MOST_WAITS).filter(sleeps).map(|row| events.off_cpu.wait_ns(row));
    let slept_ns = lengths.fold(0, u64::saturating_add);
    slept_ns as f64 >= SLEEPS * life_ns as f64 && life_ns > 0
}

/// The loops of a thread that sleeps.
fn sleeps_of(trace: &Trace, is_sleep: &[Option<SleepPlace>], thread: usize) -> Vec<Sleeps> {
    let (events, elapsed_ns) = (trace.events(), elapsed_ns(trace));
    let (mut found, mut open): (Vec<Sleeps>, Option<Sleeps>) = (Vec::new(), None);
    events.off_cpu.for_each(events.off_cpu.of(thread), |row, key, times| {
        if times.wait_ns == 0 {
            return;
        }
        let (start, end) = (times.start_ns, times.start_ns.saturating_add(times.wait_ns));
        let place = is_sleep.get(key as usize).copied().flatten();
        // What is between two sleeps takes less than a sleep does.
        let is_same = |of: &Sleeps| place.is_some_and(|place| of.place == place);
        let goes_on = |of: &Sleeps| {
            let is_near = start.saturating_sub(of.last.1) <= of.mean_ns();
            is_near && (is_same(of) || times.wait_ns <= of.mean_ns())
        };
        if open.as_ref().is_some_and(|of| !goes_on(of)) {
            found.extend(open.take().filter(|of| of.is_poll(elapsed_ns)));
        }
        let Some(place) = place else { return };
        let new = || Sleeps { thread, place, rows: Vec::new(), from: start, last: (start, start), slept_ns: 0 };
        let of = open.get_or_insert_with(new);
        if of.place == place {
            of.rows.push(row);
            (of.last, of.slept_ns) = ((of.last.1, end), of.slept_ns.saturating_add(times.wait_ns));
        }
    });
    found.extend(open.filter(|of| of.is_poll(elapsed_ns)));
    found
}

/// Whether a sleep was broken off, and its thread waited for nothing behind it: as the program's end does.
fn is_broken_off(trace: &Trace, thread: usize, row: usize) -> bool {
    let rows = &trace.events().off_cpu;
    let is_interrupted = Outcome::from_code(trace.events().off_cpu_key(row).outcome()) == Outcome::Interrupted;
    is_interrupted && (row + 1..rows.of(thread).end).all(|later| rows.wait_ns(later) == 0)
}

/// Whether a thread reads or writes for others in between: at half of its turns it ends a wait of theirs. Then it does not look for anything.
fn is_served(trace: &Trace, of: &Sleeps) -> bool {
    let (events, rows) = (trace.events(), &trace.events().off_cpu);
    let is_by_it = |key: &EventKey| {
        let is_channel = matches!(object_type(trace, key.object()), ObjectType::Socket | ObjectType::Stream);
        is_channel && key.waker().get() == Some(of.thread) && key.thread().get() != Some(of.thread)
    };
    let waiters: BTreeSet<usize> =
        events.keys.iter().filter(|key| is_by_it(key)).filter_map(|key| key.thread().get()).collect();
    let within = waiters.into_iter().filter_map(|thread| rows_within(trace, thread, (of.from, of.last.1)));
    let ended = within.flatten().filter(|row| rows.wait_ns(*row) > 0 && is_by_it(&events.off_cpu_key(*row)));
    let half = of.rows.len().div_ceil(2);
    ended.take(half).count() == half
}

/// The thread that was busy for most of a loop, of several for longest, and had done within its last sleep; and when. Its mates, who sleep
/// at the same place to its end, do what it does.
fn ender(trace: &Trace, of: &Sleeps, mates: &BTreeSet<usize>) -> Option<(usize, u64)> {
    let events = trace.events();
    let helpers: BTreeSet<usize> = of.rows.iter().filter_map(|row| events.off_cpu_key(*row).waker().get()).collect();
    let others = (0..trace.threads.tid.len()).filter(|thread| !mates.contains(thread) && !helpers.contains(thread));
    let done = others.filter_map(|thread| done(trace, thread, of).map(|(ns, time)| (ns, Reverse(thread), time)));
    let is_long = |(ns, ..): &(u64, Reverse<usize>, u64)| *ns as f64 >= BUSY * of.length_ns() as f64;
    done.filter(is_long).max().map(|(_, Reverse(thread), time)| (thread, time))
}

/// For how long a thread did something within a loop, ns, and when it had done: where it stopped within the loop's last sleep, all but
/// waits that others ended; or the one wait that ended then, for which another one did something.
fn done(trace: &Trace, thread: usize, of: &Sleeps) -> Option<(u64, u64)> {
    let (threads, rows, (looked, ended)) = (&trace.threads, &trace.events().off_cpu, (of.done_from_ns(), of.last.1));
    let within = rows_within(trace, thread, (of.from, ended))?;
    let waits = |range: Range<usize>| range.filter(|row| rows.wait_ns(*row) > 0);
    let is_ended = threads.exited[thread] && (looked..=ended).contains(&threads.end_ns[thread]);
    let last = waits(within.clone()).next_back();
    let stays = last.filter(|row| rows.start_ns(*row) >= looked && rows.woken_ns(*row) >= ended);
    let (stopped, within) = match stays {
        _ if is_ended => (threads.end_ns[thread], within),
        Some(row) => (rows.start_ns(row), within.start..row),
        None => return None,
    };
    let lengths = waits(within.clone()).map(|row| rows.wait_ns(row));
    // By time: what waits for a moment between its sleeps does not stop in the next of them.
    let (waited, squares) =
        lengths.fold((0.0, 0.0), |(sum, squares), ns| (sum + ns as f64, squares + (ns as f64).powi(2)));
    let usual_ns = if waited > 0.0 { squares / waited } else { 0.0 };
    let stops = is_ended || stays.is_some_and(|row| rows.wait_ns(row) as f64 >= STOPS * usual_ns);
    let began = of.from.max(threads.start_ns[thread]);
    let busy_ns = stopped.saturating_sub(began).saturating_sub(given_ns(trace, thread, (began, stopped))?);
    if stops && busy_ns as f64 >= BUSY * of.length_ns() as f64 {
        return Some((busy_ns, stopped));
    }
    let awaited = waits(within).next_back().filter(|row| rows.woken_ns(*row) >= looked)?;
    let span = (rows.start_ns(awaited).max(of.from), rows.woken_ns(awaited));
    let waker = trace.events().off_cpu_key(awaited).waker().get().filter(|waker| *waker != of.thread)?;
    let given_ns = given_ns(trace, waker, span)?;
    let awaited_ns = span.1.saturating_sub(span.0);
    (2 * given_ns < awaited_ns).then_some((awaited_ns, stopped))
}

/// The off-CPU rows of a thread that overlap a span; none of one that hands things on all the time, or was not there.
fn rows_within(trace: &Trace, thread: usize, (from, to): (u64, u64)) -> Option<Range<usize>> {
    let rows = &trace.events().off_cpu;
    let all = rows.of(thread);
    let behind = rows.partition_point(all.clone(), |start| start < to);
    let first = rows.partition_point(all.clone(), |start| start < from).saturating_sub(1).max(all.start);
    let is_there = trace.threads.start_ns.get(thread).is_some_and(|start| *start < to);
    (is_there && behind.saturating_sub(first) <= MOST_WAITS).then_some(first..behind)
}

/// How long a thread waited within a span for what others ended, ns, or for others until a time of its own, as a clock does.
fn given_ns(trace: &Trace, thread: usize, (from, to): (u64, u64)) -> Option<u64> {
    let (events, rows) = (trace.events(), &trace.events().off_cpu);
    let is_given = |row: &usize| {
        let key = events.off_cpu_key(*row);
        let is_in_vain = Outcome::from_code(key.outcome()) == Outcome::TimedOut;
        let parks = matches!(object_type(trace, key.object()), ObjectType::ConditionVariable | ObjectType::Futex);
        key.waker().is_some() || (is_in_vain && parks)
    };
    let within = |row: usize| rows.woken_ns(row).min(to).saturating_sub(rows.start_ns(row).max(from));
    Some(rows_within(trace, thread, (from, to))?.filter(is_given).map(within).fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use dwell_model::ThreadId;
    use dwell_trace_dsl::trace;

    use super::*;

    /// The name of the thread that ends the first sleep of `a`.
    fn ender_of(picture: &str) -> Option<String> {
        ender_in(&trace(picture))
    }

    fn ender_in(trace: &Trace) -> Option<String> {
        let loops = PollLoops::new(trace);
        let a = trace.threads.name.iter().position(|name| name == "a").unwrap();
        let row = trace.events().off_cpu.of(a).next().unwrap();
        loops.ender(row).map(|thread| trace.threads.name[thread].clone())
    }

    #[test]
    fn who_sleeps_at_the_same_place_does_not_end_a_loop() {
        let (sleeps, works) = ("sssss#".repeat(5), "######".repeat(5));
        let (a, stops) = (format!("a: {sleeps}sssss{}", "#".repeat(15)), "c".repeat(20));
        assert_eq!(ender_of(&format!("{a}\nb: {works}{stops}")).as_deref(), Some("b"));
        assert_eq!(ender_of(&format!("{a}\nb: {sleeps}{stops}")), None);
    }

    #[test]
    fn a_loop_of_sleeps_is_ended_by_whoever_was_busy_and_stops_within_its_last_one() {
        let polls = "ssss#ssss#ssss#ssss#ssss#ssss#########";
        let stops = format!("a: {polls}\nb: ###########################cccccccccccc\n");
        assert_eq!(ender_of(&stops).as_deref(), Some("b"));
        assert_eq!(ender_of(&format!("{stops}c: {}", "c#".repeat(19))).as_deref(), Some("b"));
        assert_eq!(ender_of(&format!("a: {polls}\nb: {}", "#".repeat(38))), None, "it goes on");
        assert_eq!(ender_of(&format!("a: {polls}\nb: {}c##########", "#".repeat(20))), None, "it stopped before");
        assert_eq!(ender_of(&format!("a: ssss#ssss####\nb: #######{}", "c".repeat(9))), None, "two are no loop");
        assert_eq!(ender_of(&format!("a: {polls}\nb: {}", "#c".repeat(19))), None, "that is how it works");
        let served = |wait: &str| format!("{stops}c: {wait}#{}", format!("{}#", &wait[1..]).repeat(5));
        assert_eq!(ender_of(&served("nnnnn")), None, "it reads what others wait to send");
        assert_eq!(ender_of(&served("ccccc")).as_deref(), Some("b"), "it wakes somebody");
    }

    #[test]
    fn a_ticker_that_waits_for_a_moment_between_its_sleeps_ends_no_loop() {
        let polls = format!("a: {}", "ssss#".repeat(5));
        let ticker = |between: &str| format!("{polls}\nb: {}ssss", format!("sss{between}").repeat(5));
        assert_eq!(ender_of(&ticker("c#")), None);
        assert_eq!(ender_of(&ticker("c#c#")), None);
    }

    /// HotSpot's periodic thread waits until times of its own.
    #[test]
    fn a_clock_ends_no_loop() {
        let clock = "cccc#".repeat(5) + &"c".repeat(13);
        let mut trace = trace(&format!("a: ssss#ssss#ssss#ssss#ssss#ssss#########\nb: {clock}"));
        trace.off_cpu.waker.iter_mut().for_each(|waker| *waker = ThreadId::NONE);
        trace.tables_changed();
        assert_eq!(ender_in(&trace).as_deref(), Some("b"), "nobody is known to have ended these waits");
        trace.off_cpu.outcome.iter_mut().for_each(|outcome| *outcome = Outcome::TimedOut.code());
        trace.tables_changed();
        assert_eq!(ender_in(&trace), None);
    }
}
