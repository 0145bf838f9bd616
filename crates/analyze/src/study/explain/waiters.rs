//! Whose waits are asked about: a role, a thread, or those who wait for an object, by name.

use dwell_query::question::handles::{HandleMeaning, object_named, thread_named};
use dwell_store::{EventKey, Trace};
use dwell_view::glob;

use crate::study::explain::names::Names;

/// The threads and objects of a name, which may have `*`, or of a handle that is no name.
pub struct Waiters {
    threads: Vec<bool>,
    objects: Vec<bool>,
}

impl Waiters {
    /// Those that `name` matches.
    pub fn new(trace: &Trace, names: &Names<'_, '_>, name: &str) -> Self {
        let is_thread =
            |thread: usize| glob(name, names.role(names.role_of(thread))) || glob(name, &trace.threads.name[thread]);
        let mut threads: Vec<bool> = (0..trace.threads.tid.len()).map(is_thread).collect();
        let mut objects: Vec<bool> = trace.objects.name.iter().map(|object| glob(name, object)).collect();
        if !threads.iter().chain(&objects).any(|it| *it) {
            if let HandleMeaning::Row(row) = thread_named(trace, name) {
                threads[row] = true;
            }
            if let HandleMeaning::Row(row) = object_named(trace, name) {
                objects[row] = true;
            }
        }
        Self { threads, objects }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        !self.threads.iter().chain(&self.objects).any(|it| *it)
    }

    /// Whether a wait of `thread` is theirs.
    pub fn has(&self, thread: usize, key: &EventKey) -> bool {
        let is_one = |of: &[bool], row: Option<usize>| row.is_some_and(|row| of.get(row).copied().unwrap_or(false));
        is_one(&self.threads, Some(thread)) || is_one(&self.objects, key.object().get())
    }
}
