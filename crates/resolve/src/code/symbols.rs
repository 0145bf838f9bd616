//! Names for addresses: functions with what is inlined into them, source lines, and data symbols.
//!
//! Each module is one task; modules are done side by side. blazesym reads the files, each in a process with limits
//! ([`dwell_isolate`]): a file that takes too much, or crashes its reader, costs its own names. What it cannot read, or gives up
//! on, has no names.

use std::cmp::Reverse;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dwell_isolate::{Death, Limits};
use serde::{Deserialize, Serialize};

use crate::code::demangle::{is_bare, qualified, readable};
use crate::code::files::{Expansion, UnreadParts};
use crate::code::function::{DataSymbol, Function};
use crate::code::go_table::{function_at, with_go_table};
use crate::code::jit::Jit;
use crate::code::kernel::{KernelFiles, KernelMap};
use crate::code::machine_code::{self, CodeExtent, Listings};
use crate::code::scopes;
use crate::code::symbol_reader::{
    BATCH, Depth, FileNames, SYMBOLS, SymbolReader, data_symbol, extent, file_readers, function, functions,
};
use crate::code::symbol_table::SymbolTable;
use crate::progress::Progress;

/// Where a module's symbols are.
#[derive(Clone)]
pub enum SymbolPlace {
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
    pub place: SymbolPlace,
    /// Code addresses.
    pub code: Vec<u64>,
    /// Data addresses.
    pub data: Vec<u64>,
    /// For each code address, its share of the time of all stacks; empty when nothing is to be listed.
    pub shares: Vec<f64>,
}

/// The names, in the order of the request.
#[derive(Default, Serialize, Deserialize)]
pub struct Answer {
    /// For each code address the function, then what is inlined into it, outermost first; empty when unknown.
    pub code: Vec<Vec<Function>>,
    /// For each code address without a function, where the function that it is in begins, when that is known.
    pub starts: Vec<Option<u64>>,
    /// For each data address its symbol.
    pub data: Vec<Option<DataSymbol>>,
    /// Machine code and lines of the functions at the code addresses, as far as they are worth it.
    pub listings: Listings,
    /// Why there are no names although there is a file.
    pub failure: Option<String>,
    /// Why there are names, but no source lines and no inlined functions.
    pub without_lines: Option<String>,
    /// Where the function of each code address lies.
    #[serde(skip)]
    extents: Vec<Option<CodeExtent>>,
}

/// Where names are that are in no module's own file.
#[derive(Clone, Copy, Debug)]
pub struct DebugFileSources<'a> {
    /// Folders of debug files, before the standard ones.
    pub debug_dirs: &'a [PathBuf],
    /// The kernel's own.
    pub kernel: &'a KernelFiles,
}

/// What reading one result's files may take. Debug information of hundreds of MB is read within that; it takes a second for each
/// 100 MB or so.
const LIMITS: Limits = Limits {
    memory_bytes: 2 << 30,
    stack_bytes: 16 << 20,
    answer_bytes: 256 << 20,
    time_per_item: Duration::from_secs(20),
    time_in_all: Duration::from_secs(120),
    processes: 1,
};

/// What of a module's files may be read.
struct Readable<'a> {
    request: &'a Request,
    depth: Depth,
    /// The file whose debug information is read.
    debug_file: Result<&'a Path, UnreadParts>,
}

