//! The program's tasks: how many of each type, how long, and what their threads did in them.

use std::collections::BTreeMap;

use dwell_model::{TaskId, TaskKind, TaskTypeId};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::grouping::thread_label;
use dwell_query::engine::selection::TaskFilter;
use dwell_query::measure::distribution::Distribution;
use dwell_query::measure::lengths::Run;
use dwell_query::measure::metrics::{magnitude, value};
use dwell_query::measure::utilization::total;
use dwell_query::measure::weights::Weights;
use dwell_query::stacks::tasks::TaskNames;
use dwell_view::{Column, Prose, Row, Value, View};

use crate::sentences::say;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::cut_note;
use crate::tables::notes::notes;

columns! {
    /// Lengths of tasks or frames.
    LENGTHS;

    plain "mean_ns", "Mean", "Average length.",
        "平均", "長さの平均。";
    plain "p50_ns", "Median", "Half of them are not longer; right to 1 %.",
        "中央値", "半分はこれより長くない。誤差は 1 % 以内です。";
    plain "p99_ns", "99th Percentile", "99 % of them are not longer; right to 1 %.",
        "99 %", "99 % はこれより長くない。誤差は 1 % 以内です。";
    plain "max_ns", "Longest", "The longest.",
        "最長", "最も長いもの。";
    plain "min_ns", "Shortest", "The shortest.",
        "最短", "最も短いもの。";
}

columns! {
    /// What the report shows.
    COLUMNS;

    plain "task", "Task", "Name of the task.",
        "タスク", "タスクの名前。";
    plain "count", "Count", "How many began in the range.",
        "回数", "範囲内で始まった数。";
    plain "total_ns", "Task Time", "Sum of their lengths.",
        "合計時間", "長さの合計。";
    plain "share", "Share", "Part of the threads' time shown that was spent in them, nested ones included.",
        "割合", "表示しているスレッドの時間のうち、タスク内の割合。入れ子のタスクを含みます。";
    plain "cpu_ns", "CPU Time", "Time on a CPU in them, nested ones included.",
        "CPU 時間", "タスク内の CPU 時間。入れ子のタスクを含みます。";
    plain "wait_ns", "Wait Time", "Time blocked in them on objects.",
        "待機時間", "タスク内で、オブジェクトを待ってブロックした時間。";
    plain "spin_ns", "Spin Time", "CPU time burnt in them while logically waiting.",
        "スピン時間", "タスク内で、論理的には待機しながら消費した CPU 時間。";
    plain "preemption_ns", "Preemption Wait", "Time in the run queue in them.",
        "プリエンプション待機", "タスク内で実行キューにあった時間。";
    plain "self_ns", "Self Time", "All time in them outside of tasks nested in them.",
        "セルフ時間", "入れ子のタスクを除いた時間。";
}

columns! {
    /// The longest tasks one by one.
    ONE_BY_ONE;

    plain "task", "Task", "Name of the task; a frame's is its domain's.",
        "タスク", "タスクの名前。フレームではドメインの名前。";
    plain "length_ns", "Length", "From its begin to its end.",
        "長さ", "始まりから終わりまで。";
    plain "start_ns", "Start", "When it began, since the start of the collection.",
        "時刻", "始まった時刻。収集の開始からの時間。";
    plain "thread", "Thread", "Thread that began it.",
        "スレッド", "タスクを始めたスレッド。";
    plain "metadata", "Metadata", "What the program attached to it.",
        "メタデータ", "プログラムが付けたデータ。";
    detail "finished", "Finished", "Whether its end was seen.",
        "終了済み", "終わりが記録されたかどうか。";
    detail "kind", "Kind", "task, overlapped, region, frame, event or probe.",
        "種類", "タスク、重なるタスク、リージョン、フレーム、イベント、プローブのいずれか。";
}

columns! {
    /// What follows the lengths.
    DETAILS;

    plain "domain", "Domain", "Domain of the task.",
        "ドメイン", "タスクのドメイン。";
    detail "kind", "Kind", "task, overlapped, region, event or probe.",
        "種類", "タスク、重なるタスク、リージョン、イベント、プローブのいずれか。";
}

/// The lengths of the tasks of one type.
#[derive(Default)]
pub struct Lengths {
    /// How many began in the range.
    pub count: u64,
    /// The sum of their lengths, ns.
    pub total_ns: u64,
    /// The shortest and the longest, ns.
    pub bounds: Option<(u64, u64)>,
    /// Their lengths.
    pub lengths: Distribution,
}

