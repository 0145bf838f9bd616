//! Bands that several threads share: a process, an object, a CPU. Drawn pixel by pixel.

use std::collections::HashMap;

use super::BandKind;
use super::pieces::{Piece, for_each_piece};
use super::states::{STATES, TimelineState};
use super::tile::{BandTile, MANY};
use crate::analysis::Analysis;

/// Time by state of each pixel.
struct Grid {
    from: u64,
    to: u64,
    cells: Vec<[u64; STATES]>,
    /// What has the most time in each pixel: an object, or a CPU's thread.
    owners: Vec<(u64, u32)>,
    /// Part of each pixel that is looked at; none: all.
    looked_at_ns: Option<u64>,
}

impl Grid {
    fn new((from, to, width): (u64, u64, usize)) -> Self {
        let width = width.min(usize::try_from(to - from).unwrap_or(usize::MAX));
        Self { from, to, cells: vec![[0; STATES]; width], owners: vec![(0, u32::MAX); width], looked_at_ns: None }
    }

    fn edge(&self, pixel: usize) -> u64 {
        let span = u128::from(self.to - self.from);
        self.from + (span * pixel as u128 / self.cells.len().max(1) as u128) as u64
    }

    fn pixel_of(&self, time: u64) -> usize {
        let span = u128::from(self.to - self.from).max(1);
        let mut pixel = (u128::from(time - self.from) * self.cells.len() as u128 / span) as usize;
        while pixel + 1 < self.cells.len() && self.edge(pixel + 1) <= time {
            pixel += 1;
        }
        pixel
    }

    fn add(&mut self, state: TimelineState, (mut from, to): (u64, u64), owner: u32) {
        let mut pixel = self.pixel_of(from);
        while from < to && pixel < self.cells.len() {
            let end = self.edge(pixel + 1).min(to);
            let ns = end.saturating_sub(from);
            self.cells[pixel][state.index()] += ns;
            if ns > self.owners[pixel].0 {
                self.owners[pixel] = (ns, owner);
            }
            from = from.max(end);
            pixel += 1;
        }
    }

    fn band(&self, id: u32) -> BandTile {
        let mut band = BandTile { id, ..BandTile::default() };
        for (pixel, times) in self.cells.iter().enumerate() {
            let Some(state) = shown(times) else { continue };
            let (from, to) = (self.edge(pixel), self.edge(pixel + 1));
            let states = times.iter().filter(|ns| **ns > 0).count();
            let full = self.looked_at_ns.is_none() && times.iter().sum::<u64>() >= to - from;
            let flags = if states > 1 || !full { MANY } else { 0 };
            let object = self.owners[pixel].1;
            let last = band.end.len().wrapping_sub(1);
            let joins = band.end.last() == Some(&from)
                && band.state[last] == state.index() as u8
                && (band.flags[last], band.object[last]) == (flags, object);
            if joins {
                band.end[last] = to;
            } else {
                band.push(Piece { state, from, to, object, row: None }, flags);
            }
        }
        band
    }
}

/// A band runs where any of its threads does, queues where one could, and else waits as most of them do.
fn shown(times: &[u64; STATES]) -> Option<TimelineState> {
    let most = |wanted: &dyn Fn(TimelineState) -> bool| {
        let states = TimelineState::ALL.iter().copied().rev().filter(|state| wanted(*state));
        states.max_by_key(|state| times[state.index()]).filter(|state| times[state.index()] > 0)
    };
    let queues = |state| matches!(state, TimelineState::Preempted | TimelineState::Starting);
    most(&TimelineState::is_running).or_else(|| most(&queues)).or_else(|| most(&|_| true))
}

/// Intervals from which only a part of each pixel is looked at.
const MOST_ROWS: usize = 1 << 20;
/// Pixels then.
const FEW_PIXELS: usize = 512;