/// Names the addresses of every request.
pub fn symbolize(
    requests: &[Request],
    depth: Depth,
    elsewhere: DebugFileSources<'_>,
    progress: &dyn Progress,
) -> Vec<Answer> {
    let mut expansion = Expansion::default();
    let readable: Vec<Readable<'_>> = requests.iter().map(|it| Readable::of(it, depth, &mut expansion)).collect();
    let total = requests.iter().map(Request::len).sum();
    let mut done = 0;
    let mut step = |number: usize| {
        done += requests.get(number).map_or(0, Request::len);
        progress.step("symbols", done, total);
    };
    let mut answers: Vec<Answer> = requests.iter().map(Request::of_memory).collect();
    let in_files = readable.into_iter().enumerate().filter(|(_, readable)| readable.request.is_in_files());
    let mut in_files: Vec<(usize, Readable<'_>)> = in_files.collect();
    // The longest first, or the last one to be begun would be waited for.
    in_files.sort_by_key(|(_, readable)| Reverse(readable.request.len()));
    for (number, answer) in read_all(in_files, elsewhere, &mut step) {
        answers[number] = answer;
    }
    for (answer, request) in answers.iter_mut().zip(requests) {
        // Where the reader gave up, or was taken over.
        answer.code.resize(request.code.len(), Vec::new());
        answer.starts.resize(request.code.len(), None);
        answer.data.resize(request.data.len(), None);
    }
    answers
}

/// Reads files in other processes; what died there once more, without the debug information, which is the more intricate part.
fn read_all(
    mut wanted: Vec<(usize, Readable<'_>)>,
    elsewhere: DebugFileSources<'_>,
    step: &mut dyn FnMut(usize),
) -> Vec<(usize, Answer)> {
    let begun = Instant::now();
    let processes = thread::available_parallelism().map_or(1, usize::from);
    let mut answers = Vec::new();
    let mut reason: Vec<Option<Death>> = vec![None; wanted.len()];
    while !wanted.is_empty() {
        let time_in_all = LIMITS.time_in_all.saturating_sub(begun.elapsed());
        let limits = Limits { processes, time_in_all, ..LIMITS };
        let mut report_progress = |place: usize| step(wanted[place].0);
        let read = dwell_isolate::run(&wanted, &limits, |(_, readable)| readable.read(elsewhere), &mut report_progress);
        let (mut again, mut reasons) = (Vec::new(), Vec::new());
        for (((number, readable), before), read) in wanted.into_iter().zip(reason).zip(read) {
            match read {
                Ok(mut answer) => {
                    answer.without_lines = before.map(|death| death.to_string()).or(answer.without_lines);
                    answers.push((number, answer));
                }
                Err(death) if readable.depth.debug_info && may_be_its_debug_info(death) => {
                    again.push((number, Readable { depth: SYMBOLS, ..readable }));
                    reasons.push(Some(death));
                }
                Err(death) => {
                    let failure = Some(before.unwrap_or(death).to_string());
                    answers.push((number, Answer { failure, ..Answer::default() }));
                }
            }
        }
        (wanted, reason) = (again, reasons);
    }
    answers
}

fn may_be_its_debug_info(death: Death) -> bool {
    matches!(death, Death::Memory(_) | Death::Deadline(_) | Death::Crash)
}

impl Request {
    fn len(&self) -> u64 {
        (self.code.len() + self.data.len()) as u64
    }

    fn is_in_files(&self) -> bool {
        self.len() > 0 && matches!(self.place, SymbolPlace::File(..) | SymbolPlace::Kernel)
    }

    /// The answer of those whose names are in no file.
    fn of_memory(&self) -> Answer {
        let SymbolPlace::Jit(jit) = &self.place else { return Answer::default() };
        let functions = |&address: &u64| jit.functions_at(address);
        Answer { code: self.code.iter().map(functions).collect(), ..Answer::default() }
    }
}

impl<'a> Readable<'a> {
    fn of(request: &'a Request, depth: Depth, expansion: &mut Expansion) -> Self {
        let debug_file = match &request.place {
            SymbolPlace::File(path, debug_file) if request.is_in_files() => {
                usable(path, debug_file.as_deref(), depth, expansion)
            }
            _ => Err(UnreadParts::All(String::new())),
        };
        Self { request, depth, debug_file }
    }

    fn read(&self, elsewhere: DebugFileSources<'_>) -> Answer {
        // A damaged file must cost its own names only.
        let attempt = catch_unwind(AssertUnwindSafe(|| self.answer(elsewhere)));
        attempt.unwrap_or_else(|_| Answer { failure: Some("the reader gave up on it".into()), ..Answer::default() })
    }

    fn answer(&self, DebugFileSources { debug_dirs, kernel }: DebugFileSources<'_>) -> Answer {
        let request = self.request;
        let mut answer = Answer {
            code: vec![Vec::new(); request.code.len()],
            data: vec![None; request.data.len()],
            ..Answer::default()
        };
        match &request.place {
            SymbolPlace::File(path, _) => self.of_file(path, debug_dirs, &mut answer),
            SymbolPlace::Kernel => {
                answer.fill(request, &[SymbolReader::of_kernel(kernel, self.depth, debug_dirs)]);
                if !request.code.is_empty() {
                    KernelMap::read(kernel).complete(&mut answer.code, &request.code);
                }
            }
            SymbolPlace::Jit(_) | SymbolPlace::None => {}
        }
        answer
    }

    fn of_file(&self, path: &Path, debug_dirs: &[PathBuf], answer: &mut Answer) {
        let request = self.request;
        let debug_file = match &self.debug_file {
            Ok(debug_file) => Some(*debug_file),
            Err(UnreadParts::All(why)) => return answer.failure = Some(why.clone()),
            Err(UnreadParts::DebugInformation(why)) => {
                answer.without_lines = Some(why.clone());
                None
            }
        };
        let depth = if debug_file.is_some() { self.depth } else { SYMBOLS };
        let readers: Vec<SymbolReader> = file_readers(path, debug_file, depth, debug_dirs).collect();
        answer.fill(request, &readers);
        answer.fill_from_debug_data(request, path);
        answer.fill_from_go_table(request, path);
        answer.find_starts(request, path);
        if depth.debug_info {
            let debug_file = debug_file.unwrap_or(path);
            qualify(&mut answer.code, &request.code, debug_file, debug_dirs);
            give_scopes(&mut answer.code, &request.code, debug_file);
            answer.list(request, path, &readers);
        }
    }
}

/// The file whose debug information is read: `debug_file`, or `path` itself where that one claims too much. Fails when neither
/// is sound, or nothing of `path` is.
fn usable<'a>(
    path: &'a Path,
    debug_file: Option<&'a Path>,
    depth: Depth,
    expansion: &mut Expansion,
) -> Result<&'a Path, UnreadParts> {
    let own = match expansion.refused(path) {
        Some(UnreadParts::All(why)) => return Err(UnreadParts::All(why)),
        own => own.filter(|_| depth.debug_info),
    };
    let elsewhere = debug_file.filter(|file| expansion.refused(file).is_none());
    match (elsewhere, own) {
        (Some(file), _) => Ok(file),
        (None, None) => Ok(path),
        (None, Some(unread)) => Err(unread),
    }
}

