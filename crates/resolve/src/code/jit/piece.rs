//! A piece of code that was made at run time: where it lay, from when to when, and what it is called.

use std::sync::Arc;

use super::names::is_file;
use crate::code::function::Function;

/// Most pieces of code of all maps and logs together: the largest programs seen have some 200,000.
pub const MOST_PIECES: usize = 4_000_000;
/// Larger pieces are not believed: a runtime's largest cache of code has 2 GiB.
const MOST_BYTES_OF_PIECE: u64 = 1 << 32;

/// Where the line changes within a piece of code.
#[derive(Clone, Debug)]
pub struct Line {
    /// From this distance from the piece's start on.
    pub offset: u64,
    /// The line.
    pub line: u32,
    /// Its file.
    pub file: Arc<str>,
}

/// A piece of code: a method, a stub.
#[derive(Clone, Debug)]
pub struct CodePiece {
    /// Its first byte.
    pub start: u64,
    /// Behind its last.
    pub end: u64,
    /// When it appeared, ns.
    pub from_ns: u64,
    /// When it disappeared, ns.
    pub until_ns: u64,
    /// What it is, with the line that it begins at where that is known.
    pub function: Arc<Function>,
    /// By offset.
    pub lines: Arc<[Line]>,
}

impl CodePiece {
    /// Makes its recorded times ones of the tables.
    pub fn make_relative(&mut self, relative: &dyn Fn(u64) -> u64) {
        self.from_ns = relative(self.from_ns);
        self.until_ns = if self.until_ns == u64::MAX { u64::MAX } else { relative(self.until_ns) };
    }

    /// The function at `address`, which lies in it.
    pub fn function_at(&self, address: u64) -> Function {
        let mut function = Function::clone(&self.function);
        let offset = address.saturating_sub(self.start);
        let after = self.lines.partition_point(|line| line.offset <= offset);
        if let Some(line) = after.checked_sub(1).and_then(|last| self.lines.get(last)) {
            function.line = line.line;
            if function.file.is_empty() || is_file(&line.file) {
                function.file = line.file.to_string();
            }
        }
        function
    }
}

/// Where a piece of code ends; `None` when it can be none.
pub fn end_of(start: u64, size: u64) -> Option<u64> {
    start.checked_add(size).filter(|_| (1..=MOST_BYTES_OF_PIECE).contains(&size))
}
