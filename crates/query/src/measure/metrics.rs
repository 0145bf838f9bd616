//! The metric table: the one place from which columns, JSON fields and documentation are made.

use dwell_model::{Better, Collector, MetricDef, Unit};
use dwell_view::{Column, Value};

use crate::measure::utilization::total;
use crate::measure::weights::Weights;

/// Declares the metrics and, beside each, how it is computed from weights.
macro_rules! metrics {
    ($($id:literal, $title:literal, $unit:ident, $additive:literal, $better:ident, $collector:ident,
        $short:literal, $long:literal, $japanese_title:literal, $japanese_help:literal, $value:expr;)*) => {
        /// Every metric.
        pub static METRICS: &[MetricDef] = &[$(MetricDef {
            id: $id,
            title: $title,
            unit: Unit::$unit,
            additive: $additive,
            better: Better::$better,
            collector: Collector::$collector,
            short_help: $short,
            long_help: $long,
            japanese_title: $japanese_title,
            japanese_help: $japanese_help,
        },)*];

        /// Columns of a comparison for each of [`METRICS`], in the same order: first, second, difference, ratio.
        static COMPARED: &[[(&str, &str); 4]] = &[$([
            (concat!($id, "_first"), concat!($title, ": First")),
            (concat!($id, "_second"), concat!($title, ": Second")),
            (concat!($id, "_difference"), concat!($title, ": Difference")),
            (concat!($id, "_ratio"), concat!($title, ": Ratio")),
        ],)*];

        /// The values of [`METRICS`], in the same order.
        static VALUES: &[fn(&Weights) -> Value] = &[$($value,)*];
    };
}

