//! The drawing of a part of the timeline: for each band, what was done when, as fine as the pixels are.

use dwell_query::Analysis;
use dwell_query::history::band_kind::BandKind;
use dwell_query::history::pieces::{HistoryPiece, for_each_piece};
use dwell_query::history::pyramid::ThreadBucket;
use dwell_query::history::states::{STATES, TimelineState};
use dwell_query::question::windows::pauses;

use crate::timeline::band_tile::{BandTile, CLIPPED, MANY};
use crate::timeline::grid::grid_bands;

/// Widest tile, pixels.
const WIDEST: usize = 1 << 14;

/// What to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileRequest {
    /// Start, ns since the start of the collection.
    pub from: u64,
    /// End.
    pub to: u64,
    /// Pixels that it is drawn on.
    pub width: usize,
    /// What a band is.
    pub by: BandKind,
    /// Bands: rows of the threads, processes or objects table, or CPU numbers.
    pub bands: Vec<u32>,
}

/// A drawing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tile {
    /// Start, ns.
    pub from: u64,
    /// End, ns.
    pub to: u64,
    /// Whether every segment is one interval with its own start and end.
    pub exact: bool,
    /// The bands, in the order asked for.
    pub bands: Vec<BandTile>,
}

/// Draws a part of the timeline. An empty or inverted range gives empty bands.
pub fn tile(analysis: &Analysis, request: &TileRequest) -> Tile {
    let to = request.to.min(analysis.elapsed_ns());
    let from = request.from.min(to);
    let width = request.width.clamp(1, WIDEST);
    let mut bands: Vec<BandTile> = match request.by {
        BandKind::Thread => request.bands.iter().map(|id| thread_band(analysis, *id, (from, to), width)).collect(),
        // What is drawn in them is the tasks.
        BandKind::Task => request.bands.iter().map(|id| BandTile { id: *id, ..BandTile::default() }).collect(),
        by => grid_bands(analysis, by, &request.bands, (from, to, width)),
    };
    for pause in pauses(analysis.trace()).into_iter().filter(|pause| pause.0 < to && pause.1 > from) {
        bands.iter_mut().for_each(|band| band.pause(pause));
    }
    let exact = bands.iter().all(|band| band.flags.iter().all(|flags| flags & MANY == 0));
    Tile { from, to, exact, bands }
}

fn thread_band(analysis: &Analysis, id: u32, range: (u64, u64), width: usize) -> BandTile {
    let thread = id as usize;
    let pixel_ns = (range.1 - range.0).div_ceil(width as u64).max(1);
    if let Some(band) = coarse_band(analysis, id, range, width) {
        return band;
    }
    let mut merger = Merger::new(BandTile { id, ..BandTile::default() }, pixel_ns);
    for_each_piece(analysis, thread, range, |piece| merger.add(piece));
    let mut band = merger.finish();
    mark_clipped(analysis, thread, range, &mut band);
    samples(analysis, thread, (range.0, range.1, width), &mut band);
    band
}

/// Intervals per pixel from which buckets are drawn instead.
const COARSE: usize = 8;

/// The band from the index's buckets, when these are no longer than pixels and there are many more intervals.
fn coarse_band(analysis: &Analysis, id: u32, (from, to): (u64, u64), width: usize) -> Option<BandTile> {
    let thread = id as usize;
    let pyramids = analysis.pyramids()?;
    let pixel_ns = (to - from) / width as u64;
    let (start, end) = analysis.life(thread)?;
    let (first, buckets) = pyramids.of_thread(thread);
    let off_cpu = &analysis.events().off_cpu;
    let rows = off_cpu.begun(thread, from, to).len();
    let (from, to) = (from.max(start), to.min(end));
    if buckets.is_empty() || pyramids.bucket_ns() > pixel_ns || rows < COARSE * width || from >= to {
        return None;
    }
    let per_pixel = (pixel_ns / pyramids.bucket_ns().max(1)).max(1);
    let mut band = BandTile { id, ..BandTile::default() };
    let (mut bucket, last) = (pyramids.bucket_of(from), pyramids.bucket_of(to - 1));
    while bucket <= last {
        let next = ((bucket / per_pixel + 1) * per_pixel).min(last + 1);
        let part = |bucket: u64| bucket.saturating_sub(first).min(buckets.len() as u64) as usize;
        let group = &buckets[part(bucket)..part(next)];
        let span = (pyramids.edge(bucket).max(from), pyramids.edge(next).min(to));
        push_group(&mut band, group, span);
        bucket = next;
    }
    Some(band)
}

