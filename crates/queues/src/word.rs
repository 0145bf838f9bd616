//! The one thing that the lock-free queues are made of, so that loom can stand in for the machine in tests.

use std::sync::atomic::{AtomicU64, Ordering};

/// A 64-bit word that threads share.
pub trait Word: Send + Sync {
    /// One with a value.
    fn new(value: u64) -> Self;
    /// Its value.
    fn load(&self, ordering: Ordering) -> u64;
    /// Another value.
    fn store(&self, value: u64, ordering: Ordering);
    /// `new` in place of `old`, or what is there instead.
    fn exchange(&self, old: u64, new: u64) -> Result<u64, u64>;
}

macro_rules! word {
    ($atomic:ty) => {
        impl Word for $atomic {
            fn new(value: u64) -> Self {
                <$atomic>::new(value)
            }

            #[inline(always)]
            fn load(&self, ordering: Ordering) -> u64 {
                self.load(ordering)
            }

            #[inline(always)]
            fn store(&self, value: u64, ordering: Ordering) {
                self.store(value, ordering);
            }

            #[inline(always)]
            fn exchange(&self, old: u64, new: u64) -> Result<u64, u64> {
                self.compare_exchange_weak(old, new, Ordering::Relaxed, Ordering::Relaxed)
            }
        }
    };
}

word!(AtomicU64);
#[cfg(test)]
word!(loom::sync::atomic::AtomicU64);

/// Two cache lines of its own, since processors fetch them in pairs: who writes one word does not take its neighbour away.
#[derive(Debug)]
#[repr(align(128))]
pub struct Apart<W>(pub W);
