//! Events: off-CPU intervals and samples thread by thread, each thread's in order of time, as they are analyzed.
//! It takes rows of the tables `off_cpu` and `samples` and gives packed rows, numbered thread by thread with gaps between
//! threads; what the events of one place have in common is said once, in a key. Which waits go on in the call of the wait before them is
//! concluded here, once, so that a better rule serves old results (`same_call.rs`). It does not read or write files.

mod key;
mod key_waits;
mod making;
mod rows;
mod same_call;
mod totals;

use dwell_model::{StackId, ThreadId};

use crate::index::{CHUNK, Column};
use crate::tables::{Objects, OffCpu, Samples, Stacks, Threads};
pub use key::EventKey;
pub use key_waits::KeyWaits;
pub(super) use making::Making;
pub use rows::{Estimate, OffCpuEvents, OffCpuTimes, SampleEvents};
pub use totals::EventTotals;

/// All events of a trace.
#[derive(Debug, Default)]
pub struct Events {
    /// Off-CPU intervals.
    pub off_cpu: OffCpuEvents,
    /// Samples; estimates are apart.
    pub samples: SampleEvents,
    /// Estimates, in order of thread.
    pub estimates: Column<Estimate>,
    /// The keys.
    pub keys: Column<EventKey>,
    /// The waits of each of them.
    pub key_waits: Column<KeyWaits>,
    /// Sums over all of them.
    pub totals: EventTotals,
}

impl Events {
    /// The events of a trace with these tables, in memory.
    pub(super) fn of(
        threads: &Threads,
        off_cpu: &OffCpu,
        samples: &Samples,
        (stacks, objects): (&Stacks, &Objects),
    ) -> Self {
        let threads = threads.tid.len();
        let counts = |of_row: &mut dyn Iterator<Item = ThreadId>| {
            let mut counts = vec![0u64; threads];
            of_row.filter_map(ThreadId::get).filter(|thread| *thread < threads).for_each(|thread| counts[thread] += 1);
            counts
        };
        let sampled = samples.thread.iter().zip(&samples.estimated).filter(|(_, estimated)| !**estimated);
        let sampled = counts(&mut sampled.map(|(thread, _)| *thread));
        let mut making = Making::new(&counts(&mut off_cpu.thread.iter().copied()), &sampled, objects);
        making.off_cpu_rows(off_cpu, &stacks.end);
        making.sample_rows(samples, &stacks.end);
        making.off_cpu.finish();
        making.samples.finish();
        let (keys, key_waits, estimates) = making.number_keys();
        let (off_ranges, off_rows) = making.off_cpu.packed();
        let (sample_ranges, sample_rows) = making.samples.packed();
        Self {
            off_cpu: OffCpuEvents { ranges: off_ranges.into(), rows: off_rows },
            samples: SampleEvents { ranges: sample_ranges.into(), rows: sample_rows },
            estimates: estimates.into(),
            keys: keys.into(),
            key_waits: key_waits.into(),
            totals: making.totals,
        }
    }

    /// The key of this number; one that is not there, in a damaged index, is nobody's.
    pub fn key(&self, number: u32) -> EventKey {
        let nobody = || EventKey::running(ThreadId::NONE, StackId::NONE);
        self.keys.get(number as usize).copied().unwrap_or_else(nobody)
    }

    /// The keys that have waits, with these.
    pub fn keys_with_waits(&self) -> impl Iterator<Item = (&EventKey, &KeyWaits)> {
        self.keys.iter().zip(&*self.key_waits).filter(|(_, waits)| waits.count > 0)
    }

    /// Whether columns are of one length and keys name rows that are there, in a trace of so many rows of `threads`,
    /// `stacks` and `objects`.
    pub(super) fn check(&self, threads: usize, stacks: usize, objects: usize) -> Result<(), String> {
        let all = |name: &str, holds: bool| holds.then_some(()).ok_or_else(|| format!("{name} are damaged"));
        let sound = |ranges: &[[u64; 2]], chunks: usize| {
            let fits = |[begin, end]: &[u64; 2]| begin <= end && begin.is_multiple_of(CHUNK as u64);
            let in_order = ranges.windows(2).all(|pair| pair[0][1].next_multiple_of(CHUNK as u64) == pair[1][0]);
            let end = ranges.last().map_or(0, |range| range[1].div_ceil(CHUNK as u64));
            ranges.len() == threads && ranges.iter().all(fits) && in_order && end == chunks as u64
        };
        all("intervals", sound(&self.off_cpu.ranges, self.off_cpu.rows.chunks()))?;
        all("samples", sound(&self.samples.ranges, self.samples.rows.chunks()))?;
        let within = |id: u32, rows: usize| id == u32::MAX || (id as usize) < rows;
        let sound = |key: &EventKey| {
            (key.thread as usize) < threads
                && within(key.object, objects)
                && within(key.stack, stacks)
                && within(key.waker, threads)
                && within(key.holder, threads)
                && within(key.waker_stack, stacks)
        };
        let waits = self.key_waits.iter().fold(0u64, |sum, waits| sum.saturating_add(waits.count));
        let of_rows = self.key_waits.len() == self.keys.len() && waits <= self.off_cpu.end() as u64;
        all("keys", self.keys.iter().all(sound) && of_rows)?;
        all("estimates", self.estimates.iter().all(|estimate| (estimate.thread as usize) < threads))
    }

    /// The key of an off-CPU row.
    pub fn off_cpu_key(&self, row: usize) -> EventKey {
        self.key(self.off_cpu.key(row))
    }

    /// The estimates of `thread`.
    pub fn estimates_of(&self, thread: usize) -> &[Estimate] {
        let first = self.estimates.partition_point(|estimate| (estimate.thread as usize) < thread);
        let behind = self.estimates.partition_point(|estimate| estimate.thread as usize <= thread);
        &self.estimates[first..behind]
    }
}
