//! Wait time by object.

use std::collections::BTreeMap;

use dwell_model::{ObjectId, ObjectType, StackId};
use dwell_query::engine::alike_objects::without_count;
use dwell_query::engine::fold::Fold;
use dwell_query::engine::grouping::{GroupNode, Groups};
use dwell_query::measure::distribution::Distribution;
use dwell_query::measure::site::Site;
use dwell_query::measure::utilization::total;
use dwell_query::question::level::Level;
use dwell_query::question::query::Query;
use dwell_view::{Prose, Value, View};

use crate::sentences::say;
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

/// Part of the largest wait from which on others are named where none is large enough to be told.
const BESIDE_LARGEST: f64 = 0.1;
/// Rows of objects of one name from which on it is said how they are summed.
const MANY_ALIKE: usize = 5;

const METRICS: &[&str] = &["wait_ns", "wait_count", "wait_poor_ns", "wait_by_class", "max_wait_ns"];

/// Waits, by object unless the query groups otherwise.
pub fn waits(fold: &Fold<'_>) -> View {
    let rank = wait_rank(fold);
    let mut view = of_groups(fold, |groups| groups.sort(rank));
    view.notes.extend(alike_note(fold, &view));
    view
}

/// Waits on alike objects as a table of objects, those with the most time of busy threads at poor utilization first. `busy_share` is the
/// part of the waits on an object that is of such threads. What they waited for less than `least_ns` is left out where there is more.
pub fn busy_waits(fold: &Fold<'_>, least_ns: u64, busy_share: impl Fn(ObjectId) -> f64) -> View {
    let query = Query { group_by: vec![Level::AlikeObjects], ..fold.query.clone() };
    let mut view = of_groups(&fold.asked(&query), |groups| {
        let busy: Vec<BusyTime> = groups.nodes.iter().map(|node| BusyTime::of(fold, node, &busy_share)).collect();
        let largest = busy.iter().map(|busy| busy.all_ns).fold(0.0, f64::max);
        let least = if largest >= least_ns as f64 { least_ns as f64 } else { largest * BESIDE_LARGEST };
        groups.roots.retain(|node| busy[*node].all_ns > 0.0 && busy[*node].all_ns >= least);
        let ranks: Vec<f64> = busy.iter().map(BusyTime::rank).collect();
        groups.sort_ranked(&ranks)
    });
    if let (Some(column), Some(object)) = (view.columns.first_mut(), name_columns(&[Level::Object]).pop()) {
        *column = object;
    }
    view.notes.clear();
    view
}

/// Waits of threads that had something to do, ns.
struct BusyTime {
    all_ns: f64,
    poor_ns: f64,
}

impl BusyTime {
    fn of(fold: &Fold<'_>, node: &GroupNode, busy_share: impl Fn(ObjectId) -> f64) -> Self {
        let mut busy = Self { all_ns: 0.0, poor_ns: 0.0 };
        for site in node.sites.iter().map(|site| &fold.sums.sites[*site as usize]) {
            let (weights, share) = (site.weights(fold.sums.class_mask), busy_share(site.key.object));
            busy.all_ns += weights.wait_ns() as f64 * share;
            busy.poor_ns += weights.wait_poor_ns() as f64 * share;
        }
        busy
    }

    fn rank(&self) -> f64 {
        self.poor_ns + self.all_ns * 1e-6
    }
}

