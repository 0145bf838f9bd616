//! Each instruction of some functions, with what the model says of it.

use std::collections::HashMap;

use dwell_itrace::Block;
use dwell_machine::Instruction;
use iced_x86::{Decoder, DecoderOptions, Formatter as _, IntelFormatter};

use super::phases::matches;

/// An instruction as it was executed.
#[derive(Clone, Copy, Debug)]
pub struct Executed {
    /// Its block.
    pub block: u32,
    /// What the model saw.
    pub seen: Instruction,
    /// It is a branch that was predicted wrongly.
    pub mispredicted: bool,
}

/// The instructions of functions that match a pattern.
pub struct Detail {
    pattern: String,
    limit: usize,
    /// Numbers of the functions that match.
    functions: Vec<bool>,
    blocks: HashMap<u32, Block>,
    current: Option<u32>,
    /// What was executed, as far as there was room.
    pub executed: Vec<Executed>,
}

impl Detail {
    /// At most `limit` instructions.
    pub fn new(pattern: String, limit: usize) -> Self {
        let (functions, blocks, executed) = (Vec::new(), HashMap::new(), Vec::new());
        Self { pattern, limit, functions, blocks, current: None, executed }
    }

    /// The next function.
    pub fn add_function(&mut self, name: &str) {
        self.functions.push(matches(&self.pattern, name));
    }

    /// A block of a function.
    pub fn add_block(&mut self, id: u32, block: &Block, function: u32) {
        if self.functions.get(function as usize) == Some(&true) {
            self.blocks.insert(id, block.clone());
        }
    }

    /// A block is executed.
    pub fn begin(&mut self, block: u32) {
        self.current = Some(block).filter(|block| self.executed.len() < self.limit && self.blocks.contains_key(block));
    }

    /// An instruction of it is executed.
    pub fn instruction(&mut self, seen: &Instruction) {
        if let Some(block) = self.current.filter(|_| self.executed.len() < self.limit) {
            self.executed.push(Executed { block, seen: *seen, mispredicted: false });
        }
    }

    /// The last one was predicted wrongly.
    pub fn mispredicted(&mut self) {
        if let (Some(_), Some(last)) = (self.current, self.executed.last_mut()) {
            last.mispredicted = true;
        }
    }

    /// The address and the text of an instruction.
    pub fn text(&self, executed: &Executed) -> (u64, String) {
        let found = self.blocks.get(&executed.block).and_then(|block| block.instructions().nth(executed.seen.index));
        let Some((address, bytes)) = found else { return (0, String::new()) };
        let mut text = String::new();
        let decoded = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
        IntelFormatter::new().format(&decoded, &mut text);
        (address, text)
    }
}
