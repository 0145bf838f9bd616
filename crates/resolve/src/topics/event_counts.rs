//! Counted events (`--events`): what threads counted, by thread and event. It scales nothing but what shared a counter of the CPU.

use std::collections::BTreeMap;

use dwell_model::ThreadId;
use dwell_store::raw::wire::EventCountsRecord;
use dwell_store::tables::{EventCountRow, EventCounts};

use crate::replay::state::Replay;

/// What a thread counted of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    count: u64,
    enabled_ns: u64,
    running_ns: u64,
}

/// A row for each thread and each of the `events`. Counts of unknown threads are left out.
pub fn resolve(records: &[EventCountsRecord], replay: &Replay, events: &[String]) -> EventCounts {
    let (thread_table, relative) = (&replay.thread_table, |time_ns| replay.relative(time_ns));
    let thread = |record: &EventCountsRecord| {
        thread_table.find_at(record.h.tid, relative(record.h.time_ns)).or_else(|| thread_table.find(record.h.tid))
    };
    table(records.iter().filter_map(|record| Some((thread(record)?, record))), events)
}

/// A thread that was recorded more than once has the sum.
fn table<'r>(records: impl Iterator<Item = (ThreadId, &'r EventCountsRecord)>, events: &[String]) -> EventCounts {
    let mut sums: BTreeMap<(ThreadId, usize), Counted> = BTreeMap::new();
    for (thread, record) in records {
        for event in 0..events.len().min(record.counts.len()) {
            let sum = sums.entry((thread, event)).or_default();
            sum.count = sum.count.saturating_add(record.counts[event]);
            sum.enabled_ns = sum.enabled_ns.saturating_add(record.enabled_ns[event]);
            sum.running_ns = sum.running_ns.saturating_add(record.running_ns[event]);
        }
    }
    let mut table = EventCounts::default();
    for ((thread, event), sum) in sums {
        table.push(EventCountRow {
            thread,
            event: events[event].clone(),
            count: sum.scaled(),
            counted: sum.count,
            enabled_ns: sum.enabled_ns,
            running_ns: sum.running_ns,
        });
    }
    table
}

impl Counted {
    /// The count for all of the time in which the event was enabled, as if it had occurred at the same rate in all of it.
    fn scaled(&self) -> u64 {
        if self.running_ns == 0 || self.running_ns >= self.enabled_ns {
            return self.count;
        }
        let scaled = u128::from(self.count) * u128::from(self.enabled_ns) / u128::from(self.running_ns);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    fn record(count: u64, enabled_ns: u64, running_ns: u64) -> EventCountsRecord {
        let mut record = EventCountsRecord::zeroed();
        (record.counts[1], record.enabled_ns[1], record.running_ns[1]) = (count, enabled_ns, running_ns);
        record
    }

    #[test]
    fn what_shared_a_counter_is_scaled_and_all_else_is_as_counted() {
        let (whole, part) = (record(10, 100, 100), record(10, 100, 25));
        let all = [(ThreadId::new(1), &whole), (ThreadId::new(0), &part)];
        let table = table(all.into_iter(), &["cycles".into(), "faults".into()]);
        assert_eq!(table.thread, [0, 0, 1, 1].map(ThreadId::new));
        assert_eq!(table.event, ["cycles", "faults", "cycles", "faults"]);
        assert_eq!((table.count, table.counted), (vec![0, 40, 0, 10], vec![0, 10, 0, 10]));
        assert_eq!((table.enabled_ns[1], table.running_ns[1]), (100, 25));
    }

    #[test]
    fn a_thread_that_was_recorded_twice_has_the_sum() {
        let (first, second) = (record(10, 100, 100), record(5, 50, 50));
        let table = table([&first, &second].map(|it| (ThreadId::new(0), it)).into_iter(), &["a".into(), "b".into()]);
        assert_eq!((table.count[1], table.enabled_ns[1]), (15, 150));
        assert_eq!(Counted { count: u64::MAX, enabled_ns: 9, running_ns: 1 }.scaled(), u64::MAX);
    }
}
