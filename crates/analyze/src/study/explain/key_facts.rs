//! What the keys of rows tell of their waits, each looked up once.

use dwell_model::{ObjectType, Outcome};
use dwell_query::stacks::channels::{calls_synchronously, hands_to_queue};
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use crate::study::explain::classes::Classes;
use crate::study::explain::names::Names;
use crate::study::explain::terms::Link;

/// What a key tells of its waits.
#[derive(Clone, Copy)]
pub struct KeyFacts {
    /// Who waited for what, and where.
    pub link: Link,
    /// What kind of thing that is.
    pub object_type: ObjectType,
    /// How the waits ended.
    pub outcome: Outcome,
    /// Who ended them: another thread.
    pub waker: Option<usize>,
    /// Who had what was waited for: another thread.
    pub holder: Option<usize>,
}

/// The facts of keys that were met, by number.
pub struct KnownKeys<'t> {
    trace: &'t Trace,
    facts: Vec<Option<KeyFacts>>,
}

impl<'t> KnownKeys<'t> {
    /// None is known yet.
    pub fn new(trace: &'t Trace) -> Self {
        Self { trace, facts: vec![None; trace.events().keys.len()] }
    }

    /// What a key tells.
    pub fn of(&mut self, number: u32, names: &mut Names<'_, '_>, classes: &Classes<'_, '_>) -> KeyFacts {
        if let Some(Some(known)) = self.facts.get(number as usize) {
            return *known;
        }
        let facts = facts(self.trace, &self.trace.events().key(number), names, classes);
        if let Some(place) = self.facts.get_mut(number as usize) {
            *place = Some(facts);
        }
        facts
    }
}

fn facts(trace: &Trace, key: &EventKey, names: &mut Names<'_, '_>, classes: &Classes<'_, '_>) -> KeyFacts {
    let (threads, thread) = (trace.threads.tid.len(), key.thread().get().unwrap_or(usize::MAX));
    let other = |found: Option<usize>| found.filter(|found| *found != thread && *found < threads);
    let (label, place) = (names.label_of(key.object(), key.syscall()), names.place_of(key.stack()));
    if classes.is_lock(key) {
        names.note_lock(label, place);
    }
    if classes.dialogues().is_handed_on(key.object()) {
        names.note_handed_on(label, place);
    }
    if calls_synchronously(trace, key.stack()) {
        names.note_question(label, place);
    }
    if hands_to_queue(trace, key.stack()) {
        names.note_queue_put(label, place);
    }
    KeyFacts {
        link: Link { role: names.role_of(thread), label, place },
        object_type: object_type(trace, key.object()),
        outcome: Outcome::from_code(key.outcome()),
        waker: other(key.waker().get()),
        holder: other(key.holder().get()),
    }
}
