//! One level of a tree grid: the rows below one row, fetched when a person opens it.

use std::collections::HashMap;

use dwell_model::MetricDef;
use dwell_query::engine::fold::Fold;
use dwell_query::measure::metrics::{magnitude, metric, value};
use dwell_query::measure::site::Site;
use dwell_query::measure::weights::Weights;
use dwell_query::question::level::Level;
use dwell_store::WordMap;
use dwell_view::{Value, answer, json};
use serde_json::{Map, Value as Json};

use crate::explore::path::{PathPlace, PathStep, PathWalk};

/// Rows of one answer at most.
const MOST_ROWS: usize = 10_000;

/// What is asked; metrics and the order are the fold's query's.
#[derive(Clone, Debug)]
pub struct GridQuery {
    /// Whose rows.
    pub place: PathPlace,
    /// Rows to leave out at the start.
    pub offset: usize,
    /// Rows to show.
    pub limit: usize,
    /// Only rows whose name has this in it, whatever the case, and those above and below them.
    pub search: String,
    /// What the rows are ordered by.
    pub order: Order,
    /// Whether the largest, or the last, comes first.
    pub descending: bool,
}

/// What rows are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The query's metric; without one, the time that keeps a CPU or a thread busy.
    Metric,
    /// Their names.
    Name,
    /// CPU time of their own, without what they call.
    CpuSelf,
    /// Wait time of their own.
    WaitSelf,
}

answer! {
    /// Rows of one level.
    #[derive(Clone, Debug)]
    pub struct Grid {
        /// Rows that there are, before offset and limit.
        pub total_rows: usize,
        /// The rows.
        pub rows: Vec<GridRow>,
        /// The sum of all that is at the place, found by the search or not; of a subject with its own part.
        pub total: Map<String, Json>,
    }
}

answer! {
    /// One row.
    #[derive(Clone, Debug)]
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
}

const METRICS: &[&str] = &["cpu_ns", "wait_ns", "wait_count", "spin_ns", "overhead_ns", "preemption_ns"];

#[derive(Default)]
struct Group {
    weights: Weights,
    /// The part that ends here: a function's own.
    own: Weights,
    children: bool,
    /// What is searched for is below it.
    found: bool,
    /// Its site with the most time.
    top: (u64, usize),
}

/// The rows at the place of `query`.
pub fn grid(fold: &Fold<'_>, query: &GridQuery) -> Grid {
    let mut walk = PathWalk::new(fold, &query.place);
    let depth = query.place.path.len();
    let sites = walk.sites();
    let Some(step) = walk.step(depth) else {
        return Grid { total_rows: 0, rows: Vec::new(), total: Map::new() };
    };
    let mut search = Search::new(&query.search, &mut walk);
    let below = walk.step(depth + 1);
    let (mut groups, mut total, mut own) = (WordMap::<u32, Group>::default(), Weights::default(), Weights::default());
    for index in sites {
        let (site, mask) = (&fold.sums.sites[index], fold.sums.class_mask);
        total.add_site(site, mask);
        let keys = walk.keys(step, site);
        if keys.is_empty() {
            own.add_site(site, mask);
        }
        let found_below = search.finds_below(&mut walk, depth, site);
        for key in keys {
            let group = groups.entry(key).or_default();
            group.add(index, site, mask);
            group.found |= found_below;
            group.children = group.children
                || match below {
                    Some(PathStep::Frame(at)) => walk.functions(site).len() > at,
                    below => below.is_some(),
                };
            if walk.is_own(step, site, key) {
                group.own.add_site(site, mask);
            }
        }
    }
    let rows = Rows { fold, walk: &walk, step };
    let mut found: Vec<(u32, String, &Group)> =
        groups.iter().map(|(key, group)| (*key, walk.label(step, *key), group)).collect();
    found.retain(|(_, label, group)| group.found || search.finds(label));
    order(fold, query, &mut found);
    let total_rows = found.len();
    let shown = found.into_iter().skip(query.offset).take(query.limit.min(MOST_ROWS));
    let shown = shown.map(|(key, label, group)| rows.row(key, label, group)).collect();
    let mut total = rows.metrics(&total);
    if query.place.subject.is_some() {
        rows.own(&own, &mut total);
    }
    Grid { total_rows, rows: shown, total }
}

impl Group {
    fn add(&mut self, index: usize, site: &Site, mask: [bool; 5]) {
        self.weights.add_site(site, mask);
        let time = site.busy_ns(mask);
        if self.top.0 <= time {
            self.top = (time, index);
        }
    }
}

/// What is searched for: the names of rows, and of those below them.
struct Search {
    text: String,
    /// A row above has it already.
    all: bool,
    known: HashMap<(PathStep, u32), bool>,
}

