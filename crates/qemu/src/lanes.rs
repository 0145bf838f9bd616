//! The lanes: each virtual CPU writes its words into the shared memory by its own lane, without a lock.
//!
//! A CPU that is not recorded (the gate is closed, the reader has gone, a child process) writes all the same, into a chunk that
//! is filled again and again: the way that is taken billions of times has one question only, whether the chunk is full.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use dwell_itrace::marks::{CLOSE_GATE, OPEN_GATE};
use dwell_itrace::ring::{CHUNK_BYTES, FIRST_CHUNKS, LANES, Lane, MOST_CHUNKS, OUTBOX_OFFSET, STOP, chunk_offset};
use dwell_itrace::{Mark, Message, WRITES, Word};

use crate::memory::lane;
use crate::{api, channel, memory};

/// Whether words are handed over.
static RECORDING: AtomicBool = AtomicBool::new(true);
/// Whether it is over: the reader has gone, or this is a child process.
static OVER: AtomicBool = AtomicBool::new(false);
/// The first chunk that nobody ever had.
static NEXT: AtomicU32 = AtomicU32::new(FIRST_CHUNKS);
/// Chunks of threads that have ended, which are the reader's to hand out.
static SPARE: AtomicU32 = AtomicU32::new(0);

/// In the number of a lane's chunk: what it has is not to be read.
const UNRECORDED: u32 = 1 << 31;

/// In a child process: nothing is recorded any more, and the lanes lie in memory of its own.
pub fn detach() {
    OVER.store(true, Ordering::Relaxed);
    memory::detach();
}

/// Opens or closes the gate. What a CPU has in its chunk when the gate opens is old: see [`open_gate`].
pub fn set_recording(recording: bool) {
    RECORDING.store(recording, Ordering::Relaxed);
}

/// Whether nothing is recorded any more.
pub fn is_over() -> bool {
    OVER.load(Ordering::Relaxed)
}

/// Whether the CPU has a lane.
pub fn has(cpu: c_uint) -> bool {
    (cpu as usize) < LANES
}

/// Writes a word. What is rare is in functions of their own, which those that are called billions of times end in: they
/// save no registers.
#[inline]
pub fn push(cpu: c_uint, word: u64) {
    if !(has(cpu) && write(lane(cpu), word)) {
        push_with_room(cpu, word);
    }
}

/// Writes a word if there is room in the chunk.
#[inline]
fn write(lane: *mut Lane, word: u64) -> bool {
    // Nobody else writes a CPU's lane, and its addresses are of the memory that is mapped for as long as the process lives.
    unsafe {
        let cursor = (*lane).cursor;
        let has_room = cursor != (*lane).end;
        if has_room {
            *(cursor as *mut u64) = word;
            (*lane).cursor = cursor + 8;
        }
        has_room
    }
}

#[cold]
#[inline(never)]
fn push_with_room(cpu: c_uint, word: u64) {
    if has(cpu) {
        let lane = lane(cpu);
        unsafe { full(cpu, lane) };
        write(lane, word);
    }
}

/// Makes room: hands the chunk over and takes another one, or begins it again when it is not wanted.
unsafe fn full(cpu: c_uint, lane: *mut Lane) {
    let Lane { begin, chunk, .. } = unsafe { *lane };
    let recording = RECORDING.load(Ordering::Relaxed);
    if begin != 0 && (is_over() || !recording || chunk & UNRECORDED != 0) {
        unsafe { begin_again(lane, recording) };
        return;
    }
    unsafe { hand_over(cpu, lane) };
    let chunk = if begin == 0 { first_chunk() } else { channel::empty_chunk() };
    unsafe { enter(lane, chunk) };
}

/// Forgets what the chunk has.
unsafe fn begin_again(lane: *mut Lane, recording: bool) {
    unsafe {
        (*lane).cursor = (*lane).begin;
        if recording && !is_over() {
            (*lane).chunk &= !UNRECORDED;
        }
    }
}

