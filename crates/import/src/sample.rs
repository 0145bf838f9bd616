//! What a sample, and the end of every other record, says: include/uapi/linux/perf_event.h, at `PERF_RECORD_SAMPLE`.

use crate::attribute::{Attribute, part};
use crate::cursor::Cursor;

/// Addresses of a call chain from here on are marks of what follows.
const FIRST_MARK: u64 = u64::MAX - 4094;
const MARK_KERNEL: u64 = (-128i64).cast_unsigned();
const MARK_USER: u64 = (-512i64).cast_unsigned();
/// Frames of a chain beyond these are left out.
const MOST_FRAMES: usize = 1024;

const READ_ENABLED: u64 = 1;
const READ_RUNNING: u64 = 2;
const READ_ID: u64 = 4;
const READ_GROUP: u64 = 8;
const READ_LOST: u64 = 16;

/// Which thread, when, where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Process.
    pub tgid: u32,
    /// Thread.
    pub tid: u32,
    /// By perf's clock, ns; 0 of what perf itself tells at the start.
    pub time_ns: u64,
    /// CPU; `u16::MAX` where it is not said.
    pub cpu: u16,
}

/// A sample.
#[derive(Clone, Debug, Default)]
pub struct Sample<'b> {
    /// Of whom.
    pub stamp: Stamp,
    /// What it counts for, in its event's unit.
    pub period: Option<u64>,
    /// Where.
    ip: u64,
    chain: &'b [u8],
    /// A tracepoint's fields.
    pub raw: &'b [u8],
}

/// Parses a sample's body; none where it is cut.
pub fn parse<'b>(event: &Attribute, body: &'b [u8]) -> Option<Sample<'b>> {
    let mut cursor = Cursor(body);
    let mut sample = Sample { stamp: Stamp { cpu: u16::MAX, ..Stamp::default() }, ..Sample::default() };
    if event.has(part::IDENTIFIER) {
        cursor.u64()?;
    }
    if event.has(part::IP) {
        sample.ip = cursor.u64()?;
    }
    if event.has(part::TID) {
        (sample.stamp.tgid, sample.stamp.tid) = (cursor.u32()?, cursor.u32()?);
    }
    if event.has(part::TIME) {
        sample.stamp.time_ns = cursor.u64()?;
    }
    for skipped in [part::ADDR, part::ID, part::STREAM_ID] {
        if event.has(skipped) {
            cursor.u64()?;
        }
    }
    if event.has(part::CPU) {
        sample.stamp.cpu = cpu(cursor.u64()?);
    }
    if event.has(part::PERIOD) {
        sample.period = Some(cursor.u64()?);
    }
    if event.has(part::READ) {
        skip_read(&mut cursor, event.read_format)?;
    }
    if event.has(part::CALLCHAIN) {
        let count = cursor.length()?;
        sample.chain = cursor.bytes(count.checked_mul(8)?)?;
    }
    if event.has(part::RAW) {
        let bytes = cursor.u32()? as usize;
        sample.raw = cursor.bytes(bytes)?;
    }
    Some(sample)
}

fn cpu(number: u64) -> u16 {
    u16::try_from(number & 0xffff_ffff).unwrap_or(u16::MAX)
}

fn skip_read(cursor: &mut Cursor<'_>, format: u64) -> Option<()> {
    let words = |bits: u64| (format & bits).count_ones() as usize;
    let value = 1 + words(READ_ID | READ_LOST);
    let times = words(READ_ENABLED | READ_RUNNING);
    let count = if format & READ_GROUP != 0 { cursor.length()? } else { 1 };
    let words = count.checked_mul(value)?.checked_add(times)?;
    cursor.bytes(words.checked_mul(8)?)?;
    Some(())
}

/// The addresses of a sample, leaf first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// In the kernel.
    pub kernel: Vec<u64>,
    /// In the program.
    pub user: Vec<u64>,
}

impl Sample<'_> {
    /// Its call chain; without one the address of the sample alone. `in_kernel` says of which side that is.
    pub fn chain(&self, in_kernel: bool) -> Chain {
        let mut chain = Chain::default();
        let mut side = Some(in_kernel);
        let mut words = Cursor(self.chain);
        while let Some(address) = words.u64() {
            match address {
                MARK_KERNEL => side = Some(true),
                MARK_USER => side = Some(false),
                FIRST_MARK.. => side = None, // a guest's
                _ => match side {
                    Some(true) if chain.kernel.len() < MOST_FRAMES => chain.kernel.push(address),
                    Some(false) if chain.user.len() < MOST_FRAMES => chain.user.push(address),
                    _ => {}
                },
            }
        }
        if chain.kernel.is_empty() && chain.user.is_empty() && self.ip != 0 {
            if in_kernel { &mut chain.kernel } else { &mut chain.user }.push(self.ip);
        }
        chain
    }
}

/// What `sample_id_all` puts behind a record that is no sample, and the record without it.
pub fn split_trailer<'b>(event: &Attribute, body: &'b [u8]) -> Option<(&'b [u8], Stamp)> {
    let mut stamp = Stamp { cpu: u16::MAX, ..Stamp::default() };
    if !event.has_trailer() {
        return Some((body, stamp));
    }
    let parts = [part::TID, part::TIME, part::ID, part::STREAM_ID, part::CPU, part::IDENTIFIER];
    let words = parts.iter().filter(|&&part| event.has(part)).count();
    let (body, trailer) = body.split_at_checked(body.len().checked_sub(words * 8)?)?;
    let mut cursor = Cursor(trailer);
    if event.has(part::TID) {
        (stamp.tgid, stamp.tid) = (cursor.u32()?, cursor.u32()?);
    }
    if event.has(part::TIME) {
        stamp.time_ns = cursor.u64()?;
    }
    for skipped in [part::ID, part::STREAM_ID] {
        if event.has(skipped) {
            cursor.u64()?;
        }
    }
    if event.has(part::CPU) {
        stamp.cpu = cpu(cursor.u64()?);
    }
    Some((body, stamp))
}

/// The number of the event that a record is of, as the file gives it to events; none where the events of a file need none.
pub fn event_id(first: &Attribute, is_sample: bool, body: &[u8]) -> Option<u64> {
    let word = |index: usize| Cursor(body.get(index.checked_mul(8)?..)?).u64();
    let from_end = |words: usize| Cursor(body.get(body.len().checked_sub(words * 8)?..)?).u64();
    let count = |parts: &[u64]| parts.iter().filter(|&&part| first.has(part)).count();
    match (first.has(part::IDENTIFIER), is_sample) {
        (true, true) => word(0),
        (true, false) => from_end(1),
        (false, _) if !first.has(part::ID) => None,
        (false, true) => word(count(&[part::IP, part::TID, part::TIME, part::ADDR])),
        (false, false) => from_end(1 + count(&[part::STREAM_ID, part::CPU])),
    }
}
