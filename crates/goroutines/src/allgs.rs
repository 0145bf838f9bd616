//! The slice that a function appends to, by its machine code.

use std::collections::BTreeSet;

/// Link-time address of the slice, whose three words (pointer, length, capacity) the code at `start` reads or writes relative to
/// the instruction pointer. `None` when there is no such slice.
///
/// Takes every place that looks like a `mov` of 64 bits with such an operand: opcode 8B or 89 behind a REX.W prefix, ModR/M with
/// mod 0 and r/m 5 (Intel SDM, volume 2, table 2-2).
pub fn appended_list(code: &[u8], start: u64) -> Option<u64> {
    let operands: BTreeSet<u64> = code
        .windows(7)
        .enumerate()
        .filter(|(_, bytes)| bytes[0] & 0xf8 == 0x48 && matches!(bytes[1], 0x8b | 0x89) && bytes[2] & 0xc7 == 5)
        .map(|(at, bytes)| {
            let displacement = i32::from_le_bytes([bytes[3], bytes[4], bytes[5], bytes[6]]);
            start.wrapping_add(at as u64 + 7).wrapping_add_signed(i64::from(displacement))
        })
        .collect();
    let is_slice = |address: &u64| [8, 16].iter().all(|word| operands.contains(&address.wrapping_add(*word)));
    operands.iter().copied().find(is_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_three_words_that_code_names() {
        // mov rcx,[rip+0x1000]; mov rdx,[rip+0x1001]; mov [rip+0xff2],r8; nop
        let code = [
            [0x48, 0x8b, 0x0d, 0x00, 0x10, 0, 0],
            [0x48, 0x8b, 0x15, 0x01, 0x10, 0, 0],
            [0x4c, 0x89, 0x05, 0x02, 0x10, 0, 0],
        ];
        let code = code.concat();
        assert_eq!(appended_list(&code, 0x40_0000), Some(0x40_1007));
        assert_eq!(appended_list(&code[..14], 0x40_0000), None);
        assert_eq!(appended_list(&[], 0), None);
    }
}
