//! Finalization: makes a raw trace a result.
//!
//! The way of the data: [`input`] reads the spool, [`order`] sorts it by time, [`replay`] runs it through who lives
//! ([`lives`]), who runs ([`intervals`]), what samples stand for ([`samples`]) and what programs say ([`annotations`]);
//! then [`mappings`], [`modules`], [`symbols`] and [`stacks`] give code its names, and [`objects`] says what each wait
//! was on.
//!
//! No other crate knows ELF or DWARF. Damaged or missing input makes a loss or a notice, never an error; an error
//! means that there is nothing to read or nowhere to write.

mod annotations;
mod code_names;
mod debug_files;
mod debuginfod;
mod delays;
mod demangle;
mod error;
mod files;
mod finalize;
mod hash;
mod input;
mod intervals;
mod jit;
mod kernel;
mod listing;
mod lives;
mod losses;
mod mappings;
mod modules;
mod naming;
mod objects;
mod order;
mod python;
mod replay;
mod samples;
mod scopes;
mod sockets;
mod source_files;
mod stacks;
mod symbol_table;
mod symbols;
mod system;
mod waits;

use std::path::PathBuf;

pub use code_names::CodeNames;
pub use debuginfod::DebuginfodSettings;
pub use error::Error;
pub use finalize::finalize;
pub use kernel::KernelFiles;
pub use source_files::User;

/// How much of the files' debug information is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Everything: source lines, inlined functions, separate debug files.
    #[default]
    Full,
    /// Symbol tables only.
    Fast,
}

/// How to finalize.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where else to look for the profiled files and their debug files: `--search-dir`.
    pub search_dirs: Vec<PathBuf>,
    /// Servers to ask for debug files, when the user names any.
    pub debuginfod: Option<DebuginfodSettings>,
    /// Where the kernel's symbols are.
    pub kernel: KernelFiles,
    /// `--finalization-mode`.
    pub mode: Mode,
    /// Expand inlined functions; needs [`Mode::Full`].
    pub inlines: bool,
    /// Keep the raw data after success.
    pub keep_spool: bool,
    /// Whose the result will be; none: who this process runs as. Sources that this user may not read are not copied.
    pub reader: Option<User>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            search_dirs: Vec::new(),
            debuginfod: None,
            kernel: KernelFiles::default(),
            mode: Mode::Full,
            inlines: true,
            keep_spool: false,
            reader: None,
        }
    }
}

/// The readers of what a profiled program writes, for the fuzzer: how many names each finds.
pub mod readers {
    use std::path::Path;

    use crate::demangle::{qualified, readable};
    use crate::files::claims_too_much;
    use crate::jit::{Jit, MOST_PIECES, parse_dump, parse_perf_map};
    use crate::kernel::KernelFiles;
    pub use crate::python::line_of as python_line;
    use crate::symbol_table::SymbolTable;
    use crate::symbols::{Depth, Elsewhere, Place, Request, symbolize};
    use crate::{Silent, debug_files, modules, scopes};

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
            place: Place::File(path.to_owned(), None),
            shares: vec![1.0 / PLACES as f64; code.len()],
            data: code.clone(),
            code,
        };
        let nowhere = KernelFiles { kallsyms: "/nonexistent".into(), modules: "/nonexistent".into() };
        let depth = Depth { debug_info: true, inlines: true };
        let answers = symbolize(&[request], depth, Elsewhere { debug_dirs: &[], kernel: &nowhere }, &Silent);
        scoped + answers.iter().flat_map(|answer| &answer.code).map(Vec::len).sum::<usize>()
    }
}

/// Who is told how far finalization is. `done` of `total` in a unit that only the ratio matters of; called from
/// several threads.
pub trait Progress: Sync {
    /// Step `name` has done `done` of `total`.
    fn step(&self, name: &'static str, done: u64, total: u64);
}

/// Tells nobody.
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _: &'static str, _: u64, _: u64) {}
}
