//! What a thread keeps: its ring, and whether it is inside of a call.

use core::arch::{asm, global_asm};
use core::ptr::null_mut;
use core::sync::atomic::{Ordering::Release, compiler_fence};

use dwell_itt_wire::Slot;

/// A thread's part: 64 bytes that begin as zeros. All but `busy` belong to the call that set it.
#[repr(C)]
pub struct Thread {
    /// The ring's memory.
    pub base: *mut u64,
    /// Its capacity less one.
    pub mask: u64,
    /// Bytes ever written into it.
    pub head: u64,
    /// Where the ring would overrun what was not drained yet.
    pub limit: u64,
    /// The ring's slot, null without a ring.
    pub slot: *const Slot,
    /// Whether this thread is inside of a call.
    pub busy: u32,
    pub tid: u32,
    /// Events in a row that found no free ring.
    pub refused: u32,
    /// Whether there is no larger ring.
    pub is_largest: u32,
    /// Whether this thread holds the lock because it is forking.
    pub is_forking: u64,
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

/// This thread's part.
#[inline(always)]
pub fn thread() -> *mut Thread {
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
