//! Tasks, regions, frames, markers and events.

use core::ffi::{c_int, c_void};

use dwell_itt_wire::Event;

use super::arguments::{id_at, is_enabled};
use crate::abi::{ClockDomain, Domain, RawId, StringHandle};
use crate::clock;
use crate::events::{is_recording, record, write, write_at};
use crate::functions::function::{Function, functions};
use crate::naming::{domain_id, string_id};

pub const FUNCTIONS: &[Function] = functions! {
    "task_begin" => task_begin,
    "task_begin_fn" => task_begin_fn,
    "task_end" => task_end,
    "task_begin_ex" => task_begin_ex,
    "task_begin_fn_ex" => task_begin_fn_ex,
    "task_end_ex" => task_end_ex,
    "task_begin_overlapped" => task_begin_overlapped,
    "task_end_overlapped" => task_end_overlapped,
    "task_begin_overlapped_ex" => task_begin_overlapped_ex,
    "task_end_overlapped_ex" => task_end_overlapped_ex,
    "region_begin" => region_begin,
    "region_end" => region_end,
    "frame_begin_v3" => frame_begin_v3,
    "frame_end_v3" => frame_end_v3,
    "frame_submit_v3" => frame_submit_v3,
    "marker" => marker,
    "marker_ex" => marker_ex,
    "event_start" => event_start,
    "event_end" => event_end,
};

/// A no-op that `dwell anatomy` sees (crates/itrace/src/marks.rs): a task of this thread begins (4) or its innermost one ends (5).
macro_rules! mark {
    ($number:literal) => {
        // SAFETY: `nopl disp32(%rax)` touches nothing.
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            concat!(".byte 0x0f, 0x1f, 0x80\n.short ", $number, "\n.short 0x4457"),
            options(nomem, nostack, preserves_flags)
        )
    };
}

type Handle = *const StringHandle;
type Clock = *const ClockDomain;

/// Writes the event that `event` makes of the number of `domain`, when it is wanted; what it takes to make it costs nothing
/// otherwise.
#[inline(always)]
unsafe fn tell<'a>(domain: *const Domain, event: impl FnOnce(u16) -> Event<'a>) {
    // SAFETY: null or a domain.
    unsafe {
        if is_recording() && is_enabled(domain) {
            write(event(domain_id(domain)));
        }
    }
}

/// The same at a time of the program's own.
#[inline(always)]
unsafe fn tell_at<'a>(domain: *const Domain, clock: Clock, time: u64, event: impl FnOnce(u16) -> Event<'a>) {
    // SAFETY: null or a domain; null or a clock.
    unsafe {
        if is_recording() && is_enabled(domain) {
            write_at(event(domain_id(domain)), clock::given(clock, time));
        }
    }
}

unsafe extern "C" fn task_begin(domain: *const Domain, id: RawId, parent: RawId, name: Handle) {
    // SAFETY: the program's own structures.
    unsafe {
        mark!(4);
        tell(domain, |domain| Event::TaskBegin { domain, name: string_id(name), id: id.into(), parent: parent.into() });
    }
}

unsafe extern "C" fn task_begin_fn(domain: *const Domain, id: RawId, parent: RawId, function: *const c_void) {
    // SAFETY: the program's own structures.
    unsafe {
        mark!(4);
        tell(domain, |domain| Event::TaskBeginFn {
            domain,
            function: function as u64,
            id: id.into(),
            parent: parent.into(),
        });
    }
}

unsafe extern "C" fn task_end(domain: *const Domain) {
    // SAFETY: null or a domain.
    unsafe {
        mark!(5);
        tell(domain, |domain| Event::TaskEnd { domain });
    }
}

unsafe extern "C" fn task_begin_ex(
    domain: *const Domain,
    clock: Clock,
    time: u64,
    id: RawId,
    parent: RawId,
    name: Handle,
) {
    // SAFETY: the program's own structures.
    unsafe {
        mark!(4);
        tell_at(domain, clock, time, |domain| Event::TaskBegin {
            domain,
            name: string_id(name),
            id: id.into(),
            parent: parent.into(),
        });
    }
}

