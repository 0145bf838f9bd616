//! Fibers (goroutines) and what they wait for. Takes a fold over a result in which fibers stand for threads.

use std::collections::HashMap;

use dwell_model::{ObjectId, StackId};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::grouping::{GroupNode, Groups};
use dwell_query::measure::site::Site;
use dwell_query::measure::utilization::total;
use dwell_query::measure::weights::Weights;
use dwell_query::question::level::Level;
use dwell_view::{Column, Prose, Row, Value, View, Word};

use crate::sentences::say;
use crate::study::fiber_enders::held_at;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::{cut_note, stack_value, wait_rank};
use crate::tables::notes::notes;

columns! {
    /// What the report of fibers shows.
    FIBERS;

    plain "kind", "Kind", "What they are: goroutine.",
        "種類", "ファイバーの種類: ゴルーチン。";
    plain "name", "Function", "The function that they began with.",
        "関数", "最初に実行した関数。";
    plain "created_at", "Created At", "Where they were made.",
        "作成場所", "作られた場所。";
    plain "count", "Fibers", "How many of them were seen.",
        "ファイバー数", "観測された数。";
    plain "running_ns", "Running", "Time on a thread, system calls that did not wait included.",
        "実行中", "スレッド上にあった時間。待機しなかったシステムコールを含みます。";
    plain "ready_ns", "Ready", "Time that they could have run and had no thread.",
        "実行可能", "実行可能だがスレッドがなかった時間。";
    plain "waiting_ns", "Waiting", "Time that they waited, for known and unknown reasons.",
        "待機中", "待機していた時間。";
    plain "exact", "Exact", "Whether every change of state was recorded; else they were looked at now and then.",
        "正確", "状態の変化がすべて記録されたか。そうでなければ時々観測したものです。";
    plain "error_ns", "Error", "Standard deviation of the waiting time, by the time between two looks; none where it is exact.",
        "誤差", "待機時間の標準偏差。観測の間隔から求めます。正確な場合はありません。";
}

columns! {
    /// What the report of their waits shows.
    WAITS;

    plain "object", "Object", "What they waited on.",
        "オブジェクト", "待機の対象。";
    plain "type", "Object Type", "Type of what was waited on.",
        "オブジェクト・タイプ", "待機の対象の種類。";
    plain "kind", "Kind", "What waited: goroutine.",
        "種類", "待機したファイバーの種類: ゴルーチン。";
    plain "wait_ns", "Wait Time", "Time that they waited for it.",
        "待機時間", "待機していた時間。";
    plain "wait_count", "Wait Count", "Waits that were seen; where fibers are looked at now and then, short ones are missing and those in a row at one place count as one.",
        "待機カウント", "観測された待機の回数。時々観測する場合、短いものは含まれず、同じ場所で続いたものは 1 回と数えます。";
    plain "max_wait_ns", "Longest Wait", "The longest of them.",
        "最長の待機", "最も長い待機。";
    plain "fibers", "Fibers", "How many waited.",
        "ファイバー数", "待機した数。";
    plain "idle_ns", "Idle Wait Time", "Part of the wait time in which there was nothing to do, by pattern.",
        "アイドル待機時間", "仕事がなかった待機時間 (パターンによる)。";
    plain "exact", "Exact", "Whether every change of state was recorded; else they were looked at now and then.",
        "正確", "状態の変化がすべて記録されたか。そうでなければ時々観測したものです。";
    plain "error_ns", "Error", "Standard deviation of the wait time, by the time between two looks; none where it is exact.",
        "誤差", "待機時間の標準偏差。観測の間隔から求めます。正確な場合はありません。";
    detail "holder", "Holder", "Where the fiber was that held it for most of the wait time, when known.",
        "保持者", "待機時間の大部分で保持していたファイバーの場所 (分かる場合)。";
    detail "top_stack", "Top Wait Stack", "The stack with the most wait time, leaf first.",
        "最も重いスタック", "待機時間が最も長いスタック。末端の関数から順に示します。";
    detail "top_waker_stack", "Top Waker Stack", "Where the waker was that ended the most wait time, leaf first.",
        "最も重い起床元スタック", "最も長い待機時間を終わらせた起床元のスタック。末端の関数から順に示します。";
}

