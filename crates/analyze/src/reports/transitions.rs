//! Transitions: who woke whom, from where, through which object, and how long the woken thread then queued for a CPU.

use dwell_model::{ObjectId, StackId, ThreadId, WakerKind};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::grouping::thread_label;
use dwell_query::measure::site::Site;
use dwell_query::measure::utilization::total;
use dwell_store::WordMap;
use dwell_view::{Row, Value, View};

use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::{cut_note, stack_value};
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "waker", "Waker", "Who ended the wait.",
        "起床元", "待機を終わらせたスレッド、タイマー、ネットワーク。";
    plain "waker_function", "Waker Function", "Function from which it did.",
        "起床元の関数", "待機を終わらせた関数。";
    plain "woken", "Woken Thread", "Who had waited.",
        "起床したスレッド", "待機していたスレッド。";
    plain "object", "Sync Object", "What it had waited on.",
        "同期オブジェクト", "待機の対象。";
    plain "type", "Object Type", "Type of what it had waited on.",
        "オブジェクト・タイプ", "待機の対象の種類。";
    plain "wait_count", "Count", "How many waits were ended so.",
        "待機カウント", "このように終わった待機の数。";
    plain "wait_ns", "Wait Time", "Time of these waits.",
        "待機時間", "これらの待機の時間。";
    plain "delay_ns", "Scheduling Delay", "Time that the woken thread then queued for a CPU.",
        "スケジュール遅延", "起床したスレッドがその後 CPU を待った時間。";
    plain "mean_delay_ns", "Mean Delay", "Scheduling delay of one wake-up.",
        "平均スケジュール遅延", "1 回の起床あたりのスケジュール遅延。";
    detail "waker_stack", "Waker Stack", "Where the waker was, leaf first.",
        "起床元スタック", "起床元がいた場所。末端の関数から順に示します。";
}

/// What is told of the waits that were ended alike.
#[derive(Clone, Copy, Default)]
struct TransitionSums {
    wait_ns: u64,
    wait_count: u64,
    delay_ns: u64,
}

/// One row per waker, its place, woken thread and object; the most wait time first.
pub fn transitions(fold: &Fold<'_>) -> View {
    type Key = (u8, ThreadId, StackId, ThreadId, ObjectId);
    let mut sums: WordMap<Key, TransitionSums> = WordMap::default();
    for (_, site, weights) in fold.selected_if(Site::is_wait) {
        let key = &site.key;
        let key = (key.waker_kind, key.waker, fold.sums.stacks.shown(key.waker_stack), key.thread, key.object);
        let sum = sums.entry(key).or_default();
        sum.wait_ns = sum.wait_ns.saturating_add(weights.wait_ns());
        sum.wait_count += weights.wait_count;
        sum.delay_ns = sum.delay_ns.saturating_add(total(&weights.runnable));
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable_by_key(|(key, sums)| (std::cmp::Reverse((sums.wait_ns, sums.wait_count)), *key));
    let cut = fold.query.limit_rows(&mut sums);
    let row = |((kind, waker, stack, woken, object), sums): &(Key, TransitionSums)| {
        let waker = match WakerKind::from_code(*kind) {
            WakerKind::Thread => thread_label(fold, *waker),
            kind => format!("[{}]", kind.id()),
        };
        let function = fold.sums.stacks.names(*stack).into_iter().next();
        Row {
            depth: 0,
            values: vec![
                Value::Text(waker),
                function.map_or(Value::None, Value::Text),
                Value::Text(thread_label(fold, *woken)),
                Value::Text(fold.object_name(*object).to_owned()),
                Value::Text(fold.object_type(*object).id().to_owned()),
                Value::Count(sums.wait_count),
                Value::Ns(sums.wait_ns),
                Value::Ns(sums.delay_ns),
                sums.delay_ns.checked_div(sums.wait_count).map_or(Value::None, Value::Ns),
                stack_value(fold, *stack),
            ],
        }
    };
    let rows = sums.iter().map(row).collect();
    let mut notes = notes(fold);
    notes.extend(cut_note(cut));
    View { columns: columns_of(COLUMNS), rows, notes, ..View::default() }
}
