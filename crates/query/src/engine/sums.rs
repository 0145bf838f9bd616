//! What a sweep tells, summed by the events' keys and by the tasks meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use dwell_store::{Events, Trace, WordMap};
use dwell_view::ByClass;

use crate::engine::sweep::{ConcurrencyStats, OffCpuSplit, Visitor};
use crate::measure::utilization::add;
use crate::question::filter::{Filter, FilterKey};
use crate::question::level::Level;
use crate::question::query::Query;

/// Self weights of one key: class by class, since what happens to it is of one class or two.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NumberSums {
    /// Those of each class.
    pub classes: [ClassSums; 5],
}

/// Self weights of one key in one class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassSums {
    /// Running time, or blocked time.
    pub time: u64,
    /// Time in the run queue.
    pub runnable: u64,
    /// The longest wait of those begun.
    pub longest: u64,
    /// Intervals begun.
    pub began: u32,
}

impl NumberSums {
    /// Running time, or blocked time.
    pub fn time(&self) -> ByClass {
        self.classes.map(|class| class.time)
    }

    /// Time in the run queue.
    pub fn runnable(&self) -> ByClass {
        self.classes.map(|class| class.runnable)
    }

    /// Intervals begun, by the class in which they began.
    pub fn began(&self) -> [u32; 5] {
        self.classes.map(|class| class.began)
    }

    /// Adds to the running time, or blocked time.
    pub fn add_time(&mut self, time: &ByClass) {
        for (class, ns) in self.classes.iter_mut().zip(time).filter(|(_, ns)| **ns > 0) {
            class.time = class.time.saturating_add(*ns);
        }
    }

    /// Adds to the time in the run queue.
    pub fn add_runnable(&mut self, runnable: &ByClass) {
        for (class, ns) in self.classes.iter_mut().zip(runnable).filter(|(_, ns)| **ns > 0) {
            class.runnable = class.runnable.saturating_add(*ns);
        }
    }

    /// Adds those of another part of the time.
    pub fn add(&mut self, other: &Self) {
        for (ours, theirs) in self.classes.iter_mut().zip(&other.classes) {
            ours.time = ours.time.saturating_add(theirs.time);
            ours.runnable = ours.runnable.saturating_add(theirs.runnable);
            ours.longest = ours.longest.max(theirs.longest);
            ours.began = ours.began.saturating_add(theirs.began);
        }
    }
}

/// Numbers for pairs of key and context of [`dwell_store::Nesting`]: those outside of tasks are the keys' own, behind
/// them come those in context 1, and so on. Of threads likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    stride: u64,
    contexts: u64,
}

impl Numbering {
    /// For the keys of `trace`, and nobody's.
    pub fn of_keys(trace: &Trace) -> Self {
        Self::new(trace.events().keys.len() + 1, trace)
    }

    /// For the threads of `trace`.
    pub fn of_threads(trace: &Trace) -> Self {
        Self::new(trace.threads.tid.len() + 1, trace)
    }

    fn new(stride: usize, trace: &Trace) -> Self {
        Self { stride: stride as u64, contexts: trace.nesting().contexts() as u64 }
    }

    /// The number of a key or thread in a context; one that is not there is nobody.
    pub fn number(self, key: u32, context: u32) -> u64 {
        u64::from(context) * self.stride + u64::from(key).min(self.stride - 1)
    }

    /// Key or thread, and context, of a number.
    pub fn parts(self, number: u64) -> (u32, u32) {
        ((number % self.stride) as u32, u32::try_from(number / self.stride).unwrap_or(u32::MAX))
    }

    /// Whether there is such a pair.
    pub fn contains(self, number: u64) -> bool {
        number / self.stride < self.contexts
    }

    /// Numbers outside of tasks.
    pub fn outside(self) -> usize {
        self.stride as usize
    }
}

/// Places by number: the lower ones in a list, the others, of which few occur, in a table.
#[derive(Debug, Default)]
pub struct Places {
    /// [`NO_PLACE`] for those that have none.
    list: Vec<u32>,
    others: WordMap<u64, u32>,
}

const NO_PLACE: u32 = u32::MAX;

impl Places {
    /// With numbers below `dense` in the list.
    pub fn new(dense: usize) -> Self {
        Self { list: vec![NO_PLACE; dense], others: WordMap::default() }
    }

    /// The place of a number.
    pub fn get(&self, number: u64) -> Option<u32> {
        match usize::try_from(number).ok().and_then(|index| self.list.get(index)) {
            Some(place) => Some(*place).filter(|place| *place != NO_PLACE),
            None => self.others.get(&number).copied(),
        }
    }

