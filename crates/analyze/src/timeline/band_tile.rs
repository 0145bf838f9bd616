//! One drawn band: segments in order of time, and samples.

use dwell_query::history::pieces::HistoryPiece;
use dwell_query::history::states::TimelineState;

/// A segment stands for several intervals: the state with the most time is shown.
pub const MANY: u8 = 1;
/// A segment goes on outside the tile.
pub const CLIPPED: u8 = 2;

/// One band: segments in order of time without overlap, columns of the same length; and samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BandTile {
    /// Which one.
    pub id: u32,
    /// Starts, ns.
    pub start: Vec<u64>,
    /// Ends, ns.
    pub end: Vec<u64>,
    /// What was waited on, a row of the objects table; of a CPU's band the thread that ran; `u32::MAX` for none.
    pub object: Vec<u32>,
    /// Indices into [`TimelineState::ALL`].
    pub state: Vec<u8>,
    /// [`MANY`], [`CLIPPED`].
    pub flags: Vec<u8>,
    /// Samples, one per pixel at most: time of the first one, ns.
    pub sample_time: Vec<u64>,
    /// Number of samples in that pixel, 255 for more.
    pub sample_density: Vec<u8>,
}

impl BandTile {
    pub(super) fn push(&mut self, piece: HistoryPiece, flags: u8) {
        let state = piece.state.index() as u8;
        let last = self.state.len().wrapping_sub(1);
        // Neighbours that stand for many already lose nothing by being one, and what samples or buckets cut is one.
        let same = self.state.get(last) == Some(&state) && self.end.get(last) == Some(&piece.from);
        let is_one = flags == 0 && self.flags.get(last) == Some(&0) && self.object.get(last) == Some(&piece.object);
        if same && (is_one || (flags & MANY != 0 && self.flags[last] & MANY != 0)) {
            self.end[last] = piece.to;
            return;
        }
        self.start.push(piece.from);
        self.end.push(piece.to);
        self.object.push(piece.object);
        self.state.push(state);
        self.flags.push(flags);
    }

    /// Puts a pause of the recording in the place of what the segments say of it; they say it of what goes on behind it.
    pub(super) fn pause(&mut self, (from, to): (u64, u64)) {
        let drawn = std::mem::replace(self, Self { id: self.id, ..Self::default() });
        let mut paused = None;
        for at in 0..drawn.start.len() {
            let (start, end) = (drawn.start[at], drawn.end[at]);
            if start < to && end > from {
                let since = paused.map_or(start.max(from), |(since, _)| since);
                paused = Some((since, end.min(to)));
            }
            for (start, end) in [(start, end.min(from)), (start.max(to), end)] {
                if start >= to
                    && let Some(pause) = paused.take()
                {
                    self.push_pause(pause);
                }
                if start < end {
                    self.copy(&drawn, at, (start, end));
                }
            }
        }
        if let Some(pause) = paused {
            self.push_pause(pause);
        }
        let kept = drawn.sample_time.iter().zip(&drawn.sample_density).filter(|(time, _)| !(from..to).contains(time));
        (self.sample_time, self.sample_density) = kept.map(|(time, density)| (*time, *density)).unzip();
    }

    fn push_pause(&mut self, (from, to): (u64, u64)) {
        self.push(HistoryPiece { state: TimelineState::Paused, from, to, object: u32::MAX, row: None }, 0);
    }

    /// A segment of another band, with these ends.
    fn copy(&mut self, other: &Self, at: usize, (start, end): (u64, u64)) {
        self.start.push(start);
        self.end.push(end);
        self.object.push(other.object[at]);
        self.state.push(other.state[at]);
        self.flags.push(other.flags[at]);
    }
}
