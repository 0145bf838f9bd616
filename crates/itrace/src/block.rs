//! A block: a run of instructions that is entered at its first one.

use std::fmt;

/// As many instructions as a block can have (QEMU's `TCG_MAX_INSNS`): an access names its instruction in 9 bits.
pub const MAX_INSTRUCTIONS: usize = 512;
/// The longest x86 instruction.
pub const MAX_INSTRUCTION_BYTES: usize = 15;

/// Instructions that follow one another in memory and are executed in this order; only the last can branch. An execution can
/// end early by a fault, which the stream does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    address: u64,
    code: Box<[u8]>,
    lengths: Box<[u8]>,
}

/// Why bytes are no block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockError {
    /// No instruction, or more than [`MAX_INSTRUCTIONS`].
    Count(usize),
    /// An instruction of no byte, or more than [`MAX_INSTRUCTION_BYTES`].
    Length(u8),
    /// The lengths do not sum to the bytes of code.
    Sum {
        /// What the lengths sum to.
        lengths: usize,
        /// How many bytes there are.
        code: usize,
    },
}

impl fmt::Display for BlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "a block of {count} instructions (1 to {MAX_INSTRUCTIONS} are possible)"),
            Self::Length(bytes) => {
                write!(f, "an instruction of {bytes} bytes (1 to {MAX_INSTRUCTION_BYTES} are possible)")
            }
            Self::Sum { lengths, code } => write!(f, "instructions of {lengths} bytes in {code} bytes of code"),
        }
    }
}

impl std::error::Error for BlockError {}

impl Block {
    /// A block at a guest address: its code, and the length of each instruction in bytes.
    pub fn new(address: u64, code: &[u8], lengths: &[u8]) -> Result<Self, BlockError> {
        if !(1..=MAX_INSTRUCTIONS).contains(&lengths.len()) {
            return Err(BlockError::Count(lengths.len()));
        }
        if let Some(&wrong) = lengths.iter().find(|&&bytes| !(1..=MAX_INSTRUCTION_BYTES).contains(&usize::from(bytes)))
        {
            return Err(BlockError::Length(wrong));
        }
        let sum = lengths.iter().map(|&bytes| usize::from(bytes)).sum();
        if sum != code.len() {
            return Err(BlockError::Sum { lengths: sum, code: code.len() });
        }
        Ok(Self { address, code: code.into(), lengths: lengths.into() })
    }

    /// The guest address of the first instruction.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The guest address behind the last instruction.
    pub fn end(&self) -> u64 {
        self.address.wrapping_add(self.code.len() as u64)
    }

    /// How many instructions it has, at least one.
    pub fn count(&self) -> usize {
        self.lengths.len()
    }

    /// All bytes of code.
    pub fn code(&self) -> &[u8] {
        &self.code
    }

    /// The length of each instruction in bytes.
    pub fn lengths(&self) -> &[u8] {
        &self.lengths
    }

    /// Each instruction's guest address and bytes.
    pub fn instructions(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.lengths.iter().scan(0usize, |at, &bytes| {
            let begin = *at;
            *at += usize::from(bytes);
            Some((self.address.wrapping_add(begin as u64), &self.code[begin..*at]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_lie_end_to_end() {
        let block = Block::new(0x1000, &[0x90, 0x48, 0x89, 0xc3, 0xc3], &[1, 3, 1]).unwrap();
        let seen: Vec<_> = block.instructions().collect();
        assert_eq!(seen, [(0x1000, &[0x90][..]), (0x1001, &[0x48, 0x89, 0xc3]), (0x1004, &[0xc3])]);
        assert_eq!((block.end(), block.count()), (0x1005, 3));
    }

    #[test]
    fn what_is_no_block_is_said() {
        assert_eq!(Block::new(0, &[], &[]), Err(BlockError::Count(0)));
        assert_eq!(Block::new(0, &[0x90], &[0]), Err(BlockError::Length(0)));
        assert_eq!(Block::new(0, &[0x90; 16], &[16]), Err(BlockError::Length(16)));
        assert_eq!(Block::new(0, &[0x90; 3], &[1, 1]), Err(BlockError::Sum { lengths: 2, code: 3 }));
    }
}
