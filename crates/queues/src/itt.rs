//! Announces packets through ITT, as an instrumented program would: one task for each, which began when the packet was sent and
//! ends when it is received. Costs a comparison when nobody listens.
#![allow(unsafe_code, reason = "functions and objects of the C library")]

use std::ffi::c_void;

use ittapi_sys::{__itt_domain, __itt_id, __itt_string_handle};

type Begin = unsafe extern "C" fn(*const __itt_domain, *mut c_void, u64, __itt_id, __itt_id, *mut __itt_string_handle);
type End = unsafe extern "C" fn(*const __itt_domain, *mut c_void, u64, __itt_id);

// Variables of the static part that the crate's declarations lack: null until the library of a collector fills them.
unsafe extern "C" {
    static __itt_task_begin_overlapped_ex_ptr__3_0: Option<Begin>;
    static __itt_task_end_overlapped_ex_ptr__3_0: Option<End>;
}

const NO_ID: __itt_id = __itt_id { d1: 0, d2: 0, d3: 0 };

/// Where packets are announced.
pub struct Packets {
    functions: Option<(Begin, End)>,
    domain: *const __itt_domain,
    name: *mut __itt_string_handle,
}

impl Packets {
    /// Looks whether somebody listens.
    pub fn new() -> Self {
        // SAFETY: texts that end with a zero; the variables are filled, if at all, when a domain is made.
        unsafe {
            let domain = ittapi_sys::__itt_domain_create_ptr__3_0.map(|create| create(c"dwell bench".as_ptr()));
            let name = ittapi_sys::__itt_string_handle_create_ptr__3_0.map(|create| create(c"packet".as_ptr()));
            let functions = __itt_task_begin_overlapped_ex_ptr__3_0.zip(__itt_task_end_overlapped_ex_ptr__3_0);
            let (domain, name) = (domain.unwrap_or(std::ptr::null_mut()), name.unwrap_or(std::ptr::null_mut()));
            let listened = !domain.is_null() && !name.is_null();
            Self { functions: functions.filter(|_| listened), domain, name }
        }
    }

    /// Packet `number`, from 1, was sent at `sent` and received at `received`, by [`crate::ticks::Ticks`].
    #[inline(always)]
    pub fn announce(&self, number: u64, sent: u64, received: u64) {
        let Some((begin, end)) = self.functions else { return };
        let id = __itt_id { d1: number, d2: 0, d3: 0 };
        // SAFETY: the library's own functions and objects, which stay for ever.
        unsafe {
            begin(self.domain, std::ptr::null_mut(), sent, id, NO_ID, self.name);
            end(self.domain, std::ptr::null_mut(), received, id);
        }
    }
}
