//! Whether a thread has a request: what it waits for then is for that.

use std::collections::HashSet;

use dwell_model::StackId;
use dwell_query::stacks::object::object_type;
use dwell_store::EventKey;

use super::{Classes, LOOKED_AT};
use crate::study::explain::asked_from_outside::is_from_outside;
use crate::study::explain::terms::{WaitClass, is_client_socket, is_of_event_loop, parks_threads, serves};
use crate::study::explain::wait_ends::{waited_for, waker_of};

impl Classes<'_, '_> {
    /// Whether a thread waits for another one of its role within a request: it read that from a connection, and has not gone for
    /// more since. So do threads of a server that wait for one another's locks, each by an object of its own.
    pub(super) fn is_within_request(&self, thread: usize, row: usize, key: u32) -> bool {
        if !self.request_readers.contains(&thread) {
            return false;
        }
        let rows = &self.trace.events().off_cpu;
        // A look at the clock within the wait is a part of it.
        let end = self.wait_ends.ended_by(thread, row);
        let key = if end == row { key } else { rows.key(end) };
        let may_be = self.for_role_mate.get(key as usize).copied().unwrap_or(false);
        may_be
            && self
                .request_before(thread, row)
                .is_some_and(|given| self.reads_request(&self.trace.events().off_cpu_key(given)))
    }

    /// Whether a goroutine that is owed no answer reads from a connection: it does so for whoever asked.
    pub(super) fn reads_for_others(&self, key: &EventKey, name: &str) -> bool {
        is_client_socket(name) && key.thread().get().is_some_and(|thread| thread < self.trace.fiber_threads)
    }

    /// Whether another role ended the thread's wait, or somebody outside the recording over a connection that was accepted.
    pub(super) fn is_given_by_others(&self, key: &EventKey) -> bool {
        let Some(thread) = key.thread().get() else { return false };
        match waker_of(key) {
            Some(waker) => (self.role_of)(thread) != (self.role_of)(waker),
            None => is_from_outside(key) && serves(waited_for(self.trace, key)),
        }
    }

    /// Whether a wait of the key was ended by another role through one descriptor: what it waited for is a request.
    pub(super) fn reads_request(&self, key: &EventKey) -> bool {
        self.is_given_by_others(key)
            && !parks_threads(object_type(self.trace, key.object()))
            && !is_of_event_loop(key.syscall())
    }

    pub(super) fn is_for_role_mate(&self, key: &EventKey) -> bool {
        let Some((thread, waker)) = key.thread().get().zip(waker_of(key)) else { return false };
        parks_threads(object_type(self.trace, key.object())) && (self.role_of)(thread) == (self.role_of)(waker)
    }

    /// The wait by which another role gave the thread the work that it has before `row`; none where it waits for more there, or
    /// has gone for more since.
    pub(super) fn request_before(&self, thread: usize, row: usize) -> Option<usize> {
        let (events, rows) = (self.trace.events(), &self.trace.events().off_cpu);
        let before = (rows.of(thread).start..row).rev().take(LOOKED_AT).filter(|before| rows.wait_ns(*before) > 0);
        let of_others = |before: &usize| {
            self.of(thread, *before, rows.key(*before)) == WaitClass::Idle
                && self.is_given_by_others(&events.off_cpu_key(*before))
        };
        let given = before.clone().find(of_others)?;
        // Where it waits for more work, it has none. A thread of Ruby sleeps on that object, too, but at another place.
        let object = events.off_cpu_key(given).object();
        let of_object = |row: &usize| events.off_cpu_key(*row).object() == object;
        let stack = |row: usize| events.off_cpu_key(row).stack();
        let listened: HashSet<StackId> = before.clone().filter(of_object).filter(of_others).map(stack).collect();
        let listens = |row: usize| of_object(&row) && listened.contains(&stack(row));
        let has_more = listens(row) || before.take_while(|before| *before > given).any(listens);
        (!has_more).then_some(given)
    }
}
