//! One row of an unwind table: how to get from a frame to its caller, for every address from the row's own up to the next
//! row's. It is packed in one 64-bit word, which the BPF programs read as it is (`unwind.h` has the same layout).

/// How the canonical frame address (CFA) of a frame is found. The caller's stack pointer is the CFA, and the return
/// address lies at CFA - 8, unless the rule says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rule {
    /// The file says nothing about these addresses.
    NoTable = 0,
    /// CFA = rsp + 8 * cfa.
    Rsp = 1,
    /// CFA = rbp + 8 * cfa.
    Rbp = 2,
    /// The procedure linkage table: CFA = rsp + 8 + ((rip & 15) >= 11 ? 8 : 0).
    Plt = 3,
    /// The signal trampoline: rsp points to a `ucontext_t`, from which rip, rsp and rbp are restored.
    Signal = 4,
    /// The outermost frame (the return address is undefined): `_start`, the entry of a thread.
    End = 5,
    /// A rule that is not supported; the walk ends here.
    Unsupported = 6,
    /// Realigned stack: CFA = \*(rbp + 8 * cfa), and the caller's rbp lies at \*rbp.
    RbpDeref = 7,
}

impl Rule {
    fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Rsp,
            2 => Self::Rbp,
            3 => Self::Plt,
            4 => Self::Signal,
            5 => Self::End,
            7 => Self::RbpDeref,
            0 => Self::NoTable,
            _ => Self::Unsupported,
        }
    }
}

/// A rule and its operands; what a row says, without its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// How to find the CFA.
    pub rule: Rule,
    /// Offset in the rule, in units of 8 bytes.
    pub cfa: i16,
    /// Where the caller's rbp is: 0 = unchanged in the register, [`Step::RBP_LOST`] = not known, otherwise at CFA + 8 * rbp.
    pub rbp: i8,
}

impl Step {
    /// The value of [`Step::rbp`] for a caller's rbp that cannot be found.
    pub const RBP_LOST: i8 = i8::MIN;

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
    /// The packed row: bits 0..32 pc, 32..48 cfa, 48..56 rbp, 56..64 rule.
    pub fn to_word(self) -> u64 {
        let Step { rule, cfa, rbp } = self.step;
        u64::from(self.pc)
            | u64::from(cfa.cast_unsigned()) << 32
            | u64::from(rbp.cast_unsigned()) << 48
            | u64::from(rule as u8) << 56
    }

    /// Unpacks what [`Row::to_word`] packed.
    pub fn from_word(word: u64) -> Self {
        let [a, b, c, d, cfa_low, cfa_high, rbp, rule] = word.to_le_bytes();
        let step = Step {
            rule: Rule::from_code(rule),
            cfa: i16::from_le_bytes([cfa_low, cfa_high]),
            rbp: i8::from_le_bytes([rbp]),
        };
        Self { pc: u32::from_le_bytes([a, b, c, d]), step }
    }
}
