//! Rows of times by number of running threads, packed: [`ROWS`] rows at a time, column by column, each with as many
//! bits as its largest time there. Who asks for the sums of few classes adds whole columns up.
//!
//! A chunk is the number of its first row, a byte for each column that tells its bits (the first for the steps of the
//! numbers), up to a whole word, and the columns: of so many bits, as many words.

use dwell_work::stop;

/// Rows of a chunk: as many as a word has bits.
const ROWS: usize = 64;

/// Packs rows that come in order of their numbers.
pub struct Packer {
    columns: usize,
    numbers: Vec<u64>,
    /// Column by column.
    times: Vec<[u64; ROWS]>,
    words: Vec<u64>,
}

impl Packer {
    /// For rows of so many times.
    pub fn new(columns: usize) -> Self {
        Self { columns, numbers: Vec::new(), times: vec![[0; ROWS]; columns], words: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, number: u64, times: &[u64]) {
        let row = self.numbers.len();
        self.numbers.push(number);
        self.times.iter_mut().zip(times).for_each(|(column, ns)| column[row] = *ns);
        if self.numbers.len() == ROWS {
            self.close();
        }
    }

    /// The packed rows.
    pub fn finish(mut self) -> Vec<u64> {
        self.close();
        self.words
    }

    /// A last chunk is filled up with rows of no step and no time.
    fn close(&mut self) {
        let Some(first) = self.numbers.first().copied() else { return };
        let mut steps = [0; ROWS];
        for (row, pair) in self.numbers.windows(2).enumerate() {
            steps[row + 1] = pair[1].wrapping_sub(pair[0]); // in order, but for damaged ones
        }
        let columns = || std::iter::once(&steps).chain(&self.times);
        let bits = |column: &[u64; ROWS]| 64 - column.iter().fold(0, |all, value| all | value).leading_zeros();
        let mut widths: Vec<u8> = columns().map(|column| bits(column) as u8).collect();
        widths.resize(widths.len().next_multiple_of(8), 0);
        self.words.push(first);
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        self.words.extend(widths.chunks(8).map(word));
        for (column, width) in columns().zip(&widths) {
            pack(column, usize::from(*width), &mut self.words);
        }
        self.numbers.clear();
        self.times.clear();
        self.times.resize(self.columns, [0; ROWS]);
    }
}

fn pack(column: &[u64; ROWS], width: usize, words: &mut Vec<u64>) {
    let (mut window, mut bits) = (0u128, 0);
    for value in column.iter().filter(|_| width > 0) {
        window |= u128::from(*value) << bits;
        bits += width;
        if bits >= 64 {
            words.push(window as u64);
            (window, bits) = (window >> 64, bits - 64);
        }
    }
}

/// Tells the values of a column of `words.len()` bits each.
#[inline]
fn unpack(words: &[u64], mut tell: impl FnMut(usize, u64)) {
    let (width, last) = (words.len(), words.len().saturating_sub(1));
    let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width.min(64)) };
    for row in 0..ROWS {
        let (at, shift) = (row * width / 64, row * width % 64);
        let window = u128::from(words[(at + 1).min(last)]) << 64 | u128::from(words[at]);
        tell(row, (window >> shift) as u64 & mask);
    }
}

/// The columns of a chunk.
struct Chunk<'a> {
    numbers: [u64; ROWS],
    /// Rows that are no filling.
    rows: usize,
    widths: &'a [u64],
    words: &'a [u64],
}

impl<'a> Chunk<'a> {
    /// The chunk that `words` begin with, and what is behind it; `None` for damaged words.
    fn first(words: &'a [u64], columns: usize) -> Option<(Self, &'a [u64])> {
        let (first, words) = words.split_first()?;
        let (widths, words) = words.split_at_checked((columns + 1).div_ceil(8))?;
        let size = (0..=columns).map(|column| width(widths, column)).sum();
        let (words, behind) = words.split_at_checked(size)?;
        let (steps, words) = words.split_at_checked(width(widths, 0))?;
        let (mut numbers, mut number, mut rows) = ([*first; ROWS], *first, 1);
        if !steps.is_empty() {
            unpack(steps, |row, step| {
                number = number.wrapping_add(step);
                numbers[row] = number;
                rows = if step > 0 { row + 1 } else { rows };
            });
        }
        Some((Self { numbers, rows, widths, words }, behind))
    }