impl Search {
    fn new(text: &str, walk: &mut PathWalk<'_, '_>) -> Self {
        let text = text.to_lowercase();
        let all = text.is_empty() || walk.path_labels().iter().any(|label| label.to_lowercase().contains(&text));
        Self { text, all, known: HashMap::new() }
    }

    fn finds(&self, label: &str) -> bool {
        self.all || label.to_lowercase().contains(&self.text)
    }

    /// Whether one of the rows below those at `depth` that a site belongs to has it.
    fn finds_below(&mut self, walk: &mut PathWalk<'_, '_>, depth: usize, site: &Site) -> bool {
        self.all
            || walk.keys_below(depth, site).into_iter().any(|(step, key)| {
                let known = self.known.get(&(step, key)).copied();
                known.unwrap_or_else(|| {
                    let found = self.finds(&walk.label(step, key));
                    self.known.insert((step, key), found);
                    found
                })
            })
    }
}

fn order(fold: &Fold<'_>, query: &GridQuery, rows: &mut [(u32, String, &Group)]) {
    let by_metric = |weights: &Weights| match fold.query.sort {
        Some(metric) => magnitude(&value(metric, weights)),
        None if fold.query.include_idle => (weights.cpu_ns() + weights.wait_ns()) as f64,
        None => (weights.cpu_ns() + weights.blocking_ns()) as f64,
    };
    let rank = |group: &Group| match query.order {
        Order::Metric | Order::Name => by_metric(&group.weights),
        Order::CpuSelf => group.own.cpu_ns() as f64,
        Order::WaitSelf => group.own.wait_ns() as f64,
    };
    rows.sort_by(|a, b| {
        let by_name = query.order == Order::Name;
        let by_rank = if by_name { a.1.cmp(&b.1) } else { rank(a.2).total_cmp(&rank(b.2)) };
        let by_rank = if query.descending { by_rank.reverse() } else { by_rank };
        by_rank.then_with(|| a.1.cmp(&b.1)).then(a.0.cmp(&b.0))
    });
}

struct Rows<'g, 'f, 't> {
    fold: &'f Fold<'t>,
    walk: &'g PathWalk<'f, 't>,
    step: PathStep,
}

