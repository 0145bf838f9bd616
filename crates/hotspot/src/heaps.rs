//! The heaps of a code cache, and where blocks begin in them: a heap's segment map has a byte for each segment, which is zero
//! where a block begins.

use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::memory::{RemoteMemory, number_at, word_at};

/// A code cache has three heaps, or one.
const MOST_HEAPS: u32 = 16;
/// More is not believed of all heaps: a code cache has 2 GiB at most.
const MOST_HEAP_BYTES: u64 = 1 << 31;
/// Segments have 64 or 128 bytes.
const SEGMENT_SHIFTS: std::ops::RangeInclusive<u32> = 6..=12;
/// Blocks of all heaps that are looked at; the largest programs seen have 30,000.
pub const MOST_BLOCKS: usize = 400_000;
/// Read at once of a segment map.
const MAP_PIECE_BYTES: usize = 64 << 10;

/// Memory that code lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeRegion {
    /// Its first byte.
    pub start: u64,
    /// Behind its last that is in use.
    pub end: u64,
}

/// A heap.
#[derive(Clone, Copy, Debug)]
pub struct Heap {
    pub region: CodeRegion,
    segment_map: u64,
    segment_shift: u32,
}

/// All heaps that hold something.
pub fn heaps(memory: &mut impl RemoteMemory, layout: &Layout) -> Result<Vec<Heap>> {
    let array = word_at(memory, layout.heaps);
    if array == 0 {
        return Err(Error::Unreadable { what: "the code cache" }); // it has not been made yet
    }
    let count = number_at(memory, array.wrapping_add(layout.array_length));
    if count > MOST_HEAPS {
        return Err(Error::Implausible { what: "the number of code heaps" });
    }
    let data = word_at(memory, array.wrapping_add(layout.array_data));
    let heaps: Vec<Heap> =
        (0..u64::from(count)).map(|index| heap(memory, layout, data.wrapping_add(index * 8))).collect::<Result<_>>()?;
    if heaps.iter().map(|heap| heap.region.end - heap.region.start).sum::<u64>() > MOST_HEAP_BYTES {
        return Err(Error::Implausible { what: "the size of the code heaps" });
    }
    Ok(heaps)
}

fn heap(memory: &mut impl RemoteMemory, layout: &Layout, place: u64) -> Result<Heap> {
    let heap = word_at(memory, place);
    let mut field = |offset: u64| word_at(memory, heap.wrapping_add(offset));
    let start = field(layout.heap_memory + layout.space_low);
    let end = field(layout.heap_memory + layout.space_high);
    let segment_map = field(layout.heap_segments + layout.space_low);
    let segment_shift = number_at(memory, heap.wrapping_add(layout.heap_segment_shift));
    let is_plausible = start <= end && end - start <= MOST_HEAP_BYTES && SEGMENT_SHIFTS.contains(&segment_shift);
    if start == 0 || !is_plausible {
        return Err(Error::Implausible { what: "a code heap" });
    }
    Ok(Heap { region: CodeRegion { start, end }, segment_map, segment_shift })
}

impl Heap {
    /// Where `most` blocks begin, used or free, ascending.
    pub fn block_starts(&self, memory: &mut impl RemoteMemory, most: usize) -> Vec<u64> {
        let segments = ((self.region.end - self.region.start) >> self.segment_shift) as usize;
        let pieces: Vec<_> = (0..segments)
            .step_by(MAP_PIECE_BYTES)
            .map(|at| (self.segment_map.wrapping_add(at as u64), MAP_PIECE_BYTES.min(segments - at)))
            .collect();
        let map = memory.read_pieces(&pieces);
        let begins = map.iter().enumerate().filter(|(_, mark)| **mark == 0);
        begins.map(|(segment, _)| self.region.start + ((segment as u64) << self.segment_shift)).take(most).collect()
    }
}
