//! Finalization: makes a raw trace a result.
//!
//! The way of the data, each folder knowing only those before it: [`input`] reads the spool and puts its events in the order
//! of time, [`replay`] runs them through who lives, who runs and what programs say, [`code`] names code, [`objects`] says what
//! each wait was on, [`topics`] makes the tables of sockets, delays and the machine, [`listing`] copies machine code and
//! sources. [`naming`] asks them all for names, and [`finalize`] goes the whole way.
//!
//! No other crate knows ELF or DWARF. Damaged or missing input makes a loss or a notice, never an error; an error
//! means that there is nothing to read or nowhere to write.

mod code;
mod error;
mod finalize;
mod hash;
mod input;
mod interner;
mod listing;
mod losses;
mod naming;
mod objects;
mod options;
mod progress;
pub mod readers;
mod replay;
mod row_of;
mod topics;

pub use code::access::User;
pub use code::code_names::CodeNames;
pub use code::debuginfod::DebuginfodSettings;
pub use code::kernel::KernelFiles;
pub use error::Error;
pub use finalize::finalize;
pub use options::{Mode, Options};
pub use progress::{NoProgress, Progress};
