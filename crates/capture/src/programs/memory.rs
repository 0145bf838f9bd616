//! The memory of a profiled process, read while it runs on.
#![allow(unsafe_code, reason = "process_vm_readv")]

use dwell_goroutines::{Memory, Stretch};

/// The memory of a process.
pub struct ProcessMemory {
    pid: i32,
}

impl ProcessMemory {
    /// Of process `pid`; `None` where that is no process id.
    pub fn of(pid: u32) -> Option<Self> {
        i32::try_from(pid).ok().map(|pid| Self { pid })
    }
}

impl Memory for ProcessMemory {
    fn read(&mut self, stretches: &[Stretch], bytes: &mut [u8]) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_read_one_behind_the_other_up_to_one_that_is_not_there() {
        let words = [1_u64, 2, 3];
        let start = words.as_ptr() as u64;
        let stretch = |address, length| Stretch { address, length };
        let mut memory = ProcessMemory::of(std::process::id()).expect("a process");
        let mut bytes = [0; 16];
        assert_eq!(memory.read(&[stretch(start + 16, 8), stretch(start, 8)], &mut bytes), 16);
        assert_eq!((bytes[0], bytes[8]), (3, 1));
        assert_eq!(memory.read(&[stretch(start, 8), stretch(16, 8)], &mut bytes), 8);
        assert_eq!(memory.read(&[stretch(16, 8)], &mut bytes), 0);
    }
}
