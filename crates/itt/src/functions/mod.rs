//! The functions that programs call, by the names in their static parts' lists. What is not here gets its null function.

mod control;
mod counters;
mod creating;
mod metadata;
mod modules;
pub mod stitch;
mod sync;
mod tasks;

use core::ffi::{CStr, c_void};

use dwell_itt_wire::Id;

use crate::abi::{Domain, RawId};

/// Where a function is.
#[derive(Clone, Copy)]
pub struct Address(pub *const c_void);

// SAFETY: code is nobody's.
unsafe impl Sync for Address {}

/// A function and its name.
pub type Function = (&'static CStr, Address);

const TABLES: [&[Function]; 8] = [
    creating::FUNCTIONS,
    tasks::FUNCTIONS,
    counters::FUNCTIONS,
    metadata::FUNCTIONS,
    sync::FUNCTIONS,
    control::FUNCTIONS,
    modules::FUNCTIONS,
    stitch::FUNCTIONS,
];

/// The function called `name`.
pub fn called(name: &CStr) -> Option<*const c_void> {
    let mut all = TABLES.iter().flat_map(|table| table.iter());
    all.find(|(known, _)| *known == name).map(|(_, address)| address.0)
}

/// Rows of a table of functions: their names, without `__itt_`, and where they are.
macro_rules! functions {
    ($($name:literal => $function:path),* $(,)?) => {
        &[$((
            match core::ffi::CStr::from_bytes_with_nul(concat!("__itt_", $name, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            },
            crate::functions::Address($function as *const core::ffi::c_void),
        )),*]
    };
}
use functions;

/// Whether the program wants events of `domain`.
///
/// # Safety
///
/// Null, or a domain.
#[inline(always)]
unsafe fn is_enabled(domain: *const Domain) -> bool {
    // SAFETY: the caller's.
    unsafe { domain.as_ref() }.is_some_and(|domain| domain.flags != 0)
}

impl From<RawId> for Id {
    #[inline(always)]
    fn from(id: RawId) -> Id {
        Id { d1: id.d1, d2: id.d2 }
    }
}

/// The id at an address, none for null.
///
/// # Safety
///
/// Null, or an id.
#[inline(always)]
unsafe fn id_at(id: *const RawId) -> Id {
    // SAFETY: the caller's.
    unsafe { id.as_ref() }.map_or(Id::NONE, |id| Id::from(*id))
}
