//! Puts records into the order of time.
//!
//! perf drains the buffers of the CPUs one after another, in rounds: what one round has is not older than what the round
//! before the last had (tools/perf/util/ordered-events.c). So the end of a round releases what is no later than the latest record of
//! the round before it.

use std::mem::take;

/// Bytes of records held when no round ends; beyond it the older half is released.
const MOST_PENDING_BYTES: usize = 256 << 20;
/// What a record takes beside its bytes.
const OVERHEAD_BYTES: usize = 96;

/// A record that waits for earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// By perf's clock, ns.
    pub time_ns: u64,
    /// Its type.
    pub kind: u32,
    /// Its flags.
    pub misc: u16,
    /// The number of its event.
    pub event: usize,
    /// Everything behind its head.
    pub body: Vec<u8>,
}

/// The records that wait for earlier ones.
#[derive(Default)]
pub struct Order {
    pending: Vec<Pending>,
    bytes: usize,
    latest_ns: u64,
    round_before_ns: u64,
    line_ns: u64,
    /// Records that came behind the line up to which all was released; they are moved to it.
    pub late: u64,
}

impl Order {
    /// Takes a record in. Releases the older half where too much waits.
    pub fn push<E>(&mut self, mut record: Pending, give: &mut dyn FnMut(Pending) -> Result<(), E>) -> Result<(), E> {
        if record.time_ns != 0 && record.time_ns < self.line_ns {
            self.late += 1;
            record.time_ns = self.line_ns;
        }
        self.latest_ns = self.latest_ns.max(record.time_ns);
        self.bytes += record.body.len() + OVERHEAD_BYTES;
        self.pending.push(record);
        if self.bytes < MOST_PENDING_BYTES {
            return Ok(());
        }
        self.sort();
        let middle = self.pending[self.pending.len() / 2].time_ns;
        self.release(middle, give)
    }

    /// A round has ended.
    pub fn end_round<E>(&mut self, give: &mut dyn FnMut(Pending) -> Result<(), E>) -> Result<(), E> {
        self.sort();
        let line_ns = self.round_before_ns;
        self.round_before_ns = self.latest_ns;
        self.release(line_ns, give)
    }

    /// Hands out the rest.
    pub fn finish<E>(&mut self, give: &mut dyn FnMut(Pending) -> Result<(), E>) -> Result<(), E> {
        self.sort();
        self.release(u64::MAX, give)
    }

    fn sort(&mut self) {
        self.pending.sort_by_key(|record| record.time_ns);
    }

    fn release<E>(&mut self, line_ns: u64, give: &mut dyn FnMut(Pending) -> Result<(), E>) -> Result<(), E> {
        let ready = self.pending.partition_point(|record| record.time_ns <= line_ns);
        let rest = self.pending.split_off(ready);
        for record in std::mem::replace(&mut self.pending, rest) {
            self.bytes -= record.body.len() + OVERHEAD_BYTES;
            self.line_ns = self.line_ns.max(record.time_ns);
            give(record)?;
        }
        if self.pending.is_empty() {
            drop(take(&mut self.pending));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(order: &mut Order, times: &[u64]) -> Vec<u64> {
        let mut given = Vec::new();
        for &time_ns in times {
            let record = Pending { time_ns, ..Pending::default() };
            order.push(record, &mut |record| note(&mut given, &record)).expect("no error is made");
        }
        given
    }

    fn note(given: &mut Vec<u64>, record: &Pending) -> Result<(), ()> {
        given.push(record.time_ns);
        Ok(())
    }

    fn end_round(order: &mut Order) -> Vec<u64> {
        let mut given = Vec::new();
        order.end_round(&mut |record| note(&mut given, &record)).expect("no error is made");
        given
    }

    #[test]
    fn a_round_releases_what_the_round_before_it_had() {
        let mut order = Order::default();
        push(&mut order, &[5, 3, 9]);
        assert_eq!(end_round(&mut order), [0u64; 0]);
        push(&mut order, &[7, 12]);
        assert_eq!(end_round(&mut order), [3, 5, 7, 9]);
        push(&mut order, &[8]);
        assert_eq!(order.late, 1);
        let mut rest = Vec::new();
        order.finish(&mut |record| note(&mut rest, &record)).expect("no error is made");
        assert_eq!(rest, [9, 12]);
    }

    #[test]
    fn without_rounds_memory_is_bounded() {
        let mut order = Order::default();
        let mut given = 0u64;
        for time_ns in 1..=40u64 {
            let record = Pending { time_ns, body: vec![0; 16 << 20], ..Pending::default() };
            order
                .push(record, &mut |_| {
                    given += 1;
                    Ok::<(), ()>(())
                })
                .expect("no error is made");
            assert!(order.bytes <= MOST_PENDING_BYTES);
        }
        assert!(given >= 24, "{given}");
        assert_eq!(order.late, 0);
    }
}
