//! Rows of numbers that take as many bits as they need, and that can still be read one by one.
//!
//! A chunk is [`CHUNK`] rows of one thread. Its head has the least value of each column and how many bits what is above
//! it takes; the rows follow one after the other, all columns of a row together. The chunks lie in the order in which
//! they became full, so that what happened at one time lies together, whichever thread it was.

use std::ops::Range;

use super::column::Column;

/// Rows of a chunk.
pub const CHUNK: usize = 128;
/// Bytes read behind the place where a number begins.
const WINDOW: usize = 16;
/// Bits of a head's word that tell where the chunk begins; those above, how many bits a row has.
const PLACE_BITS: u32 = 48;

/// Rows of `N` columns, at most 8. Of each chunk the first column is in order.
#[derive(Debug, Default)]
pub struct Packed<const N: usize> {
    /// The heads of the chunks: `N` least values, place and bits of a row, bits of each column.
    pub heads: Column<u64>,
    /// The rows.
    pub bytes: Column<u8>,
}

impl<const N: usize> Packed<N> {
    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        self.heads.len() / (N + 2)
    }

    fn head(&self, chunk: usize) -> Option<&[u64]> {
        let at = chunk.checked_mul(N + 2)?;
        self.heads.get(at..at.checked_add(N + 2)?)
    }

    /// A number; of a row that is not there, in a damaged file, any.
    #[inline]
    pub fn get(&self, column: usize, row: usize) -> u64 {
        let Some(head) = self.head(row / CHUNK) else { return 0 };
        let widths = head[N + 1].to_le_bytes();
        let before: usize = widths[..column].iter().map(|bits| usize::from(*bits)).sum();
        let bit = (row % CHUNK) * (head[N] >> PLACE_BITS) as usize + before;
        let place = place(head[N]);
        let bytes = self.bytes.checked(place + bit / 8..place + bit / 8 + WINDOW);
        head[column].wrapping_add(bits(bytes, place, bit) & mask(widths[column]))
    }

    /// The first `M` numbers of a row.
    #[inline]
    pub fn first<const M: usize>(&self, row: usize) -> [u64; M] {
        let Some(head) = self.head(row / CHUNK) else { return [0; M] };
        let (widths, place, stride) = (head[N + 1].to_le_bytes(), place(head[N]), (head[N] >> PLACE_BITS) as usize);
        let mut bit = (row % CHUNK) * stride;
        let bytes = self.bytes.checked(place + bit / 8..place + (bit + stride) / 8 + WINDOW);
        std::array::from_fn(|column| {
            let above = bits(bytes, place, bit) & mask(widths[column]);
            bit += usize::from(widths[column]);
            head[column].wrapping_add(above)
        })
    }

    /// Tells these columns of each of `rows` in order; several times as fast as one number after the other.
    pub fn for_each<const M: usize>(
        &self,
        rows: Range<usize>,
        columns: [usize; M],
        mut visit: impl FnMut(usize, [u64; M]),
    ) {
        let mut row = rows.start;
        while row < rows.end {
            let end = ((row / CHUNK + 1) * CHUNK).min(rows.end);
            let Some(head) = self.head(row / CHUNK) else { return };
            let widths = head[N + 1].to_le_bytes();
            let parts = columns.map(|column| {
                let before: usize = widths[..column].iter().map(|bits| usize::from(*bits)).sum();
                (before, mask(widths[column]), head[column])
            });
            let (place, stride) = (place(head[N]), (head[N] >> PLACE_BITS) as usize);
            let byte = |row: usize| place + row * stride / 8;
            let bytes = self.bytes.checked(byte(row % CHUNK)..byte((end - 1) % CHUNK + 1) + WINDOW);
            for row in row..end {
                let bit = (row % CHUNK) * stride;
                visit(
                    row,
                    parts.map(|(before, mask, least)| least.wrapping_add(bits(bytes, place, bit + before) & mask)),
                );
            }
            row = end;
        }
    }

    /// The first of `rows`, which are one thread's, for whose first column `is_before` no longer holds.
    pub fn partition_point(&self, rows: Range<usize>, is_before: impl Fn(u64) -> bool) -> usize {
        let least = |chunk: usize| self.head(chunk).map_or(0, |head| head[0]);
        let behind = first(rows.start / CHUNK..rows.end.div_ceil(CHUNK), |chunk| is_before(least(chunk)));
        let from = (behind.saturating_sub(1) * CHUNK).clamp(rows.start, rows.end.max(rows.start));
        let to = (behind * CHUNK).clamp(from, rows.end.max(from));
        first(from..to, |row| is_before(self.get(0, row)))
    }
}

