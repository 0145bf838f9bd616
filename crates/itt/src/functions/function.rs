//! A function that programs call: its name, and where it is.

use core::ffi::{CStr, c_void};

/// Where a function is.
#[derive(Clone, Copy)]
pub struct Address(pub *const c_void);

// SAFETY: code is nobody's.
unsafe impl Sync for Address {}

/// A function and its name.
pub type Function = (&'static CStr, Address);

/// Rows of a table of functions: their names, without `__itt_`, and where they are.
macro_rules! functions {
    ($($name:literal => $function:path),* $(,)?) => {
        &[$((
            match core::ffi::CStr::from_bytes_with_nul(concat!("__itt_", $name, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            },
            crate::functions::function::Address($function as *const core::ffi::c_void),
        )),*]
    };
}
pub(super) use functions;
