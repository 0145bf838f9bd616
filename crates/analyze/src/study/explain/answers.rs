//! Answers of programs that are not recorded: what an event loop asked for and waits for, among much else; and what is published to a thread
//! that asked for nothing since.

use std::collections::{HashMap, HashSet};

use dwell_model::{Outcome, StackId, WakerKind};
use dwell_store::{EventKey, Trace};

use crate::study::explain::terms::is_client_socket;
use crate::study::explain::wait_ends::waited_for;

/// Part of a loop's life in which it waits for answers where these are all that it has to wait for.
const NEARLY_ALL: f64 = 0.7;
/// Messages from which on they are a stream, how many of them were answers at most, one in so many, and how long one waits for the next at
/// least, ns: large answers come in parts, one soon after the other.
const STREAM: u64 = 4;
const RARE: u64 = 4;
const PAUSE_NS: u64 = 10_000_000;

/// What ends waits from outside the recording, where the kernel told which end of a connection sent.
#[derive(Default)]
pub struct Answers {
    /// Threads whose event loop has connections that it accepted, and waits for answers of others nearly all the time.
    asking_loops: HashSet<usize>,
    /// Threads and places at which they wait for whatever is published.
    subscribers: HashSet<(usize, StackId)>,
}

/// Waits of a thread at a place that others ended over a connection which this end opened.
#[derive(Default)]
struct Messages {
    answers: u64,
    published: u64,
    wait_ns: u64,
}

impl Answers {
    /// Those of a trace: one pass over its rows, where any wait ended so.
    pub fn new(trace: &Trace) -> Self {
        let keys = &trace.events().keys;
        if !keys.iter().any(|key| matches!(kind(key), WakerKind::Answer | WakerKind::Publisher)) {
            return Self::default();
        }
        let loops: HashSet<usize> =
            keys.iter().filter(|key| is_of_server(trace, key)).filter_map(|key| key.thread().get()).collect();
        let asking_loops = loops.into_iter().filter(|thread| mostly_awaits_answers(trace, *thread)).collect();
        Self { asking_loops, subscribers: subscribers(trace) }
    }

    /// Whether waits of a key are an event loop's for an answer.
    pub fn is_answer(&self, trace: &Trace, key: &EventKey) -> bool {
        let asks = key.thread().get().is_some_and(|thread| self.asking_loops.contains(&thread));
        asks && kind(key) == WakerKind::Answer && is_of_server(trace, key)
    }

    /// Whether waits of a key are for whatever is published.
    pub fn is_published(&self, key: &EventKey) -> bool {
        key.thread().get().is_some_and(|thread| self.subscribers.contains(&(thread, key.stack())))
    }
}

/// Whether an answer is what the thread's loop waits for nearly all the time. Where questions come as often, the loop is not kept by those
/// whom it asks: it has many answers to wait for at once.
fn mostly_awaits_answers(trace: &Trace, thread: usize) -> bool {
    let events = trace.events();
    let mut answers_ns = 0u64;
    events.off_cpu.for_each_wait(events.off_cpu.of(thread), |_, wait_ns, number| {
        let is_answer = kind(&events.key(number)) == WakerKind::Answer;
        answers_ns = answers_ns.saturating_add(if is_answer { wait_ns } else { 0 });
    });
    answers_ns as f64 >= NEARLY_ALL * trace.life_ns(thread) as f64
}

fn kind(key: &EventKey) -> WakerKind {
    WakerKind::from_code(key.waker_kind())
}

/// Whether it is a wait for connections that were accepted, beside what else a loop waits for.
fn is_of_server(trace: &Trace, key: &EventKey) -> bool {
    waited_for(trace, key).contains("connections")
}

fn subscribers(trace: &Trace) -> HashSet<(usize, StackId)> {
    let (events, mut messages) = (trace.events(), HashMap::<(usize, StackId), Messages>::new());
    for thread in 0..trace.threads.tid.len() {
        events.off_cpu.for_each_wait(events.off_cpu.of(thread), |_, wait_ns, number| {
            let key = events.key(number);
            let (answers, published) = match kind(&key) {
                WakerKind::Answer => (1, 0),
                WakerKind::Publisher => (0, 1),
                _ => return,
            };
            if Outcome::from_code(key.outcome()) == Outcome::Woken && is_client_socket(waited_for(trace, &key)) {
                let of = messages.entry((thread, key.stack())).or_default();
                of.answers += answers;
                of.published += published;
                of.wait_ns = of.wait_ns.saturating_add(wait_ns);
            }
        });
    }
    messages.retain(|_, of| {
        let are_apart = of.wait_ns >= PAUSE_NS.saturating_mul(of.answers + of.published);
        of.published >= STREAM && RARE * of.answers <= of.published && are_apart
    });
    messages.into_keys().collect()
}

#[cfg(test)]
mod tests {
    use dwell_trace_dsl::trace;

    use super::*;

    /// A trace of one thread whose waits for the object ended so, by turns.
    fn ended_by(picture: &str, object: &str, kinds: [WakerKind; 2]) -> Trace {
        let mut trace = trace(picture);
        for row in 0..trace.off_cpu.thread.len() {
            trace.off_cpu.waker_kind[row] = kinds[row % 2].code();
            trace.off_cpu.outcome[row] = Outcome::Woken.code();
        }
        trace.objects.name.fill(object.into());
        trace.tables_changed();
        trace
    }

    #[test]
    fn a_loop_that_serves_waits_for_answers_where_these_are_nearly_all() {
        let is_told = |object: &str, second: WakerKind| {
            let trace = ended_by("loop: eeeeeeeeeeeeeeee#e#eeeeeeeeeeeeeeee#e#", object, [WakerKind::Answer, second]);
            let answers = Answers::new(&trace);
            trace.events().keys.iter().any(|key| answers.is_answer(&trace, key))
        };
        assert!(is_told("epoll {connections}", WakerKind::OtherThread));
        assert!(!is_told("epoll {TCP 127.0.0.1:* -> 127.0.0.1:6379}", WakerKind::OtherThread), "it serves nobody");
        let trace =
            ended_by("loop: eeee#eeee#eeee#eeee#", "epoll {connections}", [WakerKind::Answer, WakerKind::Network]);
        let answers = Answers::new(&trace);
        assert!(!trace.events().keys.iter().any(|key| answers.is_answer(&trace, key)), "questions come as often");
    }

    #[test]
    fn who_is_sent_more_without_asking_subscribes() {
        let is_told = |picture: &str, kinds: [WakerKind; 2]| {
            let trace = ended_by(picture, "TCP 127.0.0.1:* -> 127.0.0.1:6379", kinds);
            let answers = Answers::new(&trace);
            trace.events().keys.iter().any(|key| answers.is_published(key))
        };
        let (apart, soon) = ("nnnnnnnnnnnn#".repeat(6), "nn#".repeat(6));
        let published = [WakerKind::Publisher; 2];
        assert!(is_told(&format!("a: {apart}"), published));
        assert!(!is_told(&format!("a: {soon}"), published), "a large answer in parts");
        assert!(!is_told(&format!("a: {apart}"), [WakerKind::Publisher, WakerKind::Answer]), "it asks");
    }
}
