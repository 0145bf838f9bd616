//! The structures that a program's static part shares with the library: LP64 layouts, found out by experiment.

use core::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};

/// First bytes of a [`Global`].
pub const MAGIC: [u8; 8] = [0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30];

#[repr(C)]
pub struct Domain {
    pub flags: c_int,
    pub name: *const c_char,
    pub name_wide: *const c_void,
    /// Ours: the id, 0 when it has none yet.
    pub id: c_int,
    pub extra: *mut c_void,
    pub next: *mut Domain,
}

#[repr(C)]
pub struct StringHandle {
    pub text: *const c_char,
    pub text_wide: *const c_void,
    /// Ours: the id, 0 when it has none yet.
    pub id: c_int,
    pub extra: *mut c_void,
    pub next: *mut StringHandle,
}

#[repr(C)]
pub struct Counter {
    pub name: *const c_char,
    pub name_wide: *const c_void,
    pub domain: *const c_char,
    pub domain_wide: *const c_void,
    pub kind: c_int,
    pub index: c_long,
    /// Ours: the id, 0 when it has none yet. Static parts leave it uninitialized.
    pub id: c_int,
    pub extra: *mut c_void,
    pub next: *mut Counter,
}

#[repr(C)]
pub struct ClockDomain {
    pub frequency: u64,
    pub base: u64,
    pub function: Option<unsafe extern "C" fn(*mut ClockDomain, *mut c_void)>,
    pub data: *mut c_void,
    pub extra: c_int,
    /// Ours: our ticks when the program told `base`.
    pub ticks: u64,
    pub next: *mut ClockDomain,
}

/// `__itt_id`. By value it is passed in memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawId {
    pub d1: u64,
    pub d2: u64,
    pub d3: u64,
}

#[repr(C)]
pub struct Api {
    pub name: *const c_char,
    pub function: *mut *const c_void,
    pub init: *const c_void,
    pub null: *const c_void,
    pub group: c_int,
}

/// `__itt_global`. Older ones end behind `ipt_collect_events`, and some before `counters`: a field is there only if the
/// list has the functions that need it.
#[repr(C)]
pub struct Global {
    pub magic: [u8; 8],
    pub version: [c_ulong; 3],
    pub initialized: c_long,
    pub mutex_initialized: c_long,
    pub atomic_counter: c_long,
    pub mutex: libc::pthread_mutex_t,
    pub library: *mut c_void,
    pub error_handler: *mut c_void,
    pub library_path: *mut *const c_char,
    pub functions: *const Api,
    pub next: *mut Global,
    pub threads: *mut c_void,
    pub domains: *mut Domain,
    pub strings: *mut StringHandle,
    pub state: c_int,
    /// Only when the list has `__itt_counter_create`.
    pub counters: *mut Counter,
}

const _: () = assert!(size_of::<Domain>() == 48 && size_of::<StringHandle>() == 40 && size_of::<Counter>() == 72);
const _: () = assert!(size_of::<Api>() == 40 && size_of::<RawId>() == 24);
const _: () = assert!(core::mem::offset_of!(Global, functions) == 120 && core::mem::offset_of!(Global, domains) == 144);
const _: () = assert!(core::mem::offset_of!(Global, strings) == 152 && core::mem::offset_of!(Global, counters) == 168);

#[repr(C)]
pub struct ModuleObject {
    pub version: c_uint,
    pub id: RawId,
    pub kind: c_int,
    pub name: *const c_char,
    pub bytes: *const u8,
    pub size: usize,
    pub sections: *const SectionInfo,
    pub section_count: usize,
}

#[repr(C)]
pub struct SectionInfo {
    pub name: *const c_char,
    pub kind: c_int,
    pub flags: usize,
    pub address: usize,
    pub size: usize,
    pub file_offset: usize,
}

/// What the run-time compiler tells of a method; what differs between the versions of the structure comes behind.
#[repr(C)]
pub struct MethodLoad {
    pub id: c_uint,
    pub name: *const c_char,
    pub address: u64,
    pub size: c_uint,
    pub line_count: c_uint,
    pub lines: *const LineNumber,
}

#[repr(C)]
pub struct MethodLoad1 {
    pub load: MethodLoad,
    pub class_id: c_uint,
    pub class: *const c_char,
    pub source: *const c_char,
}

/// Versions 2 and 3.
#[repr(C)]
pub struct MethodLoad2 {
    pub load: MethodLoad,
    pub class: *const c_char,
    pub source: *const c_char,
    pub module: *const c_char,
}

#[repr(C)]
pub struct MethodInline {
    pub id: c_uint,
    pub parent: c_uint,
    pub name: *const c_char,
    pub address: u64,
    pub size: c_uint,
    pub line_count: c_uint,
    pub lines: *const LineNumber,
    pub class: *const c_char,
    pub source: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct LineNumber {
    pub offset: c_uint,
    pub line: c_uint,
}

/// At most `most` bytes of the text at `text`, none for null.
///
/// # Safety
///
/// `text` is null or points to a text that lives as long as the result is used.
pub unsafe fn text<'a>(text: *const c_char, most: usize) -> &'a [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: there are as many bytes as strnlen found.
    unsafe { core::slice::from_raw_parts(text.cast(), libc::strnlen(text, most)) }
}
