//! What threads wait for again and again at one place: answers one at a time, and sleeps.

use dwell_model::Outcome;
use dwell_store::{EventKey, Trace};

use crate::study::explain::names::Names;
use crate::study::explain::terms::{LabelId, RoleId};

/// Answers at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AskedAnswers {
    /// How many came.
    pub count: u64,
    /// How long they took, all of them, thread-nanoseconds.
    pub wait_ns: u64,
    /// How many threads waited there for any.
    pub threads: u64,
}

impl AskedAnswers {
    /// How long one took on average, ns.
    pub fn mean_ns(&self) -> u64 {
        self.wait_ns / self.count.max(1)
    }
}

/// The answers for which threads of a role waited, in waits for what has a label, at the place that is called `at`; those in waits of a length, ns,
/// that counts.
pub fn asked_answers(
    (trace, names): (&Trace, &Names<'_, '_>),
    (role, label): (RoleId, LabelId),
    at: &str,
    counts: impl Fn(u64) -> bool,
) -> AskedAnswers {
    let (events, mut answers) = (trace.events(), AskedAnswers::default());
    for thread in names.members_of(role) {
        let before = answers.count;
        events.off_cpu.for_each(events.off_cpu.of(thread), |_, key, times| {
            let key = events.key(key);
            if times.wait_ns > 0
                && counts(times.wait_ns)
                && names.has_label(&key, label)
                && names.is_at(key.stack(), at)
            {
                // What is cut by time-outs goes on until the answer comes.
                answers.count += u64::from(Outcome::from_code(key.outcome()) == Outcome::Woken);
                answers.wait_ns = answers.wait_ns.saturating_add(times.wait_ns);
            }
        });
        answers.threads += u64::from(answers.count > before);
    }
    answers
}

/// How often threads of a role waited at the place that is called `at`, in waits whose key `counts`, and how long, ns.
pub fn waits_at(
    (trace, names): (&Trace, &Names<'_, '_>),
    role: RoleId,
    at: &str,
    counts: impl Fn(&EventKey) -> bool,
) -> (u64, u64) {
    let (events, mut count, mut sum) = (trace.events(), 0u64, 0u64);
    for thread in names.members_of(role) {
        events.off_cpu.for_each(events.off_cpu.of(thread), |_, key, times| {
            let key = events.key(key);
            if times.wait_ns > 0 && counts(&key) && names.is_at(key.stack(), at) {
                (count, sum) = (count + 1, sum.saturating_add(times.wait_ns));
            }
        });
    }
    (count, sum)
}
