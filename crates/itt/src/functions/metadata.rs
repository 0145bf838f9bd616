//! Numbers and texts that programs attach to their tasks.

use core::arch::naked_asm;
use core::ffi::{c_char, c_int, c_void};

use dwell_itt_wire::{EVENT_NUMBERS, EVENT_TEXT_BYTES, Event, Id, Numbers, Value};

use super::arguments::{id_at, is_enabled};
use super::counters::{size_of_kind, value_at};
use crate::abi::{self, Domain, RawId, StringHandle};
use crate::events::{is_recording, write};
use crate::functions::function::{Function, functions};
use crate::naming::{domain_id, string_id};

pub const FUNCTIONS: &[Function] = functions! {
    "metadata_add" => metadata_add,
    "metadata_str_add" => metadata_str_add,
    "metadata_add_with_scope" => metadata_add_with_scope,
    "metadata_str_add_with_scope" => metadata_str_add_with_scope,
    "formatted_metadata_add" => formatted_metadata_add,
    "formatted_metadata_add_overlapped" => formatted_metadata_add_overlapped,
};

type Handle = *const StringHandle;

/// Of what a datum is: a task by its id, or what a scope says.
struct About {
    domain: *const Domain,
    key: Handle,
    id: Id,
    scope: u32,
}

unsafe fn add_numbers(about: &About, kind: c_int, count: usize, data: *const c_void) {
    // SAFETY: the program's own structures, and as many numbers of that type.
    unsafe {
        if !is_recording() || data.is_null() || !is_enabled(about.domain) {
            return;
        }
        let mut values = [Value::Unsigned(0); EVENT_NUMBERS];
        for (index, value) in values.iter_mut().enumerate().take(count) {
            *value = value_at(kind, data.byte_add(index.wrapping_mul(size_of_kind(kind))));
        }
        let values = Numbers::Given(values.get(..count).unwrap_or(&values));
        let (domain, key) = (domain_id(about.domain), string_id(about.key));
        write(Event::Numbers { domain, key, id: about.id, scope: about.scope, values });
    }
}

unsafe fn add_text(about: &About, text: *const c_char, length: usize) {
    // SAFETY: the program's own structures, and a text that is at least so long, or ends with a zero.
    unsafe {
        if !is_recording() || !is_enabled(about.domain) {
            return;
        }
        let most = if length == 0 { EVENT_TEXT_BYTES } else { length.min(EVENT_TEXT_BYTES) };
        let text = abi::text(text, most);
        let (domain, key) = (domain_id(about.domain), string_id(about.key));
        write(Event::Text { domain, key, id: about.id, scope: about.scope, text });
    }
}

unsafe extern "C" fn metadata_add(
    domain: *const Domain,
    id: RawId,
    key: Handle,
    kind: c_int,
    count: usize,
    data: *const c_void,
) {
    // SAFETY: the caller's.
    unsafe { add_numbers(&About { domain, key, id: id.into(), scope: 0 }, kind, count, data) };
}

unsafe extern "C" fn metadata_str_add(
    domain: *const Domain,
    id: RawId,
    key: Handle,
    text: *const c_char,
    length: usize,
) {
    // SAFETY: the caller's.
    unsafe { add_text(&About { domain, key, id: id.into(), scope: 0 }, text, length) };
}

unsafe extern "C" fn metadata_add_with_scope(
    domain: *const Domain,
    scope: c_int,
    key: Handle,
    kind: c_int,
    count: usize,
    data: *const c_void,
) {
    // SAFETY: the caller's.
    unsafe { add_numbers(&About { domain, key, id: Id::NONE, scope: scope as u32 }, kind, count, data) };
}

unsafe extern "C" fn metadata_str_add_with_scope(
    domain: *const Domain,
    scope: c_int,
    key: Handle,
    text: *const c_char,
    length: usize,
) {
    // SAFETY: the caller's.
    unsafe { add_text(&About { domain, key, id: Id::NONE, scope: scope as u32 }, text, length) };
}

unsafe extern "C" {
    fn vsnprintf(buffer: *mut c_char, size: usize, format: *const c_char, arguments: *mut c_void) -> c_int;
}

/// Formats as the C library does and records the text.
unsafe extern "C" fn add_formatted(domain: *const Domain, format: Handle, arguments: *mut c_void, id: *const RawId) {
    // SAFETY: the program's own structures; the arguments are those that its format asks for.
    unsafe {
        if !is_recording() || !is_enabled(domain) || format.is_null() || (*format).text.is_null() {
            return;
        }
        let mut text = [0u8; EVENT_TEXT_BYTES];
        let length = vsnprintf(text.as_mut_ptr().cast(), text.len(), (*format).text, arguments);
        let Ok(length) = usize::try_from(length) else { return };
        // What does not fit was cut, and a zero stands at the end.
        let text = text.get(..length.min(EVENT_TEXT_BYTES.wrapping_sub(1))).unwrap_or_default();
        let (domain, format) = (domain_id(domain), string_id(format));
        write(Event::Formatted { domain, format, id: id_at(id), text });
    }
}

/// A function with further arguments, which Rust does not have: lays out a `va_list` by the System V ABI (the registers that
/// hold arguments, and where those on the stack begin: `$rest`) and hands it to [`add_formatted`] with the id that `$id` puts
/// into rcx.
macro_rules! formatted {
    ($name:ident, $id:literal, $rest:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "sub rsp, 216",
                ".cfi_adjust_cfa_offset 216",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "movaps [rsp + 48], xmm0",
                "movaps [rsp + 64], xmm1",
                "movaps [rsp + 80], xmm2",
                "movaps [rsp + 96], xmm3",
                "movaps [rsp + 112], xmm4",
                "movaps [rsp + 128], xmm5",
                "movaps [rsp + 144], xmm6",
                "movaps [rsp + 160], xmm7",
                "mov dword ptr [rsp + 176], 16",
                "mov dword ptr [rsp + 180], 48",
                concat!("lea rax, [rsp + ", $rest, "]"),
                "mov [rsp + 184], rax",
                "mov [rsp + 192], rsp",
                "lea rdx, [rsp + 176]",
                $id,
                "call {add}",
                "add rsp, 216",
                ".cfi_adjust_cfa_offset -216",
                "ret",
                ".cfi_endproc",
                add = sym add_formatted,
            )
        }
    };
}

// `(domain, format, ...)`: without an id.
formatted!(formatted_metadata_add, "xor ecx, ecx", 224);
// `(domain, id, format, ...)`: the id, of 24 bytes, lies on the stack before the arguments that are there.
formatted!(formatted_metadata_add_overlapped, "lea rcx, [rsp + 224]", 248);