impl Rows<'_, '_, '_> {
    fn row(&self, key: u32, label: String, group: &Group) -> GridRow {
        let mut values = self.metrics(&group.weights);
        if self.step == PathStep::AnyFrame || (self.walk.is_from_root() && matches!(self.step, PathStep::Frame(_))) {
            self.own(&group.own, &mut values);
        }
        values.extend(self.about(key, group));
        GridRow { key: self.walk.word(self.step, key), label, children: group.children, values }
    }

    fn own(&self, own: &Weights, values: &mut Map<String, Json>) {
        values.insert("cpu_self_ns".into(), own.cpu_ns().into());
        values.insert("wait_self_ns".into(), own.wait_ns().into());
    }

    fn metrics(&self, weights: &Weights) -> Map<String, Json> {
        let own: Vec<&'static MetricDef> = METRICS.iter().filter_map(|id| metric(id)).collect();
        let metrics = if self.fold.query.metrics.is_empty() { &own } else { &self.fold.query.metrics };
        metrics.iter().map(|metric| (metric.id.to_owned(), json::value(&value(metric, weights)))).collect()
    }

    /// What helps to tell the row from others of its name, and to find its code.
    fn about(&self, key: u32, group: &Group) -> Vec<(String, Json)> {
        let (fold, site) = (self.fold, &self.fold.sums.sites[group.top.1]);
        let text =
            |name: &str, text: Option<String>| (name.to_owned(), json::value(&text.map_or(Value::None, Value::Text)));
        match self.step {
            PathStep::By(Level::Object) => vec![text("type", Some(fold.object_type(site.key.object).id().to_owned()))],
            PathStep::By(Level::Function) => {
                let frame = fold.sums.stacks.frame(fold.sums.stacks.shown(site.key.stack));
                let source = frame.and_then(|frame| fold.sums.stacks.source_line(frame));
                vec![text("module", fold.sums.stacks.module_path(key).map(str::to_owned)), text("source", source)]
            }
            PathStep::Frame(_) | PathStep::AnyFrame => {
                vec![text("module", fold.sums.stacks.module_path(key).map(str::to_owned))]
            }
            PathStep::By(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use dwell_query::question::query::Query;
    use dwell_trace_dsl::trace;
    use dwell_view::Row;

    use super::*;
    use crate::explore::path::parse_grid_levels;
    use crate::reports::Report;

    fn level(fold: &Fold<'_>, place: PathPlace, search: &str) -> Grid {
        let (search, order) = (search.to_owned(), Order::Metric);
        grid(fold, &GridQuery { place, offset: 0, limit: 100, search, order, descending: true })
    }

    fn place(levels: &str, path: &[String], subject: Option<&str>) -> PathPlace {
        let levels = parse_grid_levels(levels).unwrap();
        PathPlace { levels, path: path.to_vec(), subject: subject.map(str::to_owned) }
    }

    /// The tree of callees as the report writes it: depth, name, total and own CPU and wait time.
    fn tree(fold: &Fold<'_>, path: &[String]) -> Vec<(usize, String, [u64; 4])> {
        let rows = level(fold, place("callees", path, None), "").rows;
        rows.into_iter()
            .flat_map(|row| {
                let below = [path, std::slice::from_ref(&row.key)].concat();
                let children = if row.children { tree(fold, &below) } else { Vec::new() };
                std::iter::once((path.len(), row.label.clone(), times(&row))).chain(children)
            })
            .collect()
    }

    fn times(row: &GridRow) -> [u64; 4] {
        ["cpu_ns", "wait_ns", "cpu_self_ns", "wait_self_ns"]
            .map(|id| row.values.get(id).and_then(Json::as_u64).unwrap_or(0))
    }

    fn of_report(row: &Row, name: usize) -> (usize, String, [u64; 4]) {
        let number = |at: usize| match &row.values[at] {
            Value::Ns(ns) => *ns,
            other => panic!("{other:?}"),
        };
        let Value::Text(text) = &row.values[name] else { panic!("no name") };
        (row.depth, text.clone(), [1, 2, 3, 4].map(|at| number(name + at)))
    }

    const PICTURE: &str = "
        a: ##mm11ss22##
        b: 1111mmmm--ss
    ";

    #[test]
    fn trees_and_lists_of_functions_are_the_reports_piece_by_piece() {
        let trace = trace(PICTURE);
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        let report = |kind, subject: Option<&str>| {
            let query = Query { subject: subject.map(str::to_owned), ..query.clone() };
            crate::report_of(kind, &fold.asked(&query)).unwrap().rows
        };
        let rows = report(Report::TopDown, None);
        assert_eq!(tree(&fold, &[]), rows.iter().map(|row| of_report(row, 0)).collect::<Vec<_>>());
        let list = level(&fold, place("all-functions", &[], None), "").rows;
        let rows = report(Report::CallerCallee, None);
        assert!(rows.len() > 5);
        let found: Vec<_> = list.iter().map(|row| (0, row.label.clone(), times(row))).collect();
        assert_eq!(found, rows.iter().map(|row| of_report(row, 0)).collect::<Vec<_>>());
        for row in &list {
            let around = report(Report::CallerCallee, Some(&row.label));
            for (levels, role) in [("callers", "caller"), ("callees", "callee")] {
                let part = level(&fold, place(levels, &[], Some(&row.label)), "");
                let names: Vec<_> =
                    part.rows.iter().map(|row| (row.label.clone(), row.values["cpu_ns"].clone())).collect();
                let expected = around.iter().filter(|row| row.values[0] == Value::Text(role.into()));
                let expected = expected.map(|row| of_report(row, 1)).map(|(_, name, times)| (name, times[0].into()));
                assert_eq!(names, expected.collect::<Vec<_>>(), "{role}s of {}", row.label);
                assert_eq!(part.total["cpu_ns"], row.values["cpu_ns"], "{levels} of {}", row.label);
            }
            let callees = level(&fold, place("callees", &[], Some(&row.label)), "");
            assert_eq!(callees.total["cpu_self_ns"], row.values["cpu_self_ns"], "{}", row.label);
        }
    }

    #[test]
    fn a_search_keeps_what_leads_to_what_it_finds() {
        let trace = trace(PICTURE);
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        let labels = |place: PathPlace, search: &str| -> Vec<String> {
            level(&fold, place, search).rows.into_iter().map(|row| row.label).collect()
        };
        assert_eq!(labels(place("callees", &[], None), "F2"), ["main"]);
        let main = level(&fold, place("callees", &[], None), "f2").rows.remove(0);
        assert_eq!(labels(place("callees", std::slice::from_ref(&main.key), None), "f2"), ["f2"]);
        assert!(labels(place("callees", &[main.key], None), "main").len() > 3, "all that is below what was found");
        assert_eq!(labels(place("thread,function,callers", &[], None), "f2"), ["a (100)"]);
        assert!(labels(place("function,callers", &[], None), "main").is_empty(), "callers are not searched");
        assert!(labels(place("all-functions", &[], None), "nothing").is_empty());
    }
}
