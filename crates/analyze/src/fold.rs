//! The fold: what a sweep tells, summed by everything that it can be grouped by. Self weights are summed once, in
//! sites; every table and tree is a projection of the sites.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use dwell_model::{ObjectId, ObjectType, Reason, StackId, ThreadId};
use dwell_store::{EventKey, Nesting, OUTSIDE, Trace};

use crate::call_stacks::CallStacks;
use crate::classify::{CpuKind, CpuKinds, IdleWaits, SpinKind};
use crate::distribution::Distribution;
use crate::index::{BegunRow, Plan, pieces};
use crate::length_cut::{LengthCut, LengthRules};
use crate::lengths::Run;
use crate::metrics::total;
use crate::parallel;
use crate::query::{Filter, FilterKey, Query, QueryError};
use crate::selection::Selection;
use crate::sums::{Detail, DetailKeys, KeySums, Numbering, Places, Sums as NumberSums};
use crate::sweep::{ByClass, Levels, add};
use crate::windows::{Part, Windows};

/// The target of sites whose lengths are not asked for, see [`Fold::lengths`].
pub const NOWHERE: u32 = u32::MAX;

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

    /// Adds those of a site as far as the classes of `mask` go.
    pub fn add_site(&mut self, site: &Site, mask: [bool; 5]) {
        let masked = |classes: &ByClass| std::array::from_fn(|class| if mask[class] { classes[class] } else { 0 });
        let time: ByClass = masked(&site.time);
        let Some(reason) = site.key.reason else {
            match site.cpu_kind {
                CpuKind::Effective => add(&mut self.effective, &time),
                CpuKind::Spin(kind) => {
                    add(&mut self.spinning, &time);
                    let sum = &mut self.spin[kind as usize];
                    *sum = sum.saturating_add(total(&time));
                }
                CpuKind::Overhead(kind) => {
                    add(&mut self.overheads, &time);
                    let sum = &mut self.overhead[kind as usize];
                    *sum = sum.saturating_add(total(&time));
                }
            }
            return;
        };
        let began: u64 = (0..5).filter(|&class| mask[class]).map(|class| u64::from(site.began[class])).sum();
        add(&mut self.runnable, &masked(&site.runnable));
        self.switches += began;
        // Blocked time without a known wait: conservation counts it as waiting, Wait Time does not.
        add(if reason == Reason::Waiting { &mut self.wait } else { &mut self.unknown }, &time);
        match reason {
            Reason::Waiting => {
                if site.idle {
                    add(&mut self.idle, &time);
                }
                self.wait_count += began;
                self.max_wait_ns = self.max_wait_ns.max(site.longest_ns);
            }
            Reason::Preempted => self.preemptions += began,
            _ => {}
        }
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
    /// What it waited on, or spun for by the program's own word.
    pub object: ObjectId,
    /// Where it was.
    pub stack: StackId,
    /// Who woke it.
    pub waker: ThreadId,
    /// Where the waker was.
    pub waker_stack: StackId,
    /// CPU, when the query asks for it.
    pub cpu: u16,
    /// Tasks that the thread was in: a context of [`dwell_store::Nesting`].
    pub context: u32,
    /// Why it was off the CPU; none: it ran.
    pub reason: Option<Reason>,
    /// Outcome's code.
    pub outcome: u8,
    /// Waker kind's code.
    pub waker_kind: u8,
}

impl SiteKey {
    /// The key's in a context, with a detail.
    fn new(nesting: &Nesting, key: &EventKey, context: u32, detail: Detail) -> Self {
        let ran = key.reason().is_none();
        Self {
            thread: key.thread(),
            object: if ran { nesting.announced(context) } else { key.object() },
            stack: key.stack(),
            waker: key.waker(),
            waker_stack: key.waker_stack(),
            cpu: detail.cpu,
            context,
            reason: key.reason(),
            outcome: key.outcome(),
            waker_kind: key.waker_kind(),
        }
    }
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
        let mut weights = Weights::default();
        weights.add_site(self, mask);
        weights
    }

    /// Its CPU time or wait time as far as the classes of `mask` go.
    pub fn busy_ns(&self, mask: [bool; 5]) -> u64 {
        let counts = matches!(self.key.reason, None | Some(Reason::Waiting));
        let classes = (0..5).filter(|&class| mask[class] && counts);
        classes.fold(0, |sum, class| sum.saturating_add(self.time[class]))
    }

    /// Whether it is a wait on an object, or running time that was spent spinning for one by the program's own word.
    pub fn is_for_object(&self) -> bool {
        self.is_wait() || (self.key.reason.is_none() && self.key.object.is_some())
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
    /// n(t) and c(t).
    pub levels: Levels,
    /// Classes that the filters let through.
    pub class_mask: [bool; 5],
    plan: Plan<'t>,
    details: Option<DetailKeys>,
    /// Site of each number of key and context, or of each pair of these and a detail.
    site_of: Places,
    cut: Option<LengthCut>,
    keys: Numbering,
    shown: OnceLock<Weights>,
    whole: OnceLock<Weights>,
    rows: OnceLock<Rows>,
    by_object: OnceLock<Option<BTreeMap<ObjectId, Distribution>>>,
}

