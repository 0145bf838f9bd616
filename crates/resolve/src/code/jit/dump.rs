//! `jit-PID.dump`: a log of run-time code, with the time at which each piece came, moved, and where its lines are
//! (linux/tools/perf/Documentation/jitdump-specification.txt). Every length is checked: the file is the profiled program's.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use dwell_store::raw::wire::CODE_CALLS;

use super::names::{readable, shown};
use super::piece::{CodePiece, InlinedCalls, Line, end_of};
use crate::code::function::Function;

const MAGIC: u32 = 0x4a69_5444; // "JiTD"
const VERSION: u32 = 1;
/// Times are a processor's, which no clock of ours tells.
const FLAG_ARCH_TIMESTAMP: u64 = 1;
const CODE_LOAD: u32 = 0;
const CODE_MOVE: u32 = 1;
const CODE_DEBUG_INFO: u32 = 2;
const PREFIX_BYTES: usize = 16;
/// Stands for the name of the entry before.
const SAME_NAME: &[u8] = &[0xff];
/// Longest name that is taken whole.
const MOST_NAME_BYTES: usize = 4096;

/// Reads a file's bytes field by field.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn name(&mut self) -> Option<&'a [u8]> {
        let end = self.bytes.iter().position(|&byte| byte == 0)?;
        let name = self.take(end)?;
        self.take(1)?;
        Some(&name[..name.len().min(MOST_NAME_BYTES)])
    }
}

/// What was read of a log.
#[derive(Default)]
pub struct Dump {
    /// The pieces of code, in the order of the log; `until_ns` is when a piece moved away.
    pub codes: Vec<CodePiece>,
    /// Why the rest could not be read.
    pub fault: Option<&'static str>,
    /// Of the piece that comes next, by address.
    pending: Vec<Line>,
    /// Number of a piece and where it is in `codes`.
    indices: HashMap<u64, usize>,
    /// By its start, where the latest piece is in `codes`.
    latest: BTreeMap<u64, usize>,
    timeless: bool,
}

/// Reads a log up to its `most`th piece of code. A record that is cut off ends it without being a fault: the process may
/// have been writing it.
pub fn parse(bytes: &[u8], most: usize) -> Dump {
    let mut dump = Dump::default();
    let mut reader = Reader { bytes };
    match header(&mut reader) {
        Ok(flags) => dump.timeless = flags & FLAG_ARCH_TIMESTAMP != 0,
        Err(fault) => dump.fault = Some(fault),
    }
    while dump.fault.is_none() && dump.codes.len() < most {
        let Some((kind, time_ns, body)) = record(&mut reader) else { break };
        match body {
            Ok(body) if !dump.record(kind, time_ns, Reader { bytes: body }) => {
                dump.fault = Some("a record is shorter than it says");
            }
            Ok(_) => {}
            Err(fault) => dump.fault = Some(fault),
        }
    }
    dump
}

fn header(reader: &mut Reader<'_>) -> Result<u64, &'static str> {
    let whole = reader.bytes;
    let magic = reader.u32().ok_or("it is empty")?;
    if magic != MAGIC {
        return Err("it is no log of run-time code");
    }
    let short = "its header is cut off";
    if reader.u32().ok_or(short)? != VERSION {
        return Err("its version is not known");
    }
    let size = reader.u32().ok_or(short)? as usize;
    let _machine_padding_pid = reader.take(12).ok_or(short)?;
    let _time = reader.u64().ok_or(short)?;
    let flags = reader.u64().ok_or(short)?;
    *reader = Reader { bytes: whole.get(size.max(40)..).ok_or(short)? };
    Ok(flags)
}

/// The next record: kind, time and body, or why it has none; `None` at the end.
#[allow(clippy::type_complexity, reason = "used once")]
fn record<'a>(reader: &mut Reader<'a>) -> Option<(u32, u64, Result<&'a [u8], &'static str>)> {
    let kind = reader.u32()?;
    let size = reader.u32()? as usize;
    let time_ns = reader.u64()?;
    let Some(size) = size.checked_sub(PREFIX_BYTES) else { return Some((kind, time_ns, Err("a record has no size"))) };
    Some((kind, time_ns, Ok(reader.take(size)?)))
}

impl Dump {
    /// Takes a record; false when it is damaged.
    fn record(&mut self, kind: u32, time_ns: u64, body: Reader<'_>) -> bool {
        let time_ns = if self.timeless { 0 } else { time_ns };
        match kind {
            CODE_LOAD => self.load(time_ns, body).is_some(),
            CODE_MOVE => self.moved(time_ns, body).is_some(),
            CODE_DEBUG_INFO => self.debug_info(body).is_some(),
            CODE_CALLS => self.calls(body).is_some(),
            _ => true, // the log's end, unwinding information, and what later versions may tell
        }
    }