    /// Tells the words of each column that is not all zero.
    fn for_each_column(&self, columns: usize, mut tell: impl FnMut(usize, &'a [u64])) {
        let mut words = self.words;
        for column in 0..columns {
            let width = width(self.widths, column + 1);
            if let Some((of_column, behind)) = words.split_at_checked(width).filter(|_| width > 0) {
                words = behind;
                tell(column, of_column);
            }
        }
    }
}

fn width(widths: &[u64], column: usize) -> usize {
    usize::from(widths[column / 8].to_le_bytes()[column % 8]).min(64)
}

/// Tells each row's number and its times by class, of which each column has one. Stops where the words are damaged.
pub fn for_each_by_class(mut words: &[u64], classes: &[usize], mut tell: impl FnMut(u64, &[u64; 5])) {
    while let Some((chunk, behind)) = Chunk::first(words, classes.len()) {
        stop::check();
        words = behind;
        let mut times = [[0u64; ROWS]; 5];
        chunk.for_each_column(classes.len(), |column, words| {
            let sums = &mut times[classes[column].min(4)];
            unpack(words, |row, ns| sums[row] = sums[row].wrapping_add(ns));
        });
        for (row, number) in chunk.numbers.iter().enumerate().take(chunk.rows) {
            tell(*number, &std::array::from_fn(|class| times[class][row]));
        }
    }
}

/// Tells each row's number and its one time. Stops where the words are damaged.
pub fn for_each_pair(mut words: &[u64], mut tell: impl FnMut(u64, u64)) {
    while let Some((chunk, behind)) = Chunk::first(words, 1) {
        words = behind;
        let mut times = [0u64; ROWS];
        chunk.for_each_column(1, |_, words| unpack(words, |row, ns| times[row] = ns));
        chunk.numbers.iter().zip(&times).take(chunk.rows).for_each(|(number, ns)| tell(*number, *ns));
    }
}

/// Reads row by row.
pub struct TimeRows<'a> {
    columns: usize,
    words: &'a [u64],
    numbers: Vec<u64>,
    /// Column by column.
    times: Vec<[u64; ROWS]>,
    row: usize,
}

impl<'a> TimeRows<'a> {
    /// Of packed rows of so many times.
    pub fn new(words: &'a [u64], columns: usize) -> Self {
        let mut rows = Self { columns, words, numbers: Vec::new(), times: Vec::new(), row: 0 };
        rows.read();
        rows
    }

    fn read(&mut self) {
        self.row = 0;
        self.numbers.clear();
        self.times.clear();
        self.times.resize(self.columns, [0; ROWS]);
        let Some((chunk, behind)) = Chunk::first(self.words, self.columns) else { return };
        self.words = behind;
        self.numbers.extend_from_slice(&chunk.numbers[..chunk.rows]);
        chunk.for_each_column(self.columns, |column, words| {
            unpack(words, |row, ns| self.times[column][row] = ns);
        });
    }

    /// The number of the row at hand; none behind the last one.
    fn number(&self) -> Option<u64> {
        self.numbers.get(self.row).copied()
    }

    /// Adds the times of the row at hand and goes on to the next one.
    fn add_to(&mut self, times: &mut [u64]) {
        let row = self.row;
        times.iter_mut().zip(&self.times).for_each(|(sum, column)| *sum = sum.saturating_add(column[row]));
        self.row += 1;
        if self.row == self.numbers.len() {
            self.read();
        }
    }
}

/// The rows of several parts of the time, added up.
pub fn merged(parts: &[&[u64]], columns: usize) -> Vec<u64> {
    let mut parts: Vec<TimeRows<'_>> = parts.iter().map(|words| TimeRows::new(words, columns)).collect();
    let (mut packer, mut times) = (Packer::new(columns), vec![0; columns]);
    while let Some(number) = parts.iter().filter_map(TimeRows::number).min() {
        times.fill(0);
        parts.iter_mut().filter(|rows| rows.number() == Some(number)).for_each(|rows| rows.add_to(&mut times));
        packer.push(number, &times);
    }
    packer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some rows of three times, whose sizes differ.
    fn rows(count: u64, step: u64) -> Vec<(u64, [u64; 3])> {
        let time = |row: u64, column: u64| (row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 + column) >> (row * 7 % 64);
        (0..count).map(|row| (row * step + 3, [time(row, 0), 0, time(row, 9)])).collect()
    }

    fn packed(rows: &[(u64, [u64; 3])]) -> Vec<u64> {
        let mut packer = Packer::new(3);
        rows.iter().for_each(|(number, times)| packer.push(*number, times));
        packer.finish()
    }

    #[test]
    fn rows_come_back_as_sums_by_class() {
        for count in [0, 1, 63, 64, 65, 300] {
            let rows = rows(count, 5);
            let mut told = Vec::new();
            for_each_by_class(&packed(&rows), &[4, 2, 4], |number, times| told.push((number, *times)));
            let expected = |(number, [a, b, c]): &(u64, [u64; 3])| (*number, [0, 0, *b, 0, a.wrapping_add(*c)]);
            assert_eq!(told, rows.iter().map(expected).collect::<Vec<_>>());
        }
    }

    #[test]
    fn parts_are_added_up() {
        let (few, many) = (rows(70, 6), rows(200, 4));
        let mut sums = std::collections::BTreeMap::<u64, [u64; 3]>::new();
        for (number, times) in few.iter().chain(&many) {
            let sum = sums.entry(*number).or_default();
            sum.iter_mut().zip(times).for_each(|(sum, ns)| *sum = sum.saturating_add(*ns));
        }
        let expected = packed(&sums.into_iter().collect::<Vec<_>>());
        assert_eq!(merged(&[&packed(&few), &packed(&many), &[]], 3), expected);
    }

    #[test]
    fn damaged_words_are_survived() {
        let whole = packed(&rows(300, 5));
        for seed in 0..200usize {
            let mut words = whole[..whole.len() - seed % 90].to_vec();
            let at = seed * 7919 % words.len();
            words[at] = words[at].wrapping_mul(31 + seed as u64 * 2) ^ 1 << (seed % 64);
            for_each_by_class(&words, &[0, 1, 2], |_, _| {});
            merged(&[&words, &whole], 3);
        }
    }
}
