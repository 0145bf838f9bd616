//! Probes with values (`--probe`): how often each was hit, and what its values were. Exact: every hit counts, and the losses say how
//! many are missing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use dwell_model::{MarkerValueKind, TaskKind, TaskTypeId, ThreadId};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::selection::TaskFilter;
use dwell_query::stacks::tasks::TaskNames;
use dwell_view::{Row, Value, View};

use crate::reports::tasks::kind;
use crate::sentences::say;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::cut_note;
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "probe", "Probe", "Name of the probe.",
        "プローブ", "プローブの名前。";
    plain "hits", "Hits", "How often threads came to it, in the whole collection; empty where the probe has a condition and only a part of the collection is asked for.",
        "通過回数", "収集全体でスレッドが通過した回数。条件付きのプローブで収集の一部だけを見る場合は空です。";
    plain "passed", "Passed", "Hits that met the probe's condition, or all where it has none; the other columns are of these.",
        "条件成立", "プローブの条件を満たした通過。条件がなければすべて。ほかの列はこの通過についてです。";
    plain "threads", "Threads", "How many threads passed it.",
        "スレッド", "通過したスレッドの数。";
    plain "value", "Value", "Name of the value; empty for a probe without values.",
        "値", "値の名前。値のないプローブでは空です。";
    plain "faulted", "Faulted", "Hits at which the value could not be read; they are in none of the numbers.",
        "読み取り失敗", "値を読み取れなかった通過。ほかの数値には含まれません。";
    plain "min", "Least", "The least number.",
        "最小", "最小の値。";
    plain "median", "Median", "Half of the numbers are not greater: the lower of the two in the middle.",
        "中央値", "半分はこれより大きくない。中央の 2 つのうち小さい方です。";
    plain "max", "Greatest", "The greatest number.",
        "最大", "最大の値。";
    plain "sum", "Sum", "The sum of the numbers.",
        "合計", "値の合計。";
    plain "frequent", "Most Frequent", "The most frequent texts, and how often each came.",
        "頻度の高い値", "頻度の高い文字列とその回数。";
}

/// Texts of a value that are shown.
const MOST_FREQUENT: usize = 5;

/// What a value was at the hits.
#[derive(Default)]
struct ValueSums<'t> {
    faulted: u64,
    numbers: Vec<i128>,
    is_hex: bool,
    texts: HashMap<&'t str, u64>,
}

/// The hits of a probe.
#[derive(Default)]
struct ProbeSums<'t> {
    hits: u64,
    threads: BTreeSet<ThreadId>,
    /// The values in the order in which the probe reads them.
    values: Vec<(&'t str, ValueSums<'t>)>,
}

impl<'t> ProbeSums<'t> {
    fn value(&mut self, key: &'t str) -> &mut ValueSums<'t> {
        let known = self.values.iter().position(|(name, _)| *name == key);
        let at = known.unwrap_or_else(|| {
            self.values.push((key, ValueSums::default()));
            self.values.len() - 1
        });
        &mut self.values[at].1
    }
}

impl<'t> ValueSums<'t> {
    fn add(&mut self, kind: MarkerValueKind, bits: u64, text: &'t str) {
        match kind {
            MarkerValueKind::Unsigned => self.numbers.push(bits.into()),
            MarkerValueKind::Signed => self.numbers.push(bits.cast_signed().into()),
            MarkerValueKind::Hex => {
                self.is_hex = true;
                self.numbers.push(bits.into());
            }
            MarkerValueKind::Text => *self.texts.entry(text).or_default() += 1,
            MarkerValueKind::Faulted | MarkerValueKind::Unknown => self.faulted += 1,
        }
    }

    /// Least, median, greatest, sum, most frequent texts.
    fn cells(&mut self) -> [Value; 5] {
        self.numbers.sort_unstable();
        let shown = |number: Option<&i128>| number.map_or(Value::None, |number| self.shown(*number));
        let middle = self.numbers.get(self.numbers.len().saturating_sub(1) / 2);
        let sum: i128 = self.numbers.iter().sum();
        let has_sum = !self.numbers.is_empty() && !self.is_hex;
        [
            shown(self.numbers.first()),
            shown(middle),
            shown(self.numbers.last()),
            if has_sum { self.shown(sum) } else { Value::None },
            self.frequent(),
        ]
    }

    fn shown(&self, number: i128) -> Value {
        match (self.is_hex, u64::try_from(number), i64::try_from(number)) {
            (true, Ok(number), _) => Value::Text(format!("{number:#x}")),
            (_, Ok(number), _) => Value::Count(number),
            (_, _, Ok(number)) => Value::CountChange(number),
            _ => Value::Real(number as f64),
        }
    }

