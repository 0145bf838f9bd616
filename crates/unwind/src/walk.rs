//! Walks the stack of a thread that stands still, or a copy of one, in user space.
//!
//! Rules, limits and ends are those of `unwind.h`, step for step; where the caller has the complete call frame information
//! of a file at hand, also what no row can say. Where registers and memory come from is the caller's part; both are
//! hostile, and nothing in them makes a walk longer than [`MAX_FRAMES`].

use std::rc::Rc;

use dwell_model::StackEnd;
use dwell_wire::{INTERPRETED_METHOD, MAX_FRAMES, SIGNAL_TRAMPOLINE, UCONTEXT_RIP, interpreted_frame};

use crate::frames::{CallFrames, Caller};
use crate::row::{Rule, Step};
use crate::thread::{Memory, Registers};

/// Word in `ucontext_t` of each register, as DWARF numbers them.
const UCONTEXT: [u64; 16] = [18, 17, 19, 16, 14, 13, 15, 20, 5, 6, 7, 8, 9, 10, 11, 12];
/// No code lies in the first page.
const LOWEST_CODE: u64 = 4096;

/// What is known of the code that a thread runs.
pub trait Code {
    /// The step for a runtime address, of rule [`Rule::NoTable`] where no table covers it.
    fn step(&mut self, pc: u64) -> Step;

    /// The complete call frame information of the file at a runtime address, where it is at hand, and the link-time
    /// address there.
    fn frames(&mut self, pc: u64) -> Option<(Rc<CallFrames>, u64)>;

    /// Whether it is known what is mapped at a runtime address. Threads begin nowhere else: not in what a JIT compiler wrote.
    fn is_mapped(&self, _pc: u64) -> bool {
        true
    }
}

/// Steps alone.
impl<F: Fn(u64) -> Step> Code for F {
    fn step(&mut self, pc: u64) -> Step {
        self(pc)
    }

    fn frames(&mut self, _: u64) -> Option<(Rc<CallFrames>, u64)> {
        None
    }
}

/// A stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// The instruction pointer, then return addresses; in HotSpot's interpreter methods ([`INTERPRETED_METHOD`]). At least one, at
    /// most [`MAX_FRAMES`].
    pub frames: Vec<u64>,
    /// How it ended.
    pub end: StackEnd,
}

