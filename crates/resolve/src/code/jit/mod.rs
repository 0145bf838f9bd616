//! Names of code made at run time.
//! It takes the maps and logs that runtimes write and the collector kept, and what compilers tell through ITT; it gives the
//! function at an address of a program at a time.
//! It does not check what it reads against anything else: all of it is the profiled program's word.

mod dump;
mod names;
mod perf_map;
mod piece;
mod space;
mod told;

pub use dump::parse as parse_dump;
pub use names::how_to_name;
pub use perf_map::parse as parse_perf_map;
pub use piece::{Code, MOST_PIECES};
pub use space::Jit;
pub use told::ToldCodes;
