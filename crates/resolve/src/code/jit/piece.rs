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

/// What a part of a piece of code is of.
#[derive(Clone, Debug)]
pub struct InlinedCalls {
    /// From this distance from the piece's start on …
    pub start: u64,
    /// … to this one.
    pub end: u64,
    /// The function, then what is inlined into it, each with its line.
    pub functions: Vec<Function>,
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
    /// What is inlined where, as far as it was told; by offset, after [`Self::sort_calls`].
    pub calls: Vec<InlinedCalls>,
}

impl CodePiece {
    /// Makes its recorded times ones of the tables.
    pub fn make_relative(&mut self, relative: &dyn Fn(u64) -> u64) {
        self.from_ns = relative(self.from_ns);
        self.until_ns = if self.until_ns == u64::MAX { u64::MAX } else { relative(self.until_ns) };
    }

    /// Makes what is inlined findable.
    pub fn sort_calls(&mut self) {
        self.calls.sort_by_key(|calls| calls.start);
    }

    /// The function at `address`, which lies in it, then what is inlined into it there.
    pub fn functions_at(&self, address: u64) -> Vec<Function> {
        let offset = address.saturating_sub(self.start);
        let after = self.calls.partition_point(|calls| calls.start <= offset);
        let calls = after.checked_sub(1).and_then(|last| self.calls.get(last)).filter(|calls| offset < calls.end);
        calls.map_or_else(|| vec![self.function_at(address)], |calls| calls.functions.clone())
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
