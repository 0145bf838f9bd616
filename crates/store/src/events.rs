//! The off-CPU intervals and samples thread by thread, each thread's in order of time: the order in which they are
//! analyzed. What the events of one place have in common is said once, in a key. Rows are numbered thread by thread,
//! with gaps between threads.

use std::ops::Range;

use dwell_model::{ObjectId, Reason, StackEnd, StackId, ThreadId};

use crate::column::Column;
use crate::hash::WordMap;
use crate::packed::{CHUNK, Packed, Packer};
use crate::result::Trace;
use crate::tables::{OffCpu, Samples};

/// Reason of a key of running time.
const RAN: u8 = u8::MAX;

/// What the events of one place have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct EventKey {
    thread: u32,
    object: u32,
    stack: u32,
    waker: u32,
    waker_stack: u32,
    holder: u32,
    syscall: i16,
    reason: u8,
    outcome: u8,
    waker_kind: u8,
    unused: [u8; 3],
}

impl EventKey {
    /// The key of running time of `thread` at `stack`.
    pub fn running(thread: ThreadId, stack: StackId) -> Self {
        Self {
            thread: thread.raw(),
            object: u32::MAX,
            stack: stack.raw(),
            waker: u32::MAX,
            waker_stack: u32::MAX,
            holder: u32::MAX,
            syscall: -1,
            reason: RAN,
            outcome: 0,
            waker_kind: 0,
            unused: [0; 3],
        }
    }

    /// The key of an off-CPU row.
    pub fn off_cpu(rows: &OffCpu, row: usize) -> Self {
        Self {
            thread: rows.thread[row].raw(),
            object: rows.object[row].raw(),
            stack: rows.stack[row].raw(),
            waker: rows.waker[row].raw(),
            waker_stack: rows.waker_stack[row].raw(),
            holder: rows.holder[row].raw(),
            syscall: rows.syscall[row],
            reason: Reason::from_code(rows.reason[row]).code(),
            outcome: rows.outcome[row],
            waker_kind: rows.waker_kind[row],
            unused: [0; 3],
        }
    }

    /// The thread.
    pub fn thread(&self) -> ThreadId {
        ThreadId::from_raw(self.thread)
    }

    /// What it waited on.
    pub fn object(&self) -> ObjectId {
        ObjectId::from_raw(self.object)
    }

    /// Where it was.
    pub fn stack(&self) -> StackId {
        StackId::from_raw(self.stack)
    }

    /// Who woke it.
    pub fn waker(&self) -> ThreadId {
        ThreadId::from_raw(self.waker)
    }

    /// Where the waker was.
    pub fn waker_stack(&self) -> StackId {
        StackId::from_raw(self.waker_stack)
    }

    /// Who held the lock when the wait began, where the lock tells it.
    pub fn holder(&self) -> ThreadId {
        ThreadId::from_raw(self.holder)
    }

    /// System call that it was in; -1 for none.
    pub fn syscall(&self) -> i16 {
        self.syscall
    }

    /// Why it was off the CPU; none: it ran.
    pub fn reason(&self) -> Option<Reason> {
        (self.reason != RAN).then(|| Reason::from_code(self.reason))
    }

    /// Outcome's code.
    pub fn outcome(&self) -> u8 {
        self.outcome
    }

    /// Waker kind's code.
    pub fn waker_kind(&self) -> u8 {
        self.waker_kind
    }
}

/// The off-CPU intervals, thread by thread.
#[derive(Debug, Default)]
pub struct OffCpuEvents {
    pub(crate) ranges: Column<[u64; 2]>,
    /// Start, wait, time in the run queue, key, CPU.
    pub(crate) rows: Packed<OFF_CPU_COLUMNS>,
}

/// The times of an interval off the CPU, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffCpuTimes {
    /// When the thread left the CPU.
    pub start_ns: u64,
    /// Time until it was woken.
    pub wait_ns: u64,
    /// Time in the run queue after that.
    pub runnable_ns: u64,
}

pub(crate) const OFF_CPU_COLUMNS: usize = 5;
const OFF_KEY: usize = 3;

impl OffCpuEvents {
    /// Rows of `thread`.
    pub fn of(&self, thread: usize) -> Range<usize> {
        range(&self.ranges, thread, self.rows.chunks())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        (0..self.ranges.len()).map(|thread| self.of(thread).len()).sum()
    }

