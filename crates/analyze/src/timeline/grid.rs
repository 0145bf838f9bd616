//! Bands that several threads share: a process, an object, a CPU. Drawn pixel by pixel.

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
}

impl Grid {
    fn new((from, to, width): (u64, u64, usize)) -> Self {
        let width = width.min(usize::try_from(to - from).unwrap_or(usize::MAX));
        Self { from, to, cells: vec![[0; STATES]; width], owners: vec![(0, u32::MAX); width] }
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
            let full = times.iter().sum::<u64>() >= to - from;
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

/// Draws the band of a process, an object or a CPU.
pub fn grid_band(analysis: &Analysis, by: BandKind, id: u32, range: (u64, u64, usize)) -> BandTile {
    let mut grid = Grid::new(range);
    if grid.cells.is_empty() {
        return BandTile { id, ..BandTile::default() };
    }
    let span = (range.0, range.1);
    for thread in 0..analysis.trace.threads.tid.len() {
        match by {
            BandKind::Cpu => for_each_run_on(analysis, thread, (span, id), |from, to| {
                grid.add(TimelineState::Running, (from, to), thread as u32);
            }),
            BandKind::Object => for_each_piece(analysis, thread, span, |piece| {
                if piece.object == id && piece.row.is_some() {
                    grid.add(piece.state, (piece.from, piece.to), id);
                }
            }),
            _ if analysis.trace.threads.process[thread].raw() == id => {
                for_each_piece(analysis, thread, span, |piece| {
                    grid.add(piece.state, (piece.from, piece.to), piece.object);
                });
            }
            _ => {}
        }
    }
    grid.band(id)
}

/// Tells when `thread` ran on CPU `cpu`: from the end of an interval off the CPU, which says where it then ran, to the
/// next one.
fn for_each_run_on(
    analysis: &Analysis,
    thread: usize,
    ((from, to), cpu): ((u64, u64), u32),
    mut tell: impl FnMut(u64, u64),
) {
    let Some((_, end)) = analysis.life(thread) else { return };
    let off_cpu = &analysis.events.off_cpu;
    let rows = off_cpu.of(thread);
    let first = rows.start + off_cpu.start_ns[rows.clone()].partition_point(|start| *start < from);
    for row in first.saturating_sub(1).max(rows.start)..rows.end {
        if off_cpu.start_ns[row] >= to {
            return;
        }
        let next = if row + 1 < rows.end { off_cpu.start_ns[row + 1] } else { end };
        let (ran, until) = (off_cpu.end_ns(row).clamp(from, to), next.min(end).clamp(from, to));
        if u32::from(off_cpu.cpu[row]) == cpu && ran < until {
            tell(ran, until);
        }
    }
}
