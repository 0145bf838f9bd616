//! A program's static part hands over its list of functions: each gets ours, or its null function.

use core::ffi::{CStr, c_int};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering::Release};

use dwell_itt_wire::Name;

use crate::abi::{Api, Global, MAGIC};
use crate::functions;
use crate::lock::Entered;
use crate::naming::{say, text};
use crate::process;

/// Groups that are bound whatever `INTEL_ITTNOTIFY_GROUPS` says, as static parts of the older contract do it: counters,
/// frames, stitching, memory.
const ALWAYS: c_int = 0xf00;

const GROUPS: [(&CStr, c_int); 16] = [
    (c"all", -1),
    (c"control", 1 << 1),
    (c"thread", 1 << 2),
    (c"mark", 1 << 3),
    (c"sync", 1 << 4),
    (c"fsync", 1 << 5),
    (c"jit", 1 << 6),
    (c"model", 1 << 7),
    (c"counter", 1 << 8),
    (c"frame", 1 << 9),
    (c"stitch", 1 << 10),
    (c"heap", 1 << 11),
    (c"structure", 1 << 12),
    (c"suppress", 1 << 13),
    (c"arrays", 1 << 14),
    (c"module", 1 << 15),
];

/// Called by each static part of the process once.
///
/// # Safety
///
/// `global` is null or a static part's `__itt_global`, of any version.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __itt_api_init(global: *mut Global, groups: c_int) {
    // SAFETY: the caller's.
    unsafe {
        if global.is_null() || (*global).magic != MAGIC || (*global).functions.is_null() {
            return;
        }
        let path = pin(global.cast());
        if let Some(entered) = Entered::new() {
            process::set_up(&entered);
        }
        // Before any pointer is published: other threads may call through them at once.
        forget_ids(global);
        let (entries, bound) = bind((*global).functions, groups & wanted_groups());
        if let Some(entered) = Entered::new() {
            say(&entered, Name::Client { entries, bound, path });
        }
    }
}

/// Called when a static part is done with the library. Its structures stay where they are.
///
/// # Safety
///
/// Any argument is good.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __itt_api_fini(_: *mut Global) {}

/// Keeps the file that `place` lies in mapped, and this library too: both hold addresses of the other one. The file's path.
unsafe fn pin<'a>(place: *const libc::c_void) -> &'a [u8] {
    let mut path: &[u8] = &[];
    for address in [__itt_api_fini as *const libc::c_void, place] {
        // SAFETY: an answer of zeros is a valid one; the path is the loader's own text.
        unsafe {
            let mut found: libc::Dl_info = core::mem::zeroed();
            if libc::dladdr(address, &raw mut found) == 0 || found.dli_fname.is_null() {
                continue;
            }
            path = text(found.dli_fname);
            let flags = libc::RTLD_NOLOAD | libc::RTLD_LAZY | libc::RTLD_NODELETE;
            libc::dlopen(found.dli_fname, flags);
        }
    }
    path
}

/// The groups of `INTEL_ITTNOTIFY_GROUPS`, which is not passed on; all without it.
unsafe fn wanted_groups() -> c_int {
    // SAFETY: the names end with a zero; a value is a text.
    let value = unsafe {
        let value = libc::getenv(c"INTEL_ITTNOTIFY_GROUPS".as_ptr());
        if value.is_null() {
            return -1;
        }
        text(value)
    };
    let group = |word: &[u8]| GROUPS.iter().find(|(name, _)| name.to_bytes() == word).map_or(0, |(_, group)| *group);
    value.split(|byte| b",; ".contains(byte)).fold(ALWAYS, |groups, word| groups | group(word))
}

/// The entries of a list of functions.
unsafe fn entries(list: *const Api) -> impl Iterator<Item = &'static Api> {
    // SAFETY: the list ends with an entry without a name.
    (0..4096usize)
        .map_while(move |index| unsafe { list.wrapping_add(index).as_ref().filter(|api| !api.name.is_null()) })
}

/// How many entries there are, and how many were bound to functions of ours.
unsafe fn bind(list: *const Api, groups: c_int) -> (u32, u32) {
    let (mut all, mut bound) = (0u32, 0u32);
    // SAFETY: the caller's; names are texts.
    for api in unsafe { entries(list) }.filter(|api| !api.function.is_null()) {
        // SAFETY: a text.
        let ours = functions::called(unsafe { CStr::from_ptr(api.name) }).filter(|_| api.group & groups != 0);
        let function = ours.unwrap_or(api.null);
        all = all.saturating_add(1);
        bound = bound.saturating_add(u32::from(ours.is_some()));
        // SAFETY: the program's own variable, which its threads read at any time.
        unsafe { AtomicPtr::from_ptr(api.function.cast::<*mut libc::c_void>()) }.store(function.cast_mut(), Release);
    }
    (all, bound)
}

/// What the static part made before it loaded the library has no id of ours yet; a counter's field is not even set.
unsafe fn forget_ids(global: *mut Global) {
    // SAFETY: the static part's own lists, while it holds its lock.
    unsafe {
        let mut domain = (*global).domains;
        while !domain.is_null() {
            (*domain).id = 0;
            domain = (*domain).next;
        }
        let mut string = (*global).strings;
        while !string.is_null() {
            (*string).id = 0;
            string = (*string).next;
        }
        let has_counters = entries((*global).functions).any(|api| CStr::from_ptr(api.name) == c"__itt_counter_create");
        let mut counter = if has_counters { (*global).counters } else { null_mut() };
        while !counter.is_null() {
            (*counter).id = 0;
            counter = (*counter).next;
        }
    }
}
