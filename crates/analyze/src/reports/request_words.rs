//! Loops of events that requests wait for, in words: how many wait, whom the loop asks meanwhile, and what to do.

use dwell_model::MessageDef;
use dwell_query::engine::fold::Fold;
use dwell_view::{Sentence, Word};

use crate::sentences::{def, say};
use crate::study::explain::{AskedEndpoint, CauseKind, Explanation, LoopRequests, RootCause};

/// What keeps the loop.
pub fn cause(explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    let mut values = vec![
        ("who", explanation.names.role(root.cause.role).into()),
        ("place", root.place().into()),
        ("wait", Word::Ns(root.wait_ns)),
        ("wall", Word::beside(root.wait_ns, root.wall_ns)),
    ];
    let Some(LoopRequests { asked, each_ns, asks }) = explanation.open_requests(root.cause.role) else {
        return Sentence::new(&def::CAUSE_LOOP_TIMER, values);
    };
    values.extend([("asked", Word::Real(*asked, 1)), ("each", Word::Ns(*each_ns))]);
    let Some(asks) = asks else { return Sentence::new(&def::CAUSE_REQUESTS_FOR_TIMER, values) };
    let (def, of_endpoint) = of_endpoint(asks);
    values.push(("endpoint", asks.endpoint.as_str().into()));
    values.extend(of_endpoint);
    Sentence::new(def, values)
}

/// The sentence about whom the loop asks, and its values.
fn of_endpoint(asks: &AskedEndpoint) -> (&'static MessageDef, Vec<(&'static str, Word)>) {
    let others = ("others", asks.others.into());
    if asks.connections == 1 {
        (&def::CAUSE_REQUESTS_OVER_ONE, Vec::new())
    } else if asks.is_limit {
        (&def::CAUSE_REQUESTS_LIMITED, vec![others, ("connections", asks.connections.into())])
    } else {
        (&def::CAUSE_REQUESTS_FOR_OTHER, vec![others, ("mean", Word::Real(asks.asked, 1))])
    }
}

/// Of which time its numbers of requests are, where only a part of the recording is asked for: the looks are too few for that.
pub fn extent(fold: &Fold<'_>, root: &RootCause) -> Option<Sentence> {
    (root.cause.kind == CauseKind::OpenRequests && fold.query.is_cut()).then(|| say!(REQUESTS_OF_ALL))
}

/// What to do about it.
pub fn advice(explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    match explanation.open_requests(root.cause.role).and_then(|requests| requests.asks.as_ref()) {
        Some(AskedEndpoint { endpoint, connections: 1, .. }) => {
            say!(ADVICE_REQUESTS_ONE_BY_ONE, endpoint = endpoint.as_str())
        }
        Some(AskedEndpoint { endpoint, connections, is_limit: true, .. }) => {
            say!(ADVICE_REQUESTS_LIMITED, endpoint = endpoint.as_str(), connections = u64::from(*connections))
        }
        Some(asks) => say!(ADVICE_REQUESTS_FOR_OTHER, endpoint = asks.endpoint.as_str()),
        None => say!(ADVICE_REQUESTS_FOR_TIMER),
    }
}