/// Where a chunk's rows begin, by the word of its head.
fn place(word: u64) -> usize {
    (word & ((1 << PLACE_BITS) - 1)) as usize
}

/// 64 bits, the lowest of which is `bit` bits behind byte `place`; none set where the file ends before.
#[inline]
fn bits(bytes: &[u8], place: usize, bit: usize) -> u64 {
    let at = place + bit / 8;
    let window = bytes.get(at..at + WINDOW).and_then(|bytes| <[u8; WINDOW]>::try_from(bytes).ok());
    (u128::from_le_bytes(window.unwrap_or_default()) >> (bit % 8)) as u64
}

fn mask(bits: u8) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (64 - bits.min(64)) }
}

/// The first number for which `is_before` no longer holds.
fn first(mut numbers: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    while numbers.start < numbers.end {
        let middle = numbers.start.midpoint(numbers.end);
        if is_before(middle) { numbers.start = middle + 1 } else { numbers.end = middle }
    }
    numbers.start
}

/// Packs rows that come thread by thread or mixed, each thread's in order.
pub struct Packer<const N: usize> {
    /// Rows of each thread, as they are numbered when all have come.
    pub ranges: Vec<[u64; 2]>,
    /// Heads of all chunks; zero for those that have not come.
    pub heads: Vec<u64>,
    /// Packed rows that were not taken yet.
    pub bytes: Vec<u8>,
    /// Bytes that were taken.
    taken: u64,
    open: Vec<Open<N>>,
}

/// The rows of a thread that are no chunk yet.
#[derive(Clone)]
struct Open<const N: usize> {
    chunk: usize,
    /// Rows still to come.
    ahead: u64,
    rows: Vec<[u64; N]>,
}

impl<const N: usize> Packer<N> {
    /// For threads with so many rows each.
    pub fn new(counts: &[u64]) -> Self {
        let mut chunks = 0;
        let (mut ranges, mut open) = (Vec::with_capacity(counts.len()), Vec::with_capacity(counts.len()));
        for count in counts {
            let begin = (chunks * CHUNK) as u64;
            ranges.push([begin, begin + count]);
            open.push(Open { chunk: chunks, ahead: *count, rows: Vec::new() });
            chunks += count.div_ceil(CHUNK as u64) as usize;
        }
        Self { ranges, heads: vec![0; chunks * (N + 2)], bytes: Vec::new(), taken: 0, open }
    }

    /// Adds a row of a thread; one more than announced, in a file that changed meanwhile, is left out.
    pub fn push(&mut self, thread: usize, row: [u64; N]) {
        let Some(open) = self.open.get_mut(thread).filter(|open| open.ahead > 0) else { return };
        open.ahead -= 1;
        open.rows.push(row);
        if open.rows.len() == CHUNK {
            self.close(thread);
        }
    }

    fn close(&mut self, thread: usize) {
        let open = &mut self.open[thread];
        let head = open.chunk * (N + 2);
        open.chunk += 1;
        if let Some(head) = self.heads.get_mut(head..head + N + 2) {
            head[N] = self.taken + self.bytes.len() as u64;
            pack(&open.rows, head, &mut self.bytes);
        }
        open.rows.clear();
    }

    /// Packed rows so far; they go on behind these.
    pub fn take(&mut self) -> Vec<u8> {
        self.taken += self.bytes.len() as u64;
        std::mem::take(&mut self.bytes)
    }

