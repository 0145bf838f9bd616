//! Hardware and software events that the kernel counts on each CPU, summed by thread: `--events`.

use crate::declare::{constants, records};
use crate::header::RecordHeader;

constants! {
    /// Most events that a collection counts.
    MOST_EVENTS: usize = 8, DWELL_MOST_EVENTS;
}

records! {
    /// What the hook of counted events is told.
    EventSetup = event_setup, 8 {
        /// How many events are counted, at most [`MOST_EVENTS`].
        events: u32,
        /// How many CPUs each is counted on: event E of CPU C is entry E * cpus + C of the map of events.
        cpus: u32,
    }
    /// What a thread counted of each event of the manifest's `counted_events`, in that order. Written at its end, and at the end of
    /// the collection for a thread that lives then.
    EventCountsRecord = record_event_counts, 208 {
        /// `size`, `time_ns`: set when it is written.
        h: RecordHeader,
        /// Occurrences while the events were on the CPU's counters.
        counts: [u64; MOST_EVENTS],
        /// Time that the thread ran while the events were enabled, ns.
        enabled_ns: [u64; MOST_EVENTS],
        /// The part of it in which they were on the CPU's counters, ns; less where several share one.
        running_ns: [u64; MOST_EVENTS],
    }
}
