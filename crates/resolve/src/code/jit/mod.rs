//! Names of code made at run time.
//! It takes runtimes' maps and logs, and what compilers tell through ITT; it gives the function at an address and time.
//! It does not check these names: all of them are the profiled program's word.

mod dump;
mod itt_code;
mod names;
mod perf_map;
mod piece;
mod space;

pub use dump::parse as parse_dump;
pub use itt_code::AnnouncedCodes;
pub use names::how_to_name;
pub use perf_map::parse as parse_perf_map;
pub use piece::{CodePiece, MOST_PIECES};
pub use space::Jit;
