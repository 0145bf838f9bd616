//! How long a result takes to open and to answer what the web UI asks, inside one process.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use dwell_analyze::timeline::{BandKind, BandOrder, DurationKind, TileRequest, bands, charts, histogram, tile};
use dwell_analyze::{Analysis, Filter, Level, Query, Report, report};
use dwell_store::ResultFolder;

use crate::program::Dice;

/// Bands on a screen.
const BANDS: u32 = 40;

fn timed<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    println!("{name:44} {:9.1} ms   {:6.0} MB", start.elapsed().as_secs_f64() * 1e3, resident_mb());
    done
}

/// Memory of this process that is no file's, MB.
fn resident_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) / 1024.0
}

/// Prints a table of times.
pub fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    let folder = ResultFolder::open(folder)?;
    drop(timed("open, making the index if there is none", || dwell_analyze::open(&folder))?);
    let trace = timed("open", || dwell_analyze::open(&folder))?;
    let analysis = timed("prepare", || Analysis::new(trace));
    let elapsed = analysis.elapsed_ns();
    let filter = |text: &str| Filter::parse(text).map(|filter| vec![filter]);
    let range = Some((elapsed / 7, elapsed / 7 * 4));
    let queries = [
        ("", Query::default()),
        (" of a range", Query { range, ..Query::default() }),
        (" of an object", Query { filters: filter("object=worker_3")?, ..Query::default() }),
        (" of threads in a range", Query { range, filters: filter("thread=io-*")?, ..Query::default() }),
    ];
    let reports =
        [Report::Summary, Report::Explain, Report::Waits, Report::Hotspots, Report::BottomUp, Report::Findings];
    for (what, query) in &queries {
        for kind in reports {
            timed(&format!("{}{what}", kind.id()), || black_box(report(kind, analysis.trace(), query)))?;
        }
    }
    let nested = Query { group_by: vec![Level::Object, Level::Function], range, ..Query::default() };
    timed("waits by object and function of a range", || black_box(report(Report::Waits, analysis.trace(), &nested)))?;
    let sliders = Query { target_concurrency: Some(32), ..Query::default() };
    timed("waits at another target concurrency", || black_box(report(Report::Waits, analysis.trace(), &sliders)))?;
    timed("threads", || black_box(dwell_analyze::thread_times(analysis.trace())));
    let query = Query::default();
    let order = BandOrder::default();
    timed("bands", || black_box(bands(&analysis, &query, BandKind::Thread, order)))?;
    timed("histogram", || black_box(histogram(&analysis, &query, DurationKind::Wait)))?;
    timed("histogram of run queues", || black_box(histogram(&analysis, &query, DurationKind::Runnable)))?;
    timed("charts", || black_box(charts(&analysis, &query, (0, elapsed), 2560)))?;
    for by in BandKind::ALL {
        walk(&analysis, *by);
    }
    Ok(())
}

/// Tiles along a random walk of pans and zooms from the whole to 10 ns.
fn walk(analysis: &Analysis, by: BandKind) {
    let elapsed = analysis.elapsed_ns();
    let mut dice = Dice(3);
    let mut times: Vec<f64> = Vec::new();
    let mut worst = (0.0, 0);
    let first = Instant::now();
    for step in 0..200u32 {
        let zoom = if step == 0 { 0.0 } else { dice.below(1000) as f64 / 1000.0 };
        let span = ((elapsed as f64).powf(1.0 - zoom) * 10f64.powf(zoom)).max(10.0) as u64;
        let from = dice.next() % (elapsed - span + 1).max(1);
        let first_band = dice.below(160) as u32;
        let (width, bands) = (if step % 2 == 0 { 1440 } else { 2560 }, (first_band..first_band + BANDS).collect());
        let request = TileRequest { from, to: from + span, width, by, bands };
        let start = Instant::now();
        black_box(tile(analysis, &request));
        let _ = black_box(charts(analysis, &Query::default(), (from, from + span), width));
        let ms = start.elapsed().as_secs_f64() * 1e3;
        if ms > worst.0 {
            worst = (ms, span);
        }
        times.push(ms);
    }
    times.sort_by(f64::total_cmp);
    let at = |quantile: f64| times[((times.len() - 1) as f64 * quantile) as usize];
    println!(
        "tile and charts by {:8} p50 {:6.1} ms  p95 {:6.1} ms  longest {:6.1} ms of {:.4} s  ({:.1} s in all)",
        by.id(),
        at(0.5),
        at(0.95),
        worst.0,
        worst.1 as f64 / 1e9,
        first.elapsed().as_secs_f64(),
    );
}
