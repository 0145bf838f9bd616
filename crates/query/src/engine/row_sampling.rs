//! Which off-CPU rows are looked at one by one, where all would be too many.

use dwell_store::Trace;

use crate::question::windows::{Part, Windows};

/// Off-CPU rows that are counted in the windows and in a selected class: those of all the time, or those that began, where these are too many
/// to be looked at one by one, in equal slices evenly spread over it.
#[derive(Debug, Default)]
pub struct SampledRows {
    /// Row and site, in order of start.
    pub rows: Vec<(u32, u32)>,
    /// Part of the time that they are of: 1 for all.
    pub share: f64,
}

/// Rows from which only slices are looked at.
const CLOSE_ROWS: usize = 1 << 19;
/// Rows of the slices together, about.
const SLICED_ROWS: f64 = 2e5;
/// Slices: few and wide, so that most waits that begin in one end in it.
const SLICES: u64 = 16;
/// Pieces of a slice, or of all the time, that are looked at side by side.
pub const PIECES: u64 = 4;

/// The parts of the windows that are looked at row by row, and which part of their time that is.
pub fn sampled_parts(trace: &Trace, windows: &Windows) -> (Vec<Part>, f64) {
    let off_cpu = &trace.events().off_cpu;
    let (from, to) = match windows.parts() {
        [] => return (Vec::new(), 1.0),
        [first, ..] => (first.0, windows.parts().last().map_or(first.1, |last| last.1)),
    };
    let rows: usize =
        (0..trace.threads.tid.len()).map(|thread| off_cpu.begun(thread, from, to.saturating_add(1)).len()).sum();
    if rows <= CLOSE_ROWS {
        return (windows.inside(0, u64::MAX).collect(), 1.0);
    }
    slices(windows, SLICED_ROWS / rows as f64)
}

/// Slices that are about this `share` of the windows, and which part of their time they are.
pub fn slices(windows: &Windows, share: f64) -> (Vec<Part>, f64) {
    let (from, to) = match windows.parts() {
        [] => return (Vec::new(), 1.0),
        [first, ..] => (first.0, windows.parts().last().map_or(first.1, |last| last.1)),
    };
    let length = (to - from) / SLICES;
    let width = (length as f64 * share.min(1.0)) as u64;
    let slice = |index: u64| {
        // The middle of each equal part of the time.
        let start = from + index * length + (length - width) / 2;
        windows.inside(start, start + width.max(1))
    };
    let parts: Vec<Part> = (0..SLICES).flat_map(slice).collect();
    let looked_at: u64 = parts.iter().map(|part| part.to - part.from).sum();
    (parts, looked_at as f64 / windows.length_ns().max(1) as f64)
}
