//! Reads symbols of a file or of the kernel by blazesym.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use blazesym::MaybeDefault;
use blazesym::symbolize::source::{Elf, Kernel, Source};
use blazesym::symbolize::{CodeInfo, Input, Sym, Symbolized, Symbolizer};

use super::demangle::readable;
use super::function::{DataSymbol, Function};
use super::kernel::KernelFiles;
use super::machine_code::{self, CodeExtent};

/// Addresses per call of the symbolizer: what is found of them is in memory at the same time.
pub const BATCH: usize = 2048;

/// Longest name of a symbol as a file spells it: a name as long as a file would be copied for each address.
const MOST_NAME_BYTES: usize = 64 << 10;

/// A symbol's name.
fn name_of(name: Cow<'_, str>) -> String {
    if name.len() <= MOST_NAME_BYTES {
        return name.into_owned();
    }
    String::from_utf8_lossy(&name.as_bytes()[..MOST_NAME_BYTES]).into_owned()
}

/// What to look up.
#[derive(Clone, Copy, Debug)]
pub struct Depth {
    /// Use debug information: source lines, and symbols of stripped files whose debug file is installed.
    pub debug_info: bool,
    /// Expand inlined functions.
    pub inlines: bool,
}

/// Symbol tables only.
pub const SYMBOLS: Depth = Depth { debug_info: false, inlines: false };

/// Where the code of the function lies, when that is known of the part that the address is in.
pub fn extent(sym: &Sym<'_>) -> Option<CodeExtent> {
    let bytes = sym.size.filter(|size| sym.offset < *size)?;
    Some(CodeExtent { start: sym.addr, bytes: bytes as u64 })
}

/// The ways to read a file's symbols, the best first; what one does not know or cannot read, the next one may.
pub fn file_readers<'a>(
    path: &'a Path,
    debug_file: Option<&'a Path>,
    depth: Depth,
    debug_dirs: &'a [PathBuf],
) -> impl Iterator<Item = SymbolReader> + 'a {
    let with_debug_info = depth.debug_info.then_some((debug_file.unwrap_or(path), depth));
    with_debug_info.into_iter().chain([(path, SYMBOLS)]).map(move |(path, depth)| SymbolReader {
        source: elf_source(path, depth),
        symbolizer: symbolizer(depth, debug_dirs),
        absolute: false,
    })
}

/// One way to read symbols.
pub struct SymbolReader {
    source: Source<'static>,
    symbolizer: Symbolizer,
    absolute: bool,
}

impl SymbolReader {
    /// The running kernel's symbols.
    pub fn of_kernel(files: &KernelFiles, depth: Depth, debug_dirs: &[PathBuf]) -> Self {
        Self { source: kernel_source(files), symbolizer: symbolizer(depth, debug_dirs), absolute: true }
    }

    /// The symbol table of a file, and nothing else.
    pub fn of_symbol_table(path: &Path, debug_dirs: &[PathBuf]) -> Self {
        Self { source: elf_source(path, SYMBOLS), symbolizer: symbolizer(SYMBOLS, debug_dirs), absolute: false }
    }

    /// The symbols at these places as they stand in the file; none for all when it cannot be read.
    pub fn names_at(&self, places: Input<&[u64]>) -> Vec<Option<String>> {
        let found = self.symbolizer.symbolize(&self.source, places).unwrap_or_default();
        found.into_iter().map(|symbol| symbol.into_sym().map(|symbol| name_of(symbol.name))).collect()
    }

