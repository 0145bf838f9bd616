//! The fold: what a sweep tells, summed by everything that it can be grouped by. Self weights are summed once, in
//! sites; every table and tree is a projection of the sites.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use dwell_model::{MetricDef, ObjectId, ObjectType};
use dwell_store::Trace;
use dwell_view::Value;
use dwell_work::parallel;

use crate::engine::index::{AnswerPlan, BegunRow, pieces};
use crate::engine::key_equivalence::alike;
use crate::engine::length_cut::LengthCut;
use crate::engine::row_sampling::{PIECES, SampledRows, sampled_parts};
use crate::engine::selection::Selection;
use crate::engine::sites::{NOWHERE, classify, sites_of};
use crate::engine::sums::{DetailKeys, Numbering, Places};
use crate::engine::sweep::{ConcurrencyStats, OpenInterval};
use crate::measure::distribution::Distribution;
use crate::measure::lengths::Run;
use crate::measure::metrics::value;
use crate::measure::site::Site;
use crate::measure::weights::Weights;
use crate::question::error::QueryError;
use crate::question::handles::check_filters;
use crate::question::length_rules::LengthRules;
use crate::question::query::Query;
use crate::question::windows::Windows;
use crate::stacks::call_stacks::CallStacks;
use crate::stacks::object::object_type;
use crate::stacks::tasks::began_in;

/// What is summed, whatever is then shown of it: the same for all questions of one selection.
pub struct FoldSums<'t> {
    /// Where it was looked at.
    pub windows: Windows,
    /// The stacks as the query shows them.
    pub stacks: CallStacks<'t>,
    /// Every site, selected or not.
    pub sites: Vec<Site>,
    /// n(t) and c(t).
    pub levels: ConcurrencyStats,
    /// Classes that the filters let through.
    pub class_mask: [bool; 5],
    plan: AnswerPlan<'t>,
    details: Option<DetailKeys>,
    /// Site of each number of key and context, or of each pair of these and a detail.
    site_of: Places,
    cut: Option<LengthCut>,
    keys: Numbering,
    /// Intervals under way at the begin of a window, each with its site.
    under_way: Vec<(OpenInterval, usize)>,
    shown: OnceLock<Weights>,
    whole: OnceLock<Weights>,
    /// Of the whole collection, where the windows are a part of it.
    collection: OnceLock<Option<Weights>>,
    rows: OnceLock<SampledRows>,
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
    /// How long threads ran in all, ns, where sampled fibers stand for them: exact, where what looks saw of fibers is an estimate.
    pub threads_ran_ns: Option<u64>,
    /// The sums, shared by all questions of one selection.
    pub sums: Arc<FoldSums<'t>>,
}

impl FoldSums<'_> {
    /// Counts what is under way when a window begins: in their sites, by their tasks then.
    fn count_under_way(&mut self, trace: &Trace) {
        let off_cpu = &trace.events().off_cpu;
        for it in self.plan.under_way(&self.windows) {
            let Some(site) = self.site_in(trace, it.row, off_cpu.key(it.row), it.context) else { continue };
            let counted = &mut self.sites[site];
            counted.under_way[it.class] = counted.under_way[it.class].saturating_add(1);
            if self.class_mask[it.class] {
                counted.longest_ns = counted.longest_ns.max(off_cpu.wait_ns(it.row));
            }
            self.under_way.push((it, site));
        }
        self.under_way.sort_unstable_by_key(|(it, _)| off_cpu.start_ns(it.row));
    }

    /// The site of an off-CPU row with its key in a context; none when it did nothing in the windows.
    fn site_in(&self, trace: &Trace, row: usize, key: u32, context: u32) -> Option<usize> {
        let events = trace.events();
        let key = self.keys.number(key, context);
        let details = self.details.as_ref();
        let number = details.map_or(Some(key), |details| details.get(key, details.off_cpu(events, row)))?;
        let site = self.site_of.get(number)? as usize;
        Some(self.cut.as_ref().map_or(site, |cut| cut.part(site, events.off_cpu.wait_ns(row))))
    }
}

