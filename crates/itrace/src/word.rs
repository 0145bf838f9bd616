//! The stream's words. A word is 64 bits:
//!
//! | kind (63..62) | 61 | 60 | 59..57 | 56..48 | 47..0 |
//! |---|---|---|---|---|---|
//! | 0 access | 0 | store | log2 of bytes | instruction of the block | address, sign-extended from bit 47 |
//! | 1 block | 0 | 0 | 0 | 0 | id (32 bits) |
//! | 2 mark | 0 | 0 | 0 | which [`Mark`] | its number (32 bits) |
//!
//! Kind 3 is not used. Any other word reads as `None`, never as something else.

const KIND_SHIFT: u32 = 62;
const STORE: u64 = 1 << 60;
const SIZE_SHIFT: u32 = 57;
/// In the kind of an access: it writes.
pub const WRITES: u8 = 8;
const INSTRUCTION_SHIFT: u32 = 48;
const ADDRESS: u64 = (1 << 48) - 1;

/// Threads are numbered below this: a reader keeps the stack of each. A recorder takes all later ones for the last.
pub const MOST_THREADS: u32 = 1 << 18;

/// One word of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Word(pub u64);

/// A memory access of the block that was executed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access(u64);

/// What is not an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// What follows was executed by this thread (user mode: in order of their first block) or virtual CPU (system).
    Thread(u32),
    /// The window ended here and another one begins: what follows of this thread does not continue what was before.
    Gap,
    /// So many words were lost here.
    Lost(u32),
    /// The recorder's user marks this place.
    Note(u32),
}

/// What a word says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Block `id` is executed.
    Block(u32),
    /// It accesses memory.
    Access(Access),
    /// Something else.
    Mark(Mark),
}

impl Word {
    /// Block `id` is executed.
    pub const fn block(id: u32) -> Self {
        Self(1 << KIND_SHIFT | id as u64)
    }

    /// Instruction number `instruction` of the block (below 512) accesses `1 << size_log2` bytes (up to 128).
    pub const fn access(address: u64, instruction: u16, size_log2: u8, store: bool) -> Self {
        let kind = size_log2 & 7 | if store { WRITES } else { 0 };
        Self::access_by(instruction).happens(kind, address)
    }

    /// An access of which only the instruction is known.
    pub const fn access_by(instruction: u16) -> Self {
        Self(((instruction & 0x1ff) as u64) << INSTRUCTION_SHIFT)
    }

    /// The same when it happens: `kind` is log2 of its bytes, and [`WRITES`] if it writes.
    #[inline]
    pub const fn happens(self, kind: u8, address: u64) -> Self {
        Self(self.0 | ((kind & (WRITES | 7)) as u64) << SIZE_SHIFT | address & ADDRESS)
    }

    /// What is not an instruction.
    pub const fn mark(mark: Mark) -> Self {
        let (which, number) = match mark {
            Mark::Thread(number) => (0, number),
            Mark::Gap => (1, 0),
            Mark::Lost(number) => (2, number),
            Mark::Note(number) => (3, number),
        };
        Self(2 << KIND_SHIFT | which << INSTRUCTION_SHIFT | number as u64)
    }

    /// Whether it is an access: the test that readers make most often.
    #[inline]
    pub const fn is_access(self) -> bool {
        self.0 >> KIND_SHIFT == 0
    }

    /// Whether it is an access of this instruction or one before it: one comparison.
    #[inline]
    pub const fn is_access_up_to(self, instruction: usize) -> bool {
        const KIND_AND_INSTRUCTION: usize = 0xc1ff;
        (self.0 >> INSTRUCTION_SHIFT) as usize & KIND_AND_INSTRUCTION <= instruction
    }

    /// Whether it is the execution of a block, whose id is [`Word::id`].
    #[inline]
    pub const fn is_block(self) -> bool {
        self.0 >> KIND_SHIFT == 1
    }

    /// The id of the block, if [`Word::is_block`].
    #[inline]
    pub const fn id(self) -> u32 {
        self.0 as u32
    }

    /// The access, if [`Word::is_access`].
    #[inline]
    pub const fn as_access(self) -> Access {
        Access(self.0)
    }

    /// What it says; `None` for what is no word of a trace.
    pub const fn event(self) -> Option<Event> {
        match self.0 >> KIND_SHIFT {
            0 => Some(Event::Access(Access(self.0))),
            1 => Some(Event::Block(self.0 as u32)),
            2 => match (self.0 >> INSTRUCTION_SHIFT) & 0x1ff {
                0 => Some(Event::Mark(Mark::Thread(self.0 as u32))),
                1 => Some(Event::Mark(Mark::Gap)),
                2 => Some(Event::Mark(Mark::Lost(self.0 as u32))),
                3 => Some(Event::Mark(Mark::Note(self.0 as u32))),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Access {
    /// The virtual address of the first byte.
    #[inline]
    pub const fn address(self) -> u64 {
        (((self.0 << 16) as i64) >> 16) as u64
    }

    /// The number of its instruction in the block.
    #[inline]
    pub const fn instruction(self) -> usize {
        (self.0 >> INSTRUCTION_SHIFT) as usize & 0x1ff
    }

    /// How many bytes, 1 to 128.
    #[inline]
    pub const fn bytes(self) -> u64 {
        1 << (self.0 >> SIZE_SHIFT & 7)
    }

    /// Whether it writes.
    #[inline]
    pub const fn is_store(self) -> bool {
        self.0 & STORE != 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn marks_come_back() {
        for mark in [Mark::Thread(7), Mark::Gap, Mark::Lost(u32::MAX), Mark::Note(3)] {
            assert_eq!(Word::mark(mark).event(), Some(Event::Mark(mark)));
        }
        assert_eq!(Word(u64::MAX).event(), None);
    }

    proptest! {
        #[test]
        fn accesses_come_back(low in 0u64..1 << 47, kernel: bool, at in 0u16..512, size in 0u8..8, store: bool) {
            let address = if kernel { low | 0xffff_8000_0000_0000 } else { low };
            let word = Word::access(address, at, size, store);
            prop_assert!(word.is_access() && !word.is_block());
            let access = word.as_access();
            prop_assert_eq!(word.event(), Some(Event::Access(access)));
            prop_assert!(word.is_access_up_to(usize::from(at)) && word.is_access_up_to(511));
            prop_assert!(at == 0 || !word.is_access_up_to(usize::from(at) - 1));
            let seen = (access.address(), access.instruction(), access.bytes(), access.is_store());
            prop_assert_eq!(seen, (address, usize::from(at), 1u64 << size, store));
        }

        #[test]
        fn blocks_come_back(id: u32) {
            prop_assert_eq!(Word::block(id).event(), Some(Event::Block(id)));
            prop_assert_eq!(Word::block(id).id(), id);
            prop_assert!(!Word::block(id).is_access_up_to(511));
        }
    }
}
