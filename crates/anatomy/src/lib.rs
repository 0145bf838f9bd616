//! Instruction traces of a program, or of a whole machine with its kernel: recorded by QEMU with a plug-in of ours.

mod error;
mod recorder;
mod stream;
pub mod trace;

pub use error::Error;
pub use recorder::{Ended, Recorder};
pub use stream::{Listener, Module};
