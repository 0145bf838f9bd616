//! Words in few bytes: what is predicted is not written.
//!
//! Writer and reader keep the same memory of what came before: which block followed after two others, which accesses each
//! block made when it was executed last, and by how much their addresses had moved. An execution that is as this memory says costs
//! nothing but a share of a count. Of others, only what is different is written: the block, the kinds of its accesses, and for
//! each address one of four codes: moved on as before, moved as the access before it, the same, or else the difference.
//! Both streams (control, differences) then go through zstd.

use dwell_itrace::Word;

/// Entries of the memory of successors.
const SUCCESSORS: usize = 1 << 16;
/// Successor of nothing.
const NOBODY: u32 = u32::MAX;

const PREDICTED: u8 = 1;
const SAME_ACCESSES: u8 = 2;
const SAME_MOVES: u8 = 4;
const IS_MARK: u8 = 8;
/// The end of a frame, behind the last run.
const IS_END: u8 = 16;

/// Bits of a word that are its address: what is added to addresses is added here, without a carry into the others.
const ADDRESS_BITS: u32 = 48;
const ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;

/// An access as it is expected when its block is executed next.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// The whole word: one comparison tells whether it comes so.
    next: u64,
    /// By how much the address had moved, and is expected to move.
    moved: u64,
}

impl Slot {
    #[inline]
    fn move_on(&mut self) {
        self.next = self.next & !ADDRESS | self.next.wrapping_add(self.moved) & ADDRESS;
    }

    /// The access that came was at this distance from the one before.
    #[inline]
    fn came(&mut self, moved: u64) -> Word {
        let word = Word(self.next & !ADDRESS | self.next.wrapping_sub(self.moved).wrapping_add(moved) & ADDRESS);
        (self.next, self.moved) = (word.0, moved);
        self.move_on();
        word
    }

    fn kind(self) -> u16 {
        (self.next >> ADDRESS_BITS) as u16
    }

    fn set_kind(&mut self, kind: u16) {
        self.next = u64::from(kind) << ADDRESS_BITS | self.next & ADDRESS;
    }

    /// How far an access is from the one before: a signed number of as many bits as addresses have.
    fn distance(self, access: Word) -> u64 {
        let moved = access.0.wrapping_sub(self.next.wrapping_sub(self.moved));
        ((moved << (64 - ADDRESS_BITS)) as i64 >> (64 - ADDRESS_BITS)) as u64
    }
}

/// The shared memory.
pub struct Memory {
    slots: Vec<Vec<Slot>>,
    successors: Vec<u32>,
    last: [u32; 2],
}

impl Default for Memory {
    fn default() -> Self {
        Self { slots: Vec::new(), successors: vec![NOBODY; SUCCESSORS], last: [NOBODY; 2] }
    }
}

impl Memory {
    #[inline]
    fn successor(&mut self) -> &mut u32 {
        let [before, last] = self.last;
        let hash = before.wrapping_mul(0x9e37_79b1) ^ last.wrapping_mul(0x85eb_ca6b);
        &mut self.successors[(hash >> 16) as usize % SUCCESSORS]
    }

    #[inline]
    fn follow(&mut self, block: u32) {
        *self.successor() = block;
        self.last = [self.last[1], block];
    }

    /// Room for this many blocks.
    fn fit(&mut self, blocks: usize) {
        if self.slots.len() < blocks {
            self.slots.resize_with(blocks, Vec::new);
        }
    }
}

/// Two streams, and how many perfect executions have not been written yet.
#[derive(Default)]
pub struct Writer {
    memory: Memory,
    /// The control stream.
    pub control: Vec<u8>,
    /// The differences of addresses.
    pub moves: Vec<u8>,
    run: u64,
    codes: Vec<u8>,
}

impl Writer {
    /// Writes words; a slice has whole executions. Blocks are below `blocks`.
    pub fn write(&mut self, words: &[Word], blocks: usize) {
        self.memory.fit(blocks);
        let mut rest = words;
        while let Some((&word, behind)) = rest.split_first() {
            let count = behind.iter().position(|word| !word.is_access()).unwrap_or(behind.len());
            let (accesses, next) = behind.split_at(count);
            if word.is_block() && (word.id() as usize) < blocks {
                self.execution(word.id(), accesses);
            } else {
                self.mark(word);
            }
            rest = next;
        }
    }

    /// Ends a frame: its streams are complete.
    pub fn end_frame(&mut self) {
        self.flush_run();
        self.control.push(IS_END);
    }

    fn flush_run(&mut self) {
        put_number(&mut self.control, self.run);
        self.run = 0;
    }

