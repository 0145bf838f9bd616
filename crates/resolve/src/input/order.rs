//! Puts the records of all CPUs into the order of time.
//!
//! The collector drains the rings of the CPUs one after another, in rounds: within a round records are interleaved, and
//! behind a ROUND mark nothing earlier than the mark should come. Records older than the latest mark minus
//! [`HOLD_BACK_NS`] are released; a record that comes later still is moved up to the release line and counted, so that time never runs back.

use super::event::Event;

/// How far the release line stays behind the latest mark.
const HOLD_BACK_NS: u64 = 10_000_000;
/// Records held when no mark comes at all; beyond it the older half is released.
const MOST_PENDING: usize = 4 << 20;

/// The records that wait for earlier ones.
pub struct EventOrder {
    pending: Vec<Event>,
    /// Known from the start, latest first.
    known: Vec<Event>,
    line: u64,
    /// Records that came behind the release line.
    pub late_records: u64,
}

impl EventOrder {
    /// `known` are the events of the meta stream, which is read first.
    pub fn new(mut known: Vec<Event>) -> Self {
        known.sort_by_key(Event::key);
        known.reverse();
        Self { pending: Vec::new(), known, line: 0, late_records: 0 }
    }

    /// Takes a record in.
    pub fn push(&mut self, mut event: Event) {
        if event.time() < self.line {
            self.late_records += 1;
            event.set_time(self.line);
        }
        self.pending.push(event);
    }

    /// Hands out, in order, what the mark at `round_ns` allows.
    pub fn release(&mut self, round_ns: u64, take: &mut dyn FnMut(Event)) {
        let mut line = round_ns.saturating_sub(HOLD_BACK_NS);
        if self.pending.len() > MOST_PENDING {
            let middle = self.pending.len() / 2;
            self.pending.sort_by_key(Event::key);
            line = line.max(self.pending[middle].time());
        }
        self.release_to(line, take);
    }

    /// Hands out the rest.
    pub fn finish(&mut self, take: &mut dyn FnMut(Event)) {
        self.release_to(u64::MAX, take);
    }

    fn release_to(&mut self, line: u64, take: &mut dyn FnMut(Event)) {
        if line < self.line {
            return;
        }
        while let Some(event) = self.known.pop_if(|event| event.time() <= line) {
            self.pending.push(event);
        }
        self.pending.sort_by_key(Event::key);
        let ready = self.pending.partition_point(|event| event.time() <= line);
        self.pending.drain(..ready).for_each(take);
        self.line = line;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(order: &mut EventOrder, round_ns: u64) -> Vec<u64> {
        let mut times = Vec::new();
        order.release(round_ns, &mut |event| times.push(event.time()));
        times
    }

    #[test]
    fn what_is_older_than_the_hold_back_comes_in_order() {
        let mut order = EventOrder::new(vec![Event::Resume(7), Event::Pause(2)]);
        for time in [9, 3, 5] {
            order.push(Event::Pause(time));
        }
        assert_eq!(times(&mut order, HOLD_BACK_NS + 5), [2, 3, 5]);
        order.push(Event::Pause(4));
        assert_eq!(order.late_records, 1);
        assert_eq!(times(&mut order, HOLD_BACK_NS + 8), [5, 7]);
        let mut rest = Vec::new();
        order.finish(&mut |event| rest.push(event.time()));
        assert_eq!(rest, [9]);
    }

    #[test]
    fn an_earlier_mark_releases_nothing() {
        let mut order = EventOrder::new(vec![]);
        order.push(Event::Pause(1));
        assert_eq!(times(&mut order, HOLD_BACK_NS + 1), [1]);
        assert_eq!(times(&mut order, 0), [0u64; 0]);
    }
}
