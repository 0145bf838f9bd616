//! Walks the stack of a thread that stands still, in user space: what `unwind.h` does for the current thread.
//!
//! Rules, limits and ends are those of `unwind.h`, step for step. Where registers and memory come from is the caller's
//! part; both are hostile, and nothing in them makes a walk longer than [`MAX_FRAMES`].

use crate::row::{Rule, Step};

/// Most frames of a walk: `DWELL_MAX_FRAMES`.
pub const MAX_FRAMES: usize = 127;
/// Offsets in `ucontext_t` of the interrupted registers.
const UCONTEXT_RBP: u64 = 120;
const UCONTEXT_RSP: u64 = 160;
const UCONTEXT_RIP: u64 = 168;
/// `mov $15,%rax; syscall`, its first 8 bytes: a signal trampoline that has no table.
const TRAMPOLINE: u64 = 0x0f00_0000_0fc0_c748;
/// No code lies in the first page.
const LOWEST_CODE: u64 = 4096;

/// How a walk ended, with the numbers of a trace's stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum End {
    /// At the outermost frame.
    Complete = 1,
    /// In code without a table or frame pointers.
    NoTable = 2,
    /// At memory that could not be read.
    Unreadable = 3,
    /// At [`MAX_FRAMES`].
    TooDeep = 4,
    /// At a rule that is not supported.
    BadRule = 5,
}

/// The user registers that a walk needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// Instruction pointer.
    pub ip: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer, where code uses one.
    pub bp: u64,
}

/// The memory of the thread.
pub trait Memory {
    /// The 64-bit word at `address`, which need not be aligned; none when it cannot be read.
    fn word(&mut self, address: u64) -> Option<u64>;
}

/// A stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// The instruction pointer, then return addresses; at least one, at most [`MAX_FRAMES`].
    pub frames: Vec<u64>,
    /// How it ended.
    pub end: End,
}

/// Walks from `registers` on. `step_at` gives the step for a runtime address, of rule [`Rule::NoTable`] where no table
/// covers it.
pub fn walk(registers: Registers, step_at: impl Fn(u64) -> Step, memory: &mut impl Memory) -> Walk {
    let mut walker = Walker { registers, exact: true, frames: Vec::new(), memory };
    let end = loop {
        if walker.frames.len() >= MAX_FRAMES {
            break End::TooDeep;
        }
        if let Err(end) = walker.go_to_caller(&step_at) {
            break end;
        }
    };
    Walk { frames: walker.frames, end }
}

struct Walker<'m, M> {
    registers: Registers,
    /// The instruction pointer is where the thread stands, not the address after a call.
    exact: bool,
    frames: Vec<u64>,
    memory: &'m mut M,
}

