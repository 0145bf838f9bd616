//! What programs announce through ITT, as the collector hears it.
//! Takes the files that the library of `crates/itt` writes in a program; gives ITT records, and what a program asks for.
//! It does not understand tasks, counters or markers: the crate resolve reads those.

mod files;
mod folder;
mod library;
mod preparation;

pub use self::files::{Itt, ProgramRequest};
pub use self::library::{Library, is_library};
pub use self::preparation::{Preparation, environment};