/// Objects of which the lengths of each one's waits are kept, at most: what they take stays with the fold.
const KEPT_OBJECTS: usize = 1024;

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
    /// Folds `trace` for `query`. Fails when the query's range is empty.
    pub fn new(trace: &'t Trace, query: &'t Query) -> Result<Self, QueryError> {
        let windows = Windows::of_query(trace, query)?;
        let stacks = CallStacks::new(trace, query);
        let selection = Selection::new(trace, query);
        let class_mask = selection.class_mask();
        let mut details = DetailKeys::of_query(query);
        if let Some(details) = details.as_mut().filter(|_| query.only_cpus) {
            details.set_alike(alike(trace, &stacks, query));
        }
        let plan = Plan::new(trace, query, &windows, details.as_ref());
        let sums = plan.sum(details.as_mut());
        let (mut sites, site_of) = sites_of(trace, &sums, details.as_ref(), class_mask);
        classify(trace, &stacks, &mut sites);
        selection.apply(&stacks, &mut sites);
        let cut = LengthRules::of_query(query).map(|rules| {
            let (told_apart, cut) = ((&site_of, details.as_mut()), (&mut sites, class_mask));
            LengthCut::new(rules, trace, (&plan, &windows), told_apart, cut)
        });
        let levels = sums.levels;
        let (shown, whole, rows, by_object) = (OnceLock::new(), OnceLock::new(), OnceLock::new(), OnceLock::new());
        let keys = Numbering::of_keys(trace);
        let sums = Sums {
            windows,
            stacks,
            sites,
            levels,
            class_mask,
            plan,
            details,
            site_of,
            cut,
            keys,
            shown,
            whole,
            rows,
            by_object,
        };
        Ok(Self { trace, query, sums: Arc::new(sums) })
    }

    /// The same sums for another question of the same [`Query::selection`]: grouping, metrics, order and limit are
    /// the projection's.
    pub fn asked<'q>(&self, query: &'q Query) -> Fold<'q>
    where
        't: 'q,
    {
        Fold { trace: self.trace, query, sums: self.sums.clone() }
    }

    /// How much of the time is swept.
    #[cfg(test)]
    pub fn swept_ns(&self) -> u64 {
        self.plan.swept_ns()
    }

    /// Memory that the sums take, bytes.
    pub fn bytes(&self) -> usize {
        let rows = self.rows.get().map_or(0, |rows| size_of_val(rows.rows.as_slice()));
        let lengths = self.by_object.get().and_then(Option::as_ref);
        let lengths: usize = lengths.map_or(0, |lengths| lengths.values().map(Distribution::bytes).sum());
        self.site_of.bytes() + size_of_val(self.sites.as_slice()) + rows + lengths
    }

    /// The sites that the filters let through, with their numbers and weights.
    pub fn selected(&self) -> impl Iterator<Item = (usize, &Site, Weights)> {
        self.selected_sites().map(|(index, site)| (index, site, site.weights(self.class_mask)))
    }

    /// The sites that the filters let through, with their numbers.
    pub fn selected_sites(&self) -> impl Iterator<Item = (usize, &Site)> {
        self.sites.iter().enumerate().filter(|(_, site)| site.selected)
    }

    /// The sum over what the filters let through.
    pub fn shown(&self) -> &Weights {
        self.shown.get_or_init(|| {
            let mut sum = Weights::default();
            self.selected_sites().for_each(|(_, site)| sum.add_site(site, self.class_mask));
            sum
        })
    }

    /// A metric of what the filters let through.
    pub fn total(&self, metric: &dwell_model::MetricDef) -> crate::view::Value {
        crate::metrics::value(metric, self.shown())
    }

    /// The sum over everything.
    pub fn whole(&self) -> &Weights {
        self.whole.get_or_init(|| {
            let mut sum = Weights::default();
            self.sites.iter().for_each(|site| sum.add_site(site, [true; 5]));
            sum
        })
    }

    /// What is made of the lengths of the waits that began in the windows and in a selected class: `add` gets each run
    /// with what `target_of` says of its selected site, unless that is [`NOWHERE`]; by several workers, of which each makes its
    /// own.
    pub fn lengths<T: Send>(
        &self,
        target_of: impl Fn(usize) -> u32,
        new: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, u32, &Run) + Sync,
    ) -> Vec<T> {
        let of_site = |(index, site): (usize, &Site)| if site.is_wait() { target_of(index) } else { NOWHERE };
        let targets: Vec<u32> = self.sites.iter().enumerate().map(of_site).collect();
        let target_of = |site: Option<usize>| site.map_or(NOWHERE, |site| targets[site]);
        let known = |number: u64| target_of(self.site_of.get(number).map(|site| site as usize));
        // Rows are many: where their key tells all, its target is in one small list.
        let plain = self.details.is_none() && self.trace.nesting().is_empty();
        let of_key: Vec<u32> = if plain { (0..self.keys.outside() as u64).map(known).collect() } else { Vec::new() };
        let run = |made: &mut T, run: &Run| {
            let target = if plain { of_key.get(run.number as usize).copied() } else { Some(known(run.number)) };
            if let Some(target) = target.filter(|to| *to != NOWHERE && self.class_mask[usize::from(run.class)]) {
                add(made, target, run);
            }
        };
        let row = |made: &mut T, begun: BegunRow| {
            let target = match of_key.get(begun.key as usize) {
                Some(_) if self.cut.as_ref().is_some_and(|cut| !cut.takes(begun.wait_ns)) => NOWHERE,
                Some(target) => *target,
                None => target_of(self.site_of(begun.row, begun.key)),
            };
            if target != NOWHERE && self.class_mask[begun.class] {
                add(made, target, &Run::one(0, begun.class as u8, begun.wait_ns));
            }
        };
        self.plan.lengths(new, run, row)
    }

    /// Lengths of the waits for each object, of what the filters let through; gathered once. None where the objects are
    /// too many to keep those of each.
    pub fn lengths_by_object(&self) -> Option<&BTreeMap<ObjectId, Distribution>> {
        let gather = || {
            let waits = self.sites.iter().filter(|site| site.selected && site.is_wait());
            let mut places: BTreeMap<ObjectId, u32> = BTreeMap::new();
            for site in waits {
                let next = places.len() as u32;
                places.entry(site.key.object).or_insert(next);
                if places.len() > KEPT_OBJECTS {
                    return None;
                }
            }
            let place_of = |site: usize| {
                let site = &self.sites[site];
                if site.selected { places.get(&site.key.object).copied().unwrap_or(NOWHERE) } else { NOWHERE }
            };
            let new = || vec![Distribution::default(); places.len()];
            let add = |of_place: &mut Vec<Distribution>, place: u32, run: &Run| of_place[place as usize].add(run);
            let sums =
                self.lengths(place_of, new, add).into_iter().reduce(|sum, part| Distribution::merged(sum, &part))?;
            Some(places.iter().map(|(object, place)| (*object, sums[*place as usize].clone())).collect())
        };
        self.by_object.get_or_init(gather).as_ref()
    }

    /// Off-CPU rows to look at closely, see [`Rows`]; gathered once.
    pub fn rows(&self) -> &Rows {
        self.rows.get_or_init(|| {
            let (parts, share) = close_look(self.trace, &self.windows);
            let pieces = pieces(&parts, PIECES);
            let off_cpu = &self.trace.events().off_cpu;
            let of_piece = |piece: usize| {
                let mut rows: Vec<(u64, u32, u32)> = Vec::new();
                self.plan.for_each_begun(pieces[piece], |begun| {
                    let site = self.site_of(begun.row, begun.key);
                    if let Some(site) = site.filter(|_| self.class_mask[begun.class]) {
                        rows.push((off_cpu.start_ns(begun.row), begun.row as u32, site as u32));
                    }
                });
                rows.sort_unstable();
                rows.into_iter().map(|(_, row, site)| (row, site)).collect::<Vec<_>>()
            };
            Rows { rows: parallel::map(pieces.len(), of_piece).concat(), share }
        })
    }

    /// Tells the off-CPU rows that began in the windows and that the filters let through, each with its site: in no order.
    pub fn for_each_begun(&self, mut tell: impl FnMut(usize, &Site)) {
        let mut told = |begun: BegunRow| {
            let site = self.site_of(begun.row, begun.key).filter(|_| self.class_mask[begun.class]);
            let selected = site.map(|site| &self.sites[site]).filter(|site| site.selected);
            selected.into_iter().for_each(|site| tell(begun.row, site));
        };
        self.windows.inside(0, u64::MAX).for_each(|part| self.plan.for_each_begun(part, &mut told));
    }

    /// The site of an off-CPU row with its key, as it began; none when it did nothing in the windows.
    fn site_of(&self, row: usize, key: u32) -> Option<usize> {
        let events = self.trace.events();
        let key = self.keys.number(key, began_in(self.trace, row));
        let details = self.details.as_ref();
        let number = details.map_or(Some(key), |details| details.get(key, details.off_cpu(events, row)))?;
        let site = self.site_of.get(number)? as usize;
        Some(self.cut.as_ref().map_or(site, |cut| cut.part(site, events.off_cpu.wait_ns(row))))
    }

    /// Type of an object.
    pub fn object_type(&self, object: ObjectId) -> ObjectType {
        object_type(self.trace, object)
    }

    /// Name of an object.
    pub fn object_name(&self, object: ObjectId) -> &'t str {
        object.get().and_then(|row| self.trace.objects.name.get(row)).map_or("[no object]", String::as_str)
    }

    /// What an off-CPU row waited on.
    pub fn object_of(&self, row: usize) -> ObjectId {
        self.trace.events().off_cpu_key(row).object()
    }
}