unsafe fn hand_over(cpu: c_uint, lane: *mut Lane) {
    let Lane { cursor, begin, chunk, .. } = unsafe { *lane };
    let words = cursor.saturating_sub(begin) / 8;
    if words > 0 {
        channel::send(&Message::Chunk { cpu, chunk, words: words as u32 });
        // Told once: the lane of a recorder that ends here has nothing more.
        unsafe { (*lane).cursor = begin };
    }
}

/// A chunk for a CPU that has none.
fn first_chunk() -> Option<u32> {
    if is_over() {
        return None;
    }
    let spare = SPARE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |spare| spare.checked_sub(1)).is_ok();
    let new = if spare { MOST_CHUNKS } else { NEXT.fetch_add(1, Ordering::Relaxed) };
    if new < MOST_CHUNKS { Some(new) } else { channel::empty_chunk() }
}

/// Begins a chunk; without one nothing is recorded any more, and the last chunk, which then nobody reads, is written into.
unsafe fn enter(lane: *mut Lane, chunk: Option<u32>) {
    let offset = chunk.and_then(chunk_offset);
    if offset.is_none() {
        OVER.store(true, Ordering::Relaxed);
    }
    let offset = offset.unwrap_or(OUTBOX_OFFSET - CHUNK_BYTES);
    let begin = memory::start() as u64 + offset as u64;
    let unrecorded = if RECORDING.load(Ordering::Relaxed) { 0 } else { UNRECORDED };
    let chunk = chunk.unwrap_or(STOP) | unrecorded;
    unsafe { *lane = Lane { cursor: begin, end: begin + CHUNK_BYTES as u64, begin, chunk, ..*lane } };
}

/// The thread of a CPU has ended.
pub fn end(cpu: c_uint) {
    if !has(cpu) || is_over() {
        return;
    }
    let lane = lane(cpu);
    unsafe {
        if (*lane).begin == 0 {
            return;
        }
        if RECORDING.load(Ordering::Relaxed) {
            hand_over(cpu, lane);
            SPARE.fetch_add(1, Ordering::Relaxed);
        }
        *lane = Lane { cursor: 0, end: 0, begin: 0, chunk: 0, string_accesses: 0 };
    }
    channel::send(&Message::End { cpu });
}

/// From here on words are handed over; what the CPU has written before is not.
fn open_gate(cpu: c_uint) {
    let lane = lane(cpu);
    if !RECORDING.swap(true, Ordering::Relaxed) {
        unsafe { begin_again(lane, true) };
    }
}

/// From here on nothing is handed over any more, but what is written already.
fn close_gate(cpu: c_uint) {
    let lane = lane(cpu);
    if RECORDING.swap(false, Ordering::Relaxed) && !is_over() {
        unsafe {
            hand_over(cpu, lane);
            enter(lane, channel::empty_chunk());
        }
    }
}

/// Called for a mark in the guest's code.
pub extern "C" fn on_mark(cpu: c_uint, mark: *mut c_void) {
    let number = mark as usize as u32;
    if !has(cpu) || is_over() {
        return;
    }
    if number == OPEN_GATE {
        open_gate(cpu);
    }
    push(cpu, Word::mark(Mark::Note(number)).0);
    if number == CLOSE_GATE {
        close_gate(cpu);
    }
}

/// Called for each execution of a block, with its word.
pub extern "C" fn on_block(cpu: c_uint, word: *mut c_void) {
    push(cpu, word as u64);
}

/// Called for each access, with the word of its instruction's accesses.
pub extern "C" fn on_access(cpu: c_uint, kind: u32, address: u64, instruction: *mut c_void) {
    let known = known(kind);
    let is_usual = known & (ASKED | READS_TOO) == ASKED && has(cpu);
    if !(is_usual && write(lane(cpu), Word(instruction as u64).happens(known, address).0)) {
        on_rare_access(cpu, kind, address, instruction);
    }
}

