//! What the keys of rows tell of their waits, each looked up once.

use dwell_model::{ObjectType, Outcome, StackId, ThreadId};
use dwell_query::stacks::channels::{calls_synchronously, hands_to_queue};
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use crate::study::explain::classes::Classes;
use crate::study::explain::names::Names;
use crate::study::explain::terms::{Link, NOTHING};

/// What a key tells of its waits.
#[derive(Clone, Copy)]
pub struct KeyFacts {
    /// Who waited for what, and where.
    pub link: Link,
    /// What kind of thing that is.
    pub object_type: ObjectType,
    /// How the waits ended.
    pub outcome: Outcome,
    waker: ThreadId,
    holder: ThreadId,
}

impl KeyFacts {
    /// Those of keys that have no waits.
    const NONE: Self = Self {
        link: Link { role: NOTHING, label: NOTHING, place: NOTHING },
        object_type: ObjectType::Unknown,
        outcome: Outcome::Unknown,
        waker: ThreadId::NONE,
        holder: ThreadId::NONE,
    };

    /// Who ended the waits: another thread.
    pub fn waker(&self) -> Option<usize> {
        self.waker.get()
    }

    /// Who had what was waited for: another thread.
    pub fn holder(&self) -> Option<usize> {
        self.holder.get()
    }
}

/// The facts of all keys, by number. Made before anybody walks: names know all of them then, whoever asks first.
pub struct KnownKeys {
    facts: Vec<KeyFacts>,
}

impl KnownKeys {
    /// Those of a trace; the places where threads run are looked up, too.
    pub fn new(trace: &Trace, names: &mut Names<'_, '_>, classes: &Classes<'_, '_>) -> Self {
        let of_key = |key: &EventKey| match key.reason() {
            Some(_) => facts(trace, key, names, classes),
            None => KeyFacts::NONE,
        };
        let keys = &trace.events().keys;
        let facts = keys.iter().map(of_key).collect();
        keys.iter().map(EventKey::stack).chain([StackId::NONE]).for_each(|stack| {
            names.run_place_of(stack);
        });
        Self { facts }
    }

    /// What a key tells.
    pub fn of(&self, number: u32) -> KeyFacts {
        self.facts.get(number as usize).copied().unwrap_or(KeyFacts::NONE)
    }
}

fn facts(trace: &Trace, key: &EventKey, names: &mut Names<'_, '_>, classes: &Classes<'_, '_>) -> KeyFacts {
    let (threads, thread) = (trace.threads.tid.len(), key.thread().get().unwrap_or(usize::MAX));
    let other = |found: ThreadId| match found.get() {
        Some(row) if row != thread && row < threads => found,
        _ => ThreadId::NONE,
    };
    let (label, place) = (names.label_of(key.object(), key.syscall()), names.place_of(key.stack()));
    if classes.is_lock(key) || classes.dialogues().is_lock_in(key.object(), key.stack()) {
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
        waker: other(key.waker()),
        holder: other(key.holder()),
    }
}