/// Off-CPU rows that began in the windows and in a selected class: those of all the time, or, where these are too many
/// to be looked at one by one, of equal slices evenly spread over it.
#[derive(Debug, Default)]
pub struct Rows {
    /// Row and site, in order of start.
    pub rows: Vec<(u32, u32)>,
    /// Part of the time that they are of: 1 for all.
    pub share: f64,
}

/// Rows from which only slices are looked at.
const CLOSE_ROWS: usize = 1 << 21;
/// Rows of the slices together, about.
const SLICED_ROWS: f64 = 4e5;
/// Slices: few and wide, so that most waits that begin in one end in it.
const SLICES: u64 = 16;
/// Pieces of a slice, or of all the time, that are looked at side by side.
const PIECES: u64 = 4;

/// The parts of the windows that are looked at row by row, and which part of their time that is.
fn close_look(trace: &Trace, windows: &Windows) -> (Vec<Part>, f64) {
    let off_cpu = &trace.events().off_cpu;
    let (from, to) = match windows.parts() {
        [] => return (Vec::new(), 1.0),
        [first, ..] => (first.0, windows.parts().last().map_or(first.1, |last| last.1)),
    };
    let rows: usize =
        (0..trace.threads.tid.len()).map(|thread| off_cpu.begun(thread, from, to.saturating_add(1)).len()).sum();
    if rows <= CLOSE_ROWS {
        return (windows.inside(0, u64::MAX).collect(), 1.0);
    }
    let length = (to - from) / SLICES;
    let width = (length as f64 * SLICED_ROWS / rows as f64) as u64;
    let slice = |index: u64| {
        // The middle of each equal part of the time.
        let start = from + index * length + (length - width) / 2;
        windows.inside(start, start + width.max(1))
    };
    let parts: Vec<Part> = (0..SLICES).flat_map(slice).collect();
    let looked_at: u64 = parts.iter().map(|part| part.to - part.from).sum();
    (parts, looked_at as f64 / windows.length_ns().max(1) as f64)
}