#[cold]
#[inline(never)]
extern "C" fn on_rare_access(cpu: c_uint, kind: u32, address: u64, instruction: *mut c_void) {
    let known = if known(kind) == 0 { ask(kind) } else { known(kind) };
    let access = Word(instruction as u64);
    if known & READS_TOO != 0 {
        push(cpu, access.happens(known & !WRITES, address).0);
    }
    push(cpu, access.happens(known, address).0);
}

/// A repeated string instruction, whose iterations QEMU does in one execution, in the 64 bits that a callback keeps:
/// its number in the block (9 bits), accesses of an iteration (7), and the block of itself alone, which each iteration
/// behind the first is told as (32 bits above).
#[derive(Clone, Copy)]
pub struct Repeated(u64);

impl Repeated {
    /// `accesses` is what an iteration makes; `alone` the number of the block that has only this instruction.
    pub fn new(at: usize, accesses: u32, alone: u32) -> Self {
        Self(u64::from(alone) << 32 | u64::from(accesses & 0x7f) << 9 | at as u64 & 0x1ff)
    }

    /// The instruction that an access is of, and whether an iteration behind the first begins with it.
    fn told_as(self, access: u32) -> (Word, Option<Word>) {
        let accesses = (self.0 >> 9 & 0x7f) as u32;
        if access < accesses {
            return (Word::access_by(self.0 as u16 & 0x1ff), None);
        }
        let begins = access.checked_rem(accesses) == Some(0);
        (Word::access_by(0), begins.then_some(Word::block((self.0 >> 32) as u32)))
    }

    /// What a callback keeps.
    pub fn kept(self) -> *mut c_void {
        self.0 as usize as *mut c_void
    }
}

/// Called when a [`Repeated`] begins.
pub extern "C" fn on_string(cpu: c_uint, _: *mut c_void) {
    if has(cpu) {
        unsafe { (*lane(cpu)).string_accesses = 0 };
    }
}

/// Called for each access of a [`Repeated`].
pub extern "C" fn on_string_access(cpu: c_uint, kind: u32, address: u64, repeated: *mut c_void) {
    if !has(cpu) {
        return;
    }
    let lane = lane(cpu);
    let before = unsafe { (*lane).string_accesses };
    unsafe { (*lane).string_accesses = before.wrapping_add(1) };
    let (instruction, iteration) = Repeated(repeated as u64).told_as(before);
    if let Some(block) = iteration {
        push(cpu, block.0);
    }
    on_access(cpu, kind, address, instruction.0 as usize as *mut c_void);
}

/// Kinds of accesses that are remembered; QEMU 7.2 has no higher ones.
const KINDS: usize = 1 << 18;
/// What accesses of each kind do: [`Word::happens`]'s kind, [`ASKED`], and for atomic ones [`READS_TOO`].
static KNOWN: [AtomicU8; KINDS] = [const { AtomicU8::new(0) }; KINDS];
const ASKED: u8 = 1 << 7;
const READS_TOO: u8 = 1 << 6;
/// Where QEMU's kind says whether it reads (1) and writes (2).
const KIND_RW: u32 = 16;

#[inline]
fn known(kind: u32) -> u8 {
    KNOWN.get(kind as usize).map_or(0, |known| known.load(Ordering::Relaxed))
}

/// Asks QEMU what accesses of a kind do, once for each.
fn ask(kind: u32) -> u8 {
    let (size, writes) = unsafe { (api::qemu_plugin_mem_size_shift(kind), api::qemu_plugin_mem_is_store(kind)) };
    let reads_too = writes && kind >> KIND_RW & 3 == 3;
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let known = size as u8 & 7 | flag(writes, WRITES) | flag(reads_too, READS_TOO) | ASKED;
    if let Some(place) = KNOWN.get(kind as usize) {
        place.store(known, Ordering::Relaxed);
    }
    known
}
