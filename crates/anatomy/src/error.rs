//! What can go wrong, in one sentence each.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// QEMU cannot be started.
    #[error("cannot start {}: {source}", program.display())]
    Start {
        /// Its file.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// QEMU ended without a word of the plug-in.
    #[error("QEMU ended before anything was recorded ({status})")]
    NoRecording {
        /// How.
        status: ExitStatus,
    },
    /// QEMU was built without plug-ins; a static one always is.
    #[error("{} takes no plug-ins: it was built without them, as Debian's qemu-user is since version 13", .0.display())]
    NoPlugins(PathBuf),
    /// The plug-in's messages make no sense: the traced program wrote into them.
    #[error("the recording makes no sense from some point on: the traced program overwrote it")]
    Garbled,
}