/// One segment for several buckets.
fn push_group(band: &mut BandTile, group: &[ThreadBucket], (from, to): (u64, u64)) {
    if from >= to {
        return;
    }
    let mut times = [0u64; STATES];
    let mut object = (0, u32::MAX);
    for bucket in group {
        let parts =
            [(bucket.run_state, bucket.ran), (bucket.wait_state, bucket.waited), (bucket.queue_state, bucket.queued)];
        for (state, part) in parts {
            if let Some(time) = times.get_mut(usize::from(state)) {
                *time += u64::from(part);
            }
        }
        if bucket.waited > object.0 {
            object = (bucket.waited, bucket.object);
        }
    }
    let most = (0..STATES).rev().max_by_key(|state| times[*state]).unwrap_or(0);
    let state = TimelineState::ALL[most];
    let object = if state.is_running() { u32::MAX } else { object.1 };
    let is_pure = group.iter().all(|bucket| bucket.is_pure != 0) && times.iter().filter(|time| **time > 0).count() == 1;
    band.push(HistoryPiece { state, from, to, object, row: None }, if is_pure { 0 } else { MANY });
    let samples: u32 = group.iter().map(|bucket| u32::from(bucket.samples)).sum();
    if samples > 0 {
        band.sample_time.push(from.midpoint(to));
        band.sample_density.push(u8::try_from(samples).unwrap_or(u8::MAX));
    }
}

/// The first and last segment go on outside when the thread lives there and its interval does.
fn mark_clipped(analysis: &Analysis, thread: usize, (from, to): (u64, u64), band: &mut BandTile) {
    let mut reaches = |at: u64, index: usize| {
        let mut across = false;
        for_each_piece(analysis, thread, (at.saturating_sub(1), at + 1), |piece| {
            across |= piece.from < at && piece.to > at;
        });
        if let Some(flags) = band.flags.get_mut(index).filter(|_| across) {
            *flags |= CLIPPED;
        }
    };
    let last = band.start.len().wrapping_sub(1);
    if band.start.first() == Some(&from) {
        reaches(from, 0);
    }
    if band.end.last() == Some(&to) {
        reaches(to, last);
    }
}

/// Merges what is shorter than a pixel.
struct Merger {
    band: BandTile,
    pixel_ns: u64,
    from: u64,
    to: u64,
    pieces: usize,
    times: [u64; STATES],
    /// Longest piece of each state: its object is shown.
    longest: [(u64, u32); STATES],
}

impl Merger {
    fn new(band: BandTile, pixel_ns: u64) -> Self {
        let longest = [(0, u32::MAX); STATES];
        Self { band, pixel_ns, from: 0, to: 0, pieces: 0, times: [0; STATES], longest }
    }

    fn add(&mut self, piece: HistoryPiece) {
        let ns = piece.to - piece.from;
        if self.pieces > 0 && piece.from != self.to {
            self.flush();
        }
        if ns >= self.pixel_ns {
            self.flush();
            self.band.push(piece, 0);
            return;
        }
        if self.pieces == 0 {
            self.from = piece.from;
        }
        let state = piece.state.index();
        self.times[state] += ns;
        if ns > self.longest[state].0 {
            self.longest[state] = (ns, piece.object);
        }
        self.pieces += 1;
        self.to = piece.to;
        if self.to - self.from >= self.pixel_ns {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.pieces == 0 {
            return;
        }
        let most = (0..STATES).rev().max_by_key(|state| self.times[*state]).unwrap_or(0);
        let state = TimelineState::ALL[most];
        let piece = HistoryPiece { state, from: self.from, to: self.to, object: self.longest[most].1, row: None };
        self.band.push(piece, if self.pieces > 1 { MANY } else { 0 });
        self.pieces = 0;
        self.times = [0; STATES];
        self.longest = [(0, u32::MAX); STATES];
    }

    fn finish(mut self) -> BandTile {
        self.flush();
        self.band
    }
}

/// The samples of a thread, one a pixel.
fn samples(analysis: &Analysis, thread: usize, (from, to, width): (u64, u64, usize), band: &mut BandTile) {
    let samples = &analysis.events().samples;
    let rows = samples.of(thread);
    let mut at = samples.partition_point(rows.clone(), |time| time < from);
    let end = samples.partition_point(at..rows.end, |time| time < to);
    let (span, width) = (u128::from(to - from), width as u128);
    while at < end {
        let time = samples.time_ns(at);
        let pixel = u128::from(time - from) * width / span;
        let edge = from + ((pixel + 1) * span).div_ceil(width) as u64;
        let count = (samples.partition_point(at..end, |time| time < edge) - at).max(1);
        band.sample_time.push(time);
        band.sample_density.push(u8::try_from(count).unwrap_or(u8::MAX));
        at += count;
    }
}
