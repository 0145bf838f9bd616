//! Makes events of the tables' rows: packs times by thread, and numbers keys as they come.

use super::key::EventKey;
use super::key_waits::KeyWaits;
use super::rows::{Estimate, OFF_CPU_COLUMNS, OFF_KEY, SAMPLE_COLUMNS, SAMPLE_KEY};
use super::same_call::SameCalls;
use super::totals::EventTotals;
use crate::hash::WordMap;
use crate::index::Packer;
use crate::tables::{Objects, OffCpu, Samples};

/// Events while they are made of the tables' rows, which come in order of time.
pub(in crate::trace) struct Making {
    /// The intervals.
    pub off_cpu: Packer<OFF_CPU_COLUMNS>,
    /// The samples.
    pub samples: Packer<SAMPLE_COLUMNS>,
    /// Sums over them.
    pub totals: EventTotals,
    keys: Keys,
    same_calls: SameCalls,
    estimates: Vec<Estimate>,
}

impl Making {
    /// For threads with so many intervals and samples each, which name rows of `objects`.
    pub fn new(off_cpu: &[u64], samples: &[u64], objects: &Objects) -> Self {
        let (keys, same_calls) = (Keys::new(off_cpu.len()), SameCalls::new(off_cpu.len(), objects));
        let (off_cpu, samples) = (Packer::new(off_cpu), Packer::new(samples));
        Self { off_cpu, samples, totals: EventTotals::default(), keys, same_calls, estimates: Vec::new() }
    }

    /// Adds rows of the table; `ends` are those of the stacks table.
    pub fn off_cpu_rows(&mut self, rows: &OffCpu, ends: &[u8]) {
        for row in 0..rows.thread.len() {
            self.totals.count(ends, rows.stack[row]);
            let Some(thread) = rows.thread[row].get() else { continue };
            let again = self.same_calls.goes_on(rows, row);
            let key = self.keys.of(EventKey::off_cpu(rows, row, again));
            let times = [rows.start_ns[row], rows.wait_ns[row], rows.runnable_ns[row]];
            self.keys.add_wait(thread, key, (times[0], times[1]));
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

    /// When all rows have come: the keys thread by thread, their waits, and the estimates in order of thread.
    pub fn number_keys(&mut self) -> (Vec<EventKey>, Vec<KeyWaits>, Vec<Estimate>) {
        let of_threads = std::mem::take(&mut self.keys.of_thread);
        let waits = std::mem::take(&mut self.keys.waits).concat();
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
        (keys, waits, estimates)
    }
}

/// Numbers the keys of each thread as they come.
#[derive(Default)]
struct Keys {
    of_thread: Vec<Vec<EventKey>>,
    waits: Vec<Vec<KeyWaits>>,
    ids: WordMap<EventKey, u32>,
    /// Each thread's last key: most rows repeat it.
    last: Vec<u32>,
}

impl Keys {
    fn new(threads: usize) -> Self {
        Self {
            of_thread: vec![Vec::new(); threads],
            waits: vec![Vec::new(); threads],
            last: vec![u32::MAX; threads],
            ..Self::default()
        }
    }

    fn of(&mut self, key: EventKey) -> u32 {
        let thread = key.thread as usize;
        let known = (self.of_thread.get_mut(thread), self.waits.get_mut(thread), self.last.get_mut(thread));
        let (Some(keys), Some(waits), Some(last)) = known else { return 0 };
        if keys.get(*last as usize) != Some(&key) {
            *last = *self.ids.entry(key).or_insert_with(|| {
                keys.push(key);
                waits.push(KeyWaits::NONE);
                keys.len() as u32 - 1
            });
        }
        *last
    }

    /// Counts a row of a key of the thread: when it began and how long it waited, ns.
    fn add_wait(&mut self, thread: usize, key: u32, (start_ns, wait_ns): (u64, u64)) {
        if let Some(waits) = self.waits.get_mut(thread).and_then(|waits| waits.get_mut(key as usize)) {
            waits.add(start_ns, wait_ns);
        }
    }
}