    fn load(&mut self, time_ns: u64, mut body: Reader<'_>) -> Option<()> {
        let _pid_tid = body.take(8)?;
        let _unused = body.u64()?;
        let start = body.u64()?;
        let size = body.u64()?;
        let index = body.u64()?;
        let name = body.name()?;
        let lines = std::mem::take(&mut self.pending);
        let Some(end) = end_of(start, size) else { return Some(()) };
        self.indices.insert(index, self.codes.len());
        self.latest.insert(start, self.codes.len());
        self.codes.push(CodePiece {
            start,
            end,
            from_ns: time_ns,
            until_ns: u64::MAX,
            function: Arc::new(readable(&String::from_utf8_lossy(name))),
            lines: lines_within(lines, start, end),
            calls: Vec::new(),
        });
        Some(())
    }

    fn moved(&mut self, time_ns: u64, mut body: Reader<'_>) -> Option<()> {
        let _pid_tid = body.take(8)?;
        let _unused = body.u64()?;
        let old = body.u64()?;
        let start = body.u64()?;
        let size = body.u64()?;
        let index = body.u64()?;
        let known = self.indices.get(&index).copied();
        let Some(before) = known.and_then(|at| self.codes.get_mut(at)).filter(|code| code.start == old) else {
            return Some(()); // of a piece that was never told
        };
        before.until_ns = time_ns;
        // Only logs that Dwell writes tell what is inlined, and in these nothing moves.
        let mut moved = CodePiece { calls: Vec::new(), ..before.clone() };
        let Some(end) = end_of(start, size) else { return Some(()) };
        (moved.start, moved.end, moved.from_ns, moved.until_ns) = (start, end, time_ns, u64::MAX);
        self.indices.insert(index, self.codes.len());
        self.codes.push(moved);
        Some(())
    }

    /// What is inlined in a part of the latest piece of code there.
    fn calls(&mut self, mut body: Reader<'_>) -> Option<()> {
        let (start, end, count) = (body.u64()?, body.u64()?, body.u32()?);
        let mut functions = Vec::new();
        for _ in 0..count {
            let line = body.u32()?;
            let (name, file) = (body.name()?, body.name()?);
            let [name, file] = [name, file].map(|text| shown(&String::from_utf8_lossy(text)));
            functions.push(Function { name, file, line });
        }
        let latest = self.latest.range(..=start).next_back();
        let piece = latest.and_then(|(_, at)| self.codes.get_mut(*at)).filter(|piece| start < end && end <= piece.end);
        if let Some(piece) = piece {
            let (start, end) = (start - piece.start, end - piece.start);
            piece.calls.push(InlinedCalls { start, end, functions });
        }
        Some(())
    }

    /// The lines of the piece that is loaded next.
    fn debug_info(&mut self, mut body: Reader<'_>) -> Option<()> {
        let _address = body.u64()?;
        let count = body.u64()?;
        self.pending.clear();
        let mut file: Arc<str> = Arc::default();
        for _ in 0..count {
            let address = body.u64()?;
            let line = body.u32()?;
            let _discriminator = body.u32()?;
            let name = body.name()?;
            if name != SAME_NAME {
                file = shown(&String::from_utf8_lossy(name)).into();
            }
            self.pending.push(Line { offset: address, line, file: Arc::clone(&file) });
        }
        Some(())
    }
}