impl<'t> Fold<'t> {
    /// Folds `trace` for `query`. Fails when the query's range is empty, or a handle is of nothing.
    pub fn new(trace: &'t Trace, query: &'t Query) -> Result<Self, QueryError> {
        check_filters(trace, query)?;
        let windows = Windows::of_query(trace, query)?;
        let stacks = CallStacks::new(trace, query);
        let selection = Selection::new(trace, query);
        let class_mask = selection.class_mask();
        let mut details = DetailKeys::of_query(query);
        if let Some(details) = details.as_mut().filter(|_| query.only_cpus) {
            details.set_alike(alike(trace, &stacks, query));
        }
        let plan = AnswerPlan::new(trace, query, &windows, details.as_ref());
        let sums = plan.sum(details.as_mut());
        let (mut sites, site_of) = sites_of(trace, &sums, details.as_ref(), class_mask);
        classify(trace, &stacks, &mut sites);
        selection.apply(&stacks, &mut sites);
        let cut = LengthRules::of_query(query).map(|rules| {
            let (told_apart, cut) = ((&site_of, details.as_mut()), (&mut sites, class_mask));
            LengthCut::new(rules, trace, (&plan, &windows), told_apart, cut)
        });
        let levels = sums.levels;
        let (shown, whole, collection) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let (rows, by_object) = (OnceLock::new(), OnceLock::new());
        let keys = Numbering::of_keys(trace);
        let mut sums = FoldSums {
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
            under_way: Vec::new(),
            shown,
            whole,
            collection,
            rows,
            by_object,
        };
        sums.count_under_way(trace);
        Ok(Self { trace, query, threads_ran_ns: None, sums: Arc::new(sums) })
    }

