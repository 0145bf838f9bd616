//! The complete call frame information of a file, for the steps that no compact row can say.
//!
//! A row follows rsp and rbp only. Here every register is followed from frame to frame and every DWARF expression is
//! evaluated, at a thousand times the price: it serves the few stacks that a walk by rows does not get through.
//! (framehop, the usual library for this, follows the same three registers as a row does on x86-64.)

use std::fs::File;

use dwell_files::BoundedFile;
use dwell_model::StackEnd;
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DebugFrame, EhFrame, EndianSlice, EvaluationResult, LittleEndian, Location,
    Register, RegisterRule, UnwindContext, UnwindExpression, UnwindSection, UnwindTableRow, Value, X86_64,
};
use object::ReadRef;

use crate::elf::{Elf, MOST_BYTES};
use crate::error::Result;
use crate::thread::{Memory, Registers};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Steps of one expression; those of compilers and assemblers have ten.
const MAX_OPERATIONS: u32 = 200;
/// Bytes of instructions for one function, and of those that all functions of a unit begin with; those of the largest have a
/// few thousand.
const MAX_INSTRUCTION_BYTES: usize = 1 << 16;
/// What a called function has to keep: rbx, rbp, r12 to r15.
const KEPT_BY_CALLS: [usize; 6] = [3, 6, 12, 13, 14, 15];

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    end: u64,
    offset: usize,
}

/// The call frame information of one file, with an index of its functions.
#[derive(Debug)]
pub struct CallFrames {
    bytes: Vec<u8>,
    bases: BaseAddresses,
    debug: bool,
    build_id: Vec<u8>,
    entries: Vec<Entry>,
}

impl CallFrames {
    /// Reads the ELF file.
    pub fn of_open_file(file: File) -> Result<Self> {
        Self::of_data(&BoundedFile::new(file, MOST_BYTES))
    }

    /// Reads an ELF image in memory.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self> {
        Self::of_data(bytes)
    }

    fn of_data<'data, R: ReadRef<'data>>(data: R) -> Result<Self> {
        let elf = Elf::parse(data)?;
        let section = elf.frame_section()?;
        let bases = BaseAddresses::default().set_eh_frame(section.vaddr).set_text(section.text).set_got(section.got);
        let (bytes, debug) = (section.bytes.to_vec(), section.debug);
        let mut frames = Self { bytes, bases, debug, build_id: elf.build_id(), entries: Vec::new() };
        frames.entries = if debug {
            entries(&frames.debug_frame(), &frames.bases)
        } else {
            entries(&frames.eh_frame(), &frames.bases)
        };
        frames.entries.sort_by_key(|entry| entry.start);
        Ok(frames)
    }

    /// The file's GNU build-id; empty when it has none.
    pub fn build_id(&self) -> &[u8] {
        &self.build_id
    }

    fn eh_frame(&self) -> EhFrame<Slice<'_>> {
        let mut section = EhFrame::new(&self.bytes, LittleEndian);
        section.set_address_size(8);
        section
    }

    fn debug_frame(&self) -> DebugFrame<Slice<'_>> {
        let mut section = DebugFrame::new(&self.bytes, LittleEndian);
        section.set_address_size(8);
        section
    }

    /// The caller's registers, and whether its instruction pointer is exact, for a frame that stands at link-time
    /// address `pc`.
    pub fn caller(
        &self,
        pc: u64,
        registers: &Registers,
        memory: &mut impl Memory,
    ) -> std::result::Result<Caller, StackEnd> {
        let at = self.entries.partition_point(|entry| entry.start <= pc);
        let entry = at.checked_sub(1).and_then(|last| self.entries.get(last)).filter(|entry| pc < entry.end);
        let entry = *entry.ok_or(StackEnd::NoTable)?;
        if self.debug {
            self.caller_by(&self.debug_frame(), entry, &mut Frame { pc, registers, memory })
        } else {
            self.caller_by(&self.eh_frame(), entry, &mut Frame { pc, registers, memory })
        }
    }

    fn caller_by<'a, S: UnwindSection<Slice<'a>>>(
        &self,
        section: &S,
        entry: Entry,
        frame: &mut Frame<'_, impl Memory>,
    ) -> std::result::Result<Caller, StackEnd> {
        let broken = |_: gimli::Error| StackEnd::BadRule;
        let cie = |section: &S, bases: &BaseAddresses, offset| section.cie_from_offset(bases, offset);
        let fde = section.fde_from_offset(&self.bases, entry.offset.into(), cie).map_err(broken)?;
        if fde.entry_len().max(fde.cie().entry_len()) > MAX_INSTRUCTION_BYTES {
            return Err(StackEnd::BadRule);
        }
        let mut context = UnwindContext::new();
        let row = fde.unwind_info_for_address(section, &self.bases, &mut context, frame.pc).map_err(broken)?;
        frame.caller(section, row, fde.is_signal_trampoline())
    }
}

