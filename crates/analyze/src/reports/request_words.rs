//! Loops of events that requests wait for, in words: how many wait, whom the loop asks meanwhile, and what to do.

use dwell_view::{Sentence, Word};

use crate::sentences::say;
use crate::study::explain::{AskedEndpoint, Explanation, OpenRequests, RootCause};

/// What keeps the loop.
pub fn cause(explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    let (who, place) = (explanation.names.role(root.cause.role), root.place());
    let (wait, wall) = (Word::Ns(root.wait_ns), Word::Ns(root.wall_ns));
    let asked = |requests: &OpenRequests| Word::Real(requests.asked, 1);
    let each = |requests: &OpenRequests| Word::Ns(requests.each_ns);
    match explanation.open_requests(root.cause.role) {
        Some(requests @ OpenRequests { asks: Some(asks), .. }) => {
            let (endpoint, mean) = (asks.endpoint.as_str(), Word::Real(asks.asked, 1));
            let (asked, connections) = (asked(requests), u64::from(asks.connections));
            if asks.connections == 1 {
                say!(
                    CAUSE_REQUESTS_OVER_ONE,
                    who = who,
                    place = place,
                    asked = asked,
                    each = each(requests),
                    endpoint = endpoint,
                    wait = wait,
                    wall = wall
                )
            } else if asks.is_limit {
                say!(
                    CAUSE_REQUESTS_LIMITED,
                    who = who,
                    place = place,
                    asked = asked,
                    each = each(requests),
                    connections = connections,
                    endpoint = endpoint,
                    others = asks.others as u64,
                    wait = wait,
                    wall = wall
                )
            } else {
                say!(
                    CAUSE_REQUESTS_FOR_OTHER,
                    who = who,
                    place = place,
                    asked = asked,
                    each = each(requests),
                    mean = mean,
                    endpoint = endpoint,
                    others = asks.others as u64,
                    wait = wait,
                    wall = wall
                )
            }
        }
        Some(requests) => {
            let asked = asked(requests);
            say!(
                CAUSE_REQUESTS_FOR_TIMER,
                who = who,
                place = place,
                asked = asked,
                each = each(requests),
                wait = wait,
                wall = wall
            )
        }
        None => say!(CAUSE_LOOP_TIMER, who = who, place = place, wait = wait, wall = wall),
    }
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
