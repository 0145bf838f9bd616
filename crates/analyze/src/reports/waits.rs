//! Wait time by object.

use std::collections::BTreeMap;

use dwell_model::{ObjectId, ObjectType, StackId};
use dwell_view::{Value, View};

use crate::engine::fold::Fold;
use crate::engine::grouping::{GroupNode, Groups};
use crate::measure::distribution::Distribution;
use crate::measure::site::Site;
use crate::measure::utilization::total;
use crate::question::level::Level;
use crate::study::acquisitions;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::{
    Table, cut_note, handle_columns, levels_or, metrics_or, name_columns, stack_value, wait_rank,
};
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
    plain "acquisitions", "Acquisitions", "Calls that blocked to take it; one may be several waits.",
        "取得", "取得のためにブロックした呼び出し。1 回に複数の待機があり得ます。";
    detail "futile_wakeups", "Futile Wake-Ups", "Wake-ups after which the thread waited again without having got it: another one was faster.",
        "無駄な起床", "起床したが、別のスレッドに先を越され、取得できずに再び待機した回数。";
    detail "acquire_p50_ns", "Median Acquisition", "Half of the acquisitions did not take longer, from the first wait until the thread ran again, time in the run queue included; right to 1 %.",
        "取得時間の中央値", "取得の半分はこれより長くかからない。最初の待機から再び実行されるまで、実行キューの時間を含む。誤差は 1 % 以内です。";
    detail "acquire_p99_ns", "99th Percentile of Acquisitions", "99 % of the acquisitions did not take longer; right to 1 %.",
        "取得時間の 99 %", "取得の 99 % はこれより長くかからない。誤差は 1 % 以内です。";
    plain "threads", "Threads", "Number of threads that waited.",
        "スレッド", "待機したスレッドの数。";
    detail "idle_ns", "Idle Wait Time", "Part of the wait time of idle workers, by pattern.",
        "アイドル待機時間", "仕事のないワーカーの待機時間 (プールのスレッド、accept ループ、イベントループ)。";
    detail "created_at", "Created At", "Where it was initialised last before a thread first waited on it (pthread_mutex_init and its like), when known.",
        "作成場所", "分かる場合、最初の待機の前に最後に初期化された場所 (pthread_mutex_init など)。";
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
    let acquired = if levels == [Level::Object] { acquisitions::lengths(fold) } else { BTreeMap::new() };
    let table = Table { groups: &groups, levels: &levels, metrics: &metrics };
    let mut view = table
        .view(columns_of(COLUMNS), |index, node| cells(&groups, fold, (index, node), (&lengths[index], &acquired)));
    // The type stands beside the name and its handle.
    let names = name_columns(&levels).len() + handle_columns(&levels).len();
    let (from, to) = (view.columns.len() - columns_of(COLUMNS).len(), names);
    let move_type = |row: &mut Vec<Value>| row[to..=from].rotate_right(1);
    view.columns[to..=from].rotate_right(1);
    view.rows.iter_mut().for_each(|row| move_type(&mut row.values));
    view.notes = notes(fold);
    view.notes.extend(cut_note(cut));
    view
}

fn of_object(lengths: &BTreeMap<ObjectId, Distribution>, node: &GroupNode) -> Distribution {
    lengths.get(&ObjectId::from_raw(node.key)).cloned().unwrap_or_default()
}

fn cells(
    groups: &Groups<'_, '_>,
    fold: &Fold<'_>,
    (index, node): (usize, &GroupNode),
    (lengths, acquired): (&Distribution, &BTreeMap<ObjectId, Distribution>),
) -> Vec<Value> {
    let quantile = |of: Option<&Distribution>, quantile| {
        of.and_then(|lengths| lengths.quantile(quantile)).map_or(Value::None, Value::Ns)
    };
    let object = if node.level == Level::Object { ObjectId::from_raw(node.key) } else { ObjectId::NONE };
    let objects = &fold.trace.objects;
    let place = |stacks: &[StackId]| {
        let stack = object.get().and_then(|row| stacks.get(row)).copied();
        stack.and_then(|stack| fold.stacks.place(stack)).map_or(Value::None, Value::Text)
    };
    let (waits, again) = calls(fold, node).unzip();
    vec![
        object_type(fold, node).map_or(Value::None, |kind| Value::Text(kind.id().into())),
        quantile(Some(lengths), 0.5),
        quantile(Some(lengths), 0.99),
        waits.map_or(Value::None, Value::Count),
        again.map_or(Value::None, Value::Count),
        quantile(acquired.get(&object), 0.5),
        quantile(acquired.get(&object), 0.99),
        Value::Count(groups.threads(index) as u64),
        Value::Ns(total(&node.weights.idle)),
        place(&objects.created_stack),
        place(&objects.first_stack),
        stack_value(fold, groups.top_stack(index, |site| site.key.stack)),
        stack_value(fold, groups.top_stack(index, |site| site.key.waker_stack)),
    ]
}

/// Calls that blocked to take what the group is of, and how often one waited again; where the trace tells.
fn calls(fold: &Fold<'_>, node: &GroupNode) -> Option<(u64, u64)> {
    let is_taken = object_type(fold, node).is_some_and(ObjectType::is_taken);
    if !is_taken || !acquisitions::are_known(fold.trace) {
        return None;
    }
    let sites = node.sites.iter().map(|site| &fold.sites[*site as usize]);
    let again = sites.filter(|site| site.key.again).map(|site| site.weights(fold.class_mask).wait_count).sum();
    Some((node.weights.wait_count.saturating_sub(again), again))
}

/// The type that all waits of the group are on.
fn object_type(fold: &Fold<'_>, node: &GroupNode) -> Option<ObjectType> {
    let mut types = node.sites.iter().map(|site| fold.object_type(fold.sites[*site as usize].key.object));
    let first = types.next()?;
    types.all(|kind| kind == first).then_some(first)
}
