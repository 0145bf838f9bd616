//! The memory that is shared with Dwell: the lanes, the outbox and the chunks.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use dwell_itrace::ring::{Lane, MEMORY_BYTES, OUTBOX_OFFSET, Outbox};

static MEMORY: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

/// Maps the memory; returns where it begins.
pub fn map(descriptor: c_int) -> Option<u64> {
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), MEMORY_BYTES, access, flags, descriptor, 0) };
    unsafe { libc::close(descriptor) };
    if memory == libc::MAP_FAILED {
        return None;
    }
    MEMORY.store(memory.cast::<u8>(), Ordering::Relaxed);
    Some(memory as u64)
}

/// In a child process: memory of its own in the place of the shared one.
pub fn detach() {
    let memory = start().cast::<c_void>();
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    unsafe { libc::mmap(memory, MEMORY_BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
}

/// Where it begins; null before it is mapped.
#[inline]
pub fn start() -> *mut u8 {
    MEMORY.load(Ordering::Relaxed)
}

/// The outbox, once the memory is there.
pub fn outbox() -> Option<*mut Outbox> {
    let memory = start();
    (!memory.is_null()).then(|| unsafe { memory.add(OUTBOX_OFFSET).cast::<Outbox>() })
}

/// The lane of a CPU.
#[inline]
pub fn lane(cpu: c_uint) -> *mut Lane {
    let lanes = start().cast::<Lane>();
    unsafe { lanes.add(cpu as usize) }
}
