//! Domains, strings, counters, events and clocks are made; one that is there already is found by its name.

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::abi::{ClockDomain, Counter, Domain, StringHandle};
use crate::functions::function::{Function, functions};
use crate::lock::Entered;
use crate::naming::{self, text};
use crate::{abi, arena, clock};

pub const FUNCTIONS: &[Function] = functions! {
    "domain_create" => domain_create,
    "string_handle_create" => string_handle_create,
    "counter_create" => counter_create,
    "counter_create_typed" => counter_create_typed,
    "counter_create_v3" => counter_create_v3,
    "event_create" => event_create,
    "clock_domain_create" => clock_domain_create,
    "clock_domain_reset" => clock_domain_reset,
    "get_timestamp" => get_timestamp,
    "api_version" => api_version,
};

/// The type of counters that are made without one.
const U64: c_int = 1;

static CLOCKS: AtomicPtr<ClockDomain> = AtomicPtr::new(null_mut());

unsafe extern "C" fn domain_create(name: *const c_char) -> *mut Domain {
    if name.is_null() {
        return null_mut();
    }
    // SAFETY: a text.
    naming::domain_called(unsafe { text(name) })
}

unsafe extern "C" fn string_handle_create(name: *const c_char) -> *mut StringHandle {
    if name.is_null() {
        return null_mut();
    }
    // SAFETY: a text.
    naming::string_of(unsafe { text(name) })
}

unsafe extern "C" fn counter_create(name: *const c_char, domain: *const c_char) -> *mut Counter {
    // SAFETY: the caller's.
    unsafe { counter_create_typed(name, domain, U64) }
}

unsafe extern "C" fn counter_create_typed(name: *const c_char, domain: *const c_char, kind: c_int) -> *mut Counter {
    if name.is_null() {
        return null_mut();
    }
    // SAFETY: texts.
    unsafe { naming::counter_called(text(name), text(domain), kind) }
}

unsafe extern "C" fn counter_create_v3(domain: *const Domain, name: *const c_char, kind: c_int) -> *mut Counter {
    // SAFETY: null or a domain, and texts.
    unsafe {
        let domain = domain.as_ref().map_or(core::ptr::null(), |domain| domain.name);
        counter_create_typed(name, domain, kind)
    }
}

unsafe extern "C" fn event_create(name: *const c_char, length: c_int) -> c_int {
    // SAFETY: a text of so many bytes.
    naming::event_called(unsafe {
        abi::text(name, usize::try_from(length).unwrap_or(0).min(dwell_itt_wire::TEXT_BYTES))
    })
}

unsafe extern "C" fn clock_domain_create(
    function: Option<unsafe extern "C" fn(*mut ClockDomain, *mut c_void)>,
    data: *mut c_void,
) -> *mut ClockDomain {
    let Some(entered) = Entered::new() else { return null_mut() };
    let next = CLOCKS.load(Relaxed);
    let new = ClockDomain { frequency: 0, base: 0, function, data, extra: 0, ticks: 0, next };
    let Some(made) = arena::keep(&entered, new) else { return null_mut() };
    CLOCKS.store(made, Relaxed);
    drop(entered);
    // SAFETY: made just now.
    unsafe { ask(made) };
    made
}

unsafe extern "C" fn clock_domain_reset() {
    let mut at = CLOCKS.load(Relaxed);
    while !at.is_null() {
        // SAFETY: clock domains are never given back.
        unsafe {
            ask(at);
            at = (*at).next;
        }
    }
}

/// Asks the program for its clock's rate and time. It writes both at the beginning of the structure.
unsafe fn ask(domain: *mut ClockDomain) {
    // SAFETY: a clock domain that this library made; the function is the program's.
    unsafe {
        if let Some(function) = (*domain).function {
            function(domain, (*domain).data);
        }
        (*domain).ticks = clock::ticks();
    }
}

extern "C" fn get_timestamp() -> u64 {
    clock::ticks()
}

extern "C" fn api_version() -> *const c_char {
    concat!("Dwell ", env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
