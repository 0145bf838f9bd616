//! The bands of a timeline, in the order asked for.

use std::collections::BTreeMap;

use dwell_model::MetricDef;
use dwell_query::Analysis;
use dwell_query::engine::fold::Fold;
use dwell_query::engine::grouping::Groups;
use dwell_query::engine::hidden_threads::{hidden, only_paused};
use dwell_query::engine::selection::TaskFilter;
use dwell_query::history::band_kind::BandKind;
use dwell_query::measure::metrics::{METRICS, magnitude, value};
use dwell_query::measure::weights::Weights;
use dwell_query::question::error::QueryError;
use dwell_query::question::metric::parse_metric;
use dwell_query::question::query::Query;
use dwell_query::question::windows::Windows;
use dwell_store::Trace;
use dwell_view::answer;

/// Metrics that every band carries, for sorting and hovering.
const BAND_METRICS: &[&str] =
    &["cpu_ns", "wait_ns", "wait_count", "wait_poor_ns", "preemption_ns", "preemption_count", "spin_ns", "switches"];

/// The order of bands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BandOrder {
    /// Earliest start first.
    #[default]
    Start,
    /// By name.
    Name,
    /// Largest first.
    Metric(&'static str),
}

impl BandOrder {
    /// The order of this name: `start`, `name`, or a metric's id.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        Ok(match text {
            "" | "start" => Self::Start,
            "name" => Self::Name,
            id => Self::Metric(parse_metric(id)?.id),
        })
    }
}

answer! {
    /// One band.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Band {
        /// Row of the threads, processes or objects table, or number of the CPU.
        pub id: u32,
        /// Name.
        pub label: String,
        /// Process that it belongs to; empty for none.
        pub process: String,
        /// Start of its life, ns.
        pub start_ns: u64,
        /// End of its life, ns.
        pub end_ns: u64,
        /// Lanes of the tasks in it.
        pub lanes: usize,
        /// Metrics by id.
        pub values: BTreeMap<&'static str, f64>,
    }
}

/// The bands that the query lets through, in order. A band that did nothing in the query's range is there too when no
/// filter speaks of it.
pub fn bands(analysis: &Analysis, query: &Query, by: BandKind, order: BandOrder) -> Result<Vec<Band>, QueryError> {
    match by.asked(query) {
        Some(query) => Ok(bands_of(analysis, &Fold::new(&analysis.trace, &query)?, by, order)),
        None => task_bands(analysis, query, order),
    }
}

/// The same of a fold of what [`BandKind::asked`] says.
pub fn bands_of(analysis: &Analysis, fold: &Fold<'_>, by: BandKind, order: BandOrder) -> Vec<Band> {
    let Some(level) = by.level() else { return Vec::new() };
    let groups = Groups::new(fold, &[level], |site| by != BandKind::Object || site.key.object.is_some());
    let mut weights: Vec<(u32, Weights)> =
        groups.nodes.iter().map(|node| (node.key, node.weights.clone())).filter(|(id, _)| is_known(by, *id)).collect();
    if by == BandKind::Thread {
        let hidden = hidden(fold);
        weights.retain(|(id, _)| hidden.get(*id as usize) != Some(&true));
    }
    if !fold.query.is_filtered() {
        add_silent(analysis, by, &mut weights);
    }
    let metrics =
        METRICS.iter().filter(|metric| BAND_METRICS.contains(&metric.id) || order == BandOrder::Metric(metric.id));
    let metrics: Vec<&'static MetricDef> = metrics.collect();
    in_order(weights.iter().map(|(id, weights)| band(analysis, by, *id, (&metrics, weights))).collect(), order)
}

fn in_order(mut bands: Vec<Band>, order: BandOrder) -> Vec<Band> {
    let by_metric = |band: &Band, id: &str| band.values.get(id).copied().unwrap_or_default();
    bands.sort_by(|a, b| {
        let first = match order {
            BandOrder::Start => a.start_ns.cmp(&b.start_ns),
            BandOrder::Name => a.label.cmp(&b.label),
            BandOrder::Metric(id) => by_metric(b, id).total_cmp(&by_metric(a, id)),
        };
        first.then(a.id.cmp(&b.id))
    });
    bands
}

