//! A blob: a piece of code in a code heap, with what its header says.

use crate::heaps::CodeRegion;
use crate::layout::{BlobLayout, CodeBegin};
use crate::memory::{number, short, word};

/// Frames of more words are not believed: a thread's stack has 1 MiB.
const MOST_FRAME_WORDS: u32 = 1 << 17;

/// A compiled method, a stub, the interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeBlob {
    /// Its first byte, that of its header.
    pub start: u64,
    /// Behind its last byte.
    pub end: u64,
    /// Its first instruction.
    pub code_start: u64,
    /// From here on its frame is complete; before, only the return address is on the stack.
    pub frame_from: u64,
    /// Words from the stack pointer to the caller's, the return address among them, while it calls; 0 where it has no frame of
    /// a fixed size.
    pub frame_words: u32,
    /// `com.example.Pool.take` of a compiled method, what the JVM calls other code.
    pub name: String,
}

/// What a blob's header says; two reads of a blob that say the same are of the same blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobHeader {
    /// Pointer to its kind.
    pub kind: u64,
    pub size: u32,
    pub frame_words: u32,
    pub code_start: u64,
    /// Bytes behind `code_start`, within the blob.
    pub frame_complete: u64,
    /// Pointer to the method, in a blob of a kind that has one.
    pub method: u64,
}

impl BlobLayout {
    /// Bytes from a block's beginning that hold all that is read.
    pub fn bytes(&self) -> usize {
        let code_begin = match self.code_begin {
            CodeBegin::Address(offset) | CodeBegin::Distance(offset) => offset,
        };
        let last =
            [self.name, self.size, self.frame_words, self.frame_complete, code_begin, self.method].into_iter().max();
        (self.block_bytes + last.unwrap_or(0) + 8) as usize
    }

    /// The header of the blob in the block at `block` of `region`, whose first bytes are `record`; none where the block is free or
    /// is being filled.
    pub fn header(&self, record: &[u8], block: u64, region: CodeRegion) -> Option<BlobHeader> {
        let used = record.get(self.used as usize).is_some_and(|&used| used != 0);
        let blob = record.get(self.block_bytes as usize..).filter(|_| used)?;
        let start = block.checked_add(self.block_bytes)?;
        let size = number(blob, self.size);
        let end = start.checked_add(u64::from(size)).filter(|&end| size > 0 && end <= region.end)?;
        let code_start = match self.code_begin {
            CodeBegin::Address(offset) => word(blob, offset),
            CodeBegin::Distance(offset) => start.checked_add(u64::from(number(blob, offset)))?,
        };
        if !(start..end).contains(&code_start) {
            return None;
        }
        let frame_complete = match self.frame_complete_is_short {
            true => i32::from(short(blob, self.frame_complete).cast_signed()),
            false => number(blob, self.frame_complete).cast_signed(),
        };
        Some(BlobHeader {
            kind: word(blob, self.name),
            size,
            frame_words: Some(number(blob, self.frame_words)).filter(|words| *words <= MOST_FRAME_WORDS)?,
            code_start,
            frame_complete: u64::try_from(frame_complete).unwrap_or(0).min(end - code_start),
            method: word(blob, self.method),
        })
        .filter(|header| header.kind != 0)
    }

    /// The blob of that header.
    pub fn blob(&self, block: u64, header: BlobHeader, name: String) -> CodeBlob {
        let start = block + self.block_bytes;
        CodeBlob {
            start,
            end: start + u64::from(header.size),
            code_start: header.code_start,
            frame_from: header.code_start + header.frame_complete,
            frame_words: header.frame_words,
            name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_complete_within_its_blob_also_where_memory_ends() {
        let layout = BlobLayout {
            block_bytes: 16,
            used: 8,
            name: 0,
            size: 8,
            frame_words: 12,
            frame_complete: 16,
            frame_complete_is_short: false,
            code_begin: CodeBegin::Distance(24),
            method: 32,
        };
        let block = u64::MAX - 0xff;
        let words: [u64; 7] = [0, 1, 1, 0xc0 | 6 << 32, 0xb0, 0x40, 0];
        let record: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let region = CodeRegion { start: block, end: u64::MAX };
        let header = layout.header(&record, block, region).expect("a blob");
        let blob = layout.blob(block, header, String::new());
        assert_eq!((blob.code_start, blob.frame_from, blob.end), (block + 0x50, block + 0xd0, block + 0xd0));
    }
}