impl Lengths {
    fn add(&mut self, ns: u64) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(ns);
        let (shortest, longest) = self.bounds.unwrap_or((ns, ns));
        self.bounds = Some((shortest.min(ns), longest.max(ns)));
        self.lengths.add(&Run::one(0, 0, ns));
    }

    /// Mean, median, 99th percentile, longest and shortest, as [`LENGTHS`] has them.
    pub fn cells(&self) -> Vec<Value> {
        let ns = |ns: Option<u64>| ns.map_or(Value::None, Value::Ns);
        vec![
            ns(self.total_ns.checked_div(self.count)),
            ns(self.lengths.quantile(0.5)),
            ns(self.lengths.quantile(0.99)),
            ns(self.bounds.map(|(_, longest)| longest)),
            ns(self.bounds.map(|(shortest, _)| shortest)),
        ]
    }
}

/// The lengths of the tasks of each type that began in the range and that filters of threads, processes and tasks let
/// through.
pub fn lengths(fold: &Fold<'_>) -> BTreeMap<TaskTypeId, Lengths> {
    let tasks = &fold.trace.annotations.tasks;
    let filter = TaskFilter::new(fold.trace, fold.query);
    let mut lengths: BTreeMap<TaskTypeId, Lengths> = BTreeMap::new();
    for (row, start) in tasks.start_ns.iter().enumerate() {
        if fold.sums.windows.contains(*start) && filter.takes(row) {
            lengths.entry(tasks.task_type[row]).or_default().add(tasks.end_ns[row].saturating_sub(*start));
        }
    }
    lengths
}

/// What threads did in tasks of each type, tasks nested in them included; and in their innermost task alone.
pub fn inside(fold: &Fold<'_>) -> BTreeMap<TaskTypeId, (Weights, Weights)> {
    let nesting = fold.trace.nesting();
    let mut sums: BTreeMap<TaskTypeId, (Weights, Weights)> = BTreeMap::new();
    for (_, site, weights) in fold.selected() {
        let mut around: Vec<TaskTypeId> = nesting.tasks(site.key.context).collect();
        if let Some(innermost) = around.first() {
            sums.entry(*innermost).or_default().1.add(&weights);
        }
        // A type in one of its own counts once.
        around.sort_unstable();
        around.dedup();
        around.into_iter().for_each(|task| sums.entry(task).or_default().0.add(&weights));
    }
    sums
}

/// All that a thread did, ns.
pub fn spent(weights: &Weights) -> u64 {
    let parts = [weights.cpu_ns(), weights.wait_ns(), total(&weights.unknown), total(&weights.runnable)];
    parts.into_iter().fold(0, u64::saturating_add)
}

/// The kind of a task type.
pub fn kind(fold: &Fold<'_>, task: TaskTypeId) -> TaskKind {
    let code = task.get().and_then(|row| fold.trace.annotations.task_types.kind.get(row)).copied();
    TaskKind::from_code(code.unwrap_or(0))
}

/// A row per task type, the one with the most time first.
pub fn tasks(fold: &Fold<'_>) -> View {
    let (lengths, inside) = (lengths(fold), inside(fold));
    let mut types: Vec<TaskTypeId> = lengths.keys().chain(inside.keys()).copied().collect();
    types.sort_unstable();
    types.dedup();
    types.retain(|task| !matches!(kind(fold, *task), TaskKind::Frame | TaskKind::Marker));
    let rank = |task: &TaskTypeId| match fold.query.sort {
        Some(metric) => inside.get(task).map_or(0.0, |(weights, _)| magnitude(&value(metric, weights))),
        None => lengths.get(task).map_or(0.0, |lengths| lengths.total_ns as f64),
    };
    types.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    let cut = fold.query.limit_rows(&mut types);
    let names = TaskNames::new(fold.trace);
    let whole = spent(fold.shown()).max(1) as f64;
    let row = |task: &TaskTypeId| {
        let nothing = Lengths::default();
        let of = lengths.get(task).unwrap_or(&nothing);
        let mut values = vec![Value::Text(names.name(*task)), Value::Count(of.count), Value::Ns(of.total_ns)];
        values.extend(inside_cells(inside.get(task), whole));
        values.extend(of.cells());
        let domain = task.get().and_then(|row| fold.trace.annotations.task_types.domain.get(row)).cloned();
        values.push(domain.map_or(Value::None, Value::Text));
        values.push(Value::Text(kind(fold, *task).id().into()));
        Row { depth: 0, values }
    };
    let rows: Vec<Row> = types.iter().map(row).collect();
    let mut notes = notes(fold);
    notes.extend(rows.is_empty().then(|| say!(NO_TASKS).into()));
    notes.extend(too_deep(fold));
    notes.extend(cut_note(cut));
    View { columns: columns(), rows, notes, ..View::default() }
}

