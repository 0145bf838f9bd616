//! The one lock, for everything that is not an event.

use core::cell::UnsafeCell;

use crate::{header, thread};

struct Mutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: it is used by the functions for mutexes only.
unsafe impl Sync for Mutex {}

static LOCK: Mutex = Mutex(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));

/// This thread holds the lock, and is inside of a call.
pub struct Entered(());

impl Entered {
    /// Takes the lock; `None` when the call came from a signal handler that interrupted another one of this thread, which
    /// may hold it.
    pub fn new() -> Option<Self> {
        let is_first = thread::enter();
        let entered = if is_first { Self::inside() } else { None };
        if entered.is_none() {
            header::count_lost_name();
            if is_first {
                thread::leave();
            }
        }
        entered
    }

    /// Takes the lock, for a thread that is inside of a call already and stays so afterwards if it does not drop this.
    pub fn inside() -> Option<Self> {
        // A bare clone leaves a lock behind that nobody opens any more; in it, and when nothing is recorded, nothing waits.
        let taken = if header::may_have_lost_the_lock() {
            // SAFETY: an initialized mutex.
            unsafe { libc::pthread_mutex_trylock(LOCK.0.get()) }
        } else {
            // SAFETY: the same.
            unsafe { libc::pthread_mutex_lock(LOCK.0.get()) }
        };
        (taken == 0).then_some(Self(()))
    }

    /// Gives the lock back, but stays inside of the call.
    pub fn stay_inside(self) {
        unlock();
        core::mem::forget(self);
    }

    /// Gives nothing back: for a fork, until [`Entered::held`].
    pub fn stay_inside_and_locked(self) {
        core::mem::forget(self);
    }

    /// What [`Entered::stay_inside_and_locked`] left behind in this thread.
    pub fn held() -> Self {
        Self(())
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        unlock();
        thread::leave();
    }
}

fn unlock() {
    // SAFETY: this thread holds it.
    unsafe { libc::pthread_mutex_unlock(LOCK.0.get()) };
}

/// After a fork, in the child: nobody else is there who could hold it.
pub fn renew() {
    // SAFETY: there is no other thread.
    unsafe { LOCK.0.get().write(libc::PTHREAD_MUTEX_INITIALIZER) };
}
