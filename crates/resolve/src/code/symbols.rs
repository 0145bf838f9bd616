//! Names for addresses: functions with what is inlined into them, source lines, and data symbols.
//!
//! Each module is one task; modules are done side by side. blazesym reads the files; what it cannot read, or gives up
//! on, has no names.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use blazesym::MaybeDefault;
use blazesym::symbolize::source::{Elf, Kernel, Source};
use blazesym::symbolize::{CodeInfo, Input, Sym, Symbolized, Symbolizer};
use rayon::prelude::*;

use crate::code::demangle::{is_bare, qualified, readable};
use crate::code::files::{Unread, claims_too_much};
use crate::code::function::{DataSymbol, Function};
use crate::code::jit::Jit;
use crate::code::kernel::{KernelFiles, KernelMap};
use crate::code::machine_code::{self, Extent, Listings};
use crate::code::scopes;
use crate::code::symbol_table::SymbolTable;
use crate::progress::Progress;

/// Addresses per call of the symbolizer: the step of the progress display.
const BATCH: usize = 2048;

/// Where a module's symbols are.
#[derive(Clone)]
pub enum Place {
    /// In this ELF file, and in the file that holds its debug information, when that is another one.
    File(PathBuf, Option<PathBuf>),
    /// In the running kernel.
    Kernel,
    /// In what the runtimes that made the code tell of it.
    Jit(Arc<Jit>),
    /// Nowhere.
    None,
}

/// The addresses of one module to be named.
pub struct Request {
    /// Where the names are.
    pub place: Place,
    /// Code addresses.
    pub code: Vec<u64>,
    /// Data addresses.
    pub data: Vec<u64>,
    /// For each code address, its share of the time of all stacks; empty when nothing is to be listed.
    pub shares: Vec<f64>,
}

/// Longest name of a symbol as a file spells it: one as long as a file would be had again for each address.
const MOST_NAME_BYTES: usize = 64 << 10;

/// A symbol's name.
fn name_of(name: Cow<'_, str>) -> String {
    if name.len() <= MOST_NAME_BYTES {
        return name.into_owned();
    }
    String::from_utf8_lossy(&name.as_bytes()[..MOST_NAME_BYTES]).into_owned()
}

/// The names, in the order of the request.
#[derive(Default)]
pub struct Answer {
    /// For each code address the function, then what is inlined into it, outermost first; empty when unknown.
    pub code: Vec<Vec<Function>>,
    /// For each data address its symbol.
    pub data: Vec<Option<DataSymbol>>,
    /// Machine code and lines of the functions at the code addresses, as far as they are worth it.
    pub listings: Listings,
    /// Why there are no names although there is a file.
    pub failure: Option<String>,
    /// Why there are names, but no source lines and nothing of what is inlined.
    pub without_lines: Option<String>,
    /// Where the function of each code address lies.
    extents: Vec<Option<Extent>>,
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
const SYMBOLS: Depth = Depth { debug_info: false, inlines: false };

/// Where names are that are in no module's own file.
#[derive(Clone, Copy, Debug)]
pub struct Elsewhere<'a> {
    /// Folders of debug files, before the standard ones.
    pub debug_dirs: &'a [PathBuf],
    /// The kernel's own.
    pub kernel: &'a KernelFiles,
}

/// Names the addresses of every request.
pub fn symbolize(requests: &[Request], depth: Depth, elsewhere: Elsewhere<'_>, progress: &dyn Progress) -> Vec<Answer> {
    let total = requests.iter().map(|request| (request.code.len() + request.data.len()) as u64).sum();
    let done = AtomicU64::new(0);
    let step = |count: usize| {
        let before = done.fetch_add(count as u64, Ordering::Relaxed);
        progress.step("symbols", before + count as u64, total);
    };
    let answer = |request: &Request| {
        // A damaged file must cost its own names only.
        let attempt = catch_unwind(AssertUnwindSafe(|| answer(request, depth, elsewhere, &step)));
        attempt.unwrap_or_else(|_| Answer { failure: Some("the reader gave up on it".into()), ..Answer::default() })
    };
    let mut answers: Vec<Answer> = requests.par_iter().map(answer).collect();
    for (answer, request) in answers.iter_mut().zip(requests) {
        // Where the reader gave up.
        answer.code.resize(request.code.len(), Vec::new());
        answer.data.resize(request.data.len(), None);
    }
    answers
}

