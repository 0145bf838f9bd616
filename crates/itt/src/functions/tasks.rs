//! Tasks, regions, frames, markers and events.

use core::ffi::{c_int, c_void};

use dwell_itt_wire::Event;

use super::{id_at, is_enabled};
use crate::abi::{ClockDomain, Domain, RawId, StringHandle};
use crate::clock;
use crate::functions::{Function, functions};
use crate::naming::{domain_id, string_id};
use crate::thread::{is_recording, record, write, write_at};

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

type Handle = *const StringHandle;
type Clock = *const ClockDomain;

/// Whether an event of `domain` is wanted; what follows costs nothing otherwise.
#[inline(always)]
unsafe fn is_wanted(domain: *const Domain) -> bool {
    // SAFETY: null or a domain.
    is_recording() && unsafe { is_enabled(domain) }
}

unsafe extern "C" fn task_begin(domain: *const Domain, id: RawId, parent: RawId, name: Handle) {
    // SAFETY: the program's own structures.
    unsafe {
        if is_wanted(domain) {
            let (domain, name) = (domain_id(domain), string_id(name));
            write(Event::TaskBegin { domain, name, id: id.into(), parent: parent.into() });
        }
    }
}

unsafe extern "C" fn task_begin_fn(domain: *const Domain, id: RawId, parent: RawId, function: *const c_void) {
    // SAFETY: the program's own structures.
    unsafe {
        if is_wanted(domain) {
            let (domain, function) = (domain_id(domain), function as u64);
            write(Event::TaskBeginFn { domain, function, id: id.into(), parent: parent.into() });
        }
    }
}

unsafe extern "C" fn task_end(domain: *const Domain) {
    // SAFETY: null or a domain.
    unsafe {
        if is_wanted(domain) {
            write(Event::TaskEnd { domain: domain_id(domain) });
        }
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
        if is_wanted(domain) {
            let (domain, name) = (domain_id(domain), string_id(name));
            let event = Event::TaskBegin { domain, name, id: id.into(), parent: parent.into() };
            write_at(event, clock::given(clock, time));
        }
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
        if is_wanted(domain) {
            let (domain, function) = (domain_id(domain), function as u64);
            let event = Event::TaskBeginFn { domain, function, id: id.into(), parent: parent.into() };
            write_at(event, clock::given(clock, time));
        }
    }
}

unsafe extern "C" fn task_end_ex(domain: *const Domain, clock: Clock, time: u64) {
    // SAFETY: the program's own structures.
    unsafe {
        if is_wanted(domain) {
            write_at(Event::TaskEnd { domain: domain_id(domain) }, clock::given(clock, time));
        }
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
        if is_wanted(domain) {
            let (domain, name) = (domain_id(domain), string_id(name));
            let event = Event::OverlappedBegin { domain, name, id: id.into(), parent: parent.into() };
            write_at(event, clock::given(clock, time));
        }
    }
}

unsafe extern "C" fn task_end_overlapped_ex(domain: *const Domain, clock: Clock, time: u64, id: RawId) {
    // SAFETY: the program's own structures.
    unsafe {
        if is_wanted(domain) {
            let event = Event::OverlappedEnd { domain: domain_id(domain), id: id.into() };
            write_at(event, clock::given(clock, time));
        }
    }
}

unsafe extern "C" fn region_begin(domain: *const Domain, id: RawId, parent: RawId, name: Handle) {
    // SAFETY: the program's own structures.
    unsafe {
        if is_wanted(domain) {
            let (domain, name) = (domain_id(domain), string_id(name));
            write(Event::RegionBegin { domain, name, id: id.into(), parent: parent.into() });
        }
    }
}

unsafe extern "C" fn region_end(domain: *const Domain, id: RawId) {
    // SAFETY: null or a domain.
    unsafe {
        if is_wanted(domain) {
            write(Event::RegionEnd { domain: domain_id(domain), id: id.into() });
        }
    }
}

unsafe extern "C" fn frame_begin_v3(domain: *const Domain, id: *const RawId) {
    // SAFETY: null or a domain; null or an id.
    unsafe {
        if is_wanted(domain) {
            write(Event::FrameBegin { domain: domain_id(domain), id: id_at(id) });
        }
    }
}

unsafe extern "C" fn frame_end_v3(domain: *const Domain, id: *const RawId) {
    // SAFETY: null or a domain; null or an id.
    unsafe {
        if is_wanted(domain) {
            write(Event::FrameEnd { domain: domain_id(domain), id: id_at(id) });
        }
    }
}

unsafe extern "C" fn frame_submit_v3(domain: *const Domain, id: *const RawId, begin: u64, end: u64) {
    // SAFETY: null or a domain; null or an id.
    unsafe {
        if is_wanted(domain) {
            let end = clock::given(core::ptr::null(), end);
            write(Event::FrameSubmit { domain: domain_id(domain), id: id_at(id), begin, end });
        }
    }
}

unsafe extern "C" fn marker(domain: *const Domain, id: RawId, name: Handle, scope: c_int) {
    // SAFETY: the program's own structures.
    unsafe { marker_ex(domain, core::ptr::null(), 0, id, name, scope) };
}

unsafe extern "C" fn marker_ex(domain: *const Domain, clock: Clock, time: u64, id: RawId, name: Handle, scope: c_int) {
    // SAFETY: the program's own structures.
    unsafe {
        if is_wanted(domain) {
            let (domain, name) = (domain_id(domain), string_id(name));
            let event = Event::Marker { domain, name, id: id.into(), scope: scope as u32 };
            write_at(event, clock::given(clock, time));
        }
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
