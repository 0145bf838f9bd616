//! Machine code as text.

use dwell_model::ModuleId;
use dwell_store::CodeTables;
use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter, Instruction as Decoded, IntelFormatter, Mnemonic};

use crate::source::asked::Syntax;

/// A decoded instruction.
pub struct InstructionLine {
    /// Address in its ELF file.
    pub address: u64,
    /// Machine code.
    pub bytes: Vec<u8>,
    /// What it says.
    pub text: String,
    /// Where it jumps to, or what it calls.
    pub target: Option<String>,
    /// Whether it enters the kernel.
    pub is_system_call: bool,
}

/// The instructions of row `row` of the listed code.
pub fn disassemble(tables: &CodeTables, row: usize, syntax: Syntax) -> Vec<InstructionLine> {
    let code = &tables.code;
    let (bytes, start, module) = (&code.bytes[row], code.address[row], code.module[row]);
    let mut formatter = formatter(syntax);
    let mut lines = Vec::new();
    for instruction in &mut Decoder::with_ip(64, bytes, start, DecoderOptions::NONE) {
        let from = usize::try_from(instruction.ip().wrapping_sub(start)).unwrap_or(usize::MAX);
        let bytes = bytes.get(from..from.saturating_add(instruction.len())).unwrap_or_default().to_vec();
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        lines.push(InstructionLine {
            address: instruction.ip(),
            bytes,
            text,
            target: branch_target(&instruction).and_then(|address| symbol(tables, module, address)),
            is_system_call: matches!(instruction.mnemonic(), Mnemonic::Syscall | Mnemonic::Sysenter),
        });
    }
    lines
}

fn formatter(syntax: Syntax) -> Box<dyn Formatter> {
    let mut formatter: Box<dyn Formatter> = match syntax {
        Syntax::Intel => Box::new(IntelFormatter::new()),
        Syntax::Att => Box::new(GasFormatter::new()),
    };
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_space_after_operand_separator(true);
    options.set_branch_leading_zeros(false);
    options.set_rip_relative_addresses(true);
    formatter
}

/// Where a jump or call goes to, or where the pointer to that lies.
fn branch_target(instruction: &Decoded) -> Option<u64> {
    let through_pointer = matches!(instruction.mnemonic(), Mnemonic::Call | Mnemonic::Jmp);
    match instruction.near_branch_target() {
        0 if through_pointer && instruction.is_ip_rel_memory_operand() => Some(instruction.ip_rel_memory_address()),
        0 => None,
        target => Some(target),
    }
}

/// `function+0x12` for an address, when it is in listed code, or the beginning of what listed code calls.
fn symbol(tables: &CodeTables, module: ModuleId, address: u64) -> Option<String> {
    let code = &tables.code;
    let next = partition(code.bytes.len(), |row| (code.module[row], code.address[row]) <= (module, address));
    let inside = |row: &usize| address - code.address[*row];
    let holds = |row: &usize| inside(row) == 0 || inside(row) < code.bytes[*row].len() as u64;
    let before = (0..next).rev().take_while(|&row| code.module[row] == module);
    // The last row that has code holds the address, or none does.
    let end = |row: &usize| !code.bytes[*row].is_empty();
    let mut done = false;
    let row = before.take_while(|row| !std::mem::replace(&mut done, end(row))).find(holds)?;
    let name = &code.function[row];
    Some(if inside(&row) == 0 { name.clone() } else { format!("{name}+{:#x}", inside(&row)) })
}

/// Number of the rows, of `count` sorted ones, that come before the first for which `before` does not hold.
fn partition(count: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
