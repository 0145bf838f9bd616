//! The way of an event into its thread's ring.

use core::sync::atomic::{Ordering::Relaxed, Ordering::Release, compiler_fence};

use dwell_itt_wire::layout::{LARGEST_RING, SMALLEST_RING, slot};
use dwell_itt_wire::{Event, State, Word as _};

use crate::lock::Entered;
use crate::thread::{Thread, thread, tid};
use crate::{clock, header, process};

#[cold]
unsafe fn count_nested(thread: *mut Thread) {
    // SAFETY: slots stay mapped.
    match unsafe { (*thread).slot.as_ref() } {
        Some(slot) => slot.word(slot::NESTED).add(1, Relaxed),
        None => header::count_ringless(),
    }
}

/// Whether events are wanted.
#[inline(always)]
pub fn is_recording() -> bool {
    header::switch().is_some_and(|switch| switch == State::Recording as u64)
}

/// Writes an event of now, if events are wanted.
#[inline(always)]
pub fn record(event: Event<'_>) {
    if is_recording() {
        write(event);
    }
}

/// Writes an event of now.
#[inline(always)]
pub fn write(event: Event<'_>) {
    write_with(event, clock::ticks);
}

/// Writes an event of another time.
#[inline(always)]
pub fn write_at(event: Event<'_>, ticks: u64) {
    write_with(event, || ticks);
}

#[inline(always)]
fn write_with(event: Event<'_>, ticks: impl FnOnce() -> u64) {
    let thread = thread();
    // SAFETY: this thread's own; the ring is its own too, and `mask` keeps within it.
    unsafe {
        if (*thread).busy != 0 {
            return count_nested(thread);
        }
        (*thread).busy = 1;
        compiler_fence(Release);
        let bytes = (event.words() as u64).wrapping_mul(8);
        if (*thread).limit.wrapping_sub((*thread).head) >= bytes || make_room(thread, bytes) {
            let (base, mask) = ((*thread).base, (*thread).mask);
            let mut at = (*thread).head;
            event.encode(ticks(), |word| {
                base.byte_add((at & mask) as usize).write(word);
                at = at.wrapping_add(8);
            });
            (*thread).head = at;
            (*(*thread).slot).publish(at);
        }
        compiler_fence(Release);
        (*thread).busy = 0;
    }
}

/// Looks for room for `bytes`: what was drained meanwhile, or a larger ring. False, and counted, without room.
#[cold]
unsafe fn make_room(thread: *mut Thread, bytes: u64) -> bool {
    // SAFETY: this thread's own, and slots stay mapped.
    unsafe {
        let Some(slot) = (*thread).slot.as_ref() else { return first_ring(thread) };
        let capacity = (*thread).mask.wrapping_add(1);
        if let Some(tail) = slot.tail() {
            (*thread).limit = tail.wrapping_add(capacity);
            if (*thread).limit.wrapping_sub((*thread).head) >= bytes {
                return true;
            }
        }
        if (*thread).is_largest == 0
            && capacity < LARGEST_RING
            && take_ring(thread, capacity.saturating_mul(8).min(LARGEST_RING))
        {
            slot.close();
            return true;
        }
        (*thread).is_largest = 1;
        slot.word(slot::LOST).add(1, Relaxed);
        false
    }
}

/// Takes the thread's first ring. Without a free one, it tries again after some events.
unsafe fn first_ring(thread: *mut Thread) -> bool {
    // SAFETY: this thread's own.
    unsafe {
        let refused = (*thread).refused;
        (*thread).refused = refused.wrapping_add(1);
        if refused & 1023 == 0 && take_ring(thread, SMALLEST_RING) {
            (*thread).refused = 0;
            (*thread).is_largest = 0;
            return true;
        }
    }
    // The first call of a forked child comes here to learn that nobody listens.
    if is_recording() {
        header::count_ringless();
    }
    false
}

unsafe fn take_ring(thread: *mut Thread, capacity: u64) -> bool {
    let tid = tid();
    let Some(entered) = Entered::inside() else { return false };
    let taken =
        if process::is_open(&entered) && is_recording() { process::take_ring(&entered, capacity, tid) } else { None };
    let key = process::thread_key();
    entered.stay_inside();
    let Some(ring) = taken else { return false };
    // SAFETY: this thread's own; any value but null makes the destructor run.
    unsafe {
        (*thread).base = ring.base;
        (*thread).mask = ring.capacity.wrapping_sub(1);
        (*thread).head = ring.head;
        (*thread).limit = ring.head.wrapping_add(ring.capacity);
        (*thread).slot = ring.slot;
        if let Some(key) = key {
            libc::pthread_setspecific(key, core::ptr::without_provenance(1));
        }
    }
    true
}
