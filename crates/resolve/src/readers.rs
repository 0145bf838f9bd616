//! The readers of what a profiled program writes, for the fuzzer: how many names each finds.

use std::path::Path;

use crate::code::demangle::{qualified, readable};
use crate::code::files::claims_too_much;
use crate::code::jit::{Jit, MOST_PIECES, parse_dump, parse_perf_map};
use crate::code::kernel::KernelFiles;
pub use crate::code::scripts::line_of as python_line;
use crate::code::symbol_reader::Depth;
use crate::code::symbol_table::SymbolTable;
use crate::code::symbols::{DebugFileSources, Request, SymbolPlace, symbolize};
use crate::code::{debug_files, modules, scopes};
use crate::progress::NoProgress;

/// The text of a `perf-PID.map`, and look-ups in it.
pub fn perf_map(bytes: &[u8]) -> usize {
    Jit::of_codes(parse_perf_map(bytes).take(MOST_PIECES).collect())
}

/// A `jit-PID.dump`, and look-ups in it.
pub fn jit_dump(bytes: &[u8]) -> usize {
    Jit::of_codes(parse_dump(bytes, MOST_PIECES).codes)
}

/// The contents of a `.gnu_debugdata` section, and look-ups in it.
pub fn debug_data(bytes: &[u8]) -> usize {
    let Ok(table) = SymbolTable::of_compressed(bytes) else { return 0 };
    [0, 0x1000, u64::MAX].iter().filter(|&&address| table.find(address).is_some()).count()
}

/// A mangled name, alone and as that of a function whose bare name is told.
pub fn symbol_name(name: &str) -> usize {
    let (bare, symbol) = name.split_once('\n').unwrap_or(("run", name));
    qualified(bare, symbol).unwrap_or_else(|| readable(symbol.to_owned())).len()
}

/// What is read of an ELF file before its names: build id, segments, debug link, and whether its tables are too large.
pub fn elf_facts(path: &Path) -> usize {
    let sound = claims_too_much(path).is_none();
    let build_id = modules::read_build_id(path).map_or(0, |id| id.len());
    build_id + debug_files::link_of(path).map_or(0, |name| name.len()) + usize::from(sound)
}

/// Names, lines, scopes and machine code of an ELF file whose code is at `start`.
pub fn names_in(path: &Path, start: u64) -> usize {
    const PLACES: u64 = 96;
    let code: Vec<u64> = (0..PLACES).map(|place| start + place * 3).collect();
    let scoped: usize = scopes::chains(path, &code).iter().map(Vec::len).sum();
    let request = Request {
        place: SymbolPlace::File(path.to_owned(), None),
        shares: vec![1.0 / PLACES as f64; code.len()],
        data: code.clone(),
        code,
    };
    let nowhere = KernelFiles { kallsyms: "/nonexistent".into(), modules: "/nonexistent".into() };
    let depth = Depth { debug_info: true, inlines: true };
    let answers = symbolize(&[request], depth, DebugFileSources { debug_dirs: &[], kernel: &nowhere }, &NoProgress);
    scoped + answers.iter().flat_map(|answer| &answer.code).map(Vec::len).sum::<usize>()
}
