//! The ring of one CPU, which all events of that CPU write to.
//!
//! Records are read where they lie: the kernel writes nothing between tail and head until the tail is moved.
#![allow(unsafe_code, reason = "a ring is memory that the kernel writes")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::kernel::perf::PAGE_BYTES;

/// Bytes of `struct perf_event_header`.
pub const HEADER_BYTES: usize = 8;
/// Offsets in `struct perf_event_mmap_page`.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

/// A mapped ring. Positions count bytes since its beginning and never wrap.
pub struct Ring {
    fd: OwnedFd,
    base: *mut u8,
    data_bytes: usize,
    /// Where the next record begins.
    pub tail: u64,
    /// Up to where the kernel has written, as of the last look.
    pub head: u64,
}

impl Ring {
    /// Maps the ring of event `fd`, of `data_bytes`, a power of two of pages.
    pub fn map(fd: OwnedFd, data_bytes: usize) -> io::Result<Self> {
        let bytes = data_bytes + PAGE_BYTES;
        // SAFETY: a new shared mapping of the event's ring, of 1 + 2^n pages as the interface wants.
        let base = unsafe {
            libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, fd.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { fd, base: base.cast(), data_bytes, tail: 0, head: 0 })
    }

    /// Readable when the ring is half full.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Finds out how far the kernel has written.
    pub fn look(&mut self) {
        self.head = self.position(DATA_HEAD).load(Ordering::Acquire);
    }

    /// The record at position `at`, its header included; none behind the head. One that wraps is put together in `scratch`.
    pub fn record<'r>(&'r self, at: u64, scratch: &'r mut Vec<u8>) -> Option<&'r [u8]> {
        let left = usize::try_from(self.head.checked_sub(at)?).ok()?;
        let begin = (at as usize) & (self.data_bytes - 1);
        if left < HEADER_BYTES || at < self.tail {
            return None;
        }
        // Records are a multiple of 8 bytes: a header never wraps.
        let size = self.slice(begin + 6, 2)?;
        let size = usize::from(u16::from_ne_bytes([size[0], size[1]]));
        if size < HEADER_BYTES || size > left {
            return None;
        }
        let first = size.min(self.data_bytes - begin);
        if first == size {
            return self.slice(begin, size);
        }
        scratch.clear();
        scratch.extend_from_slice(self.slice(begin, first)?);
        scratch.extend_from_slice(self.slice(0, size - first)?);
        Some(scratch)
    }

    /// Gives everything before position `to` back to the kernel.
    pub fn release(&mut self, to: u64) {
        self.tail = to;
        self.position(DATA_TAIL).store(to, Ordering::Release);
    }

    fn slice(&self, begin: usize, length: usize) -> Option<&[u8]> {
        let end = begin.checked_add(length).filter(|&end| end <= self.data_bytes)?;
        // SAFETY: the data area follows the first page and has `data_bytes` bytes, `begin..end` is inside of it, and what the
        // callers ask for lies between tail and head, where the kernel does not write.
        Some(unsafe { std::slice::from_raw_parts(self.base.add(PAGE_BYTES + begin), end - begin) })
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page is mapped as long as `self` lives, and both positions are aligned 64-bit words that kernel and
        // user space access atomically.
        unsafe { &*self.base.add(offset).cast::<AtomicU64>() }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `map` mapped.
        unsafe { libc::munmap(self.base.cast(), self.data_bytes + PAGE_BYTES) };
    }
}
