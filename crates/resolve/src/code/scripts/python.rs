//! The line tables of CPython's code objects: from an instruction to its source line.
//!
//! Three formats: `co_lnotab` up to 3.9 (Objects/lnotab_notes.txt), `co_linetable` of 3.10 (the same file there), and the
//! location table from 3.11 on (Objects/locations.md, InternalDocs/code_objects.md). Tables come from the profiled program
//! and may be cut or nonsense: missing entries become None.

/// Bytes of an instruction, which location tables count in.
const CODE_UNIT_BYTES: i64 = 2;
/// Of a location table's entry: no line.
const NO_LOCATION: u8 = 15;

/// The line of the instruction `instruction` bytes into a function that begins at `first_line`, by the table of CPython
/// 3.`version`. An instruction without a line of its own has the line before it; one before the first is at its beginning.
pub fn line_of(version: u8, table: &[u8], first_line: u32, instruction: i32) -> Option<u32> {
    if instruction < 0 {
        return Some(first_line);
    }
    let (first, at) = (i64::from(first_line), i64::from(instruction));
    let line = match version {
        ..=9 => by_increments(table, first, at),
        10 => by_ranges(table, first, at)?,
        _ => by_locations(table, first, at)?,
    };
    u32::try_from(line).ok()
}

/// Pairs of increments of the instruction and the line; the last line holds to the end.
fn by_increments(table: &[u8], first_line: i64, at: i64) -> i64 {
    let (mut start, mut line) = (0, first_line);
    for pair in table.chunks_exact(2) {
        start += i64::from(pair[0]);
        if start > at {
            break;
        }
        line += i64::from(pair[1] as i8);
    }
    line
}

/// Pairs of a length in instructions' bytes and an increment of the line, -128 for no line.
fn by_ranges(table: &[u8], first_line: i64, at: i64) -> Option<i64> {
    let (mut end, mut line) = (0, first_line);
    for pair in table.chunks_exact(2) {
        end += i64::from(pair[0]);
        match pair[1] as i8 {
            i8::MIN => {}
            increment => line += i64::from(increment),
        }
        if end > at {
            return Some(line);
        }
    }
    None
}

/// Entries that begin with a byte of 0x80: its kind and length, then bytes below 0x80.
fn by_locations(table: &[u8], first_line: i64, at: i64) -> Option<i64> {
    let (mut end, mut line) = (0, first_line);
    let mut rest = table;
    while let Some((&head, after)) = rest.split_first() {
        let length = after.iter().take_while(|&&byte| byte & 0x80 == 0).count();
        let (payload, next) = after.split_at(length);
        if head & 0x80 == 0 {
            return None;
        }
        line += match head >> 3 & 15 {
            NO_LOCATION => 0,
            13 | 14 => signed(payload),
            10 => 0,
            11 => 1,
            12 => 2,
            _ => 0,
        };
        end += (i64::from(head & 7) + 1) * CODE_UNIT_BYTES;
        if end > at {
            return Some(line);
        }
        rest = next;
    }
    None
}

/// Six bits a byte, the lowest first; bit 6 says that more follow; the lowest bit of all is the sign.
fn signed(bytes: &[u8]) -> i64 {
    let mut value = 0u64;
    for (position, byte) in bytes.iter().take(6).enumerate() {
        value |= u64::from(byte & 63) << (6 * position);
        if byte & 64 == 0 {
            break;
        }
    }
    let size = (value >> 1) as i64;
    if value & 1 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn increments_are_added_up() {
        // Objects/lnotab_notes.txt: 0 1, 6 1, 44 5, 300 200 -> (255,0)(45,127)(0,73)
        let table = [6, 1, 44, 5, 255, 0, 45, 127, 0, 73];
        let line = |at| line_of(9, &table, 1, at);
        assert_eq!([line(0), line(5), line(6), line(49), line(50)], [1, 1, 2, 2, 7].map(Some));
        assert_eq!([line(349), line(350), line(10_000)], [7, 207, 207].map(Some));
        assert_eq!(line_of(8, &[4, 0xff], 10, 4), Some(9));
    }

    #[test]
    fn ranges_end_where_the_table_does() {
        let table = [4, 1, 2, 0x80, 6, 2];
        let line = |at| line_of(10, &table, 10, at);
        assert_eq!([line(0), line(3), line(4), line(6), line(11)], [11, 11, 11, 13, 13].map(Some));
        assert_eq!(line(12), None);
        assert_eq!(line(-1), Some(10));
    }

    #[test]
    fn locations_of_all_kinds_are_passed_over() {
        let entry = |kind: u8, units: u8| 0x80 | kind << 3 | (units - 1);
        let mut table = vec![entry(15, 1)]; // RESUME of a module: no location
        table.extend([entry(11, 2), 0, 5]); // the next line
        table.extend([entry(3, 1), 0x12]); // the same, short
        table.extend([entry(13, 1), 5]); // two lines up
        table.extend([entry(14, 8), 64, 8, 0, 0, 0]); // 256 down: 512 = 0 | 8 << 6
        let line = |at| line_of(11, &table, 20, at);
        assert_eq!([line(0), line(2), line(5), line(6), line(8), line(10)], [20, 21, 21, 21, 19, 275].map(Some));
        assert_eq!(line(26), None);
    }

    proptest! {
        #[test]
        fn nonsense_is_no_panic(
            version in 0u8..20,
            table in prop::collection::vec(any::<u8>(), 0..600),
            first in any::<u32>(),
            at in any::<i32>(),
        ) {
            line_of(version, &table, first, at);
        }

        #[test]
        fn what_is_written_is_read(deltas in prop::collection::vec((1i64..=8, -3000i64..3000), 1..50)) {
            let (mut table, mut lines, mut line) = (Vec::new(), Vec::new(), 100_000i64);
            for &(units, delta) in &deltas {
                table.push(0x80 | 13 << 3 | (units as u8 - 1));
                let mut value = (delta.unsigned_abs() << 1) | u64::from(delta < 0);
                while value >= 64 {
                    table.push((value & 63) as u8 | 64);
                    value >>= 6;
                }
                table.push(value as u8);
                line += delta;
                lines.extend(vec![line; units as usize]);
            }
            for (unit, expected) in lines.iter().enumerate() {
                let found = line_of(12, &table, 100_000, unit as i32 * 2);
                prop_assert_eq!(found, Some(*expected as u32));
            }
        }
    }
}
