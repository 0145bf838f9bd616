//! The stacks that the kernel side hands to user space: of threads that waited already when recording began or was
//! resumed, and those that rows of an unwind table do not lead through.
//!
//! Of a thread that waits, the hook writes the registers; this walks the stack from there as long as the thread stands
//! still, and gives nothing if it has moved: half of a stack may be of another wait. A thread that runs on has had a piece
//! of its stack copied, and the walk goes as far as that reaches.

use std::fs;

use dwell_goroutines::{MemoryStretch, StretchReader as _};
use dwell_model::StackEnd;
use dwell_store::raw::wire::{RecordHeader, RegistersRecord, StackHeader, kind};
use dwell_unwind::{Memory, Registers, Walk, walk};

use crate::programs::memory::ProcessMemory;
use crate::stacks::unwinding::UnwindTables;

const PAGE_BYTES: u64 = 4096;
/// Read at once from the stack pointer on: most stacks are shallower.
const FIRST_BYTES: usize = 64 << 10;
/// Read at once where that did not reach.
const LATER_BYTES: usize = PAGE_BYTES as usize;
/// Register of the stack pointer, as DWARF numbers it.
const SP: usize = 7;

/// A stack record that is to be written: its header and frames.
pub type Stack = (StackHeader, Vec<u64>);

/// The user stack of the thread that `record` is about; none when it has moved since or is gone. Rows
/// lead through nearly all stacks; only where they do not is all read that the files say.
pub fn stack(record: &RegistersRecord, unwinding: &mut UnwindTables) -> Option<Stack> {
    let mut memory = ThreadMemory::of(record.h.tid)?;
    memory.read(record.registers[SP], FIRST_BYTES);
    let mut walked = walk(registers(record), &mut unwinding.code(record.tgid, false), &mut memory);
    if walked.end == StackEnd::BadRule {
        walked = walk(registers(record), &mut unwinding.code(record.tgid, true), &mut memory);
    }
    stands_still(record).then(|| explained(record, walked))
}

/// What lies in our own memory from `start` on, as far as it can be read.
pub fn own_memory(start: u64, length: usize) -> Vec<u8> {
    let Some(mut memory) = ThreadMemory::of(std::process::id()) else { return Vec::new() };
    memory.read(start, length);
    memory.piece.bytes
}

/// The user stack that `bytes` copy, from the stack pointer on.
pub fn copied_stack(record: &RegistersRecord, bytes: Vec<u8>, unwinding: &mut UnwindTables) -> Stack {
    let mut memory = Copied { start: record.registers[SP], bytes };
    explained(record, walk(registers(record), &mut unwinding.code(record.tgid, true), &mut memory))
}

/// The user stack of a thread from these registers on, whether it stands there or not.
pub fn walk_thread(record: &RegistersRecord, unwinding: &mut UnwindTables) -> Walk {
    let Some(mut memory) = ThreadMemory::of(record.h.tid) else {
        return Walk { frames: vec![record.ip], end: StackEnd::Unreadable };
    };
    memory.read(record.registers[SP], FIRST_BYTES);
    let walked = walk(registers(record), &mut unwinding.code(record.tgid, false), &mut memory);
    match walked.end {
        StackEnd::BadRule => walk(registers(record), &mut unwinding.code(record.tgid, true), &mut memory),
        _ => walked,
    }
}

/// At most `count` words of a thread's memory from `address` on, as many as can be read.
pub fn words_of(tid: u32, address: u64, count: usize) -> Vec<u64> {
    let Some(mut memory) = ThreadMemory::of(tid) else { return Vec::new() };
    memory.read(address, count * 8);
    memory.piece.bytes.chunks_exact(8).filter_map(|word| Some(u64::from_ne_bytes(word.try_into().ok()?))).collect()
}

fn registers(record: &RegistersRecord) -> Registers {
    Registers { ip: record.ip, all: record.registers.map(Some) }
}

fn explained(record: &RegistersRecord, walked: Walk) -> Stack {
    let header = StackHeader {
        h: RecordHeader { kind: kind::STACK, ..record.h },
        key: record.key,
        tgid: record.tgid,
        count: 0,
        flags: 0,
        end: walked.end as u8,
    };
    (header, walked.frames)
}

/// Whether the thread has run no instruction since its registers were taken: it is off the CPU at the same place, and
/// has not left the CPU again. In this order: one that ran in between leaves the CPU before it can be found off it.
fn stands_still(record: &RegistersRecord) -> bool {
    let folder = format!("/proc/{}/task/{}", record.tgid, record.h.tid);
    let read = |name: &str| fs::read_to_string(format!("{folder}/{name}")).unwrap_or_default();
    place(&read("syscall")) == Some((record.registers[SP], record.ip))
        && switches(&read("status")) == Some(record.switches)
}

