//! Small programs as a trace: blocks of machine code, and the words of their executions.

use dwell_itrace::{Block, Word};

use crate::{Counts, Depth, Machine, Replay};

/// A replay with what a test needs around it.
pub struct Program {
    pub replay: Replay,
    words: Vec<Word>,
    blocks: u32,
}

impl Program {
    pub fn on(machine: &Machine, depth: Depth) -> Self {
        Self { replay: Replay::new(machine, depth).unwrap(), words: Vec::new(), blocks: 0 }
    }

    /// A block of instructions at an address.
    pub fn block(&mut self, address: u64, instructions: &[&[u8]]) -> u32 {
        let lengths: Vec<u8> = instructions.iter().map(|bytes| bytes.len() as u8).collect();
        let block = Block::new(address, &instructions.concat(), &lengths).unwrap();
        self.replay.block(self.blocks, &block).unwrap();
        self.blocks += 1;
        self.blocks - 1
    }

    /// The block is executed.
    pub fn run(&mut self, block: u32) -> &mut Self {
        self.words.push(Word::block(block));
        if self.words.len() > 1 << 16 {
            self.flush();
        }
        self
    }

    pub fn load(&mut self, instruction: u16, address: u64) -> &mut Self {
        self.words.push(Word::access(address, instruction, 3, false));
        self
    }

    pub fn store(&mut self, instruction: u16, address: u64) -> &mut Self {
        self.words.push(Word::access(address, instruction, 3, true));
        self
    }

    fn flush(&mut self) {
        self.replay.words(&self.words, &mut ());
        self.words.clear();
    }

    /// What the program has cost so far.
    pub fn counts(&mut self) -> Counts {
        self.flush();
        self.replay.finish(&mut ());
        assert_eq!(self.replay.lost(), crate::Lost::default());
        assert_eq!(self.replay.total().ticks(), self.replay.ticks());
        self.replay.total()
    }
}

/// What a part of a program costs: from the counts before it to those behind it.
pub fn since(before: Counts, after: Counts) -> (f64, f64) {
    (after.cycles() - before.cycles(), (after.instructions - before.instructions) as f64)
}

/// A machine without what blurs the closed form.
pub fn plain() -> Machine {
    let mut machine = Machine::named("skylake-sp").unwrap();
    if let Some(level) = &mut machine.l1i {
        level.prefetch.clear();
    }
    machine.l1d.prefetch.clear();
    if let Some(level) = &mut machine.l2 {
        level.prefetch.clear();
    }
    machine
}

/// Whether a number is within a share of what it should be.
pub fn near(value: f64, expected: f64, share: f64) {
    assert!((value - expected).abs() <= expected * share, "{value:.4} is not within {share} of {expected:.4}");
}

/// mov rax, [rax]
pub const CHASE: &[u8] = &[0x48, 0x8b, 0x00];
/// mov rax, [rsi]
pub const LOAD: &[u8] = &[0x48, 0x8b, 0x06];
/// mov [rdi], rax
pub const STORE: &[u8] = &[0x48, 0x89, 0x07];
/// add rbx, rcx
pub const ADD: &[u8] = &[0x48, 0x01, 0xcb];
/// imul rbx, rcx
pub const MULTIPLY: &[u8] = &[0x48, 0x0f, 0xaf, 0xd9];
/// dec edx
pub const COUNT: &[u8] = &[0xff, 0xca];
/// mulsd xmm0, xmm1
pub const FLOAT: &[u8] = &[0xf2, 0x0f, 0x59, 0xc1];

/// jnz, relative to its end.
pub fn jnz(by: i8) -> [u8; 2] {
    [0x75, by as u8]
}