    /// The numbers that have a place, in order, with it.
    fn in_order(&self) -> impl Iterator<Item = (u64, u32)> {
        let listed = self.list.iter().enumerate().filter(|(_, place)| **place != NO_PLACE);
        let mut others: Vec<(u64, u32)> = self.others.iter().map(|(number, place)| (*number, *place)).collect();
        others.sort_unstable();
        // The others' numbers are above those of the list.
        listed.map(|(number, place)| (number as u64, *place)).chain(others)
    }

    /// The place of a number; `next` when it had none.
    pub fn get_or_set(&mut self, number: u64, next: u32) -> u32 {
        match usize::try_from(number).ok().and_then(|index| self.list.get_mut(index)) {
            Some(place) => {
                if *place == NO_PLACE {
                    *place = next;
                }
                *place
            }
            None => *self.others.entry(number).or_insert(next),
        }
    }

    fn remove(&mut self, number: u64) {
        match usize::try_from(number).ok().and_then(|index| self.list.get_mut(index)) {
            Some(place) => *place = NO_PLACE,
            None => {
                self.others.remove(&number);
            }
        }
    }

    /// Memory that it takes, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.list.as_slice()) + self.others.len() * size_of::<(u64, u32)>()
    }
}

/// The sums of every number that occurs.
#[derive(Debug, Default)]
pub struct KeySums {
    /// Where a number's sums are.
    slots: Places,
    numbers: Vec<u64>,
    sums: Vec<NumberSums>,
    /// Running time without samples, by number of thread and context.
    pub unsampled: BTreeMap<u64, ByClass>,
    /// n(t) and c(t).
    pub levels: ConcurrencyStats,
}

impl KeySums {
    /// With fast access to numbers below `dense`.
    pub fn new(dense: usize) -> Self {
        Self { slots: Places::new(dense), ..Self::default() }
    }

    /// The sums of a number.
    pub fn slot(&mut self, number: u64) -> &mut NumberSums {
        let slot = self.slots.get_or_set(number, self.sums.len() as u32) as usize;
        if slot == self.sums.len() {
            self.numbers.push(number);
            self.sums.push(NumberSums::default());
        }
        &mut self.sums[slot]
    }

    /// Running time without a sample.
    pub fn add_unsampled(&mut self, number: u64, running: &ByClass) {
        add(self.unsampled.entry(number).or_default(), running);
    }

    /// The numbers that occur with their sums, in order.
    pub fn in_order(&self) -> impl Iterator<Item = (u64, &NumberSums)> {
        self.slots.in_order().map(|(number, slot)| (number, &self.sums[slot as usize]))
    }

    /// How many numbers occur.
    pub fn number_count(&self) -> usize {
        self.numbers.len()
    }

    /// Adds those of another part of the time, whose numbers are called `name` here.
    pub fn merge(&mut self, other: &Self, mut name: impl FnMut(u64) -> u64) {
        for (number, sums) in other.numbers.iter().zip(&other.sums) {
            self.slot(name(*number)).add(sums);
        }
        other.unsampled.iter().for_each(|(number, running)| self.add_unsampled(*number, running));
        self.levels.add(&other.levels);
    }

    /// Empties it for another part of the time.
    pub fn clear(&mut self) {
        for number in self.numbers.drain(..) {
            self.slots.remove(number);
        }
        self.sums.clear();
        self.unsampled.clear();
        self.levels = ConcurrencyStats::default();
    }
}

/// What a query tells apart beyond keys and contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Detail {
    /// The CPU; `u16::MAX` when it is not asked for.
    pub cpu: u16,
}

impl Detail {
    /// Nothing beyond them.
    pub const NONE: Self = Self { cpu: u16::MAX };
}

/// Numbers for numbers and details, where a query tells details apart.
#[derive(Debug, Default)]
pub struct DetailKeys {
    /// The CPU that stands for each, where filters only ask which it is; empty: each for itself.
    alike: Arc<Vec<u16>>,
    /// The number that stands for each, where only CPUs are told apart; empty: each for itself.
    stands_for: Arc<Vec<u32>>,
    ids: WordMap<(u64, Detail), u64>,
    /// The pairs, by their number.
    pub pairs: Vec<(u64, Detail)>,
}

impl DetailKeys {
    /// What `query` tells apart; none when the keys are enough.
    pub fn of_query(query: &Query) -> Option<Self> {
        let filters = || query.filters.iter().chain(&query.exclude);
        let is_grouped = query.group_by.contains(&Level::Cpu);
        let by_cpu = || filters().filter(|filter| filter.key == FilterKey::Cpu);
        let alike = if is_grouped { Vec::new() } else { alike(by_cpu()) };
        (is_grouped || by_cpu().next().is_some()).then(|| Self { alike: Arc::new(alike), ..Self::default() })
    }

    /// CPUs are told apart, and keys as far as others stand for them.
    pub fn by_cpu(stands_for: Vec<u32>) -> Self {
        Self { stands_for: Arc::new(stands_for), ..Self::default() }
    }

