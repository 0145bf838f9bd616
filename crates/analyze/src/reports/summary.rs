//! The summary: one record of the whole.

use dwell_model::{FindingDef, ObjectId};
use dwell_query::engine::alike_objects::without_count;
use dwell_query::engine::fold::Fold;
use dwell_query::engine::sweep::ConcurrencyStats;
use dwell_query::engine::target::target_concurrency;
use dwell_query::measure::utilization::total;
use dwell_query::question::error::QueryError;
use dwell_query::question::query::Query;
use dwell_query::question::windows::Windows;
use dwell_view::{Column, Prose, Row, Value, View};

use crate::findings::{self, Finding};
use crate::reports::explain;
use crate::reports::summary_order::{FindingWeight, is_told, order};
use crate::reports::through_fibers::of_causes;
use crate::reports::waits::busy_waits;
use crate::study::explain::CauseKind;
use crate::tables::columns::{columns, columns_of};
use crate::tables::losses::stacks;
use crate::tables::notes::notes_of_summary;

columns! {
    /// The fields of the record.
    FIELDS;

    plain "elapsed_ns", "Elapsed Time", "From start to end of the collection, paused time included.",
        "経過時間", "収集の開始から終了まで。一時停止した時間を含みます。";
    plain "paused_ns", "Paused Time", "Time in which the collection was paused.",
        "一時停止時間", "収集が一時停止していた時間。";
    plain "cpu_ns", "CPU Time", "Running time, summed over threads.",
        "CPU 時間", "スレッドが CPU 上で実行された時間の合計。";
    plain "effective_ns", "Effective Time", "CPU time that did the program's work.",
        "有効時間", "スピン時間とオーバーヘッド時間を除いた CPU 時間。";
    plain "spin_ns", "Spin Time", "CPU time burnt while logically waiting.",
        "スピン時間", "論理的には待機しながら消費した CPU 時間。";
    plain "overhead_ns", "Overhead Time", "CPU time of the threading runtime.",
        "オーバーヘッド時間", "スレッド化ランタイムの関数で消費した CPU 時間。";
    plain "wait_ns", "Wait Time", "Time blocked on objects, summed over threads.",
        "待機時間", "オブジェクトを待ってブロックした時間の、スレッドの合計。";
    plain "wait_count", "Wait Count", "Number of waits.",
        "待機カウント", "待機の数。";
    plain "idle_ns", "Idle Wait Time", "Part of the wait time of idle workers.",
        "アイドル待機時間", "待機時間のうち、仕事のないワーカーの部分。";
    plain "preemption_ns", "Preemption Wait", "Time in run queues: preempted, or woken and not yet on a CPU.",
        "プリエンプション待機", "実行キューにあった時間。プリエンプションの後、または起床から実行まで。";
    plain "preemption_count", "Preemptions", "How often the scheduler took the CPU away.",
        "プリエンプション回数", "スケジューラーが CPU を取り上げた回数。";
    plain "switches", "Context Switches", "How often a thread left the CPU.",
        "コンテキスト・スイッチ", "スレッドが CPU を離れた回数 (理由を問わない)。";
    plain "cpus", "Logical CPUs", "CPUs that the program may use.",
        "論理 CPU 数", "プログラムが使用できる CPU の数。";
    plain "target_concurrency", "Target Concurrency", "How many threads the program could use at once: T.",
        "ターゲット・コンカレンシー", "プログラムが同時に使えるスレッド数: T。";
    plain "cpu_utilization", "Effective CPU Utilization", "Effective time per elapsed time and CPU.",
        "有効 CPU 利用率", "有効時間 / (経過時間 × CPU 数)。";
    plain "avg_running", "Average Running Threads", "Time average of the threads on a CPU.",
        "平均実行スレッド数", "CPU 上にあるスレッド数の時間平均。";
    plain "avg_concurrency", "Average Thread Concurrency", "Time average of the threads on a CPU or in a run queue.",
        "平均スレッド・コンカレンシー", "CPU 上または実行キューにあるスレッド数の時間平均。";
    plain "oversubscription_ns", "Thread Oversubscription", "CPU time during which more threads were ready than there are CPUs.",
        "オーバーサブスクリプション", "実行可能なスレッドが CPU より多かった間の CPU 時間。";
    plain "threads", "Threads", "Number of threads.",
        "スレッド", "スレッドの数。";
    plain "processes", "Processes", "Number of processes.",
        "プロセス", "プロセスの数。";
    plain "stacks", "Stacks", "Samples and waits whose user stack was taken.",
        "スタック", "ユーザー・スタックを取得したサンプルと待機の数。";
    plain "stacks_complete", "Complete Stacks", "Share of them that reach the outermost frame.",
        "完全なスタック", "最も外側のフレームまで届くスタックの割合。";
    plain "collector_cpu_ns", "Collector CPU Time", "CPU time of Dwell itself; no part of the above.",
        "Dwell 自身の CPU 時間", "収集に使った CPU 時間。他のどの数値にも含まれません。";
    plain "histogram_cpu", "CPU Utilization", "Time at each number of running threads.",
        "CPU 利用率ヒストグラム", "同時に実行されていたスレッド数ごとの経過時間。";
    plain "histogram_concurrency", "Thread Concurrency", "Time at each number of running or runnable threads.",
        "スレッド・コンカレンシー・ヒストグラム", "実行中または実行可能なスレッド数ごとの経過時間。";
    plain "losses", "Losses", "What could not be seen.",
        "損失", "記録できなかったもの。";
    plain "account", "Account", "What the threads did with their lives: the program, then its roles.",
        "内訳", "スレッドが存続時間に何をしたか。プログラム全体、続いて役割ごと。";
    plain "explanation", "Where the Time Went", "The root causes of waits, and the account of the threads' time.",
        "時間の行方", "待機の根本原因と、スレッドの時間の内訳。";
    plain "top_objects", "Top Sync Objects", "Objects with the most wait time at poor utilization of threads that had something to do; alike ones are one row.",
        "待機の長い同期オブジェクト", "CPU 利用率が低い間に、仕事のあるスレッドが最も長く待ったオブジェクト。同種のものは 1 行にまとめます。";
    plain "findings", "Findings", "What is wrong, and what to do about it.",
        "検出結果", "何が問題で、どうすればよいか。";
    detail "order", "Order", "Causes and findings as one list, in the order in which to read them.",
        "順序", "原因と検出結果を 1 つの一覧とした順序。先に読むべきものから並びます。";
    plain "system", "Whole Machine", "What the whole machine did meanwhile: processor time, interrupts, switches, system calls, traffic.",
        "マシン全体", "その間のマシン全体の動作。プロセッサー時間、割り込み、スイッチ、システムコール、通信。";
}

