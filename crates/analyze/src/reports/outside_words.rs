//! What to do about answers of programs that are not recorded: whether a loop of events stands still meanwhile, how many answers came, and how
//! long each took.

use dwell_query::engine::fold::Fold;
use dwell_view::{Sentence, Word};

use crate::sentences::say;
use crate::study::event_loop_turns::runs_handlers;
use crate::study::explain::{
    AlwaysAsked, AskedAnswers, Cause, CauseKind, DELAYED_ACK_NS, Explanation, FewerAsked, Names, RootCause,
    always_asked, answers_over_one, asked_answers, asked_at_once, asks, fewer_asked, is_answered_within, is_response,
    is_within_machine, may_ask, processes_of, sends_unasked, takes_requests, waiting_requests,
};

/// Answers of a thread from which on it tells that they are waited for one at a time.
const MANY: u64 = 20;
/// Requests of a thread that wait at once, on average, from which on it does not wait for one at a time.
const SEVERAL_EACH: f64 = 1.5;
/// After which time a connection is asked for again at least, ns (TCP_TIMEOUT_INIT in include/net/tcp.h, 1 s), less a tick or two.
const SENT_AGAIN_NS: u64 = 950_000_000;

/// What to do where a thread blocks that runs a loop of events: nothing else of the loop goes on.
pub fn blocks_loop(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<Sentence> {
    let blocks = matches!(root.cause.kind, CauseKind::Slept | CauseKind::Outside | CauseKind::Network)
        && !explanation.names.is_of_event_loop(root.cause.label);
    (blocks && fold.sums.stacks.whole_names(root.stack).any(runs_handlers)).then(|| say!(ADVICE_BLOCKS_LOOP))
}

/// What to do where many more requests wait for a process than it asks for meanwhile.
pub fn fewer_are_asked(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<Sentence> {
    if fold.query.is_filtered() || fold.query.is_cut() {
        return None; // the numbers are of the whole recording
    }
    let (names, Cause { role, label, .. }) = (&explanation.names, root.cause);
    let FewerAsked { asked, endpoint, asks } = fewer_asked(fold.trace, names, role, names.label(label))?;
    Some(say!(ADVICE_FEWER_ASKED, asked = Word::Real(asked, 1), endpoint = endpoint, asks = Word::Real(asks, 1)))
}

/// What to do about answers that are waited for one at a time, or in a loop over so many connections.
pub fn few_at_a_time(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<Sentence> {
    let names = &explanation.names;
    let label = names.label(root.cause.label);
    let is_response = is_response(label);
    let is_loop = names.is_of_event_loop(root.cause.label);
    let waits_for_answer = asks(label) || is_response || (is_loop && may_ask(label));
    if !waits_for_answer {
        return None;
    }
    if names.is_fiber(root.cause.role) && !is_response {
        let answers = answers_over_one(fold.trace, names, root.cause.role, label).filter(|(count, _)| *count >= MANY);
        let one_at_a_time = answers.map(|(count, each_ns)| {
            say!(ADVICE_ONE_AT_A_TIME, count = count, mean = Word::Ns(each_ns), threads = 0u64)
        });
        if one_at_a_time.is_some() {
            return one_at_a_time;
        }
    }
    if is_loop || is_response || names.is_fiber(root.cause.role) {
        let AlwaysAsked { endpoint, connections, one_in_use, answers, each_ns } =
            always_asked(fold.trace, names, root.cause.role)?;
        if is_answered_within(fold.trace, &endpoint) {
            return Some(say!(ADVICE_ANSWERED_WITHIN, endpoint = endpoint));
        }
        // Whoever is asked nothing may wait for what it is to do.
        let is_client = is_loop && !takes_requests(fold.trace, names, root.cause.role);
        return match connections {
            // Of goroutines that were looked at now and then only the connections tell how many answers came.
            1 if is_response && answers < MANY => None,
            1 if is_response => {
                Some(say!(ADVICE_ONE_AT_A_TIME, count = answers, mean = Word::Ns(each_ns), threads = 0u64))
            }
            many if one_in_use => Some(say!(ADVICE_ONE_IN_USE, endpoint = endpoint, connections = u64::from(many))),
            1 if is_client => Some(say!(ADVICE_CLIENT_ONE_BY_ONE, endpoint = endpoint)),
            many if is_client => Some(say!(ADVICE_CLIENT_LIMITED, endpoint = endpoint, connections = u64::from(many))),
            1 => Some(say!(ADVICE_REQUESTS_ONE_BY_ONE, endpoint = endpoint)),
            // Each request asks for one thing at a time: there are no more.
            many if !waits_for_turns(fold, names, root, many) => {
                Some(say!(ADVICE_REQUESTS_FOR_OTHER, endpoint = endpoint))
            }
            many => Some(say!(ADVICE_REQUESTS_LIMITED, endpoint = endpoint, connections = u64::from(many))),
        };
    }
    let waited_for = (root.cause.role, root.cause.label);
    let answers @ AskedAnswers { count, threads, .. } =
        asked_answers((fold.trace, names), waited_for, &root.at, |_| true);
    let over_one = || answers_over_one(fold.trace, names, root.cause.role, label).is_some();
    // A thread may poll many connections at once.
    let at_once = asked_at_once(fold.trace, names, root.cause.role, label);
    if count >= MANY && label.contains("UDP ") {
        return Some(say!(ADVICE_DATAGRAMS, count = count, mean = Word::Ns(answers.mean_ns())));
    }
    if count >= MANY && sends_unasked(fold.trace, names, root.cause.role, label) {
        return Some(say!(ADVICE_SENDS_UNASKED));
    }
    (count >= MANY * threads.max(1) && at_once < SEVERAL_EACH * threads.max(1) as f64).then(|| {
        say!(
            ADVICE_ONE_AT_A_TIME,
            count = count,
            mean = Word::Ns(answers.mean_ns()),
            // Threads that share a connection ask by turns.
            threads = if threads > 1 && !over_one() { threads } else { 0 },
        )
    })
}

/// Whether more requests wait for a role's processes than these ask over so many connections, as far as it is asked.
fn waits_for_turns(fold: &Fold<'_>, names: &Names<'_, '_>, root: &RootCause, connections: u32) -> bool {
    let processes = processes_of(fold.trace, names, root.cause.role);
    let waiting: Vec<f64> = waiting_requests(fold.trace)
        .into_iter()
        .filter(|of| processes.contains(&of.process))
        .map(|of| of.asked)
        .collect();
    waiting.is_empty() || waiting.iter().sum::<f64>() >= f64::from(connections) + 1.0
}

/// What to do where connecting within this machine takes as long as a lost packet is sent again: whoever listens had no room for it.
pub fn backlog_is_full(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<Sentence> {
    let (names, Cause { kind, role, label, .. }) = (&explanation.names, root.cause);
    let connects = kind == CauseKind::Network && names.call(label).is_some_and(|call| call == "connect");
    if !connects || !is_within_machine(names.label(label)) {
        return None;
    }
    let late = asked_answers((fold.trace, names), (role, label), &root.at, |ns| ns >= SENT_AGAIN_NS);
    (late.count > 0 && late.wait_ns >= root.wait_ns / 2)
        .then(|| say!(ADVICE_BACKLOG, count = late.count, mean = Word::Ns(late.mean_ns())))
}

/// What to do where TCP held data back between two ends of this machine: whoever sends there ends the wait, but a timer did, as late as an
/// acknowledgement is delayed.
pub fn held_back(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<Sentence> {
    let (names, Cause { kind, role, label, .. }) = (&explanation.names, root.cause);
    // Of goroutines that were looked at now and then, many waits are one.
    if kind != CauseKind::Network || !is_within_machine(names.label(label)) || names.is_fiber(role) {
        return None;
    }
    let is_late = |ns: u64| DELAYED_ACK_NS.contains(&ns);
    let answers = asked_answers((fold.trace, names), (role, label), &root.at, is_late);
    (answers.count >= MANY && answers.wait_ns >= root.wait_ns / 2)
        .then(|| say!(ADVICE_DELAYED_ACK, count = answers.count, mean = Word::Ns(answers.mean_ns())))
}