fn too_deep(fold: &Fold<'_>) -> Option<Prose> {
    let count = fold.trace.nesting().too_deep;
    (count > 0).then(|| say!(TOO_DEEP, tasks = count).into())
}

/// Tasks that overlap others have no time of a thread.
fn inside_cells(sums: Option<&(Weights, Weights)>, whole: f64) -> Vec<Value> {
    let Some((inside, own)) = sums else { return vec![Value::None; 6] };
    vec![
        Value::Fraction(spent(inside) as f64 / whole),
        Value::Ns(inside.cpu_ns()),
        Value::Ns(inside.wait_ns()),
        Value::Ns(inside.spin_ns()),
        Value::Ns(total(&inside.runnable)),
        Value::Ns(spent(own)),
    ]
}

fn columns() -> Vec<Column> {
    let mut columns = columns_of(COLUMNS);
    columns.extend(columns_of(LENGTHS));
    columns.extend(columns_of(DETAILS));
    columns
}

/// Longest tasks shown, unless asked otherwise.
const LONGEST: usize = 50;

/// The longest tasks one by one, with what the program attached to them.
pub fn longest(fold: &Fold<'_>) -> View {
    let tasks = &fold.trace.annotations.tasks;
    let filter = TaskFilter::new(fold.trace, fold.query);
    let is_task = |row: &usize| !matches!(kind(fold, tasks.task_type[*row]), TaskKind::Marker);
    let wanted = |row: &usize| fold.sums.windows.contains(tasks.start_ns[*row]) && filter.takes(*row) && is_task(row);
    let mut rows: Vec<usize> = (0..tasks.start_ns.len()).filter(wanted).collect();
    let length = |row: usize| tasks.end_ns[row].saturating_sub(tasks.start_ns[row]);
    rows.sort_by_key(|row| (std::cmp::Reverse(length(*row)), *row));
    let cut = rows.len().saturating_sub(fold.query.limit.unwrap_or(LONGEST));
    rows.truncate(fold.query.limit.unwrap_or(LONGEST));
    let data = metadata(fold, &rows);
    let names = TaskNames::new(fold.trace);
    let row = |row: &usize| {
        let values = vec![
            Value::Text(names.name(tasks.task_type[*row])),
            Value::Ns(length(*row)),
            Value::Ns(tasks.start_ns[*row]),
            Value::Text(thread_label(fold, tasks.thread[*row])),
            data.get(row).map_or(Value::None, |text| Value::Text(text.clone())),
            Value::Text(if tasks.finished[*row] { "yes" } else { "no" }.into()),
            Value::Text(kind(fold, tasks.task_type[*row]).id().into()),
        ];
        Row { depth: 0, values }
    };
    let rows = rows.iter().map(row).collect();
    let mut notes = notes(fold);
    notes.extend(cut_note(cut));
    let columns = columns_of(ONE_BY_ONE);
    View { columns, rows, notes, ..View::default() }
}

/// Data of one task that are shown.
const MOST_DATA: usize = 16;

/// What was attached to these tasks, as text.
fn metadata(fold: &Fold<'_>, wanted: &[usize]) -> BTreeMap<usize, String> {
    let data = &fold.trace.annotations.task_metadata;
    let wanted: std::collections::BTreeSet<TaskId> = wanted.iter().map(|row| TaskId::new(*row)).collect();
    let mut texts: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (row, task) in data.task.iter().enumerate().filter(|(_, task)| wanted.contains(task)) {
        let texts = texts.entry(task.get().unwrap_or(0)).or_default();
        if texts.len() < MOST_DATA {
            let value = if data.text[row].is_empty() { data.number[row].to_string() } else { data.text[row].clone() };
            texts.push(format!("{} = {value}", data.key[row]));
        }
    }
    texts.into_iter().map(|(task, texts)| (task, texts.join(", "))).collect()
}
