//! Functions by the names that a user gives them: as the linker knows them, or as C++ and Rust read.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::Path;

use cpp_demangle::{DemangleOptions, Symbol};
use object::{Object as _, ObjectSymbol as _, SymbolFlags};

use crate::elf::Elf;
use crate::error::{Error, Result};

/// More candidates than these help nobody.
const MOST_SHOWN: usize = 6;
/// Similarity from which a name may be a misspelled one.
const SIMILAR: f64 = 0.75;
/// Longest readable name: a mangled one can say that it doubles what it has, again and again.
const MOST_READABLE_BYTES: usize = 64 << 10;

/// A function of a file.
#[derive(Clone, Debug)]
pub struct Function {
    /// The linker's name.
    pub symbol: String,
    /// Link-time address.
    pub address: u64,
    /// Bytes of code, 0 when unknown.
    pub size: u64,
}

/// The functions that the symbol tables of `files` name: a program, and where it is stripped, its debug file.
pub fn functions(files: &[Elf<'_>]) -> Vec<Function> {
    let symbols = files.iter().flat_map(|elf| elf.file.symbols().chain(elf.file.dynamic_symbols()));
    let functions = symbols.filter(|symbol| symbol.is_definition() && is_function(&symbol.flags()));
    let named = functions.filter_map(|symbol| {
        let name = symbol.name().ok().filter(|name| !name.is_empty())?;
        Some(Function { symbol: name.to_owned(), address: symbol.address(), size: symbol.size() })
    });
    named.collect()
}

/// Not one that is chosen at run time (STT_GNU_IFUNC): its symbol is that of the code that chooses.
fn is_function<S, T>(flags: &SymbolFlags<S, T>) -> bool {
    let SymbolFlags::Elf { st_info, .. } = flags else { return false };
    st_info.st_type() == object::elf::STT_FUNC
}

/// The one function called `name`. `file` is named in errors.
pub fn find(functions: &[Function], name: &str, file: &Path) -> Result<Function> {
    let exact: Vec<&Function> = functions.iter().filter(|function| function.symbol == name).collect();
    let found = if exact.is_empty() { by_readable_name(functions, name) } else { exact };
    let mut at: BTreeMap<u64, &Function> = BTreeMap::new();
    for function in found {
        let known = at.entry(function.address).or_insert(function);
        if function.size > known.size {
            *known = function;
        }
    }
    let found: Vec<&Function> = at.into_values().collect();
    match found.as_slice() {
        [] => {
            let nearest = nearest(functions, name);
            Err(Error::NoSuchFunction { name: name.to_owned(), file: file.to_owned(), nearest })
        }
        [only] => Ok((*only).clone()),
        several => {
            let candidates = several.iter().map(|function| unambiguous(functions, function)).collect();
            Err(Error::Ambiguous { name: name.to_owned(), file: file.to_owned(), candidates })
        }
    }
}

/// By the full readable name, else by the one without arguments.
fn by_readable_name<'f>(functions: &'f [Function], name: &str) -> Vec<&'f Function> {
    // Mangled names have the last word of the readable one in them: only these are read.
    let scope = name.split(['(', '<']).next().unwrap_or(name);
    let word = scope.rsplit("::").next().unwrap_or(scope).trim_start_matches('~');
    let read = functions.iter().filter(|function| is_mangled(&function.symbol) && function.symbol.contains(word));
    let read: Vec<_> = read.map(|function| (function, readable(&function.symbol))).collect();
    let with = |is: &dyn Fn(&Readable) -> bool| -> Vec<&'f Function> {
        read.iter().filter(|(_, name)| name.as_ref().is_some_and(is)).map(|(function, _)| *function).collect()
    };
    let full = with(&|readable| readable.full == name);
    if full.is_empty() { with(&|readable| readable.bare == name) } else { full }
}

struct Readable {
    /// With its arguments.
    full: String,
    /// Without.
    bare: String,
}

fn is_mangled(symbol: &str) -> bool {
    symbol.starts_with("_Z") || symbol.starts_with("_R")
}

/// `None` for what the compiler split off a function too: it is no function of its own.
fn readable(symbol: &str) -> Option<Readable> {
    if symbol.contains(".cold") {
        return None;
    }
    if (symbol.starts_with("_R") || symbol.contains("17h"))
        && let Ok(name) = rustc_demangle::try_demangle(symbol)
    {
        let mut readable = Bounded::default();
        write!(readable, "{name:#}").ok()?;
        return Some(Readable { full: readable.0.clone(), bare: readable.0 });
    }
    let parsed = Symbol::new(symbol).ok()?;
    let options = DemangleOptions::new().no_return_type();
    let (mut full, mut bare) = (Bounded::default(), Bounded::default());
    parsed.structured_demangle(&mut full, &options).ok()?;
    parsed.structured_demangle(&mut bare, &options.no_params()).ok()?;
    Some(Readable { full: full.0, bare: bare.0.trim_end_matches(" const").to_owned() })
}