    /// One more than the highest number of a row.
    pub fn end(&self) -> usize {
        self.rows.chunks() * CHUNK
    }

    /// The first of `rows`, which are one thread's, whose start `is_before` does not hold for.
    pub fn partition_point(&self, rows: Range<usize>, is_before: impl Fn(u64) -> bool) -> usize {
        self.rows.partition_point(rows, is_before)
    }

    /// Rows of `thread` that begin in `from .. to`.
    pub fn begun(&self, thread: usize, from: u64, to: u64) -> Range<usize> {
        let rows = self.of(thread);
        let first = self.partition_point(rows.clone(), |start| start < from);
        first..self.partition_point(first..rows.end, |start| start < to)
    }

    /// When the thread left the CPU; in order within a thread.
    pub fn start_ns(&self, row: usize) -> u64 {
        self.rows.get(0, row)
    }

    /// Time until it was woken.
    pub fn wait_ns(&self, row: usize) -> u64 {
        self.rows.get(1, row)
    }

    /// Its times: faster than one after the other.
    pub fn times(&self, row: usize) -> OffCpuTimes {
        let [start_ns, wait_ns, runnable_ns] = self.rows.first(row);
        OffCpuTimes { start_ns, wait_ns, runnable_ns }
    }

    /// Tells row, time until it was woken and number of the key of each of `rows`.
    pub fn for_each_wait(&self, rows: Range<usize>, mut tell: impl FnMut(usize, u64, u32)) {
        self.rows.for_each(rows, [1, OFF_KEY], |row, [wait_ns, key]| tell(row, wait_ns, key as u32));
    }

    /// Tells row, number of the key and times of each of `rows`.
    pub fn for_each(&self, rows: Range<usize>, mut tell: impl FnMut(usize, u32, OffCpuTimes)) {
        self.rows.for_each(rows, [0, 1, 2, OFF_KEY], |row, [start_ns, wait_ns, runnable_ns, key]| {
            tell(row, key as u32, OffCpuTimes { start_ns, wait_ns, runnable_ns });
        });
    }

    /// Time in the run queue after that.
    pub fn runnable_ns(&self, row: usize) -> u64 {
        self.rows.get(2, row)
    }

    /// Number of the key.
    pub fn key(&self, row: usize) -> u32 {
        self.rows.get(OFF_KEY, row) as u32
    }

    /// CPU that it then ran on.
    pub fn cpu(&self, row: usize) -> u16 {
        self.rows.get(4, row) as u16
    }

    /// When the thread was woken: a preempted one at once.
    pub fn woken_ns(&self, row: usize) -> u64 {
        self.start_ns(row).saturating_add(self.wait_ns(row))
    }

    /// When it ran again.
    pub fn end_ns(&self, row: usize) -> u64 {
        self.woken_ns(row).saturating_add(self.runnable_ns(row))
    }
}

/// The samples, thread by thread; estimates are apart.
#[derive(Debug, Default)]
pub struct SampleEvents {
    pub(crate) ranges: Column<[u64; 2]>,
    /// Time, key, CPU.
    pub(crate) rows: Packed<SAMPLE_COLUMNS>,
}

pub(crate) const SAMPLE_COLUMNS: usize = 3;
const SAMPLE_KEY: usize = 1;

impl SampleEvents {
    /// Rows of `thread`.
    pub fn of(&self, thread: usize) -> Range<usize> {
        range(&self.ranges, thread, self.rows.chunks())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        (0..self.ranges.len()).map(|thread| self.of(thread).len()).sum()
    }

    /// The first of `rows`, which are one thread's, whose time `is_before` does not hold for.
    pub fn partition_point(&self, rows: Range<usize>, is_before: impl Fn(u64) -> bool) -> usize {
        self.rows.partition_point(rows, is_before)
    }

    /// When; in order within a thread.
    pub fn time_ns(&self, row: usize) -> u64 {
        self.rows.get(0, row)
    }

    /// Number of the key.
    pub fn key(&self, row: usize) -> u32 {
        self.rows.get(SAMPLE_KEY, row) as u32
    }

    /// CPU that it ran on.
    pub fn cpu(&self, row: usize) -> u16 {
        self.rows.get(2, row) as u16
    }
}

