//! The memory of a profiled process, read while it runs on.
#![allow(unsafe_code, reason = "process_vm_readv")]

use dwell_goroutines::{MemoryStretch, StretchReader};
use dwell_hotspot::RemoteMemory;
use dwell_v8::HeapMemory;

/// Stretches of one call, the kernel's limit.
const STRETCHES_AT_ONCE: usize = libc::UIO_MAXIOV as usize;
/// Pieces are read up to so many bytes for one question: what asks for more reads zeros.
const MOST_BYTES: usize = 64 << 20;

/// The memory of a process.
pub struct ProcessMemory {
    pid: i32,
}

impl ProcessMemory {
    /// Of process `pid`; `None` where that is no process id.
    pub fn of(pid: u32) -> Option<Self> {
        i32::try_from(pid).ok().map(|pid| Self { pid })
    }

    /// The process, or a thread of it.
    pub fn pid(&self) -> i32 {
        self.pid
    }
}

impl StretchReader for ProcessMemory {
    fn read(&mut self, stretches: &[MemoryStretch], bytes: &mut [u8]) -> usize {
        // Of other users' processes, and under Yama, only who may trace them can read the memory.
        let _tracing = dwell_rights::raise(&[dwell_rights::PTRACE]);
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let remote: Vec<libc::iovec> = stretches
            .iter()
            .map(|it| libc::iovec { iov_base: it.address as *mut libc::c_void, iov_len: it.length })
            .collect();
        // SAFETY: `local` and `remote` are valid during the call, which writes only into `bytes`, within its length; the
        // remote addresses are checked by the kernel.
        let read = unsafe {
            libc::process_vm_readv(self.pid, &raw const local, 1, remote.as_ptr(), remote.len() as libc::c_ulong, 0)
        };
        usize::try_from(read).unwrap_or(0)
    }
}

impl HeapMemory for ProcessMemory {
    fn bytes_at(&mut self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length.min(MOST_BYTES)];
        let piece = [MemoryStretch { address, length }];
        let is_whole = length <= MOST_BYTES && self.read(&piece, &mut bytes) == length;
        is_whole.then_some(bytes)
    }
}

impl RemoteMemory for ProcessMemory {
    fn read_pieces(&mut self, pieces: &[(u64, usize)]) -> Vec<u8> {
        let total = pieces.iter().fold(0usize, |sum, (_, length)| sum.saturating_add(*length));
        let mut bytes = vec![0; total.min(MOST_BYTES)];
        if total > MOST_BYTES {
            return bytes;
        }
        let stretches: Vec<MemoryStretch> = pieces
            .iter()
            .map(|&(address, length)| MemoryStretch { address, length })
            .filter(|it| it.length > 0)
            .collect();
        let mut rest = bytes.as_mut_slice();
        for stretches in stretches.chunks(STRETCHES_AT_ONCE) {
            let (now, later) = rest.split_at_mut(stretches.iter().map(|it| it.length).sum());
            self.read_all(stretches, now);
            rest = later;
        }
        bytes
    }
}

impl ProcessMemory {
    /// Fills `bytes`, which are zeros, with all `stretches` that are there; the others stay zeros.
    fn read_all(&mut self, mut stretches: &[MemoryStretch], mut bytes: &mut [u8]) {
        while !stretches.is_empty() {
            let read = self.read(stretches, bytes);
            let (mut whole, mut end) = (0, 0);
            while let Some(stretch) = stretches.get(whole).filter(|it| end + it.length <= read) {
                (whole, end) = (whole + 1, end + stretch.length);
            }
            // The stretch that ended the call is not all there.
            let Some(broken) = stretches.get(whole) else { return };
            bytes[end..end + broken.length].fill(0);
            (bytes, stretches) = (&mut bytes[end + broken.length..], &stretches[whole + 1..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_are_not_there_are_zeros_and_the_others_are_read() {
        let words: Vec<u64> = (1..=3000).collect();
        let at = |index: usize| (&raw const words[index]) as u64;
        let mut pieces: Vec<(u64, usize)> = (0..3000).map(|index| (at(index), 8)).collect();
        pieces[0] = (8, 8);
        pieces[1500] = (u64::MAX - 3, 8);
        pieces[2999] = (16, 8);
        let mut own = ProcessMemory::of(std::process::id()).expect("a process");
        let bytes = own.read_pieces(&pieces);
        let read: Vec<u64> =
            bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect();
        let expected = (0..3000).map(|index| if [0, 1500, 2999].contains(&index) { 0 } else { words[index] });
        assert_eq!(read, expected.collect::<Vec<_>>());
        let mut nobody = ProcessMemory::of(0).expect("a number");
        assert_eq!(nobody.read_pieces(&[(at(0), 8)]), [0; 8]);
    }

    #[test]
    fn stretches_are_read_one_behind_the_other_up_to_one_that_is_not_there() {
        let words = [1_u64, 2, 3];
        let start = words.as_ptr() as u64;
        let stretch = |address, length| MemoryStretch { address, length };
        let mut memory = ProcessMemory::of(std::process::id()).expect("a process");
        let mut bytes = [0; 16];
        assert_eq!(memory.read(&[stretch(start + 16, 8), stretch(start, 8)], &mut bytes), 16);
        assert_eq!((bytes[0], bytes[8]), (3, 1));
        assert_eq!(memory.read(&[stretch(start, 8), stretch(16, 8)], &mut bytes), 8);
        assert_eq!(memory.read(&[stretch(16, 8)], &mut bytes), 0);
    }
}
