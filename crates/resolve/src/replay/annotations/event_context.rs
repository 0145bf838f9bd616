//! The thread that said a thing, and when it did.

use dwell_model::{ProcessId, ThreadId};

use crate::replay::threads::ImageId;

/// Whom and when a thing is said of; times are ns since the collection's start.
#[derive(Clone, Copy, Debug)]
pub struct EventContext {
    /// The thread.
    pub thread: ThreadId,
    /// Its process.
    pub process: ProcessId,
    /// Number of its process as the kernel has it.
    pub tgid: u32,
    /// Number of the process's shared file, 0 for none.
    pub source: u32,
    /// The program that the process runs.
    pub image: ImageId,
    /// Since when it does.
    pub image_ns: u64,
    /// When it was said.
    pub now_ns: u64,
    /// When it happened.
    pub at_ns: u64,
    /// Whether the thread was there before the collection.
    pub was_there: bool,
}
