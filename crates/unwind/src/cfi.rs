//! Runs the call frame programs of a section and writes down the rows that they make.
//!
//! Only three rules matter for walking a stack (CFA, return address, rbp), so this is a small interpreter of its own over
//! gimli's instructions: gimli's full evaluation keeps a rule for every register and is several times slower. What cannot
//! be expressed by a [`Step`] or an [`Extra`] becomes [`Rule::Unsupported`], never a guess; `frames.rs` evaluates that.

use std::collections::HashMap;

use gimli::{
    CallFrameInstruction, CieOrFde, CommonInformationEntry, EndianSlice, LittleEndian, Operation, Register,
    UnwindExpression, UnwindSection, X86_64,
};

use crate::row::{Extra, Row, Rule, Step};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// `DW_CFA_remember_state` deeper than this is no compiler's work.
const MAX_REMEMBERED: usize = 64;
/// `DW_OP_breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus`: the lazy-binding stub of every linker.
const PLT_EXPRESSION: [u8; 11] = [0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
/// As a trampoline's rules name them.
const UCONTEXT_RSP: i64 = dwell_wire::UCONTEXT_RSP as i64;
const UCONTEXT_RIP: i64 = dwell_wire::UCONTEXT_RIP as i64;

#[derive(Clone, Copy, PartialEq)]
enum Cfa {
    Register(Register, i64),
    Plt,
    /// \*(register + offset) + the second number.
    Deref(Register, i64, u64),
    /// \*(register + offset + index * 8) + the second number.
    Indexed(Register, i64, Register, u64),
    Other,
}

/// Where the caller's value of a register is.
#[derive(Clone, Copy, PartialEq)]
enum Saved {
    Same,
    AtCfa(i64),
    /// At register + offset.
    At(Register, i64),
    Undefined,
    Other,
}

#[derive(Clone, Copy)]
struct State {
    cfa: Cfa,
    rbp: Saved,
    ra: Saved,
}

impl State {
    const START: Self = Self { cfa: Cfa::Other, rbp: Saved::Same, ra: Saved::Same };

    fn step(&self, extras: &mut Extras) -> Step {
        match self.ra {
            Saved::Undefined => Step::of(Rule::End),
            Saved::At(X86_64::RSP, UCONTEXT_RIP) if self.cfa == Cfa::Deref(X86_64::RSP, UCONTEXT_RSP, 0) => {
                Step::of(Rule::Signal)
            }
            Saved::AtCfa(-8) => self.ordinary_step(extras).unwrap_or(Step::of(Rule::Unsupported)),
            _ => Step::of(Rule::Unsupported),
        }
    }

    fn ordinary_step(&self, extras: &mut Extras) -> Option<Step> {
        match self.cfa {
            Cfa::Register(X86_64::RSP, offset) if offset % 8 == 0 => {
                Some(Step { rule: Rule::Rsp, cfa: words(offset)?, rbp: self.saved_rbp() })
            }
            Cfa::Register(X86_64::RBP, offset) if offset % 8 == 0 => {
                Some(Step { rule: Rule::Rbp, cfa: words(offset)?, rbp: self.saved_rbp() })
            }
            Cfa::Plt => Some(Step { rule: Rule::Plt, cfa: 0, rbp: self.saved_rbp() }),
            Cfa::Deref(X86_64::RBP, offset, 0) if self.rbp == Saved::At(X86_64::RBP, 0) => {
                Some(Step { rule: Rule::RbpDeref, cfa: words(offset)?, rbp: 0 })
            }
            Cfa::Deref(X86_64::RSP, offset, 8) => {
                Some(Step { rule: Rule::RspDeref, cfa: words(offset)?, rbp: self.saved_rbp() })
            }
            _ => Some(Step { rule: Rule::Extra, cfa: extras.number(self.extra()?)?, rbp: self.saved_rbp() }),
        }
    }

    fn extra(&self) -> Option<Extra> {
        let number = |register: Register| u8::try_from(register.0).ok().filter(|number| *number < 16);
        let of = |register, offset: i64| {
            let (base, offset) = (number(register)?, i32::try_from(offset).ok()?);
            Some(Extra { base, index: None, offset, deref: false, add: 0 })
        };
        match self.cfa {
            Cfa::Register(register, offset) => of(register, offset),
            Cfa::Deref(register, offset, add) => {
                Some(Extra { deref: true, add: i16::try_from(add).ok()?, ..of(register, offset)? })
            }
            Cfa::Indexed(register, offset, index, add) => {
                let (index, add) = (Some((number(index)?, 3)), i16::try_from(add).ok()?);
                Some(Extra { index, deref: true, add, ..of(register, offset)? })
            }
            Cfa::Plt | Cfa::Other => None,
        }
    }

    fn saved_rbp(&self) -> i8 {
        match self.rbp {
            Saved::Same => 0,
            Saved::AtCfa(offset) => match words(offset).map(i8::try_from) {
                Some(Ok(rbp)) if rbp != 0 => rbp,
                _ => Step::RBP_LOST,
            },
            _ => Step::RBP_LOST,
        }
    }
}

/// Bytes in units of 8; none when they are not a multiple of 8 or do not fit the 20 bits of a row.
fn words(bytes: i64) -> Option<i32> {
    let words = i32::try_from(bytes / 8).ok()?;
    (bytes % 8 == 0 && (-0x8_0000..0x8_0000).contains(&words)).then_some(words)
}

/// The extra words of a table, each once.
#[derive(Default)]
pub(crate) struct Extras {
    pub list: Vec<Extra>,
    numbers: HashMap<Extra, i32>,
}

impl Extras {
    /// The number of `extra`; none when there are more than a row can count.
    fn number(&mut self, extra: Extra) -> Option<i32> {
        if let Some(number) = self.numbers.get(&extra) {
            return Some(*number);
        }
        let number = i32::try_from(self.list.len()).ok().filter(|number| *number < 0x8_0000)?;
        self.list.push(extra);
        self.numbers.insert(extra, number);
        Some(number)
    }
}

/// The rows of one function: a run in [`Functions::rows`].
#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub start: u64,
    pub end: u64,
    pub first_row: usize,
    pub row_count: usize,
}

