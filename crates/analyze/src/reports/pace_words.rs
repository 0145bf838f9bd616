//! What to do about sleeps and timers that nobody but the program's end waits for: they may be the pace at which it is meant to go.

use dwell_view::Sentence;

use crate::sentences::say;
use crate::study::explain::{Explanation, RootCause};

/// Part of the way to the program's end from which on they may be.
const PACE: f64 = 0.8;

/// Whether the program hardly does anything else, and nobody waits for that.
fn is_pace(explanation: &Explanation<'_, '_>, root: &RootCause) -> bool {
    root.is_of_the_end() && root.path_ns as f64 >= PACE * explanation.path_ns as f64
}

/// What to do about a sleep that nobody else waits for.
pub fn slept(explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    if is_pace(explanation, root) { say!(ADVICE_PACED) } else { say!(ADVICE_SLEPT) }
}

/// What to do about the time-out of an event loop.
pub fn loop_timer(explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    if is_pace(explanation, root) { say!(ADVICE_LOOP_PACED) } else { say!(ADVICE_LOOP_TIMER) }
}
