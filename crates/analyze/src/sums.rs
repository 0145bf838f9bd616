//! What a sweep tells, summed by the events' keys.

use std::collections::{BTreeMap, HashMap};

use dwell_store::Events;

use crate::query::{FilterKey, Level, Query, parse_lengths};
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

/// What a query tells apart beyond the events' keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Detail {
    /// The CPU; `u16::MAX` when it is not asked for.
    pub cpu: u16,
    /// The last limit of a filter by length that the wait reaches, ns; 0 for none.
    pub length_ns: u64,
}

impl Detail {
    /// Nothing beyond the key.
    pub const NONE: Self = Self { cpu: u16::MAX, length_ns: 0 };
}

/// Numbers for pairs of key and detail, where a query tells details apart.
#[derive(Debug, Default)]
pub struct DetailKeys {
    by_cpu: bool,
    /// Limits of the filters by length, ascending.
    limits: Vec<u64>,
    ids: HashMap<(u32, Detail), u32>,
    /// The pairs, by number.
    pub pairs: Vec<(u32, Detail)>,
}

impl DetailKeys {
    /// What `query` tells apart; none when the keys are enough.
    pub fn of_query(query: &Query) -> Option<Self> {
        let filters = || query.filters.iter().chain(&query.exclude);
        let by_cpu = query.group_by.contains(&Level::Cpu) || filters().any(|filter| filter.key == FilterKey::Cpu);
        let lengths = filters().filter(|filter| filter.key == FilterKey::WaitLength);
        let ranges = lengths.filter_map(|filter| parse_lengths(&filter.value));
        let mut limits: Vec<u64> = ranges.flat_map(|range| [range.start, range.end]).collect();
        limits.sort_unstable();
        (by_cpu || !limits.is_empty()).then(|| Self { by_cpu, limits, ..Self::default() })
    }

    /// The detail on `cpu`.
    pub fn on_cpu(&self, cpu: u16) -> Detail {
        Detail { cpu: if self.by_cpu { cpu } else { u16::MAX }, length_ns: 0 }
    }

    /// The detail of an off-CPU row.
    pub fn off_cpu(&self, events: &Events, row: usize) -> Detail {
        let wait_ns = events.off_cpu.wait_ns(row);
        let reached = self.limits.partition_point(|limit| *limit <= wait_ns);
        let length_ns = reached.checked_sub(1).map_or(0, |last| self.limits[last]);
        Detail { length_ns, ..self.on_cpu(events.off_cpu.cpu(row)) }
    }

    /// The number of a pair.
    pub fn of(&mut self, key: u32, detail: Detail) -> u32 {
        let pairs = &mut self.pairs;
        *self.ids.entry((key, detail)).or_insert_with(|| {
            pairs.push((key, detail));
            pairs.len() as u32 - 1
        })
    }

    /// The number of a pair that has occurred.
    pub fn get(&self, key: u32, detail: Detail) -> Option<u32> {
        self.ids.get(&(key, detail)).copied()
    }
}

/// Sums what a sweep tells.
pub struct Summer<'a> {
    /// What is swept.
    pub events: &'a Events,
    /// Where it is summed.
    pub sums: &'a mut KeySums,
    /// Where details are told apart.
    pub details: Option<&'a mut DetailKeys>,
}

impl Summer<'_> {
    fn slot(&mut self, key: u32, detail: impl FnOnce(&DetailKeys, &Events) -> Detail) -> &mut Sums {
        let key = key.min(self.events.keys.len() as u32);
        let key = match &mut self.details {
            None => key,
            Some(details) => details.of(key, detail(details, self.events)),
        };
        self.sums.slot(key)
    }
}

impl Visitor for Summer<'_> {
    fn off_cpu(&mut self, row: usize, split: &OffCpuSplit) {
        if split.began.is_none() && split.blocked == [0; 5] && split.runnable == [0; 5] {
            return;
        }
        let wait_ns = self.events.off_cpu.wait_ns(row);
        let sums = self.slot(self.events.off_cpu.key(row), |details, events| details.off_cpu(events, row));
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
                let sums =
                    self.slot(self.events.samples.key(row), |details, events| details.on_cpu(events.samples.cpu(row)));
                add(&mut sums.time, running);
            }
        }
    }
}
