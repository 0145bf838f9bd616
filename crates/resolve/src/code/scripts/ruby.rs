//! The line tables of Ruby's functions: from a position to its source line.
//!
//! A recorded table has the bytes of its rows and those of a row, 32 bits each, the rows (`struct iseq_insn_info_entry`: the line first), and
//! the index by which Ruby finds the row of a position (`struct succ_index_table`, iseq.c): a set of bits, of which it counts those up to the
//! position. The first positions have their counts of 7 bits in words of nine, later ones are in blocks of 512 bits. Tables come from
//! the profiled program and may be cut or nonsense: missing entries become None.

/// Positions of the first part, which has nine of them in a word.
const FIRST_POSITIONS: usize = 54;
const POSITIONS_OF_WORD: usize = 9;
const FIRST_BYTES: usize = 48;
const BLOCK_BYTES: usize = 80;
const BLOCK_POSITIONS: usize = 512;

/// The line of the instruction at `position`.
pub fn line_of(table: &[u8], position: i32) -> Option<u32> {
    let (rows, of_row) = (number(table, 0)? as usize, number(table, 4)? as usize);
    let rows_and_index = table.get(8..)?;
    let (rows, index) = rows_and_index.split_at_checked(rows)?;
    let row = if rows.len() <= of_row { 0 } else { count(index, usize::try_from(position).ok()?)?.checked_sub(1)? };
    number(rows, row.checked_mul(of_row)?).filter(|line| *line > 0)
}

/// How many rows begin at `position` or before.
fn count(index: &[u8], position: usize) -> Option<usize> {
    let Some(behind) = position.checked_sub(FIRST_POSITIONS) else {
        let word = word(index, position / POSITIONS_OF_WORD * 8)?;
        return Some((word >> (position % POSITIONS_OF_WORD * 7) & 0x7f) as usize);
    };
    let block = index.get(FIRST_BYTES + behind / BLOCK_POSITIONS * BLOCK_BYTES..)?;
    let (bit, before) = (behind % BLOCK_POSITIONS, number(block, 0)? as usize);
    let counts = word(block, 8)?;
    let in_words = match bit / 64 {
        0 => 0,
        number => (counts >> ((number - 1) * 9) & 0x1ff) as usize,
    };
    let bits = word(block, 16 + bit / 64 * 8)? << (63 - bit % 64);
    Some(before + in_words + bits.count_ones() as usize)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The table of rows that begin at these positions, ascending from 0.
    fn table(rows: &[(usize, u32)], positions: usize) -> Vec<u8> {
        let mut table = [(rows.len() * 12) as u32, 12].map(u32::to_le_bytes).concat();
        rows.iter().for_each(|(_, line)| table.extend([*line, 7, 7].map(u32::to_le_bytes).concat()));
        let up_to = |position: usize| rows.iter().filter(|(start, _)| *start <= position).count() as u64;
        for first in (0..FIRST_POSITIONS).step_by(POSITIONS_OF_WORD) {
            let word = (0..POSITIONS_OF_WORD).fold(0, |word, at| word | up_to(first + at) << (7 * at));
            table.extend(word.to_le_bytes());
        }
        for first in (FIRST_POSITIONS..positions).step_by(BLOCK_POSITIONS) {
            let before = up_to(first - 1);
            table.extend(before.to_le_bytes());
            let counts = (1..8).fold(0, |counts, at| counts | (up_to(first + 64 * at - 1) - before) << (9 * (at - 1)));
            table.extend(counts.to_le_bytes());
            for start in (first..first + BLOCK_POSITIONS).step_by(64) {
                let is_set = |at: &usize| rows.iter().any(|(position, _)| *position == start + at);
                table.extend((0..64).filter(is_set).fold(0u64, |word, at| word | 1 << at).to_le_bytes());
            }
        }
        table
    }

    #[test]
    fn a_single_line_needs_no_index() {
        assert_eq!(line_of(&table(&[(0, 12)], 0)[..20], 30), Some(12));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(starts in prop::collection::btree_set(1usize..1500, 1..100), at in 0usize..1500) {
            let starts: Vec<usize> = std::iter::once(0).chain(starts).collect();
            let rows: Vec<(usize, u32)> = starts.iter().map(|&start| (start, start as u32 + 10)).collect();
            let expected = rows.iter().rev().find(|(start, _)| *start <= at).map(|(_, line)| *line);
            prop_assert_eq!(line_of(&table(&rows, 1500), at as i32), expected);
        }

        #[test]
        fn nonsense_is_no_panic(table in prop::collection::vec(any::<u8>(), 0..300), at in any::<i32>()) {
            line_of(&table, at);
        }
    }
}
