//! One level of a tree grid: the rows below one row, fetched when a person opens it.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use dwell_model::MetricDef;

use super::path::{Place, Step, Walk};
use crate::fold::{Fold, Weights};
use crate::json;
use crate::metrics::{magnitude, metric, value};
use crate::query::Level;
use crate::view::Value;

/// Rows of one answer at most.
const MOST_ROWS: usize = 10_000;

/// What is asked; metrics and the order are the fold's query's.
#[derive(Clone, Debug)]
pub struct GridQuery {
    /// Whose rows.
    pub place: Place,
    /// Rows to leave out at the start.
    pub offset: usize,
    /// Rows to show.
    pub limit: usize,
    /// Only rows whose name has this in it, whatever the case.
    pub search: String,
    /// Whether the rows are in the order of their names.
    pub by_name: bool,
    /// Whether the largest, or the last, comes first.
    pub descending: bool,
}

/// Rows of one level.
#[derive(Clone, Debug, Serialize)]
pub struct Grid {
    /// Rows that there are, before offset and limit.
    pub total_rows: usize,
    /// The rows.
    pub rows: Vec<GridRow>,
    /// The sum of all rows of the level, found by the search or not.
    pub total: Map<String, Json>,
}

/// One row.
#[derive(Clone, Debug, Serialize)]
pub struct GridRow {
    /// Its key: good for the same result and selection.
    pub key: String,
    /// Its name.
    pub label: String,
    /// Whether there are rows below it.
    pub children: bool,
    /// Metrics, and what else is known of it: `type` of an object, `module` and `source` of a function.
    pub values: Map<String, Json>,
}

const METRICS: &[&str] = &["cpu_ns", "wait_ns", "wait_count", "spin_ns", "overhead_ns", "preemption_ns"];

#[derive(Default)]
struct Group {
    weights: Weights,
    /// The part that ends here: a function's own.
    own: Weights,
    children: bool,
    /// Its site with the most time.
    top: (u64, usize),
}

/// The rows at the place of `query`.
pub fn grid(fold: &Fold<'_>, query: &GridQuery) -> Grid {
    let mut walk = Walk::new(fold, &query.place);
    let depth = query.place.path.len();
    let sites = walk.sites();
    let Some(step) = walk.step(depth) else {
        return Grid { total_rows: 0, rows: Vec::new(), total: Map::new() };
    };
    let below = walk.step(depth + 1);
    let (mut groups, mut total) = (HashMap::<u32, Group>::new(), Weights::default());
    for (index, weights) in sites {
        let site = &fold.sites[index];
        let Some(key) = walk.key(step, site) else { continue };
        let deeper = match below {
            Some(Step::Frame(at)) => walk.functions(site).len() > at,
            below => below.is_some(),
        };
        let group = groups.entry(key).or_default();
        total.add(&weights);
        group.weights.add(&weights);
        group.children |= deeper;
        if !deeper {
            group.own.add(&weights);
        }
        let time = weights.cpu_ns().saturating_add(weights.wait_ns());
        if group.top.0 <= time {
            group.top = (time, index);
        }
    }
    let rows = Rows { fold, walk: &walk, step };
    let mut found: Vec<(u32, String, &Group)> =
        groups.iter().map(|(key, group)| (*key, walk.label(step, *key), group)).collect();
    let search = query.search.to_lowercase();
    found.retain(|(_, label, _)| search.is_empty() || label.to_lowercase().contains(&search));
    order(fold, query, &mut found);
    let total_rows = found.len();
    let shown = found.into_iter().skip(query.offset).take(query.limit.min(MOST_ROWS));
    let shown = shown.map(|(key, label, group)| rows.row(key, label, group)).collect();
    Grid { total_rows, rows: shown, total: rows.metrics(&total) }
}

fn order(fold: &Fold<'_>, query: &GridQuery, rows: &mut [(u32, String, &Group)]) {
    let rank = |weights: &Weights| match fold.query.sort {
        Some(metric) => magnitude(&value(metric, weights)),
        None if fold.query.include_idle => (weights.cpu_ns() + weights.wait_ns()) as f64,
        None => (weights.cpu_ns() + weights.blocking_ns()) as f64,
    };
    rows.sort_by(|a, b| {
        let by_rank = if query.by_name { a.1.cmp(&b.1) } else { rank(&a.2.weights).total_cmp(&rank(&b.2.weights)) };
        let by_rank = if query.descending { by_rank.reverse() } else { by_rank };
        by_rank.then_with(|| a.1.cmp(&b.1)).then(a.0.cmp(&b.0))
    });
}

struct Rows<'g, 'f, 't> {
    fold: &'f Fold<'t>,
    walk: &'g Walk<'f, 't>,
    step: Step,
}

impl Rows<'_, '_, '_> {
    fn row(&self, key: u32, label: String, group: &Group) -> GridRow {
        let mut values = self.metrics(&group.weights);
        if self.walk.is_from_root() && matches!(self.step, Step::Frame(_)) {
            values.insert("cpu_self_ns".into(), group.own.cpu_ns().into());
            values.insert("wait_self_ns".into(), group.own.wait_ns().into());
        }
        values.extend(self.about(key, group));
        GridRow { key: self.walk.word(self.step, key), label, children: group.children, values }
    }

    fn metrics(&self, weights: &Weights) -> Map<String, Json> {
        let own: Vec<&'static MetricDef> = METRICS.iter().filter_map(|id| metric(id)).collect();
        let metrics = if self.fold.query.metrics.is_empty() { &own } else { &self.fold.query.metrics };
        metrics.iter().map(|metric| (metric.id.to_owned(), json::value(&value(metric, weights)))).collect()
    }

    /// What helps to tell the row from others of its name, and to find its code.
    fn about(&self, key: u32, group: &Group) -> Vec<(String, Json)> {
        let (fold, site) = (self.fold, &self.fold.sites[group.top.1]);
        let text =
            |name: &str, text: Option<String>| (name.to_owned(), json::value(&text.map_or(Value::None, Value::Text)));
        match self.step {
            Step::By(Level::Object) => vec![text("type", Some(fold.object_type(site.key.object).id().to_owned()))],
            Step::By(Level::Function) => {
                let frame = fold.stacks.frame(fold.stacks.shown(site.key.stack));
                let source = frame.and_then(|frame| fold.stacks.source_line(frame));
                vec![text("module", fold.stacks.module_path(key).map(str::to_owned)), text("source", source)]
            }
            Step::Frame(_) => vec![text("module", fold.stacks.module_path(key).map(str::to_owned))],
            Step::By(_) => Vec::new(),
        }
    }
}
