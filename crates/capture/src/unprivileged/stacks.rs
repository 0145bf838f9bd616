//! Stacks of the pieces that samples hold. A thread mostly stands where it stood before: a walk notes every word of the stack
//! that it read, and where all of them are the same again, so is the stack.

use dwell_model::StackEnd;
use dwell_store::raw::RecordBuffer;
use dwell_store::raw::wire::{RecordHeader, STACK_KERNEL, StackHeader, is_interpreted_method, kind};
use dwell_unwind::{Memory, Registers, Walk, walk};
use foldhash::{HashMap, HashSet};

use super::record::StackPiece;
use crate::stacks::unwinding::UnwindTables;
use crate::topics::java_code::JavaCode;

/// Walks that are remembered; beyond it all are forgotten.
const MOST_WALKS: usize = 200_000;
/// Stacks that are not written again.
const MOST_WRITTEN: usize = 1 << 20;
/// Ways on from one place that are remembered.
const MOST_WAYS: usize = 16;
const SP: usize = 7;
const BP: usize = 6;

/// Where a thread stands: what a walk begins with.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct WalkStart {
    tgid: u32,
    /// Mappings of the process have changed so often.
    epoch: u32,
    ip: u64,
    sp: u64,
    bp: u64,
}

/// A walk from a place.
struct StackWalk {
    /// What it read, in this order.
    words: Vec<(u64, u64)>,
    /// All registers, where it looked at more than a place has.
    registers: Option<[u64; 16]>,
    found: FoundStack,
}

/// A stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundStack {
    /// Key of its record.
    pub key: u64,
    /// Whether the piece ended before the stack did.
    pub is_cut: bool,
}

/// The stacks so far.
#[derive(Default)]
pub struct Stacks {
    ways: HashMap<WalkStart, Vec<StackWalk>>,
    walks: usize,
    epochs: HashMap<u32, u32>,
    written: HashSet<u64>,
    /// Stacks with methods that are to be named: their process, frames and time.
    with_methods: Vec<(u32, Vec<u64>, u64)>,
}

impl Stacks {
    /// The mappings of process `tgid` have changed: the same addresses may be other code.
    pub fn mapped(&mut self, tgid: u32) {
        *self.epochs.entry(tgid).or_default() += 1;
    }

    /// The stack in `piece` of thread `header.tid` of process `tgid`, described in `trace` when it is new.
    pub fn find(
        &mut self,
        (header, tgid): (RecordHeader, u32),
        piece: &StackPiece<'_>,
        unwinding: &mut UnwindTables,
        trace: &mut RecordBuffer,
    ) -> FoundStack {
        let registers = &piece.registers;
        let epoch = self.epochs.get(&tgid).copied().unwrap_or(0);
        let place =
            WalkStart { tgid, epoch, ip: registers.ip, sp: registers.registers[SP], bp: registers.registers[BP] };
        let same = |way: &&StackWalk| {
            way.registers.is_none_or(|all| all == registers.registers)
                && way.words.iter().all(|&(address, word)| word_at(place.sp, piece.bytes, address) == Some(word))
        };
        if let Some(way) = self.ways.get(&place).and_then(|ways| ways.iter().find(same)) {
            return way.found;
        }
        let (walked, way) = self.walk(place, piece, unwinding);
        let found = self.write((header, tgid), epoch, &walked, trace);
        self.remember(place, StackWalk { found, ..way });
        found
    }

    /// By rows, which lead through nearly all stacks; else by all that the files say.
    fn walk(&self, place: WalkStart, piece: &StackPiece<'_>, unwinding: &mut UnwindTables) -> (Walk, StackWalk) {
        let registers = &piece.registers;
        let begin = || Registers { ip: registers.ip, all: registers.registers.map(Some) };
        let mut memory = Noted { start: place.sp, bytes: piece.bytes, words: Vec::new() };
        let mut walked = walk(begin(), &mut unwinding.code(place.tgid, false), &mut memory);
        let mut looked_at = None;
        if walked.end == StackEnd::BadRule {
            memory.words.clear();
            walked = walk(begin(), &mut unwinding.code(place.tgid, true), &mut memory);
            looked_at = Some(registers.registers);
        }
        (walked, StackWalk { words: memory.words, registers: looked_at, found: FoundStack::default() })
    }

    /// Writes the stack, if it is new.
    pub fn write(
        &mut self,
        (header, tgid): (RecordHeader, u32),
        epoch: u32,
        walked: &Walk,
        trace: &mut RecordBuffer,
    ) -> FoundStack {
        let begin = mix(u64::from(tgid) << 32 | u64::from(epoch), walked.end as u64);
        let key = walked.frames.iter().fold(begin, |hash, &frame| mix(hash, frame)).max(1);
        if self.is_new(key) {
            let h = RecordHeader { kind: kind::STACK, ..header };
            trace.stack(StackHeader { h, key, tgid, count: 0, flags: 0, end: walked.end as u8 }, &walked.frames);
            if walked.frames.iter().any(|frame| is_interpreted_method(*frame)) {
                self.with_methods.push((tgid, walked.frames.clone(), header.time_ns));
            }
        }
        FoundStack { key, is_cut: walked.end == StackEnd::Unreadable }
    }

    /// Hands on the stacks whose methods are to be named.
    pub fn tell_methods(&mut self, java_code: &mut JavaCode) {
        for (tgid, frames, time_ns) in self.with_methods.drain(..) {
            java_code.saw(tgid, &frames, time_ns);
        }
    }

    /// Writes a stack of the kernel, if it is new. Returns its key, 0 of no frames.
    pub fn write_kernel(&mut self, header: RecordHeader, frames: &[u64], trace: &mut RecordBuffer) -> u64 {
        if frames.is_empty() {
            return 0;
        }
        let key = frames.iter().fold(u64::from(STACK_KERNEL), |hash, &frame| mix(hash, frame)).max(1);
        if self.is_new(key) {
            let h = RecordHeader { kind: kind::STACK, ..header };
            trace.stack(StackHeader { h, key, tgid: 0, count: 0, flags: STACK_KERNEL, end: 0 }, frames);
        }
        key
    }

    fn is_new(&mut self, key: u64) -> bool {
        if self.written.len() >= MOST_WRITTEN {
            self.written.clear();
        }
        self.written.insert(key)
    }

    /// How often the mappings of process `tgid` have changed.
    pub fn epoch(&self, tgid: u32) -> u32 {
        self.epochs.get(&tgid).copied().unwrap_or(0)
    }

    fn remember(&mut self, place: WalkStart, way: StackWalk) {
        if self.walks >= MOST_WALKS {
            self.ways.clear();
            self.walks = 0;
        }
        let ways = self.ways.entry(place).or_default();
        if ways.len() >= MOST_WAYS {
            ways.remove(0);
            self.walks -= 1;
        }
        ways.push(way);
        self.walks += 1;
    }
}

/// A piece of a stack, and which words of it were read.
struct Noted<'p> {
    start: u64,
    bytes: &'p [u8],
    words: Vec<(u64, u64)>,
}

impl Memory for Noted<'_> {
    fn word(&mut self, address: u64) -> Option<u64> {
        let word = word_at(self.start, self.bytes, address)?;
        self.words.push((address, word));
        Some(word)
    }
}

/// The word at `address` of a piece that begins at `start`.
pub fn word_at(start: u64, bytes: &[u8], address: u64) -> Option<u64> {
    let at = usize::try_from(address.checked_sub(start)?).ok()?;
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// Mixes a word into a hash, as `mix` of record.bpf.h.
pub fn mix(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}