    /// The number that stands for each, where only CPUs are told apart.
    pub fn only_cpus(&self) -> Option<&[u32]> {
        (!self.stands_for.is_empty()).then_some(&self.stands_for)
    }

    /// Numbers that this one stands for are not told apart.
    pub fn set_alike(&mut self, stands_for: Vec<u32>) {
        self.stands_for = Arc::new(stands_for);
    }

    fn standing_for(&self, number: u64) -> u64 {
        let known = usize::try_from(number).ok().and_then(|number| self.stands_for.get(number));
        known.map_or(number, |number| u64::from(*number))
    }

    /// The same, without any pairs yet.
    pub fn fresh(&self) -> Self {
        let (alike, stands_for) = (self.alike.clone(), self.stands_for.clone());
        Self { alike, stands_for, ..Self::default() }
    }

    /// The detail on `cpu`.
    pub fn on_cpu(&self, cpu: u16) -> Detail {
        let cpu = self.alike.get(usize::from(cpu)).copied().unwrap_or(cpu);
        Detail { cpu }
    }

    /// The detail of an off-CPU row.
    pub fn off_cpu(&self, events: &Events, row: usize) -> Detail {
        self.on_cpu(events.off_cpu.cpu(row))
    }

    /// The number of a pair.
    pub fn of(&mut self, number: u64, detail: Detail) -> u64 {
        let number = self.standing_for(number);
        let pairs = &mut self.pairs;
        *self.ids.entry((number, detail)).or_insert_with(|| {
            pairs.push((number, detail));
            pairs.len() as u64 - 1
        })
    }

    /// The number of a pair that has occurred.
    pub fn get(&self, number: u64, detail: Detail) -> Option<u64> {
        self.ids.get(&(self.standing_for(number), detail)).copied()
    }
}

/// CPUs, the higher ones left out, that filters tell apart: each stands for those for which the same filters hold.
fn alike<'q>(filters: impl Iterator<Item = &'q Filter>) -> Vec<u16> {
    let filters: Vec<&Filter> = filters.collect();
    let mut first: HashMap<Vec<bool>, u16> = HashMap::new();
    let holds = |cpu: u16| filters.iter().map(|filter| filter.matches(&cpu.to_string())).collect();
    (0..COMMON_CPUS).map(|cpu| *first.entry(holds(cpu)).or_insert(cpu)).collect()
}

/// Numbers of CPUs that most machines stay below.
const COMMON_CPUS: u16 = 1024;

/// Sums what a sweep tells.
pub struct Summer<'a> {
    events: &'a Events,
    keys: Numbering,
    threads: Numbering,
    sums: &'a mut KeySums,
    /// Where details are told apart.
    details: Option<&'a mut DetailKeys>,
}

impl<'a> Summer<'a> {
    /// Sums what a sweep of `trace` tells into `sums`.
    pub fn new(trace: &'a Trace, sums: &'a mut KeySums, details: Option<&'a mut DetailKeys>) -> Self {
        let (keys, threads) = (Numbering::of_keys(trace), Numbering::of_threads(trace));
        Self { events: trace.events(), keys, threads, sums, details }
    }

    fn slot(
        &mut self,
        (key, context): (u32, u32),
        detail: impl FnOnce(&DetailKeys, &Events) -> Detail,
    ) -> &mut NumberSums {
        let number = self.keys.number(key, context);
        let number = match &mut self.details {
            None => number,
            Some(details) => details.of(number, detail(details, self.events)),
        };
        self.sums.slot(number)
    }
}

impl Visitor for Summer<'_> {
    fn off_cpu(&mut self, row: usize, split: &OffCpuSplit) {
        if split.began.is_none() && split.blocked == [0; 5] && split.runnable == [0; 5] {
            return;
        }
        let wait_ns = self.events.off_cpu.wait_ns(row);
        let key = (self.events.off_cpu.key(row), split.context);
        let sums = self.slot(key, |details, events| details.off_cpu(events, row));
        sums.add_time(&split.blocked);
        sums.add_runnable(&split.runnable);
        if let Some(class) = split.began.and_then(|class| sums.classes.get_mut(class)) {
            class.began = class.began.saturating_add(1);
            class.longest = class.longest.max(wait_ns);
        }
    }

    fn ran(&mut self, thread: usize, sample: Option<usize>, context: u32, running: &ByClass) {
        if *running == [0; 5] {
            return;
        }
        match sample {
            None => self.sums.add_unsampled(self.threads.number(thread as u32, context), running),
            Some(row) => {
                let key = (self.events.samples.key(row), context);
                let sums = self.slot(key, |details, events| details.on_cpu(events.samples.cpu(row)));
                sums.add_time(running);
            }
        }
    }
}
