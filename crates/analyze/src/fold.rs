//! The fold: what a sweep tells, summed by everything that it can be grouped by. Self weights are summed once, in
//! sites; every table and tree is a projection of the sites.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use dwell_model::{ObjectId, ObjectType, Reason, StackId, ThreadId};
use dwell_store::Trace;

use crate::call_stacks::CallStacks;
use crate::classify::{CpuKind, CpuKinds, IdleWaits};
use crate::metrics::total;
use crate::query::{FilterKey, Level, Query, QueryError};
use crate::selection::Selection;
use crate::sweep::{ByClass, Levels, OffCpuSplit, Visitor, add, sweep};
use crate::windows::Windows;

/// What is summed over the events of one group. All times in ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    /// Effective CPU time.
    pub effective: ByClass,
    /// Spin time by class.
    pub spinning: ByClass,
    /// Overhead time by class.
    pub overheads: ByClass,
    /// Spin time by kind: imbalance, lock contention, other.
    pub spin: [u64; 3],
    /// Overhead time by kind: creation, scheduling, reduction, atomics, other.
    pub overhead: [u64; 5],
    /// Wait time.
    pub wait: ByClass,
    /// The part of `wait` that idle workers spent.
    pub idle: ByClass,
    /// Blocked time of unknown reason.
    pub unknown: ByClass,
    /// Time in the run queue.
    pub runnable: ByClass,
    /// Waits begun.
    pub wait_count: u64,
    /// Preemptions begun.
    pub preemptions: u64,
    /// Intervals off the CPU begun.
    pub switches: u64,
    /// Longest wait begun.
    pub max_wait_ns: u64,
}

impl Weights {
    /// CPU time by class.
    pub fn cpu(&self) -> ByClass {
        let mut cpu = self.effective;
        add(&mut cpu, &self.spinning);
        add(&mut cpu, &self.overheads);
        cpu
    }

    /// CPU time.
    pub fn cpu_ns(&self) -> u64 {
        total(&self.cpu())
    }

    /// Spin time.
    pub fn spin_ns(&self) -> u64 {
        total(&self.spinning)
    }

    /// Overhead time.
    pub fn overhead_ns(&self) -> u64 {
        total(&self.overheads)
    }

    /// Wait time.
    pub fn wait_ns(&self) -> u64 {
        total(&self.wait)
    }

    /// The Idle and Poor part of the wait time.
    pub fn wait_poor_ns(&self) -> u64 {
        self.wait[0].saturating_add(self.wait[1])
    }

    /// The part of the wait time with poor utilization that idle workers did not spend: the rank of an object.
    pub fn blocking_poor_ns(&self) -> u64 {
        self.wait_poor_ns().saturating_sub(self.idle[0].saturating_add(self.idle[1]))
    }

    /// The part of the wait time that idle workers did not spend.
    pub fn blocking_ns(&self) -> u64 {
        self.wait_ns().saturating_sub(total(&self.idle))
    }

    /// Adds those of another group.
    pub fn add(&mut self, other: &Self) {
        let classes = [
            (&mut self.effective, &other.effective),
            (&mut self.spinning, &other.spinning),
            (&mut self.overheads, &other.overheads),
            (&mut self.overhead, &other.overhead),
            (&mut self.wait, &other.wait),
            (&mut self.idle, &other.idle),
            (&mut self.unknown, &other.unknown),
            (&mut self.runnable, &other.runnable),
        ];
        for (ours, theirs) in classes {
            add(ours, theirs);
        }
        for (ours, theirs) in self.spin.iter_mut().zip(other.spin) {
            *ours = ours.saturating_add(theirs);
        }
        self.wait_count += other.wait_count;
        self.preemptions += other.preemptions;
        self.switches += other.switches;
        self.max_wait_ns = self.max_wait_ns.max(other.max_wait_ns);
    }
}

/// What the events of one site have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SiteKey {
    /// The thread.
    pub thread: ThreadId,
    /// What it waited on.
    pub object: ObjectId,
    /// Where it was.
    pub stack: StackId,
    /// Who woke it.
    pub waker: ThreadId,
    /// Where the waker was.
    pub waker_stack: StackId,
    /// CPU, when the query asks for it.
    pub cpu: u16,
    /// Why it was off the CPU; none: it ran.
    pub reason: Option<Reason>,
    /// Outcome's code.
    pub outcome: u8,
    /// Waker kind's code.
    pub waker_kind: u8,
}

