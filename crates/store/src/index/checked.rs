//! A mapped file whose bytes are compared with their checksums before they are first used, in pieces: a large index is
//! opened at once, and a flipped bit changes no number without being noticed.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use memmap2::Mmap;

/// Bytes of a piece, which has a checksum. Reading one number costs a few microseconds at most.
pub(crate) const PIECE: usize = 16 << 10;

/// See the module.
#[derive(Debug)]
pub(crate) struct CheckedIndex {
    map: Mmap,
    /// The checksummed bytes; what is before them has a checksum of its own.
    covered: Range<usize>,
    sums: Vec<u32>,
    /// A bit for each piece that was compared.
    seen: Vec<AtomicU64>,
    is_damaged: AtomicBool,
}

impl CheckedIndex {
    /// The pieces that begin at `covered.start` have these checksums. `None` when their number is another.
    pub fn new(map: Mmap, covered: Range<usize>, sums: Vec<u32>) -> Option<Self> {
        let fits = covered.end <= map.len() && sums.len() == covered.len().div_ceil(PIECE);
        let seen = (0..sums.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        fits.then_some(Self { map, covered, sums, seen, is_damaged: AtomicBool::new(false) })
    }

    /// The bytes, compared or not.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Compares the pieces that these bytes lie in, unless that was done.
    #[inline]
    pub fn check(&self, bytes: Range<usize>) {
        let first = bytes.start.saturating_sub(self.covered.start) / PIECE;
        let behind = bytes.end.saturating_sub(self.covered.start).div_ceil(PIECE);
        for piece in first..behind {
            let seen = self.seen.get(piece / 64).map_or(0, |bits| bits.load(Ordering::Relaxed));
            if seen >> (piece % 64) & 1 == 0 {
                self.compare(piece);
            }
        }
    }

    #[cold]
    fn compare(&self, piece: usize) {
        let Some(sum) = self.sums.get(piece) else { return };
        let begin = self.covered.start + piece * PIECE;
        let bytes = self.map.get(begin..self.covered.end.min(begin + PIECE));
        if bytes.map(crc32fast::hash) != Some(*sum) {
            self.is_damaged.store(true, Ordering::Relaxed);
        }
        if let Some(bits) = self.seen.get(piece / 64) {
            bits.fetch_or(1 << (piece % 64), Ordering::Relaxed);
        }
    }

    /// Whether any piece that was used has another checksum.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Relaxed)
    }

    /// The map itself.
    pub fn map(&self) -> &Mmap {
        &self.map
    }
}

/// The checksums of a file while it is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileChecksums {
    whole: Vec<u32>,
    piece: crc32fast::Hasher,
    filled: usize,
}

impl FileChecksums {
    /// Goes on with these bytes.
    pub fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PIECE - self.filled));
            self.piece.update(now);
            self.filled += now.len();
            if self.filled == PIECE {
                self.whole.push(std::mem::take(&mut self.piece).finalize());
                self.filled = 0;
            }
            bytes = later;
        }
    }

    /// Those of the bytes so far.
    pub fn so_far(&self) -> Vec<u32> {
        let last = (self.filled > 0).then(|| self.piece.clone().finalize());
        self.whole.iter().copied().chain(last).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::index::column::map;

    #[test]
    fn a_flipped_bit_is_noticed_when_it_is_used() {
        let bytes: Vec<u8> = (0..5 * PIECE + 100).map(|at| ((at * 7919) >> 3) as u8).collect();
        let mut sums = FileChecksums::default();
        bytes[10..].chunks(PIECE / 3 + 5).for_each(|part| sums.add(part));
        let checked = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            CheckedIndex::new(map(&file).unwrap(), 10..bytes.len(), sums.so_far()).unwrap()
        };
        let sound = checked(&bytes);
        sound.check(0..bytes.len() + 1000);
        assert!(!sound.is_damaged());
        let mut flipped = bytes.clone();
        flipped[10 + 2 * PIECE] ^= 4;
        let damaged = checked(&flipped);
        damaged.check(0..10 + 2 * PIECE);
        damaged.check(10 + 3 * PIECE..bytes.len());
        assert!(!damaged.is_damaged(), "not used yet");
        damaged.check(10 + 2 * PIECE..10 + 2 * PIECE + 1);
        assert!(damaged.is_damaged());
        let file = tempfile::tempfile().unwrap();
        file.set_len(100).unwrap();
        assert!(CheckedIndex::new(map(&file).unwrap(), 10..100, Vec::new()).is_none());
    }
}