fn answer(request: &Request, depth: Depth, elsewhere: Elsewhere<'_>, step: &dyn Fn(usize)) -> Answer {
    let Elsewhere { debug_dirs, kernel } = elsewhere;
    let mut answer = Answer {
        code: vec![Vec::new(); request.code.len()],
        data: vec![None; request.data.len()],
        ..Answer::default()
    };
    match &request.place {
        Place::File(path, debug_file) => {
            let debug_file = match usable(path, debug_file.as_deref(), depth) {
                Ok(debug_file) => Some(debug_file),
                Err(Unread::All(why)) => {
                    answer.failure = Some(why);
                    return answer;
                }
                Err(Unread::DebugInformation(why)) => {
                    answer.without_lines = Some(why);
                    None
                }
            };
            let depth = if debug_file.is_some() { depth } else { SYMBOLS };
            let readers: Vec<Reader> = file_readers(path, debug_file, depth, debug_dirs).collect();
            answer.fill(request, &readers, step);
            answer.fill_from_debug_data(request, path);
            if depth.debug_info {
                qualify(&mut answer.code, &request.code, debug_file.unwrap_or(path), debug_dirs);
                give_scopes(&mut answer.code, &request.code, debug_file.unwrap_or(path));
                answer.list(request, path, &readers);
            }
        }
        Place::Kernel => {
            let symbolizer = symbolizer(depth, debug_dirs);
            answer.fill(request, &[Reader { source: kernel_source(kernel), symbolizer, absolute: true }], step);
            if !request.code.is_empty() {
                KernelMap::read(kernel).complete(&mut answer.code, &request.code);
            }
        }
        Place::Jit(jit) => {
            let functions = |&address: &u64| jit.function_at(address).into_iter().collect();
            answer.code = request.code.iter().map(functions).collect();
        }
        Place::None => {}
    }
    answer
}

/// The file whose debug information is read: `debug_file`, or `path` itself where that one claims too much. Fails when neither
/// is sound, or nothing of `path` is.
fn usable<'a>(path: &'a Path, debug_file: Option<&'a Path>, depth: Depth) -> Result<&'a Path, Unread> {
    let own = match claims_too_much(path) {
        Some(Unread::All(why)) => return Err(Unread::All(why)),
        own => own.filter(|_| depth.debug_info),
    };
    let elsewhere = debug_file.filter(|file| claims_too_much(file).is_none());
    match (elsewhere, own) {
        (Some(file), _) => Ok(file),
        (None, None) => Ok(path),
        (None, Some(unread)) => Err(unread),
    }
}

/// Names for a file's listings.
struct FileNames<'a> {
    symbolizer: &'a Symbolizer,
    source: &'a Source<'a>,
}

