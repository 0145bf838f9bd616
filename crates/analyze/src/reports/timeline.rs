//! The time line in bins: how many threads ran and were ready, and what each thread did.

use dwell_model::ThreadId;
use dwell_query::engine::fold::Fold;
use dwell_query::engine::grouping::thread_label;
use dwell_query::question::windows::Windows;
use dwell_view::{Row, Value, View};

use crate::study::intervals::{Activity, for_each_interval};
use crate::tables::columns::{columns, columns_of};
use crate::tables::notes::notes;

columns! {
    /// What each thread did in a bin.
    OF_THREADS;

    plain "thread", "Thread", "The thread.",
        "スレッド", "スレッド。";
    plain "running_ns", "Running", "Time on a CPU.",
        "実行中", "CPU 上にあった時間。";
    plain "runnable_ns", "Runnable", "Time in the run queue.",
        "実行可能", "実行キューにあった時間。";
    plain "waiting_ns", "Waiting", "Time blocked.",
        "待機中", "ブロックした時間。";
}

columns! {
    /// What the report shows.
    COLUMNS;

    plain "start_ns", "Start", "Start of the bin, from the start of the collection.",
        "時刻", "時間の区切りの始まり。収集の開始からの時間。";
    plain "length_ns", "Length", "Length of the bin.",
        "長さ", "時間の区切りの長さ。";
    plain "avg_running", "Running Threads", "Average number of threads of the program on a CPU, all of them counted.",
        "平均実行スレッド数", "CPU 上にあるプログラムのスレッド数の平均 (すべてのスレッド)。";
    plain "avg_concurrency", "Ready Threads", "Average number of threads on a CPU or in a run queue, all of them counted.",
        "平均スレッド・コンカレンシー", "CPU 上または実行キューにあるスレッド数の平均 (すべてのスレッド)。";
    plain "running_ns", "Running", "Time on a CPU, of the threads shown.",
        "実行中", "表示しているスレッドが CPU 上にあった時間。";
    plain "runnable_ns", "Runnable", "Time in the run queue, of the threads shown.",
        "実行可能", "表示しているスレッドが実行キューにあった時間。";
    plain "waiting_ns", "Waiting", "Time blocked, of the threads shown.",
        "待機中", "表示しているスレッドがブロックした時間。";
    detail "threads", "Threads", "What each thread did.",
        "スレッド", "各スレッドの動作。";
}

/// Bins at most: what a screen can show, with room.
const MOST_BINS: usize = 10_000;

/// Running, runnable and waiting time.
type Times = [u64; 3];

/// Equal parts of the windows' span.
struct Bins {
    from: u64,
    to: u64,
    count: usize,
}

impl Bins {
    fn new(windows: &Windows, count: usize) -> Self {
        let from = windows.parts().first().map_or(0, |(from, _)| *from);
        let to = windows.parts().last().map_or(0, |(_, to)| *to);
        let count = count.clamp(1, MOST_BINS).min(usize::try_from(to - from).unwrap_or(usize::MAX).max(1));
        Self { from, to, count }
    }

    fn edge(&self, bin: usize) -> u64 {
        let span = u128::from(self.to - self.from);
        self.from + u64::try_from(span * bin as u128 / self.count as u128).unwrap_or(0)
    }

    /// The bin that `time` is in, by the same rounding as the edges.
    fn of(&self, time: u64) -> usize {
        let span = u128::from(self.to - self.from).max(1);
        let guess = u128::from(time.saturating_sub(self.from)) * self.count as u128 / span;
        let mut bin = usize::try_from(guess).unwrap_or(0).min(self.count - 1);
        while bin + 1 < self.count && self.edge(bin + 1) <= time {
            bin += 1;
        }
        bin
    }

    /// Tells each bin's part of `from .. to`.
    fn split(&self, mut from: u64, to: u64, mut tell: impl FnMut(usize, u64)) {
        let mut bin = self.of(from);
        while from < to && bin < self.count {
            let end = self.edge(bin + 1).min(to);
            tell(bin, end.saturating_sub(from));
            from = from.max(end);
            bin += 1;
        }
    }
}

/// One row per bin; each thread's part is in the details.
pub fn timeline(fold: &Fold<'_>) -> View {
    let bins = Bins::new(&fold.sums.windows, fold.query.bins);
    let shown = shown_threads(fold);
    let mut times: Vec<std::collections::BTreeMap<usize, Times>> = vec![Default::default(); bins.count];
    let mut all: Vec<Times> = vec![[0; 3]; bins.count];
    for_each_interval(fold.trace, |interval| {
        let activity = match interval.activity {
            Activity::Running => 0,
            Activity::Runnable => 1,
            Activity::Waiting => 2,
        };
        for (from, to) in fold.sums.windows.clip(interval.from, interval.to) {
            bins.split(from, to, |bin, ns| {
                all[bin][activity] += ns;
                if shown[interval.thread] {
                    times[bin].entry(interval.thread).or_default()[activity] += ns;
                }
            });
        }
    });
    let rows = (0..bins.count).map(|bin| row(fold, &bins, bin, (&all[bin], &times[bin])));
    View { columns: columns_of(COLUMNS), rows: rows.collect(), notes: notes(fold), ..View::default() }
}

fn shown_threads(fold: &Fold<'_>) -> Vec<bool> {
    let mut shown = vec![!fold.query.is_filtered(); fold.trace.threads.tid.len()];
    for (_, site, _) in fold.selected() {
        if let Some(shown) = site.key.thread.get().and_then(|row| shown.get_mut(row)) {
            *shown = true;
        }
    }
    shown
}

fn row(
    fold: &Fold<'_>,
    bins: &Bins,
    bin: usize,
    (all, threads): (&Times, &std::collections::BTreeMap<usize, Times>),
) -> Row {
    let (from, to) = (bins.edge(bin), bins.edge(bin + 1));
    let active = fold.sums.windows.overlap_ns(from, to);
    let average = |ns: u64| if active == 0 { Value::None } else { Value::Real(ns as f64 / active as f64) };
    let sum = |activity: usize| threads.values().map(|times| times[activity]).sum();
    Row {
        depth: 0,
        values: vec![
            Value::Ns(from),
            Value::Ns(to - from),
            average(all[0]),
            average(all[0] + all[1]),
            Value::Ns(sum(0)),
            Value::Ns(sum(1)),
            Value::Ns(sum(2)),
            Value::Rows(Box::new(thread_rows(fold, threads))),
        ],
    }
}

fn thread_rows(fold: &Fold<'_>, threads: &std::collections::BTreeMap<usize, Times>) -> View {
    let columns = columns_of(OF_THREADS);
    let row = |(thread, times): (&usize, &Times)| {
        let name = Value::Text(thread_label(fold, ThreadId::new(*thread)));
        Row { depth: 0, values: std::iter::once(name).chain(times.iter().map(|ns| Value::Ns(*ns))).collect() }
    };
    View { columns, rows: threads.iter().map(row).collect(), ..View::default() }
}
