//! What a recording says, to whoever listens: the model while it is made, or the file.

use dwell_itrace::{Block, Lost, Word};
use serde::{Deserialize, Serialize};

/// A mapping of a file with code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// First guest address.
    pub start: u64,
    /// Behind the last one.
    pub end: u64,
    /// What part of the file is at `start`, in bytes.
    pub offset: u64,
    /// The file.
    pub path: String,
}

/// Who listens to a recording. Modules and blocks are numbered from 0, in the order in which they come, and come before what
/// names them.
pub trait Listener {
    /// A file with code.
    fn module(&mut self, module: &Module);
    /// A block, with the number of its module.
    fn block(&mut self, id: u32, block: &Block, module: Option<u32>);
    /// What was executed.
    fn words(&mut self, words: &[Word]);
    /// Something was not recorded.
    fn lost(&mut self, what: Lost);
    /// Whether nothing more is wanted.
    fn is_enough(&self) -> bool {
        false
    }
    /// Nothing more comes.
    fn end(&mut self) {}
}