impl FileNames<'_> {
    fn look_up<T: Clone + Default>(&self, addresses: &[u64], take: impl Fn(u64, Sym<'_>) -> T) -> Vec<T> {
        let mut answers = Vec::with_capacity(addresses.len());
        for batch in addresses.chunks(BATCH) {
            let found = self.symbolizer.symbolize(self.source, Input::VirtOffset(batch)).unwrap_or_default();
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

impl machine_code::Names for FileNames<'_> {
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

/// Where the code of the function lies, when that is known of the part that the address is in.
fn extent(sym: &Sym<'_>) -> Option<Extent> {
    let bytes = sym.size.filter(|size| sym.offset < *size)?;
    Some(Extent { start: sym.addr, bytes: bytes as u64 })
}

/// The ways to read a file's symbols, the best first; what one does not know or cannot read, the next one may.
pub fn file_readers<'a>(
    path: &'a Path,
    debug_file: Option<&'a Path>,
    depth: Depth,
    debug_dirs: &'a [PathBuf],
) -> impl Iterator<Item = Reader> + 'a {
    let with_debug_info = depth.debug_info.then_some((debug_file.unwrap_or(path), depth));
    with_debug_info.into_iter().chain([(path, SYMBOLS)]).map(move |(path, depth)| Reader {
        source: elf_source(path, depth),
        symbolizer: symbolizer(depth, debug_dirs),
        absolute: false,
    })
}

/// One way to read symbols.
pub struct Reader {
    source: Source<'static>,
    symbolizer: Symbolizer,
    absolute: bool,
}

impl Reader {
    /// The symbols at these places as they stand in the file; none for all when it cannot be read.
    pub fn names_at(&self, places: Input<&[u64]>) -> Vec<Option<String>> {
        let found = self.symbolizer.symbolize(&self.source, places).unwrap_or_default();
        found.into_iter().map(|symbol| symbol.into_sym().map(|symbol| name_of(symbol.name))).collect()
    }

    fn read(&self, addresses: &[u64], take: &mut dyn FnMut(usize, Sym<'_>)) -> Result<(), String> {
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

impl Answer {
    fn fill(&mut self, request: &Request, readers: &[Reader], step: &dyn Fn(usize)) {
        self.extents.resize(request.code.len(), None);
        for (pass, reader) in readers.iter().enumerate() {
            let code: Vec<usize> = (0..self.code.len()).filter(|&row| self.code[row].is_empty()).collect();
            let data: Vec<usize> = (0..self.data.len()).filter(|&row| self.data[row].is_none()).collect();
            let told = |count: usize| {
                if pass == 0 {
                    step(count);
                }
            };
            for rows in code.chunks(BATCH) {
                let addresses: Vec<u64> = rows.iter().map(|&row| request.code[row]).collect();
                let read = reader.read(&addresses, &mut |number, sym| {
                    self.extents[rows[number]] = extent(&sym);
                    self.code[rows[number]] = functions(sym);
                });
                self.note(read);
                told(rows.len());
            }
            for rows in data.chunks(BATCH) {
                let addresses: Vec<u64> = rows.iter().map(|&row| request.data[row]).collect();
                let read = reader.read(&addresses, &mut |number, sym| self.data[rows[number]] = data_symbol(sym));
                self.note(read);
                told(rows.len());
            }
        }
    }

    /// Lists the functions that took time: their code is the file's, the names are those of the best reader.
    fn list(&mut self, request: &Request, path: &Path, readers: &[Reader]) {
        let Some(Reader { source, symbolizer, .. }) = readers.first() else { return };
        if !request.shares.is_empty() {
            machine_code::complete(path, &request.code, &mut self.extents);
        }
        let functions = machine_code::worth_listing(&request.shares, &self.extents, &self.code);
        let names = FileNames { symbolizer, source };
        // A listing that cannot be made must not cost the names.
        let listings = catch_unwind(AssertUnwindSafe(|| machine_code::list(path, functions, &names)));
        self.listings = listings.unwrap_or_default();
    }

    fn note(&mut self, read: Result<(), String>) {
        if let Err(why) = read {
            self.failure.get_or_insert(why);
        }
    }

    /// Names what is left by the small table that stripped files of some distributions carry.
    fn fill_from_debug_data(&mut self, request: &Request, path: &Path) {
        if self.code.iter().all(|functions| !functions.is_empty()) && self.data.iter().all(Option::is_some) {
            return;
        }
        let table = match SymbolTable::of_debug_data(path) {
            Ok(None) => return,
            Ok(Some(table)) => table,
            Err(why) => return self.failure = Some(why),
        };
        self.failure = None; // blazesym's, which cannot read it
        for (functions, &address) in self.code.iter_mut().zip(&request.code).filter(|(row, _)| row.is_empty()) {
            functions.extend(table.find(address).map(|(name, _)| function(name.to_owned(), None)));
        }
        for (symbol, &address) in self.data.iter_mut().zip(&request.data).filter(|(row, _)| row.is_none()) {
            let found = table.find(address);
            *symbol = found.map(|(name, offset)| DataSymbol { name: readable(name.to_owned()), offset });
        }
    }
}

/// Gives functions that the debug information names without their scope the one of their symbol, where there is one.
/// What is inlined has no symbol and keeps its bare name.
fn qualify(code: &mut [Vec<Function>], addresses: &[u64], path: &Path, debug_dirs: &[PathBuf]) {
    let bare: Vec<usize> =
        (0..code.len()).filter(|&row| code[row].first().is_some_and(|outer| is_bare(&outer.name))).collect();
    let (source, symbolizer) = (elf_source(path, SYMBOLS), symbolizer(SYMBOLS, debug_dirs));
    for batch in bare.chunks(BATCH) {
        let wanted: Vec<u64> = batch.iter().map(|&row| addresses[row]).collect();
        let Ok(found) = symbolizer.symbolize(&source, Input::VirtOffset(&wanted)) else { return };
        for (&row, symbol) in batch.iter().zip(found) {
            let Some(symbol) = symbol.into_sym() else { continue };
            if let Some(name) = qualified(&code[row][0].name, &symbol.name) {
                code[row][0].name = name;
            }
        }
    }
}

/// Gives what still has a bare name the scope that the debug information tells, where it tells of the same functions.
fn give_scopes(code: &mut [Vec<Function>], addresses: &[u64], path: &Path) {
    let bare = |row: &usize| code[*row].iter().any(|function| is_bare(&function.name));
    let rows: Vec<usize> = (0..code.len()).filter(bare).collect();
    if rows.is_empty() {
        return;
    }
    let wanted: Vec<u64> = rows.iter().map(|&row| addresses[row]).collect();
    for (row, chain) in rows.into_iter().zip(scopes::chains(path, &wanted)) {
        if chain.len() != code[row].len() {
            continue;
        }
        for (function, scoped) in code[row].iter_mut().zip(chain) {
            if is_bare(&function.name) && function.name == scoped.name && !scoped.qualified.is_empty() {
                function.name = scoped.qualified;
            }
        }
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

fn functions(sym: Sym<'_>) -> Vec<Function> {
    let outer = function(name_of(sym.name), sym.code_info.as_deref());
    let inlined = Vec::from(sym.inlined).into_iter();
    let inlined = inlined.map(|inlined| function(name_of(inlined.name), inlined.code_info.as_ref()));
    std::iter::once(outer).chain(inlined).collect()
}

fn function(name: String, info: Option<&CodeInfo<'_>>) -> Function {
    let file = info.map(|info| info.to_path().to_string_lossy().into_owned()).unwrap_or_default();
    Function { name: readable(name), file, line: info.and_then(|info| info.line).unwrap_or(0) }
}

/// A symbol without a size, like the end of a section, covers nothing.
fn data_symbol(sym: Sym<'_>) -> Option<DataSymbol> {
    let covers = sym.size.is_some_and(|size| sym.offset < size);
    covers.then(|| DataSymbol { name: readable(name_of(sym.name)), offset: sym.offset as u64 })
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
