//! A single-threaded queue with a lock around it and threads that sleep until it has room, or something in it: what the others
//! are compared with.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

/// The queue.
pub struct Locked {
    words: Mutex<VecDeque<u64>>,
    most: usize,
    room: Condvar,
    filled: Condvar,
}

impl Locked {
    /// A queue of at most `most` words.
    pub fn new(most: usize) -> Self {
        let most = most.max(1);
        let words = Mutex::new(VecDeque::with_capacity(most));
        Self { words, most, room: Condvar::new(), filled: Condvar::new() }
    }

    /// Sends `word`, when there is room for it.
    pub fn send(&self, word: u64) {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |words: &mut VecDeque<u64>| words.len() == self.most;
        let mut words = self.room.wait_while(words, full).unwrap_or_else(PoisonError::into_inner);
        words.push_back(word);
        drop(words);
        self.filled.notify_one();
    }

    /// Receives the oldest word, when there is one.
    pub fn receive(&self) -> u64 {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let empty = |words: &mut VecDeque<u64>| words.is_empty();
        let mut words = self.filled.wait_while(words, empty).unwrap_or_else(PoisonError::into_inner);
        let word = words.pop_front().unwrap_or_default();
        drop(words);
        self.room.notify_one();
        word
    }
}
