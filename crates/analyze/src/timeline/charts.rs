//! Curves below the timeline: how many threads ran and were ready, pixel by pixel.

use serde::Serialize;

use crate::analysis::Analysis;
use crate::query::{Query, QueryError};
use crate::sweep::{Visitor, sweep};
use crate::windows::Windows;

/// One curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
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

/// The curves of a part of the time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Charts {
    /// Start, ns.
    pub from: u64,
    /// End, ns.
    pub to: u64,
    /// The curves; columns of equal length.
    pub series: Vec<Series>,
}

/// Sums of one pixel.
#[derive(Clone, Copy, Debug, Default)]
struct Pixel {
    running_ns: u64,
    ready_ns: u64,
    active_ns: u64,
    most_running: usize,
    most_ready: usize,
}

struct Pixels {
    from: u64,
    to: u64,
    pixels: Vec<Pixel>,
}

impl Pixels {
    fn edge(&self, pixel: usize) -> u64 {
        let span = u128::from(self.to - self.from);
        self.from + (span * pixel as u128 / self.pixels.len().max(1) as u128) as u64
    }
}

impl Visitor for Pixels {
    fn level(&mut self, from: u64, to: u64, running: usize, ready: usize) {
        let span = u128::from(self.to - self.from).max(1);
        let mut pixel = (u128::from(from.saturating_sub(self.from)) * self.pixels.len() as u128 / span) as usize;
        let mut from = from;
        while from < to && pixel < self.pixels.len() {
            let end = self.edge(pixel + 1).min(to);
            let sums = &mut self.pixels[pixel];
            if from < end {
                let ns = end - from;
                sums.active_ns += ns;
                sums.running_ns += ns * running as u64;
                sums.ready_ns += ns * ready as u64;
                sums.most_running = sums.most_running.max(running);
                sums.most_ready = sums.most_ready.max(ready);
                from = end;
            }
            pixel += 1;
        }
    }
}

/// The curves of `from .. to` on `width` pixels. All threads count, whatever the query's filters.
pub fn charts(analysis: &Analysis, query: &Query, (from, to): (u64, u64), width: usize) -> Result<Charts, QueryError> {
    let query = Query { range: Some((from, to)), ..query.clone() };
    let windows = Windows::of_query(&analysis.trace, &query)?;
    let to = to.min(analysis.elapsed_ns());
    let width = width.clamp(1, 1 << 14).min(usize::try_from(to - from).unwrap_or(usize::MAX));
    let mut pixels = Pixels { from, to, pixels: vec![Pixel::default(); width] };
    sweep(&analysis.trace, &query, &windows, &mut pixels);
    Ok(Charts { from, to, series: series(analysis, &pixels.pixels) })
}

fn series(analysis: &Analysis, pixels: &[Pixel]) -> Vec<Series> {
    let cpus = f64::from(analysis.trace.manifest.cpus.usable.max(1));
    let mean = |sum: fn(&Pixel) -> u64, scale: f64| -> Vec<f64> {
        pixels.iter().map(|pixel| sum(pixel) as f64 / pixel.active_ns.max(1) as f64 * scale).collect()
    };
    let peak = |most: fn(&Pixel) -> usize, scale: f64| -> Vec<f64> {
        pixels.iter().map(|pixel| most(pixel) as f64 * scale).collect()
    };
    let top = |peak: &[f64]| peak.iter().copied().fold(cpus, f64::max);
    let percent = 100.0 / cpus;
    let running = peak(|pixel| pixel.most_running, 1.0);
    let ready = peak(|pixel| pixel.most_ready, 1.0);
    vec![
        Series {
            id: "cpu_usage",
            title: "CPU Usage",
            unit: "%",
            max: 100.0,
            mean: mean(|pixel| pixel.running_ns, percent),
            peak: peak(|pixel| pixel.most_running, percent),
        },
        Series {
            id: "running",
            title: "Running Threads",
            unit: "threads",
            max: top(&running),
            mean: mean(|pixel| pixel.running_ns, 1.0),
            peak: running,
        },
        Series {
            id: "concurrency",
            title: "Thread Concurrency",
            unit: "threads",
            max: top(&ready),
            mean: mean(|pixel| pixel.ready_ns, 1.0),
            peak: ready,
        },
    ]
}
