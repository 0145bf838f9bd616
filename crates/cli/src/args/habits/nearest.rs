//! What is said where Dwell has nothing that is the same.

use crate::error::Hinted;

/// A command line that does not run, and the nearest one that does.
#[derive(Debug)]
pub struct NearestCommand {
    /// Why it does not run: one sentence.
    pub message: String,
    /// What differs; may be empty.
    pub details: String,
    /// The command to type.
    pub command: String,
}

impl NearestCommand {
    /// A sentence, and a command.
    pub fn new(message: impl Into<String>, command: impl Into<String>) -> Self {
        Self { message: message.into(), details: String::new(), command: command.into() }
    }
}

impl From<NearestCommand> for Hinted {
    fn from(nearest: NearestCommand) -> Self {
        Self::usage(nearest.message).details(nearest.details).hint(nearest.command)
    }
}
