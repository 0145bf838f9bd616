//! Cuts the data of a perf.data into records. Compressed ones are unpacked; what follows a record instead of being in it
//! is read along or passed over.

use std::io::{self, Read};

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use crate::cursor::Cursor;
use crate::error::Error;

/// Types of records: the kernel's (include/uapi/linux/perf_event.h), and from 64 on perf's (tools/lib/perf/include/perf/event.h).
pub mod kind {
    pub const MMAP: u32 = 1;
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const EXIT: u32 = 4;
    pub const FORK: u32 = 7;
    pub const SAMPLE: u32 = 9;
    pub const MMAP2: u32 = 10;
    pub const LOST_SAMPLES: u32 = 13;
    pub const SWITCH: u32 = 14;
    pub const SWITCH_CPU_WIDE: u32 = 15;
    pub const FIRST_OF_PERF: u32 = 64;
    pub const HEADER_ATTRIBUTE: u32 = 64;
    pub const HEADER_TRACING_DATA: u32 = 66;
    pub const HEADER_BUILD_ID: u32 = 67;
    pub const FINISHED_ROUND: u32 = 68;
    pub const AUXTRACE: u32 = 71;
    pub const HEADER_FEATURE: u32 = 80;
    pub const COMPRESSED: u32 = 81;
    pub const COMPRESSED2: u32 = 83;
}

const HEAD_BYTES: usize = 8;
/// The formats of all tracepoints of a kernel are some MiB.
const MOST_TRACING_BYTES: u32 = 64 << 20;
/// What one compressed record may become: perf compresses some MiB at once.
const MOST_UNPACKED_BYTES: usize = 64 << 20;

/// A record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawRecord {
    /// Of [`kind`].
    pub kind: u32,
    /// Flags.
    pub misc: u16,
    /// Behind its head. Of HEADER_TRACING_DATA what follows it.
    pub body: Vec<u8>,
}

/// The records of a stream, one after the other.
pub struct RecordReader<R> {
    source: R,
    unpacked: Vec<u8>,
    read: usize,
    decoder: Option<Decoder<'static>>,
    /// The stream ended within a record.
    pub is_cut: bool,
}

impl<R: Read> RecordReader<R> {
    /// Records from where `source` stands to its end.
    pub fn new(source: R) -> Self {
        Self { source, unpacked: Vec::new(), read: 0, decoder: None, is_cut: false }
    }

    /// The next record, none at the end.
    ///
    /// # Errors
    ///
    /// Not to be read; damaged.
    pub fn next_record(&mut self) -> Result<Option<RawRecord>, Error> {
        loop {
            if let Some(record) = self.next_unpacked()? {
                return Ok(Some(record));
            }
            let Some(record) = self.read_record()? else { return Ok(None) };
            match record.kind {
                kind::COMPRESSED => self.unpack(&record.body)?,
                kind::COMPRESSED2 => {
                    let mut cursor = Cursor(&record.body);
                    let packed = cursor.length().and_then(|length| cursor.bytes(length));
                    self.unpack(packed.ok_or(Error::Damaged("a compressed record is cut"))?)?;
                }
                kind::AUXTRACE => self.pass_over(Cursor(&record.body).u64().unwrap_or(0))?,
                kind::HEADER_TRACING_DATA => return self.with_tracing_data(&record).map(Some),
                _ => return Ok(Some(record)),
            }
        }
    }

    fn read_record(&mut self) -> Result<Option<RawRecord>, Error> {
        let mut head = [0; HEAD_BYTES];
        let there = fill(&mut self.source, &mut head)?;
        if there < HEAD_BYTES {
            self.is_cut |= there > 0;
            return Ok(None);
        }
        let (mut record, length) = parse_head(&head)?;
        record.body.resize(length, 0);
        if fill(&mut self.source, &mut record.body)? < length {
            self.is_cut = true;
            return Ok(None);
        }
        Ok(Some(record))
    }

    fn next_unpacked(&mut self) -> Result<Option<RawRecord>, Error> {
        let rest = &self.unpacked[self.read..];
        let Some((head, rest)) = rest.split_first_chunk() else { return Ok(None) };
        let (record, length) = parse_head(head)?;
        let Some(body) = rest.get(..length) else { return Ok(None) };
        self.read += HEAD_BYTES + length;
        Ok(Some(RawRecord { body: body.to_vec(), ..record }))
    }

