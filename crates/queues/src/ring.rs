//! A ring of words for one sender and one receiver, without locks and without waiting.
//!
//! `sent` and `received` count for ever; a slot is their rest. The sender publishes a slot by its store to `sent`, the
//! receiver gives it back by its store to `received`. Each remembers the other's count, and reads it anew only when the ring
//! looks full or empty: in between, no cache line moves but those of the slots.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::word::{Apart, Word};

struct Ring<W> {
    slots: Box<[W]>,
    sent: Apart<W>,
    received: Apart<W>,
}

impl<W: Word> Ring<W> {
    fn slot(&self, count: u64) -> &W {
        &self.slots[(count % self.slots.len() as u64) as usize]
    }
}

/// The sending end.
pub struct Sender<W = AtomicU64> {
    ring: Arc<Ring<W>>,
    sent: u64,
    /// What the receiver had received when it was last looked at.
    received: u64,
}

/// The receiving end.
pub struct Receiver<W = AtomicU64> {
    ring: Arc<Ring<W>>,
    received: u64,
    /// What the sender had sent when it was last looked at.
    sent: u64,
}

/// The two ends of a ring of `slots` words, at least one.
pub fn ring<W: Word>(slots: usize) -> (Sender<W>, Receiver<W>) {
    let slots = (0..slots.max(1)).map(|_| W::new(0)).collect();
    let ring = Arc::new(Ring { slots, sent: Apart(W::new(0)), received: Apart(W::new(0)) });
    (Sender { ring: Arc::clone(&ring), sent: 0, received: 0 }, Receiver { ring, received: 0, sent: 0 })
}

impl<W: Word> Sender<W> {
    /// Sends `word`, unless the ring is full.
    #[inline(always)]
    pub fn send(&mut self, word: u64) -> bool {
        let slots = self.ring.slots.len() as u64;
        if self.sent - self.received == slots {
            self.received = self.ring.received.0.load(Acquire);
            if self.sent - self.received == slots {
                return false;
            }
        }
        self.ring.slot(self.sent).store(word, Relaxed);
        self.sent += 1;
        self.ring.sent.0.store(self.sent, Release);
        true
    }
}

impl<W: Word> Receiver<W> {
    /// Receives the oldest word, unless the ring is empty.
    #[inline(always)]
    pub fn receive(&mut self) -> Option<u64> {
        if self.sent == self.received {
            self.sent = self.ring.sent.0.load(Acquire);
            if self.sent == self.received {
                return None;
            }
        }
        let word = self.ring.slot(self.received).load(Relaxed);
        self.received += 1;
        self.ring.received.0.store(self.received, Release);
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Sends 1, 2, … through a ring and checks that they come so, each once.
    #[test]
    fn every_word_comes_once_and_in_order() {
        for slots in [1, 2, 3, 10, 1024] {
            let (mut sender, mut receiver) = ring::<AtomicU64>(slots);
            const WORDS: u64 = if cfg!(miri) { 20 } else { 50_000 };
            let sending = thread::spawn(move || {
                for word in 1..=WORDS {
                    while !sender.send(word) {
                        thread::yield_now();
                    }
                }
            });
            for expected in 1..=WORDS {
                let word = loop {
                    match receiver.receive() {
                        Some(word) => break word,
                        None => thread::yield_now(),
                    }
                };
                assert_eq!(word, expected, "{slots} slots");
            }
            assert_eq!(receiver.receive(), None);
            sending.join().expect("the sender");
        }
    }

    #[test]
    fn a_ring_holds_what_it_says() {
        let (mut sender, mut receiver) = ring::<AtomicU64>(3);
        assert!((1..=3).all(|word| sender.send(word)));
        assert!(!sender.send(4));
        assert_eq!(receiver.receive(), Some(1));
        assert!(sender.send(4) && !sender.send(5));
        assert_eq!(std::iter::from_fn(|| receiver.receive()).collect::<Vec<_>>(), [2, 3, 4]);
    }

    /// All interleavings of three words through two slots, with the reorderings that C11 allows.
    #[test]
    #[cfg_attr(miri, ignore = "loom switches stacks by itself")]
    fn no_interleaving_loses_or_doubles_a_word() {
        loom::model(|| {
            let (mut sender, mut receiver) = ring::<loom::sync::atomic::AtomicU64>(2);
            let sending = loom::thread::spawn(move || {
                (1..=3)
                    .map(|word| {
                        while !sender.send(word) {
                            loom::thread::yield_now();
                        }
                    })
                    .count()
            });
            let mut received = Vec::new();
            while received.len() < 3 {
                match receiver.receive() {
                    Some(word) => received.push(word),
                    None => loom::thread::yield_now(),
                }
            }
            assert_eq!(received, [1, 2, 3]);
            assert_eq!(sending.join().expect("the sender"), 3);
        });
    }
}
