//! Unwind rows of Go code, from the table that Go's own tracebacks use (`.gopclntab`): it is in every Go binary, stripped
//! or not, while `.eh_frame` does not cover Go and `.debug_frame` is often stripped.
//!
//! A table from before Go 1.18 gives no rows, and its
//! stacks are walked by frame pointers, which Go keeps. Where the runtime changes stacks for a call (`systemstack`,
//! `asmcgocall`), the frame pointer leads back to the goroutine's. On `mcall` and `morestack` that stack is left for good:
//! the scheduler's ends there, as in Go's own tracebacks.

use dwell_pclntab::{CodeValue, FunctionTable, GoFunction, SECTIONS};
use object::ReadRef;

use crate::cfi::{Extent, Function, Functions};
use crate::elf::Elf;
use crate::row::{Row, Rule, Step};

/// `abi.FuncFlagTopFrame`, `…SPWrite`, `…Asm`.
const TOP_FRAME: u8 = 1;
const SP_WRITE: u8 = 2;
const ASSEMBLY: u8 = 4;
/// Longer names are never looked up.
const NAME_BYTES: usize = 64;
/// Rows of one function; the largest have a few hundred.
const MOST_ROWS: usize = 1 << 16;
/// Bytes of the table for each row at least; real ones have about a hundred.
const BYTES_PER_ROW: usize = 8;
/// What a function that keeps a frame pointer begins with: `push %rbp`, or the check of the stack's bounds before it.
const PROLOGUES: [&[u8]; 4] = [&[0x55], &[0x49, 0x3b, 0x66], &[0x4c, 0x8d, 0x64], &[0x4c, 0x8d, 0xa4]];

/// The rows of all Go functions; none when the file has no such table or one that is not understood.
pub(crate) fn read<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>, extent: Extent) -> Option<Functions> {
    read_table(&SECTIONS.iter().find_map(|name| elf.section_bytes(name))?, elf, extent)
}

fn read_table<'data, R: ReadRef<'data>>(bytes: &[u8], elf: &Elf<'data, R>, extent: Extent) -> Option<Functions> {
    let table = FunctionTable::parse(bytes, || elf.go_text())?;
    let mut found = Functions::default();
    let (mut last, mut rows) = (0, Vec::new());
    for number in 0..table.count() {
        let function = table.function(number)?;
        let GoFunction { start, end, .. } = function;
        if start < last || start < extent.base || end > extent.end || start >= end {
            found.skipped += 1;
            continue;
        }
        last = end; // two functions may share their rows, but no code
        rows.clear();
        if rows_of(&table, (elf, extent), function, &mut rows).is_none() {
            found.skipped += 1;
            continue;
        }
        if found.rows.len() + rows.len() > bytes.len() / BYTES_PER_ROW {
            return None;
        }
        found.functions.push(Function { start, end, first_row: found.rows.len(), row_count: rows.len() });
        found.rows.append(&mut rows);
    }
    (!found.functions.is_empty()).then_some(found)
}