fn of_groups<'f, 't>(fold: &'f Fold<'t>, sort: impl FnOnce(&mut Groups<'f, 't>) -> usize) -> View {
    let levels = levels_or(fold, &[Level::Object]);
    // Where the program announces its waits, the object of what it spins for is known too.
    let announced = !fold.trace.annotations.sync_waits.object.is_empty();
    let own: Vec<&str> = METRICS.iter().copied().chain(announced.then_some("spin_ns")).collect();
    let metrics = metrics_or(fold, &own);
    let mut groups = Groups::new(fold, &levels, Site::is_for_object);
    let cut = sort(&mut groups);
    // Objects that are not shown cost nothing more where all their lengths are at hand.
    let are_objects = matches!(levels.as_slice(), [Level::Object | Level::AlikeObjects]);
    let by_object = if are_objects { fold.lengths_by_object() } else { None };
    let lengths = match by_object {
        Some(by_object) => groups.nodes.iter().map(|node| of_objects(by_object, &groups.objects(node))).collect(),
        None => groups.distributions(),
    };
    let acquired = if are_objects { acquisitions::lengths(fold) } else { BTreeMap::new() };
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

fn of_objects(lengths: &BTreeMap<ObjectId, Distribution>, objects: &[ObjectId]) -> Distribution {
    let mut sum = Distribution::default();
    objects.iter().filter_map(|object| lengths.get(object)).for_each(|of| sum.merge(of));
    sum
}

/// Says by which question alike rows of the view are summed, where several are: else a thousand connections hide the rest.
fn alike_note(fold: &Fold<'_>, view: &View) -> Option<Prose> {
    if !fold.query.group_by.is_empty() {
        return None;
    }
    let names = view.rows.iter().filter_map(|row| match row.values.first() {
        Some(Value::Text(name)) => Some(without_count(name)),
        _ => None,
    });
    let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
    names.for_each(|name| *rows.entry(name).or_default() += 1);
    let (name, most) = rows.into_iter().max_by_key(|(_, rows)| *rows).filter(|(_, rows)| *rows >= MANY_ALIKE)?;
    Some(say!(ALIKE_ROWS, rows = most, name = name).into())
}

fn cells(
    groups: &Groups<'_, '_>,
    fold: &Fold<'_>,
    (index, node): (usize, &GroupNode),
    (lengths, acquired): (&Distribution, &BTreeMap<ObjectId, Distribution>),
) -> Vec<Value> {
    let quantile = |of: &Distribution, quantile| of.quantile(quantile).map_or(Value::None, Value::Ns);
    let objects = if is_of_objects(node) { groups.objects(node) } else { Vec::new() };
    let object = if let [object] = objects.as_slice() { *object } else { ObjectId::NONE };
    let acquired = of_objects(acquired, &objects);
    let table = &fold.trace.objects;
    let place = |stacks: &[StackId]| {
        let stack = object.get().and_then(|row| stacks.get(row)).copied();
        stack.and_then(|stack| fold.sums.stacks.place(stack)).map_or(Value::None, Value::Text)
    };
    let (waits, again) = calls(fold, node).unzip();
    vec![
        object_type(fold, node).map_or(Value::None, |kind| Value::Text(kind.id().into())),
        quantile(lengths, 0.5),
        quantile(lengths, 0.99),
        waits.map_or(Value::None, Value::Count),
        again.map_or(Value::None, Value::Count),
        quantile(&acquired, 0.5),
        quantile(&acquired, 0.99),
        Value::Count(groups.threads(index) as u64),
        Value::Ns(total(&node.weights.idle)),
        place(&table.created_stack),
        place(&table.first_stack),
        stack_value(fold, groups.top_stack(index, |site| site.key.stack)),
        stack_value(fold, groups.top_stack(index, |site| site.key.waker_stack)),
    ]
}

/// Whether the group is of one object, or of alike ones.
fn is_of_objects(node: &GroupNode) -> bool {
    matches!(node.level, Level::Object | Level::AlikeObjects)
}

/// Calls that blocked to take what the group is of, and how often one waited again; where the trace tells.
fn calls(fold: &Fold<'_>, node: &GroupNode) -> Option<(u64, u64)> {
    let is_taken = object_type(fold, node).is_some_and(ObjectType::is_taken);
    if !is_taken || !acquisitions::are_known(fold.trace) {
        return None;
    }
    let sites = node.sites.iter().map(|site| &fold.sums.sites[*site as usize]);
    let again = sites.filter(|site| site.key.again).map(|site| site.weights(fold.sums.class_mask).wait_count).sum();
    Some((node.weights.wait_count.saturating_sub(again), again))
}

/// The type that all waits of the group are on.
fn object_type(fold: &Fold<'_>, node: &GroupNode) -> Option<ObjectType> {
    let mut types = node.sites.iter().map(|site| fold.object_type(fold.sums.sites[*site as usize].key.object));
    let first = types.next()?;
    types.all(|kind| kind == first).then_some(first)
}
