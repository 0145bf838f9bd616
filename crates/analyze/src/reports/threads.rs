//! Running, runnable and waiting time of each thread.

use dwell_model::ThreadId;
use dwell_query::engine::fold::Fold;
use dwell_query::engine::hidden_threads::{hidden, only_paused};
use dwell_query::measure::metrics::{magnitude, value};
use dwell_query::measure::utilization::total;
use dwell_query::measure::weights::Weights;
use dwell_query::question::handles::thread_handle;
use dwell_view::{Prose, Row, Value, View, Word};

use crate::reports::thread_priority::ThreadPriority;
use crate::sentences::say;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::cut_note;
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "name", "Thread", "Name of the thread.",
        "スレッド", "スレッドの名前。";
    plain "handle", "#", "Short name of the thread, which filters and `explain --for` take.",
        "#", "スレッドの短い名前。フィルターとレポートで名前の代わりに使えます。";
    plain "tid", "TID", "Id of the thread.",
        "スレッド ID", "スレッドの ID。";
    plain "pid", "PID", "Id of its process.",
        "プロセス ID", "プロセスの ID。";
    plain "process", "Process", "Name of its process.",
        "プロセス", "プロセスの名前。";
    plain "lifetime_ns", "Lifetime", "From its start to its end, inside the collection and the range, pauses left out.",
        "寿命", "開始から終了まで。収集と範囲の外、および一時停止を除きます。";
    plain "running_ns", "Running", "Time on a CPU.",
        "実行中", "CPU 上にあった時間。";
    plain "runnable_ns", "Runnable", "Time in the run queue.",
        "実行可能", "実行キューにあった時間。";
    plain "waiting_ns", "Waiting", "Time blocked, for known and unknown reasons.",
        "待機中", "ブロックした時間。理由が不明なものを含みます。";
    plain "switches", "Switches", "How often it left the CPU.",
        "コンテキスト・スイッチ", "スレッドが CPU を離れた回数。";
    plain "preemptions", "Preemptions", "How often the scheduler took the CPU away.",
        "プリエンプション", "スケジューラーが CPU を取り上げた回数。";
    plain "spin_ns", "Spin Time", "CPU time burnt while logically waiting.",
        "スピン時間", "論理的には待機しながら消費した CPU 時間。";
    detail "read_calls", "Reads", "Calls by which it read from files, pipes and sockets (read and its kin, not recv), in all of its time.",
        "読み取り回数", "ファイル、パイプ、ソケットから読み取った呼び出し (受信専用の呼び出しを除く) の、全期間の回数。";
    detail "read_bytes", "Bytes Read", "What these read.",
        "読み取りバイト数", "それらが読み取ったバイト数。";
    detail "write_calls", "Writes", "Calls by which it wrote, likewise.",
        "書き込み回数", "同じく、書き込んだ呼び出しの回数。";
    detail "write_bytes", "Bytes Written", "What these wrote.",
        "書き込みバイト数", "それらが書き込んだバイト数。";
    detail "priority", "Priority", "How it was scheduled at last: its nice value, or its policy by sched(7); nice 0, as usual, also where that is not known.",
        "優先度", "最後のスケジューリング: ナイス値、またはポリシー。不明な場合も通常の 0 です。";
    detail "cpus_allowed", "CPUs Allowed", "On how many CPUs it might run at last (sched_setaffinity, a cpuset); none where that is all of them, or not known.",
        "使用可能な CPU", "最後に実行できた CPU の数 (スレッドの束縛による)。すべての場合と不明な場合は空です。";
}