/// Appends the rows of a function; none for what is no function.
fn rows_of<'data, R: ReadRef<'data>>(
    table: &FunctionTable<'_>,
    (elf, extent): (&Elf<'data, R>, Extent),
    function: GoFunction,
    rows: &mut Vec<Row>,
) -> Option<()> {
    let GoFunction { start, end, .. } = function;
    let flags = table.flags(function)?;
    let pc = |address: u64| u32::try_from(address - extent.base).ok();
    let name = table.name(function, NAME_BYTES)?;
    let base_name = name.strip_suffix(b".abi0").unwrap_or(name);
    let handler = base_name.starts_with(b"runtime.sigtramp") || base_name.starts_with(b"runtime.cgoSigtramp");
    if is_trampoline(name) || (flags & TOP_FRAME != 0 && !handler) {
        let rule = if is_trampoline(name) { Rule::Signal } else { Rule::End };
        rows.push(Row { pc: pc(start)?, step: Step::of(rule) });
        return Some(());
    }
    if !table.has(function, CodeValue::FrameSize)? {
        return Some(()); // a mark, no function
    }
    let special = flags & (SP_WRITE | ASSEMBLY) != 0;
    let code = special.then(|| elf.code(start, end)).flatten().unwrap_or_default();
    let keeps_rbp = flags & ASSEMBLY == 0 || PROLOGUES.iter().any(|prologue| code.starts_with(prologue));
    table.for_each_value(function, CodeValue::FrameSize, |address, size| {
        let rbp = if keeps_rbp && size >= 8 { -2 } else { 0 };
        let step = match size {
            0.. if size % 8 == 0 => Step { rule: Rule::Rsp, cfa: size / 8 + 1, rbp },
            _ => Step::of(Rule::Unsupported), // vfork's caller has its return address in a register
        };
        rows.push(Row { pc: pc(address)?, step });
        (rows.len() <= MOST_ROWS).then_some(())
    })?;
    if flags & SP_WRITE != 0 {
        let for_good = base_name == b"runtime.mcall" || base_name.starts_with(b"runtime.morestack");
        let step = if for_good { Step::of(Rule::End) } else { Step { rule: Rule::StackSwitch, cfa: 2, rbp: -2 } };
        switch_stacks(code, pc(start)?, step, for_good || base_name != b"runtime.systemstack", rows);
    }
    Some(())
}

fn is_trampoline(name: &[u8]) -> bool {
    name.starts_with(b"runtime.sigreturn__sigaction")
}

/// Behind the first instruction that loads the stack pointer, `step` holds, to the function's end or behind the next.
fn switch_stacks(code: &[u8], start: u32, step: Step, to_end: bool, rows: &mut Vec<Row>) {
    let loads = |bytes: &[u8]| match bytes {
        [0x48 | 0x49, 0x8b, 0x60..=0x67, ..] => Some(4), // mov disp8(%reg), %rsp
        [0x48 | 0x4c, 0x89, modrm, ..] if modrm & 0xc7 == 0xc4 => Some(3), // mov %reg, %rsp
        _ => None,
    };
    let mut ends = code.windows(4).enumerate().filter_map(|(at, bytes)| Some(start + at as u32 + loads(bytes)?));
    let Some(from) = ends.next() else { return };
    let until = if to_end { None } else { ends.next() };
    let after =
        until.and_then(|until| rows.iter().rev().find(|row| row.pc <= until).map(|row| Row { pc: until, ..*row }));
    let kept: Vec<Row> = rows.iter().filter(|row| row.pc > until.unwrap_or(u32::MAX)).copied().collect();
    rows.retain(|row| row.pc < from);
    rows.push(Row { pc: from, step });
    rows.extend(after);
    rows.extend(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of `count` functions of 64 bytes at `address(number)`, each with the same rows.
    fn table(count: u32, address: impl Fn(u32) -> u32) -> Vec<u8> {
        let functions = 72_u64; // the header's end
        let place = 8 * count + 4;
        let mut bytes = 0xffff_fff1_u32.to_le_bytes().to_vec();
        bytes.extend([0, 0, 1, 8]);
        let deltas = functions + u64::from(place) + 44;
        for word in [u64::from(count), 0, TEXT, deltas + 64, deltas, deltas, deltas, functions] {
            bytes.extend(word.to_le_bytes());
        }
        for number in 0..count {
            bytes.extend(address(number).to_le_bytes());
            bytes.extend(place.to_le_bytes());
        }
        bytes.extend((address(count - 1) + 64).to_le_bytes());
        let mut description = [0; 44];
        description[16] = 1; // the frame's sizes begin at the second byte
        bytes.extend(description);
        bytes.push(0);
        bytes.extend([2, 32, 16, 32, 0]); // 0 bytes for 32 bytes of code, then 8 for as many
        bytes.resize(bytes.len() + 1000, 0);
        bytes
    }

    const TEXT: u64 = 0x1000;

    fn functions_of(bytes: &[u8]) -> Option<Functions> {
        let file = std::fs::read("/proc/self/exe").expect("own file");
        let elf = Elf::parse(&*file).expect("an ELF file");
        read_table(bytes, &elf, Extent { base: TEXT, end: TEXT + 0x10_0000 })
    }

    #[test]
    fn functions_that_are_told_twice_have_rows_once() {
        let honest = functions_of(&table(4, |number| number * 64)).expect("functions");
        assert_eq!((honest.functions.len(), honest.rows.len(), honest.skipped), (4, 8, 0));
        let again = functions_of(&table(4, |number| number / 3 * 64)).expect("functions");
        assert!(again.functions.len() == 2 && again.rows.len() == 4 && again.skipped == 2, "{}", again.functions.len());
    }

    #[test]
    fn a_load_of_the_stack_pointer_switches_stacks() {
        let normal = Step { rule: Rule::Rsp, cfa: 1, rbp: 0 };
        let other = Step { rule: Rule::StackSwitch, cfa: 2, rbp: -2 };
        // nop; mov 0x38(%rdx),%rsp; call *%rdi; mov 0x38(%rax),%rsp; ret
        let code = [0x90, 0x48, 0x8b, 0x62, 0x38, 0xff, 0xd7, 0x48, 0x8b, 0x60, 0x38, 0xc3, 0, 0, 0];
        let row = |pc, step| Row { pc, step };
        let mut rows = vec![row(100, normal)];
        switch_stacks(&code, 100, other, false, &mut rows);
        assert_eq!(rows, [row(100, normal), row(105, other), row(111, normal)]);
        let mut rows = vec![row(100, normal), row(103, normal), row(107, normal)];
        switch_stacks(&code, 100, Step::of(Rule::End), true, &mut rows);
        assert_eq!(rows, [row(100, normal), row(103, normal), row(105, Step::of(Rule::End))]);
    }
}
