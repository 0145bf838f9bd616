//! Repeated string instructions, by their code. Up to QEMU 9.2 each iteration is an execution of a block; QEMU 10 does them all in
//! one, which its recorder takes apart again.

/// How many accesses an iteration of the instruction makes, if it is a repeated string instruction.
pub fn accesses_per_iteration(instruction: &[u8]) -> Option<u32> {
    let prefixes = instruction.iter().take_while(|byte| is_prefix(**byte)).count();
    let (prefixes, code) = instruction.split_at_checked(prefixes)?;
    if !prefixes.iter().any(|byte| matches!(byte, 0xf2 | 0xf3)) {
        return None;
    }
    match code {
        [0xa4..=0xa7] => Some(2),               // movs, cmps
        [0xaa..=0xaf | 0x6c..=0x6f] => Some(1), // stos, lods, scas; ins, outs
        _ => None,
    }
}

/// Legacy prefixes and REX.
fn is_prefix(byte: u8) -> bool {
    matches!(byte, 0xf0 | 0xf2 | 0xf3 | 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0x40..=0x4f)
}

#[cfg(test)]
mod tests {
    use super::accesses_per_iteration;

    #[test]
    fn only_repeated_string_instructions_have_iterations() {
        assert_eq!(accesses_per_iteration(&[0xf3, 0xa4]), Some(2)); // rep movsb
        assert_eq!(accesses_per_iteration(&[0xf3, 0x48, 0xab]), Some(1)); // rep stosq
        assert_eq!(accesses_per_iteration(&[0x67, 0xf2, 0xae]), Some(1)); // repne scasb, 32-bit addresses
        assert_eq!(accesses_per_iteration(&[0xa4]), None); // movsb
        assert_eq!(accesses_per_iteration(&[0xf3, 0xc3]), None); // rep ret
        assert_eq!(accesses_per_iteration(&[0xf3, 0x0f, 0x10, 0x00]), None); // movss
        assert_eq!(accesses_per_iteration(&[0xf3]), None);
        assert_eq!(accesses_per_iteration(&[]), None);
    }
}
