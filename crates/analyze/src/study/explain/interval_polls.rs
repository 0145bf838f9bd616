//! Waits for an answer that are cut into intervals: psycopg looks each 100 ms whether a signal came, and goes on with the same wait.
//! The program does not give up at such a time-out, and the answer may come before the wait goes on.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use dwell_model::{ObjectId, Outcome, ProcessId};
use dwell_store::{EventKey, Trace};

use crate::study::explain::terms::{GOES_ON_NS, PlaceId, is_of_event_loop};
use crate::study::explain::wake_ups::{any_within, wake_ups_by};
use crate::study::step_function::{StepFunction, overlap_ns};

/// A wait that goes on so soon after its time-out was cut: whoever asks once more takes longer, ns.
pub const CUT_NS: u64 = 200_000;
/// Waits at one place that go on from which on they are cut there …
const HABIT: u64 = 3;
/// … and the part of all time-outs there: of an answer in two parts each second one is followed by none.
const CUT_SHARE: f64 = 0.4;

/// Part of a loop's waits in which a request of its process must be open, where requests are known: else it waits for a time of its own.
const ASKS_SHARE: f64 = 0.5;

/// Time-outs that are shorter on average, ns, keep a pace (of what is sent, say) where nearly nothing else ever ends these waits: who looks for an
/// answer looks less often.
const PACE_NS: u64 = 3_000_000;
const HARDLY_ANY: f64 = 0.05;
/// They are only a pace, and no question of anybody's, where hardly one of so many is ever answered.
const PACED: u64 = 100;
const NEARLY_NONE: f64 = 0.005;

/// How long an answer takes after a time-out, as a part of that, if it comes soon, and the part of all answers that must. These are answers to what the
/// thread did after the time-out: before, it waited in vain, as a client for the `100 Continue` that its server never sends.
const SOON: f64 = 0.02;
const MOSTLY_SOON: f64 = 0.8;

/// Where threads wait: the object and the line of the program. A loop can have its condition twice in the code.
pub type WaitPlace = (ObjectId, PlaceId);

/// Waits that end by time-outs at a place.
#[derive(Default)]
struct TimeOuts {
    all: u64,
    goes_on: u64,
    /// Waits that go on and that somebody ended, and those of them that took a moment.
    answered_next: u64,
    answered_soon: u64,
    /// How long they took together, ns, and how many waits there somebody ended.
    wait_ns: u64,
    answered: u64,
    /// How long loops of events waited there, in processes whose requests are known, and how long with any open, ns.
    loops_ns: u64,
    open_ns: u64,
}

/// Places at which waits on sockets end by time-outs that are no end of a question.
#[derive(Default)]
pub struct IntervalPolls {
    /// Where waits for an answer are cut into intervals.
    pub cut: HashSet<WaitPlace>,
    /// Where short time-outs keep a pace: nothing is asked.
    pub paces: HashSet<WaitPlace>,
    /// Where what a thread does after its time-out brings the answer.
    pub in_vain: HashSet<WaitPlace>,
}

/// Those of a trace, of keys with a place.
pub fn interval_polls(trace: &Trace, place_of: &dyn Fn(&EventKey) -> Option<PlaceId>) -> IntervalPolls {
    let events = trace.events();
    let timed_out = |key: &EventKey| Outcome::from_code(key.outcome()) == Outcome::TimedOut;
    let (mut threads, mut places) = (BTreeSet::new(), BTreeMap::new());
    for key in events.keys.iter().filter(|key| timed_out(key) && key.object().is_some()) {
        if let Some(place) = place_of(key) {
            threads.extend(key.thread().get());
            places.insert((key.object(), place), TimeOuts::default());
        }
    }
    let open = open_spans(trace);
    let askers = if places.keys().any(|(object, _)| is_datagram(trace, *object)) { &threads } else { &BTreeSet::new() };
    let wake_ups = wake_ups_by(trace, askers);
    for thread in threads {
        let asked = AskingTimes {
            open: open.get(&trace.threads.process[thread]),
            wake_ups: wake_ups.get(&thread).map_or(&[], Vec::as_slice),
        };
        count(trace, (thread, asked), place_of, &mut places);
    }
    let mut polls = IntervalPolls::default();
    for (place, counts) in places {
        if counts.are_paced(HARDLY_ANY) {
            let asks_nothing = counts.all >= PACED && counts.are_paced(NEARLY_NONE);
            polls.paces.extend(asks_nothing.then_some(place));
        } else if counts.are_in_vain() {
            polls.in_vain.insert(place);
        } else {
            polls.cut.extend(counts.are_cut().then_some(place));
        }
    }
    polls
}

impl TimeOuts {
    /// Whether they are short, and no more than this part of the waits there is ever answered.
    fn are_paced(&self, answered: f64) -> bool {
        self.wait_ns < PACE_NS * self.all && (self.answered as f64) < answered * self.all as f64
    }

