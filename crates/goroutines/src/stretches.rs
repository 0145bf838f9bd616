//! Reading many stretches of memory with few calls.

use crate::{MemoryStretch, StretchReader};

/// Stretches in one call: half of what the kernel takes (`UIO_MAXIOV`).
const MOST_STRETCHES: usize = 512;
/// Bytes in one call.
const MOST_BYTES: usize = 4 << 20;
/// Bytes between two things that are read with them rather than by a stretch of its own.
const MOST_GAP_BYTES: u64 = 1024;
/// Stretches that are not there, after which no more are tried.
const MOST_MISSING: usize = 64;

/// The 64-bit number at a place in `bytes`.
pub fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at.checked_add(8)?)?.try_into().ok().map(u64::from_le_bytes)
}

/// Stretches that cover `length` bytes from each of the sorted `addresses`; and for each stretch, and behind the last, which
/// address is its first.
pub fn coalesced(addresses: &[u64], length: usize) -> (Vec<MemoryStretch>, Vec<usize>) {
    let (mut stretches, mut firsts): (Vec<MemoryStretch>, Vec<usize>) = (Vec::new(), Vec::new());
    for (number, &address) in addresses.iter().enumerate() {
        if let Some(last) = stretches.last_mut() {
            let end = last.address + last.length as u64;
            let grown = address.saturating_add(length as u64) - last.address;
            if address <= end.saturating_add(MOST_GAP_BYTES) && grown <= MOST_BYTES as u64 / 8 {
                last.length = last.length.max(grown as usize);
                continue;
            }
        }
        stretches.push(MemoryStretch { address: address.min(u64::MAX - length as u64), length });
        firsts.push(number);
    }
    firsts.push(addresses.len());
    (stretches, firsts)
}

/// Reads all stretches, and calls `each` with the number and the bytes of each that is there as a whole.
pub fn read_each(memory: &mut dyn StretchReader, stretches: &[MemoryStretch], each: &mut dyn FnMut(usize, &[u8])) {
    let (mut first, mut missing) = (0, 0);
    let mut buffer = Vec::new();
    while first < stretches.len() && missing < MOST_MISSING {
        let mut bytes = 0;
        let fits = |stretch: &&MemoryStretch| {
            bytes += stretch.length;
            bytes <= MOST_BYTES
        };
        let count = stretches[first..].iter().take(MOST_STRETCHES).take_while(fits).count().max(1);
        let batch = &stretches[first..first + count];
        buffer.resize(batch.iter().map(|stretch| stretch.length).sum::<usize>().min(MOST_BYTES), 0);
        let read = memory.read(batch, &mut buffer).min(buffer.len());
        let (mut at, mut whole) = (0, 0);
        for stretch in batch {
            let Some(bytes) = buffer[..read].get(at..at + stretch.length) else { break };
            each(first + whole, bytes);
            at += stretch.length;
            whole += 1;
        }
        let is_missing = whole < count;
        missing += usize::from(is_missing);
        first += whole + usize::from(is_missing);
    }
}
