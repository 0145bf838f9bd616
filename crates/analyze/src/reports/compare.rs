//! Two results side by side: the same metrics of the same names, their difference, and limits that fail a build.
//!
//! Names are what runs have in common: functions by name, objects by their stable names, threads and processes without
//! their ids.

use std::collections::{BTreeMap, BTreeSet};

use dwell_model::{MetricDef, Unit};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::grouping::Groups;
use dwell_query::measure::metrics::{compared_columns, magnitude, metric, value};
use dwell_query::measure::site::Site;
use dwell_query::measure::utilization::total;
use dwell_query::measure::weights::Weights;
use dwell_query::question::level::Level;
use dwell_view::{Prose, Row, Value, View, Word, glob};

use crate::sentences::say;
use crate::tables::columns::{columns, columns_of, plain};
use crate::tables::grouped::cut_note;

columns! {
    /// What follows the metrics.
    SHARE;

    plain "share", "Share", "The first metric's difference as a part of the first result's total.",
        "割合", "最初のメトリックの差の、1 番目の結果の合計に対する割合。";
}

/// The row of everything.
const ALL: &str = "[all]";

/// Metrics, unless the query has others.
fn default_metrics(level: Level) -> &'static [&'static str] {
    match level {
        Level::Object | Level::AlikeObjects | Level::ObjectType | Level::WaitKind | Level::Waker => {
            &["wait_ns", "wait_count"]
        }
        _ => &["cpu_ns", "wait_ns"],
    }
}

/// A row per name that either result has at `level`; the largest difference first. The metrics and the limit are those
/// of the first one's query.
pub fn compare(first: &Fold<'_>, second: &Fold<'_>, level: Level) -> View {
    let metrics: Vec<&'static MetricDef> = match first.query.metrics.is_empty() {
        true => default_metrics(level).iter().filter_map(|id| metric(id)).collect(),
        false => first.query.metrics.clone(),
    };
    let (of_first, of_second) = (sums(first, level), sums(second, level));
    let whole = metrics.first().map_or(0.0, |metric| number(metric, first.shown()));
    let names: BTreeSet<&String> = of_first.keys().chain(of_second.keys()).collect();
    let nothing = Weights::default();
    let pair = |name: &String| (of_first.get(name).unwrap_or(&nothing), of_second.get(name).unwrap_or(&nothing));
    let mut rows: Vec<(f64, Row)> = names
        .into_iter()
        .map(|name| {
            let (a, b) = pair(name);
            (rank(first, &metrics, (a, b)), row(name, &metrics, (a, b), whole))
        })
        .filter(|(rank, _)| *rank > 0.0)
        .collect();
    // Sorted by name before: equal differences stay in that order.
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let limit = first.query.limit.unwrap_or(usize::MAX);
    let cut = rows.len().saturating_sub(limit);
    let all = row(ALL, &metrics, (first.shown(), second.shown()), whole);
    let rows = std::iter::once(all).chain(rows.into_iter().take(limit).map(|(_, row)| row)).collect();
    let mut columns = vec![plain(level.id(), level.title(), level.help())];
    columns.extend(metrics.iter().flat_map(|metric| compared_columns(metric)));
    columns.extend(columns_of(SHARE));
    let mut notes = vec![lengths(first, second)];
    notes.extend(cut_note(cut));
    View { title: "Comparison".into(), columns, rows, notes, ..View::default() }
}

/// By the difference of the sort's metric, or the largest of the times shown; names that both results have in the same
/// measure come last.
fn rank(fold: &Fold<'_>, metrics: &[&'static MetricDef], (a, b): (&Weights, &Weights)) -> f64 {
    let difference = |metric: &MetricDef| (number(metric, a) - number(metric, b)).abs();
    let present = |metric: &&&MetricDef| number(metric, a) > 0.0 || number(metric, b) > 0.0;
    if !metrics.iter().any(|metric| present(&metric)) {
        return 0.0;
    }
    let times = metrics.iter().filter(|metric| metric.unit == Unit::Ns).map(|metric| difference(metric));
    let largest = match fold.query.sort {
        Some(metric) => difference(metric),
        None => times.reduce(f64::max).or(metrics.first().map(|metric| difference(metric))).unwrap_or(0.0),
    };
    // A name without a difference is a row too.
    f64::MIN_POSITIVE + largest
}

