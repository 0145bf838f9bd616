//! The goroutines of a running Go program, read from its memory while it runs on.
//!
//! A goroutine is a line of execution that Go's scheduler puts on threads; the kernel does not know it. A program's file
//! says where the list of them is (`runtime.allgs`) and how one lies in memory (`runtime.g`, by the version of Go); [`GoroutineReader`] makes
//! passes over the list. What is read may change meanwhile, and may be a lie: every count is bounded, a goroutine
//! that moved while it was read is left out of the pass and counted, and nothing of the program is written.
//!
//! Sources: `src/runtime/runtime2.go`, `proc.go`, `traceback.go` of Go 1.18 to 1.26.

mod allgs;
mod change_points;
mod connections;
pub mod example;
mod objects;
mod offsets;
mod process;
mod reader;
mod runtime;
mod stack;
mod stretches;
#[cfg(test)]
mod tests;

pub use change_points::{ChangePoint, ChangePoints, StateChange, change_points_of};
pub use offsets::Offsets;
pub use process::reader_of;
pub use reader::{Goroutine, GoroutineReader, GoroutineState, PassCounts};
pub use runtime::Unsupported;
pub use stack::MOST_FRAMES;

/// A stretch of a process's memory: address and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryStretch {
    /// Where it begins.
    pub address: u64,
    /// Its length, bytes.
    pub length: usize,
}

/// The memory of a process.
pub trait StretchReader {
    /// Reads the stretches one behind the other into `bytes`, which has room for all of them. Returns how many bytes were read: a
    /// stretch that is not there ends the reading.
    fn read(&mut self, stretches: &[MemoryStretch], bytes: &mut [u8]) -> usize;
}
