//! Finalization: makes a raw trace a result.
//!
//! The way of the data: [`input`] reads the spool, [`order`] sorts it by time, [`replay`] runs it through who lives
//! ([`lives`]), who runs ([`intervals`]), what samples stand for ([`samples`]) and what programs say ([`annotations`]);
//! then [`mappings`], [`modules`], [`symbols`] and [`stacks`] give code its names, and [`objects`] says what each wait
//! was on.
//!
//! No other crate knows ELF or DWARF. Damaged or missing input makes a loss or a notice, never an error; an error
//! means that there is nothing to read or nowhere to write.

mod annotations;
mod code_names;
mod debug_files;
mod debuginfod;
mod delays;
mod demangle;
mod error;
mod files;
mod finalize;
mod function;
mod hash;
mod input;
mod interner;
mod intervals;
mod jit;
mod kernel;
mod listing;
mod lives;
mod losses;
mod machine_code;
mod mappings;
mod modules;
mod naming;
mod objects;
mod options;
mod order;
mod progress;
mod python;
pub mod readers;
mod replay;
mod samples;
mod scopes;
mod sockets;
mod source_files;
mod stacks;
mod symbol_table;
mod symbols;
mod system;
mod ticks;
mod waits;

pub use code_names::CodeNames;
pub use debuginfod::DebuginfodSettings;
pub use error::Error;
pub use finalize::finalize;
pub use kernel::KernelFiles;
pub use options::{Mode, Options};
pub use progress::{Progress, Silent};
pub use source_files::User;