/// One row per thread that the filters let through, the busiest first.
pub fn threads(fold: &Fold<'_>) -> View {
    let mut weights: Vec<Option<Weights>> = vec![None; fold.trace.threads.tid.len()];
    if !fold.query.is_filtered() {
        // A thread that left no trace inside the range is still one.
        weights.iter_mut().for_each(|weights| *weights = Some(Weights::default()));
    }
    let paused = only_paused(fold.trace);
    weights.iter_mut().zip(&paused).filter(|(_, paused)| **paused).for_each(|(weights, _)| *weights = None);
    let hidden = hidden(fold);
    for (_, site, of_site) in fold.selected() {
        if let Some(weights) = site.key.thread.get().and_then(|row| weights.get_mut(row)) {
            weights.get_or_insert_default().add(&of_site);
        }
    }
    let mut threads: Vec<(usize, Weights)> =
        weights.into_iter().enumerate().filter_map(|(thread, weights)| Some((thread, weights?))).collect();
    let hidden_threads: Vec<(usize, Weights)> = threads.extract_if(.., |(thread, _)| hidden[*thread]).collect();
    let rank = |weights: &Weights| match fold.query.sort {
        Some(metric) => magnitude(&value(metric, weights)),
        None => weights.cpu_ns() as f64,
    };
    threads.sort_by(|a, b| rank(&b.1).total_cmp(&rank(&a.1)).then(a.0.cmp(&b.0)));
    let cut = fold.query.limit_rows(&mut threads);
    let rows =
        threads.iter().map(|(thread, weights)| Row { depth: 0, values: cells(fold, *thread, weights) }).collect();
    let mut notes = notes(fold);
    notes.extend(hidden_note(&hidden_threads));
    let paused = paused.into_iter().filter(|paused| *paused).count();
    notes.extend((paused > 0).then(|| say!(THREADS_PAUSED, threads = paused).into()));
    notes.extend(cut_note(cut));
    View { columns: columns_of(COLUMNS), rows, notes, ..View::default() }
}

fn hidden_note(threads: &[(usize, Weights)]) -> Option<Prose> {
    let sum = |of: fn(&Weights) -> u64| threads.iter().fold(0u64, |sum, (_, weights)| sum.saturating_add(of(weights)));
    let (cpu, wait) = (Word::Ns(sum(Weights::cpu_ns)), Word::Ns(sum(Weights::wait_ns)));
    (!threads.is_empty()).then(|| say!(THREADS_HIDDEN, threads = threads.len(), cpu = cpu, wait = wait).into())
}

fn cells(fold: &Fold<'_>, thread: usize, weights: &Weights) -> Vec<Value> {
    let (threads, processes) = (&fold.trace.threads, &fold.trace.processes);
    let process = threads.process[thread].get().filter(|row| *row < processes.pid.len());
    let is_counted = threads.read_calls.iter().chain(&threads.write_calls).any(|calls| *calls > 0);
    let counted = |number: u64| if is_counted { Value::Count(number) } else { Value::None };
    let waiting = weights.wait_ns().saturating_add(total(&weights.unknown));
    vec![
        Value::Text(threads.name[thread].clone()),
        thread_handle(fold.trace, ThreadId::new(thread)).map_or(Value::None, Value::Text),
        Value::Count(u64::from(threads.tid[thread])),
        process.map_or(Value::None, |row| Value::Count(u64::from(processes.pid[row]))),
        process.map_or(Value::None, |row| Value::Text(processes.name[row].clone())),
        Value::Ns(fold.sums.windows.overlap_ns(threads.start_ns[thread], threads.end_ns[thread])),
        Value::Ns(weights.cpu_ns()),
        Value::Ns(total(&weights.runnable)),
        Value::Ns(waiting),
        Value::Count(weights.switches),
        Value::Count(weights.preemptions),
        Value::Ns(weights.spin_ns()),
        counted(threads.read_calls[thread]),
        counted(threads.read_bytes[thread]),
        counted(threads.write_calls[thread]),
        counted(threads.write_bytes[thread]),
        Value::Text(ThreadPriority::of(threads, thread).to_string()),
        Some(threads.cpus_allowed[thread])
            .filter(|cpus| *cpus > 0)
            .map_or(Value::None, |cpus| Value::Count(u64::from(cpus))),
    ]
}

/// Process that a thread belongs to, as a row.
pub fn process_of(fold: &Fold<'_>, thread: ThreadId) -> Option<usize> {
    thread.get().and_then(|row| fold.trace.threads.process.get(row)).and_then(|process| process.get())
}
