//! What run-time compilers tell (`INTEL_JIT_PROFILER64`): their methods, where these lie, and their lines.

use core::ffi::{c_char, c_int, c_uint, c_void};

use dwell_itt_wire::{LINES, Lines, Method, Name};

use crate::abi::{LineNumber, MethodInline, MethodLoad, MethodLoad1, MethodLoad2};
use crate::lock::Entered;
use crate::naming::{say_code, text};
use crate::process;

/// Answer of [`Initialize`]: methods are wanted.
const SAMPLING_ON: c_uint = 1;
/// Most lines of a method that are recorded.
const MOST_LINES: usize = 64 * LINES;

mod event {
    pub const LOAD: u32 = 13;
    pub const UNLOAD: u32 = 14;
    pub const UPDATE: u32 = 15;
    pub const INLINE: u32 = 16;
    pub const LOAD_2: u32 = 21;
    pub const LOAD_3: u32 = 22;
}

/// A run-time compiler's static part begins.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the contract's name")]
pub extern "C" fn Initialize() -> c_uint {
    if let Some(entered) = Entered::new() {
        process::set_up(&entered);
    }
    SAMPLING_ON
}

/// A run-time compiler tells of a method. Always 1: the event was taken.
///
/// # Safety
///
/// `data` is what the ITT documentation says for the kind of event `kind`, or null.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the contract's name")]
pub unsafe extern "C" fn NotifyEvent(kind: c_uint, data: *const c_void) -> c_int {
    if let Some(entered) = Entered::new()
        && !data.is_null()
    {
        // SAFETY: the caller's.
        unsafe { notify(&entered, kind, data) };
    }
    1
}

unsafe fn notify(entered: &Entered, kind: c_uint, data: *const c_void) {
    // SAFETY: the structure that belongs to the kind of event.
    unsafe {
        match kind {
            event::LOAD | event::UPDATE => {
                let it = &*data.cast::<MethodLoad1>();
                loaded(entered, &it.load, [it.class, it.source, core::ptr::null()]);
            }
            event::LOAD_2 | event::LOAD_3 => {
                let it = &*data.cast::<MethodLoad2>();
                loaded(entered, &it.load, [it.class, it.source, it.module]);
            }
            event::INLINE => {
                let it = &*data.cast::<MethodInline>();
                let (address, size) = (it.address, u64::from(it.size));
                let (name, class, source) = (text(it.name), text(it.class), text(it.source));
                let method = Method { id: it.id, parent: it.parent, address, size, name, class, source, module: &[] };
                say(entered, method, it.lines, it.line_count);
            }
            event::UNLOAD => say_code(entered, Name::MethodUnload { id: *data.cast::<c_uint>() }),
            _ => {}
        }
    }
}

unsafe fn loaded(entered: &Entered, load: &MethodLoad, texts: [*const c_char; 3]) {
    // SAFETY: texts.
    unsafe {
        let [class, source, module] = texts.map(|it| text(it));
        let (address, size, name) = (load.address, u64::from(load.size), text(load.name));
        let method = Method { id: load.id, parent: 0, address, size, name, class, source, module };
        say(entered, method, load.lines, load.line_count);
    }
}

unsafe fn say(entered: &Entered, method: Method<'_>, lines: *const LineNumber, count: c_uint) {
    if method.address == 0 || method.size == 0 {
        return;
    }
    say_code(entered, Name::Method(method));
    if lines.is_null() {
        return;
    }
    // SAFETY: as many lines as the compiler says.
    let lines = unsafe { core::slice::from_raw_parts(lines, (count as usize).min(MOST_LINES)) };
    for piece in lines.chunks(LINES) {
        let mut rows = [(0, 0); LINES];
        rows.iter_mut().zip(piece).for_each(|(row, line)| *row = (line.offset, line.line));
        let rows = Lines::Given(rows.get(..piece.len()).unwrap_or_default());
        say_code(entered, Name::MethodLines { id: method.id, address: method.address, lines: rows });
    }
}