    /// Hands out each symbol that is found, with the number of its address.
    pub fn read(&self, addresses: &[u64], take: &mut dyn FnMut(usize, Sym<'_>)) -> Result<(), String> {
        let input = if self.absolute { Input::AbsAddr(addresses) } else { Input::VirtOffset(addresses) };
        let found = self.symbolizer.symbolize(&self.source, input).map_err(|error| error.to_string())?;
        for (number, symbol) in found.into_iter().enumerate() {
            if let Some(symbol) = symbol.into_sym() {
                take(number, symbol);
            }
        }
        Ok(())
    }
}

fn symbolizer(depth: Depth, debug_dirs: &[PathBuf]) -> Symbolizer {
    let standard = ["/usr/lib/debug", "/lib/debug"].map(PathBuf::from);
    Symbolizer::builder()
        .enable_auto_reload(false)
        .enable_demangling(false)
        .enable_code_info(depth.debug_info)
        .enable_inlined_fns(depth.debug_info && depth.inlines)
        .set_debug_dirs(Some(standard.iter().chain(debug_dirs)))
        .build()
}

fn elf_source(path: &Path, depth: Depth) -> Source<'static> {
    let mut elf = Elf::new(path);
    elf.debug_syms = depth.debug_info;
    Source::Elf(elf)
}

fn kernel_source(files: &KernelFiles) -> Source<'static> {
    let kallsyms = MaybeDefault::Some(files.kallsyms.clone());
    Source::Kernel(Kernel { kallsyms, vmlinux: MaybeDefault::None, debug_syms: false, ..Kernel::default() })
}

/// The function of a symbol, then what is inlined into it, outermost first.
pub fn functions(sym: Sym<'_>) -> Vec<Function> {
    let outer = function(name_of(sym.name), sym.code_info.as_deref());
    let inlined = Vec::from(sym.inlined).into_iter();
    let inlined = inlined.map(|inlined| function(name_of(inlined.name), inlined.code_info.as_ref()));
    std::iter::once(outer).chain(inlined).collect()
}

/// The function of this mangled name.
pub fn function(name: String, info: Option<&CodeInfo<'_>>) -> Function {
    let file = info.map(|info| info.to_path().to_string_lossy().into_owned()).unwrap_or_default();
    Function { name: readable(name), file, line: info.and_then(|info| info.line).unwrap_or(0) }
}

/// The data symbol over an address. One without a size, like the end of a section, covers nothing.
pub fn data_symbol(sym: Sym<'_>) -> Option<DataSymbol> {
    let covers = sym.size.is_some_and(|size| sym.offset < size);
    covers.then(|| DataSymbol { name: readable(name_of(sym.name)), offset: sym.offset as u64 })
}

/// Names for a file's listings.
pub struct FileNames<'a>(pub &'a SymbolReader);

impl FileNames<'_> {
    fn look_up<T: Clone + Default>(&self, addresses: &[u64], take: impl Fn(u64, Sym<'_>) -> T) -> Vec<T> {
        let mut answers = Vec::with_capacity(addresses.len());
        for batch in addresses.chunks(BATCH) {
            let found = self.0.symbolizer.symbolize(&self.0.source, Input::VirtOffset(batch)).unwrap_or_default();
            let symbols = found.into_iter().map(Symbolized::into_sym).zip(batch);
            let end = answers.len() + batch.len();
            answers.extend(
                symbols.map(|(symbol, address)| symbol.map(|symbol| take(*address, symbol)).unwrap_or_default()),
            );
            answers.resize(end, T::default());
        }
        answers
    }
}

impl machine_code::CodeNaming for FileNames<'_> {
    fn chains(&self, addresses: &[u64]) -> Vec<Vec<Function>> {
        self.look_up(addresses, |_, symbol| functions(symbol))
    }

    fn functions(&self, addresses: &[u64]) -> Vec<Option<String>> {
        self.look_up(addresses, |address, symbol| {
            let inside = address == symbol.addr || extent(&symbol).is_some() || symbol.size.is_none();
            inside.then(|| readable(name_of(symbol.name)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_as_long_as_a_file_is_cut() {
        assert_eq!(name_of("run".into()), "run");
        let long = "a".repeat(MOST_NAME_BYTES - 1) + "ä and so on";
        assert_eq!(name_of(Cow::Borrowed(&long)), "a".repeat(MOST_NAME_BYTES - 1) + "\u{fffd}");
    }
}