/// Everything that a section describes, in the section's order.
#[derive(Default)]
pub(crate) struct Functions {
    pub functions: Vec<Function>,
    /// Link-time address relative to the table's base.
    pub rows: Vec<Row>,
    pub extras: Extras,
    /// Entries that could not be read or lie outside of the file's code.
    pub skipped: u64,
}

/// The addresses that a table can hold.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    pub base: u64,
    pub end: u64,
}

/// Reads every entry of `section`; an unreadable one ends the section, as its length cannot be trusted.
pub(crate) fn read_section<'a, S>(section: &S, bases: &gimli::BaseAddresses, extent: Extent) -> Functions
where
    S: UnwindSection<Slice<'a>>,
{
    let mut reader = Reader { section, bases, cies: HashMap::new(), remembered: Vec::new() };
    let mut found = Functions::default();
    let mut entries = section.entries(bases);
    loop {
        match entries.next() {
            Ok(Some(CieOrFde::Cie(_))) => {}
            Ok(Some(CieOrFde::Fde(partial))) => reader.read_function(&partial, extent, &mut found),
            Ok(None) => return found,
            Err(_) => {
                found.skipped += 1;
                return found;
            }
        }
    }
}

struct Reader<'a, 's, S: UnwindSection<Slice<'a>>> {
    section: &'s S,
    bases: &'s gimli::BaseAddresses,
    /// By offset: the entry and the state that its own instructions make.
    cies: HashMap<usize, (CommonInformationEntry<Slice<'a>>, State)>,
    remembered: Vec<State>,
}

impl<'a, S: UnwindSection<Slice<'a>>> Reader<'a, '_, S> {
    fn read_function(
        &mut self,
        partial: &gimli::PartialFrameDescriptionEntry<'_, S, Slice<'a>>,
        extent: Extent,
        found: &mut Functions,
    ) {
        let parsed = partial.parse(|_, _, offset| self.cie(offset));
        let Ok(fde) = parsed else {
            found.skipped += 1;
            return;
        };
        let (start, end) = (fde.initial_address(), fde.initial_address().saturating_add(fde.len()));
        if start < extent.base || end > extent.end || start >= end {
            found.skipped += 1;
            return;
        }
        let first_row = found.rows.len();
        let initial = self.cies.get(&fde.cie().offset()).map_or(State::START, |(_, state)| *state);
        let Functions { rows, extras, .. } = found;
        let mut run = Run { rows, extras, first_row, base: extent.base, pc: start, end, state: initial };
        self.run(fde.cie(), fde.instructions(self.section, self.bases), initial, &mut run);
        run.finish();
        found.functions.push(Function { start, end, first_row, row_count: found.rows.len() - first_row });
    }