/// A text that takes no more than [`MOST_READABLE_BYTES`].
#[derive(Default)]
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.len() > MOST_READABLE_BYTES - self.0.len() {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// What stands for this function alone.
fn unambiguous(functions: &[Function], function: &Function) -> String {
    let shared = functions.iter().any(|other| other.symbol == function.symbol && other.address != function.address);
    if shared { format!("+{:#x}", function.address) } else { function.symbol.clone() }
}

fn nearest(functions: &[Function], name: &str) -> Vec<String> {
    let likeness = |function: &Function| {
        let shown = shown(&function.symbol);
        let whole = strsim::normalized_damerau_levenshtein(&shown, name);
        let contains = shown.contains(name) || (shown.len() > 3 && name.contains(&shown));
        (if contains { whole.max(SIMILAR) } else { whole }, shown)
    };
    // Names of very different length cannot be alike; a name that has the other in it can.
    let may_be = |function: &&Function| {
        function.symbol.len().abs_diff(name.len()) <= 2 + name.len() / 3 || function.symbol.contains(name)
    };
    let mut like: Vec<(f64, String)> =
        functions.iter().filter(may_be).map(likeness).filter(|(likeness, _)| *likeness >= SIMILAR).collect();
    like.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    like.dedup_by(|a, b| a.1 == b.1);
    like.into_iter().take(MOST_SHOWN).map(|(_, name)| name).collect()
}

fn shown(symbol: &str) -> String {
    let readable = if is_mangled(symbol) { readable(symbol) } else { None };
    readable.map_or_else(|| symbol.to_owned(), |readable| readable.bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: &[(&str, u64)]) -> Vec<Function> {
        let function =
            |(symbol, address): &(&str, u64)| Function { symbol: (*symbol).into(), address: *address, size: 8 };
        entries.iter().map(function).collect()
    }

    fn address(functions: &[Function], name: &str) -> Result<u64> {
        find(functions, name, Path::new("app")).map(|function| function.address)
    }

    /// Types, each with the one before for both of its template arguments.
    #[test]
    fn a_name_that_doubles_what_it_has_is_none_to_be_read() {
        let reference = |turn: u32| char::from_digit(turn, 36).expect("a digit").to_ascii_uppercase();
        let types = |count: u32| -> String {
            (0..count).map(|turn| format!("2t{}IS{1}_S{1}_E", turn % 10, reference(2 * turn))).collect()
        };
        let bare = |count| readable(&format!("_Z1fI1A{}Evv", types(count))).map(|name| name.bare);
        assert_eq!(bare(1).as_deref(), Some("f<A, t0<A, A> >"));
        assert_eq!(bare(17), None);
    }

    #[test]
    fn functions_are_found_by_every_name_that_they_have() {
        let all = table(&[
            ("parse", 16),
            ("_ZN4http5parseEi", 32),
            ("_ZN4http5parseEd", 48),
            ("_ZN4http5parseEi.cold", 64),
            ("_ZN4http4readEv", 80),
            ("_ZN3app4main17h0123456789abcdefE", 96),
        ]);
        assert_eq!(address(&all, "parse").unwrap(), 16);
        assert_eq!(address(&all, "http::parse(int)").unwrap(), 32);
        assert_eq!(address(&all, "http::read").unwrap(), 80);
        assert_eq!(address(&all, "app::main").unwrap(), 96);
        let Err(Error::Ambiguous { candidates, .. }) = address(&all, "http::parse") else { panic!() };
        assert_eq!(candidates, ["_ZN4http5parseEi", "_ZN4http5parseEd"]);
    }

    #[test]
    fn aliases_are_one_function_and_namesakes_are_not() {
        let all = table(&[("begin", 16), ("begin", 16), ("start", 16), ("local", 32), ("local", 48)]);
        assert_eq!(address(&all, "begin").unwrap(), 16);
        let Err(Error::Ambiguous { candidates, .. }) = address(&all, "local") else { panic!() };
        assert_eq!(candidates, ["+0x20", "+0x30"]);
    }

    #[test]
    fn a_misspelled_name_has_near_ones() {
        let all = table(&[("parse_request", 16), ("_ZN4http4readEv", 32), ("main", 48)]);
        let Err(Error::NoSuchFunction { nearest, .. }) = address(&all, "parse_reqest") else { panic!() };
        assert_eq!(nearest, ["parse_request"]);
        let Err(Error::NoSuchFunction { nearest, .. }) = address(&all, "zzz") else { panic!() };
        assert!(nearest.is_empty());
    }
}