/// Self weights of one place.
#[derive(Clone, Debug)]
pub struct Site {
    /// What its events have in common.
    pub key: SiteKey,
    /// Running time, or blocked time.
    pub time: ByClass,
    /// Time in the run queue.
    pub runnable: ByClass,
    /// Intervals begun, by the class in which they began.
    pub began: [u32; 5],
    /// The longest of them.
    pub longest_ns: u64,
    /// What its running time is.
    pub cpu_kind: CpuKind,
    /// Whether it is a wait of an idle worker.
    pub idle: bool,
    /// Whether the filters let it through.
    pub selected: bool,
}

impl Site {
    /// Its weights as far as the classes of `mask` go.
    pub fn weights(&self, mask: [bool; 5]) -> Weights {
        let masked = |classes: &ByClass| std::array::from_fn(|class| if mask[class] { classes[class] } else { 0 });
        let time: ByClass = masked(&self.time);
        let mut weights = Weights::default();
        let Some(reason) = self.key.reason else {
            match self.cpu_kind {
                CpuKind::Effective => weights.effective = time,
                CpuKind::Spin(kind) => {
                    weights.spinning = time;
                    weights.spin[kind as usize] = total(&time);
                }
                CpuKind::Overhead(kind) => {
                    weights.overheads = time;
                    weights.overhead[kind as usize] = total(&time);
                }
            }
            return weights;
        };
        let began = (0..5).filter(|&class| mask[class]).map(|class| u64::from(self.began[class])).sum();
        weights.runnable = masked(&self.runnable);
        weights.switches = began;
        match reason {
            Reason::Waiting => {
                weights.wait = time;
                weights.idle = if self.idle { time } else { [0; 5] };
                weights.wait_count = began;
                weights.max_wait_ns = self.longest_ns;
            }
            Reason::Preempted => weights.preemptions = began,
            _ => {}
        }
        // Blocked time without a known wait: conservation counts it as waiting, Wait Time does not.
        if reason != Reason::Waiting {
            weights.unknown = time;
        }
        weights
    }

    /// Whether it is a wait on an object.
    pub fn is_wait(&self) -> bool {
        self.key.reason == Some(Reason::Waiting)
    }
}

/// What is summed, whatever is then shown of it: the same for all questions of one selection.
pub struct Sums<'t> {
    /// Where it was looked at.
    pub windows: Windows,
    /// The stacks as the query shows them.
    pub stacks: CallStacks<'t>,
    /// Every site, selected or not.
    pub sites: Vec<Site>,
    /// Site of each off-CPU row that began in the windows and in a selected class; `u32::MAX` for others.
    pub site_of_row: Vec<u32>,
    /// n(t) and c(t).
    pub levels: Levels,
    /// Classes that the filters let through.
    pub class_mask: [bool; 5],
}

/// The fold of a trace.
pub struct Fold<'t> {
    /// What was folded.
    pub trace: &'t Trace,
    /// What was asked.
    pub query: &'t Query,
    sums: Arc<Sums<'t>>,
}

impl<'t> Deref for Fold<'t> {
    type Target = Sums<'t>;

    fn deref(&self) -> &Sums<'t> {
        &self.sums
    }
}

impl<'t> Fold<'t> {
    /// Folds `trace` for `query`: one sweep. Fails when the query's range is empty.
    pub fn new(trace: &'t Trace, query: &'t Query) -> Result<Self, QueryError> {
        let windows = Windows::of_query(trace, query)?;
        let stacks = CallStacks::new(trace, query);
        let selection = Selection::new(trace, query);
        let mut summer = Summer::new(trace, query, selection.class_mask());
        let levels = sweep(trace, query, &windows, &mut summer);
        let Summer { mut sites, site_of_row, class_mask, .. } = summer;
        classify(trace, &stacks, &mut sites);
        selection.apply(&stacks, &mut sites);
        Ok(Self { trace, query, sums: Arc::new(Sums { windows, stacks, sites, site_of_row, levels, class_mask }) })
    }

    /// The same sums for another question of the same [`Query::selection`]: grouping, metrics, order and limit are
    /// the projection's.
    pub fn asked<'q>(&self, query: &'q Query) -> Fold<'q>
    where
        't: 'q,
    {
        Fold { trace: self.trace, query, sums: self.sums.clone() }
    }

    /// Memory that the sums take, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.site_of_row.as_slice()) + size_of_val(self.sites.as_slice())
    }

    /// The sites that the filters let through, with their numbers and weights.
    pub fn selected(&self) -> impl Iterator<Item = (usize, &Site, Weights)> {
        let selected = self.sites.iter().enumerate().filter(|(_, site)| site.selected);
        selected.map(|(index, site)| (index, site, site.weights(self.class_mask)))
    }

    /// The sum over what the filters let through.
    pub fn shown(&self) -> Weights {
        let mut sum = Weights::default();
        self.selected().for_each(|(_, _, weights)| sum.add(&weights));
        sum
    }

    /// A metric of what the filters let through.
    pub fn total(&self, metric: &dwell_model::MetricDef) -> crate::view::Value {
        crate::metrics::value(metric, &self.shown())
    }

    /// The sum over everything.
    pub fn whole(&self) -> Weights {
        let mut sum = Weights::default();
        self.sites.iter().for_each(|site| sum.add(&site.weights([true; 5])));
        sum
    }

    /// Type of an object.
    pub fn object_type(&self, object: ObjectId) -> ObjectType {
        object_type(self.trace, object)
    }

    /// Name of an object.
    pub fn object_name(&self, object: ObjectId) -> &'t str {
        object.get().and_then(|row| self.trace.objects.name.get(row)).map_or("[unknown]", String::as_str)
    }
}

