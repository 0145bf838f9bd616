//! Events that the CPU or the kernel counted (`--events`): how many of each in each group of threads, and what two of them make.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use dwell_query::engine::fold::Fold;
use dwell_view::{Prose, Row, Value, View};

use crate::reports::threads::process_of;
use crate::sentences::say;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::cut_note;
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "process", "Process", "Name of the process.",
        "プロセス", "プロセスの名前。";
    plain "thread", "Thread", "Name of the threads: those of one name in one process are summed.",
        "スレッド", "スレッドの名前。同じプロセスの同じ名前のスレッドは合計されます。";
    plain "threads", "Threads", "How many threads these are.",
        "スレッド", "該当するスレッドの数。";
    plain "event", "Event", "What was counted, as --events names it.",
        "イベント", "数えた対象。";
    plain "count", "Count", "How often it occurred while the threads ran; estimated where running_ns is less than enabled_ns.",
        "回数", "スレッドの実行中に発生した回数。CPU のカウンターを共有した場合は推定値です。";
    plain "per_s", "Per Second", "Count by second of running.",
        "毎秒", "実行 1 秒あたりの回数。";
    plain "ratio", "Ratio", "Of instructions: by cycle; of cache-misses: by cache reference; of branch-misses: by branch.",
        "比率", "命令はサイクルあたり、キャッシュ・ミスはキャッシュ参照あたり、分岐予測ミスは分岐あたり。";
    detail "enabled_ns", "Enabled", "How long the threads ran while the event was to be counted.",
        "有効な時間", "イベントを数えるはずだった間のスレッドの実行時間。";
    detail "running_ns", "Counted Time", "The part of it in which the event was counted; less where events share a counter of the CPU.",
        "計測した時間", "そのうちイベントを実際に数えた時間。CPU のカウンターを共有すると短くなります。";
}

/// Which event is divided by which.
const RATIOS: &[(&str, &str)] =
    &[("instructions", "cycles"), ("cache-misses", "cache-references"), ("branch-misses", "branches")];

/// Process, name of the threads.
type Group = (Option<usize>, String);

/// What the threads of a group counted of an event.
#[derive(Clone, Copy, Default)]
struct Counted {
    threads: u64,
    count: u64,
    enabled_ns: u64,
    running_ns: u64,
}

impl Counted {
    fn add(&mut self, count: u64, enabled_ns: u64, running_ns: u64) {
        self.threads += 1;
        self.count = self.count.saturating_add(count);
        self.enabled_ns = self.enabled_ns.saturating_add(enabled_ns);
        self.running_ns = self.running_ns.saturating_add(running_ns);
    }
}

/// A row per group of threads and event: the group that ran longest first, events in the order in which they were asked for.
pub fn events(fold: &Fold<'_>) -> View {
    let groups = groups(fold);
    let mut order: Vec<&Group> = groups.keys().collect();
    let ran_ns = |group: &&Group| groups[*group].values().map(|counted| counted.enabled_ns).max().unwrap_or(0);
    order.sort_by_key(|group| Reverse(ran_ns(group)));
    let events = &fold.trace.manifest.counted_events;
    let place = |event: &str| events.iter().position(|it| it == event).unwrap_or(events.len());
    let mut rows = Vec::new();
    for group in order {
        let mut of_group: Vec<&str> = groups[group].keys().copied().collect();
        of_group.sort_by_key(|event| place(event));
        rows.extend(of_group.into_iter().map(|event| row(fold, group, event, &groups[group])));
    }
    let cut = fold.query.limit_rows(&mut rows);
    let mut notes = notes(fold);
    notes.extend(not_counted(fold));
    notes.extend(whole_time(fold));
    notes.extend(cut_note(cut));
    View { columns: columns_of(COLUMNS), rows, notes, ..View::default() }
}

type ByEvent<'t> = BTreeMap<&'t str, Counted>;

/// The counts of all threads that the filters let through.
fn groups<'t>(fold: &Fold<'t>) -> BTreeMap<Group, ByEvent<'t>> {
    let counts = &fold.trace.event_counts;
    let shown = shown(fold);
    let mut groups: BTreeMap<Group, ByEvent<'t>> = BTreeMap::new();
    for (row, thread) in counts.thread.iter().enumerate() {
        let Some(name) = thread.get().filter(|thread| shown[*thread]).map(|thread| &fold.trace.threads.name[thread])
        else {
            continue;
        };
        let group = groups.entry((process_of(fold, *thread), name.clone())).or_default();
        let counted = group.entry(counts.event[row].as_str()).or_default();
        counted.add(counts.count[row], counts.enabled_ns[row], counts.running_ns[row]);
    }
    groups
}

/// Which threads are shown: under a filter those of which something passes.
fn shown(fold: &Fold<'_>) -> Vec<bool> {
    let mut shown = vec![!fold.query.is_filtered(); fold.trace.threads.tid.len()];
    if fold.query.is_filtered() {
        for (_, site, _) in fold.selected() {
            if let Some(shown) = site.key.thread.get().and_then(|thread| shown.get_mut(thread)) {
                *shown = true;
            }
        }
    }
    shown
}

fn row(fold: &Fold<'_>, (process, name): &Group, event: &str, of_group: &ByEvent<'_>) -> Row {
    let counted = of_group[event];
    let process = process.and_then(|process| fold.trace.processes.name.get(process));
    let per_s = (counted.enabled_ns > 0).then(|| counted.count as f64 * 1e9 / counted.enabled_ns as f64);
    let values = vec![
        process.map_or(Value::None, |name| Value::Text(name.clone())),
        Value::Text(name.clone()),
        Value::Count(counted.threads),
        Value::Text(event.to_owned()),
        if counted.running_ns == 0 { Value::None } else { Value::Count(counted.count) },
        per_s.filter(|_| counted.running_ns > 0).map_or(Value::None, Value::Real),
        ratio(event, of_group).map_or(Value::None, Value::Real),
        Value::Ns(counted.enabled_ns),
        Value::Ns(counted.running_ns),
    ];
    Row { depth: 0, values }
}

/// The event by the one that it is a part of, where both were counted, and in the same code (`:u`, `:k`).
fn ratio(event: &str, of_group: &ByEvent<'_>) -> Option<f64> {
    let (name, modifier) = match event.rsplit_once(':') {
        Some((name, modifier)) => (name, format!(":{modifier}")),
        None => (event, String::new()),
    };
    let (_, whole) = RATIOS.iter().find(|(part, _)| *part == name)?;
    let (part, whole) = (of_group.get(event)?, of_group.get(format!("{whole}{modifier}").as_str())?);
    (whole.count > 0 && part.running_ns > 0).then(|| part.count as f64 / whole.count as f64)
}

/// How events get into a result, for one without.
fn not_counted(fold: &Fold<'_>) -> Option<Prose> {
    fold.trace.manifest.counted_events.is_empty().then(|| say!(EVENTS_NOT_COUNTED).into())
}

/// What ranges cannot cut.
fn whole_time(fold: &Fold<'_>) -> Option<Prose> {
    let has_counts = !fold.trace.event_counts.thread.is_empty();
    (has_counts && (fold.query.is_cut() || fold.query.is_filtered())).then(|| say!(EVENTS_WHOLE).into())
}