fn row(name: &str, metrics: &[&'static MetricDef], (a, b): (&Weights, &Weights), whole: f64) -> Row {
    let mut values = vec![Value::Text(name.to_owned())];
    for metric in metrics {
        let (first, second) = (value(metric, a), value(metric, b));
        let (x, y) = (magnitude(&first), magnitude(&second));
        let difference = match (&first, &second) {
            (Value::Count(_), _) | (_, Value::Count(_)) => Value::CountChange((x - y) as i64),
            _ => Value::NsChange((x - y) as i64),
        };
        let ratio = if x > 0.0 { Value::Real(y / x) } else { Value::None };
        values.extend([plainly(first), plainly(second), difference, ratio]);
    }
    let difference = metrics.first().map_or(0.0, |metric| number(metric, a) - number(metric, b));
    values.push(if whole > 0.0 { Value::Fraction(difference / whole) } else { Value::None });
    Row { depth: 0, values }
}

/// Classes are summed: two bars in one row say less than two numbers.
fn plainly(value: Value) -> Value {
    match value {
        Value::ByClass(classes) => Value::Ns(total(&classes)),
        other => other,
    }
}

fn number(metric: &MetricDef, weights: &Weights) -> f64 {
    magnitude(&value(metric, weights))
}

fn lengths(first: &Fold<'_>, second: &Fold<'_>) -> Prose {
    let elapsed = |fold: &Fold<'_>| Word::Ns(fold.sums.windows.length_ns());
    say!(COMPARED, first = elapsed(first), second = elapsed(second)).into()
}

/// The selected weights by name.
fn sums(fold: &Fold<'_>, level: Level) -> BTreeMap<String, Weights> {
    let about_waits = matches!(level, Level::Object | Level::AlikeObjects | Level::ObjectType);
    let groups = Groups::new(fold, &[level], |site: &Site| !about_waits || site.is_wait());
    let mut sums: BTreeMap<String, Weights> = BTreeMap::new();
    for (index, node) in groups.nodes.iter().enumerate() {
        sums.entry(common_name(level, groups.label(index))).or_default().add(&node.weights);
    }
    sums
}

/// What is the same in the next run: `worker (4242)` is `worker`.
fn common_name(level: Level, label: String) -> String {
    let has_id = matches!(level, Level::Thread | Level::Process | Level::Waker);
    let bare = label.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    match bare {
        Some((name, id)) if has_id && id.bytes().all(|byte| byte.is_ascii_digit()) => name.to_owned(),
        _ => label,
    }
}

/// A limit that the second result must keep.
#[derive(Clone, Debug)]
pub struct Gate {
    /// What is measured; none: the elapsed time.
    pub metric: Option<&'static MetricDef>,
    /// Where the name is looked for; none: among objects, then functions, then threads.
    pub level: Option<Level>,
    /// Of what, with `*` for any characters; none: of everything.
    pub name: Option<String>,
    /// The limit.
    pub limit: Limit,
}

/// How much is too much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// More than the first result's by this part of it.
    GrowthBy(f64),
    /// More than the first result's by this, ns or a count.
    MoreBy(f64),
    /// More than this part of the second result's total.
    Share(f64),
    /// More than this, ns or a count.
    Above(f64),
}

/// What became of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The first result's number: ns or a count.
    pub first: f64,
    /// The second result's.
    pub second: f64,
    /// What it may be at most.
    pub limit: f64,
    /// Where the name was found; none: in neither result, or none was asked for.
    pub level: Option<Level>,
}

impl Verdict {
    /// Whether the limit is kept.
    pub fn holds(&self) -> bool {
        self.second <= self.limit
    }
}

impl Gate {
    /// Measures both results.
    pub fn check(&self, first: &Fold<'_>, second: &Fold<'_>) -> Verdict {
        let (level, sums) = self.weights(first, second);
        let measure = |fold: &Fold<'_>, weights: &Weights| match self.metric {
            Some(metric) => number(metric, weights),
            None => fold.sums.windows.length_ns() as f64,
        };
        let (a, b) = (measure(first, &sums[0]), measure(second, &sums[1]));
        let limit = match self.limit {
            Limit::GrowthBy(part) => a * (1.0 + part),
            Limit::MoreBy(more) => a + more,
            Limit::Share(part) => measure(second, second.shown()) * part,
            Limit::Above(limit) => limit,
        };
        Verdict { first: a, second: b, limit, level }
    }

    /// What the name stands for in both results.
    fn weights(&self, first: &Fold<'_>, second: &Fold<'_>) -> (Option<Level>, [Weights; 2]) {
        let Some(name) = &self.name else { return (None, [first.shown().clone(), second.shown().clone()]) };
        let anywhere = [Level::Object, Level::Function, Level::ThreadName];
        let levels = self.level.as_ref().map_or(anywhere.as_slice(), std::slice::from_ref);
        for level in levels {
            let mut found = false;
            let sums = [first, second].map(|fold| {
                let mut sum = Weights::default();
                for (_, weights) in sums(fold, *level).iter().filter(|(known, _)| glob(name, known)) {
                    sum.add(weights);
                    found = true;
                }
                sum
            });
            if found {
                return (Some(*level), sums);
            }
        }
        (None, Default::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_ids_where_the_level_has_them() {
        let name = |level, label: &str| common_name(level, label.to_owned());
        assert_eq!(name(Level::Thread, "worker (4242)"), "worker");
        assert_eq!(name(Level::Waker, "[timer]"), "[timer]");
        assert_eq!(name(Level::Process, "my (old) app (7)"), "my (old) app");
        assert_eq!(name(Level::Thread, "worker (x)"), "worker (x)");
        assert_eq!(name(Level::Object, "Thread worker (1)"), "Thread worker (1)");
        assert_eq!(name(Level::Function, "operator() (3)"), "operator() (3)");
    }
}
