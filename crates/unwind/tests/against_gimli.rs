//! Every row of real files' tables against gimli's own, complete evaluation of the same call frame information.
//! `DWELL_UNWIND_FILES` names more files to compare, separated by colons.

#![allow(clippy::unwrap_used)] // in tests

use std::path::{Path, PathBuf};

use dwell_unwind::{Extra, Rule, Step, UnwindTable};
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EndianSlice, EvaluationResult, LittleEndian, Location, Register,
    RegisterRule, UnwindContext, UnwindExpression, UnwindSection as _, UnwindTableRow, Value, X86_64,
};
use object::{Object as _, ObjectSection as _, ObjectSegment as _};

type Section<'a> = EhFrame<EndianSlice<'a, LittleEndian>>;
const RSP: u64 = 0x7f00_0000_1000;
const RBP: u64 = 0x7f00_0000_2348;

/// Memory whose every word has a value of its own.
fn memory(address: u64) -> u64 {
    address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16
}

/// A caller's stack pointer, the place (or value) of its program counter and its rbp; none = not known.
#[derive(Debug, PartialEq)]
enum Caller {
    Outermost,
    At { sp: u64, ip: u64, bp: Option<u64> },
    Unknown,
}

fn by_extra(extra: Extra) -> u64 {
    let register = |number: u8| register_value(Register(number.into()), 0).unwrap();
    let index = extra.index.map_or(0, |(index, shift)| register(index) << shift);
    let sum = register(extra.base).wrapping_add(index).wrapping_add_signed(extra.offset.into());
    (if extra.deref { memory(sum) } else { sum }).wrapping_add_signed(extra.add.into())
}

fn by_table(table: &UnwindTable, step: Step, pc: u64) -> Caller {
    let offset = i64::from(step.cfa) * 8;
    let cfa = match step.rule {
        Rule::End => return Caller::Outermost,
        Rule::Rsp => RSP.wrapping_add_signed(offset),
        Rule::Rbp => RBP.wrapping_add_signed(offset),
        Rule::Plt => RSP + 8 + if pc & 15 >= 11 { 8 } else { 0 },
        Rule::RspDeref => memory(RSP.wrapping_add_signed(offset)).wrapping_add(8),
        Rule::RbpDeref => memory(RBP.wrapping_add_signed(offset)),
        Rule::Extra => by_extra(table.extra(step).unwrap()),

        Rule::Signal => {
            return Caller::At { sp: memory(RSP + 160), ip: memory(RSP + 168), bp: Some(memory(RSP + 120)) };
        }
        Rule::NoTable | Rule::Unsupported | Rule::StackSwitch | Rule::Interpreted => return Caller::Unknown,
    };
    let bp = match step.rbp {
        0 if step.rule == Rule::RbpDeref => Some(memory(RBP)),
        0 => Some(RBP),
        Step::RBP_LOST => None,
        rbp => Some(memory(cfa.wrapping_add_signed(i64::from(rbp) * 8))),
    };
    Caller::At { sp: cfa, ip: memory(cfa.wrapping_sub(8)), bp }
}

fn evaluate(section: &Section<'_>, expression: UnwindExpression<usize>, pc: u64) -> Option<u64> {
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
    let mut evaluation = expression.get(section).ok()?.evaluation(encoding);
    let mut result = evaluation.evaluate().ok()?;
    loop {
        result = match result {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register, .. } => {
                evaluation.resume_with_register(Value::Generic(register_value(register, pc)?)).ok()?
            }
            EvaluationResult::RequiresMemory { address, .. } => {
                evaluation.resume_with_memory(Value::Generic(memory(address))).ok()?
            }
            _ => return None,
        };
    }
    match evaluation.result().first()?.location {
        Location::Address { address } => Some(address),
        _ => None,
    }
}

fn register_value(register: Register, pc: u64) -> Option<u64> {
    match register {
        X86_64::RSP => Some(RSP),
        X86_64::RBP => Some(RBP),
        X86_64::RA => Some(pc),
        Register(number) => (number < 16).then_some(0x7f00_1000_0000 + 0x1238 * u64::from(number)),
    }
}

fn by_gimli(section: &Section<'_>, row: &UnwindTableRow<usize>, pc: u64) -> Caller {
    let known = || {
        let cfa = match *row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => register_value(register, 0)?.wrapping_add_signed(offset),
            CfaRule::Expression(expression) => evaluate(section, expression, pc)?,
        };
        let saved = |register| match row.register(register) {
            Some(RegisterRule::Offset(offset)) => Some(memory(cfa.wrapping_add_signed(offset))),
            Some(RegisterRule::Expression(expression)) => Some(memory(evaluate(section, expression, pc)?)),
            Some(RegisterRule::SameValue) | None => register_value(register, pc),
            _ => None,
        };
        Some((cfa, saved(X86_64::RA)?, saved(X86_64::RBP)))
    };
    match row.register(X86_64::RA) {
        Some(RegisterRule::Undefined) => Caller::Outermost,
        _ => known().map_or(Caller::Unknown, |(sp, ip, bp)| Caller::At { sp, ip, bp }),
    }
}

