//! One drawn band: segments in order of time, and samples.

use crate::history::pieces::Piece;

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
    pub(super) fn push(&mut self, piece: Piece, flags: u8) {
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
}