/// Where a thread ran that has no sample, and how much of its running time each place stands for.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Estimate {
    /// Running time that it stands for.
    pub weight_ns: u64,
    /// The thread.
    pub thread: u32,
    /// Number of the key.
    pub key: u32,
    /// CPU that it ran on.
    pub cpu: u32,
    unused: u32,
}

fn range(ranges: &[[u64; 2]], thread: usize, chunks: usize) -> Range<usize> {
    let rows = chunks * CHUNK;
    let [begin, end] = ranges.get(thread).copied().unwrap_or_default();
    let begin = (begin as usize).min(rows);
    begin..(end as usize).clamp(begin, rows)
}

/// Sums over all events.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Totals {
    /// What all samples stand for, estimates too.
    pub weights_ns: u64,
    /// Samples and intervals that have a user stack.
    pub stacks: u64,
    /// Those that have a complete one.
    pub complete: u64,
}

impl Totals {
    /// Counts the stack of a sample or an interval; `ends` are those of the stacks table.
    fn count(&mut self, ends: &[u8], stack: StackId) {
        let end = stack.get().and_then(|row| ends.get(row)).copied().unwrap_or(0);
        self.stacks += u64::from(end != 0);
        self.complete += u64::from(end == StackEnd::Complete.code());
    }
}

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
    /// Sums over all of them.
    pub totals: Totals,
}

impl Events {
    /// The events of `trace`, in memory.
    pub fn of(trace: &Trace) -> Self {
        let threads = trace.threads.tid.len();
        let counts = |of_row: &mut dyn Iterator<Item = ThreadId>| {
            let mut counts = vec![0u64; threads];
            of_row.filter_map(ThreadId::get).filter(|thread| *thread < threads).for_each(|thread| counts[thread] += 1);
            counts
        };
        let samples = trace.samples.thread.iter().zip(&trace.samples.estimated).filter(|(_, estimated)| !**estimated);
        let samples = counts(&mut samples.map(|(thread, _)| *thread));
        let mut making = Making::new(&counts(&mut trace.off_cpu.thread.iter().copied()), &samples);
        making.off_cpu_rows(&trace.off_cpu, &trace.stacks.end);
        making.sample_rows(&trace.samples, &trace.stacks.end);
        making.off_cpu.finish();
        making.samples.finish();
        let (keys, estimates) = making.number_keys();
        let (off_ranges, off_rows) = making.off_cpu.packed();
        let (sample_ranges, sample_rows) = making.samples.packed();
        Self {
            off_cpu: OffCpuEvents { ranges: off_ranges.into(), rows: off_rows },
            samples: SampleEvents { ranges: sample_ranges.into(), rows: sample_rows },
            estimates: estimates.into(),
            keys: keys.into(),
            totals: making.totals,
        }
    }

    /// The key of this number; one that is not there, in a damaged index, is nobody's.
    pub fn key(&self, number: u32) -> EventKey {
        let nobody = || EventKey::running(ThreadId::NONE, StackId::NONE);
        self.keys.get(number as usize).copied().unwrap_or_else(nobody)
    }