/// Whether a row has nothing that a table could not say.
fn ordinary(row: &UnwindTableRow<usize>) -> bool {
    let register_and_offset = matches!(
        *row.cfa(),
        CfaRule::RegisterAndOffset { register: X86_64::RSP | X86_64::RBP, offset } if offset % 8 == 0 && offset.abs() < 4 << 20
    );
    register_and_offset && matches!(row.register(X86_64::RA), Some(RegisterRule::Offset(-8) | RegisterRule::Undefined))
}

struct Compared {
    rows: usize,
    unsupported: usize,
}

/// Asserts that the table agrees with gimli at the first and last address of each of gimli's rows.
fn compare(path: &Path) -> Compared {
    let table = UnwindTable::of_file(path).unwrap();
    let bytes = std::fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let frames = file.section_by_name(".eh_frame").unwrap();
    let section = EhFrame::new(frames.data().unwrap(), LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(frames.address());
    let code: Vec<_> = file.segments().filter(|segment| segment.permissions().executable()).collect();
    let mut context = UnwindContext::new();
    let mut compared = Compared { rows: 0, unsupported: 0 };
    let mut entries = section.entries(&bases);
    while let Some(entry) = entries.next().unwrap() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let fde = partial.parse(|section, bases, offset| section.cie_from_offset(bases, offset)).unwrap();
        if !code
            .iter()
            .any(|segment| (segment.address()..segment.address() + segment.size()).contains(&fde.initial_address()))
        {
            continue;
        }
        let mut rows = fde.rows(&section, &bases, &mut context).unwrap();
        while let Some(row) = rows.next_row().unwrap() {
            for pc in [row.start_address(), row.end_address().wrapping_sub(1)] {
                if !row.contains(pc) {
                    continue;
                }
                let step = table.lookup(u32::try_from(pc - table.layout().base()).unwrap());
                compared.rows += 1;
                if step.rule == Rule::Unsupported {
                    assert!(!ordinary(row), "{}: pc {pc:#x} is unsupported: {row:?}", path.display());
                    compared.unsupported += 1;
                    continue;
                }
                let (mut ours, mut theirs) = (by_table(&table, step, pc), by_gimli(&section, row, pc));
                if let (Some(RegisterRule::Expression(_)), Step::RBP_LOST, Caller::At { bp, .. }) =
                    (row.register(X86_64::RBP), step.rbp, &mut theirs)
                {
                    *bp = None; // not followed, and known to be lost
                }
                if let (Rule::Signal, Caller::At { sp, .. }) = (step.rule, &mut ours) {
                    *sp = memory(RSP + 160); // gimli's CFA of a trampoline is the interrupted stack pointer
                }
                assert_eq!(ours, theirs, "{}: pc {pc:#x}, {step:?}", path.display());
            }
        }
    }
    compared
}

#[test]
fn real_files_agree_with_gimli() {
    let files = [
        "/usr/lib/x86_64-linux-gnu/libc.so.6",
        "/lib64/ld-linux-x86-64.so.2",
        "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    ];
    let own = std::env::current_exe().unwrap();
    let more = std::env::var_os("DWELL_UNWIND_FILES");
    let more: Vec<PathBuf> = more.iter().flat_map(std::env::split_paths).collect();
    for path in files.iter().map(PathBuf::from).chain([own]).chain(more).filter(|path| path.exists()) {
        let Compared { rows, unsupported } = compare(&path);
        assert!(rows > 1000, "{}: only {rows} rows", path.display());
        assert!(unsupported * 1000 <= rows, "{}: {unsupported} of {rows} unsupported", path.display());
    }
}

#[test]
fn libc_has_its_special_frames() {
    let path = Path::new("/usr/lib/x86_64-linux-gnu/libc.so.6");
    if !path.exists() {
        return;
    }
    let table = UnwindTable::of_file(path).unwrap();
    let has = |rule| table.rows().iter().any(|word| dwell_unwind::Row::from_word(*word).step.rule == rule);
    assert!(has(Rule::Signal), "the signal trampoline");
    assert!(has(Rule::Plt), "the lazy-binding stubs");
    assert!(has(Rule::End), "clone3");
    let crypto = Path::new("/usr/lib/x86_64-linux-gnu/libcrypto.so.3");
    if crypto.exists() {
        let table = UnwindTable::of_file(crypto).unwrap();
        let steps = table.rows().iter().map(|word| dwell_unwind::Row::from_word(*word).step);
        let extras: Vec<Extra> =
            steps.filter(|step| step.rule == Rule::Extra).filter_map(|step| table.extra(step)).collect();
        assert!(extras.iter().any(|extra| extra.base == 0), "a CFA in rax");
        assert!(extras.iter().any(|extra| extra.index == Some((9, 3))), "rsp + r9 * 8");
    }
}