    fn cie(&mut self, offset: S::Offset) -> gimli::Result<CommonInformationEntry<Slice<'a>>> {
        let key = gimli::UnwindOffset::into(offset);
        if let Some((cie, _)) = self.cies.get(&key) {
            return Ok(cie.clone());
        }
        let cie = self.section.cie_from_offset(self.bases, offset)?;
        let (rows, extras) = (&mut Vec::new(), &mut Extras::default());
        let mut run = Run { rows, extras, first_row: 0, base: 0, pc: 0, end: 0, state: State::START };
        self.run(&cie, cie.instructions(self.section, self.bases), State::START, &mut run);
        let state = run.state;
        self.cies.insert(key, (cie.clone(), state));
        Ok(cie)
    }

    /// Executes instructions until they end, leave the function or cannot be read; the rest of the function is
    /// unsupported in the last case.
    fn run(
        &mut self,
        cie: &CommonInformationEntry<Slice<'a>>,
        mut instructions: gimli::CallFrameInstructionIter<'_, Slice<'a>>,
        initial: State,
        run: &mut Run<'_>,
    ) {
        self.remembered.clear();
        loop {
            let flow = match instructions.next() {
                Ok(Some(CallFrameInstruction::AdvanceLoc { delta })) => {
                    let bytes = cie.code_alignment_factor().checked_mul(u64::from(delta));
                    bytes.and_then(|bytes| run.pc.checked_add(bytes)).map_or(Flow::Broken, |target| run.advance(target))
                }
                Ok(Some(CallFrameInstruction::SetLoc { address })) => run.advance(address),
                Ok(Some(instruction)) => {
                    self.apply(cie, &instruction, initial, run).map_or(Flow::Broken, |()| Flow::On)
                }
                Ok(None) => Flow::Finished,
                Err(_) => Flow::Broken,
            };
            match flow {
                Flow::On => {}
                Flow::Finished => return,
                Flow::Broken => {
                    run.state = State::START;
                    return;
                }
            }
        }
    }

    /// Changes the state; nothing when the instruction makes no sense here.
    fn apply(
        &mut self,
        cie: &CommonInformationEntry<Slice<'a>>,
        instruction: &CallFrameInstruction<usize>,
        initial: State,
        run: &mut Run<'_>,
    ) -> Option<()> {
        use CallFrameInstruction as I;
        let factor = cie.data_alignment_factor();
        let factored = |offset: i64| offset.wrapping_mul(factor);
        let state = &mut run.state;
        match *instruction {
            I::DefCfa { register, offset } => state.cfa = Cfa::Register(register, offset.cast_signed()),
            I::DefCfaSf { register, factored_offset } => state.cfa = Cfa::Register(register, factored(factored_offset)),
            I::DefCfaRegister { register } => match &mut state.cfa {
                Cfa::Register(current, _) => *current = register,
                _ => return None,
            },
            I::DefCfaOffset { offset } => state.set_cfa_offset(offset.cast_signed())?,
            I::DefCfaOffsetSf { factored_offset } => state.set_cfa_offset(factored(factored_offset))?,
            I::DefCfaExpression { expression } => state.cfa = self.cfa_expression(expression),
            I::Undefined { register } => state.set(register, Saved::Undefined),
            I::SameValue { register } => state.set(register, Saved::Same),
            I::Offset { register, factored_offset } => {
                state.set(register, Saved::AtCfa(factored(factored_offset.cast_signed())));
            }
            I::OffsetExtendedSf { register, factored_offset } => {
                state.set(register, Saved::AtCfa(factored(factored_offset)));
            }
            I::Expression { register, expression } => state.set(register, self.saved_expression(expression)),
            I::ValOffset { register, .. }
            | I::ValOffsetSf { register, .. }
            | I::Register { dest_register: register, .. }
            | I::ValExpression { register, .. } => state.set(register, Saved::Other),
            I::Restore { register } => match register {
                X86_64::RBP => state.rbp = initial.rbp,
                X86_64::RA => state.ra = initial.ra,
                _ => {}
            },
            I::RememberState if self.remembered.len() < MAX_REMEMBERED => self.remembered.push(*state),
            I::RestoreState => *state = self.remembered.pop()?,
            I::ArgsSize { .. } | I::Nop => {}
            _ => return None,
        }
        Some(())
    }

    fn operations(&self, expression: UnwindExpression<usize>) -> Option<(Slice<'a>, Vec<Operation<Slice<'a>>>)> {
        let expression = expression.get(self.section).ok()?;
        let mut operations =
            expression.operations(gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 });
        let mut found = Vec::new();
        while let Ok(Some(operation)) = operations.next() {
            found.push(operation);
            if found.len() > 7 {
                break; // longer than any that is recognised by its operations
            }
        }
        Some((expression.0, found))
    }

    fn cfa_expression(&self, expression: UnwindExpression<usize>) -> Cfa {
        let Some((bytes, operations)) = self.operations(expression) else { return Cfa::Other };
        match operations[..] {
            _ if *bytes.slice() == PLT_EXPRESSION => Cfa::Plt,
            [Operation::RegisterOffset { register, offset, .. }] => Cfa::Register(register, offset),
            [
                Operation::RegisterOffset { register, offset, .. },
                Operation::Deref { size: 8, space: false, .. },
                ref rest @ ..,
            ] => match *rest {
                [] => Cfa::Deref(register, offset, 0),
                [Operation::PlusConstant { value }] => Cfa::Deref(register, offset, value),
                _ => Cfa::Other,
            },
            // OpenSSL's Montgomery multiplication
            [
                Operation::RegisterOffset { register, offset, .. },
                Operation::RegisterOffset { register: index, offset: 0, .. },
                Operation::UnsignedConstant { value: 8 },
                Operation::Mul,
                Operation::Plus,
                Operation::Deref { size: 8, space: false, .. },
                Operation::PlusConstant { value },
            ] => Cfa::Indexed(register, offset, index, value),
            _ => Cfa::Other,
        }
    }

    fn saved_expression(&self, expression: UnwindExpression<usize>) -> Saved {
        match self.operations(expression) {
            Some((_, operations)) => match operations[..] {
                [Operation::RegisterOffset { register, offset, .. }] => Saved::At(register, offset),
                _ => Saved::Other,
            },
            None => Saved::Other,
        }
    }
}