/// A band for each name under which the query lets tasks through: those that lie in its windows, at least in part. Its
/// values are of those that began there, as in the report of tasks.
pub fn task_bands(analysis: &Analysis, query: &Query, order: BandOrder) -> Result<Vec<Band>, QueryError> {
    let trace: &Trace = &analysis.trace;
    let (said, lanes) = (&trace.annotations, analysis.lanes());
    let (windows, filter) = (Windows::of_query(trace, query)?, TaskFilter::new(trace, query));
    let is_shown = |task: &usize| {
        let (start, end) = (said.tasks.start_ns[*task], said.tasks.end_ns[*task]);
        (windows.contains(start) || windows.clip(start, end).next().is_some()) && filter.takes(*task)
    };
    let band = |row: usize| {
        let id = row as u32;
        let (mut life, mut count, mut total_ns) = (None, 0u64, 0u64);
        for task in lanes.rows(BandKind::Task, id).filter(is_shown) {
            let (start, end) = (said.tasks.start_ns[task], said.tasks.end_ns[task]);
            let (first, last) = life.unwrap_or((start, end));
            life = Some((start.min(first), end.max(last)));
            if windows.contains(start) {
                count += 1;
                total_ns = total_ns.saturating_add(end.saturating_sub(start));
            }
        }
        let (start_ns, end_ns) = life?;
        Some(Band {
            id,
            label: said.task_types.name[row].clone(),
            process: said.task_types.domain[row].clone(),
            start_ns,
            end_ns,
            lanes: lanes.count(BandKind::Task, id),
            values: BTreeMap::from([("count", count as f64), ("total_ns", total_ns as f64)]),
        })
    };
    Ok(in_order((0..said.task_types.name.len()).filter_map(band).collect(), order))
}

/// Whether the key names a row: [unknown] has no band.
fn is_known(by: BandKind, id: u32) -> bool {
    if by == BandKind::Cpu { id != u32::from(u16::MAX) } else { id != u32::MAX }
}

fn add_silent(analysis: &Analysis, by: BandKind, weights: &mut Vec<(u32, Weights)>) {
    let rows = match by {
        BandKind::Thread => analysis.trace.threads.tid.len(),
        BandKind::Process => analysis.trace.processes.pid.len(),
        BandKind::Object | BandKind::Cpu | BandKind::Task => 0,
    };
    let mut there = vec![false; rows];
    for (id, _) in weights.iter() {
        if let Some(there) = there.get_mut(*id as usize) {
            *there = true;
        }
    }
    if by == BandKind::Thread {
        let left_out = analysis.trace.threads.ignored.iter().zip(only_paused(&analysis.trace));
        there.iter_mut().zip(left_out).for_each(|(there, (ignored, paused))| *there |= *ignored || paused);
    }
    let silent = there.iter().enumerate().filter(|(_, there)| !**there);
    weights.extend(silent.map(|(row, _)| (row as u32, Weights::default())));
}

fn band(analysis: &Analysis, by: BandKind, id: u32, (metrics, weights): (&[&'static MetricDef], &Weights)) -> Band {
    let (trace, row) = (&analysis.trace, id as usize);
    let name = |names: &[String]| names.get(row).cloned().unwrap_or_default();
    let process = |row: Option<usize>| row.and_then(|row| trace.processes.name.get(row)).cloned().unwrap_or_default();
    let whole = (0, analysis.elapsed_ns());
    let (label, process, (start_ns, end_ns)) = match by {
        BandKind::Thread => {
            let of = trace.threads.process.get(row).and_then(|process| process.get());
            let tid = trace.threads.tid.get(row).copied().unwrap_or(0);
            (format!("{} ({tid})", name(&trace.threads.name)), process(of), analysis.life(row).unwrap_or_default())
        }
        BandKind::Process => {
            let life = (trace.processes.start_ns.get(row), trace.processes.end_ns.get(row));
            let life = (life.0.copied().unwrap_or(0), life.1.copied().unwrap_or(whole.1));
            let pid = trace.processes.pid.get(row).copied().unwrap_or(0);
            (format!("{} ({pid})", name(&trace.processes.name)), process(Some(row)), life)
        }
        BandKind::Object => {
            let of = trace.objects.process.get(row).and_then(|process| process.get());
            (name(&trace.objects.name), process(of), whole)
        }
        BandKind::Cpu | BandKind::Task => (format!("CPU {id}"), String::new(), whole),
    };
    let lanes = analysis.lanes().count(by, id);
    let values = metrics.iter().map(|metric| (metric.id, magnitude(&value(metric, weights)))).collect();
    Band { id, label, process, start_ns, end_ns, lanes, values }
}
