//! Bands that several threads share: a process, an object, a CPU. Drawn from the index's buckets, or pixel by pixel.

use std::collections::HashMap;

use dwell_query::Analysis;
use dwell_query::history::band_kind::BandKind;
use dwell_query::history::groups::{GroupBucket, together};
use dwell_query::history::pieces::{HistoryPiece, for_each_off_cpu, for_each_piece, for_each_run};
use dwell_query::history::pyramid::BUCKETS;
use dwell_query::history::states::{STATES, TimelineState, shown};
use dwell_work::parallel;

use crate::timeline::band_tile::{BandTile, MANY};

/// The pixels of all bands.
struct Pixels {
    /// Their edges: one more than there are.
    edges: Vec<u64>,
    /// Pixels per ns.
    scale: f64,
}

impl Pixels {
    fn new((from, to, width): (u64, u64, usize)) -> Self {
        let width = width.min(usize::try_from(to - from).unwrap_or(usize::MAX));
        let edge = |pixel: usize| from + (u128::from(to - from) * pixel as u128 / width.max(1) as u128) as u64;
        Self { edges: (0..=width).map(edge).collect(), scale: width as f64 / (to - from).max(1) as f64 }
    }

    fn count(&self) -> usize {
        self.edges.len() - 1
    }

    fn of(&self, time: u64) -> usize {
        let guess = ((time - self.edges[0]) as f64 * self.scale) as usize;
        let mut pixel = guess.min(self.count().saturating_sub(1));
        while pixel > 0 && self.edges[pixel] > time {
            pixel -= 1;
        }
        while pixel + 1 < self.count() && self.edges[pixel + 1] <= time {
            pixel += 1;
        }
        pixel
    }
}

/// What is in one pixel of a band.
#[derive(Clone)]
struct Cell {
    /// Time by state.
    times: [u64; STATES],
    /// What has the longest stretch: an object, or a CPU's thread.
    owner: (u64, u32),
}

const EMPTY: Cell = Cell { times: [0; STATES], owner: (0, u32::MAX) };

/// One band; no cells: nothing was done.
#[derive(Clone, Default)]
struct Grid {
    cells: Vec<Cell>,
}

impl Grid {
    fn add(&mut self, pixels: &Pixels, state: TimelineState, (mut from, to): (u64, u64), owner: u32) {
        if self.cells.is_empty() {
            self.cells = vec![EMPTY; pixels.count()];
        }
        let mut pixel = pixels.of(from);
        while from < to && pixel < self.cells.len() {
            let end = pixels.edges[pixel + 1].min(to);
            let (cell, ns) = (&mut self.cells[pixel], end.saturating_sub(from));
            cell.times[state.index()] += ns;
            if ns > cell.owner.0 {
                cell.owner = (ns, owner);
            }
            from = from.max(end);
            pixel += 1;
        }
    }

    /// Adds what other threads did.
    fn merge(&mut self, other: Self) {
        if self.cells.is_empty() {
            *self = other;
            return;
        }
        for (ours, theirs) in self.cells.iter_mut().zip(other.cells) {
            ours.times.iter_mut().zip(theirs.times).for_each(|(ours, theirs)| *ours += theirs);
            if theirs.owner.0 > ours.owner.0 {
                ours.owner = theirs.owner;
            }
        }
    }

    fn band(&self, id: u32, pixels: &Pixels, is_sliced: bool) -> BandTile {
        let mut band = BandTile { id, ..BandTile::default() };
        for (pixel, cell) in self.cells.iter().enumerate() {
            let Some(state) = shown(&cell.times) else { continue };
            let (from, to) = (pixels.edges[pixel], pixels.edges[pixel + 1]);
            let states = cell.times.iter().filter(|ns| **ns > 0).count();
            let full = !is_sliced && cell.times.iter().sum::<u64>() >= to - from;
            let flags = if states > 1 || !full { MANY } else { 0 };
            join(&mut band, HistoryPiece { state, from, to, object: cell.owner.1, row: None }, flags);
        }
        band
    }
}

/// Appends a segment, or makes the last one longer.
fn join(band: &mut BandTile, piece: HistoryPiece, flags: u8) {
    let last = band.end.len().wrapping_sub(1);
    let joins = band.end.last() == Some(&piece.from)
        && band.state[last] == piece.state.index() as u8
        && (band.flags[last], band.object[last]) == (flags, piece.object);
    match joins {
        true => band.end[last] = piece.to,
        false => band.push(piece, flags),
    }
}

/// Intervals from which not all are looked at.
const MOST_ROWS: usize = 1 << 19;
/// How many of them are then.
const FEW_ROWS: usize = 1 << 17;
/// Pixels then.
const FEW_PIXELS: usize = 512;

