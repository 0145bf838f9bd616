//! A wait cut into parts that have one cause each. What is claimed first stays; what nobody claims is the last's. So the
//! parts add up to the wait, whatever the claims are.

use std::ops::Range;

use dwell_model::{ObjectId, SocketCause, ThreadId};

/// What a part was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The cause.
    pub cause: SocketCause,
    /// Whether it was seen, else inferred.
    pub exact: bool,
    /// Thread of the other end that it is about.
    pub thread: ThreadId,
    /// What that thread waited on.
    pub object: ObjectId,
}

impl Reason {
    /// A cause that was seen.
    pub fn seen(cause: SocketCause) -> Self {
        Self { cause, exact: true, thread: ThreadId::NONE, object: ObjectId::NONE }
    }

    /// A cause that other observations lead to.
    pub fn inferred(cause: SocketCause) -> Self {
        Self { exact: false, ..Self::seen(cause) }
    }

    /// The same, of a thread of the other end and what it waited on.
    pub fn of(self, thread: ThreadId, object: ObjectId) -> Self {
        Self { thread, object, ..self }
    }
}

/// The parts of one wait.
#[derive(Clone, Debug)]
pub struct WaitParts {
    /// What has no cause yet, in order.
    free: Vec<Range<u64>>,
    /// Time of each reason.
    pub found: Vec<(Reason, u64)>,
}

impl WaitParts {
    /// The whole wait, without a cause.
    pub fn new(wait: Range<u64>) -> Self {
        Self { free: if wait.is_empty() { Vec::new() } else { vec![wait] }, found: Vec::new() }
    }

    /// What has no cause yet.
    pub fn free(&self) -> Vec<Range<u64>> {
        self.free.clone()
    }

    /// Gives this cause to the parts of `range` that have no cause yet.
    pub fn claim(&mut self, range: Range<u64>, reason: Reason) {
        let mut left = Vec::with_capacity(self.free.len() + 1);
        let mut claimed = 0;
        for free in &self.free {
            let (from, to) = (range.start.clamp(free.start, free.end), range.end.clamp(free.start, free.end));
            if from >= to {
                left.push(free.clone());
                continue;
            }
            claimed += to - from;
            left.extend([free.start..from, to..free.end].into_iter().filter(|piece| !piece.is_empty()));
        }
        self.free = left;
        self.add(reason, claimed);
    }

    /// Everything that is left has this cause.
    pub fn rest(&mut self, reason: Reason) {
        let left = self.free.drain(..).map(|free| free.end - free.start).sum();
        self.add(reason, left);
    }

    fn add(&mut self, reason: Reason, time_ns: u64) {
        if time_ns == 0 {
            return;
        }
        match self.found.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, sum)) => *sum += time_ns,
            None => self.found.push((reason, time_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_claim_stays() {
        let mut parts = WaitParts::new(10..30);
        parts.claim(0..15, Reason::seen(SocketCause::DelayedAck));
        parts.claim(12..20, Reason::seen(SocketCause::PeerRunning));
        parts.rest(Reason::inferred(SocketCause::RoundTrip));
        let found: Vec<_> = parts.found.iter().map(|(reason, time_ns)| (reason.cause, *time_ns)).collect();
        let expected = [(SocketCause::DelayedAck, 5), (SocketCause::PeerRunning, 5), (SocketCause::RoundTrip, 10)];
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_wait(
            start in 0..1000u64,
            length in 0..1000u64,
            claims in prop::collection::vec((0..3000u64, 0..3000u64, 0..SocketCause::ALL.len()), 0..20),
        ) {
            let mut parts = WaitParts::new(start..start + length);
            for (from, to, cause) in claims {
                parts.claim(from..to, Reason::seen(SocketCause::ALL[cause]));
            }
            parts.rest(Reason::seen(SocketCause::Unexplained));
            prop_assert_eq!(parts.found.iter().map(|(_, time_ns)| time_ns).sum::<u64>(), length);
        }
    }
}