    /// Whether columns are of one length and keys name rows of `trace` that are there.
    pub(crate) fn check(&self, trace: &Trace) -> Result<(), String> {
        let all = |name: &str, holds: bool| holds.then_some(()).ok_or_else(|| format!("{name} are damaged"));
        let threads = trace.threads.tid.len();
        let sound = |ranges: &[[u64; 2]], chunks: usize| {
            let fits = |[begin, end]: &[u64; 2]| begin <= end && begin.is_multiple_of(CHUNK as u64);
            let in_order = ranges.windows(2).all(|pair| pair[0][1].next_multiple_of(CHUNK as u64) == pair[1][0]);
            let end = ranges.last().map_or(0, |range| range[1].div_ceil(CHUNK as u64));
            ranges.len() == threads && ranges.iter().all(fits) && in_order && end == chunks as u64
        };
        all("intervals", sound(&self.off_cpu.ranges, self.off_cpu.rows.chunks()))?;
        all("samples", sound(&self.samples.ranges, self.samples.rows.chunks()))?;
        let within = |id: u32, rows: usize| id == u32::MAX || (id as usize) < rows;
        let (stacks, objects) = (trace.stacks.frame.len(), trace.objects.kind.len());
        let sound = |key: &EventKey| {
            (key.thread as usize) < threads
                && within(key.object, objects)
                && within(key.stack, stacks)
                && within(key.waker, threads)
                && within(key.holder, threads)
                && within(key.waker_stack, stacks)
        };
        all("keys", self.keys.iter().all(sound))?;
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

/// Events while they are made of the tables' rows, which come in order of time.
pub(crate) struct Making {
    /// The intervals.
    pub off_cpu: Packer<OFF_CPU_COLUMNS>,
    /// The samples.
    pub samples: Packer<SAMPLE_COLUMNS>,
    /// Sums over them.
    pub totals: Totals,
    keys: Keys,
    estimates: Vec<Estimate>,
}

impl Making {
    /// For threads with so many intervals and samples each.
    pub fn new(off_cpu: &[u64], samples: &[u64]) -> Self {
        let keys = Keys::new(off_cpu.len());
        let (off_cpu, samples) = (Packer::new(off_cpu), Packer::new(samples));
        Self { off_cpu, samples, totals: Totals::default(), keys, estimates: Vec::new() }
    }

    /// Adds rows of the table; `ends` are those of the stacks table.
    pub fn off_cpu_rows(&mut self, rows: &OffCpu, ends: &[u8]) {
        for row in 0..rows.thread.len() {
            self.totals.count(ends, rows.stack[row]);
            let Some(thread) = rows.thread[row].get() else { continue };
            let key = self.keys.of(EventKey::off_cpu(rows, row));
            let times = [rows.start_ns[row], rows.wait_ns[row], rows.runnable_ns[row]];
            self.off_cpu.push(thread, [times[0], times[1], times[2], u64::from(key), u64::from(rows.cpu[row])]);
        }
    }

    /// The same of the samples.
    pub fn sample_rows(&mut self, rows: &Samples, ends: &[u8]) {
        for row in 0..rows.thread.len() {
            self.totals.weights_ns = self.totals.weights_ns.saturating_add(rows.weight_ns[row]);
            let Some(thread) = rows.thread[row].get() else { continue };
            let key = self.keys.of(EventKey::running(rows.thread[row], rows.stack[row]));
            if rows.estimated[row] {
                let (weight_ns, cpu) = (rows.weight_ns[row], u32::from(rows.cpu[row]));
                self.estimates.push(Estimate { weight_ns, thread: rows.thread[row].raw(), key, cpu, unused: 0 });
                continue;
            }
            self.totals.count(ends, rows.stack[row]);
            self.samples.push(thread, [rows.time_ns[row], u64::from(key), u64::from(rows.cpu[row])]);
        }
    }

    /// When all rows have come: the keys thread by thread, and the estimates in order of thread.
    pub fn number_keys(&mut self) -> (Vec<EventKey>, Vec<Estimate>) {
        let of_threads = std::mem::take(&mut self.keys.of_thread);
        let mut begins = Vec::with_capacity(of_threads.len());
        let mut keys = Vec::new();
        for of_thread in of_threads {
            begins.push(keys.len() as u64);
            keys.extend(of_thread);
        }
        let begin = |thread: usize| begins.get(thread).copied().unwrap_or(0);
        self.off_cpu.shift(OFF_KEY, begin);
        self.samples.shift(SAMPLE_KEY, begin);
        let mut estimates = std::mem::take(&mut self.estimates);
        estimates.iter_mut().for_each(|estimate| estimate.key += begin(estimate.thread as usize) as u32);
        estimates.sort_by_key(|estimate| estimate.thread);
        (keys, estimates)
    }
}

/// Numbers the keys of each thread as they come.
#[derive(Default)]
struct Keys {
    of_thread: Vec<Vec<EventKey>>,
    ids: WordMap<EventKey, u32>,
    /// Each thread's last key: most rows repeat it.
    last: Vec<u32>,
}

impl Keys {
    fn new(threads: usize) -> Self {
        Self { of_thread: vec![Vec::new(); threads], last: vec![u32::MAX; threads], ..Self::default() }
    }

    fn of(&mut self, key: EventKey) -> u32 {
        let thread = key.thread as usize;
        let (Some(keys), Some(last)) = (self.of_thread.get_mut(thread), self.last.get_mut(thread)) else { return 0 };
        if keys.get(*last as usize) != Some(&key) {
            *last = *self.ids.entry(key).or_insert_with(|| {
                keys.push(key);
                keys.len() as u32 - 1
            });
        }
        *last
    }
}