    /// No more rows come.
    pub fn finish(&mut self) {
        for thread in 0..self.open.len() {
            if !self.open[thread].rows.is_empty() {
                self.close(thread);
            }
        }
        self.open.clear();
        self.bytes.extend([0; WINDOW]);
    }

    /// Adds to a column of each thread's rows.
    pub fn shift(&mut self, column: usize, by: impl Fn(usize) -> u64) {
        for (thread, [begin, end]) in self.ranges.iter().enumerate() {
            for chunk in *begin as usize / CHUNK..(*end as usize).div_ceil(CHUNK) {
                let least = &mut self.heads[chunk * (N + 2) + column];
                *least = least.wrapping_add(by(thread));
            }
        }
    }

    /// The rows, in memory.
    pub fn packed(self) -> (Vec<[u64; 2]>, Packed<N>) {
        (self.ranges, Packed { heads: self.heads.into(), bytes: self.bytes.into() })
    }
}

/// Appends rows; the head has their place already.
fn pack<const N: usize>(rows: &[[u64; N]], head: &mut [u64], out: &mut Vec<u8>) {
    let mut widths = [0u8; 8];
    for column in 0..N {
        let values = || rows.iter().map(|row| row[column]);
        let (least, most) = (values().min().unwrap_or(0), values().max().unwrap_or(0));
        head[column] = least;
        widths[column] = (64 - (most - least).leading_zeros()) as u8;
    }
    head[N] |= widths.iter().map(|bits| u64::from(*bits)).sum::<u64>() << PLACE_BITS;
    head[N + 1] = u64::from_le_bytes(widths);
    let (mut word, mut bits) = (0u128, 0u32);
    for row in rows {
        for column in 0..N {
            word |= u128::from(row[column] - head[column]) << bits;
            bits += u32::from(widths[column]);
            while bits >= 8 {
                out.push(word as u8);
                (word, bits) = (word >> 8, bits - 8);
            }
        }
    }
    if bits > 0 {
        out.push(word as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were() {
        let value = |thread: u64, row: u64| {
            let noise = (thread * 7919 + row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            [row * 1_000_000 + thread, noise >> (row % 64), noise, 7, thread]
        };
        let counts = [300u64, 0, 128, 1, 1000];
        let mut packer = Packer::<5>::new(&counts);
        let mut file = Vec::new();
        for row in 0..1000 {
            (0..5u64).filter(|thread| row < counts[*thread as usize]).for_each(|thread| {
                packer.push(thread as usize, value(thread, row));
            });
            file.extend(packer.take());
        }
        packer.finish();
        file.extend(packer.take());
        packer.shift(4, |thread| thread as u64 * 10);
        packer.bytes = file;
        let (ranges, packed) = packer.packed();
        for (thread, [begin, end]) in ranges.iter().enumerate() {
            assert_eq!(end - begin, counts[thread]);
            let rows = *begin as usize..*end as usize;
            for row in rows.clone() {
                let mut expected = value(thread as u64, row as u64 - begin);
                expected[4] += thread as u64 * 10;
                let found: [u64; 5] = std::array::from_fn(|column| packed.get(column, row));
                assert_eq!(found, expected);
                assert_eq!(packed.first::<3>(row), expected[..3]);
                assert_eq!(packed.partition_point(rows.clone(), |time| time < expected[0]), row);
                assert_eq!(packed.partition_point(rows.start..row, |_| true), row);
            }
            let mut visited = Vec::new();
            packed.for_each(rows.clone(), [2, 0], |row, values| visited.push((row, values)));
            let one_by_one = rows.clone().map(|row| (row, [packed.get(2, row), packed.get(0, row)]));
            assert!(visited.into_iter().eq(one_by_one));
            assert_eq!(packed.partition_point(rows.clone(), |_| false), rows.start);
            assert_eq!(packed.partition_point(rows.clone(), |_| true), rows.end);
        }
        assert_eq!(packed.get(0, 1 << 40), 0);
    }
}
