//! Cancels computations that nobody awaits.
//!
//! Whoever waits keeps a [`Stop`]; the computing thread and the workers that it starts look at it now and then and
//! unwind once it is set. So nothing half made is ever seen, or kept in a cell that others read. It is no panic: the
//! panic hook is not called.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static OF_THREAD: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// Ends a computation from outside.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

/// What a stopped computation unwinds with.
struct Stopped;

impl Stop {
    /// Ends the computation, within a few milliseconds.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does `work`; `None` when `stop` was set meanwhile and it has left.
pub fn stoppable<T>(stop: &Stop, work: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(|| within(Some(stop.clone()), work))) {
        Ok(done) => Some(done),
        Err(left) if left.is::<Stopped>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// What may stop the computation of this thread.
pub(crate) fn current() -> Option<Stop> {
    OF_THREAD.with_borrow(Clone::clone)
}

/// Does `work`, which `stop` may stop.
pub(crate) fn within<T>(stop: Option<Stop>, work: impl FnOnce() -> T) -> T {
    /// Puts back what was there, also behind one who leaves.
    struct SavedStop(Option<Stop>);
    impl Drop for SavedStop {
        fn drop(&mut self) {
            OF_THREAD.set(self.0.take());
        }
    }
    let _before = SavedStop(OF_THREAD.replace(stop));
    work()
}

/// Leaves the computation of this thread when it was stopped: to be called every millisecond or so.
pub fn check() {
    let stopped = |stop: &Option<Stop>| stop.as_ref().is_some_and(|stop| stop.0.load(Ordering::Relaxed));
    if OF_THREAD.with_borrow(stopped) {
        resume_unwind(Box::new(Stopped));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel;

    #[test]
    fn what_is_stopped_leaves_with_all_its_workers() {
        let stop = Stop::default();
        let done = stoppable(&stop, || {
            parallel::map(100, |number| {
                if number == 7 {
                    stop.set();
                }
                if number >= 7 {
                    // Ends by being stopped only.
                    loop {
                        check();
                    }
                }
            })
        });
        assert!(done.is_none());
        check();
        assert_eq!(stoppable(&Stop::default(), || parallel::map(3, |number| number)), Some(vec![0, 1, 2]));
    }

    #[test]
    fn another_panic_is_not_taken_for_it() {
        let panicked = catch_unwind(|| stoppable(&Stop::default(), || resume_unwind(Box::new("other"))));
        assert!(panicked.is_err());
    }
}
