//! What each thread, process, object and CPU did in equal parts of the whole time, so that a drawing in which many
//! intervals share a pixel costs what its pixels cost.

use std::ops::Range;
use std::sync::Arc;

use dwell_store::{Column, IndexWriter, Trace};
use dwell_work::parallel;

use crate::history::band_kind::BandKind;
use crate::history::groups::{GroupBuckets, GroupSums};
use crate::history::pieces::{for_each_piece, for_each_run};
use crate::history::states::TimelineState;
use crate::history::sum::Sum;
use crate::history::thread_history::ThreadHistory;
use crate::question::windows::elapsed_ns;

/// Numbers of the sections of the index: places and buckets.
const SECTIONS: [u64; 2] = [110, 111];

/// Equal parts of the whole time.
pub const BUCKETS: u64 = 1 << 14;
/// Parts that are summed at once.
const SLAB: u64 = 64;
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

/// The buckets of all threads and groups.
#[derive(Debug, Default)]
pub struct Pyramids {
    /// One for each thread.
    places: Column<ThreadPlace>,
    buckets: Column<ThreadBucket>,
    /// Those of processes, objects and CPUs.
    pub groups: GroupBuckets,
    elapsed_ns: u64,
}

impl Pyramids {
    /// Those of the index of `trace`.
    pub fn of(trace: &Trace) -> Option<Self> {
        let index = trace.index()?;
        let (places, buckets) = (index.column(SECTIONS[0]), index.column(SECTIONS[1]));
        let known = places.len() == trace.threads.tid.len();
        known.then(|| Self { places, buckets, groups: GroupBuckets::of(index), elapsed_ns: elapsed_ns(trace) })
    }

    /// Makes them, side by side on all CPUs.
    pub fn write(writer: &mut IndexWriter, trace: &Trace) -> dwell_store::Result<()> {
        let history = ThreadHistory::new(Arc::new(trace.clone()));
        let threads = trace.threads.tid.len();
        let spans: Vec<Option<Range<u64>>> = (0..threads).map(|thread| span(&history, thread)).collect();
        let slabs = if history.elapsed_ns() < BUCKETS { 0 } else { BUCKETS / SLAB };
        let made = parallel::map(slabs as usize, |slab| {
            let slab = slab as u64 * SLAB..(slab as u64 + 1) * SLAB;
            of_slab(&history, &spans, slab)
        });
        let mut of_thread: Vec<Vec<ThreadBucket>> = vec![Vec::new(); threads];
        let mut groups = GroupSums::default();
        for (threads, of_groups) in made {
            threads.into_iter().for_each(|(thread, buckets)| of_thread[thread].extend(buckets));
            groups.append(of_groups);
        }
        let (mut places, mut at) = (Vec::new(), 0);
        for (span, buckets) in spans.iter().zip(&of_thread) {
            let first = span.as_ref().map_or(0, |span| span.start as u32);
            places.push(ThreadPlace { at, first, count: buckets.len() as u32 });
            at += buckets.len() as u64;
        }
        writer.append(SECTIONS[0], &places)?;
        writer.append(SECTIONS[1], &of_thread.concat())?;
        groups.write(writer, trace)
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

/// The buckets of a thread's life when it has enough intervals for them.
fn span(history: &ThreadHistory, thread: usize) -> Option<Range<u64>> {
    let elapsed = history.elapsed_ns();
    let (start, end) = history.life(thread).filter(|(start, end)| start < end && *end <= elapsed)?;
    let span = bucket_of(elapsed, start)..bucket_of(elapsed, end - 1) + 1;
    let events = history.events();
    let rows = events.off_cpu.of(thread).len() + events.samples.of(thread).len();
    (rows as u64 >= WORTH * (span.end - span.start)).then_some(span)
}

/// The buckets of some threads, by number.
type OfThreads = Vec<(usize, Vec<ThreadBucket>)>;

/// What all threads did in a few buckets.
fn of_slab(history: &ThreadHistory, spans: &[Option<Range<u64>>], slab: Range<u64>) -> (OfThreads, GroupSums) {
    let elapsed = history.elapsed_ns();
    let range = (edge(elapsed, slab.start), edge(elapsed, slab.end));
    let (mut of_threads, mut groups) = (Vec::new(), GroupSums::new(&history.trace, slab.clone()));
    let mut sums = vec![Sum::default(); SLAB as usize];
    let lives_then =
        |thread: usize| history.life(thread).is_some_and(|(start, end)| start <= range.1 && range.0 <= end);
    for (thread, span) in spans.iter().enumerate().filter(|(thread, _)| lives_then(*thread)) {
        sums.fill(Sum::default());
        let process = history.trace.threads.process[thread].raw();
        for_each_piece(history, thread, range, |piece| {
            split(elapsed, (piece.from, piece.to), |bucket, ns| {
                let at = bucket.wrapping_sub(slab.start) as usize;
                if let Some(sum) = sums.get_mut(at) {
                    sum.add(piece.state, ns, piece.object);
                    groups.add((BandKind::Process, process), at, (piece.state, ns, piece.object));
                    if piece.row.is_some() {
                        groups.add((BandKind::Object, piece.object), at, (piece.state, ns, piece.object));
                    }
                }
            });
        });
        for_each_run(history, thread, range, |cpu, run| {
            split(elapsed, run, |bucket, ns| {
                let at = bucket.wrapping_sub(slab.start) as usize;
                groups.add((BandKind::Cpu, cpu), at, (TimelineState::Running, ns, thread as u32));
            });
        });
        let Some(span) = span else { continue };
        count_samples(history, (thread, range), slab.start, &mut sums);
        let inside = slab.start.max(span.start)..slab.end.min(span.end);
        let of_bucket = |bucket: u64| {
            stored(&sums[(bucket - slab.start) as usize], edge(elapsed, bucket + 1) - edge(elapsed, bucket))
        };
        of_threads.push((thread, inside.map(of_bucket).collect()));
    }
    groups.close(|bucket| edge(elapsed, bucket + 1) - edge(elapsed, bucket));
    (of_threads, groups)
}

fn count_samples(history: &ThreadHistory, (thread, (from, to)): (usize, (u64, u64)), first: u64, sums: &mut [Sum]) {
    let samples = &history.events().samples;
    let rows = samples.of(thread);
    let begin = samples.partition_point(rows.clone(), |time| time < from);
    // The last instant belongs to the last bucket.
    let to = if to == history.elapsed_ns() { to + 1 } else { to };
    let end = samples.partition_point(begin..rows.end, |time| time < to);
    for row in begin..end {
        let bucket = bucket_of(history.elapsed_ns(), samples.time_ns(row)).wrapping_sub(first);
        if let Some(sum) = sums.get_mut(bucket as usize) {
            sum.samples += 1;
        }
    }
}

/// Tells each bucket's part of a stretch of time.
fn split(elapsed: u64, (mut from, to): (u64, u64), mut tell: impl FnMut(u64, u64)) {
    let mut bucket = bucket_of(elapsed, from);
    while from < to && bucket < BUCKETS {
        let end = edge(elapsed, bucket + 1).min(to);
        tell(bucket, end.saturating_sub(from));
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
