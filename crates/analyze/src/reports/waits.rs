//! Wait time by object.

use std::collections::BTreeMap;

use dwell_model::{ObjectId, ObjectType};
use dwell_view::{Value, View};

use crate::engine::fold::Fold;
use crate::engine::grouping::{Groups, Node};
use crate::measure::distribution::Distribution;
use crate::measure::site::Site;
use crate::measure::utilization::total;
use crate::question::level::Level;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::{Table, cut_note, levels_or, metrics_or, name_columns, stack_value, wait_rank};
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "type", "Object Type", "Type of what was waited on.",
        "オブジェクト・タイプ", "待機の対象の種類。";
    plain "p50_ns", "Median Wait", "Half of the waits are not longer; right to 1 %.",
        "中央値", "待機の半分はこれより長くない。誤差は 1 % 以内です。";
    plain "p99_ns", "99th Percentile", "99 % of the waits are not longer; right to 1 %.",
        "99 %", "待機の 99 % はこれより長くない。誤差は 1 % 以内です。";
    plain "threads", "Threads", "Number of threads that waited.",
        "スレッド", "待機したスレッドの数。";
    detail "idle_ns", "Idle Wait Time", "Part of the wait time of idle workers, by pattern.",
        "アイドル待機時間", "仕事のないワーカーの待機時間 (プールのスレッド、accept ループ、イベントループ)。";
    detail "created_at", "Created At", "Where it was made, when known.",
        "作成場所", "分かる場合、作成された場所。";
    detail "first_wait_at", "First Wait At", "Where it was first waited on.",
        "最初の待機場所", "最初に待機した場所。";
    detail "top_stack", "Top Wait Stack", "The stack with the most wait time, leaf first.",
        "最も重いスタック", "待機時間が最も長いスタック。末端の関数から順に示します。";
    detail "top_waker_stack", "Top Waker Stack", "Where the waker was that ended the most wait time, leaf first.",
        "最も重い起床元スタック", "最も長い待機時間を終わらせた起床元のスタック。末端の関数から順に示します。";
}

const METRICS: &[&str] = &["wait_ns", "wait_count", "wait_poor_ns", "wait_by_class", "max_wait_ns"];

/// Waits, by object unless the query groups otherwise.
pub fn waits(fold: &Fold<'_>) -> View {
    let levels = levels_or(fold, &[Level::Object]);
    // Where the program announces its waits, the object of what it spins for is known too.
    let announced = !fold.trace.annotations.sync_waits.object.is_empty();
    let own: Vec<&str> = METRICS.iter().copied().chain(announced.then_some("spin_ns")).collect();
    let metrics = metrics_or(fold, &own);
    let mut groups = Groups::new(fold, &levels, Site::is_for_object);
    let cut = groups.sort(wait_rank(fold));
    // Objects that are not shown cost nothing more where all their lengths are at hand.
    let by_object = if levels == [Level::Object] { fold.lengths_by_object() } else { None };
    let lengths = match by_object {
        Some(by_object) => groups.nodes.iter().map(|node| of_object(by_object, node)).collect(),
        None => groups.distributions(),
    };
    let table = Table { groups: &groups, levels: &levels, metrics: &metrics };
    let mut view = table.view(columns_of(COLUMNS), |index, node| cells(&groups, fold, (index, node), &lengths[index]));
    // The type stands beside the name.
    let (from, to) = (view.columns.len() - columns_of(COLUMNS).len(), name_columns(&levels).len());
    let move_type = |row: &mut Vec<Value>| row[to..=from].rotate_right(1);
    view.columns[to..=from].rotate_right(1);
    view.rows.iter_mut().for_each(|row| move_type(&mut row.values));
    view.notes = notes(fold);
    view.notes.extend(cut_note(cut));
    view
}

fn of_object(lengths: &BTreeMap<ObjectId, Distribution>, node: &Node) -> Distribution {
    lengths.get(&ObjectId::from_raw(node.key)).cloned().unwrap_or_default()
}

fn cells(groups: &Groups<'_, '_>, fold: &Fold<'_>, node: (usize, &Node), lengths: &Distribution) -> Vec<Value> {
    let (index, node) = node;
    let quantile = |quantile| lengths.quantile(quantile).map_or(Value::None, Value::Ns);
    let object = if node.level == Level::Object { ObjectId::from_raw(node.key) } else { ObjectId::NONE };
    let first = object.get().and_then(|row| fold.trace.objects.first_stack.get(row)).copied();
    let first = first.and_then(|stack| fold.stacks.place(stack));
    vec![
        object_type(fold, node).map_or(Value::None, |kind| Value::Text(kind.id().into())),
        quantile(0.5),
        quantile(0.99),
        Value::Count(groups.threads(index) as u64),
        Value::Ns(total(&node.weights.idle)),
        // No collector records creation sites yet: the object's allocation costs a probe on every one.
        Value::None,
        first.map_or(Value::None, Value::Text),
        stack_value(fold, groups.top_stack(index, |site| site.key.stack)),
        stack_value(fold, groups.top_stack(index, |site| site.key.waker_stack)),
    ]
}

/// The type that all waits of the group are on.
fn object_type(fold: &Fold<'_>, node: &Node) -> Option<ObjectType> {
    let mut types = node.sites.iter().map(|site| fold.object_type(fold.sites[*site as usize].key.object));
    let first = types.next()?;
    types.all(|kind| kind == first).then_some(first)
}