    fn mark(&mut self, word: Word) {
        self.flush_run();
        self.control.push(IS_MARK);
        self.control.extend_from_slice(&word.0.to_le_bytes());
        self.memory.last = [NOBODY; 2];
    }

    #[inline]
    fn execution(&mut self, block: u32, accesses: &[Word]) {
        let predicted = *self.memory.successor() == block;
        self.memory.follow(block);
        let slots = &mut self.memory.slots[block as usize];
        let pairs = || slots.iter().zip(accesses);
        if predicted && slots.len() == accesses.len() && pairs().all(|(slot, access)| slot.next == access.0) {
            slots.iter_mut().for_each(Slot::move_on);
            self.run += 1;
            return;
        }
        let same = slots.len() == accesses.len() && pairs().all(|(slot, access)| slot.kind() == kind_of(*access));
        self.different(block, accesses, predicted, same);
    }

    fn different(&mut self, block: u32, accesses: &[Word], predicted: bool, same: bool) {
        self.flush_run();
        let flags = self.control.len();
        self.control.push(0);
        if !predicted {
            put_number(&mut self.control, u64::from(block));
        }
        let slots = &mut self.memory.slots[block as usize];
        if !same {
            put_number(&mut self.control, accesses.len() as u64);
            slots.resize(accesses.len(), Slot::default());
            for (slot, access) in slots.iter_mut().zip(accesses) {
                slot.set_kind(kind_of(*access));
                self.control.extend_from_slice(&slot.kind().to_le_bytes());
            }
        }
        self.codes.clear();
        let mut shift = 0u64;
        for (slot, access) in slots.iter_mut().zip(accesses) {
            let moved = slot.distance(*access);
            let code = code_of(moved, slot.moved, shift);
            if code == DIFFERENT {
                put_number(&mut self.moves, zigzag(moved));
            }
            self.codes.push(code);
            shift = moved;
            slot.came(moved);
        }
        let same_moves = self.codes.iter().all(|&code| code == MOVED_ON);
        if !same_moves {
            self.control.extend(self.codes.chunks(4).map(packed));
        }
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        self.control[flags] = flag(predicted, PREDICTED) | flag(same, SAME_ACCESSES) | flag(same_moves, SAME_MOVES);
    }
}

const MOVED_ON: u8 = 0;
const SHIFTED: u8 = 1;
const STILL: u8 = 2;
const DIFFERENT: u8 = 3;

fn code_of(moved: u64, before: u64, shift: u64) -> u8 {
    if moved == before {
        MOVED_ON
    } else if moved == shift {
        SHIFTED
    } else if moved == 0 {
        STILL
    } else {
        DIFFERENT
    }
}

fn packed(codes: &[u8]) -> u8 {
    codes.iter().enumerate().fold(0, |byte, (at, code)| byte | code << (at * 2))
}

#[inline]
fn kind_of(word: Word) -> u16 {
    (word.0 >> ADDRESS_BITS) as u16
}

