//! Answers that threads waited for one at a time: how many came, and how long each took.

use std::collections::HashSet;

use dwell_model::{ObjectId, Outcome};
use dwell_store::Trace;

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
    let objects: HashSet<ObjectId> = names.objects(label).iter().copied().collect();
    let (events, mut answers) = (trace.events(), AskedAnswers::default());
    for thread in names.members_of(role) {
        let before = answers.count;
        events.off_cpu.for_each(events.off_cpu.of(thread), |_, key, times| {
            let key = events.key(key);
            if times.wait_ns > 0
                && counts(times.wait_ns)
                && objects.contains(&key.object())
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
