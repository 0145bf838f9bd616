//! Tables with a row per group: waits, hotspots, and any other grouping with any metrics.

use dwell_model::{MetricDef, StackId, ThreadId};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::grouping::{GroupNode, Groups};
use dwell_query::measure::metrics::{column, metric, value};
use dwell_query::measure::site::Site;
use dwell_query::measure::weights::Weights;
use dwell_query::question::handles::{object_handle, thread_handle};
use dwell_query::question::level::Level;
use dwell_view::{Column, Prose, Row, Value, View};

use crate::sentences::say;
use crate::tables::columns::{columns, columns_of, detail, plain};
use crate::tables::notes::notes;

columns! {
    /// The name of a row that is within others.
    NAME;

    plain "name", "Name", "The group; indented under the one that it is part of.",
        "名前", "グループ。属するグループの下に示します。";
}

columns! {
    /// The handle of a row that is of an object or a thread.
    HANDLE;

    plain "handle", "#", "Short name of the object or thread, the same in every answer; filters, `blame` and `explain --for` take it.",
        "#", "オブジェクトまたはスレッドの短い名前。どの回答でも同じです。フィルターとレポートで名前の代わりに使えます。";
}

/// The column of handles; none where no level has any.
pub fn handle_columns(levels: &[Level]) -> Vec<Column> {
    let has_handles = levels.iter().any(|level| matches!(level, Level::Object | Level::AlikeObjects | Level::Thread));
    if has_handles { columns_of(HANDLE) } else { Vec::new() }
}

/// The cell of [`handle_columns`].
fn handle_cell(groups: &Groups<'_, '_>, node: &GroupNode) -> Value {
    let fold = groups.fold();
    let handle = match node.level {
        Level::Object | Level::AlikeObjects => match groups.objects(node).as_slice() {
            [object] => object_handle(fold.trace, *object),
            _ => None,
        },
        Level::Thread => thread_handle(fold.trace, ThreadId::from_raw(node.key)),
        _ => None,
    };
    handle.map_or(Value::None, Value::Text)
}

/// Columns that name a row: the level, or for nested ones the name and each level's own.
pub fn name_columns(levels: &[Level]) -> Vec<Column> {
    match levels {
        [level] => vec![plain(level.id(), level.title(), level.help())],
        _ => {
            let own = levels.iter().map(|level| detail(level.id(), level.title(), level.help()));
            columns_of(NAME).into_iter().chain(own).collect()
        }
    }
}

/// The cells of [`name_columns`]; `path` has the names of the groups above.
pub fn name_cells(levels: &[Level], path: &[String]) -> Vec<Value> {
    let last = Value::Text(path.last().cloned().unwrap_or_default());
    if levels.len() == 1 {
        return vec![last];
    }
    let own = (0..levels.len()).map(|depth| path.get(depth).map_or(Value::None, |name| Value::Text(name.clone())));
    std::iter::once(last).chain(own).collect()
}

/// The query's metrics, or these.
pub fn metrics_or(fold: &Fold<'_>, ids: &[&str]) -> Vec<&'static MetricDef> {
    if fold.query.metrics.is_empty() {
        ids.iter().filter_map(|id| metric(id)).collect()
    } else {
        fold.query.metrics.clone()
    }
}

/// The query's grouping, or these.
pub fn levels_or(fold: &Fold<'_>, levels: &[Level]) -> Vec<Level> {
    if fold.query.group_by.is_empty() { levels.to_vec() } else { fold.query.group_by.clone() }
}

/// Rank of waits: what idle workers did not spend while utilization was poor, then the rest.
pub fn wait_rank(fold: &Fold<'_>) -> impl Fn(&Weights) -> f64 + use<> {
    let include_idle = fold.query.include_idle;
    move |weights| {
        let (poor, all) = match include_idle {
            true => (weights.wait_poor_ns(), weights.wait_ns()),
            false => (weights.blocking_poor_ns(), weights.blocking_ns()),
        };
        // The rest decides only between groups without wait at poor utilization.
        poor as f64 + all as f64 * 1e-6 + weights.wait_ns() as f64 * 1e-12
    }
}

/// A row per group with the metrics' columns, in the order of the sort.
pub struct Table<'g, 'f, 't> {
    pub groups: &'g Groups<'f, 't>,
    pub levels: &'g [Level],
    pub metrics: &'g [&'static MetricDef],
}

impl Table<'_, '_, '_> {
    /// The table; `more` columns with their cells stand behind the metrics.
    pub fn view(&self, more: Vec<Column>, cells: impl Fn(usize, &GroupNode) -> Vec<Value>) -> View {
        let mut columns = name_columns(self.levels);
        let handles = handle_columns(self.levels);
        let has_handles = !handles.is_empty();
        columns.extend(handles);
        columns.extend(self.metrics.iter().map(|metric| column(metric)));
        columns.extend(more);
        let mut path: Vec<String> = Vec::new();
        let mut rows = Vec::new();
        for index in self.groups.in_order() {
            let node = &self.groups.nodes[index];
            path.truncate(node.depth);
            path.push(self.groups.shown_label(index));
            let mut values = name_cells(self.levels, &path);
            values.extend(has_handles.then(|| handle_cell(self.groups, node)));
            values.extend(self.metrics.iter().map(|metric| value(metric, &node.weights)));
            values.extend(cells(index, node));
            rows.push(Row { depth: node.depth, values });
        }
        View { columns, rows, ..View::default() }
    }
}

/// Says how many rows the limit left out.
pub fn cut_note(cut: usize) -> Option<Prose> {
    (cut > 0).then(|| say!(ROWS_CUT, rows = cut).into())
}

/// A stack as a cell.
pub fn stack_value(fold: &Fold<'_>, stack: StackId) -> Value {
    let names = fold.sums.stacks.names(stack);
    if names.is_empty() { Value::None } else { Value::Stack(names) }
}

/// Any grouping with these metrics, largest `by` first.
pub fn grouped(fold: &Fold<'_>, levels: &[Level], metrics: &[&str], by: impl Fn(&Weights) -> f64) -> View {
    let levels = levels_or(fold, levels);
    let metrics = metrics_or(fold, metrics);
    let mut groups = Groups::new(fold, &levels, |_: &Site| true);
    let cut = groups.sort(by);
    let table = Table { groups: &groups, levels: &levels, metrics: &metrics };
    let mut view = table.view(Vec::new(), |_, _| Vec::new());
    view.notes = notes(fold);
    view.notes.extend(cut_note(cut));
    view
}
