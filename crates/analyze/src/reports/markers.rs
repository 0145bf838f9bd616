//! Markers: instants that the program marked.

use std::collections::BTreeMap;

use dwell_model::{MarkerScope, TaskTypeId};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::selection::TaskFilter;
use dwell_query::stacks::tasks::TaskNames;
use dwell_view::{Row, Value, View};

use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::cut_note;
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "marker", "Marker", "Name of the marker.",
        "マーカー", "マーカーの名前。";
    plain "count", "Count", "How often it was set.",
        "回数", "付けられた回数。";
    plain "first_ns", "First", "When it was set first, since the start of the collection.",
        "最初", "最初に付けられた時刻。収集の開始からの時間。";
    plain "last_ns", "Last", "When it was set last.",
        "最後", "最後に付けられた時刻。収集の開始からの時間。";
    plain "mean_gap_ns", "Mean Gap", "Average time from one to the next.",
        "平均間隔", "次のマーカーまでの平均時間。";
    plain "scope", "Scope", "Whom it concerns: global, process, thread or task.",
        "範囲", "マーカーが示す対象。";
    detail "domain", "Domain", "Domain of the marker.",
        "ドメイン", "マーカーのドメイン。";
}

/// A row per marker and scope, the most frequent first.
pub fn markers(fold: &Fold<'_>) -> View {
    let said = &fold.trace.annotations.markers;
    let filter = TaskFilter::new(fold.trace, fold.query);
    let mut found: BTreeMap<(TaskTypeId, u8), (u64, u64, u64)> = BTreeMap::new();
    for (row, time) in said.time_ns.iter().enumerate() {
        if fold.sums.windows.contains(*time) && filter.takes_thread_at(said.thread[row], *time) {
            let of = found.entry((said.task_type[row], said.scope[row])).or_insert((0, *time, *time));
            (of.0, of.2) = (of.0 + 1, *time);
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, (count, ..))| std::cmp::Reverse(*count));
    let cut = fold.query.limit_rows(&mut found);
    let names = TaskNames::new(fold.trace);
    let row = |((task, scope), (count, first, last)): &((TaskTypeId, u8), (u64, u64, u64))| {
        let domain = task.get().and_then(|row| fold.trace.annotations.task_types.domain.get(row)).cloned();
        let values = vec![
            Value::Text(names.name(*task)),
            Value::Count(*count),
            Value::Ns(*first),
            Value::Ns(*last),
            (last - first).checked_div(count - 1).map_or(Value::None, Value::Ns),
            Value::Text(MarkerScope::from_code(*scope).id().into()),
            domain.map_or(Value::None, Value::Text),
        ];
        Row { depth: 0, values }
    };
    let rows = found.iter().map(row).collect();
    let mut notes = notes(fold);
    notes.extend(cut_note(cut));
    let columns = columns_of(COLUMNS);
    View { columns, rows, notes, ..View::default() }
}
