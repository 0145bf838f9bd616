//! The off-CPU intervals and samples thread by thread, each thread's in order of time: the order in which they are
//! analyzed. What the events of one place have in common is said once, in a key.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use dwell_model::{ObjectId, Reason, StackEnd, StackId, ThreadId};

use crate::column::Column;
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
    reason: u8,
    outcome: u8,
    waker_kind: u8,
    unused: u8,
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
            reason: RAN,
            outcome: 0,
            waker_kind: 0,
            unused: 0,
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
            reason: Reason::from_code(rows.reason[row]).code(),
            outcome: rows.outcome[row],
            waker_kind: rows.waker_kind[row],
            unused: 0,
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
    pub(crate) begins: Column<u64>,
    /// When the thread left the CPU; in order within a thread.
    pub start_ns: Column<u64>,
    /// Time until it was woken.
    pub wait_ns: Column<u64>,
    /// Time in the run queue after that.
    pub runnable_ns: Column<u64>,
    /// Number of the key.
    pub key: Column<u32>,
    /// CPU that it then ran on.
    pub cpu: Column<u16>,
    /// System call that it was in.
    pub syscall: Column<i16>,
}

impl OffCpuEvents {
    /// Rows of `thread`.
    pub fn of(&self, thread: usize) -> Range<usize> {
        range(&self.begins, thread, self.start_ns.len())
    }

    /// When the thread was woken: a preempted one at once.
    pub fn woken_ns(&self, row: usize) -> u64 {
        self.start_ns[row].saturating_add(self.wait_ns[row])
    }

    /// When it ran again.
    pub fn end_ns(&self, row: usize) -> u64 {
        self.woken_ns(row).saturating_add(self.runnable_ns[row])
    }
}

/// The samples, thread by thread; of a thread without any, the estimates.
#[derive(Debug, Default)]
pub struct SampleEvents {
    pub(crate) begins: Column<u64>,
    /// When; in order within a thread.
    pub time_ns: Column<u64>,
    /// Number of the key.
    pub key: Column<u32>,
    /// CPU that it ran on.
    pub cpu: Column<u16>,
}