metrics! {
    "cpu_ns", "CPU Time", Ns, true, Neither, Switches,
        "Time on a CPU.",
        "Sum over threads of running time, from context switches; split over code by samples.",
        "CPU 時間", "スレッドが CPU 上で実行された時間の合計。コンテキスト・スイッチから正確に求め、コードにはサンプルで配分します。",
        |w| Value::Ns(w.cpu_ns());
    "cpu_by_class", "CPU Time by Utilization", Ns, true, Neither, Switches,
        "CPU time by the number of threads that ran meanwhile.",
        "CPU Time, cut where the number of running threads changes its class: idle, poor, ok, ideal, over.",
        "CPU 時間 (利用率別)", "実行中のスレッド数の区分 (アイドル、低い、OK、理想的、過剰) が変わる点で分割した CPU 時間。",
        |w| Value::ByClass(w.cpu());
    "effective_ns", "Effective Time", Ns, true, Neither, Samples,
        "CPU time that did the program's work.",
        "CPU Time without Spin Time and Overhead Time.",
        "有効時間", "スピン時間とオーバーヘッド時間を除いた CPU 時間。",
        |w| Value::Ns(total(&w.effective));
    "effective_by_class", "Effective Time by Utilization", Ns, true, Neither, Samples,
        "Effective time by the number of threads that ran meanwhile.",
        "Effective Time, cut where the number of running threads changes its class.",
        "有効時間 (利用率別)", "実行中のスレッド数の区分が変わる点で分割した有効時間。",
        |w| Value::ByClass(w.effective);
    "spin_ns", "Spin Time", Ns, true, Lower, Samples,
        "CPU time burnt while logically waiting.",
        "CPU Time in functions that spin, by the table of patterns per runtime, and within waits that the program \
         announced.",
        "スピン時間", "論理的には待機しながら消費した CPU 時間。ランタイムごとのパターン表で判定します。",
        |w| Value::Ns(w.spin_ns());
    "spin_imbalance_ns", "Imbalance or Serial Spinning", Ns, true, Lower, Samples,
        "Spin time of threads without work.",
        "Spin Time at barriers and in schedulers that have no work for the thread.",
        "インバランスまたはシリアルスピン", "仕事のないスレッドがバリアーやスケジューラーでスピンした時間。",
        |w| Value::Ns(w.spin[0]);
    "spin_lock_ns", "Lock Contention", Ns, true, Lower, Samples,
        "Spin time for locks.",
        "Spin Time in functions that acquire a lock.",
        "ロック競合", "ロックを取得する関数でスピンした時間。",
        |w| Value::Ns(w.spin[1]);
    "spin_other_ns", "Other Spinning", Ns, true, Lower, Samples,
        "Spin time of other kinds.",
        "Spin Time that is neither for a lock nor for want of work.",
        "その他のスピン", "ロック以外、仕事待ち以外のスピン時間。",
        |w| Value::Ns(w.spin[2]);
    "overhead_ns", "Overhead Time", Ns, true, Lower, Samples,
        "CPU time of the threading runtime.",
        "CPU Time in functions of threading runtimes, by the table of patterns per runtime.",
        "オーバーヘッド時間", "スレッド化ランタイムの関数で消費した CPU 時間。",
        |w| Value::Ns(w.overhead_ns());
    "overhead_creation_ns", "Creation", Ns, true, Lower, Samples,
        "Overhead of creating threads and tasks.",
        "Overhead Time in functions that create threads or tasks.",
        "作成", "スレッドやタスクを作成する関数のオーバーヘッド時間。",
        |w| Value::Ns(w.overhead[0]);
    "overhead_scheduling_ns", "Scheduling", Ns, true, Lower, Samples,
        "Overhead of distributing work.",
        "Overhead Time in functions that distribute work, wait or wake.",
        "スケジュール", "仕事を分配し、待機し、起床させる関数のオーバーヘッド時間。",
        |w| Value::Ns(w.overhead[1]);
    "overhead_reduction_ns", "Reduction", Ns, true, Lower, Samples,
        "Overhead of reductions.",
        "Overhead Time in functions that combine the threads' results.",
        "リダクション", "スレッドの結果をまとめる関数のオーバーヘッド時間。",
        |w| Value::Ns(w.overhead[2]);
    "overhead_atomics_ns", "Atomics", Ns, true, Lower, Samples,
        "Overhead of atomic operations.",
        "Overhead Time in functions that take or release locks, or are atomic operations.",
        "アトミック", "ロックの取得・解放やアトミック操作の関数のオーバーヘッド時間。",
        |w| Value::Ns(w.overhead[3]);
    "overhead_other_ns", "Other Overhead", Ns, true, Lower, Samples,
        "Overhead of other kinds.",
        "Overhead Time other than creation, scheduling, reduction and atomics.",
        "その他のオーバーヘッド", "作成、スケジュール、リダクション、アトミック以外のオーバーヘッド時間。",
        |w| Value::Ns(w.overhead[4]);
    "wait_ns", "Wait Time", Ns, true, Lower, Switches,
        "Time blocked on the object.",
        "Time blocked in a call that waits on an object, per thread: the total may exceed Elapsed Time. The time in the \
         run queue after the wake-up is Preemption Wait.",
        "待機時間", "オブジェクトを待つ呼び出しでブロックした時間。スレッドごとに数えるため、合計は経過時間を超えることがあります。起床後に実行キューにいた時間はプリエンプション待機です。",
        |w| Value::Ns(total(&w.wait));
    "wait_count", "Wait Count", Count, true, Lower, Switches,
        "Number of waits.",
        "Number of waits that began in the range or were under way when it began. Acquisitions without waiting cost nothing to trace and are not counted.",
        "待機カウント", "範囲内で始まった待機と、範囲の始まりで続いていた待機の数。待たずに取得できたロックは記録されないため数えません。",
        |w| Value::Count(w.wait_count);
    "wait_rate_ns", "Wait Rate", NsPerCount, false, Higher, Switches,
        "Average length of a wait.",
        "Wait Time / Wait Count. Waits below 0.3 ms may be too fine-grained.",
        "待機レート", "待機時間 / 待機カウント。0.3 ms 未満の待機は細かすぎる可能性があります。",
        |w| total(&w.wait).checked_div(w.wait_count).map_or(Value::None, Value::Ns);
    "wait_poor_ns", "Wait Time with poor CPU Utilization", Ns, true, Lower, Switches,
        "Wait time while few threads ran.",
        "The Idle and Poor part of Wait Time: the default ranking of objects.",
        "CPU 利用率が低い待機時間", "待機時間のうちアイドルと低いの部分。オブジェクトの既定の順位です。",
        |w| Value::Ns(w.wait_poor_ns());
    "wait_by_class", "Wait Time by Utilization", Ns, true, Lower, Switches,
        "Wait time by the number of threads that ran meanwhile.",
        "Wait Time, cut where the number of running threads changes its class: idle, poor, ok, ideal, over.",
        "待機時間 (利用率別)", "実行中のスレッド数の区分が変わる点で分割した待機時間。",
        |w| Value::ByClass(w.wait);
    "idle_ns", "Idle Wait Time", Ns, true, Neither, Switches,
        "Part of the wait time of idle workers.",
        "Wait Time of workers without work, by the table of patterns: a pool's thread, an accept or event loop.",
        "アイドル待機時間", "仕事のないワーカーの待機時間 (プールのスレッド、accept ループ、イベントループ)。",
        |w| Value::Ns(total(&w.idle));
    "max_wait_ns", "Longest Wait", Ns, false, Lower, Switches,
        "The longest wait.",
        "Length of the longest wait that is counted in the range, with its part outside of it.",
        "最長の待機", "範囲内で数えた最も長い待機の長さ (範囲外の部分を含む)。",
        |w| Value::Ns(w.max_wait_ns);
    "unknown_ns", "Unknown Off-CPU Time", Ns, true, Lower, Switches,
        "Time off the CPU whose reason the trace does not say.",
        "Blocked time with an unknown reason: the trace begins inside it, or records were lost. Not part of Wait Time.",
        "不明な CPU 外時間", "理由が不明なブロック時間。トレースがその途中から始まったか、記録が失われました。待機時間には含みません。",
        |w| Value::Ns(total(&w.unknown));
    "preemption_ns", "Preemption Wait", Ns, true, Lower, Switches,
        "Time in the run queue.",
        "Time runnable but not running: after preemption, and after a wake-up until the thread ran (Scheduling Delay).",
        "プリエンプション待機", "実行可能だが実行されていない時間。プリエンプションの後、および起床から実行まで (スケジュール遅延)。",
        |w| Value::Ns(total(&w.runnable));
    "preemption_by_class", "Preemption Wait by Utilization", Ns, true, Lower, Switches,
        "Time in the run queue by the number of threads that ran meanwhile.",
        "Preemption Wait, cut where the number of running threads changes its class.",
        "プリエンプション待機 (利用率別)", "実行中のスレッド数の区分が変わる点で分割したプリエンプション待機。",
        |w| Value::ByClass(w.runnable);
    "preemption_count", "Preemptions", Count, true, Lower, Switches,
        "How often the scheduler took the CPU away.",
        "Number of preemptions that began in the range or were under way when it began.",
        "プリエンプション回数", "スケジューラーが CPU を取り上げた回数。",
        |w| Value::Count(w.preemptions);
    "switches", "Context Switches", Count, true, Neither, Switches,
        "How often a thread left the CPU.",
        "Number of intervals off the CPU, of any reason, that began in the range.",
        "コンテキスト・スイッチ", "スレッドが CPU を離れた回数 (理由を問わない)。",
        |w| Value::Count(w.switches);
}