/// Where a frame was called from.
#[derive(Debug)]
pub struct Caller {
    /// Its registers.
    pub registers: Registers,
    /// It was interrupted by a signal, and stands where its instruction pointer says.
    pub exact: bool,
}

fn entries<'a, S: UnwindSection<Slice<'a>>>(section: &S, bases: &BaseAddresses) -> Vec<Entry> {
    let mut found = Vec::new();
    let mut entries = section.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(fde) = partial.parse(|section, bases, offset| section.cie_from_offset(bases, offset)) else { continue };
        let (start, end) = (fde.initial_address(), fde.initial_address().saturating_add(fde.len()));
        found.push(Entry { start, end, offset: fde.offset() });
    }
    found
}

struct Frame<'f, M> {
    pc: u64,
    registers: &'f Registers,
    memory: &'f mut M,
}

impl<M: Memory> Frame<'_, M> {
    fn caller<'a, S: UnwindSection<Slice<'a>>>(
        &mut self,
        section: &S,
        row: &UnwindTableRow<usize>,
        signal: bool,
    ) -> std::result::Result<Caller, StackEnd> {
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                self.registers.get(*register).map(|value| value.wrapping_add_signed(*offset))
            }
            CfaRule::Expression(expression) => self.evaluate(section, *expression, None),
        };
        let cfa = cfa.ok_or(StackEnd::BadRule)?;
        if matches!(row.register(X86_64::RA), Some(RegisterRule::Undefined)) {
            return Err(StackEnd::Complete);
        }
        let mut registers = Registers { ip: 0, all: [None; 16] };
        for number in 0..16_u16 {
            let place = usize::from(number);
            registers.all[place] = match row.register(Register(number)) {
                None | Some(RegisterRule::SameValue) if number == X86_64::RSP.0 => Some(cfa),
                None if signal || KEPT_BY_CALLS.contains(&place) => self.registers.all[place],
                None => None,
                Some(rule) => self.restore(section, &rule, Register(number), cfa),
            };
        }
        let ip = row.register(X86_64::RA).and_then(|rule| self.restore(section, &rule, X86_64::RA, cfa));
        registers.ip = ip.ok_or(StackEnd::Unreadable)?;
        Ok(Caller { registers, exact: signal })
    }

    fn restore<'a, S: UnwindSection<Slice<'a>>>(
        &mut self,
        section: &S,
        rule: &RegisterRule<usize>,
        register: Register,
        cfa: u64,
    ) -> Option<u64> {
        match rule {
            RegisterRule::SameValue => self.registers.get(register),
            RegisterRule::Offset(offset) => self.memory.word(cfa.wrapping_add_signed(*offset)),
            RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(*offset)),
            RegisterRule::Register(other) => self.registers.get(*other),
            RegisterRule::Expression(expression) => {
                let address = self.evaluate(section, *expression, Some(cfa))?;
                self.memory.word(address)
            }
            RegisterRule::ValExpression(expression) => self.evaluate(section, *expression, Some(cfa)),
            _ => None,
        }
    }

    fn evaluate<'a, S: UnwindSection<Slice<'a>>>(
        &mut self,
        section: &S,
        expression: UnwindExpression<usize>,
        initial: Option<u64>,
    ) -> Option<u64> {
        let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
        let mut evaluation = expression.get(section).ok()?.evaluation(encoding);
        evaluation.set_max_iterations(MAX_OPERATIONS);
        if let Some(value) = initial {
            evaluation.set_initial_value(value);
        }
        let mut state = evaluation.evaluate().ok()?;
        loop {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    evaluation.resume_with_register(Value::Generic(self.registers.get(register)?)).ok()?
                }
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let unused = 64_u32.checked_sub(8 * u32::from(size)).filter(|bits| *bits < 64)?;
                    let value = self.memory.word(address)? << unused >> unused;
                    evaluation.resume_with_memory(Value::Generic(value)).ok()?
                }
                _ => return None,
            };
        }
        match evaluation.result().first()?.location {
            Location::Address { address } => Some(address),
            _ => None,
        }
    }
}
