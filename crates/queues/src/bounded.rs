//! A queue of words for any number of senders and receivers, without locks: Dmitry Vyukov's bounded queue. Each slot has a
//! turn: that of the sender that may fill it next, one more when it is full for that turn's receiver.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::word::{Apart, Word};

struct Slot<W> {
    turn: W,
    word: W,
}

/// The queue.
pub struct Bounded<W = AtomicU64> {
    slots: Box<[Apart<Slot<W>>]>,
    sent: Apart<W>,
    received: Apart<W>,
}

impl<W: Word> Bounded<W> {
    /// A queue of at least `slots` words: a power of two.
    pub fn new(slots: usize) -> Self {
        let slots = 0..slots.max(2).next_power_of_two() as u64;
        let slots = slots.map(|turn| Apart(Slot { turn: W::new(turn), word: W::new(0) })).collect();
        Self { slots, sent: Apart(W::new(0)), received: Apart(W::new(0)) }
    }

    fn slot(&self, count: u64) -> &Slot<W> {
        &self.slots[count as usize & (self.slots.len() - 1)].0
    }

    /// Takes the next count of `counter` whose slot has the turn `count + ahead`; none when that slot is behind.
    fn take(&self, counter: &W, ahead: u64) -> Option<u64> {
        let mut count = counter.load(Relaxed);
        loop {
            let turn = self.slot(count).turn.load(Acquire);
            count = match turn.cmp(&(count + ahead)) {
                std::cmp::Ordering::Less => return None,
                std::cmp::Ordering::Greater => counter.load(Relaxed),
                std::cmp::Ordering::Equal => match counter.exchange(count, count + 1) {
                    Ok(taken) => return Some(taken),
                    Err(other) => other,
                },
            };
        }
    }

    /// Sends `word`, unless the queue is full.
    pub fn send(&self, word: u64) -> bool {
        let Some(count) = self.take(&self.sent.0, 0) else { return false };
        let slot = self.slot(count);
        slot.word.store(word, Relaxed);
        slot.turn.store(count + 1, Release);
        true
    }

    /// Receives the oldest word, unless the queue is empty.
    pub fn receive(&self) -> Option<u64> {
        let count = self.take(&self.received.0, 1)?;
        let slot = self.slot(count);
        let word = slot.word.load(Relaxed);
        slot.turn.store(count + self.slots.len() as u64, Release);
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    /// Three senders, three receivers: every word comes once, and each sender's in order.
    #[test]
    fn every_word_comes_once() {
        const WORDS: u64 = if cfg!(miri) { 20 } else { 50_000 };
        let queue = Arc::new(Bounded::<AtomicU64>::new(8));
        let senders: Vec<_> = (0..3u64)
            .map(|sender| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || {
                    for word in 0..WORDS {
                        while !queue.send(sender << 32 | word) {
                            thread::yield_now();
                        }
                    }
                })
            })
            .collect();
        let receivers: Vec<_> = (0..3)
            .map(|_| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || {
                    let mut received = Vec::new();
                    while (received.len() as u64) < WORDS {
                        match queue.receive() {
                            Some(word) => received.push(word),
                            None => thread::yield_now(),
                        }
                    }
                    received
                })
            })
            .collect();
        senders.into_iter().for_each(|sender| sender.join().expect("a sender"));
        let mut all = Vec::new();
        for receiver in receivers {
            let received = receiver.join().expect("a receiver");
            for sender in 0..3 {
                assert!(received.iter().filter(|&&word| word >> 32 == sender).is_sorted());
            }
            all.extend(received);
        }
        all.sort_unstable();
        let expected: Vec<u64> = (0..3).flat_map(|sender| (0..WORDS).map(move |word| sender << 32 | word)).collect();
        assert_eq!(all, expected);
        assert_eq!(queue.receive(), None);
    }

    #[test]
    fn it_holds_what_it_says() {
        let queue = Bounded::<AtomicU64>::new(3);
        assert!((0..4).all(|word| queue.send(word)) && !queue.send(4));
        assert_eq!(std::iter::from_fn(|| queue.receive()).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    /// All interleavings of two senders and one receiver.
    #[test]
    #[cfg_attr(miri, ignore = "loom switches stacks by itself")]
    fn no_interleaving_loses_or_doubles_a_word() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let queue = loom::sync::Arc::new(Bounded::<loom::sync::atomic::AtomicU64>::new(2));
            let senders: Vec<_> = [1, 2]
                .map(|word| {
                    let queue = loom::sync::Arc::clone(&queue);
                    loom::thread::spawn(move || assert!(queue.send(word)))
                })
                .into();
            let mut received = Vec::new();
            while received.len() < 2 {
                match queue.receive() {
                    Some(word) => received.push(word),
                    None => loom::thread::yield_now(),
                }
            }
            received.sort_unstable();
            assert_eq!(received, [1, 2]);
            senders.into_iter().for_each(|sender| sender.join().expect("a sender"));
        });
    }
}