/// Draws the bands of processes, objects or CPUs: one pass over the intervals in the range. Where these are too many,
/// from the index's buckets; where these are too wide, pixels are wider and a part of each stands for it.
pub fn grid_bands(
    analysis: &Analysis,
    by: BandKind,
    ids: &[u32],
    (from, to, width): (u64, u64, usize),
) -> Vec<BandTile> {
    let off_cpu = &analysis.events().off_cpu;
    let threads = analysis.trace.threads.tid.len();
    let rows: usize = (0..threads).map(|thread| off_cpu.begun(thread, from, to).len()).sum();
    if rows <= MOST_ROWS {
        return drawn(analysis, by, ids, ((from, to, width), 1.0));
    }
    let coarse: Vec<Option<BandTile>> =
        ids.iter().map(|id| coarse_band(analysis, (by, *id), (from, to, width))).collect();
    let others: Vec<u32> = ids.iter().zip(&coarse).filter(|(_, band)| band.is_none()).map(|(id, _)| *id).collect();
    let wide = (from, to, width.min(FEW_PIXELS));
    let mut others = drawn(analysis, by, &others, (wide, FEW_ROWS as f64 / rows as f64)).into_iter();
    coarse.into_iter().filter_map(|band| band.or_else(|| others.next())).collect()
}

/// A band from the index's buckets, when it has any and they are not much wider than pixels.
pub(crate) fn coarse_band(
    analysis: &Analysis,
    (by, id): (BandKind, u32),
    (from, to, width): (u64, u64, usize),
) -> Option<BandTile> {
    let pyramids = analysis.pyramids()?;
    let (first, behind) = (pyramids.bucket_of(from), pyramids.bucket_of(to.saturating_sub(1)) + 1);
    if behind - first < FEW_PIXELS as u64 || behind > BUCKETS {
        return None;
    }
    let buckets = pyramids.groups.get(by, id)?;
    let per_pixel = ((to - from) / width.max(1) as u64 / pyramids.bucket_ns().max(1)).max(1);
    let place = |bucket: u64| buckets.partition_point(|known| u64::from(known.bucket) < bucket);
    let mut band = BandTile { id, ..BandTile::default() };
    for group in buckets[place(first)..place(behind)].chunk_by(|a, b| pixel(a, per_pixel) == pixel(b, per_pixel)) {
        let number = pixel(&group[0], per_pixel);
        let (begin, end) = ((number * per_pixel).max(first), ((number + 1) * per_pixel).min(behind));
        let Some((state, object, is_pure)) = together(group, end - begin) else { continue };
        let (from, to) = (pyramids.edge(begin).max(from), pyramids.edge(end).min(to));
        if from < to {
            let flags = if is_pure { 0 } else { MANY };
            join(&mut band, HistoryPiece { state, from, to, object, row: None }, flags);
        }
    }
    Some(band)
}

fn pixel(bucket: &GroupBucket, per_pixel: u64) -> u64 {
    u64::from(bucket.bucket) / per_pixel
}

/// Bands pixel by pixel, from this part of each pixel; all threads side by side on all CPUs.
fn drawn(analysis: &Analysis, by: BandKind, ids: &[u32], (range, part): ((u64, u64, usize), f64)) -> Vec<BandTile> {
    let pixels = Pixels::new(range);
    if ids.is_empty() || pixels.count() == 0 {
        return ids.iter().map(|id| BandTile { id: *id, ..BandTile::default() }).collect();
    }
    let spans: Vec<(u64, u64)> = match part < 1.0 {
        false => vec![(range.0, range.1)],
        true => {
            let slice = |edges: &[u64]| (edges[0], edges[0] + (((edges[1] - edges[0]) as f64 * part) as u64).max(1));
            pixels.edges.windows(2).map(slice).collect()
        }
    };
    let numbers: HashMap<u32, usize> = ids.iter().enumerate().map(|(number, id)| (*id, number)).collect();
    let threads = analysis.trace.threads.tid.len();
    let workers = parallel::workers().min(threads);
    let parts = parallel::map(workers, |worker| {
        let mut grids = vec![Grid::default(); ids.len()];
        for thread in (worker..threads).step_by(workers) {
            for span in &spans {
                add_thread(analysis, (by, thread), *span, |id, state, times, owner| {
                    if let Some(number) = numbers.get(&id) {
                        grids[*number].add(&pixels, state, times, owner);
                    }
                });
            }
        }
        grids
    });
    let mut grids = vec![Grid::default(); ids.len()];
    parts.into_iter().flat_map(|part| part.into_iter().enumerate()).for_each(|(at, grid)| grids[at].merge(grid));
    ids.iter().zip(&grids).map(|(id, grid)| grid.band(*id, &pixels, part < 1.0)).collect()
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
        BandKind::Object => for_each_off_cpu(analysis, thread, span, |piece| {
            tell(piece.object, piece.state, (piece.from, piece.to), piece.object);
        }),
        BandKind::Task => {}
        BandKind::Process | BandKind::Thread => {
            let process = analysis.trace.threads.process[thread].raw();
            for_each_piece(analysis, thread, span, |piece| {
                tell(process, piece.state, (piece.from, piece.to), piece.object);
            });
        }
    }
}
