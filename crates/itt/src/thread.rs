//! What a thread keeps, and the way of an event into its ring.

use core::arch::{asm, global_asm};
use core::ptr::null_mut;
use core::sync::atomic::{Ordering::Relaxed, Ordering::Release, compiler_fence};

use dwell_itt_wire::layout::{LARGEST_RING, SMALLEST_RING, slot};
use dwell_itt_wire::{Event, Slot, State, Word as _};

use crate::clock;
use crate::lock::Entered;
use crate::process;

/// A thread's part: 64 bytes that begin as zeros. All but `busy` belong to the call that set it.
#[repr(C)]
struct Thread {
    /// The ring's memory.
    base: *mut u64,
    /// Its capacity less one.
    mask: u64,
    /// Bytes ever written into it.
    head: u64,
    /// Where the ring would overrun what was not drained yet.
    limit: u64,
    /// The ring's slot, null without a ring.
    slot: *const Slot,
    /// Whether this thread is inside of a call.
    busy: u32,
    tid: u32,
    /// Events in a row that found no ring to be had.
    refused: u32,
    /// Whether no larger ring is to be had.
    is_largest: u32,
    /// Whether this thread holds the lock because it is forking.
    is_forking: u64,
}

const _: () = assert!(size_of::<Thread>() == 64);

// The compiler's own thread-local variables cost a call each here. A descriptor resolves to a few instructions where the
// loader had static space left, and still works where it had not.
global_asm!(
    ".section .tbss.dwell_itt_thread,\"awT\",@nobits",
    ".balign 64",
    ".type dwell_itt_thread, @object",
    ".size dwell_itt_thread, 64",
    ".globl dwell_itt_thread",
    ".hidden dwell_itt_thread",
    "dwell_itt_thread:",
    ".zero 64",
    ".text",
);

#[inline(always)]
fn thread() -> *mut Thread {
    let thread: *mut Thread;
    // SAFETY: the TLS descriptor's call keeps all registers but rax in glibc's static case; the others may be changed.
    unsafe {
        asm!(
            "lea rax, [rip + dwell_itt_thread@tlsdesc]",
            "call [rax + dwell_itt_thread@tlscall]",
            "add rax, qword ptr fs:[0]",
            out("rax") thread,
            clobber_abi("C"),
        );
    }
    thread
}

/// Begins a call. False when this thread is inside of one already: a signal handler interrupted it.
pub fn enter() -> bool {
    let thread = thread();
    // SAFETY: this thread's own.
    unsafe {
        if (*thread).busy != 0 {
            return false;
        }
        (*thread).busy = 1;
    }
    compiler_fence(Release);
    true
}

/// Ends a call.
pub fn leave() {
    compiler_fence(Release);
    // SAFETY: this thread's own.
    unsafe { (*thread()).busy = 0 };
}

/// The thread's id.
pub fn tid() -> u32 {
    let thread = thread();
    // SAFETY: this thread's own; gettid has no arguments.
    unsafe {
        if (*thread).tid == 0 {
            (*thread).tid = libc::gettid() as u32;
        }
        (*thread).tid
    }
}

/// Notes that this thread holds the lock because it is forking, or no longer does.
pub fn set_forking(is_forking: bool) {
    // SAFETY: this thread's own.
    unsafe { (*thread()).is_forking = u64::from(is_forking) };
}

/// Whether this thread holds the lock because it is forking.
pub fn is_forking() -> bool {
    // SAFETY: this thread's own.
    unsafe { (*thread()).is_forking != 0 }
}

/// After a fork, in the child: the ring was the parent's.
pub fn renew() {
    // SAFETY: this thread's own, for which zeros are right.
    unsafe { thread().write_bytes(0, 1) };
}

#[cold]
unsafe fn count_nested(thread: *mut Thread) {
    // SAFETY: slots stay mapped.
    match unsafe { (*thread).slot.as_ref() } {
        Some(slot) => slot.word(slot::NESTED).add(1, Relaxed),
        None => process::count_ringless(),
    }
}

/// Whether events are wanted.
#[inline(always)]
pub fn is_recording() -> bool {
    process::switch().is_some_and(|switch| switch == State::Recording as u64)
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

/// Looks for room for `bytes`: what was drained meanwhile, or a larger ring. False, and counted, when there is none.
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

/// The thread's first ring. When there is none to be had, another try is made after some events.
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
        process::count_ringless();
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

/// The thread ends: its ring can be used by another one when it was drained. If the thread calls once more, it takes a new one.
pub unsafe extern "C" fn ended(_: *mut libc::c_void) {
    if !enter() {
        return;
    }
    let thread = thread();
    // SAFETY: this thread's own, and slots stay mapped.
    unsafe {
        if let Some(slot) = (*thread).slot.as_ref() {
            slot.close();
        }
        (*thread).slot = null_mut();
        (*thread).limit = 0;
        (*thread).head = 0;
    }
    leave();
}