/// The context in which an off-CPU row began.
pub fn began_in(trace: &Trace, row: usize) -> u32 {
    let (events, nesting) = (trace.events(), trace.nesting());
    if nesting.is_empty() {
        return OUTSIDE;
    }
    let thread = events.off_cpu_key(row).thread().get();
    thread.map_or(OUTSIDE, |thread| nesting.at(thread, events.off_cpu.start_ns(row)))
}

/// The sites of the sums, and which one each number is.
fn sites_of(trace: &Trace, sums: &KeySums, details: Option<&DetailKeys>, class_mask: [bool; 5]) -> (Vec<Site>, Places) {
    let (events, nesting) = (trace.events(), trace.nesting());
    let (keys, threads) = (Numbering::of_keys(trace), Numbering::of_threads(trace));
    let mut site_of = Places::new(details.map_or(keys.outside(), |details| details.pairs.len()));
    let mut sites = Vec::new();
    let mut in_order: Vec<(u64, &NumberSums)> = sums.in_order().collect();
    if let Some(details) = details {
        // Their numbers depend on which worker met them first.
        in_order.sort_by_key(|(number, _)| details.pairs.get(*number as usize));
    }
    for (number, sums) in in_order {
        let pair = details.and_then(|details| details.pairs.get(number as usize));
        let (of_key, detail) = pair.copied().unwrap_or((number, Detail::NONE));
        let (key, context) = keys.parts(of_key);
        site_of.get_or_set(number, sites.len() as u32);
        sites.push(Site {
            key: SiteKey::new(nesting, &events.key(key), context, detail),
            time: sums.time(),
            runnable: sums.runnable(),
            began: sums.began(),
            longest_ns: longest_of(sums, class_mask),
            cpu_kind: CpuKind::Effective,
            idle: false,
            selected: true,
        });
    }
    for (number, running) in &sums.unsampled {
        estimated_sites(trace, threads.parts(*number), running, details, &mut sites);
    }
    (sites, site_of)
}

