//! Work that one thread requests and others do (`__itt_stack_caller_create`, `__itt_stack_callee_enter`).
//!
//! While a thread does such work, its stacks appear below the stack of the request. The outermost frames of its own stack,
//! where it takes up work, say nothing of the work: its last stack outside of such work has them, too.

use std::collections::HashMap;

use dwell_model::ThreadId;

use super::counted::UnkeptCounts;
use super::event_context::EventContext;
use crate::replay::threads::ImageId;

/// At least so many of the newest requests are known, at most twice as many.
const ASKED_KEPT: usize = 1 << 19;
/// Most pieces of such work that a thread is within.
const MOST_ENTERED: usize = 64;

/// The stack that another one appears below; none when `stack` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CreatorStack {
    /// Key of the user stack that requested the work.
    pub stack: u64,
    /// Key of the last user stack of the thread outside of such work, 0 when there is none.
    pub base: u64,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    image: ImageId,
    /// Its last user stack outside of such work.
    base: u64,
    /// Ids of the work that it is within, and who requested it.
    entered: Vec<(u64, CreatorStack)>,
}

/// Who requested which work, and who does it.
#[derive(Default)]
pub struct Stitches {
    asked: HashMap<(u32, u64), u64>,
    /// The requests before those in `asked`.
    asked_before: HashMap<(u32, u64), u64>,
    threads: Vec<Thread>,
}

impl Stitches {
    /// The work `id` of process `tgid` was requested at this stack.
    pub fn ask(&mut self, tgid: u32, id: u64, stack: u64) {
        if self.asked.len() >= ASKED_KEPT {
            self.asked_before = std::mem::take(&mut self.asked);
        }
        self.asked.insert((tgid, id), stack);
    }

    fn of_thread(&mut self, thread: ThreadId, image: ImageId) -> &mut Thread {
        let row = thread.get().unwrap_or(0);
        if row >= self.threads.len() {
            self.threads.resize(row + 1, Thread::default());
        }
        let thread = &mut self.threads[row];
        if thread.image != image {
            *thread = Thread { image, ..Thread::default() };
        }
        thread
    }

    /// The thread begins to do the work `id`.
    pub fn enter(&mut self, context: &EventContext, id: u64, counted: &mut UnkeptCounts) {
        let asked = self.asked.get(&(context.tgid, id)).or_else(|| self.asked_before.get(&(context.tgid, id)));
        counted.askers += u64::from(asked.is_none() && id != 0);
        let stack = asked.copied().unwrap_or(0);
        let thread = self.of_thread(context.thread, context.image);
        if thread.entered.len() >= MOST_ENTERED {
            thread.entered.remove(0);
        }
        let base = thread.base;
        thread.entered.push((id, CreatorStack { stack, base }));
    }

    /// It has done it.
    pub fn leave(&mut self, context: &EventContext, id: u64) {
        let thread = self.of_thread(context.thread, context.image);
        if let Some(at) = thread.entered.iter().rposition(|(entered, _)| *entered == id) {
            thread.entered.truncate(at);
        }
    }

    /// Events of the thread are lost: what it is within is not known any more.
    pub fn lose(&mut self, context: &EventContext) {
        self.of_thread(context.thread, context.image).entered.clear();
    }

    /// The thread, of a program, is seen at this user stack. Returns who requested its work.
    pub fn asker(&mut self, thread: ThreadId, image: ImageId, stack: u64) -> CreatorStack {
        let thread = self.of_thread(thread, image);
        match thread.entered.last() {
            Some((_, asker)) => *asker,
            None => {
                thread.base = stack;
                CreatorStack::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> EventContext {
        EventContext {
            thread: ThreadId::new(0),
            process: dwell_model::ProcessId::new(0),
            tgid: 5,
            source: 0,
            image: 0,
            image_ns: 0,
            now_ns: 0,
            at_ns: 0,
            was_there: false,
        }
    }

    /// Programs number what they ask for without end: the newest askings are known, and what is not is counted.
    #[test]
    fn the_newest_askings_are_known() {
        let (mut stitches, mut counted) = (Stitches::default(), UnkeptCounts::default());
        for id in 1..=3 * ASKED_KEPT as u64 {
            stitches.ask(5, id, id + 7);
        }
        for (id, stack) in [(1, 0), (2 * ASKED_KEPT as u64 + 1, 2 * ASKED_KEPT as u64 + 8), (0, 0)] {
            stitches.enter(&context(), id, &mut counted);
            assert_eq!(stitches.asker(ThreadId::new(0), 0, 9).stack, stack);
            stitches.leave(&context(), id);
        }
        assert_eq!(counted.askers, 1);
    }
}
