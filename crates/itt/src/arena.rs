//! Memory that is never given back: mapped, so that it works where the program's heap must not be touched.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

use crate::lock::Entered;

const CHUNK_BYTES: usize = 256 << 10;

static NEXT: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// `bytes` bytes of zeros, aligned to 16; `None` when there is no memory.
pub fn bytes(_: &Entered, bytes: usize) -> Option<*mut u8> {
    let bytes = bytes.checked_next_multiple_of(16)?;
    if bytes > LEFT.load(Relaxed) {
        let chunk = bytes.max(CHUNK_BYTES);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of nothing.
        let map = unsafe { libc::mmap(null_mut(), chunk, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
        if map == libc::MAP_FAILED {
            return None;
        }
        NEXT.store(map.cast(), Relaxed);
        LEFT.store(chunk, Relaxed);
    }
    let start = NEXT.load(Relaxed);
    NEXT.store(start.wrapping_add(bytes), Relaxed);
    LEFT.store(LEFT.load(Relaxed).wrapping_sub(bytes), Relaxed);
    Some(start)
}

/// `value`, for ever.
pub fn keep<T>(entered: &Entered, value: T) -> Option<*mut T> {
    const { assert!(align_of::<T>() <= 16) }
    let place: *mut T = bytes(entered, size_of::<T>())?.cast();
    // SAFETY: the place is fresh, large enough and aligned.
    unsafe { place.write(value) };
    Some(place)
}

/// `text` with a zero behind it, for ever.
pub fn keep_text(entered: &Entered, text: &[u8]) -> Option<&'static [u8]> {
    let place = bytes(entered, text.len().checked_add(1)?)?;
    // SAFETY: the place is fresh and large enough, and never given back.
    unsafe {
        place.copy_from_nonoverlapping(text.as_ptr(), text.len());
        Some(core::slice::from_raw_parts(place, text.len()))
    }
}
