//! The functions of libipt 2 that are used, found when they are first needed. Structures are those of intel-pt.h 2.0.
#![allow(unsafe_code, reason = "functions of a C library")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::Error;

/// `-pte_eos`: the trace is over.
pub const END: c_int = -7;
/// `-pte_nomap`: no code is known there.
pub const NO_CODE: c_int = -13;
/// `pts_event_pending`.
pub const EVENT_PENDING: c_int = 1;

/// `struct pt_cpu`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Cpu {
    pub vendor: c_int,
    pub family: u16,
    pub model: u8,
    pub stepping: u8,
}

/// `struct pt_config`.
#[repr(C)]
pub struct Config {
    pub size: usize,
    pub begin: *mut u8,
    pub end: *mut u8,
    pub unknown_callback: *mut c_void,
    pub unknown_context: *mut c_void,
    pub cpu: Cpu,
    pub errata: [u32; 16],
    pub cpuid_0x15: [u32; 2],
    pub mtc_freq: u8,
    pub nom_freq: u8,
    pub flags: [u32; 4],
    pub addr_filter: [u64; 17],
}

/// `struct pt_insn`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Instruction {
    pub ip: u64,
    pub section: c_int,
    pub mode: c_int,
    pub class: c_int,
    pub raw: [u8; 15],
    pub size: u8,
    pub bits: u32,
}

/// `struct pt_event`: its type first; large enough for every version of the library.
#[repr(C)]
pub struct Event {
    pub kind: c_int,
    rest: [u64; 31],
}

impl Event {
    pub const EMPTY: Self = Self { kind: 0, rest: [0; 31] };
}

/// Reads code of the traced program: returns the bytes read, or a negative error.
pub type ReadMemory = unsafe extern "C" fn(*mut u8, usize, *const c_void, u64, *mut c_void) -> c_int;

macro_rules! library {
    ($($field:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The library.
        #[derive(Clone, Copy)]
        pub struct Library {
            $(pub $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Library {
            /// Finds all functions in the library that `handle` stands for.
            unsafe fn of(handle: *mut c_void) -> Result<Self, String> {
                let find = |name: &CStr| {
                    // SAFETY: a handle of dlopen, and a name.
                    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
                    if found.is_null() { Err(format!("it has no {}", name.to_string_lossy())) } else { Ok(found) }
                };
                // SAFETY: the functions are declared as intel-pt.h does.
                unsafe { Ok(Self { $($field: std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(find($symbol)?),)* }) }
            }
        }
    };
}

library! {
    errata = c"pt_cpu_errata": fn(*mut [u32; 16], *const Cpu) -> c_int;
    error_text = c"pt_errstr": fn(c_int) -> *const c_char;
    allocate = c"pt_insn_alloc_decoder": fn(*const Config) -> *mut c_void;
    free = c"pt_insn_free_decoder": fn(*mut c_void);
    synchronize = c"pt_insn_sync_forward": fn(*mut c_void) -> c_int;
    offset = c"pt_insn_get_offset": fn(*const c_void, *mut u64) -> c_int;
    time = c"pt_insn_time": fn(*mut c_void, *mut u64, *mut u32, *mut u32) -> c_int;
    next = c"pt_insn_next": fn(*mut c_void, *mut Instruction, usize) -> c_int;
    event = c"pt_insn_event": fn(*mut c_void, *mut Event, usize) -> c_int;
    image = c"pt_insn_get_image": fn(*mut c_void) -> *mut c_void;
    set_memory = c"pt_image_set_callback": fn(*mut c_void, Option<ReadMemory>, *mut c_void) -> c_int;
}

impl Library {
    /// The library, loaded once.
    pub fn get() -> Result<&'static Self, Error> {
        static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
        let load = || {
            // SAFETY: a name; the library stays loaded.
            unsafe {
                let handle = libc::dlopen(c"libipt.so.2".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
                if handle.is_null() {
                    let why = libc::dlerror();
                    let why = (!why.is_null()).then(|| CStr::from_ptr(why).to_string_lossy().into_owned());
                    return Err(why.unwrap_or_default());
                }
                Self::of(handle)
            }
        };
        LIBRARY.get_or_init(load).as_ref().map_err(|why| Error::NoLibrary(why.clone()))
    }

    /// What an error number means.
    pub fn why(&self, error: c_int) -> &'static str {
        // SAFETY: the library's own constant texts.
        let text = unsafe { (self.error_text)(error.saturating_neg()) };
        if text.is_null() {
            return "unknown error";
        }
        // SAFETY: as above.
        unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("unknown error")
    }
}
