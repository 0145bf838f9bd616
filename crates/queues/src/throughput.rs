//! How many messages a second threads pass one another: through a queue with a lock around it, and through one without.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::bounded::Bounded;
use crate::locked::Locked;

/// Who passes messages, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    /// Threads that send, and as many that receive.
    pub pairs: usize,
    /// Messages that the queue holds.
    pub buffer: usize,
    /// For how long.
    pub time: Duration,
}

/// How often a thread looks again before it lets the CPU go.
const SPINS: u32 = 100;

/// What a queue must do here.
trait Queue: Sync {
    /// Sends, or gives up when `going` ends.
    fn send(&self, word: u64, going: &AtomicBool) -> bool;
    /// Receives, or gives up.
    fn receive(&self, going: &AtomicBool) -> bool;
}

impl Queue for Bounded {
    fn send(&self, word: u64, going: &AtomicBool) -> bool {
        until(going, || self.send(word))
    }

    fn receive(&self, going: &AtomicBool) -> bool {
        until(going, || self.receive().is_some())
    }
}

fn until(going: &AtomicBool, mut done: impl FnMut() -> bool) -> bool {
    let mut spins = 0;
    while !done() {
        if !going.load(Ordering::Relaxed) {
            return false;
        }
        spins += 1;
        if spins % SPINS == 0 { thread::yield_now() } else { std::hint::spin_loop() }
    }
    true
}

/// Threads that sleep are woken at the end by a last message of each sender: [`LAST`].
const LAST: u64 = u64::MAX;

impl Queue for Locked {
    fn send(&self, word: u64, going: &AtomicBool) -> bool {
        let goes = going.load(Ordering::Relaxed);
        self.send(if goes { word } else { LAST });
        goes
    }

    fn receive(&self, _: &AtomicBool) -> bool {
        self.receive() != LAST
    }
}

/// Messages a second through a queue with a lock around it.
///
/// # Errors
///
/// No memory for a thread.
pub fn locked(crowd: &Crowd) -> io::Result<u64> {
    measure(&Locked::new(crowd.buffer), crowd)
}

/// Messages a second through a queue without locks.
///
/// # Errors
///
/// No memory for a thread.
pub fn lock_free(crowd: &Crowd) -> io::Result<u64> {
    measure(&Bounded::<AtomicU64>::new(crowd.buffer), crowd)
}

fn measure(queue: &impl Queue, crowd: &Crowd) -> io::Result<u64> {
    let going = AtomicBool::new(true);
    let received = AtomicU64::new(0);
    let elapsed = thread::scope(|scope| {
        let receive = || {
            let mut count = 0;
            while queue.receive(&going) {
                count += 1;
            }
            received.fetch_add(count, Ordering::Relaxed);
        };
        let send = || {
            let mut word = 0;
            while queue.send(word, &going) {
                word += 1;
            }
        };
        let named = |name: &str| thread::Builder::new().name(name.into());
        let pairs = 0..crowd.pairs.max(1);
        let receivers = pairs.clone().map_while(|_| named("queue-receiver").spawn_scoped(scope, receive).ok()).count();
        let senders = (0..receivers).map_while(|_| named("queue-sender").spawn_scoped(scope, send).ok()).count();
        let all = senders == pairs.len();
        let begun = Instant::now();
        if all {
            thread::sleep(crowd.time);
        }
        going.store(false, Ordering::Relaxed);
        // Receivers for whom there was no sender sleep, too.
        for _ in senders..receivers {
            queue.send(0, &going);
        }
        if all { Ok(begun.elapsed()) } else { Err(io::Error::other("no memory for a thread")) }
    });
    Ok((received.into_inner() as f64 / elapsed?.as_secs_f64()).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_pass_through_both_and_all_threads_end() {
        for pairs in [1, 3] {
            let crowd = Crowd { pairs, buffer: 10, time: Duration::from_millis(50) };
            assert!(locked(&crowd).expect("threads") > 0);
            assert!(lock_free(&crowd).expect("threads") > 0);
        }
    }
}