/// The longest wait of those begun in these classes.
pub fn longest_of(sums: &NumberSums, class_mask: [bool; 5]) -> u64 {
    let longest = (0..5).filter(|class| class_mask[*class]).map(|class| sums.classes[class].longest);
    longest.max().unwrap_or(0)
}

/// Running time of a thread without samples is split by its estimates: what it ran at each place, all its life.
fn estimated_sites(
    trace: &Trace,
    (thread, context): (u32, u32),
    running: &ByClass,
    details: Option<&DetailKeys>,
    sites: &mut Vec<Site>,
) {
    let (events, nesting) = (trace.events(), trace.nesting());
    let site = |key: EventKey, cpu: u16, time: ByClass| Site {
        key: SiteKey::new(nesting, &key, context, details.map_or(Detail::NONE, |details| details.on_cpu(cpu))),
        time,
        runnable: [0; 5],
        began: [0; 5],
        longest_ns: 0,
        cpu_kind: CpuKind::Effective,
        idle: false,
        selected: true,
    };
    let estimates = events.estimates_of(thread as usize);
    if estimates.is_empty() {
        sites.push(site(EventKey::running(ThreadId::from_raw(thread), StackId::NONE), u16::MAX, *running));
        return;
    }
    let weights: Vec<u64> = estimates.iter().map(|estimate| estimate.weight_ns).collect();
    let parts = estimates.iter().zip(shares(running, &weights)).filter(|(_, part)| *part != [0; 5]);
    sites.extend(
        parts.map(|(estimate, part)| {
            site(events.key(estimate.key), u16::try_from(estimate.cpu).unwrap_or(u16::MAX), part)
        }),
    );
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
            site.cpu_kind = match site.key.object.is_some() {
                true => CpuKind::Spin(SpinKind::on(object_type(trace, site.key.object))),
                false => cpu_kinds.of(stacks, site.key.stack),
            };
        } else if site.is_wait() {
            site.idle = idle_waits.is_idle(stacks, site.key.stack, object_type(trace, site.key.object));
        }
    }
}

/// The number that stands for each outside of tasks, where only CPUs are asked for: the first one that is classified
/// likewise and that the other filters treat likewise. There may be as many sites else as intervals.
fn alike(trace: &Trace, stacks: &CallStacks<'_>, query: &Query) -> Vec<u32> {
    let of_site = |filter: &&Filter| !matches!(filter.key, FilterKey::Cpu | FilterKey::WaitLength | FilterKey::Counter);
    let kept = |filters: &[Filter]| filters.iter().filter(of_site).cloned().collect();
    let query = Query { filters: kept(&query.filters), exclude: kept(&query.exclude), ..query.clone() };
    let mut sites = site_of_each_key(trace, stacks);
    Selection::new(trace, &query).apply(stacks, &mut sites);
    first_like(&sites, |site| (site.key.reason, site.cpu_kind, site.idle, site.selected))
}

/// The key that stands for each where threads and CPUs are told apart: the first one of its thread that is classified
/// likewise.
pub fn alike_by_thread(trace: &Trace) -> Vec<u32> {
    let sites = site_of_each_key(trace, &CallStacks::new(trace, &Query::default()));
    first_like(&sites, |site| (site.key.thread, site.key.reason, site.cpu_kind, site.idle))
}

fn site_of_each_key(trace: &Trace, stacks: &CallStacks<'_>) -> Vec<Site> {
    let mut sums = KeySums::new(trace.events().keys.len());
    (0..trace.events().keys.len() as u64).for_each(|number| {
        sums.slot(number);
    });
    let (mut sites, _) = sites_of(trace, &sums, None, [true; 5]);
    classify(trace, stacks, &mut sites);
    sites
}

/// The number of the first site of the same kind, for each.
fn first_like<K: Eq + Hash>(sites: &[Site], kind: impl Fn(&Site) -> K) -> Vec<u32> {
    let mut first: HashMap<K, u32> = HashMap::new();
    sites.iter().enumerate().map(|(number, site)| *first.entry(kind(site)).or_insert(number as u32)).collect()
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
