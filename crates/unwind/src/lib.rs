//! Unwind tables: what a `.eh_frame` section says, in a form that a BPF program can walk a stack with.
//!
//! Distribution binaries have no frame pointers, so that a walk by frame pointers loses the caller of every lock. This
//! crate reads the call frame information of x86-64 ELF files into compact sorted rows ([`UnwindTable`]), lays out the
//! tables of many files in one space of 64-bit words that all processes share, and keeps for each process the list of its
//! executable mappings ([`Registry`]). It makes bytes only: loading them into BPF maps is the capture crate's part, walking
//! the current thread's stack is `unwind.h`'s. It also finds interpreters (CPython) in these files and where their state
//! lies, since they are read here first. [`walk`] does the same for a thread that stands still, in user space.

mod cfi;
mod elf;
mod error;
mod frames;
mod go;
mod interpreters;
mod maps;
mod program;
mod registry;
mod row;
mod run_time_code;
mod table;
mod thread;
mod vdso;
mod walk;

pub use elf::{Segment, build_id_of, program_build_id};
pub use error::{Error, Result};
pub use frames::{CallFrames, Caller};
pub use maps::{Mapping, parse_maps};
pub use program::{dynamic_linker, program_files};
pub use registry::{Losses, Notice, Registry, Update};
pub use row::{Extra, Row, Rule, Step};
pub use table::{Layout, UnwindTable};
pub use thread::{Memory, Registers};
pub use vdso::provide_vdso;
pub use walk::{Code, Walk, walk};

pub use dwell_wire::MAX_FRAMES;
