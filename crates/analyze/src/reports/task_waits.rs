//! Tasks by objects: what threads waited and spun for in each task.

use std::collections::BTreeMap;

use dwell_query::engine::fold::Fold;
use dwell_query::engine::grouping::Groups;
use dwell_query::measure::site::Site;
use dwell_query::question::level::Level;
use dwell_view::{Value, View};

use crate::reports::tasks::spent;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::{Table, cut_note, metrics_or, wait_rank};
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "share", "Share of the Task", "Part of all the time in the task, running and not, that this took.",
        "タスク内の割合", "タスク内の全時間 (実行中とそれ以外) に対する割合。";
    plain "task_ns", "Time in the Task", "All time of threads that were in this task and in none within it.",
        "タスク内の時間", "このタスクにいて、その中のタスクにはいなかったスレッドの時間。";
}

const METRICS: &[&str] = &["wait_ns", "wait_count", "spin_ns", "max_wait_ns"];

/// A row per innermost task, below it the objects that were waited or spun for in it.
pub fn task_waits(fold: &Fold<'_>) -> View {
    let levels = [Level::TaskType, Level::Object];
    let metrics = metrics_or(fold, METRICS);
    let mut groups = Groups::new(fold, &levels, Site::is_for_object);
    let cut = groups.sort(wait_rank(fold));
    let nesting = fold.trace.nesting();
    let mut times: BTreeMap<u32, u64> = BTreeMap::new();
    for (_, site, weights) in fold.selected() {
        *times.entry(nesting.task(site.key.context).raw()).or_default() += spent(&weights);
    }
    let mut parents = vec![None; groups.nodes.len()];
    for node in &groups.nodes {
        node.children.iter().for_each(|child| parents[*child] = Some(node.key));
    }
    let more = columns_of(COLUMNS);
    let table = Table { groups: &groups, levels: &levels, metrics: &metrics };
    let mut view = table.view(more, |index, node| {
        let task = parents[index].unwrap_or(node.key);
        let whole = times.get(&task).copied().unwrap_or(0);
        let lost = node.weights.wait_ns().saturating_add(node.weights.spin_ns());
        let own = if parents[index].is_none() { Value::Ns(whole) } else { Value::None };
        vec![Value::Fraction(lost as f64 / whole.max(1) as f64), own]
    });
    view.notes = notes(fold);
    view.notes.extend(cut_note(cut));
    view
}