/// Fibers by what they began with and where they were made, the longest waiting first.
pub fn fibers(fold: &Fold<'_>) -> View {
    if fold.trace.fibers.fibers.number.is_empty() {
        return without_fibers(columns_of(FIBERS));
    }
    let fibers = &fold.trace.fibers.fibers;
    let mut weights = vec![Weights::default(); fibers.name.len()];
    for (_, site, of_site) in fold.selected() {
        if let Some(weights) = site.key.thread.get().and_then(|row| weights.get_mut(row)) {
            weights.add(&of_site);
        }
    }
    let mut groups: HashMap<(&str, StackId, u8), (u64, Weights)> = HashMap::new();
    for (row, weights) in weights.iter().enumerate() {
        let key = (fibers.name[row].as_str(), fibers.created_stack[row], fibers.kind[row]);
        let (count, sum) = groups.entry(key).or_default();
        *count += 1;
        sum.add(weights);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|(a_key, (_, a)), (b_key, (_, b))| waiting_ns(b).cmp(&waiting_ns(a)).then(a_key.cmp(b_key)));
    let cut = fold.query.limit_rows(&mut groups);
    let row = |((name, created, kind), (count, weights)): ((&str, StackId, u8), (u64, Weights))| {
        let (exact, error) = precision(fold, weights.wait_count);
        let values = vec![
            Value::Text(kind_name(kind).into()),
            Value::Text(name.into()),
            fold.sums.stacks.place(created).map_or(Value::None, Value::Text),
            Value::Count(count),
            Value::Ns(weights.cpu_ns()),
            Value::Ns(total(&weights.runnable)),
            Value::Ns(waiting_ns(&weights)),
            exact,
            error,
        ];
        Row { depth: 0, values }
    };
    let rows = groups.into_iter().map(row).collect();
    let mut notes = notes(fold);
    notes.extend(sampling_note(fold));
    notes.extend(cut_note(cut));
    View { columns: columns_of(FIBERS), rows, notes, ..View::default() }
}

/// What fibers waited for, by object, those with something to do first.
pub fn fiber_waits(fold: &Fold<'_>) -> View {
    if fold.trace.fibers.fibers.number.is_empty() {
        return without_fibers(columns_of(WAITS));
    }
    let levels = [Level::Object];
    let mut groups = Groups::new(fold, &levels, Site::is_for_object);
    let cut = groups.sort(wait_rank(fold));
    let kind = fold.trace.fibers.fibers.kind.first().copied().unwrap_or(0);
    let held = held_at(fold.trace);
    let row = |(index, node): (usize, &GroupNode)| {
        let object = ObjectId::from_raw(node.key);
        let (exact, error) = precision(fold, node.weights.wait_count);
        let values = vec![
            Value::Text(fold.object_name(object).into()),
            Value::Text(fold.object_type(object).id().into()),
            Value::Text(kind_name(kind).into()),
            Value::Ns(node.weights.wait_ns()),
            Value::Count(node.weights.wait_count),
            Value::Ns(node.weights.max_wait_ns),
            Value::Count(groups.threads(index) as u64),
            Value::Ns(total(&node.weights.idle)),
            exact,
            error,
            held.get(&object).and_then(|stack| fold.sums.stacks.place(*stack)).map_or(Value::None, Value::Text),
            stack_value(fold, groups.top_stack(index, |site| site.key.stack)),
            stack_value(fold, groups.top_stack(index, |site| site.key.waker_stack)),
        ];
        Row { depth: 0, values }
    };
    let rows = groups.nodes.iter().enumerate().map(row).collect();
    let mut notes = notes(fold);
    notes.extend(sampling_note(fold));
    notes.extend(cut_note(cut));
    View { columns: columns_of(WAITS), rows, notes, ..View::default() }
}

fn without_fibers(columns: Vec<Column>) -> View {
    View { columns, notes: vec![say!(NO_FIBERS).into()], ..View::default() }
}

fn waiting_ns(weights: &Weights) -> u64 {
    weights.wait_ns().saturating_add(total(&weights.unknown))
}

/// Whether sums of `count` waits are exact, and how far off they are else: each has two ends, known to within the time between two
/// looks, and one that is shorter is seen by chance.
fn precision(fold: &Fold<'_>, count: u64) -> (Value, Value) {
    match fold.trace.manifest.fiber_interval_ns {
        0 => (Value::Text("yes".into()), Value::None),
        interval_ns => (Value::Text("no".into()), Value::Ns((interval_ns as f64 * (count as f64).sqrt()) as u64)),
    }
}

fn sampling_note(fold: &Fold<'_>) -> Option<Prose> {
    let interval_ns = fold.trace.manifest.fiber_interval_ns;
    (interval_ns > 0).then(|| say!(FIBERS_SAMPLED, interval = Word::Ns(interval_ns)).into())
}

fn kind_name(kind: u8) -> &'static str {
    match kind {
        1 => "goroutine",
        _ => "fiber",
    }
}
