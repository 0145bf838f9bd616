//! The pages of one column in a row group. The library unpacks what a page's header says, up to 2 GiB, so the header is
//! looked at before: it must be one that Dwell writes, and its page is taken from the room.

use std::fs::File;
use std::io::{self, Cursor};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use super::memory_budget::MemoryBudget;

/// Bytes of a header at most; the ones that Dwell writes have about 30.
const HEADER_BYTES: u64 = 256;
/// What a value of a dictionary takes in memory, bytes, beside the page.
const DICTIONARY_VALUE_BYTES: u64 = 32;

/// A file as the page reader sees it.
pub(crate) struct Pages {
    file: Arc<File>,
    file_bytes: u64,
    budget: Arc<MemoryBudget>,
    /// Taken for the page that is read.
    page: AtomicU64,
    /// Taken for the dictionary, which stays.
    dictionary: AtomicU64,
    has_dictionary: AtomicBool,
}

impl Pages {
    pub fn new(file: Arc<File>, file_bytes: u64, budget: Arc<MemoryBudget>) -> Self {
        let (page, dictionary) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { file, file_bytes, budget, page, dictionary, has_dictionary: AtomicBool::new(false) }
    }

    /// Takes what the page of this header needs; the page before is not needed any more.
    fn take(&self, header: &Header) -> std::result::Result<(), String> {
        self.budget.give_back(self.page.swap(0, Ordering::Relaxed));
        let bytes = header.packed_bytes + header.unpacked_bytes;
        match header.kind {
            Kind::Dictionary => {
                let bytes = bytes + header.values * DICTIONARY_VALUE_BYTES;
                self.budget.take(bytes)?;
                self.dictionary.fetch_add(bytes, Ordering::Relaxed);
                self.has_dictionary.store(true, Ordering::Relaxed);
            }
            Kind::Data { by_dictionary } => {
                if by_dictionary && !self.has_dictionary.load(Ordering::Relaxed) {
                    return Err("a page names values of a dictionary that is not there".into());
                }
                self.budget.take(bytes)?;
                self.page.store(bytes, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.budget.give_back(self.page.load(Ordering::Relaxed) + self.dictionary.load(Ordering::Relaxed));
    }
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.file_bytes
    }
}

impl ChunkReader for Pages {
    type T = Cursor<Vec<u8>>;

    /// The header of the page that begins at `start`: the same bytes are looked at and given away.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let bytes = read_at(&self.file, start, HEADER_BYTES.min(self.file_bytes.saturating_sub(start)))?;
        let header = Header::parse(&bytes).ok_or_else(|| failed("a page does not begin as Dwell writes them"))?;
        self.take(&header).map_err(|reason| failed(&reason))?;
        Ok(Cursor::new(bytes))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        Ok(read_at(&self.file, start, length as u64)?.into())
    }
}

fn failed(reason: &str) -> ParquetError {
    ParquetError::General(reason.to_owned())
}

/// `bytes` bytes of a file from `start` on; fewer are an error.
pub(crate) fn read_at(file: &File, start: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut read = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
    file.read_exact_at(&mut read, start)?;
    Ok(read)
}

/// What is said at the beginning of a page.
#[derive(Debug, PartialEq)]
struct Header {
    kind: Kind,
    packed_bytes: u64,
    unpacked_bytes: u64,
    values: u64,
}

#[derive(Debug, PartialEq)]
enum Kind {
    Dictionary,
    /// Of values, or of numbers of the dictionary's values.
    Data {
        by_dictionary: bool,
    },
}

/// A field of a structure of numbers, the next one (Thrift's compact protocol).
const NEXT_NUMBER: u8 = 0x15;
/// The structure of a data page (field 5) or a dictionary (field 7), behind field 3.
const DATA: u8 = 0x2c;
const DICTIONARY: u8 = 0x4c;
const END: u8 = 0;
/// Encodings of the values of a page.
mod encoding {
    /// One after the other, runs of bits, and differences: a page of these holds its values.
    pub const OWN: [u64; 3] = [0, 3, 5];
    /// Numbers in the dictionary.
    pub const BY_DICTIONARY: [u64; 2] = [2, 8];
}

impl Header {
    /// The header in exactly the form that Dwell's tables have it: another one could mean something else to the library
    /// than to us. Other encodings are among what is refused: some make long values of short ones.
    fn parse(mut bytes: &[u8]) -> Option<Self> {
        let input = &mut bytes;
        let (kind, unpacked_bytes, packed_bytes) = (number(input)?, number(input)?, number(input)?);
        let form = byte(input)?;
        let (values, values_encoding) = (number(input)?, number(input)?);
        let kind = match (kind, form) {
            (0, DATA) => {
                // How the levels are encoded.
                number(input)?;
                number(input)?;
                let by_dictionary = encoding::BY_DICTIONARY.contains(&values_encoding);
                (by_dictionary || encoding::OWN.contains(&values_encoding)).then_some(Kind::Data { by_dictionary })?
            }
            (2, DICTIONARY) => {
                // Whether it is sorted: a field that is its own value.
                matches!(byte(input)?, 0x11 | 0x12).then_some(Kind::Dictionary)?
            }
            _ => return None,
        };
        let is_whole = byte(input)? == END && byte(input)? == END;
        is_whole.then_some(Self { kind, packed_bytes, unpacked_bytes, values })
    }
}

fn byte(input: &mut &[u8]) -> Option<u8> {
    let (byte, rest) = input.split_first()?;
    *input = rest;
    Some(*byte)
}

/// The number in the next field, from 0 to 2^31 - 1.
fn number(input: &mut &[u8]) -> Option<u64> {
    if byte(input)? != NEXT_NUMBER {
        return None;
    }
    let mut number = 0u64;
    for shift in (0..35).step_by(7) {
        let next = byte(input)?;
        number |= u64::from(next & 0x7f) << shift;
        if next & 0x80 == 0 {
            // The lowest bit is the sign.
            return (number & 1 == 0 && number < 1 << 32).then_some(number >> 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header as it is written.
    fn written(kind: u8, form: u8, numbers: [&[u8]; 3], end: &[u8]) -> Vec<u8> {
        let field = |number: &[u8]| [&[NEXT_NUMBER], number].concat();
        let [unpacked, packed, values] = numbers.map(field);
        [field(&[kind * 2]), unpacked, packed, vec![form], values, end.to_vec()].concat()
    }

    const DATA_END: [u8; 8] = [NEXT_NUMBER, 0, NEXT_NUMBER, 6, NEXT_NUMBER, 6, END, END];
    const DICTIONARY_END: [u8; 5] = [NEXT_NUMBER, 0, 0x12, END, END];

    #[test]
    fn the_headers_that_dwell_writes_are_read() {
        let data = written(0, DATA, [&[0x80, 0x10], &[0x0a], &[0x04]], &DATA_END);
        let expected =
            Header { kind: Kind::Data { by_dictionary: false }, packed_bytes: 5, unpacked_bytes: 1024, values: 2 };
        assert_eq!(Header::parse(&data), Some(expected));
        let largest: &[u8] = &[0xfe, 0xff, 0xff, 0xff, 0x0f];
        let dictionary = written(2, DICTIONARY, [largest, &[0x0a], largest], &DICTIONARY_END);
        let most = u64::from(i32::MAX.unsigned_abs());
        let expected = Header { kind: Kind::Dictionary, packed_bytes: 5, unpacked_bytes: most, values: most };
        assert_eq!(Header::parse(&dictionary), Some(expected));
    }

    #[test]
    fn what_could_be_read_otherwise_is_refused() {
        let small: [&[u8]; 3] = [&[2], &[2], &[2]];
        let negative: [&[u8]; 3] = [&[3], &[2], &[2]];
        let long: [&[u8]; 3] = [&[0x80, 0x80, 0x80, 0x80, 0x80, 0x02], &[2], &[2]];
        for refused in [
            written(0, DATA, negative, &DATA_END),
            written(0, DATA, long, &DATA_END),
            // The size once more behind the rest.
            written(0, DATA, small, &[&DATA_END[..7], &[0x05, 4, 0x80, 0x10, END]].concat()),
            // Statistics, a checksum, version 2.
            written(0, DATA, small, &[&DATA_END[..6], &[0x1c, END, END, END]].concat()),
            written(0, NEXT_NUMBER, small, &DATA_END),
            written(3, 0x5c, small, &DATA_END),
            // Differences between texts (DELTA_BYTE_ARRAY).
            written(0, DATA, small, &[NEXT_NUMBER, 14, NEXT_NUMBER, 6, NEXT_NUMBER, 6, END, END]),
            written(2, DICTIONARY, small, &DICTIONARY_END[..4]),
        ] {
            assert_eq!(Header::parse(&refused), None, "{refused:x?}");
        }
        assert!(Header::parse(&written(0, DATA, small, &DATA_END)).is_some());
    }

    #[test]
    fn a_page_is_taken_while_it_is_read_and_a_dictionary_as_long_as_the_column() {
        let most: &[u8] = &[0xfe, 0xff, 0xff, 0xff, 0x0f];
        let (small, large) = ([0x80u8, 0x10].as_slice(), [0x80u8, 0x80, 0x80, 0x08].as_slice());
        let headers = [
            written(0, DATA, [small, small, small], &[&[NEXT_NUMBER, 16], &DATA_END[2..]].concat()),
            written(2, DICTIONARY, [small, small, small], &DICTIONARY_END),
            written(0, DATA, [small, small, small], &[&[NEXT_NUMBER, 16], &DATA_END[2..]].concat()),
            written(0, DATA, [large, large, small], &DATA_END),
            written(0, DATA, [most, small, small], &DATA_END),
            written(2, DICTIONARY, [small, small, most], &DICTIONARY_END),
        ];
        let file = Arc::new(tempfile::tempfile().unwrap());
        let starts: Vec<u64> = (0..headers.len() as u64).map(|number| number * HEADER_BYTES).collect();
        for (header, start) in headers.iter().zip(&starts) {
            file.write_all_at(header, *start).unwrap();
        }
        let budget = Arc::new(MemoryBudget::default());
        let all = || {
            (0..).take_while(|bytes| budget.take(1 << bytes).is_ok()).map(|bytes| budget.give_back(1 << bytes)).count()
        };
        let before = all();
        let pages = Pages::new(file, starts.len() as u64 * HEADER_BYTES, budget.clone());
        let is_taken = |number: usize| pages.get_read(starts[number]).is_ok();
        assert_eq!(std::array::from_fn(is_taken), [false, true, true, true, false, false]);
        assert!(budget.is_spent());
        drop(pages);
        assert_eq!(all(), before);
        assert!(budget.take(budget.granted()).is_ok(), "all was given back");
    }
}