/// Type of an object of the trace.
pub fn object_type(trace: &Trace, object: ObjectId) -> ObjectType {
    let code = object.get().and_then(|row| trace.objects.kind.get(row)).copied();
    ObjectType::from_code(code.unwrap_or(0))
}

fn classify(trace: &Trace, stacks: &CallStacks<'_>, sites: &mut [Site]) {
    let mut cpu_kinds = CpuKinds::default();
    let mut idle_waits = IdleWaits::default();
    for site in sites {
        if site.key.reason.is_none() {
            site.cpu_kind = cpu_kinds.of(stacks, site.key.stack);
        } else if site.is_wait() {
            site.idle = idle_waits.is_idle(stacks, site.key.stack, object_type(trace, site.key.object));
        }
    }
}

/// Sums what the sweep tells.
struct Summer<'t> {
    trace: &'t Trace,
    by_cpu: bool,
    class_mask: [bool; 5],
    sites: Vec<Site>,
    ids: HashMap<SiteKey, u32, BuildHasherDefault<WordHasher>>,
    /// Each thread's site of its last row: most rows repeat it.
    last: Vec<u32>,
    site_of_row: Vec<u32>,
    /// Each thread's sample before.
    last_sample: Vec<Option<usize>>,
    /// Each thread's estimates: what it ran at each place, all its life.
    estimates: HashMap<ThreadId, Vec<usize>>,
}

impl<'t> Summer<'t> {
    fn new(trace: &'t Trace, query: &Query, class_mask: [bool; 5]) -> Self {
        let mut estimates: HashMap<ThreadId, Vec<usize>> = HashMap::new();
        let samples = trace.samples.estimated.iter().zip(&trace.samples.thread).enumerate();
        for (row, (_, thread)) in samples.filter(|(_, (estimated, _))| **estimated) {
            estimates.entry(*thread).or_default().push(row);
        }
        let mut filters = query.filters.iter().chain(&query.exclude);
        let by_cpu = query.group_by.contains(&Level::Cpu) || filters.any(|filter| filter.key == FilterKey::Cpu);
        Self {
            trace,
            by_cpu,
            class_mask,
            sites: Vec::new(),
            ids: HashMap::default(),
            last: vec![u32::MAX; trace.threads.tid.len()],
            site_of_row: vec![u32::MAX; trace.off_cpu.thread.len()],
            last_sample: vec![None; trace.threads.tid.len()],
            estimates,
        }
    }

    fn site(&mut self, key: SiteKey) -> usize {
        let thread = key.thread.get().filter(|thread| *thread < self.last.len());
        let last = thread.map_or(u32::MAX, |thread| self.last[thread]) as usize;
        if self.sites.get(last).is_some_and(|site| site.key == key) {
            return last;
        }
        let sites = &mut self.sites;
        let id = *self.ids.entry(key).or_insert_with(|| {
            sites.push(Site {
                key,
                time: [0; 5],
                runnable: [0; 5],
                began: [0; 5],
                longest_ns: 0,
                cpu_kind: CpuKind::Effective,
                idle: false,
                selected: true,
            });
            sites.len() as u32 - 1
        });
        if let Some(thread) = thread {
            self.last[thread] = id;
        }
        id as usize
    }

    fn off_cpu_key(&self, row: usize) -> SiteKey {
        let rows = &self.trace.off_cpu;
        SiteKey {
            thread: rows.thread[row],
            object: rows.object[row],
            stack: rows.stack[row],
            waker: rows.waker[row],
            waker_stack: rows.waker_stack[row],
            cpu: if self.by_cpu { rows.cpu[row] } else { u16::MAX },
            reason: Some(Reason::from_code(rows.reason[row])),
            outcome: rows.outcome[row],
            waker_kind: rows.waker_kind[row],
        }
    }