impl<M: Memory> Walker<'_, M> {
    /// Notes the frame and goes to its caller.
    fn go_to_caller(&mut self, step_at: impl Fn(u64) -> Step) -> Result<(), End> {
        let ip = self.registers.ip;
        self.frames.push(ip);
        // A call that does not return may be a function's last instruction.
        let pc = ip.wrapping_sub(u64::from(!self.exact));
        self.exact = false;
        let step = step_at(pc);
        match step.rule {
            Rule::NoTable => self.frame_pointer_step(),
            Rule::Signal => self.signal_step(),
            Rule::End => Err(End::Complete),
            Rule::Unsupported => Err(End::BadRule),
            Rule::Rsp | Rule::Rbp | Rule::Plt | Rule::RbpDeref | Rule::RspDeref => self.row_step(step),
        }
    }

    fn row_step(&mut self, step: Step) -> Result<(), End> {
        let Registers { ip, sp, bp } = self.registers;
        let offset = i64::from(step.cfa).wrapping_mul(8);
        let mut caller_bp = bp;
        let cfa = match step.rule {
            Rule::Rsp => sp.wrapping_add_signed(offset),
            Rule::Rbp => bp.wrapping_add_signed(offset),
            Rule::Plt => sp.wrapping_add(if ip & 15 >= 11 { 16 } else { 8 }),
            Rule::RbpDeref => {
                caller_bp = self.read(bp)?;
                self.read(bp.wrapping_add_signed(offset))?
            }
            _ => self.read(sp.wrapping_add_signed(offset))?.wrapping_add(8),
        };
        if cfa <= sp {
            return Err(End::Unreadable); // a register that the walk needs was lost
        }
        match step.rbp {
            0 => {}
            Step::RBP_LOST => caller_bp = 0,
            rbp => caller_bp = self.read(cfa.wrapping_add_signed(i64::from(rbp) * 8))?,
        }
        let caller_ip = self.read(cfa.wrapping_sub(8))?;
        if caller_ip == 0 {
            return Err(End::Complete);
        }
        self.registers = Registers { ip: caller_ip, sp: cfa, bp: caller_bp };
        Ok(())
    }

    fn signal_step(&mut self) -> Result<(), End> {
        let context = self.registers.sp;
        self.registers = Registers {
            bp: self.read(context.wrapping_add(UCONTEXT_RBP))?,
            sp: self.read(context.wrapping_add(UCONTEXT_RSP))?,
            ip: self.read(context.wrapping_add(UCONTEXT_RIP))?,
        };
        self.exact = true;
        Ok(())
    }

    /// By the frame pointer, where there is no table. A zero in rbp marks the outermost frame.
    fn frame_pointer_step(&mut self) -> Result<(), End> {
        let Registers { ip, sp, bp: frame } = self.registers;
        if self.memory.word(ip) == Some(TRAMPOLINE) {
            return self.signal_step();
        }
        if frame == 0 {
            return Err(if self.frames.len() > 1 { End::Complete } else { End::NoTable });
        }
        if frame < sp || frame & 7 != 0 {
            return Err(End::NoTable);
        }
        let caller_bp = self.memory.word(frame).ok_or(End::NoTable)?;
        let caller_ip = self.memory.word(frame.wrapping_add(8)).ok_or(End::NoTable)?;
        match caller_ip {
            0 => Err(End::Complete),
            1..LOWEST_CODE => Err(End::NoTable),
            _ => {
                self.registers = Registers { ip: caller_ip, sp: frame.wrapping_add(16), bp: caller_bp };
                Ok(())
            }
        }
    }

    fn read(&mut self, address: u64) -> Result<u64, End> {
        self.memory.word(address).ok_or(End::Unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words from `start` on.
    struct Words {
        start: u64,
        words: Vec<u64>,
    }

    impl Memory for Words {
        fn word(&mut self, address: u64) -> Option<u64> {
            let at = address.checked_sub(self.start)?;
            self.words.get(usize::try_from(at / 8).ok()?).copied().filter(|_| at % 8 == 0)
        }
    }

    fn stack(words: &[u64]) -> Words {
        Words { start: 0x7000, words: words.to_vec() }
    }

    const START: Registers = Registers { ip: 0x1_0000, sp: 0x7000, bp: 0x7010 };

    #[test]
    fn rows_lead_from_frame_to_frame() {
        let step_at = |pc| match pc {
            0x1_0000 => Step { rule: Rule::Rsp, cfa: 3, rbp: -2 }, // where it stands: exact
            0x1_ffff => Step { rule: Rule::Rbp, cfa: 1, rbp: 0 },  // a return address, by the call before it
            0x2_ffff => Step::of(Rule::End),
            _ => Step::of(Rule::Unsupported),
        };
        let walked = walk(START, step_at, &mut stack(&[0, 0x7020, 0x2_0000, 0x1234, 0x3_0000]));
        // frame 2's CFA is its rbp + 8 = 0x7028, so that its return address lies at 0x7020
        assert_eq!(walked, Walk { frames: vec![0x1_0000, 0x2_0000, 0x3_0000], end: End::Complete });
    }

    #[test]
    fn frame_pointers_stand_in_for_tables() {
        let walked = walk(START, |_| Step::of(Rule::NoTable), &mut stack(&[0, 0, 0x7020, 0x2_0000, 0, 0x3_0000]));
        assert_eq!(walked, Walk { frames: vec![0x1_0000, 0x2_0000, 0x3_0000], end: End::Complete });
    }

    #[test]
    fn signal_frames_lead_to_what_was_interrupted() {
        let mut words = vec![0; 24];
        words[(UCONTEXT_RIP / 8) as usize] = 0x5_0000;
        words[(UCONTEXT_RSP / 8) as usize] = 0x70a0;
        let step_at = |pc| Step::of(if pc == 0x5_0000 { Rule::End } else { Rule::Signal });
        let walked = walk(START, step_at, &mut stack(&words));
        assert_eq!(walked, Walk { frames: vec![0x1_0000, 0x5_0000], end: End::Complete });
    }

    #[test]
    fn walks_end_where_memory_or_rules_do() {
        let with = |rule, cfa| walk(START, |_| Step { rule, cfa, rbp: 0 }, &mut stack(&[])).end;
        assert_eq!(with(Rule::Rsp, 2), End::Unreadable);
        assert_eq!(with(Rule::Rsp, -2), End::Unreadable);
        assert_eq!(with(Rule::RbpDeref, 1), End::Unreadable);
        assert_eq!(with(Rule::Unsupported, 0), End::BadRule);
        assert_eq!(with(Rule::NoTable, 0), End::NoTable);
    }

    #[test]
    fn endless_stacks_are_cut() {
        let walked = walk(START, |_| Step { rule: Rule::Rsp, cfa: 1, rbp: 0 }, &mut stack(&[0x2_0000; 500]));
        assert_eq!((walked.frames.len(), walked.end), (MAX_FRAMES, End::TooDeep));
    }
}
