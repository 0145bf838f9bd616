//! What a recording says, to whoever listens: the model while it is made, or the file.

use dwell_itrace::{Block, Lost, Word};

/// A mapping of a file with code.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// A function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// Its name; code without one is named by its module, in brackets.
    pub name: String,
    /// The base name of the file that it is in; `kernel`, or the kernel's module.
    pub module: String,
}

/// What names code.
pub trait Namer {
    /// The functions at guest addresses, in a mapping of a file or outside of any.
    fn names(&mut self, module: Option<&Module>, addresses: &[u64]) -> Vec<Function>;
}

/// Who listens to a recording. Functions and blocks are numbered from 0, in the order in which they come, and come before what
/// names them. A slice of words has whole executions.
pub trait Listener {
    /// A function.
    fn function(&mut self, function: &Function);
    /// A block, with the number of its function.
    fn block(&mut self, id: u32, block: &Block, function: u32);
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