    /// Whether an answer comes as soon as they have ended.
    fn are_in_vain(&self) -> bool {
        self.answered_next >= HABIT && self.answered_soon as f64 >= MOSTLY_SOON * self.answered_next as f64
    }

    /// Whether they are parts of waits that go on.
    fn are_cut(&self) -> bool {
        let goes_on = self.goes_on >= HABIT && self.goes_on as f64 >= CUT_SHARE * self.all as f64;
        goes_on && self.open_ns as f64 >= ASKS_SHARE * self.loops_ns as f64
    }
}

/// When requests of processes that ask over TCP waited for their answers.
fn open_spans(trace: &Trace) -> BTreeMap<ProcessId, Vec<(u64, u64)>> {
    let table = &trace.open_requests;
    let mut steps: BTreeMap<ProcessId, BTreeMap<&str, StepFunction>> = BTreeMap::new();
    for row in (0..table.time_ns.len()).filter(|row| !table.is_incoming[*row]) {
        let of_process = steps.entry(table.process[row]).or_default();
        of_process.entry(&table.endpoint[row]).or_default().0.push((table.time_ns[row], table.open[row]));
    }
    let spans = |steps: BTreeMap<&str, StepFunction>| StepFunction::sum(steps.values()).spans(trace.elapsed_ns());
    steps.into_iter().map(|(process, steps)| (process, spans(steps))).collect()
}

/// What is known of when a thread asked.
#[derive(Clone, Copy)]
struct AskingTimes<'a> {
    /// When its process had requests that waited, where that is known.
    open: Option<&'a Vec<(u64, u64)>>,
    /// When it ended waits of others, ns, in order: over a socket for datagrams it asked.
    wake_ups: &'a [u64],
}