/// Stack pointer and instruction pointer in the text of `/proc/TID/syscall`, which says `running` of one that runs.
pub fn place(text: &str) -> Option<(u64, u64)> {
    let mut fields = text.split_whitespace().rev().map(|field| u64::from_str_radix(field.strip_prefix("0x")?, 16).ok());
    let (ip, sp) = (fields.next()??, fields.next()??);
    Some((sp, ip))
}

/// How often the thread has left the CPU, in the text of `/proc/TID/status`.
pub fn switches(text: &str) -> Option<u64> {
    let count = |name| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    count("voluntary_ctxt_switches:")?.checked_add(count("nonvoluntary_ctxt_switches:")?)
}

/// A piece of a stack.
struct Copied {
    start: u64,
    bytes: Vec<u8>,
}

impl Memory for Copied {
    fn word(&mut self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(at..at.checked_add(8)?)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    }
}

/// The memory of a thread, by way of the piece that was read last.
struct ThreadMemory {
    memory: ProcessMemory,
    piece: Copied,
}

impl ThreadMemory {
    fn of(tid: u32) -> Option<Self> {
        Some(Self { memory: ProcessMemory::of(tid)?, piece: Copied { start: 0, bytes: Vec::new() } })
    }

    /// Reads `length` bytes from `start` on, or as many as there are.
    fn read(&mut self, start: u64, length: usize) {
        let Copied { start: piece_start, bytes } = &mut self.piece;
        *piece_start = start;
        bytes.resize(length, 0);
        let read = self.memory.read(&pages(start, length), bytes);
        bytes.truncate(read);
    }
}

impl Memory for ThreadMemory {
    fn word(&mut self, address: u64) -> Option<u64> {
        if let Some(word) = self.piece.word(address) {
            return Some(word);
        }
        self.read(address, LATER_BYTES);
        self.piece.word(address)
    }
}

/// A stretch for each page: a call that reads memory ends before the first one that is not all there.
fn pages(start: u64, length: usize) -> Vec<MemoryStretch> {
    let end = start.saturating_add(length as u64);
    let first = start..end.min((start | (PAGE_BYTES - 1)).saturating_add(1));
    let next = |page: &std::ops::Range<u64>| Some(page.end..end.min(page.end.saturating_add(PAGE_BYTES)));
    std::iter::successors(Some(first), next)
        .take_while(|page| !page.is_empty())
        .map(|page| MemoryStretch { address: page.start, length: (page.end - page.start) as usize })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_blocked_thread_is_read() {
        assert_eq!(place("202 0x1 0x80 0x0 0x0 0x0 0x0 0x7ffd10 0x7f1234\n"), Some((0x7ffd10, 0x7f1234)));
        assert_eq!(place("-1 0x7ffd10 0x7f1234\n"), Some((0x7ffd10, 0x7f1234)));
        assert_eq!(place("running\n"), None);
        assert_eq!(place("-1 7f 0x1"), None);
        assert_eq!(place(""), None);
    }

    #[test]
    fn switches_of_both_kinds_count() {
        assert_eq!(switches("Name:\tx\nvoluntary_ctxt_switches:\t30\nnonvoluntary_ctxt_switches:\t4\n"), Some(34));
        assert_eq!(switches("voluntary_ctxt_switches:\t30\n"), None);
    }

    #[test]
    fn pieces_end_at_pages() {
        let lengths = |start, length| pages(start, length).iter().map(|page| page.length).collect::<Vec<_>>();
        assert_eq!(lengths(0x1ff0, 0x1020), [0x10, 0x1000, 0x10]);
        assert_eq!(lengths(0x1000, 0x1000), [0x1000]);
        assert_eq!(lengths(u64::MAX - 7, 64), [7]);
    }

    #[test]
    fn memory_is_read_as_far_as_it_is_there() {
        let words: Vec<u64> = (0..4096).collect();
        let start = words.as_ptr() as u64;
        let mut memory = ThreadMemory::of(std::process::id()).expect("a process");
        memory.read(start, FIRST_BYTES);
        assert_eq!(memory.word(start + 8 * 9), Some(9));
        assert_eq!(memory.word(start + 8 * 4095), Some(4095));
        assert_eq!(memory.word(16), None);
        assert_eq!(memory.word(u64::MAX), None);
        assert_eq!(memory.word(start + 8), Some(1));
    }
}
