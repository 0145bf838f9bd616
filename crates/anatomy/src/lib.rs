//! Instruction traces of a program, or of a whole machine with its kernel: recorded by QEMU with a plug-in of ours.

pub mod annotate;
mod error;
mod naming;
pub mod program;
mod recorder;
pub mod reports;
mod stream;
pub mod system;
pub mod trace;
mod window;

/// For the fuzzer.
pub mod readers {
    pub use crate::recorder::memory_left;
}

pub use error::Error;
pub use recorder::{Ended, Recorder, Stopper};
pub use stream::{Function, Listener, Module, Namer};
pub use window::{Window, Windowed};