    fn frequent(&self) -> Value {
        let mut texts: Vec<(&str, u64)> = self.texts.iter().map(|(text, count)| (*text, *count)).collect();
        texts.sort_unstable_by_key(|(text, count)| (Reverse(*count), *text));
        let more = texts.len().saturating_sub(MOST_FREQUENT);
        let mut shown: Vec<String> =
            texts.iter().take(MOST_FREQUENT).map(|(text, count)| format!("{text:?} {count}")).collect();
        shown.extend((more > 0).then(|| format!("{more} more")));
        if shown.is_empty() { Value::None } else { Value::Text(shown.join(", ")) }
    }
}

/// The hits of each probe in the range, by threads that filters let through.
fn sums<'t>(fold: &'t Fold<'_>) -> BTreeMap<TaskTypeId, ProbeSums<'t>> {
    let (markers, values) = (&fold.trace.annotations.markers, &fold.trace.annotations.marker_values);
    let filter = TaskFilter::new(fold.trace, fold.query);
    let takes = |thread: ThreadId, time: u64| fold.sums.windows.contains(time) && filter.takes_thread_at(thread, time);
    let mut sums: BTreeMap<TaskTypeId, ProbeSums<'t>> = BTreeMap::new();
    for (row, &time) in markers.time_ns.iter().enumerate() {
        let (task_type, thread) = (markers.task_type[row], markers.thread[row]);
        if kind(fold, task_type) == TaskKind::ProbeHit && takes(thread, time) {
            let of = sums.entry(task_type).or_default();
            of.hits += 1;
            of.threads.insert(thread);
        }
    }
    for (row, &time) in values.time_ns.iter().enumerate() {
        if takes(values.thread[row], time)
            && let Some(of) = sums.get_mut(&values.task_type[row])
        {
            let kind = MarkerValueKind::from_code(values.kind[row]);
            of.value(&values.key[row]).add(kind, values.bits[row], &values.text[row]);
        }
    }
    sums
}

/// A row per value of each probe, the probe with the most hits first; one that nobody hit is there, too.
pub fn probes(fold: &Fold<'_>) -> View {
    let names = TaskNames::new(fold.trace);
    let mut found: Vec<(String, ProbeSums<'_>)> =
        sums(fold).into_iter().map(|(task_type, sums)| (names.name(task_type), sums)).collect();
    let is_part = fold.query.is_filtered() || fold.query.is_cut();
    for probe in &fold.trace.manifest.probes {
        if !found.iter().any(|(name, _)| *name == probe.name) {
            let values = probe.values.iter().map(|name| (name.as_str(), ValueSums::default())).collect();
            found.push((probe.name.clone(), ProbeSums { values, ..ProbeSums::default() }));
        }
    }
    found.sort_by_key(|(_, sums)| Reverse(sums.hits));
    let hits = |name: &str, passed: u64| match fold.trace.manifest.probes.iter().find(|probe| probe.name == name) {
        // Nobody knows when the others came, or in which threads.
        Some(probe) if is_part && !probe.condition.is_empty() => Value::None,
        Some(probe) => Value::Count(passed.saturating_add(probe.rejected)),
        None => Value::Count(passed),
    };
    let rows = found.into_iter().flat_map(|(name, sums)| rows_of(&name, &hits(&name, sums.hits), sums));
    let mut rows: Vec<Row> = rows.collect();
    let cut = fold.query.limit_rows(&mut rows);
    let mut notes = notes(fold);
    notes.extend(rows.is_empty().then(|| say!(NO_PROBES).into()));
    notes.extend(cut_note(cut));
    View { columns: columns_of(COLUMNS), rows, notes, ..View::default() }
}

fn rows_of(name: &str, hits: &Value, mut sums: ProbeSums<'_>) -> Vec<Row> {
    let (passed, threads) = (Value::Count(sums.hits), Value::Count(sums.threads.len() as u64));
    let begin = [Value::Text(name.to_owned()), hits.clone(), passed, threads];
    let row = |rest: Vec<Value>| Row { depth: 0, values: begin.iter().cloned().chain(rest).collect() };
    if sums.values.is_empty() {
        return vec![row(vec![Value::None; 7])];
    }
    let of_value = |(name, sums): &mut (&str, ValueSums<'_>)| {
        let mut cells = vec![Value::Text((*name).to_owned()), Value::Count(sums.faulted)];
        cells.extend(sums.cells());
        row(cells)
    };
    sums.values.iter_mut().map(of_value).collect()
}
