//! Code that the program loads past the system's loader.

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use dwell_itt_wire::{Name, OBJECT_BYTES};

use crate::abi::ModuleObject;
use crate::functions::function::{Function, functions};
use crate::lock::Entered;
use crate::naming::{say_code, text};

pub const FUNCTIONS: &[Function] = functions! {
    "module_load" => module_load,
    "module_unload" => module_unload,
    "module_load_with_sections" => module_load_with_sections,
    "module_unload_with_sections" => module_unload_with_sections,
};

/// Most bytes of an object that are copied.
const MOST_BYTES: usize = 16 << 20;
/// Most sections of an object that are read.
const MOST_SECTIONS: usize = 1024;

static OBJECTS: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn module_load(start: *const c_void, end: *const c_void, path: *const c_char) {
    let Some(entered) = Entered::new() else { return };
    // SAFETY: a text.
    let path = unsafe { text(path) };
    say_code(&entered, Name::ModuleLoad { start: start as u64, end: end as u64, path });
}

extern "C" fn module_unload(start: *const c_void) {
    let Some(entered) = Entered::new() else { return };
    say_code(&entered, Name::ModuleUnload { start: start as u64 });
}

unsafe extern "C" fn module_load_with_sections(module: *const ModuleObject) {
    // SAFETY: null or a structure with as many sections and bytes as it says.
    unsafe {
        let (Some(entered), Some(module)) = (Entered::new(), module.as_ref()) else { return };
        let id = OBJECTS.fetch_add(1, Relaxed).wrapping_add(1);
        let size = if module.bytes.is_null() { 0 } else { module.size };
        say_code(&entered, Name::Object { id, module: module.id.d1, bytes: size as u64, name: text(module.name) });
        let count = if module.sections.is_null() { 0 } else { module.section_count.min(MOST_SECTIONS) };
        for section in (0..count).filter_map(|index| module.sections.wrapping_add(index).as_ref()) {
            let name = Name::Section {
                object: id,
                kind: section.kind as u32,
                flags: section.flags as u64,
                address: section.address as u64,
                size: section.size as u64,
                file_offset: section.file_offset as u64,
                name: text(section.name),
            };
            say_code(&entered, name);
        }
        if size <= MOST_BYTES {
            let bytes = core::slice::from_raw_parts(if size == 0 { c"".as_ptr().cast() } else { module.bytes }, size);
            for (index, piece) in bytes.chunks(OBJECT_BYTES).enumerate() {
                let offset = index.wrapping_mul(OBJECT_BYTES) as u64;
                say_code(&entered, Name::ObjectBytes { object: id, offset, bytes: piece });
            }
        }
    }
}

unsafe extern "C" fn module_unload_with_sections(module: *const ModuleObject) {
    // SAFETY: null or a structure.
    unsafe {
        let (Some(entered), Some(module)) = (Entered::new(), module.as_ref()) else { return };
        say_code(&entered, Name::ObjectUnload { module: module.id.d1 });
    }
}
