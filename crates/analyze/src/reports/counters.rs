//! Counters: the values that the program gave them.

use dwell_model::{CounterId, CounterKind, ProcessId};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::selection::TaskFilter;
use dwell_view::{Row, Value, View};

use crate::sentences::say;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::cut_note;
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "counter", "Counter", "Name of the counter.",
        "カウンター", "カウンターの名前。";
    plain "count", "Count", "How often it was given a value.",
        "回数", "値が設定された回数。";
    plain "min", "Lowest", "The lowest value.",
        "最小", "最も小さい値。";
    plain "mean", "Mean", "Average of the values, each counted once however long it was kept.",
        "平均", "値の平均。保たれた長さにかかわらず 1 回ずつ数えます。";
    plain "max", "Highest", "The highest value.",
        "最大", "最も大きい値。";
    plain "last", "Last", "The last value.",
        "最後の値", "最後の値。";
    plain "rate", "Rate", "Of a counter that is added up, its change a second; else values a second.",
        "レート", "加算されるカウンターでは 1 秒あたりの変化、ほかは 1 秒あたりの値の数。";
    plain "process", "Process", "Process whose it is.",
        "プロセス", "カウンターのプロセス。";
    plain "domain", "Domain", "Domain of the counter.",
        "ドメイン", "カウンターのドメイン。";
    detail "unit", "Unit", "Unit of the values.",
        "単位", "値の単位。";
    detail "kind", "Kind", "set or sum: whether the program sets values or adds them up.",
        "種類", "プログラムが値を設定するか、加算するか。";
}

/// The values of one counter in the range.
#[derive(Default)]
struct Values {
    count: u64,
    sum: f64,
    bounds: Option<(f64, f64)>,
    /// The last value before the range; a counter that is added up begins at 0.
    before: f64,
    last: f64,
}

impl Values {
    fn add(&mut self, value: f64) {
        let (lowest, highest) = self.bounds.unwrap_or((value, value));
        self.bounds = Some((lowest.min(value), highest.max(value)));
        (self.count, self.sum, self.last) = (self.count + 1, self.sum + value, value);
    }

    fn rate(&self, kind: CounterKind, seconds: f64) -> f64 {
        let change = if kind == CounterKind::Sum { self.last - self.before } else { self.count as f64 };
        if seconds > 0.0 { change / seconds } else { 0.0 }
    }
}

/// A row per counter with values in the range, the one with the most first.
pub fn counters(fold: &Fold<'_>) -> View {
    let said = &fold.trace.annotations;
    let filter = TaskFilter::new(fold.trace, fold.query);
    let mut of: Vec<Values> = said.counters.name.iter().map(|_| Values::default()).collect();
    let values = &said.counter_values;
    for (row, time) in values.time_ns.iter().enumerate() {
        let Some(of) = values.counter[row].get().and_then(|counter| of.get_mut(counter)) else { continue };
        if fold.sums.windows.contains(*time) && filter.takes_thread_at(values.thread[row], *time) {
            of.add(values.value[row]);
        } else if of.count == 0 {
            of.before = values.value[row];
        }
    }
    let mut ids: Vec<usize> = (0..of.len()).filter(|id| of[*id].count > 0).collect();
    ids.sort_by_key(|id| std::cmp::Reverse(of[*id].count));
    let cut = fold.query.limit_rows(&mut ids);
    let seconds = fold.sums.windows.length_ns() as f64 / 1e9;
    let row = |id: usize| {
        let (values, kind) = (&of[id], CounterKind::from_code(said.counters.kind[id]));
        let (lowest, highest) = values.bounds.unwrap_or_default();
        let text = |text: &str| if text.is_empty() { Value::None } else { Value::Text(text.to_owned()) };
        let cells = vec![
            Value::Text(name(fold, CounterId::new(id))),
            Value::Count(values.count),
            Value::Real(lowest),
            Value::Real(values.sum / values.count.max(1) as f64),
            Value::Real(highest),
            Value::Real(values.last),
            Value::Real(values.rate(kind, seconds)),
            text(&process_label(fold, said.counters.process[id])),
            text(&said.counters.domain[id]),
            text(&said.counters.unit[id]),
            Value::Text(kind.id().into()),
        ];
        Row { depth: 0, values: cells }
    };
    let rows: Vec<Row> = ids.into_iter().map(row).collect();
    let mut notes = notes(fold);
    notes.extend(rows.is_empty().then(|| say!(NO_COUNTERS).into()));
    notes.extend(cut_note(cut));
    let columns = columns_of(COLUMNS);
    View { columns, rows, notes, ..View::default() }
}

/// Name of a counter.
pub fn name(fold: &Fold<'_>, counter: CounterId) -> String {
    counter.get().and_then(|row| fold.trace.annotations.counters.name.get(row)).cloned().unwrap_or_default()
}

fn process_label(fold: &Fold<'_>, process: ProcessId) -> String {
    let processes = &fold.trace.processes;
    let row = process.get().filter(|row| *row < processes.pid.len());
    row.map(|row| format!("{} ({})", processes.name[row], processes.pid[row])).unwrap_or_default()
}