fn zigzag(moved: u64) -> u64 {
    let signed = moved as i64;
    ((signed << 1) ^ (signed >> 63)) as u64
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads what [`Writer`] wrote. What makes no sense is `None`, and then nothing behind it can be read.
#[derive(Default)]
pub struct Reader {
    memory: Memory,
    /// Slots of all blocks, which stay until the end.
    held: usize,
}

/// More accesses of blocks than a program has: 512 MiB of slots, which a hostile file of 1 MB could ask for.
const MOST_SLOTS: usize = 1 << 25;

impl Reader {
    /// The words of a frame, of at most `most`; blocks are below `blocks`.
    pub fn read(&mut self, control: &[u8], moves: &[u8], blocks: usize, most: usize) -> Option<Vec<Word>> {
        self.memory.fit(blocks);
        let mut frame = Frame { control, moves, words: Vec::new(), most };
        loop {
            for _ in 0..frame.number()? {
                self.perfect(&mut frame)?;
            }
            let flags = frame.byte()?;
            match flags {
                IS_END => return Some(frame.words).filter(|_| frame.control.is_empty() && frame.moves.is_empty()),
                IS_MARK => {
                    let word = Word(u64::from_le_bytes(frame.take(8)?.try_into().ok()?));
                    frame.push(Some(word).filter(|word| !word.is_access() && !word.is_block())?)?;
                    self.memory.last = [NOBODY; 2];
                }
                _ => self.different(flags, &mut frame)?,
            }
        }
    }

    /// An execution as the memory says.
    fn perfect(&mut self, frame: &mut Frame<'_>) -> Option<()> {
        let block = *self.memory.successor();
        self.memory.follow(block);
        let slots = self.memory.slots.get_mut(block as usize)?;
        frame.push(Word::block(block))?;
        for slot in slots {
            frame.push(Word(slot.next))?;
            slot.move_on();
        }
        Some(())
    }

    fn different(&mut self, flags: u8, frame: &mut Frame<'_>) -> Option<()> {
        let block = match flags & PREDICTED {
            0 => u32::try_from(frame.number()?).ok()?,
            _ => *self.memory.successor(),
        };
        if flags >= IS_MARK {
            return None;
        }
        self.memory.follow(block);
        let slots = self.memory.slots.get_mut(block as usize)?;
        frame.push(Word::block(block))?;
        if flags & SAME_ACCESSES == 0 {
            let count = usize::try_from(frame.number()?).ok().filter(|&count| count <= frame.control.len() / 2)?;
            self.held += count.saturating_sub(slots.capacity());
            if self.held > MOST_SLOTS {
                return None;
            }
            slots.reserve_exact(count.saturating_sub(slots.len()));
            slots.resize(count, Slot::default());
            for slot in slots.iter_mut() {
                slot.set_kind(u16::from_le_bytes(frame.take(2)?.try_into().ok()?));
                Some(()).filter(|()| Word(slot.next).is_access())?;
            }
        }
        let codes = match flags & SAME_MOVES {
            0 => frame.take(slots.len().div_ceil(4))?,
            _ => &[],
        };
        let mut shift = 0;
        for (at, slot) in slots.iter_mut().enumerate() {
            let moved = match codes.get(at / 4).map_or(MOVED_ON, |byte| byte >> (at % 4 * 2) & 3) {
                MOVED_ON => slot.moved,
                SHIFTED => shift,
                STILL => 0,
                _ => unzigzag(frame.moved()?),
            };
            shift = moved;
            frame.push(slot.came(moved))?;
        }
        Some(())
    }
}

/// What is left of a frame, and what has been read of it.
struct Frame<'a> {
    control: &'a [u8],
    moves: &'a [u8],
    words: Vec<Word>,
    most: usize,
}

impl<'a> Frame<'a> {
    fn push(&mut self, word: Word) -> Option<()> {
        if self.words.len() == self.most {
            return None;
        }
        self.words.push(word);
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.control.split_first()?;
        self.control = rest;
        Some(byte)
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.control.split_at_checked(bytes)?;
        self.control = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        number(&mut self.control)
    }

    fn moved(&mut self) -> Option<u64> {
        number(&mut self.moves)
    }
}

fn number(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use dwell_itrace::Mark;
    use proptest::prelude::*;

    use super::*;

    const BLOCKS: usize = 6;

    fn words() -> impl Strategy<Value = Vec<Word>> {
        let access = (0u64..1 << 20, 0u16..4, 0u8..4, any::<bool>())
            .prop_map(|(address, at, size, store)| Word::access(address * 8, at, size, store));
        let execution = (0..BLOCKS as u32, prop::collection::vec(access, 0..5))
            .prop_map(|(block, accesses)| std::iter::once(Word::block(block)).chain(accesses).collect::<Vec<_>>());
        let mark = (0u32..9).prop_map(|number| vec![Word::mark(Mark::Note(number))]);
        let piece = prop_oneof![9 => execution, 1 => mark];
        // Repetition is what the codec lives from.
        (prop::collection::vec(piece, 0..20), 1usize..4)
            .prop_map(|(pieces, times)| pieces.iter().flatten().copied().collect::<Vec<_>>().repeat(times))
    }

    proptest! {
        #[test]
        fn words_come_back(frames in prop::collection::vec(words(), 1..4)) {
            let (mut writer, mut reader) = (Writer::default(), Reader::default());
            for words in frames {
                writer.write(&words, BLOCKS);
                writer.end_frame();
                let (control, moves) = (std::mem::take(&mut writer.control), std::mem::take(&mut writer.moves));
                prop_assert_eq!(reader.read(&control, &moves, BLOCKS, words.len()), Some(words));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            control in prop::collection::vec(any::<u8>(), 0..300),
            moves in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let read = Reader::default().read(&control, &moves, BLOCKS, 1000);
            prop_assert!(read.is_none_or(|words| words.len() <= 1000));
        }
    }

    #[test]
    fn a_loop_costs_nothing() {
        let mut words = Vec::new();
        for turn in 0..100_000u64 {
            words.extend([Word::block(0), Word::access(turn * 8, 1, 3, false), Word::access(1 << 30, 2, 3, true)]);
        }
        let mut writer = Writer::default();
        writer.write(&words, 1);
        writer.end_frame();
        assert!(writer.control.len() + writer.moves.len() < 100, "{}", writer.control.len());
    }
}