/// Those of `lines` that are within a piece of code, counted from its start: moves share them.
fn lines_within(mut lines: Vec<Line>, start: u64, end: u64) -> Arc<[Line]> {
    lines.retain(|line| (start..end).contains(&line.offset));
    for line in &mut lines {
        line.offset -= start;
    }
    lines.sort_by_key(|line| line.offset);
    lines.into()
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A log whose times count as they are.
    pub fn log() -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [MAGIC, VERSION, 40, 62, 0, 1] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend([0; 16]);
        bytes
    }

    pub fn record(bytes: &mut Vec<u8>, kind: u32, time_ns: u64, body: &[u8]) {
        bytes.extend(kind.to_le_bytes());
        bytes.extend(((PREFIX_BYTES + body.len()) as u32).to_le_bytes());
        bytes.extend(time_ns.to_le_bytes());
        bytes.extend(body);
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    pub fn load(bytes: &mut Vec<u8>, time_ns: u64, start: u64, size: u64, name: &str) {
        let index = bytes.len() as u64;
        load_as(bytes, time_ns, (start, size, index), name);
    }

    fn load_as(bytes: &mut Vec<u8>, time_ns: u64, (start, size, index): (u64, u64, u64), name: &str) {
        let body = [words(&[1 << 32 | 1, start, start, size, index]), name.as_bytes().to_vec(), vec![0, 0x90]].concat();
        record(bytes, CODE_LOAD, time_ns, &body);
    }

    /// A piece with a line for each of its first `lines` bytes, which then moves `moves` times.
    pub fn load_and_move(bytes: &mut Vec<u8>, lines: u32, moves: u64) {
        let entry = |line: u32| {
            [words(&[0x1000 + u64::from(line)]), (line + 1).to_le_bytes().to_vec(), vec![0; 4], b"f\0".to_vec()]
                .concat()
        };
        let entries: Vec<u8> = (0..lines).flat_map(entry).collect();
        record(bytes, CODE_DEBUG_INFO, 1, &[words(&[0x1000, u64::from(lines)]), entries].concat());
        load_as(bytes, 2, (0x1000, u64::from(lines), 7), "f");
        for number in 0..moves {
            let (old, new) = (0x1000 + number, 0x1001 + number);
            record(bytes, CODE_MOVE, 3 + number, &words(&[0, 0, old, new, u64::from(lines), 7]));
        }
    }

    #[test]
    fn pieces_come_move_and_have_lines() {
        let mut bytes = log();
        let entry = |address: u64, line: u32, name: &[u8]| {
            [words(&[address]), line.to_le_bytes().to_vec(), vec![0; 4], name.to_vec(), vec![0]].concat()
        };
        let entries = [entry(0x1000, 3, b"a.js"), entry(0x1008, 4, SAME_NAME), entry(0x9000, 9, b"b.js")].concat();
        record(&mut bytes, CODE_DEBUG_INFO, 5, &[words(&[0x1000, 3]), entries].concat());
        load_as(&mut bytes, 10, (0x1000, 0x10, 7), "f");
        record(&mut bytes, CODE_MOVE, 20, &words(&[0, 0, 0x1000, 0x2000, 0x10, 7]));
        record(&mut bytes, 99, 30, &[1, 2, 3]);
        let dump = parse(&bytes, 100);
        assert_eq!(dump.fault, None);
        let spans: Vec<_> = dump.codes.iter().map(|code| (code.start, code.from_ns, code.until_ns)).collect();
        assert_eq!(spans, [(0x1000, 10, 20), (0x2000, 20, u64::MAX)]);
        let lines: Vec<_> = dump.codes[1].lines.iter().map(|line| (line.offset, line.line, &*line.file)).collect();
        assert_eq!(lines, [(0, 3, "a.js"), (8, 4, "a.js")]);
        assert_eq!(dump.codes[1].function_at(0x2009).line, 4);
        assert!(Arc::ptr_eq(&dump.codes[0].lines, &dump.codes[1].lines), "a move costs no copy of the lines");
    }

    #[test]
    fn parts_of_code_tell_what_is_inlined_there() {
        let mut bytes = log();
        let calls = |start: u64, end: u64, lines: &[(&str, u32)]| {
            let function =
                |(name, line): &(&str, u32)| [&line.to_le_bytes()[..], name.as_bytes(), b"\0app/Pool.java\0"].concat();
            let functions: Vec<u8> = lines.iter().flat_map(function).collect();
            [words(&[start, end]), (lines.len() as u32).to_le_bytes().to_vec(), functions].concat()
        };
        load(&mut bytes, 1, 0x1000, 0x40, "old");
        load(&mut bytes, 2, 0x1000, 0x40, "app.Pool.take");
        record(&mut bytes, CODE_CALLS, 3, &calls(0x1020, 0x1030, &[("app.Pool.take", 9), ("app.Pool.head", 4)]));
        record(&mut bytes, CODE_CALLS, 3, &calls(0x1010, 0x1020, &[("app.Pool.take", 7)]));
        for (start, end) in [(0x1030, 0x1041), (0x1030, 0x1030), (0x900, 0x910)] {
            record(&mut bytes, CODE_CALLS, 3, &calls(start, end, &[("beyond", 1)]));
        }
        let mut dump = parse(&bytes, 100);
        dump.codes.iter_mut().for_each(CodePiece::sort_calls);
        let lines = |address| {
            let functions = dump.codes[1].functions_at(address).into_iter();
            functions.map(|function| (function.name, function.line)).collect::<Vec<_>>()
        };
        assert_eq!(lines(0x1018), [("app.Pool.take".into(), 7)]);
        assert_eq!(lines(0x102f), [("app.Pool.take".into(), 9), ("app.Pool.head".into(), 4)]);
        assert_eq!(lines(0x1030), [("app.Pool.take".into(), 0)]);
        assert_eq!(dump.codes[0].functions_at(0x1018)[0].name, "old");
    }

    #[test]
    fn a_log_that_is_cut_off_gives_what_is_whole() {
        let mut bytes = log();
        load(&mut bytes, 1, 0x1000, 8, "f");
        let whole = bytes.len();
        load(&mut bytes, 2, 0x2000, 8, "g");
        let dump = parse(&bytes[..whole + 20], 100);
        assert_eq!((dump.codes.len(), dump.fault), (1, None));
        assert!(parse(b"no log at all", 100).fault.is_some());
        record(&mut bytes, CODE_LOAD, 3, &[0; 9]);
        assert_eq!(parse(&bytes, 100).fault, Some("a record is shorter than it says"));
    }

    #[test]
    fn times_of_another_clock_do_not_count() {
        let mut bytes = log();
        bytes[32] = 1;
        load(&mut bytes, 77, 0x1000, 8, "f");
        assert_eq!(parse(&bytes, 100).codes[0].from_ns, 0);
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(tail: Vec<u8>) {
            let mut bytes = log();
            bytes.extend(tail);
            for code in parse(&bytes, 100).codes {
                prop_assert!(code.start < code.end);
            }
        }
    }
}