unsafe extern "C" fn task_begin_fn_ex(
    domain: *const Domain,
    clock: Clock,
    time: u64,
    id: RawId,
    parent: RawId,
    function: *const c_void,
) {
    // SAFETY: the program's own structures.
    unsafe {
        mark!(4);
        tell_at(domain, clock, time, |domain| Event::TaskBeginFn {
            domain,
            function: function as u64,
            id: id.into(),
            parent: parent.into(),
        });
    }
}

unsafe extern "C" fn task_end_ex(domain: *const Domain, clock: Clock, time: u64) {
    // SAFETY: the program's own structures.
    unsafe {
        mark!(5);
        tell_at(domain, clock, time, |domain| Event::TaskEnd { domain });
    }
}

unsafe extern "C" fn task_begin_overlapped(domain: *const Domain, id: RawId, parent: RawId, name: Handle) {
    // SAFETY: the program's own structures.
    unsafe { task_begin_overlapped_ex(domain, core::ptr::null(), 0, id, parent, name) };
}

unsafe extern "C" fn task_end_overlapped(domain: *const Domain, id: RawId) {
    // SAFETY: the program's own structures.
    unsafe { task_end_overlapped_ex(domain, core::ptr::null(), 0, id) };
}

unsafe extern "C" fn task_begin_overlapped_ex(
    domain: *const Domain,
    clock: Clock,
    time: u64,
    id: RawId,
    parent: RawId,
    name: Handle,
) {
    // SAFETY: the program's own structures.
    unsafe {
        tell_at(domain, clock, time, |domain| Event::OverlappedBegin {
            domain,
            name: string_id(name),
            id: id.into(),
            parent: parent.into(),
        });
    }
}

unsafe extern "C" fn task_end_overlapped_ex(domain: *const Domain, clock: Clock, time: u64, id: RawId) {
    // SAFETY: the program's own structures.
    unsafe {
        tell_at(domain, clock, time, |domain| Event::OverlappedEnd { domain, id: id.into() });
    }
}

unsafe extern "C" fn region_begin(domain: *const Domain, id: RawId, parent: RawId, name: Handle) {
    // SAFETY: the program's own structures.
    unsafe {
        tell(domain, |domain| Event::RegionBegin {
            domain,
            name: string_id(name),
            id: id.into(),
            parent: parent.into(),
        });
    }
}

unsafe extern "C" fn region_end(domain: *const Domain, id: RawId) {
    // SAFETY: null or a domain.
    unsafe {
        tell(domain, |domain| Event::RegionEnd { domain, id: id.into() });
    }
}

unsafe extern "C" fn frame_begin_v3(domain: *const Domain, id: *const RawId) {
    // SAFETY: null or a domain; null or an id.
    unsafe {
        tell(domain, |domain| Event::FrameBegin { domain, id: id_at(id) });
    }
}

unsafe extern "C" fn frame_end_v3(domain: *const Domain, id: *const RawId) {
    // SAFETY: null or a domain; null or an id.
    unsafe {
        tell(domain, |domain| Event::FrameEnd { domain, id: id_at(id) });
    }
}

unsafe extern "C" fn frame_submit_v3(domain: *const Domain, id: *const RawId, begin: u64, end: u64) {
    // SAFETY: null or a domain; null or an id.
    unsafe {
        let end = || clock::given(core::ptr::null(), end);
        tell(domain, |domain| Event::FrameSubmit { domain, id: id_at(id), begin, end: end() });
    }
}

unsafe extern "C" fn marker(domain: *const Domain, id: RawId, name: Handle, scope: c_int) {
    // SAFETY: the program's own structures.
    unsafe { marker_ex(domain, core::ptr::null(), 0, id, name, scope) };
}

unsafe extern "C" fn marker_ex(domain: *const Domain, clock: Clock, time: u64, id: RawId, name: Handle, scope: c_int) {
    // SAFETY: the program's own structures.
    unsafe {
        tell_at(domain, clock, time, |domain| Event::Marker {
            domain,
            name: string_id(name),
            id: id.into(),
            scope: scope as u32,
        });
    }
}

extern "C" fn event_start(event: c_int) -> c_int {
    record(Event::EventStart { event: event as u32 });
    0
}

extern "C" fn event_end(event: c_int) -> c_int {
    record(Event::EventEnd { event: event as u32 });
    0
}