    fn run(&mut self, thread: ThreadId, stack: StackId, cpu: u16, running: &ByClass) {
        if *running == [0; 5] {
            return;
        }
        let key = SiteKey {
            thread,
            object: ObjectId::NONE,
            stack,
            waker: ThreadId::NONE,
            waker_stack: StackId::NONE,
            cpu: if self.by_cpu { cpu } else { u16::MAX },
            reason: None,
            outcome: 0,
            waker_kind: 0,
        };
        let site = self.site(key);
        add(&mut self.sites[site].time, running);
    }
}

impl Visitor for Summer<'_> {
    fn off_cpu(&mut self, row: usize, split: &OffCpuSplit) {
        if split.began.is_none() && split.blocked == [0; 5] && split.runnable == [0; 5] {
            return;
        }
        let index = self.site(self.off_cpu_key(row));
        let site = &mut self.sites[index];
        add(&mut site.time, &split.blocked);
        add(&mut site.runnable, &split.runnable);
        if let Some(class) = split.began {
            site.began[class] = site.began[class].saturating_add(1);
            if self.class_mask[class] {
                site.longest_ns = site.longest_ns.max(self.trace.off_cpu.wait_ns[row]);
                self.site_of_row[row] = index as u32;
            }
        }
    }

    fn sample(&mut self, row: usize, running: &ByClass) {
        let samples = &self.trace.samples;
        if let Some(last) = samples.thread[row].get().and_then(|thread| self.last_sample.get_mut(thread)) {
            *last = Some(row);
        }
        self.run(samples.thread[row], samples.stack[row], samples.cpu[row], running);
    }

    /// What runs after the last sample is of that; a thread without samples is split by its estimates.
    fn thread(&mut self, thread: usize, unsampled: &ByClass) {
        let (id, samples) = (ThreadId::new(thread), &self.trace.samples);
        if let Some(last) = self.last_sample[thread] {
            return self.run(id, samples.stack[last], samples.cpu[last], unsampled);
        }
        let Some(rows) = self.estimates.remove(&id) else {
            return self.run(id, StackId::NONE, u16::MAX, unsampled);
        };
        let weights: Vec<u64> = rows.iter().map(|row| samples.weight_ns[*row]).collect();
        for (row, part) in rows.iter().zip(shares(unsampled, &weights)) {
            self.run(id, samples.stack[*row], samples.cpu[*row], &part);
        }
    }
}

/// Splits each class's time in proportion to the weights. The ends of the parts are rounded, not the parts: they add
/// up to the whole exactly.
fn shares(whole: &ByClass, weights: &[u64]) -> Vec<ByClass> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    // Without weights, the last one has it all.
    let part = |ns: u64, weight: u128, last: bool| {
        if last || sum == 0 { u128::from(ns) * u128::from(last) } else { mul_div(ns, weight, sum) }
    };
    let mut before = 0u128;
    let mut begun: [u128; 5] = [0; 5];
    let split = |(index, weight): (usize, &u64)| {
        before += u128::from(*weight);
        std::array::from_fn(|class| {
            let end = part(whole[class], before, index + 1 == weights.len());
            let share = end - begun[class];
            begun[class] = end;
            u64::try_from(share).unwrap_or(u64::MAX)
        })
    };
    weights.iter().enumerate().map(split).collect()
}

/// `ns * part / whole` for a part of the whole.
fn mul_div(ns: u64, part: u128, whole: u128) -> u128 {
    // Weights that overflow, in a damaged trace, lose their low digits.
    let shift = (128 - whole.leading_zeros()).saturating_sub(64);
    u128::from(ns) * (part >> shift) / (whole >> shift).max(1)
}

/// Hashes a few words fast; keys come from the trace's own tables, and a trace made to collide only slows its reader.
#[derive(Default)]
struct WordHasher(u64);

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
    fn write_u16(&mut self, word: u16) {
        self.mix(u64::from(word));
    }
    fn write_u32(&mut self, word: u32) {
        self.mix(u64::from(word));
    }
    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }
    fn write_isize(&mut self, word: isize) {
        self.mix(word as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        let parts = shares(&[10, 0, 7, 1, u64::MAX], &[1, 1, 1]);
        let sum = |class: usize| parts.iter().map(|part| part[class]).sum::<u64>();
        assert_eq!([sum(0), sum(1), sum(2), sum(3), sum(4)], [10, 0, 7, 1, u64::MAX]);
        assert_eq!(parts[0][0], 3);
        assert_eq!(shares(&[5; 5], &[0, 0]), [[0; 5], [5; 5]]);
        assert_eq!(shares(&[5; 5], &[u64::MAX, u64::MAX, 1]).len(), 3);
    }
}