impl Answer {
    fn fill(&mut self, request: &Request, readers: &[SymbolReader]) {
        self.extents.resize(request.code.len(), None);
        for reader in readers {
            let code: Vec<usize> = (0..self.code.len()).filter(|&row| self.code[row].is_empty()).collect();
            let data: Vec<usize> = (0..self.data.len()).filter(|&row| self.data[row].is_none()).collect();
            for rows in code.chunks(BATCH) {
                let addresses: Vec<u64> = rows.iter().map(|&row| request.code[row]).collect();
                let read = reader.read(&addresses, &mut |number, sym| {
                    self.extents[rows[number]] = extent(&sym);
                    self.code[rows[number]] = functions(sym);
                });
                self.note(read);
            }
            for rows in data.chunks(BATCH) {
                let addresses: Vec<u64> = rows.iter().map(|&row| request.data[row]).collect();
                let read = reader.read(&addresses, &mut |number, sym| self.data[rows[number]] = data_symbol(sym));
                self.note(read);
            }
        }
    }

    /// Lists the functions that took time: their code is the file's, the names are those of the best reader.
    fn list(&mut self, request: &Request, path: &Path, readers: &[SymbolReader]) {
        let Some(reader) = readers.first() else { return };
        if !request.shares.is_empty() {
            machine_code::complete(path, &request.code, &mut self.extents);
        }
        let functions = machine_code::worth_listing(&request.shares, &self.extents, &self.code);
        // A listing that cannot be made must not cost the names.
        let listings = catch_unwind(AssertUnwindSafe(|| machine_code::list(path, functions, &FileNames(reader))));
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

    /// Names what is left in a Go program, and gives the lines that no debug information tells.
    fn fill_from_go_table(&mut self, request: &Request, path: &Path) {
        let lacks_line = |functions: &[Function]| matches!(functions, [] | [Function { line: 0, .. }]);
        if !self.code.iter().any(|functions| lacks_line(functions)) {
            return;
        }
        let code = &mut self.code;
        let read = with_go_table(path, |table| {
            for (functions, &address) in code.iter_mut().zip(&request.code).filter(|(row, _)| lacks_line(row)) {
                let Some(found) = function_at(table, address) else { continue };
                match functions.first_mut() {
                    Some(known) => (known.file, known.line) = (found.file, found.line),
                    None => functions.push(found),
                }
            }
        });
        if read.is_some() {
            self.failure = None;
        }
    }

    /// Finds the functions of what has no name by the file's unwind tables, so that their addresses add up.
    fn find_starts(&mut self, request: &Request, path: &Path) {
        self.starts.resize(request.code.len(), None);
        let rows: Vec<usize> = (0..self.code.len()).filter(|&row| self.code[row].is_empty()).collect();
        if rows.is_empty() {
            return;
        }
        let addresses: Vec<u64> = rows.iter().map(|&row| request.code[row]).collect();
        for (row, start) in rows.into_iter().zip(machine_code::function_starts(path, &addresses)) {
            self.starts[row] = start;
        }
    }
}

/// Gives functions without a scope in the debug information the scope of their symbol, if they have one. Inlined functions
/// have no symbol and keep their bare names.
fn qualify(code: &mut [Vec<Function>], addresses: &[u64], path: &Path, debug_dirs: &[PathBuf]) {
    let bare: Vec<usize> =
        (0..code.len()).filter(|&row| code[row].first().is_some_and(|outer| is_bare(&outer.name))).collect();
    let reader = SymbolReader::of_symbol_table(path, debug_dirs);
    for batch in bare.chunks(BATCH) {
        let wanted: Vec<u64> = batch.iter().map(|&row| addresses[row]).collect();
        let read = reader.read(&wanted, &mut |number, symbol| {
            let outer = &mut code[batch[number]][0];
            if let Some(name) = qualified(&outer.name, &symbol.name) {
                outer.name = name;
            }
        });
        if read.is_err() {
            return;
        }
    }
}

/// Gives functions that still have a bare name the scope from the debug information, where that has the same functions.
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
