//! What to do about sleeps and timers that nobody but the program's end waits for: they may be the pace at which it is meant to go.

use dwell_query::engine::fold::Fold;
use dwell_view::Sentence;

use crate::sentences::say;
use crate::study::explain::{Explanation, RootCause, in_turn};

/// Part of the way to the program's end from which on they may be.
const PACE: f64 = 0.8;
/// The same of the timers of event loops, which do other things between them.
const LOOP_PACE: f64 = 0.3;

/// Whether the program hardly does anything else, and nobody waits for that.
fn is_pace(explanation: &Explanation<'_, '_>, root: &RootCause) -> bool {
    root.is_of_the_end() && root.path_ns as f64 >= PACE * explanation.path_ns as f64
}

/// What to do about a sleep until whose end others look again and again whether they may go on, or keep a pace of their own.
pub fn polled(explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    if is_pace(explanation, root) { say!(ADVICE_POLLED_PACED) } else { say!(ADVICE_POLLED_BY_OTHERS) }
}

/// What to do about a time-out that only the program's end waited for.
pub fn timed_out(explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    if is_pace(explanation, root) { say!(ADVICE_PACED) } else { say!(ADVICE_END_TIMED_OUT) }
}

/// What to do about a sleep that nobody else waits for.
pub fn slept(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    if root.is_of_the_end() && in_turn(fold.trace, &explanation.names, root.cause.role).is_some() {
        return say!(ADVICE_IN_TURN);
    }
    if is_pace(explanation, root) { say!(ADVICE_PACED) } else { say!(ADVICE_SLEPT) }
}

/// What to do about the time-out of an event loop, whose threads may be what the main thread waits for to the program's end.
pub fn loop_timer(explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    if root.path_ns as f64 >= LOOP_PACE * explanation.path_ns as f64 {
        say!(ADVICE_LOOP_PACED)
    } else {
        say!(ADVICE_LOOP_TIMER)
    }
}