/// The metric of this id; ids of this crate's own are in the table, which a test checks.
pub fn metric(id: &str) -> Option<&'static MetricDef> {
    METRICS.iter().find(|metric| metric.id == id)
}

/// The value of a metric of the table.
pub fn value(metric: &MetricDef, weights: &Weights) -> Value {
    let index = METRICS.iter().position(|known| known.id == metric.id);
    index.and_then(|index| VALUES.get(index)).map_or(Value::None, |value| value(weights))
}

/// The value as a number to sort by.
pub fn magnitude(value: &Value) -> f64 {
    match value {
        Value::Count(number) | Value::Ns(number) => *number as f64,
        Value::Fraction(number) | Value::Real(number) => *number,
        Value::ByClass(classes) => total(classes) as f64,
        Value::NsChange(number) | Value::CountChange(number) => *number as f64,
        _ => 0.0,
    }
}

/// The four columns of a metric in a comparison.
pub fn compared_columns(metric: &'static MetricDef) -> Vec<Column> {
    const HELP: [&str; 4] =
        ["In the first result.", "In the second result.", "First - second.", "Second / first; none without a first."];
    let index = METRICS.iter().position(|known| known.id == metric.id);
    let columns = index.and_then(|index| COMPARED.get(index)).into_iter().flatten().zip(HELP);
    columns.map(|((id, title), help)| Column { id, title, help, detail: false }).collect()
}

/// The column of a metric.
pub fn column(metric: &'static MetricDef) -> Column {
    Column { id: metric.id, title: metric.title, help: metric.short_help, detail: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_distinct_and_say_their_unit() {
        for (index, metric) in METRICS.iter().enumerate() {
            assert!(METRICS[..index].iter().all(|other| other.id != metric.id), "{}", metric.id);
            let ns = matches!(metric.unit, Unit::Ns | Unit::NsPerCount);
            assert_eq!(metric.id.ends_with("_ns") || metric.id.ends_with("_by_class"), ns, "{}", metric.id);
        }
    }
}
