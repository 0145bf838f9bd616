//! What is known of each block beforehand: its function, and how it ends.

use dwell_itrace::Block;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic};

use super::phases::{Half, Phases};
use crate::stream::Function;

/// How a block leads on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It calls.
    Call,
    /// It returns to what a call left on the stack.
    Return,
    /// It enters the kernel.
    SystemCall,
    /// It leaves a system call, an interrupt or an exception.
    Resume,
    /// It jumps wherever a register or memory says.
    Anywhere,
    /// It goes on behind itself, or to this address.
    Near(u64),
}

/// A function, and what its name tells.
#[derive(Clone, Debug)]
pub struct Known {
    /// The function.
    pub function: Function,
    /// The phase that it begins.
    pub phase: Option<(u16, Option<Half>)>,
    /// An interrupt or an exception begins here.
    pub is_entry: bool,
}

/// A block.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its function's number.
    pub function: u32,
    /// First address, address of the last instruction, and address behind it.
    pub address: u64,
    /// See `address`.
    pub last: u64,
    /// See `address`.
    pub end: u64,
    /// How it leads on.
    pub exit: Exit,
    /// Number of instructions.
    pub instructions: u16,
}

impl Place {
    /// Whether it lies in the kernel's half of the addresses.
    pub fn is_kernel(&self) -> bool {
        self.address >> 63 != 0
    }
}

/// All blocks and functions of a trace, by number.
#[derive(Default)]
pub struct Code {
    /// Blocks.
    pub blocks: Vec<Place>,
    /// Functions.
    pub functions: Vec<Known>,
}

impl Code {
    /// The next function.
    pub fn add_function(&mut self, function: &Function, phases: &Phases) {
        let is_entry = ENTRIES.iter().any(|prefix| function.name.starts_with(prefix));
        let phase = phases.of(&function.module, &function.name);
        self.functions.push(Known { function: function.clone(), phase, is_entry });
    }

    /// The next block.
    pub fn add_block(&mut self, block: &Block, function: u32) {
        let (last, bytes) = block.instructions().last().unwrap_or((block.address(), &[]));
        self.blocks.push(Place {
            function,
            address: block.address(),
            last,
            end: block.end(),
            exit: exit(last, bytes, block.end()),
            instructions: block.count() as u16,
        });
    }
}

/// Where the kernel's handlers of interrupts and exceptions begin (arch/x86/include/asm/idtentry.h).
const ENTRIES: [&str; 5] = ["asm_exc_", "asm_sysvec_", "asm_common_interrupt", "irq_entries_start", "asm_spurious_"];

fn exit(address: u64, bytes: &[u8], end: u64) -> Exit {
    let instruction = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    match instruction.mnemonic() {
        Mnemonic::Syscall | Mnemonic::Sysenter => return Exit::SystemCall,
        Mnemonic::Sysret | Mnemonic::Sysretq | Mnemonic::Iret | Mnemonic::Iretd | Mnemonic::Iretq => {
            return Exit::Resume;
        }
        _ => {}
    }
    match instruction.flow_control() {
        FlowControl::Call | FlowControl::IndirectCall => Exit::Call,
        FlowControl::Return => Exit::Return,
        FlowControl::IndirectBranch => Exit::Anywhere,
        FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
            Exit::Near(instruction.near_branch_target())
        }
        _ => Exit::Near(end),
    }
}
