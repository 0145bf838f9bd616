//! What each thread did in equal parts of the whole time, so that a drawing in which many intervals share a pixel costs
//! what its pixels cost.

use std::sync::Arc;

use dwell_store::{Column, Trace};

use super::pieces::{Piece, for_each_piece};
use super::states::{STATES, TimelineState};
use crate::analysis::Analysis;
use crate::windows::elapsed_ns;

/// Numbers of the sections of the index: places and buckets.
pub const PYRAMID_SECTIONS: [u64; 2] = [110, 111];

/// Equal parts of the whole time.
pub const BUCKETS: u64 = 1 << 14;
/// Intervals and samples per bucket from which buckets are worth their room.
const WORTH: u64 = 4;

/// Where a thread's buckets are.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ThreadPlace {
    /// First one in the section.
    pub at: u64,
    /// Number of the first one, counted from the start of the collection.
    pub first: u32,
    /// How many; 0 for a thread with few intervals.
    pub count: u32,
}

/// What a thread did in one bucket, as parts of 255 of its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ThreadBucket {
    /// What it waited on most; `u32::MAX` for nothing.
    pub object: u32,
    /// Time on a CPU.
    pub ran: u8,
    /// Time blocked.
    pub waited: u8,
    /// Time in run queues.
    pub queued: u8,
    /// State on the CPU that has most of it.
    pub run_state: u8,
    /// State blocked that has most of it.
    pub wait_state: u8,
    /// State in run queues.
    pub queue_state: u8,
    /// Samples, 255 for more.
    pub samples: u8,
    /// Whether it did one thing all along.
    pub is_pure: u8,
}

/// The buckets of all threads.
#[derive(Debug, Default)]
pub struct Pyramids {
    /// One for each thread.
    pub places: Column<ThreadPlace>,
    /// The buckets.
    pub buckets: Column<ThreadBucket>,
    elapsed_ns: u64,
}

impl Pyramids {
    /// Those of the index of `trace`.
    pub fn of(trace: &Trace) -> Option<Self> {
        let index = trace.index()?;
        let (places, buckets) = (index.column(PYRAMID_SECTIONS[0]), index.column(PYRAMID_SECTIONS[1]));
        let known = places.len() == trace.threads.tid.len();
        known.then(|| Self { places, buckets, elapsed_ns: elapsed_ns(trace) })
    }

    /// Makes them, side by side on all CPUs.
    pub fn make(trace: &Trace) -> Self {
        let analysis = Analysis::new(Arc::new(trace.clone()));
        let threads = trace.threads.tid.len();
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(threads.max(1));
        let share = threads.div_ceil(workers);
        let work = |worker: usize| {
            let threads = (worker * share)..threads.min((worker + 1) * share);
            threads.map(|thread| of_thread(&analysis, thread)).collect::<Vec<_>>()
        };
        let made: Vec<(u32, Vec<ThreadBucket>)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
        });
        let (mut places, mut buckets) = (Vec::new(), Vec::new());
        for (first, of_thread) in made {
            places.push(ThreadPlace { at: buckets.len() as u64, first, count: of_thread.len() as u32 });
            buckets.extend(of_thread);
        }
        Self { places: places.into(), buckets: buckets.into(), elapsed_ns: elapsed_ns(trace) }
    }

    /// Length of a bucket, ns.
    pub fn bucket_ns(&self) -> u64 {
        self.elapsed_ns / BUCKETS
    }

    /// Start of bucket `bucket`.
    pub fn edge(&self, bucket: u64) -> u64 {
        edge(self.elapsed_ns, bucket)
    }

    /// The bucket that an instant is in.
    pub fn bucket_of(&self, time: u64) -> u64 {
        bucket_of(self.elapsed_ns, time)
    }

    /// The buckets of a thread and the number of the first one; empty for a thread with few intervals.
    pub fn of_thread(&self, thread: usize) -> (u64, &[ThreadBucket]) {
        let Some(place) = self.places.get(thread) else { return (0, &[]) };
        let at = place.at as usize;
        (u64::from(place.first), self.buckets.get(at..at.saturating_add(place.count as usize)).unwrap_or_default())
    }
}

