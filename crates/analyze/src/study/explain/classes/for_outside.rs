//! Which threads others wait for whom nobody sees: outside of the recording, or in the queue of a worker.

use dwell_model::{Outcome, Syscall};
use dwell_query::stacks::object::object_type;
use dwell_store::EventKey;

use crate::study::explain::children::is_for_child;
use crate::study::explain::classes::Classes;
use crate::study::explain::sleeps::is_ended_sleep;
use crate::study::explain::terms::{asks, parks_threads};
use crate::study::explain::wait_ends::waited_for;

/// Calls that wait for a few descriptors.
const POLLS: &[&str] = &["poll", "ppoll", "select", "pselect6"];

impl Classes<'_, '_> {
    /// Whether waits of a key are sleeps, or waits for children, of a thread whose role others from outside the recording ask, or waits in
    /// vain of one that does nothing but answer a connection.
    pub fn keeps_outside(&self, thread: usize, key: u32) -> bool {
        let key = self.trace.events().key(key);
        if is_for_child(self.trace, &key) {
            return self.waiting_parents.contains(&thread) || self.serves_outside(thread);
        }
        let kind = object_type(self.trace, key.object());
        let in_vain = parks_threads(kind) && Outcome::from_code(key.outcome()) == Outcome::TimedOut;
        (is_ended_sleep(self.trace, &key) && (self.serves_outside(thread) || self.is_busy_worker(thread)))
            || (in_vain && self.asked_from_outside.has_connection(thread))
            || (self.times_out_in_callback(thread, &key) && self.serves_outside(thread))
    }

    /// Whether waits of a key end by time-outs within what a thread's loop of events called: the loop itself waits by another call. Who is
    /// to answer tells more of a wait for an answer.
    pub fn times_out_in_callback(&self, thread: usize, key: &EventKey) -> bool {
        let polls = || key.syscall() >= 0 && POLLS.contains(&Syscall::name_of(key.syscall()).as_str());
        Outcome::from_code(key.outcome()) == Outcome::TimedOut
            && self.listening_loops.contains(&thread)
            && !asks(waited_for(self.trace, key))
            && polls()
    }

    /// Whether the thread is a worker that hardly ever is without work, for which nobody is seen to wait.
    pub fn is_busy_worker(&self, thread: usize) -> bool {
        self.busy_workers.contains(&thread)
    }

    /// Whether others from outside the recording ask the thread's role, or one for which it works.
    pub fn serves_outside(&self, thread: usize) -> bool {
        self.request_goroutines.contains(&thread)
            || self.asked_from_outside.has(thread, (self.role_of)(thread), self.trace.threads.process[thread])
    }
}
