//! Finds Ruby in mapped files: its library, or a program that holds it.

use dwell_wire::{RubyProcess, interpreter_style};
use object::elf::{DT_NEEDED, PT_TLS, R_X86_64_DTPMOD64, SHN_UNDEF};
use object::read::elf::{ProgramHeader as _, Rela as _, SectionHeader as _};
use object::{LittleEndian, Object as _, ObjectSymbol as _, ReadRef};

use crate::elf::Elf;

/// The thread-local variable that points to the execution context.
pub(super) const CONTEXT: &[u8] = b"ruby_current_ec";
/// Symbols that are looked through for it, where it is not exported.
const MOST_SYMBOLS: usize = 1 << 18;
/// Words of thread-local variables that are tried; `RUBY_MOST_WORDS` of `ruby.bpf.h`.
const MOST_VARIABLES: u32 = 4;

/// 10 * major + minor, of the text "3.1.2" at `address`.
pub(super) fn version<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>, address: u64) -> Option<u32> {
    let bytes = elf.loaded_bytes(address, 4).filter(|_| address != 0)?;
    let digit = |at: usize| bytes[at].is_ascii_digit().then(|| u32::from(bytes[at] - b'0'));
    (bytes[1] == b'.' && bytes[3] == b'.').then_some(10 * digit(0)? + digit(2)?)
}

/// The layout of Ruby `version`, whose exported variable lies at `context` of its thread-local block.
pub(super) fn layout<'data, R: ReadRef<'data>>(
    elf: &Elf<'data, R>,
    version: u32,
    context: Option<u64>,
) -> Option<RubyProcess> {
    let process = of_version(version)?;
    // A stripped file does not say which of the few variables it is: the one that points to a thread's stack and frames.
    let found = context.or_else(|| local_symbol(elf));
    let (variable, words) = found.map_or_else(|| Some((0, few_variables(elf)?)), |variable| Some((variable, 1)))?;
    let process = RubyProcess { words, ..process };
    let needed = elf.dynamic_strings(DT_NEEDED);
    let is_musl = needed.iter().any(|name| name.windows(4).any(|part| part == b"musl"));
    let block_bytes = if is_musl { 8 } else { 16 };
    if elf.interpreter().is_some() {
        let variable = variable.wrapping_sub(block_before_thread_pointer(elf)?);
        return Some(RubyProcess { variable, ..process });
    }
    Some(RubyProcess { variable, module: module_slot(elf)?, block_bytes, ..process })
}

/// vm_core.h and iseq.h of each version: `rb_control_frame_t`, `rb_iseq_constant_body`, `iseq_insn_info_entry`.
fn of_version(version: u32) -> Option<RubyProcess> {
    let (frame_bytes, lines, line_bytes) = match version {
        30 => (56, 120, 8),
        31 => (64, 120, 12),
        32 => (64, 112, 12),
        33 | 34 => (56, 112, 12),
        _ => return None,
    };
    let style = interpreter_style::RUBY;
    let found = RubyProcess { version, style, frame_bytes, lines, line_bytes, ..bytemuck::Zeroable::zeroed() };
    Some(found)
}

/// Since 3.3 the variable is not exported: `.symtab` has it where the file is not stripped.
fn local_symbol<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>) -> Option<u64> {
    let mut symbols = elf.file().symbols().take(MOST_SYMBOLS);
    symbols.find(|symbol| symbol.name_bytes().is_ok_and(|name| name == CONTEXT)).map(|symbol| symbol.address())
}

/// How many words the file's thread-local variables are, where these are so few that they can be tried.
fn few_variables<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>) -> Option<u32> {
    let header = elf.file().elf_program_headers().iter().find(|header| header.p_type(LittleEndian) == PT_TLS)?;
    u32::try_from(header.p_memsz(LittleEndian) / 8).ok().filter(|words| (1..=MOST_VARIABLES).contains(words))
}

/// How far before the thread pointer the program's block begins.
fn block_before_thread_pointer<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>) -> Option<u64> {
    let header = elf.file().elf_program_headers().iter().find(|header| header.p_type(LittleEndian) == PT_TLS)?;
    let (bytes, align) = (header.p_memsz(LittleEndian), header.p_align(LittleEndian).max(1));
    bytes.checked_next_multiple_of(align)
}

/// Where the dynamic linker writes the number of the library's own blocks.
fn module_slot<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>) -> Option<u64> {
    let (file, data) = (elf.file(), elf.file().data());
    let sections = file.elf_section_table();
    let tables = sections.iter().filter_map(|section| section.rela(LittleEndian, data).ok().flatten());
    let mut rows = tables.flat_map(|(rows, _)| rows);
    let dynamic = file.elf_dynamic_symbol_table();
    let is_own = |symbol: Option<object::SymbolIndex>| {
        let Some(symbol) = symbol else { return true };
        dynamic.symbol(symbol).is_ok_and(|symbol| symbol.st_shndx.get(LittleEndian) != SHN_UNDEF)
    };
    let found = rows
        .find(|row| row.r_type(LittleEndian, false) == R_X86_64_DTPMOD64 && is_own(row.symbol(LittleEndian, false)));
    found.map(|row| row.r_offset(LittleEndian))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_fits_what_is_read() {
        for version in 30..=34 {
            let layout = of_version(version).expect("a layout");
            assert!(layout.lines + 32 <= dwell_wire::SCRIPT_FUNCTION_BYTES && layout.frame_bytes >= 40);
        }
        assert_eq!(of_version(27), None);
    }
}
