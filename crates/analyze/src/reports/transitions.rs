//! Transitions: who woke whom, from where, through which object, and how long the woken thread then queued for a CPU.

use std::collections::HashMap;

use dwell_model::{ObjectId, StackId, ThreadId, WakerKind};

use super::grouped::{cut_note, detail, plain, stack_value};
use super::notes::notes;
use crate::fold::{Fold, Weights};
use crate::grouping::thread_label;
use crate::metrics::total;
use crate::view::{Column, Row, Value, View};

/// One row per waker, its place, woken thread and object; the most wait time first.
pub fn transitions(fold: &Fold<'_>) -> View {
    type Key = (u8, ThreadId, StackId, ThreadId, ObjectId);
    let mut sums: HashMap<Key, Weights> = HashMap::new();
    for (_, site, weights) in fold.selected().filter(|(_, site, _)| site.is_wait()) {
        let key = &site.key;
        let key = (key.waker_kind, key.waker, fold.stacks.shown(key.waker_stack), key.thread, key.object);
        sums.entry(key).or_default().add(&weights);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(key, weights)| (std::cmp::Reverse((weights.wait_ns(), weights.wait_count)), *key));
    let limit = fold.query.limit.unwrap_or(usize::MAX);
    let cut = sums.len().saturating_sub(limit);
    sums.truncate(limit);
    let row = |((kind, waker, stack, woken, object), weights): &(Key, Weights)| {
        let waker = match WakerKind::from_code(*kind) {
            WakerKind::Thread => thread_label(fold, *waker),
            kind => format!("[{}]", kind.id()),
        };
        let function = fold.stacks.names(*stack).into_iter().next();
        let delay = total(&weights.runnable);
        Row {
            depth: 0,
            values: vec![
                Value::Text(waker),
                function.map_or(Value::None, Value::Text),
                Value::Text(thread_label(fold, *woken)),
                Value::Text(fold.object_name(*object).to_owned()),
                Value::Text(fold.object_type(*object).id().to_owned()),
                Value::Count(weights.wait_count),
                Value::Ns(weights.wait_ns()),
                Value::Ns(delay),
                delay.checked_div(weights.wait_count).map_or(Value::None, Value::Ns),
                stack_value(fold, *stack),
            ],
        }
    };
    let rows = sums.iter().map(row).collect();
    let mut notes = notes(fold);
    notes.extend(cut_note(cut));
    View { columns: columns(), rows, notes, ..View::default() }
}

fn columns() -> Vec<Column> {
    vec![
        plain("waker", "Waker", "Who ended the wait."),
        plain("waker_function", "Waker Function", "Function from which it did."),
        plain("woken", "Woken Thread", "Who had waited."),
        plain("object", "Sync Object", "What it had waited on."),
        plain("type", "Object Type", "Type of what it had waited on."),
        plain("wait_count", "Count", "How many waits were ended so."),
        plain("wait_ns", "Wait Time", "Time of these waits."),
        plain("delay_ns", "Scheduling Delay", "Time that the woken thread then queued for a CPU."),
        plain("mean_delay_ns", "Mean Delay", "Scheduling delay of one wake-up."),
        detail("waker_stack", "Waker Stack", "Where the waker was, leaf first."),
    ]
}
