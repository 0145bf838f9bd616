//! The profiled programs as user space sees them: launched, looked at in `/proc`, their files kept.
//! Takes commands and process ids; gives children, lives of processes, and copies of what would be gone later.
//! It knows neither hooks nor records, and reads files of programs only as a hostile party's.

pub mod belongings;
pub mod copying;
pub mod descriptors;
pub mod keeper;
pub mod launch;
pub mod memory;
pub mod proc;
pub mod process_lifetimes;
mod reopening;
pub mod signals;
mod terminal;
pub mod view;
