//! Curves below the timeline: how many threads ran and were ready, pixel by pixel.

use dwell_query::Analysis;
use dwell_query::engine::columns::{ColumnSums, Columns};
use dwell_query::question::error::QueryError;
use dwell_query::question::query::Query;
use dwell_query::question::windows::Windows;
use dwell_view::answer;

answer! {
    /// One curve.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Series {
        /// `cpu_usage`, `running`, `concurrency`.
        pub id: &'static str,
        /// Title.
        pub title: &'static str,
        /// `%` or `threads`.
        pub unit: &'static str,
        /// Upper end of its scale: what the machine or the program can reach.
        pub max: f64,
        /// Time average of each pixel.
        pub mean: Vec<f64>,
        /// Highest value in each pixel.
        pub peak: Vec<f64>,
    }
}

answer! {
    /// The curves of a part of the time.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Charts {
        /// Start, ns.
        pub from: u64,
        /// End, ns.
        pub to: u64,
        /// The curves; columns of equal length.
        pub series: Vec<Series>,
    }
}

/// The curves of `from .. to` on `width` pixels. All threads count, whatever the query's filters.
pub fn charts(analysis: &Analysis, query: &Query, (from, to): (u64, u64), width: usize) -> Result<Charts, QueryError> {
    let query = Query { range: Some((from, to)), ..query.clone() };
    let windows = Windows::of_query(&analysis.trace, &query)?;
    let to = to.min(analysis.elapsed_ns());
    let columns = Columns::of(&analysis.trace, &windows, (from, to), width.clamp(1, 1 << 14));
    Ok(Charts { from, to, series: series(analysis, &columns.columns) })
}

fn series(analysis: &Analysis, columns: &[ColumnSums]) -> Vec<Series> {
    let cpus = f64::from(analysis.trace.manifest.cpus.usable.max(1));
    let mean = |sum: fn(&ColumnSums) -> f64, scale: f64| -> Vec<f64> {
        columns.iter().map(|column| sum(column) / column.active_ns.max(1.0) * scale).collect()
    };
    let peak = |most: fn(&ColumnSums) -> usize, scale: f64| -> Vec<f64> {
        columns.iter().map(|column| most(column) as f64 * scale).collect()
    };
    let top = |peak: &[f64]| peak.iter().copied().fold(cpus, f64::max);
    let percent = 100.0 / cpus;
    let running = peak(|column| column.most_running, 1.0);
    let ready = peak(|column| column.most_ready, 1.0);
    vec![
        Series {
            id: "cpu_usage",
            title: "CPU Usage",
            unit: "%",
            max: 100.0,
            mean: mean(|column| column.running_ns, percent),
            peak: peak(|column| column.most_running, percent),
        },
        Series {
            id: "running",
            title: "Running Threads",
            unit: "threads",
            max: top(&running),
            mean: mean(|column| column.running_ns, 1.0),
            peak: running,
        },
        Series {
            id: "concurrency",
            title: "Thread Concurrency",
            unit: "threads",
            max: top(&ready),
            mean: mean(|column| column.ready_ns, 1.0),
            peak: ready,
        },
    ]
}