/// Walks from `registers` on.
pub fn walk(registers: Registers, code: &mut impl Code, memory: &mut impl Memory) -> Walk {
    let mut walker = Walker { registers, exact: true, frames: Vec::new(), memory };
    let end = loop {
        if walker.frames.len() >= MAX_FRAMES {
            break StackEnd::TooDeep;
        }
        if let Err(end) = walker.go_to_caller(code) {
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
    fn go_to_caller(&mut self, code: &mut impl Code) -> Result<(), StackEnd> {
        let ip = self.registers.ip;
        self.frames.push(ip);
        // A call that does not return may be a function's last instruction.
        let pc = ip.wrapping_sub(u64::from(!self.exact));
        self.exact = false;
        let step = code.step(pc);
        match step.rule {
            Rule::NoTable => match self.frame_pointer_step() {
                Err(StackEnd::Complete) if !code.is_mapped(pc) => Err(StackEnd::NoTable),
                end => end,
            },
            Rule::Interpreted => self.interpreted_step(),
            Rule::Signal => self.signal_step(),
            Rule::End => Err(StackEnd::Complete),
            Rule::StackSwitch => self.row_step(step),
            _ => match code.frames(pc) {
                Some((frames, address)) => self.complete_step(&frames, address, step),
                None => self.row_step(step),
            },
        }
    }

    /// By complete call frame information, or by the row, which may come from elsewhere.
    fn complete_step(&mut self, frames: &CallFrames, address: u64, step: Step) -> Result<(), StackEnd> {
        let Caller { registers, exact } = match frames.caller(address, &self.registers, self.memory) {
            Err(StackEnd::NoTable) => return self.row_step(step),
            caller => caller?,
        };
        let ordinary = matches!(step.rule, Rule::Rsp | Rule::Rbp | Rule::Plt | Rule::RspDeref | Rule::RbpDeref);
        if ordinary && registers.sp() <= self.registers.sp() {
            return Err(StackEnd::BadRule);
        }
        if registers.ip == 0 {
            return Err(StackEnd::Complete);
        }
        self.registers = registers;
        self.exact = exact;
        Ok(())
    }

    fn row_step(&mut self, step: Step) -> Result<(), StackEnd> {
        let (ip, sp, bp) = (self.registers.ip, self.registers.sp(), self.registers.bp());
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
            Rule::RspDeref => self.read(sp.wrapping_add_signed(offset))?.wrapping_add(8),
            Rule::StackSwitch => bp.wrapping_add(16),
            _ => return Err(StackEnd::BadRule),
        };
        if cfa <= sp && step.rule != Rule::StackSwitch {
            return Err(StackEnd::BadRule); // a register that the walk needs was lost
        }
        match step.rbp {
            0 => {}
            Step::RBP_LOST => caller_bp = 0,
            rbp => caller_bp = self.read(cfa.wrapping_add_signed(i64::from(rbp) * 8))?,
        }
        let caller_ip = self.read(cfa.wrapping_sub(8))?;
        if caller_ip == 0 {
            return Err(StackEnd::Complete);
        }
        self.registers = Registers::of(caller_ip, cfa, caller_bp);
        Ok(())
    }

    fn signal_step(&mut self) -> Result<(), StackEnd> {
        let context = self.registers.sp();
        let ip = self.read(context.wrapping_add(UCONTEXT_RIP))?;
        let mut all = [None; 16];
        for (register, slot) in all.iter_mut().zip(UCONTEXT) {
            *register = Some(self.read(context.wrapping_add(slot * 8))?);
        }
        self.registers = Registers { ip, all };
        self.exact = true;
        Ok(())
    }

    /// By the frame pointer, where there is no table. A zero in rbp marks the outermost frame.
    fn frame_pointer_step(&mut self) -> Result<(), StackEnd> {
        let (ip, sp, frame) = (self.registers.ip, self.registers.sp(), self.registers.bp());
        if self.memory.word(ip) == Some(SIGNAL_TRAMPOLINE) {
            return self.signal_step();
        }
        if frame == 0 {
            return Err(if self.frames.len() > 1 { StackEnd::Complete } else { StackEnd::NoTable });
        }
        if frame < sp || frame & 7 != 0 {
            return Err(StackEnd::NoTable);
        }
        let caller_bp = self.memory.word(frame).ok_or(StackEnd::NoTable)?;
        let caller_ip = self.memory.word(frame.wrapping_add(8)).ok_or(StackEnd::NoTable)?;
        match caller_ip {
            0 => Err(StackEnd::Complete),
            1..LOWEST_CODE => Err(StackEnd::NoTable),
            _ => {
                self.registers = Registers::of(caller_ip, frame.wrapping_add(16), caller_bp);
                Ok(())
            }
        }
    }

    /// Through HotSpot's interpreter; what has no frame of its form there, such as a call from native code, by the frame pointer.
    fn interpreted_step(&mut self) -> Result<(), StackEnd> {
        let frame = self.registers.bp();
        self.frame_pointer_step()?;
        let (ip, sp, bp) = (self.registers.ip, self.registers.sp(), self.registers.bp());
        let caller_sp = self.memory.word(frame.wrapping_sub(8)).filter(|&found| found >= sp && found & 7 == 0);
        let Some(caller_sp) = caller_sp.filter(|_| sp == frame.wrapping_add(16)) else { return Ok(()) };
        self.registers = Registers::of(ip, caller_sp, bp);
        let method = self.memory.word(frame.wrapping_sub(24)).filter(|method| method & 7 == 0);
        let method = method.filter(|method| (LOWEST_CODE..INTERPRETED_METHOD).contains(method));
        // The frame of a method that runs does not tell which bytecode it is at, that of one that called does.
        let bytecode = self.memory.word(frame.wrapping_sub(64));
        let bytecode = bytecode.filter(|address| *address >= LOWEST_CODE && self.frames.len() > 1);
        if let (Some(method), Some(last)) = (method, self.frames.last_mut()) {
            *last = interpreted_frame(method, bytecode);
        }
        Ok(())
    }

    fn read(&mut self, address: u64) -> Result<u64, StackEnd> {
        self.memory.word(address).ok_or(StackEnd::Unreadable)
    }
}

#[cfg(test)]
mod tests {
    use dwell_wire::{BYTECODE_SHIFT, KNOWS_BYTECODE, interpreted_method};

    use super::*;
    use crate::thread::RSP;

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

    fn start() -> Registers {
        Registers::of(0x1_0000, 0x7000, 0x7010)
    }

    #[test]
    fn interpreted_frames_tell_their_callers_stack_pointer() {
        let interpreted = |_| Step::of(Rule::Interpreted);
        let from = || Registers::of(0x1_0000, 0x7000, 0x7010);
        let is_read = |caller_sp| {
            // Behind the argument lies the caller, whose frame pointer is for other use.
            let mut stack = stack(&[0, caller_sp, 0x7030, 0x2_0000, 9, 0, 0, 0]);
            let mut walker = Walker { registers: from(), exact: true, frames: Vec::new(), memory: &mut stack };
            walker.go_to_caller(&mut { interpreted }).expect("a caller");
            (walker.registers.ip, walker.registers.sp())
        };
        assert_eq!(is_read(0x7028), (0x2_0000, 0x7028));
        assert_eq!(is_read(0x7008), (0x2_0000, 0x7020), "a stack pointer within the frame is none");
        assert_eq!(is_read(0x7029), (0x2_0000, 0x7020), "nor is one between words");
    }

    #[test]
    fn interpreted_frames_that_called_tell_their_bytecode() {
        let frame_of = |depth: usize, bytecode| {
            let mut stack = stack(&[bytecode, 0, 0, 0, 0, 0x7f00_1238, 0, 0x7050, 0x7060, 0x2_0000, 0, 0, 0]);
            let registers = Registers::of(0x1_0000, 0x7000, 0x7040);
            let mut walker = Walker { registers, exact: true, frames: vec![0x3_0000; depth], memory: &mut stack };
            walker.go_to_caller(&mut (|_| Step::of(Rule::Interpreted))).expect("a caller");
            *walker.frames.last().expect("a frame")
        };
        let bits = KNOWS_BYTECODE | 0x1abc << BYTECODE_SHIFT;
        assert_eq!(frame_of(1, 0x7f55_9abc), INTERPRETED_METHOD | 0x7f00_1238 | bits);
        assert_eq!(interpreted_method(frame_of(1, 0x7f55_9abc)), (0x7f00_1238, Some(0x1abc)));
        assert_eq!(interpreted_method(frame_of(0, 0x7f55_9abc)), (0x7f00_1238, None), "it runs");
        assert_eq!(interpreted_method(frame_of(1, 0)), (0x7f00_1238, None), "a native method");
    }

    #[test]
    fn interpreted_frames_tell_their_methods() {
        let frame_of = |method, caller_sp| {
            let mut stack = stack(&[method, 0, caller_sp, 0x7030, 0x2_0000, 0, 0, 0]);
            let registers = Registers::of(0x1_0000, 0x7000, 0x7018);
            let mut walker = Walker { registers, exact: true, frames: Vec::new(), memory: &mut stack };
            walker.go_to_caller(&mut (|_| Step::of(Rule::Interpreted))).expect("a caller");
            walker.frames[0]
        };
        assert_eq!(frame_of(0x7f00_1238, 0x7028), INTERPRETED_METHOD | 0x7f00_1238);
        assert_eq!(frame_of(0x7f00_1238, 0x7018), 0x1_0000, "a frame of another form has none");
        for method in [0, 8, 0x7f00_1234, INTERPRETED_METHOD, u64::MAX - 7] {
            assert_eq!(frame_of(method, 0x7028), 0x1_0000, "{method:#x}");
        }
    }

    #[test]
    fn rows_lead_from_frame_to_frame() {
        let step_at = |pc| match pc {
            0x1_0000 => Step { rule: Rule::Rsp, cfa: 3, rbp: -2 }, // where it stands: exact
            0x1_ffff => Step { rule: Rule::Rbp, cfa: 1, rbp: 0 },  // a return address, by the call before it
            0x2_ffff => Step::of(Rule::End),
            _ => Step::of(Rule::Unsupported),
        };
        let walked = walk(start(), &mut { step_at }, &mut stack(&[0, 0x7020, 0x2_0000, 0x1234, 0x3_0000]));
        // frame 2's CFA is its rbp + 8 = 0x7028, so that its return address lies at 0x7020
        assert_eq!(walked, Walk { frames: vec![0x1_0000, 0x2_0000, 0x3_0000], end: StackEnd::Complete });
    }

    #[test]
    fn frame_pointers_stand_in_for_tables() {
        let walked =
            walk(start(), &mut (|_| Step::of(Rule::NoTable)), &mut stack(&[0, 0, 0x7020, 0x2_0000, 0, 0x3_0000]));
        assert_eq!(walked, Walk { frames: vec![0x1_0000, 0x2_0000, 0x3_0000], end: StackEnd::Complete });
    }

    /// Nothing is known of its code.
    struct Unmapped;

    impl Code for Unmapped {
        fn step(&mut self, _: u64) -> Step {
            Step::of(Rule::NoTable)
        }

        fn frames(&mut self, _: u64) -> Option<(Rc<CallFrames>, u64)> {
            None
        }

        fn is_mapped(&self, _: u64) -> bool {
            false
        }
    }

    #[test]
    fn no_thread_begins_in_unmapped_code() {
        let timespec = [0, 0, 0, 500_000_000];
        let walked = walk(Registers::of(0x1_0000, 0x7000, 0x7010), &mut Unmapped, &mut stack(&timespec));
        assert_eq!(walked, Walk { frames: vec![0x1_0000, 500_000_000], end: StackEnd::NoTable });
    }

    #[test]
    fn signal_frames_lead_to_what_was_interrupted() {
        let mut words = vec![0; 24];
        words[(UCONTEXT_RIP / 8) as usize] = 0x5_0000;
        words[UCONTEXT[RSP] as usize] = 0x70a0;
        let step_at = |pc| Step::of(if pc == 0x5_0000 { Rule::End } else { Rule::Signal });
        let walked = walk(start(), &mut { step_at }, &mut stack(&words));
        assert_eq!(walked, Walk { frames: vec![0x1_0000, 0x5_0000], end: StackEnd::Complete });
    }

    #[test]
    fn walks_end_where_memory_or_rules_do() {
        let with = |rule, cfa| walk(start(), &mut (|_| Step { rule, cfa, rbp: 0 }), &mut stack(&[])).end;
        assert_eq!(with(Rule::Rsp, 2), StackEnd::Unreadable);
        assert_eq!(with(Rule::Rsp, -2), StackEnd::BadRule);
        assert_eq!(with(Rule::RbpDeref, 1), StackEnd::Unreadable);
        assert_eq!(with(Rule::Unsupported, 0), StackEnd::BadRule);
        assert_eq!(with(Rule::NoTable, 0), StackEnd::NoTable);
    }

    #[test]
    fn endless_stacks_are_cut() {
        let walked = walk(start(), &mut (|_| Step { rule: Rule::Rsp, cfa: 1, rbp: 0 }), &mut stack(&[0x2_0000; 500]));
        assert_eq!((walked.frames.len(), walked.end), (MAX_FRAMES, StackEnd::TooDeep));
    }
}