/// Draws the bands of processes, objects or CPUs: one pass over the intervals in the range. Where these are too many,
/// pixels are wider and a part of each stands for it.
pub fn grid_bands(
    analysis: &Analysis,
    by: BandKind,
    ids: &[u32],
    (from, to, width): (u64, u64, usize),
) -> Vec<BandTile> {
    let off_cpu = &analysis.events().off_cpu;
    let threads = analysis.trace.threads.tid.len();
    let rows: usize = (0..threads).map(|thread| off_cpu.begun(thread, from, to).len()).sum();
    let is_sliced = rows > MOST_ROWS;
    let width = if is_sliced { width.min(FEW_PIXELS) } else { width };
    let mut grids: Vec<Grid> = ids.iter().map(|_| Grid::new((from, to, width))).collect();
    let Some(pixels) = grids.first().map(|grid| grid.cells.len()).filter(|pixels| *pixels > 0) else {
        return ids.iter().map(|id| BandTile { id: *id, ..BandTile::default() }).collect();
    };
    let numbers: HashMap<u32, usize> = ids.iter().enumerate().map(|(number, id)| (*id, number)).collect();
    let spans: Vec<(u64, u64)> = match is_sliced {
        false => vec![(from, to)],
        true => {
            let part = MOST_ROWS as f64 / rows as f64;
            let edges = |pixel: usize| (grids[0].edge(pixel), grids[0].edge(pixel + 1));
            let slice = |(start, end): (u64, u64)| (start, start + (((end - start) as f64 * part) as u64).max(1));
            (0..pixels).map(|pixel| slice(edges(pixel))).collect()
        }
    };
    if is_sliced {
        grids.iter_mut().for_each(|grid| grid.looked_at_ns = spans.first().map(|(from, to)| to - from));
    }
    for thread in 0..threads {
        for span in &spans {
            add_thread(analysis, (by, thread), *span, |id, state, times, owner| {
                if let Some(number) = numbers.get(&id) {
                    grids[*number].add(state, times, owner);
                }
            });
        }
    }
    ids.iter().zip(&grids).map(|(id, grid)| grid.band(*id)).collect()
}

/// Tells what a thread contributes to bands: the band, the state, when, and who owns it there.
fn add_thread(
    analysis: &Analysis,
    (by, thread): (BandKind, usize),
    span: (u64, u64),
    mut tell: impl FnMut(u32, TimelineState, (u64, u64), u32),
) {
    match by {
        BandKind::Cpu => for_each_run(analysis, thread, span, |cpu, times| {
            tell(cpu, TimelineState::Running, times, thread as u32);
        }),
        BandKind::Object => for_each_piece(analysis, thread, span, |piece| {
            if piece.row.is_some() {
                tell(piece.object, piece.state, (piece.from, piece.to), piece.object);
            }
        }),
        BandKind::Process | BandKind::Thread => {
            let process = analysis.trace.threads.process[thread].raw();
            for_each_piece(analysis, thread, span, |piece| {
                tell(process, piece.state, (piece.from, piece.to), piece.object);
            });
        }
    }
}

/// Tells when `thread` ran on which CPU: from the end of an interval off the CPU, which says where it then ran, to the
/// next one.
fn for_each_run(analysis: &Analysis, thread: usize, (from, to): (u64, u64), mut tell: impl FnMut(u32, (u64, u64))) {
    let Some((_, end)) = analysis.life(thread) else { return };
    let off_cpu = &analysis.events().off_cpu;
    let rows = off_cpu.of(thread);
    let first = off_cpu.partition_point(rows.clone(), |start| start < from);
    for row in first.saturating_sub(1).max(rows.start)..rows.end {
        if off_cpu.start_ns(row) >= to {
            return;
        }
        let next = if row + 1 < rows.end { off_cpu.start_ns(row + 1) } else { end };
        let (ran, until) = (off_cpu.end_ns(row).clamp(from, to), next.min(end).clamp(from, to));
        if ran < until {
            tell(u32::from(off_cpu.cpu(row)), (ran, until));
        }
    }
}