/// Counts a thread's time-outs at the places, and how many of them were followed by a wait there at once.
fn count(
    trace: &Trace,
    (thread, asked): (usize, AskingTimes<'_>),
    place_of: &dyn Fn(&EventKey) -> Option<PlaceId>,
    places: &mut BTreeMap<WaitPlace, TimeOuts>,
) {
    let (events, rows) = (trace.events(), &trace.events().off_cpu);
    // Over a connection nobody asks once more: there a script may take longer to go on.
    let soon_ns = |object: ObjectId| if is_connection(trace, object) { GOES_ON_NS } else { CUT_NS };
    // The place of the last wait, if it timed out, when the thread ran again after it or had to wait for a CPU, and how long it waited.
    let mut cut: Option<(WaitPlace, u64, u64)> = None;
    for row in rows.of(thread) {
        let start_ns = rows.start_ns(row);
        let is_soon = cut.is_some_and(|((object, _), ran, _)| start_ns.saturating_sub(ran) < soon_ns(object));
        if rows.wait_ns(row) == 0 {
            cut = cut.filter(|_| is_soon).map(|(place, _, ns)| (place, rows.end_ns(row), ns));
            continue;
        }
        let key = events.off_cpu_key(row);
        let before = std::mem::take(&mut cut).filter(|_| is_soon);
        let Some(place) = place_of(&key).map(|place| (key.object(), place)) else { continue };
        let goes_on = |(before, ended_ns, _): &(WaitPlace, u64, u64)| {
            *before == place && !(is_datagram(trace, before.0) && any_within(asked.wake_ups, (*ended_ns, start_ns)))
        };
        if let Some((before, _, in_vain_ns)) = before.filter(goes_on) {
            let counts = places.entry(before).or_default();
            counts.goes_on += 1;
            // A loop of events has many things to do, each in its time.
            let is_answered = Outcome::from_code(key.outcome()) == Outcome::Woken && !is_of_event_loop(key.syscall());
            counts.answered_next += u64::from(is_answered);
            let is_soon = rows.wait_ns(row) as f64 <= SOON * in_vain_ns as f64;
            counts.answered_soon += u64::from(is_answered && is_soon);
        }
        let Some(counts) = places.get_mut(&place) else { continue };
        let outcome = Outcome::from_code(key.outcome());
        counts.answered += u64::from(outcome == Outcome::Woken);
        if outcome == Outcome::TimedOut {
            counts.all += 1;
            counts.wait_ns += rows.wait_ns(row);
            if let Some(open) = asked.open.filter(|_| is_of_event_loop(key.syscall())) {
                counts.loops_ns += rows.wait_ns(row);
                counts.open_ns += overlap_ns(open, (start_ns, rows.woken_ns(row)));
            }
            cut = Some((place, rows.end_ns(row), rows.wait_ns(row)));
        }
    }
}

/// Whether the object is a socket for datagrams, or a set of such.
fn is_datagram(trace: &Trace, object: ObjectId) -> bool {
    object.get().and_then(|row| trace.objects.name.get(row)).is_some_and(|name| name.contains("UDP "))
}

/// Whether the object is a connection, or a set of such.
fn is_connection(trace: &Trace, object: ObjectId) -> bool {
    object.get().and_then(|row| trace.objects.name.get(row)).is_some_and(|name| name.contains("TCP "))
}

#[cfg(test)]
mod tests {
    use dwell_model::ThreadId;
    use dwell_trace_dsl::{CELL, trace};

    use super::*;

    /// Whether waits for `object` are known to be one that is cut, where the thread runs for `between_ns` between its parts.
    fn cut(object: &str, between_ns: u64) -> bool {
        cut_beside(object, between_ns, &"#".repeat(30))
    }

    /// The same beside another thread, whose waits `a` ends.
    fn cut_beside(object: &str, between_ns: u64, other: &str) -> bool {
        cut_in("xxxx#", object, between_ns, other)
    }

    /// The same of six turns of the thread.
    fn cut_in(turn: &str, object: &str, between_ns: u64, other: &str) -> bool {
        let mut trace = trace(&format!("a: {}\nb: {other}", turn.repeat(6)));
        let rows: Vec<usize> = (0..trace.off_cpu.wait_ns.len())
            .filter(|row| trace.off_cpu.wait_ns[*row] > 0 && trace.off_cpu.thread[*row] == ThreadId::new(0))
            .collect();
        for row in rows {
            trace.off_cpu.outcome[row] = Outcome::TimedOut.code();
            trace.off_cpu.wait_ns[row] = trace.off_cpu.wait_ns[row] + CELL - between_ns;
        }
        trace.objects.name.fill(object.into());
        trace.tables_changed();
        !interval_polls(&trace, &|_| Some(0)).cut.is_empty()
    }

    /// Whether waits of so many turns of the thread keep a pace, the first `answered` of which somebody ends.
    fn keeps_pace(turns: usize, answered: usize) -> bool {
        let mut trace = trace(&format!("a: {}", "x#".repeat(turns)));
        let rows = 0..trace.off_cpu.wait_ns.len();
        let rows: Vec<usize> = rows.filter(|row| trace.off_cpu.wait_ns[*row] > 0).collect();
        for (number, row) in rows.into_iter().enumerate() {
            let outcome = if number < answered { Outcome::Woken } else { Outcome::TimedOut };
            trace.off_cpu.outcome[row] = outcome.code();
        }
        trace.tables_changed();
        !interval_polls(&trace, &|_| Some(0)).paces.is_empty()
    }

    /// Whether waits are in vain, of turns of a thread in each of which the first wait times out and the second one somebody ends.
    fn are_in_vain(turn: &str) -> bool {
        let mut trace = trace(&format!("a: {}", turn.repeat(6)));
        let rows = 0..trace.off_cpu.wait_ns.len();
        let rows: Vec<usize> = rows.filter(|row| trace.off_cpu.wait_ns[*row] > 0).collect();
        for (number, row) in rows.into_iter().enumerate() {
            let is_first = number % 2 == 0;
            trace.off_cpu.outcome[row] = if is_first { Outcome::TimedOut } else { Outcome::Woken }.code();
            if is_first {
                trace.off_cpu.wait_ns[row] += CELL - 100_000;
            }
        }
        trace.tables_changed();
        let polls = interval_polls(&trace, &|_| Some(0));
        assert_eq!(polls.in_vain.is_empty(), !polls.cut.is_empty());
        !polls.in_vain.is_empty()
    }

    #[test]
    fn what_is_answered_as_soon_as_the_time_out_ended_was_waited_for_in_vain() {
        assert!(are_in_vain(&format!("{}#x#", "x".repeat(60))));
        assert!(!are_in_vain(&format!("{}#{}#", "x".repeat(60), "x".repeat(30))), "it would have come anyway");
    }

    #[test]
    fn many_short_time_outs_that_nothing_else_ends_are_a_pace() {
        assert!(keeps_pace(300, 0) && keeps_pace(300, 1));
        assert!(!keeps_pace(300, 3), "answers come");
        assert!(!keeps_pace(20, 0), "not known of so few");
    }

    #[test]
    fn a_wait_that_goes_on_at_once_is_cut_and_one_that_is_asked_again_is_not() {
        assert!(cut("UDP 127.0.0.1:* -> 127.0.0.1:53", 100_000));
        assert!(!cut("UDP 127.0.0.1:* -> 127.0.0.1:53", 400_000));
        let (server, idle) = (format!("nnnnn{}", "#nnnn".repeat(5)), "n".repeat(30));
        assert!(!cut_beside("UDP 127.0.0.1:* -> 127.0.0.1:53", 100_000, &server), "it asks again each time");
        assert!(cut_beside("UDP 127.0.0.1:* -> 127.0.0.1:53", 100_000, &idle));
        let connection = "poll {TCP 127.0.0.1:* -> 127.0.0.1:5432}";
        assert!(cut(connection, 900_000), "by a script, on a busy machine");
        assert!(!cut(connection, 1_400_000));
        assert!(!cut_in("x#", connection, 900_000, &"#".repeat(12)), "it sends each 2 ms");
    }
}