    /// The same sums for another question of the same [`Query::selection`]: grouping, metrics, order and limit are
    /// the projection's.
    pub fn asked<'q>(&self, query: &'q Query) -> Fold<'q>
    where
        't: 'q,
    {
        Fold { trace: self.trace, query, threads_ran_ns: self.threads_ran_ns, sums: self.sums.clone() }
    }

    /// How much of the time is swept.
    pub fn swept_ns(&self) -> u64 {
        self.sums.plan.swept_ns()
    }

    /// Memory that the sums take, bytes.
    pub fn bytes(&self) -> usize {
        let rows = self.sums.rows.get().map_or(0, |rows| size_of_val(rows.rows.as_slice()));
        let lengths = self.sums.by_object.get().and_then(Option::as_ref);
        let lengths: usize = lengths.map_or(0, |lengths| lengths.values().map(Distribution::bytes).sum());
        self.sums.site_of.bytes() + size_of_val(self.sums.sites.as_slice()) + rows + lengths
    }

    /// The sites that the filters let through, with their numbers and weights.
    pub fn selected(&self) -> impl Iterator<Item = (usize, &Site, Weights)> {
        self.selected_if(|_| true)
    }

    /// The same of those that are `wanted`: weights of hundreds of thousands of sites take time.
    pub fn selected_if(&self, wanted: impl Fn(&Site) -> bool) -> impl Iterator<Item = (usize, &Site, Weights)> {
        let wanted = self.selected_sites().filter(move |(_, site)| wanted(site));
        wanted.map(|(index, site)| (index, site, site.weights(self.sums.class_mask)))
    }

    /// The sites that the filters let through, with their numbers.
    pub fn selected_sites(&self) -> impl Iterator<Item = (usize, &Site)> {
        self.sums.sites.iter().enumerate().filter(|(_, site)| site.selected)
    }

    /// The sum over what the filters let through.
    pub fn shown(&self) -> &Weights {
        self.sums.shown.get_or_init(|| {
            let mut sum = Weights::default();
            self.selected_sites().for_each(|(_, site)| sum.add_site(site, self.sums.class_mask));
            sum
        })
    }

    /// A metric of what the filters let through.
    pub fn total(&self, metric: &MetricDef) -> Value {
        value(metric, self.shown())
    }

    /// The sum over everything.
    pub fn whole(&self) -> &Weights {
        self.sums.whole.get_or_init(|| {
            let mut sum = Weights::default();
            self.sums.sites.iter().for_each(|site| sum.add_site(site, [true; 5]));
            sum
        })
    }

    /// The sum over everything in the whole collection, not only in the windows.
    pub fn collection(&self) -> &Weights {
        let sum = || (self.sums.windows != Windows::whole(self.trace)).then(|| self.collection_anew()).flatten();
        self.sums.collection.get_or_init(sum).as_ref().unwrap_or_else(|| self.whole())
    }

    /// None where there is no time at all.
    fn collection_anew(&self) -> Option<Weights> {
        Fold::new(self.trace, &Query::default()).ok().map(|all| all.whole().clone())
    }

    /// What is made of the lengths of the waits that are counted in the windows and in a selected class: `add` gets each run
    /// with what `target_of` says of its selected site, unless that is [`NOWHERE`]; by several workers, of which each makes its
    /// own.
    pub fn lengths<T: Send>(
        &self,
        target_of: impl Fn(usize) -> u32,
        new: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, u32, &Run) + Sync,
    ) -> Vec<T> {
        let of_site = |(index, site): (usize, &Site)| if site.is_wait() { target_of(index) } else { NOWHERE };
        let targets: Vec<u32> = self.sums.sites.iter().enumerate().map(of_site).collect();
        let target_of = |site: Option<usize>| site.map_or(NOWHERE, |site| targets[site]);
        let known = |number: u64| target_of(self.sums.site_of.get(number).map(|site| site as usize));
        // Rows are many: where their key tells all, its target is in one small list.
        let plain = self.sums.details.is_none() && self.trace.nesting().is_empty();
        let of_key: Vec<u32> =
            if plain { (0..self.sums.keys.outside() as u64).map(known).collect() } else { Vec::new() };
        let run = |made: &mut T, run: &Run| {
            let target = if plain { of_key.get(run.number as usize).copied() } else { Some(known(run.number)) };
            if let Some(target) = target.filter(|to| *to != NOWHERE && self.sums.class_mask[usize::from(run.class)]) {
                add(made, target, run);
            }
        };
        let row = |made: &mut T, begun: BegunRow| {
            let target = match of_key.get(begun.key as usize) {
                Some(_) if self.sums.cut.as_ref().is_some_and(|cut| !cut.takes(begun.wait_ns)) => NOWHERE,
                Some(target) => *target,
                None => target_of(self.site_of(begun.row, begun.key)),
            };
            if target != NOWHERE && self.sums.class_mask[begun.class] {
                add(made, target, &Run::one(0, begun.class as u8, begun.wait_ns));
            }
        };
        let mut made = self.sums.plan.lengths(&new, run, row);
        let mut of_under_way = new();
        for (it, site) in self.sums.under_way.iter().filter(|(it, _)| self.sums.class_mask[it.class]) {
            let wait_ns = self.trace.events().off_cpu.wait_ns(it.row);
            if targets[*site] != NOWHERE {
                add(&mut of_under_way, targets[*site], &Run::one(0, it.class as u8, wait_ns));
            }
        }
        made.push(of_under_way);
        made
    }

    /// Lengths of the waits for each object, of what the filters let through; gathered once. None where the objects are
    /// too many to keep those of each.
    pub fn lengths_by_object(&self) -> Option<&BTreeMap<ObjectId, Distribution>> {
        let gather = || {
            let waits = self.sums.sites.iter().filter(|site| site.selected && site.is_wait());
            let mut places: BTreeMap<ObjectId, u32> = BTreeMap::new();
            for site in waits {
                let next = places.len() as u32;
                places.entry(site.key.object).or_insert(next);
                if places.len() > KEPT_OBJECTS {
                    return None;
                }
            }
            let place_of = |site: usize| {
                let site = &self.sums.sites[site];
                if site.selected { places.get(&site.key.object).copied().unwrap_or(NOWHERE) } else { NOWHERE }
            };
            let new = || vec![Distribution::default(); places.len()];
            let add = |of_place: &mut Vec<Distribution>, place: u32, run: &Run| of_place[place as usize].add(run);
            let sums =
                self.lengths(place_of, new, add).into_iter().reduce(|sum, part| Distribution::merged(sum, &part))?;
            Some(places.iter().map(|(object, place)| (*object, sums[*place as usize].clone())).collect())
        };
        self.sums.by_object.get_or_init(gather).as_ref()
    }

    /// Off-CPU rows to look at closely, see [`Rows`]; gathered once.
    pub fn rows(&self) -> &SampledRows {
        self.sums.rows.get_or_init(|| {
            let (parts, share) = sampled_parts(self.trace, &self.sums.windows);
            let pieces = pieces(&parts, PIECES);
            let off_cpu = &self.trace.events().off_cpu;
            let of_piece = |piece: usize| {
                let mut rows: Vec<(u64, u32, u32)> = Vec::new();
                self.sums.plan.for_each_begun(pieces[piece], |begun| {
                    let site = self.site_of(begun.row, begun.key);
                    if let Some(site) = site.filter(|_| self.sums.class_mask[begun.class]) {
                        rows.push((off_cpu.start_ns(begun.row), begun.row as u32, site as u32));
                    }
                });
                rows.sort_unstable();
                rows.into_iter().map(|(_, row, site)| (row, site)).collect::<Vec<_>>()
            };
            let mut rows = parallel::map(pieces.len(), of_piece).concat();
            if share == 1.0 {
                let under_way = self.sums.under_way.iter().filter(|(it, _)| self.sums.class_mask[it.class]);
                let before = rows.len();
                rows.extend(under_way.map(|(it, site)| (it.row as u32, *site as u32)));
                if rows.len() > before {
                    rows.sort_by_key(|(row, _)| off_cpu.start_ns(*row as usize));
                }
            }
            SampledRows { rows, share }
        })
    }

    /// Tells the off-CPU rows that began in the windows and that the filters let through, each with its site: in no order.
    pub fn for_each_begun(&self, mut tell: impl FnMut(usize, &Site)) {
        let mut told = |begun: BegunRow| {
            let site = self.site_of(begun.row, begun.key).filter(|_| self.sums.class_mask[begun.class]);
            let selected = site.map(|site| &self.sums.sites[site]).filter(|site| site.selected);
            selected.into_iter().for_each(|site| tell(begun.row, site));
        };
        self.sums.windows.inside(0, u64::MAX).for_each(|part| self.sums.plan.for_each_begun(part, &mut told));
    }

    /// The same, and those that were under way when a window began.
    pub fn for_each_counted(&self, mut tell: impl FnMut(usize, &Site)) {
        let under_way = self.sums.under_way.iter().filter(|(it, _)| self.sums.class_mask[it.class]);
        for (it, site) in under_way {
            let site = &self.sums.sites[*site];
            if site.selected {
                tell(it.row, site);
            }
        }
        self.for_each_begun(tell);
    }

    /// The site of an off-CPU row with its key, as it began; none when it did nothing in the windows.
    fn site_of(&self, row: usize, key: u32) -> Option<usize> {
        self.sums.site_in(self.trace, row, key, began_in(self.trace, row))
    }

    /// The site of an off-CPU row; none when it did nothing in the windows.
    pub fn site_of_row(&self, row: usize) -> Option<&Site> {
        self.site_of(row, self.trace.events().off_cpu.key(row)).map(|site| &self.sums.sites[site])
    }

    /// The site of running time with this key in a context; none when there is no such time in the windows, or where CPUs are told
    /// apart and `cpu` is not known.
    pub fn running_site(&self, key: u32, cpu: Option<u16>, context: u32) -> Option<&Site> {
        let number = self.sums.keys.number(key, context);
        let number = match &self.sums.details {
            Some(details) => details.get(number, details.on_cpu(cpu?))?,
            None => number,
        };
        self.sums.sites.get(self.sums.site_of.get(number)? as usize)
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
