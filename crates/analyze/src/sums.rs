//! What a sweep tells, summed by the events' keys.

use std::collections::{BTreeMap, HashMap};

use dwell_store::Events;

use crate::sweep::{ByClass, Levels, OffCpuSplit, Visitor, add};

/// Self weights of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// Running time, or blocked time.
    pub time: ByClass,
    /// Time in the run queue.
    pub runnable: ByClass,
    /// Intervals begun, by the class in which they began.
    pub began: [u32; 5],
    /// The longest wait of them.
    pub longest: [u64; 5],
}

impl Sums {
    /// Adds those of another part of the time.
    pub fn add(&mut self, other: &Self) {
        add(&mut self.time, &other.time);
        add(&mut self.runnable, &other.runnable);
        for class in 0..5 {
            self.began[class] = self.began[class].saturating_add(other.began[class]);
            self.longest[class] = self.longest[class].max(other.longest[class]);
        }
    }
}

/// The sums of every key that occurs.
#[derive(Debug, Default)]
pub struct KeySums {
    slots: Vec<Sums>,
    is_used: Vec<bool>,
    used: Vec<u32>,
    /// Running time of threads without samples.
    pub unsampled: BTreeMap<u32, ByClass>,
    /// n(t) and c(t).
    pub levels: Levels,
}

impl KeySums {
    /// For `keys` keys; more come when they are asked for.
    pub fn new(keys: usize) -> Self {
        Self { slots: vec![Sums::default(); keys], is_used: vec![false; keys], ..Self::default() }
    }

    /// The sums of a key.
    pub fn slot(&mut self, key: u32) -> &mut Sums {
        let index = key as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, Sums::default());
            self.is_used.resize(index + 1, false);
        }
        if !self.is_used[index] {
            self.is_used[index] = true;
            self.used.push(key);
        }
        &mut self.slots[index]
    }

    /// Running time of a thread without samples.
    pub fn add_unsampled(&mut self, thread: u32, running: &ByClass) {
        add(self.unsampled.entry(thread).or_default(), running);
    }

    /// The keys that occur with their sums, in order.
    pub fn in_order(&mut self) -> impl ExactSizeIterator<Item = (u32, &Sums)> {
        self.used.sort_unstable();
        self.used.iter().map(|key| (*key, &self.slots[*key as usize]))
    }

    /// Empties it for another part of the time.
    pub fn clear(&mut self) {
        for key in self.used.drain(..) {
            self.slots[key as usize] = Sums::default();
            self.is_used[key as usize] = false;
        }
        self.unsampled.clear();
        self.levels = Levels::default();
    }
}

/// Numbers for pairs of key and CPU, where a query tells CPUs apart.
#[derive(Debug, Default)]
pub struct CpuKeys {
    ids: HashMap<(u32, u16), u32>,
    /// The pairs, by number.
    pub pairs: Vec<(u32, u16)>,
}

impl CpuKeys {
    /// The number of a pair.
    pub fn of(&mut self, key: u32, cpu: u16) -> u32 {
        let pairs = &mut self.pairs;
        *self.ids.entry((key, cpu)).or_insert_with(|| {
            pairs.push((key, cpu));
            pairs.len() as u32 - 1
        })
    }

    /// The number of a pair that has occurred.
    pub fn get(&self, key: u32, cpu: u16) -> Option<u32> {
        self.ids.get(&(key, cpu)).copied()
    }
}

/// Sums what a sweep tells.
pub struct Summer<'a> {
    /// What is swept.
    pub events: &'a Events,
    /// Where it is summed.
    pub sums: &'a mut KeySums,
    /// Where CPUs are told apart.
    pub cpus: Option<&'a mut CpuKeys>,
}

impl Summer<'_> {
    fn slot(&mut self, key: u32, cpu: impl FnOnce(&Events) -> u16) -> &mut Sums {
        let key = key.min(self.events.keys.len() as u32);
        let key = match &mut self.cpus {
            None => key,
            Some(cpus) => cpus.of(key, cpu(self.events)),
        };
        self.sums.slot(key)
    }
}

impl Visitor for Summer<'_> {
    fn off_cpu(&mut self, row: usize, split: &OffCpuSplit) {
        if split.began.is_none() && split.blocked == [0; 5] && split.runnable == [0; 5] {
            return;
        }
        let wait_ns = self.events.off_cpu.wait_ns[row];
        let sums = self.slot(self.events.off_cpu.key[row], |events| events.off_cpu.cpu[row]);
        add(&mut sums.time, &split.blocked);
        add(&mut sums.runnable, &split.runnable);
        if let Some(class) = split.began {
            sums.began[class] = sums.began[class].saturating_add(1);
            sums.longest[class] = sums.longest[class].max(wait_ns);
        }
    }

    fn ran(&mut self, thread: usize, sample: Option<usize>, running: &ByClass) {
        if *running == [0; 5] {
            return;
        }
        match sample {
            None => self.sums.add_unsampled(thread as u32, running),
            Some(row) => {
                let sums = self.slot(self.events.samples.key[row], |events| events.samples.cpu[row]);
                add(&mut sums.time, running);
            }
        }
    }
}
