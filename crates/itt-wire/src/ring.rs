//! A ring's slot as the program uses it: who writes which word, in which order. The collector's side is the reader.
//!
//! The program publishes what it wrote into a ring by its store to the slot's head; the collector gives it back by its tail. A slot
//! whose ring was left and drained is given to another thread; while that happens its sequence number is odd.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};

use crate::layout::slot;

/// A 64-bit word of the shared file, so that loom can stand in for the machine in tests.
pub trait Word {
    /// Its value.
    fn load(&self, ordering: Ordering) -> u64;
    /// Another value.
    fn store(&self, value: u64, ordering: Ordering);
    /// Adds to it.
    fn add(&self, value: u64, ordering: Ordering);
    /// Sets bits of it.
    fn set(&self, bits: u64, ordering: Ordering);
}

macro_rules! word {
    ($atomic:ty) => {
        impl Word for $atomic {
            #[inline(always)]
            fn load(&self, ordering: Ordering) -> u64 {
                self.load(ordering)
            }

            #[inline(always)]
            fn store(&self, value: u64, ordering: Ordering) {
                self.store(value, ordering);
            }

            #[inline(always)]
            fn add(&self, value: u64, ordering: Ordering) {
                self.fetch_add(value, ordering);
            }

            #[inline(always)]
            fn set(&self, bits: u64, ordering: Ordering) {
                self.fetch_or(bits, ordering);
            }
        }
    };
}

word!(AtomicU64);
#[cfg(test)]
word!(loom::sync::atomic::AtomicU64);

/// A slot of the shared file.
#[derive(Debug)]
#[repr(C)]
pub struct Slot<W = AtomicU64>([W; slot::WORDS]);

impl<W: Word> Slot<W> {
    #[cfg(test)]
    pub(crate) fn of(words: [W; slot::WORDS]) -> Self {
        Self(words)
    }

    /// The word with this number.
    #[inline(always)]
    pub fn word(&self, number: usize) -> &W {
        self.0.get(number).unwrap_or(&self.0[0])
    }

    /// What the thread has written into the ring up to `head` can be read.
    #[inline(always)]
    pub fn publish(&self, head: u64) {
        self.word(slot::HEAD).store(head, Release);
    }

    /// How far the collector has read; `None` while it is just saying it, or never has.
    pub fn tail(&self) -> Option<u64> {
        let tail = self.word(slot::TAIL).load(Acquire);
        let is_whole = tail == !self.word(slot::TAIL_CHECK).load(Relaxed);
        (is_whole && tail <= self.word(slot::HEAD).load(Relaxed)).then_some(tail)
    }

    /// The thread will not write into the ring any more.
    pub fn close(&self) {
        self.word(slot::THREAD).set(1 << 32, Release);
    }

    /// Whether a thread has left the ring, of this capacity, and all that it wrote was read.
    pub fn is_free(&self, capacity: u64) -> bool {
        self.word(slot::THREAD).load(Acquire) >> 32 != 0
            && self.word(slot::CAPACITY).load(Relaxed) == capacity
            && self.tail().is_some_and(|tail| tail == self.word(slot::HEAD).load(Relaxed))
    }

    /// Gives the ring to the thread `tid`. Returns the head that it goes on from.
    pub fn give(&self, tid: u32) -> u64 {
        self.word(slot::SEQUENCE).add(1, Release);
        self.word(slot::THREAD).store(u64::from(tid), Release);
        self.word(slot::SEQUENCE).add(1, Release);
        self.word(slot::HEAD).load(Relaxed)
    }
}
