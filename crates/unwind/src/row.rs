//! One row of an unwind table: how to get from a frame to its caller, for every address from the row's own up to the next
//! row's. It is packed in one 64-bit word, which the BPF programs read as it is (`unwind_tables.h` has the same layout).

pub use dwell_wire::Rule;

/// A rule and its operands; what a row says, without its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// How to find the CFA.
    pub rule: Rule,
    /// Offset in the rule, in units of 8 bytes; at most 20 bits with its sign: frames of up to 4 MB.
    pub cfa: i32,
    /// Where the caller's rbp is: 0 = unchanged in the register, [`Step::RBP_LOST`] = not known, otherwise at CFA + 8 * rbp.
    pub rbp: i8,
}

impl Step {
    /// The value of [`Step::rbp`] for a caller's rbp that cannot be found.
    pub const RBP_LOST: i8 = dwell_wire::UNWIND_RBP_LOST;

    /// A step that needs no operands.
    pub const fn of(rule: Rule) -> Self {
        Self { rule, cfa: 0, rbp: 0 }
    }
}

/// A row: from `pc` on, up to the next row's, `step` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Address relative to the table's base.
    pub pc: u32,
    /// How to get to the caller.
    pub step: Step,
}

impl Row {
    /// The packed row: bits 0..32 pc, 32..52 cfa, 52..60 rbp, 60..64 rule.
    pub fn to_word(self) -> u64 {
        let Step { rule, cfa, rbp } = self.step;
        u64::from(self.pc)
            | u64::from(cfa.cast_unsigned() & 0xf_ffff) << 32
            | u64::from(rbp.cast_unsigned()) << 52
            | u64::from(rule as u8) << 60
    }

    /// Unpacks what [`Row::to_word`] packed.
    pub fn from_word(word: u64) -> Self {
        let cfa = ((word << 12).cast_signed() >> 44) as i32;
        let rbp = ((word << 4).cast_signed() >> 56) as i8;
        let rule = Rule::from_code((word >> 60) as u8).unwrap_or(Rule::Unsupported);
        Self { pc: word as u32, step: Step { rule, cfa, rbp } }
    }
}

/// A way to find the CFA that does not fit a row, as hand-written assembly has it:
/// CFA = base + offset, plus index * 2^shift where there is an index, read from memory there if `deref`, plus `add`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extra {
    /// Number of the base register, as DWARF counts them: 0 = rax, 6 = rbp, 7 = rsp, 15 = r15.
    pub base: u8,
    /// Number of the index register and its shift.
    pub index: Option<(u8, u8)>,
    /// Bytes.
    pub offset: i32,
    /// Whether the sum is the address of the CFA rather than the CFA.
    pub deref: bool,
    /// Bytes, added last.
    pub add: i16,
}

impl Extra {
    /// The packed form: bits 0..4 base, 4..8 index, 8..10 shift, 10 whether there is an index, 11 deref, 16..32 add,
    /// 32..64 offset.
    pub fn to_word(self) -> u64 {
        let (index, shift) = self.index.unwrap_or_default();
        u64::from(self.base & 15)
            | u64::from(index & 15) << 4
            | u64::from(shift & 3) << 8
            | u64::from(self.index.is_some()) << 10
            | u64::from(self.deref) << 11
            | u64::from(self.add.cast_unsigned()) << 16
            | u64::from(self.offset.cast_unsigned()) << 32
    }

    /// Unpacks what [`Extra::to_word`] packed.
    pub fn from_word(word: u64) -> Self {
        Self {
            base: (word & 15) as u8,
            index: (word >> 10 & 1 != 0).then_some(((word >> 4 & 15) as u8, (word >> 8 & 3) as u8)),
            offset: ((word >> 32) as u32).cast_signed(),
            deref: word >> 11 & 1 != 0,
            add: ((word >> 16) as u16).cast_signed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_hold_rows() {
        for (rule, cfa, rbp) in [
            (Rule::Rsp, 1, 0),
            (Rule::Rbp, 2, -2),
            (Rule::RbpDeref, -1, 0),
            (Rule::RspDeref, 0x7_ffff, i8::MAX),
            (Rule::Unsupported, -0x8_0000, Step::RBP_LOST),
        ] {
            let row = Row { pc: u32::MAX, step: Step { rule, cfa, rbp } };
            assert_eq!(Row::from_word(row.to_word()), row);
        }
        assert_eq!(Row::from_word(0).step.rule, Rule::NoTable);
    }

    #[test]
    fn words_hold_extras() {
        for extra in [
            Extra { base: 0, index: None, offset: 8, deref: false, add: 0 },
            Extra { base: 7, index: Some((9, 3)), offset: 8, deref: true, add: 8 },
            Extra { base: 15, index: Some((15, 0)), offset: i32::MIN, deref: true, add: -1 },
        ] {
            assert_eq!(Extra::from_word(extra.to_word()), extra);
        }
    }
}
