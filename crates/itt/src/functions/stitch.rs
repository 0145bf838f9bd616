//! Work that one thread asks for and another one does.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use dwell_itt_wire::Event;

use crate::events::record;
use crate::functions::function::{Function, functions};

pub const FUNCTIONS: &[Function] = functions! {
    "stack_caller_create" => stack_caller_create,
    "stack_callee_enter" => stack_callee_enter,
    "stack_callee_leave" => stack_callee_leave,
};

static CALLERS: AtomicU64 = AtomicU64::new(0);

/// Does nothing: the collector has a probe here, which takes the stack of whoever asks for the work `id`. It begins with the
/// one instruction, a nop of five bytes, that Linux (since 6.18) replaces by a call of its own instead of a breakpoint.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub extern "C" fn dwell_itt_stack_caller(_id: u64) {
    core::arch::naked_asm!(".cfi_startproc", ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00", "ret", ".cfi_endproc")
}

extern "C" fn stack_caller_create() -> *const c_void {
    let id = CALLERS.fetch_add(1, Relaxed).wrapping_add(1);
    dwell_itt_stack_caller(id);
    core::ptr::without_provenance(id as usize)
}

extern "C" fn stack_callee_enter(id: *const c_void) {
    record(Event::StackEnter { id: id as u64 });
}

extern "C" fn stack_callee_leave(id: *const c_void) {
    record(Event::StackLeave { id: id as u64 });
}