    /// Unpacks the next piece of the stream that all compressed records are together.
    fn unpack(&mut self, packed: &[u8]) -> Result<(), Error> {
        self.unpacked.drain(..self.read);
        self.read = 0;
        let mut input = InBuffer::around(packed);
        let mut piece = vec![0; 256 << 10];
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            none => none.insert(Decoder::new()?),
        };
        loop {
            let mut output = OutBuffer::around(&mut piece[..]);
            let damaged = |_| Error::Damaged("a compressed record cannot be unpacked");
            decoder.run(&mut input, &mut output).map_err(damaged)?;
            let (unpacked, is_full) = (output.as_slice(), output.pos() == output.capacity());
            self.unpacked.extend_from_slice(unpacked);
            if self.unpacked.len() > MOST_UNPACKED_BYTES {
                return Err(Error::Damaged("a compressed record is larger than 64 MiB"));
            }
            if input.pos() == packed.len() && !is_full {
                return Ok(());
            }
            if unpacked.is_empty() && input.pos() < packed.len() {
                return Err(Error::Damaged("a compressed record cannot be unpacked"));
            }
        }
    }

    fn with_tracing_data(&mut self, record: &RawRecord) -> Result<RawRecord, Error> {
        let length = Cursor(&record.body).u32().unwrap_or(0);
        if length > MOST_TRACING_BYTES {
            return Err(Error::Damaged("the formats of its tracepoints are larger than 64 MiB"));
        }
        let mut body = Vec::new();
        let there = (&mut self.source).take(length.into()).read_to_end(&mut body)?;
        self.is_cut |= there < length as usize;
        Ok(RawRecord { kind: record.kind, misc: record.misc, body })
    }

    fn pass_over(&mut self, bytes: u64) -> Result<(), Error> {
        let there = io::copy(&mut (&mut self.source).take(bytes), &mut io::sink())?;
        self.is_cut |= there < bytes;
        Ok(())
    }
}

/// A record without its body, and the body's length.
fn parse_head(head: &[u8; HEAD_BYTES]) -> Result<(RawRecord, usize), Error> {
    let [k0, k1, k2, k3, m0, m1, s0, s1] = *head;
    let size = usize::from(u16::from_le_bytes([s0, s1]));
    let length = size.checked_sub(HEAD_BYTES).ok_or(Error::Damaged("a record is smaller than its head"))?;
    let record =
        RawRecord { kind: u32::from_le_bytes([k0, k1, k2, k3]), misc: u16::from_le_bytes([m0, m1]), body: Vec::new() };
    Ok((record, length))
}

/// Reads until `buffer` is full or the stream ends. Returns how much was read.
pub fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut there = 0;
    while there < buffer.len() {
        match source.read(&mut buffer[there..]) {
            Ok(0) => break,
            Ok(count) => there += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(there)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A record as it lies in a file.
    pub fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend_from_slice(&misc.to_le_bytes());
        bytes.extend_from_slice(&((HEAD_BYTES + body.len()) as u16).to_le_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    fn read(bytes: &[u8]) -> (Vec<RawRecord>, bool) {
        let mut reader = RecordReader::new(bytes);
        let mut records = Vec::new();
        while let Some(record) = reader.next_record().expect("records") {
            records.push(record);
        }
        (records, reader.is_cut)
    }

    #[test]
    fn what_follows_a_record_is_no_record() {
        let mut bytes = record(kind::HEADER_TRACING_DATA, 0, &3u32.to_le_bytes());
        bytes.extend_from_slice(b"abc");
        bytes.extend(record(kind::AUXTRACE, 0, &2u64.to_le_bytes()));
        bytes.extend_from_slice(b"xy");
        bytes.extend(record(kind::COMM, 1, b"name"));
        let (records, is_cut) = read(&bytes);
        let found: Vec<_> = records.iter().map(|record| (record.kind, &record.body[..])).collect();
        assert_eq!(found, [(kind::HEADER_TRACING_DATA, &b"abc"[..]), (kind::COMM, &b"name"[..])]);
        assert!(!is_cut);
        assert!(read(&bytes[..bytes.len() - 1]).1);
    }

    #[test]
    fn a_record_may_lie_in_two_compressed_ones() {
        let mut plain = record(kind::COMM, 1, b"first");
        plain.extend(record(kind::COMM, 2, b"second"));
        let packed = zstd::encode_all(&plain[..], 1).expect("zstd");
        for cut in 1..packed.len() {
            let mut bytes = record(kind::COMPRESSED, 0, &packed[..cut]);
            bytes.extend(record(kind::COMPRESSED, 0, &packed[cut..]));
            let bodies: Vec<_> = read(&bytes).0.into_iter().map(|record| record.body).collect();
            assert_eq!(bodies, [&b"first"[..], b"second"], "{cut}");
        }
    }

    #[test]
    fn what_unpacks_to_gigabytes_is_refused() {
        let packed = zstd::encode_all(io::repeat(9).take(1 << 30), 1).expect("zstd");
        let pieces = packed.chunks(60_000).flat_map(|piece| record(kind::COMPRESSED, 0, piece));
        let bytes: Vec<u8> = pieces.collect();
        let mut reader = RecordReader::new(&bytes[..]);
        let refused = loop {
            match reader.next_record() {
                Ok(Some(_)) => {}
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        assert!(matches!(refused, Some(Error::Damaged(_))), "{refused:?}");
        assert!(reader.unpacked.len() < 2 * MOST_UNPACKED_BYTES);
    }
}