impl SampleEvents {
    /// Rows of `thread`.
    pub fn of(&self, thread: usize) -> Range<usize> {
        range(&self.begins, thread, self.time_ns.len())
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

fn range(begins: &[u64], thread: usize, rows: usize) -> Range<usize> {
    let at = |index: usize| begins.get(index).map_or(0, |begin| (*begin as usize).min(rows));
    at(thread)..at(thread + 1).max(at(thread))
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
    pub(crate) fn count(&mut self, ends: &[u8], stack: StackId) {
        let end = stack.get().and_then(|row| ends.get(row)).copied().unwrap_or(0);
        self.stacks += u64::from(end != 0);
        self.complete += u64::from(end == StackEnd::Complete.code());
    }

    fn of(trace: &Trace) -> Self {
        let weights_ns = trace.samples.weight_ns.iter().fold(0u64, |sum, ns| sum.saturating_add(*ns));
        let mut totals = Self { weights_ns, ..Self::default() };
        trace.off_cpu.stack.iter().for_each(|stack| totals.count(&trace.stacks.end, *stack));
        for (stack, estimated) in trace.samples.stack.iter().zip(&trace.samples.estimated) {
            if !estimated {
                totals.count(&trace.stacks.end, *stack);
            }
        }
        totals
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
        let mut keys = Keys::new(threads);
        let off_cpu = off_cpu_events(trace, threads, &mut keys);
        let (samples, estimates) = sample_events(trace, threads, &mut keys);
        let (totals, keys) = (Totals::of(trace), Column::from(keys.keys));
        Self { off_cpu, samples, estimates: Column::from(estimates), keys, totals }
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
        let begins = |begins: &[u64], rows: usize| {
            begins.len() == threads + 1 && begins.is_sorted() && begins.last() == Some(&(rows as u64))
        };
        let (off_cpu, samples) = (&self.off_cpu, &self.samples);
        let rows = off_cpu.start_ns.len();
        let lengths = [off_cpu.wait_ns.len(), off_cpu.runnable_ns.len(), off_cpu.key.len(), off_cpu.cpu.len()];
        all("intervals", begins(&off_cpu.begins, rows) && lengths.iter().all(|length| *length == rows))?;
        all("intervals", off_cpu.syscall.len() == rows)?;
        let rows = samples.time_ns.len();
        all("samples", begins(&samples.begins, rows) && samples.key.len() == rows && samples.cpu.len() == rows)?;
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
        self.key(self.off_cpu.key[row])
    }

    /// The estimates of `thread`.
    pub fn estimates_of(&self, thread: usize) -> &[Estimate] {
        let first = self.estimates.partition_point(|estimate| (estimate.thread as usize) < thread);
        let behind = self.estimates.partition_point(|estimate| estimate.thread as usize <= thread);
        &self.estimates[first..behind]
    }
}

/// Where each thread's rows begin, and one past the last; rows of no thread are left out.
fn begins(threads: usize, of_row: impl Iterator<Item = ThreadId>) -> Vec<u64> {
    let mut begins = vec![0u64; threads + 1];
    for thread in of_row.filter_map(ThreadId::get).filter(|thread| *thread < threads) {
        begins[thread + 1] += 1;
    }
    for thread in 0..threads {
        begins[thread + 1] += begins[thread];
    }
    begins
}

fn off_cpu_events(trace: &Trace, threads: usize, keys: &mut Keys) -> OffCpuEvents {
    let rows = &trace.off_cpu;
    let begins = begins(threads, rows.thread.iter().copied());
    let (order, key) = placed(&begins, rows.thread.iter().copied(), |row| keys.of(EventKey::off_cpu(rows, row)));
    OffCpuEvents {
        start_ns: picked(&order, &rows.start_ns),
        wait_ns: picked(&order, &rows.wait_ns),
        runnable_ns: picked(&order, &rows.runnable_ns),
        key: Column::from(key),
        cpu: picked(&order, &rows.cpu),
        syscall: picked(&order, &rows.syscall),
        begins: Column::from(begins),
    }
}

fn sample_events(trace: &Trace, threads: usize, keys: &mut Keys) -> (SampleEvents, Vec<Estimate>) {
    let rows = &trace.samples;
    let thread_of = |row: usize| if rows.estimated[row] { ThreadId::NONE } else { rows.thread[row] };
    let key_of = |row: usize| EventKey::running(rows.thread[row], rows.stack[row]);
    let count = rows.thread.len();
    let begins = begins(threads, (0..count).map(thread_of));
    let (order, key) = placed(&begins, (0..count).map(thread_of), |row| keys.of(key_of(row)));
    let estimated = (0..count).filter(|row| rows.estimated[*row]);
    let mut estimates: Vec<Estimate> = estimated.map(|row| keys.estimate(rows, row)).collect();
    estimates.sort_by_key(|estimate| estimate.thread);
    let samples = SampleEvents {
        time_ns: picked(&order, &rows.time_ns),
        key: Column::from(key),
        cpu: picked(&order, &rows.cpu),
        begins: Column::from(begins),
    };
    (samples, estimates)
}

/// A column's values in this order.
fn picked<T: Copy>(order: &[u32], column: &[T]) -> Column<T> {
    Column::from(order.iter().map(|row| column[*row as usize]).collect::<Vec<T>>())
}

/// Row numbers thread by thread, and the keys of the rows in that order.
fn placed(
    begins: &[u64],
    threads: impl Iterator<Item = ThreadId>,
    mut key: impl FnMut(usize) -> u32,
) -> (Vec<u32>, Vec<u32>) {
    let mut next = begins.to_vec();
    let count = begins.last().copied().unwrap_or(0) as usize;
    let (mut order, mut keys) = (vec![0u32; count], vec![0u32; count]);
    for (row, thread) in threads.enumerate() {
        let Some(next) = thread.get().and_then(|thread| next.get_mut(thread)) else { continue };
        let place = *next as usize;
        if let Some(slot) = order.get_mut(place) {
            (*slot, keys[place]) = (row as u32, key(row));
            *next += 1;
        }
    }
    (order, keys)
}

/// Numbers keys as they come.
#[derive(Default)]
pub(crate) struct Keys {
    pub(crate) keys: Vec<EventKey>,
    ids: HashMap<EventKey, u32, BuildHasherDefault<WordHasher>>,
    /// Each thread's last key: most rows repeat it.
    last: Vec<u32>,
}

impl Keys {
    pub(crate) fn new(threads: usize) -> Self {
        Self { last: vec![u32::MAX; threads], ..Self::default() }
    }

    pub(crate) fn estimate(&mut self, rows: &Samples, row: usize) -> Estimate {
        let key = self.of(EventKey::running(rows.thread[row], rows.stack[row]));
        let (thread, cpu) = (rows.thread[row].raw(), u32::from(rows.cpu[row]));
        Estimate { weight_ns: rows.weight_ns[row], thread, key, cpu, unused: 0 }
    }

    pub(crate) fn of(&mut self, key: EventKey) -> u32 {
        let thread = key.thread as usize;
        let last = self.last.get(thread).copied().unwrap_or(u32::MAX);
        if self.keys.get(last as usize) == Some(&key) {
            return last;
        }
        let keys = &mut self.keys;
        let id = *self.ids.entry(key).or_insert_with(|| {
            keys.push(key);
            keys.len() as u32 - 1
        });
        if let Some(last) = self.last.get_mut(thread) {
            *last = id;
        }
        id
    }
}

/// Hashes a few words fast; keys come from the trace's own tables, and a trace made to collide only slows its reader.
#[derive(Default)]
pub(crate) struct WordHasher(u64);

impl WordHasher {
    fn mix(&mut self, word: u64) {
        // The multiplier is 2^64 / the golden ratio, as in Knuth's multiplicative hashing.
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.mix(u64::from(*byte)));
    }
    fn write_u8(&mut self, word: u8) {
        self.mix(u64::from(word));
    }
    fn write_u32(&mut self, word: u32) {
        self.mix(u64::from(word));
    }
}