fn edge(elapsed_ns: u64, bucket: u64) -> u64 {
    (u128::from(elapsed_ns) * u128::from(bucket) / u128::from(BUCKETS)) as u64
}

fn bucket_of(elapsed_ns: u64, time: u64) -> u64 {
    let mut bucket = (u128::from(time) * u128::from(BUCKETS) / u128::from(elapsed_ns.max(1))) as u64;
    while edge(elapsed_ns, bucket + 1) <= time && bucket + 1 < BUCKETS {
        bucket += 1;
    }
    bucket.min(BUCKETS - 1)
}

/// A bucket while it is summed.
#[derive(Clone)]
struct Sum {
    times: [u64; STATES],
    longest: (u64, u32),
    samples: u32,
}

fn of_thread(analysis: &Analysis, thread: usize) -> (u32, Vec<ThreadBucket>) {
    let elapsed = analysis.elapsed_ns();
    let Some((start, end)) = analysis.life(thread).filter(|(start, end)| start < end && *end <= elapsed) else {
        return (0, Vec::new());
    };
    let (first, last) = (bucket_of(elapsed, start), bucket_of(elapsed, end - 1));
    let events = analysis.events();
    let samples = events.samples.of(thread);
    let rows = events.off_cpu.of(thread).len() + samples.len();
    let count = last - first + 1;
    if (rows as u64) < WORTH * count || elapsed < BUCKETS {
        return (0, Vec::new());
    }
    let mut sums = vec![Sum { times: [0; STATES], longest: (0, u32::MAX), samples: 0 }; count as usize];
    for_each_piece(analysis, thread, (start, end), |piece| add(&mut sums, (elapsed, first), piece));
    for time in samples.map(|row| events.samples.time_ns(row)) {
        let bucket = bucket_of(elapsed, time).wrapping_sub(first);
        if let Some(sum) = sums.get_mut(bucket as usize) {
            sum.samples += 1;
        }
    }
    let stored = |(index, sum): (usize, &Sum)| {
        let bucket = first + index as u64;
        stored(sum, edge(elapsed, bucket + 1) - edge(elapsed, bucket))
    };
    (first as u32, sums.iter().enumerate().map(stored).collect())
}

fn add(sums: &mut [Sum], (elapsed, first): (u64, u64), piece: Piece) {
    let (mut from, mut bucket) = (piece.from, bucket_of(elapsed, piece.from));
    while from < piece.to {
        let end = edge(elapsed, bucket + 1).min(piece.to);
        let Some(sum) = sums.get_mut(bucket.wrapping_sub(first) as usize) else { return };
        let ns = end.saturating_sub(from);
        sum.times[piece.state.index()] += ns;
        if piece.object != u32::MAX && ns > sum.longest.0 {
            sum.longest = (ns, piece.object);
        }
        (from, bucket) = (from.max(end), bucket + 1);
    }
}

fn stored(sum: &Sum, length: u64) -> ThreadBucket {
    let of = |wanted: &dyn Fn(TimelineState) -> bool| {
        let states = TimelineState::ALL.iter().copied().filter(|state| wanted(*state));
        let times = states.map(|state| (sum.times[state.index()], state.index() as u8));
        times.fold((0u64, (0u64, 0u8)), |(all, most), time| (all + time.0, if time.0 > most.0 { time } else { most }))
    };
    let queues = |state: TimelineState| matches!(state, TimelineState::Preempted | TimelineState::Starting);
    let ran = of(&TimelineState::is_running);
    let queued = of(&queues);
    let waited = of(&|state| !state.is_running() && !queues(state));
    // What is there at all is seen.
    let part = |ns: u64| if ns == 0 { 0 } else { (ns as f64 * 255.0 / length.max(1) as f64).round().max(1.0) as u8 };
    ThreadBucket {
        object: sum.longest.1,
        ran: part(ran.0),
        waited: part(waited.0),
        queued: part(queued.0),
        run_state: ran.1.1,
        wait_state: waited.1.1,
        queue_state: queued.1.1,
        samples: u8::try_from(sum.samples).unwrap_or(u8::MAX),
        is_pure: u8::from(sum.times.iter().filter(|ns| **ns > 0).count() == 1),
    }
}
