//! The code cache, the threads and the locks of a HotSpot JVM, read from outside: where each compiled method and stub lies, what it is
//! called, and how large its frame is; which lock a thread waits for, of which class it is, and which thread has it.
//!
//! libjvm.so exports a description of its own structures for debuggers (`vmStructs.hpp`: `gHotSpotVMStructs` and its kin),
//! also without debug symbols. [`CodeCache`] follows it from `CodeCache::_heaps` over each heap's segment map to the blobs, and
//! from a method, compiled or not, to the names of its class and itself. It needs no flag, no agent and no file of the JVM.
//!
//! [`LockReader`] says where a JVM keeps which monitor or lock a thread waits for and who owns it, and reads its threads and the names of
//! classes.
//!
//! It knows no process: [`RemoteMemory`] is the caller's part. What it reads changes meanwhile, and is hostile: every number is
//! bounded, and what makes no sense is left out. It reads no frames; of the addresses and methods in them it tells the lines, and what
//! was inlined.

mod blobs;
mod bytecodes;
mod code_cache;
mod compiled_calls;
mod error;
pub mod example;
mod field_offsets;
mod heaps;
mod layout;
mod lock_layout;
mod locks;
mod memory;
mod moved;
mod names;
mod switches;
mod tables;
mod unsigned5;

pub use blobs::CodeBlob;
pub use bytecodes::{Bytecode, BytecodePlace, MethodLine};
pub use code_cache::{CodeCache, Scan};
pub use compiled_calls::CompiledCalls;
pub use error::{Error, Result};
pub use heaps::CodeRegion;
pub use layout::EXPORTS;
pub use lock_layout::LockLayout;
pub use locks::{JavaThread, LockReader};
pub use memory::RemoteMemory;
