//! Where a function is left: at its returns, and at jumps to other functions (tail calls).

use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

/// Instructions looked back from an indirect jump for the table that it takes its target from.
const LOOK_BACK: usize = 8;

/// A piece of a function's code and the link-time address where it begins.
pub struct Piece<'c> {
    pub address: u64,
    pub code: &'c [u8],
}

impl Piece<'_> {
    fn range(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.code.len() as u64)
    }
}

/// The addresses of the instructions that leave a function of these pieces.
///
/// A conditional jump out of it is none: compilers make these to parts of the function that they put elsewhere.
pub fn exits(pieces: &[Piece<'_>]) -> Vec<u64> {
    let inside = |target: u64| pieces.iter().any(|piece| piece.range().contains(&target));
    let mut found = Vec::new();
    for piece in pieces {
        let code: Vec<Instruction> =
            Decoder::with_ip(64, piece.code, piece.address, DecoderOptions::NONE).into_iter().collect();
        for (index, instruction) in code.iter().enumerate() {
            let leaves = match instruction.flow_control() {
                FlowControl::Return => true,
                FlowControl::UnconditionalBranch => !inside(instruction.near_branch_target()),
                FlowControl::IndirectBranch => !is_switch(instruction, &code[index.saturating_sub(LOOK_BACK)..index]),
                _ => false,
            };
            if leaves {
                found.push(instruction.ip());
            }
        }
    }
    found
}

/// Whether an indirect jump goes to a case of a switch: through a table, from memory or from a register that was
/// loaded from one shortly before.
fn is_switch(jump: &Instruction, before: &[Instruction]) -> bool {
    if jump.op0_kind() == OpKind::Memory {
        return jump.memory_index() != Register::None;
    }
    let from_table = |instruction: &Instruction| {
        matches!(instruction.mnemonic(), Mnemonic::Movsxd | Mnemonic::Mov | Mnemonic::Add)
            && instruction.op1_kind() == OpKind::Memory
            && instruction.memory_index() != Register::None
            && instruction.memory_index_scale() >= 4
    };
    before.iter().any(from_table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &[u8]) -> Vec<u64> {
        exits(&[Piece { address: 0x1000, code }])
    }

    #[test]
    fn returns_and_tail_calls_leave() {
        // je +1; ret; nop; jmp -6 (inside); jmp +0x100 (outside)
        let code = [0x74, 0x01, 0xc3, 0x90, 0xeb, 0xfa, 0xe9, 0x00, 0x01, 0x00, 0x00];
        assert_eq!(of(&code), [0x1002, 0x1006]);
        assert_eq!(of(&[0xf3, 0xc3]), [0x1000]); // rep ret
        assert!(of(&[0x90, 0x0f, 0x0b]).is_empty()); // ud2
    }

    #[test]
    fn a_switch_stays() {
        // movsxd rax, [rdx+rax*4]; add rax, rdx; jmp rax
        assert!(of(&[0x48, 0x63, 0x04, 0x82, 0x48, 0x01, 0xd0, 0xff, 0xe0]).is_empty());
        // jmp [rax*8+0x1000]
        assert!(of(&[0xff, 0x24, 0xc5, 0, 0x10, 0, 0]).is_empty());
        // jmp [rax+0x18]: a virtual function
        assert_eq!(of(&[0xff, 0x60, 0x18]), [0x1000]);
        // mov rax, [rdi]; jmp rax
        assert_eq!(of(&[0x48, 0x8b, 0x07, 0xff, 0xe0]), [0x1003]);
    }

    #[test]
    fn the_cold_part_belongs_to_it() {
        let (hot, cold) = ([0xe9, 0xfb, 0x0f, 0, 0], [0xc3]); // jmp 0x2000
        let pieces = [Piece { address: 0x1000, code: &hot }, Piece { address: 0x2000, code: &cold }];
        assert_eq!(exits(&pieces), [0x2000]);
    }
}