columns! {
    /// What was lost, in brief.
    LOSSES;

    plain "name", "Name", "Name of the counter.",
        "名前", "カウンターの名前。";
    plain "count", "Count", "How often.",
        "回数", "回数。";
}

/// Objects named in the summary.
const TOP_OBJECTS: usize = 5;

/// The value of the field of this id.
struct Field(&'static str, Value);

/// The record. Elapsed and paused time are the range's when the query has one.
pub fn summary(fold: &Fold<'_>) -> Result<View, QueryError> {
    let (parts, idle_ns) = parts(fold)?;
    let mut fields = times(fold, idle_ns);
    fields.extend(concurrency(fold));
    fields.extend(recording(fold));
    fields.extend(parts);
    fields.extend(machine(fold));
    let (columns, values): (Vec<Column>, Vec<Value>) = fields.into_iter().filter_map(named).unzip();
    let notes = notes_of_summary(fold);
    Ok(View { columns, rows: vec![Row { depth: 0, values }], single: true, notes, ..View::default() })
}

/// A field with its words.
fn named(Field(id, value): Field) -> Option<(Column, Value)> {
    let def = FIELDS.iter().find(|def| def.column.id == id)?;
    Some((def.column.clone(), value))
}

/// Times of all threads; `account_idle_ns` is idle by the account, which is finer, where that is of all of them.
fn times(fold: &Fold<'_>, account_idle_ns: Option<u64>) -> Vec<Field> {
    let weights = fold.shown();
    let idle_ns = account_idle_ns.map_or(total(&weights.idle), |ns| ns.min(weights.wait_ns()));
    let elapsed = Windows::elapsed_ns(fold.trace, fold.query);
    let paused = elapsed.saturating_sub(fold.sums.windows.length_ns());
    vec![
        Field("elapsed_ns", Value::Ns(elapsed)),
        Field("paused_ns", Value::Ns(paused)),
        Field("cpu_ns", Value::Ns(weights.cpu_ns())),
        Field("effective_ns", Value::Ns(total(&weights.effective))),
        Field("spin_ns", Value::Ns(weights.spin_ns())),
        Field("overhead_ns", Value::Ns(weights.overhead_ns())),
        Field("wait_ns", Value::Ns(weights.wait_ns())),
        Field("wait_count", Value::Count(weights.wait_count)),
        Field("idle_ns", Value::Ns(idle_ns)),
        Field("preemption_ns", Value::Ns(total(&weights.runnable))),
        Field("preemption_count", Value::Count(weights.preemptions)),
        Field("switches", Value::Count(weights.switches)),
    ]
}

fn concurrency(fold: &Fold<'_>) -> Vec<Field> {
    let (levels, weights) = (&fold.sums.levels, fold.shown());
    let cpus = fold.trace.manifest.cpus.usable.max(1);
    let capacity = fold.sums.windows.length_ns() as f64 * f64::from(cpus);
    let utilization = if capacity > 0.0 { total(&weights.effective) as f64 / capacity } else { 0.0 };
    let target = target_concurrency(fold.trace, fold.query);
    let average = |histogram: &[u64]| Value::Real(ConcurrencyStats::average(histogram));
    let processes: std::collections::BTreeSet<_> = fold
        .sums
        .sites
        .iter()
        .filter(|site| site.selected)
        .filter_map(|site| super::threads::process_of(fold, site.key.thread))
        .collect();
    let threads: std::collections::BTreeSet<_> =
        fold.sums.sites.iter().filter(|site| site.selected).map(|site| site.key.thread).collect();
    // Unfiltered, a thread counts even when it left no trace inside the range.
    let all = fold.query.is_of_all();
    let threads = if all { fold.trace.threads.tid.len() } else { threads.len() };
    let processes = if all { fold.trace.processes.pid.len() } else { processes.len() };
    vec![
        Field("cpus", Value::Count(u64::from(cpus))),
        Field("target_concurrency", Value::Count(u64::from(target))),
        Field("cpu_utilization", Value::Fraction(utilization)),
        Field("avg_running", average(&levels.histogram_cpu)),
        Field("avg_concurrency", average(&levels.histogram_concurrency)),
        Field("oversubscription_ns", Value::Ns(levels.oversubscribed_ns)),
        Field("threads", Value::Count(threads as u64)),
        Field("processes", Value::Count(processes as u64)),
    ]
}

/// About the recording itself.
fn recording(fold: &Fold<'_>) -> Vec<Field> {
    let (stacks, complete) = stacks(fold.trace);
    vec![
        Field("stacks", Value::Count(stacks)),
        Field("stacks_complete", Value::Fraction(complete as f64 / stacks.max(1) as f64)),
        Field("collector_cpu_ns", Value::Ns(fold.trace.manifest.collector_cpu_ns)),
    ]
}

/// The tables of the record, and the time without work in their account, where that is of threads and of all of them.
fn parts(fold: &Fold<'_>) -> Result<(Vec<Field>, Option<u64>), QueryError> {
    let levels = &fold.sums.levels;
    let (objects, explained) = of_causes(fold, |fold| {
        let explained = explain::in_summary(fold);
        Ok((top_objects(fold, &explained), explained))
    })?;
    let findings = findings_beside(fold, &explained);
    let weights: Vec<FindingWeight> = findings.iter().map(|(def, finding)| weight(fold, def, finding)).collect();
    let findings = findings::view(fold, findings);
    let explain::InSummary { mut causes, weights: cause_weights, account, not_held_up, .. } = explained;
    let mut are_told = cause_weights.iter().map(|cause| is_told(cause, &weights));
    causes.rows.retain(|_| are_told.next() == Some(false));
    causes.notes.extend(not_held_up.filter(|_| findings.rows.is_empty()).map(Prose::from));
    let of_all_threads = !fold.query.is_filtered() && fold.trace.fibers.fibers.process.is_empty();
    let idle_ns =
        account.rows.first().filter(|_| of_all_threads).and_then(|whole| match account.value(whole, "idle_ns") {
            Some(Value::Ns(idle_ns)) => Some(*idle_ns),
            _ => None,
        });
    let fields = vec![
        Field("explanation", nested(causes)),
        Field("account", nested(account)),
        Field("histogram_cpu", Value::Histogram(levels.histogram_cpu.clone())),
        Field("histogram_concurrency", Value::Histogram(levels.histogram_concurrency.clone())),
        Field("losses", nested(losses(fold))),
        Field("top_objects", nested(objects)),
        Field("findings", nested(findings)),
        Field("order", nested(order(&cause_weights, &weights))),
    ];
    Ok((fields, idle_ns))
}

fn nested(view: View) -> Value {
    Value::Rows(Box::new(view))
}

/// The findings that no cause tells already.
fn findings_beside(fold: &Fold<'_>, explained: &explain::InSummary) -> Vec<(&'static FindingDef, Finding)> {
    let causes = &explained.causes;
    let found = findings::findings_of(fold);
    let column = causes.columns.iter().position(|column| column.id == "chain");
    let links = |row: &Row| match column.and_then(|column| row.values.get(column)) {
        Some(Value::Stack(links)) => links.join("\n"),
        _ => String::new(),
    };
    let chains: Vec<String> = causes.rows.iter().map(links).collect();
    let kind = causes.columns.iter().position(|column| column.id == "kind");
    let collects = |row: &Row| {
        let kind = kind.and_then(|column| row.values.get(column));
        matches!(kind, Some(Value::Text(kind)) if kind == CauseKind::Collected.id())
    };
    let has_collections = causes.rows.iter().any(collects);
    let of_cause = |subject: &str| chains.iter().any(|chain| chain.contains(subject));
    let is_told = |def: &FindingDef, finding: &Finding| match (def.id, finding.during) {
        (findings::FINE_GRAINED_WAITS, _) => of_cause(without_count(&finding.subject)),
        (findings::GARBAGE_COLLECTION, _) => has_collections,
        // That others waited meanwhile is the same, seen from the other side.
        (findings::SINGLE_THREADED_PHASE, Some((from, to))) => {
            explained.ran.iter().any(|(function, wall_ns)| *function == finding.subject && 2 * wall_ns >= to - from)
        }
        _ => false,
    };
    found.into_iter().filter(|(def, finding)| !is_told(def, finding)).collect()
}

/// What orders a finding among the causes.
fn weight(fold: &Fold<'_>, def: &FindingDef, finding: &Finding) -> FindingWeight {
    FindingWeight {
        cost_ns: finding.cost_ns,
        place: findings::place_of(fold, finding).unwrap_or_default(),
        is_of_short_waits: def.id == findings::FINE_GRAINED_WAITS,
        is_of_connections: def.id == findings::CONNECTION_CHURN,
    }
}

/// What the whole machine did meanwhile, when that was recorded.
fn machine(fold: &Fold<'_>) -> Option<Field> {
    let view = super::system::system(fold.trace, &fold.sums.windows)?;
    Some(Field("system", nested(view)))
}

fn losses(fold: &Fold<'_>) -> View {
    let losses = &fold.trace.losses;
    let columns = columns_of(LOSSES);
    let row = |(name, count): (&String, &u64)| Row {
        depth: 0,
        values: vec![Value::Text(name.clone()), Value::Count(*count)],
    };
    View { columns, rows: losses.name.iter().zip(&losses.count).map(row).collect(), ..View::default() }
}

/// Objects at which threads waited that had something to do, alike ones as one, those with the most such time at poor utilization first.
fn top_objects(fold: &Fold<'_>, explained: &explain::InSummary) -> View {
    let limit = fold.query.limit.map_or(TOP_OBJECTS, |limit| limit.min(TOP_OBJECTS));
    let query = Query { limit: Some(limit), ..fold.query.clone() };
    let fold = &fold.asked(&query);
    // What no slice of an estimate has is taken for busy.
    let busy_share = |object: ObjectId| match fold.query.include_idle {
        true => 1.0,
        false => explained.busy_shares.get(&object).copied().unwrap_or(1.0),
    };
    busy_waits(fold, explained.least_ns, busy_share)
}
