//! The structures that programs hold, made or found by name, and their ids.

use core::ffi::c_char;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;

use dwell_itt_wire::{Name, Named, TEXT_BYTES};

use crate::abi::{self, Counter, Domain, StringHandle};
use crate::arena;
use crate::lock::Entered;
use crate::table::{self, Entry, Key, Kind};
use crate::{clock, header, process, thread};

/// The bytes of a program's text, as many as are recorded.
///
/// # Safety
///
/// Null, or a text.
pub unsafe fn text<'a>(text: *const c_char) -> &'a [u8] {
    // SAFETY: the caller's.
    unsafe { abi::text(text, TEXT_BYTES) }
}

/// Writes `name`, said now by this thread.
pub fn say(entered: &Entered, name: Name<'_>) {
    process::name(entered, &Named { ticks: clock::ticks(), tid: thread::tid(), name });
}

/// The same for what can be large.
pub fn say_code(entered: &Entered, name: Name<'_>) {
    process::code(entered, &Named { ticks: clock::ticks(), tid: thread::tid(), name });
}

/// The entry of `key`, which is written when it is new.
pub fn find(entered: &Entered, key: Key<'_>) -> Option<&'static Entry> {
    let Some((entry, is_new)) = table::entry(entered, key) else {
        header::count_lost_name(); // no memory or no number is left
        return None;
    };
    if is_new {
        let (id, text) = (entry.id, entry.key.text);
        let name = match key.kind {
            Kind::Domain => Name::Domain { id: id as u16, text },
            Kind::String => Name::String { id, text },
            Kind::Event => Name::Event { id, text },
            Kind::Counter(kind) => Name::Counter { id, kind: kind as u32, domain: entry.key.domain, name: text },
        };
        say(entered, name);
    }
    Some(entry)
}

/// The structure that `make` makes for `key` at the first time.
fn structure<T>(key: Key<'_>, make: impl FnOnce(&Entry) -> T) -> Option<*mut T> {
    let entered = Entered::new()?;
    let entry = find(&entered, key)?;
    let known = entry.structure.load(Relaxed);
    if !known.is_null() {
        return Some(known.cast());
    }
    let made = arena::keep(&entered, make(entry))?;
    entry.structure.store(made.cast(), Relaxed);
    Some(made)
}

/// What is answered when nothing can be made: programs write into it without looking.
struct Spare<T>(core::cell::UnsafeCell<T>);

// SAFETY: nobody reads what is in it, but for the flags, which may be anything.
unsafe impl<T> Sync for Spare<T> {}

const NO_NAME: *const c_char = c"".as_ptr();

static SPARE_DOMAIN: Spare<Domain> = Spare(core::cell::UnsafeCell::new(domain(NO_NAME, 0, 0)));
static SPARE_STRING: Spare<StringHandle> = Spare(core::cell::UnsafeCell::new(string(NO_NAME, 0)));
static SPARE_COUNTER: Spare<Counter> = Spare(core::cell::UnsafeCell::new(counter(NO_NAME, NO_NAME, 0, 0)));

const fn domain(name: *const c_char, flags: i32, id: i32) -> Domain {
    Domain { flags, name, name_wide: null_mut(), id, extra: null_mut(), next: null_mut() }
}

const fn string(text: *const c_char, id: i32) -> StringHandle {
    StringHandle { text, text_wide: null_mut(), id, extra: null_mut(), next: null_mut() }
}

const fn counter(name: *const c_char, domain: *const c_char, kind: i32, id: i32) -> Counter {
    let (name_wide, domain_wide) = (null_mut(), null_mut());
    Counter { name, name_wide, domain, domain_wide, kind, index: 0, id, extra: null_mut(), next: null_mut() }
}

fn key(kind: Kind, text: &[u8]) -> Key<'_> {
    Key { kind, domain: &[], text }
}

/// The domain called `name`.
pub fn domain_called(name: &[u8]) -> *mut Domain {
    let make = |entry: &Entry| domain(entry.key.text.as_ptr().cast(), 1, entry.id as i32);
    structure(key(Kind::Domain, name), make).unwrap_or(SPARE_DOMAIN.0.get())
}

/// The handle of `text`.
pub fn string_of(text: &[u8]) -> *mut StringHandle {
    let make = |entry: &Entry| string(entry.key.text.as_ptr().cast(), entry.id as i32);
    structure(key(Kind::String, text), make).unwrap_or(SPARE_STRING.0.get())
}

/// The counter `name` of `domain` with values of type `kind`.
pub fn counter_called(name: &[u8], domain: &[u8], kind: i32) -> *mut Counter {
    let make = |entry: &Entry| {
        counter(entry.key.text.as_ptr().cast(), entry.key.domain.as_ptr().cast(), kind, entry.id as i32)
    };
    let key = Key { kind: Kind::Counter(kind), domain, text: name };
    structure(key, make).unwrap_or(SPARE_COUNTER.0.get())
}

/// The number of the event `name`, 0 when it can have none.
pub fn event_called(name: &[u8]) -> i32 {
    let entry = Entered::new().and_then(|entered| find(&entered, key(Kind::Event, name)));
    entry.map_or(0, |entry| entry.id as i32)
}

/// A domain's id, 0 for none.
///
/// # Safety
///
/// Null, or a domain.
#[inline(always)]
pub unsafe fn domain_id(domain: *const Domain) -> u16 {
    // SAFETY: the caller's.
    match unsafe { domain.as_ref() } {
        None => 0,
        Some(domain) if domain.id != 0 => domain.id as u16,
        // SAFETY: the name is a text.
        Some(known) => unsafe { late_id(key(Kind::Domain, text(known.name)), (&raw const known.id).cast_mut()) as u16 },
    }
}

/// A string's id, 0 for none.
///
/// # Safety
///
/// Null, or a string handle.
#[inline(always)]
pub unsafe fn string_id(string: *const StringHandle) -> u32 {
    // SAFETY: the caller's.
    match unsafe { string.as_ref() } {
        None => 0,
        Some(string) if string.id != 0 => string.id as u32,
        // SAFETY: a text.
        Some(known) => unsafe { late_id(key(Kind::String, text(known.text)), (&raw const known.id).cast_mut()) },
    }
}

/// A counter's id, 0 for none.
///
/// # Safety
///
/// Null, or a counter.
#[inline(always)]
pub unsafe fn counter_id(counter: *const Counter) -> u32 {
    // SAFETY: the caller's.
    match unsafe { counter.as_ref() } {
        None => 0,
        Some(counter) if counter.id != 0 => counter.id as u32,
        // SAFETY: texts.
        Some(known) => unsafe {
            let key = Key { kind: Kind::Counter(known.kind), domain: text(known.domain), text: text(known.name) };
            late_id(key, (&raw const known.id).cast_mut())
        },
    }
}

/// The id of what the program's static part made, which is noted in its structure.
#[cold]
unsafe fn late_id(key: Key<'_>, place: *mut i32) -> u32 {
    let entry = Entered::new().and_then(|entered| find(&entered, key));
    let id = entry.map_or(0, |entry| entry.id);
    // SAFETY: a field that is reserved for this library; whoever writes it writes the same.
    unsafe { place.write_volatile(id as i32) };
    id
}