impl State {
    fn set(&mut self, register: Register, saved: Saved) {
        match register {
            X86_64::RBP => self.rbp = saved,
            X86_64::RA => self.ra = saved,
            _ => {}
        }
    }

    fn set_cfa_offset(&mut self, offset: i64) -> Option<()> {
        match &mut self.cfa {
            Cfa::Register(_, current) => *current = offset,
            _ => return None,
        }
        Some(())
    }
}

/// What an instruction means for the rest of its program.
enum Flow {
    On,
    Finished,
    /// It cannot be followed: the rest of the function has no rule.
    Broken,
}

/// A function's program while it runs.
struct Run<'r> {
    rows: &'r mut Vec<Row>,
    extras: &'r mut Extras,
    first_row: usize,
    base: u64,
    pc: u64,
    end: u64,
    state: State,
}

impl Run<'_> {
    /// Ends the row at `target`. Instructions for what lies behind the function's end have no meaning.
    fn advance(&mut self, target: u64) -> Flow {
        if target < self.pc {
            return Flow::Broken;
        }
        if target >= self.end {
            return Flow::Finished;
        }
        if target > self.pc {
            self.emit();
            self.pc = target;
        }
        Flow::On
    }

    fn emit(&mut self) {
        let step = self.state.step(self.extras);
        let repeats = self.rows.len() > self.first_row && self.rows.last().is_some_and(|row| row.step == step);
        if let (false, Ok(pc)) = (repeats, u32::try_from(self.pc - self.base)) {
            self.rows.push(Row { pc, step });
        }
    }

    fn finish(&mut self) {
        self.emit();
    }
}
