//! Functions of JavaScript in a process that runs V8 (Node.js), read from outside: what each is called, and where it begins.
//!
//! Builds with post-mortem support export a description of V8's structures for debuggers, as numbers that are called `v8dbg_…`
//! (`tools/gen-postmortem-metadata.py` in V8). [`Layout`] reads it, [`FunctionReader`] goes from a function's description in the heap
//! (`SharedFunctionInfo`) to its name, its script and the line at which it begins. It needs no flag and nothing of the program's.
//!
//! It knows no process: [`HeapMemory`] is the caller's part. What it reads changes meanwhile, and is hostile: every length is bounded,
//! and what makes no sense is left out.

pub mod example;
mod functions;
mod layout;
mod memory;
mod scope_info;
mod scripts;
mod strings;

pub use functions::FunctionReader;
pub use layout::{Addresses, Layout, chosen_exports, export_names};
pub use memory::HeapMemory;
