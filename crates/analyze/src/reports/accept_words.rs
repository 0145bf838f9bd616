//! Connections that waited to be accepted, in words: how many, what the threads that should accept them did, and what to do.

use dwell_model::MessageDef;
use dwell_view::{Sentence, Word};

use crate::sentences::{def, say};
use crate::study::explain::{AcceptorState, Acceptors, Explanation, RootCause, WaitingConnections};

/// How many connections waited, and what keeps them.
pub fn cause(explanation: &Explanation<'_, '_>, root: &RootCause, queue: &WaitingConnections) -> Sentence {
    let names = &explanation.names;
    let Acceptors { did, threads, share } = &queue.acceptors;
    let mut values: Vec<(&'static str, Word)> = vec![
        ("who", names.role(root.cause.role).into()),
        ("endpoint", queue.endpoint.as_str().into()),
        ("others", queue.others.into()),
        ("waiting", Word::Real(queue.waiting, 1)),
        ("most", u64::from(queue.most).into()),
        ("limit", u64::from(queue.limit).into()),
        ("longest", Word::Ns(queue.longest_ns.unwrap_or(0))),
        ("wall", Word::Ns(queue.wall_ns)),
    ];
    let def: &'static MessageDef = match did {
        AcceptorState::Ran => &def::CAUSE_ACCEPT_RAN,
        AcceptorState::Mixed => &def::CAUSE_ACCEPT_QUEUE,
        AcceptorState::WaitedInLoop | AcceptorState::WaitedForRequests | AcceptorState::WaitedForOthers => {
            values.push(("label", names.label(root.cause.label).into()));
            &def::CAUSE_ACCEPT_WAITED
        }
    };
    if *did != AcceptorState::Mixed {
        values.extend([("threads", (*threads).into()), ("share", Word::Share(*share)), ("place", root.place().into())]);
    }
    Sentence::new(def, values)
}

/// What to do about it.
pub fn advice(explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    match explanation.accept_queue(&root.cause).map(|queue| queue.acceptors.did) {
        Some(AcceptorState::Ran) => say!(ADVICE_ACCEPT_RAN),
        Some(AcceptorState::WaitedInLoop) => say!(ADVICE_ACCEPT_LIMIT),
        Some(AcceptorState::WaitedForRequests) => say!(ADVICE_ACCEPT_KEPT_ALIVE),
        Some(AcceptorState::WaitedForOthers | AcceptorState::Mixed) | None => say!(ADVICE_ACCEPT_WAITED),
    }
}
