//! Counters: set to values of every type, or counted up and down.

use core::ffi::{c_int, c_void};

use dwell_itt_wire::{Event, Value};

use super::arguments::is_enabled;
use crate::abi::{ClockDomain, Counter, Domain, StringHandle};
use crate::clock;
use crate::events::{is_recording, write, write_at};
use crate::functions::function::{Function, functions};
use crate::naming::{counter_id, domain_id, string_id};

pub const FUNCTIONS: &[Function] = functions! {
    "counter_set_value" => counter_set_value,
    "counter_set_value_v3" => counter_set_value,
    "counter_set_value_ex" => counter_set_value_ex,
    "counter_inc" => counter_inc,
    "counter_dec" => counter_dec,
    "counter_inc_delta" => counter_inc_delta,
    "counter_dec_delta" => counter_dec_delta,
    "counter_inc_v3" => counter_inc_v3,
    "counter_dec_v3" => counter_dec_v3,
    "counter_inc_delta_v3" => counter_inc_delta_v3,
    "counter_dec_delta_v3" => counter_dec_delta_v3,
};

/// The number at `place`, which has the ITT type `kind`; unknown types are taken as u64, as `__itt_counter_create` does.
///
/// # Safety
///
/// A number of that type is there.
#[inline(always)]
pub unsafe fn value_at(kind: c_int, place: *const c_void) -> Value {
    // SAFETY: the caller's.
    unsafe {
        match kind {
            2 => Value::Signed(place.cast::<i64>().read_unaligned()),
            3 => Value::Unsigned(u64::from(place.cast::<u32>().read_unaligned())),
            4 => Value::Signed(i64::from(place.cast::<i32>().read_unaligned())),
            5 => Value::Unsigned(u64::from(place.cast::<u16>().read_unaligned())),
            6 => Value::Signed(i64::from(place.cast::<i16>().read_unaligned())),
            7 => Value::Float(f64::from(place.cast::<f32>().read_unaligned())),
            8 => Value::Float(place.cast::<f64>().read_unaligned()),
            _ => Value::Unsigned(place.cast::<u64>().read_unaligned()),
        }
    }
}

/// Bytes of a number of the ITT type `kind`.
pub fn size_of_kind(kind: c_int) -> usize {
    match kind {
        3 | 4 | 7 => 4,
        5 | 6 => 2,
        _ => 8,
    }
}

/// What says that `counter` has the value at `value`, when that is wanted.
#[inline(always)]
unsafe fn set(counter: *const Counter, value: *const c_void) -> Option<Event<'static>> {
    // SAFETY: null or the program's own counter; null or a value of its type.
    unsafe {
        let is_wanted = is_recording() && !value.is_null() && !counter.is_null();
        is_wanted.then(|| Event::CounterSet { counter: counter_id(counter), value: value_at((*counter).kind, value) })
    }
}

unsafe extern "C" fn counter_set_value(counter: *const Counter, value: *const c_void) {
    // SAFETY: the caller's.
    if let Some(event) = unsafe { set(counter, value) } {
        write(event);
    }
}

unsafe extern "C" fn counter_set_value_ex(
    counter: *const Counter,
    clock: *const ClockDomain,
    time: u64,
    value: *const c_void,
) {
    // SAFETY: the caller's; null or a clock.
    if let Some(event) = unsafe { set(counter, value) } {
        write_at(event, unsafe { clock::given(clock, time) });
    }
}

#[inline(always)]
unsafe fn add(counter: *const Counter, delta: i64) {
    // SAFETY: null or the program's own counter.
    unsafe {
        if is_recording() && !counter.is_null() {
            write(Event::CounterAdd { counter: counter_id(counter), delta });
        }
    }
}

unsafe extern "C" fn counter_inc(counter: *const Counter) {
    // SAFETY: the caller's.
    unsafe { add(counter, 1) };
}

unsafe extern "C" fn counter_dec(counter: *const Counter) {
    // SAFETY: the caller's.
    unsafe { add(counter, -1) };
}

unsafe extern "C" fn counter_inc_delta(counter: *const Counter, delta: u64) {
    // SAFETY: the caller's.
    unsafe { add(counter, delta as i64) };
}

unsafe extern "C" fn counter_dec_delta(counter: *const Counter, delta: u64) {
    // SAFETY: the caller's.
    unsafe { add(counter, (delta as i64).wrapping_neg()) };
}

#[inline(always)]
unsafe fn add_named(domain: *const Domain, name: *const StringHandle, delta: i64) {
    // SAFETY: the program's own structures.
    unsafe {
        if is_recording() && is_enabled(domain) {
            let (domain, name) = (domain_id(domain), string_id(name));
            write(Event::NamedCounterAdd { domain, name, delta });
        }
    }
}

unsafe extern "C" fn counter_inc_v3(domain: *const Domain, name: *const StringHandle) {
    // SAFETY: the caller's.
    unsafe { add_named(domain, name, 1) };
}

unsafe extern "C" fn counter_dec_v3(domain: *const Domain, name: *const StringHandle) {
    // SAFETY: the caller's.
    unsafe { add_named(domain, name, -1) };
}

unsafe extern "C" fn counter_inc_delta_v3(domain: *const Domain, name: *const StringHandle, delta: u64) {
    // SAFETY: the caller's.
    unsafe { add_named(domain, name, delta as i64) };
}

unsafe extern "C" fn counter_dec_delta_v3(domain: *const Domain, name: *const StringHandle, delta: u64) {
    // SAFETY: the caller's.
    unsafe { add_named(domain, name, (delta as i64).wrapping_neg()) };
}
