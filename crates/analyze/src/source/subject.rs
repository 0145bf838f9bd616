//! What was asked for: a function in a module, or a source file.

use std::collections::{BTreeMap, BTreeSet};

use dwell_model::ModuleId;
use dwell_query::question::error::QueryError;
use dwell_store::{CodeTables, Trace};
use dwell_view::{Sentence, glob};

use crate::sentences::say;
use crate::source::asked::SourceQuery;

/// Most names that an error lists.
const MOST_CHOICES: usize = 8;

/// A function or a file.
pub struct Subject {
    /// Name of the function, or path of the file.
    pub name: String,
    /// The function's module; of a file, none.
    pub module: ModuleId,
    /// Whether it is a file.
    pub is_file: bool,
    /// Addresses of a function without a symbol, whose frames are named by their addresses.
    pub nameless: Option<std::ops::Range<u64>>,
}

impl Subject {
    /// Whether code of `function` from `file` in `module` is part of it.
    pub fn has(&self, function: &str, module: ModuleId, file: &str) -> bool {
        if self.is_file { self.name == file } else { self.module == module && self.name == function }
    }

    /// Whether frame `row` is of it.
    pub fn has_frame(&self, trace: &Trace, row: usize) -> bool {
        let frames = &trace.frames;
        match &self.nameless {
            Some(addresses) => self.module == frames.module[row] && addresses.contains(&frames.offset[row]),
            None => self.has(&frames.function[row], frames.module[row], &frames.file[row]),
        }
    }

    /// Why there is nothing to show of it: what follows a colon.
    pub fn missing(&self, trace: &Trace, tables: &CodeTables) -> Sentence {
        let Some(path) = self.module.get().and_then(|row| trace.modules.path.get(row)) else {
            return say!(CODE_MADE);
        };
        let frames = &trace.frames;
        let interpreted = |row: usize| frames.script[row] && self.has_frame(trace, row);
        if (0..frames.function.len()).any(interpreted) {
            return say!(CODE_INTERPRETED);
        }
        if path == "[kernel]" {
            return say!(CODE_OF_KERNEL);
        }
        match tables.code.module.contains(&self.module) {
            true => say!(CODE_NOT_KEPT, path = path.as_str()),
            false => say!(CODE_NOT_READ, path = path.as_str()),
        }
    }
}

/// Every function with its module: those on stacks, those listed, and those inlined into them.
fn functions<'t>(trace: &'t Trace, tables: &'t CodeTables) -> BTreeSet<(&'t str, ModuleId)> {
    let frames = trace.frames.function.iter().map(String::as_str).zip(trace.frames.module.iter().copied());
    let listed = (0..tables.code.bytes.len()).filter(|&row| !tables.code.bytes[row].is_empty());
    let listed = listed.map(|row| (tables.code.function[row].as_str(), tables.code.module[row]));
    let module_of = |code: &dwell_model::CodeId| code.get().map_or(ModuleId::NONE, |row| tables.code.module[row]);
    let inlined = tables.inlines.function.iter().map(String::as_str).zip(tables.inlines.code.iter().map(module_of));
    frames.chain(listed).chain(inlined).collect()
}

/// Finds what `asked` names. Fails when there is none or more than one.
pub fn find(trace: &Trace, tables: &CodeTables, asked: &SourceQuery) -> Result<Subject, QueryError> {
    if asked.whole_file {
        let name = one_file(trace, tables, &asked.name)?;
        return Ok(Subject { name, module: ModuleId::NONE, is_file: true, nameless: None });
    }
    let functions = functions(trace, tables);
    let path = |module: ModuleId| module.get().and_then(|row| trace.modules.path.get(row)).map_or("", String::as_str);
    let in_module = |module: &ModuleId| asked.module.as_ref().is_none_or(|wanted| path_matches(wanted, path(*module)));
    let matching = |wanted: &dyn Fn(&str) -> bool| -> Vec<(&str, ModuleId)> {
        functions.iter().filter(|(name, module)| wanted(name) && in_module(module)).copied().collect()
    };
    let mut found = matching(&|name| name == asked.name);
    if found.is_empty() {
        found = matching(&|name| glob(&asked.name, name));
        // Of all that match, the ones that threads were in are more likely meant than what was only inlined somewhere.
        let frames = trace.frames.function.iter().map(String::as_str).zip(trace.frames.module.iter().copied());
        let on_stacks: BTreeSet<(&str, ModuleId)> = frames.collect();
        if found.iter().any(|function| on_stacks.contains(function)) {
            found.retain(|function| on_stacks.contains(function));
        }
    }
    if found.is_empty()
        && let Some((file, line)) = file_and_line(&asked.name)
    {
        found = at_line(trace, tables, file, line).into_iter().filter(|(_, module)| in_module(module)).collect();
    }
    match found.as_slice() {
        [] => Err(unknown(trace, asked, &functions)),
        [(name, module)] => Ok(function(tables, name, *module)),
        several => Err(ambiguous(asked, several, &path)),
    }
}

fn function(tables: &CodeTables, name: &str, module: ModuleId) -> Subject {
    let named = Subject { name: name.to_owned(), module, is_file: false, nameless: None };
    // `[libz.so.1]+0x1234`: the function without a symbol that this address is in.
    let address = name.rsplit_once("]+0x").and_then(|(_, digits)| u64::from_str_radix(digits, 16).ok());
    let code = &tables.code;
    let holds = |row: usize, address: u64| {
        code.module[row] == module && address.wrapping_sub(code.address[row]) < code.bytes[row].len() as u64
    };
    let row = address.and_then(|address| (0..code.bytes.len()).find(|&row| holds(row, address)));
    match row {
        Some(row) if code.function[row].starts_with('[') => {
            let end = code.address[row].saturating_add(code.bytes[row].len() as u64);
            Subject { name: code.function[row].clone(), nameless: Some(code.address[row]..end), ..named }
        }
        _ => named,
    }
}

fn unknown(trace: &Trace, asked: &SourceQuery, functions: &BTreeSet<(&str, ModuleId)>) -> QueryError {
    let modules = || trace.modules.path.iter().map(String::as_str);
    match &asked.module {
        Some(module) if !modules().any(|path| path_matches(module, path)) => {
            QueryError::unknown("module", module, modules())
        }
        _ => QueryError::unknown("function", &asked.name, functions.iter().map(|(name, _)| *name)),
    }
}

fn ambiguous<'t>(
    asked: &SourceQuery,
    several: &[(&'t str, ModuleId)],
    path: &dyn Fn(ModuleId) -> &'t str,
) -> QueryError {
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, module) in several {
        names.entry(name).or_default().push(path(*module));
    }
    let by_module = names.len() == 1;
    let mut choices: Vec<String> = match names.first_key_value() {
        Some((_, modules)) if by_module => modules.iter().map(|module| (*module).to_owned()).collect(),
        _ => names.keys().map(|name| (*name).to_owned()).collect(),
    };
    let more = choices.len().saturating_sub(MOST_CHOICES);
    choices.truncate(MOST_CHOICES);
    QueryError::Ambiguous { name: asked.name.clone(), choices, more, by_module }
}

/// `main.c:42` as file and line.
fn file_and_line(text: &str) -> Option<(&str, u32)> {
    let (file, line) = text.rsplit_once(':')?;
    Some((file, line.parse().ok()?)).filter(|(file, _)| !file.is_empty())
}

/// The functions with code at a line: of several that a line is inlined through, the one that the line is in.
fn at_line<'t>(trace: &'t Trace, tables: &'t CodeTables, file: &str, line: u32) -> BTreeSet<(&'t str, ModuleId)> {
    let frames = &trace.frames;
    let of_frames = (0..frames.line.len())
        .filter(|&row| frames.line[row] == line && path_matches(file, &frames.file[row]))
        .map(|row| (frames.function[row].as_str(), frames.module[row]));
    let (lines, code) = (&tables.lines, &tables.code);
    let is_file = |source: dwell_model::SourceId| {
        source.get().and_then(|row| tables.sources.path.get(row)).is_some_and(|path| path_matches(file, path))
    };
    let of_lines = (0..lines.line.len()).filter(|&row| lines.line[row] == line && is_file(lines.file[row]));
    let of_lines = of_lines.filter_map(|row| {
        let code_row = lines.code[row].get()?;
        let inlined = lines.inline[row].get().and_then(|inline| tables.inlines.function.get(inline));
        Some((inlined.unwrap_or(code.function.get(code_row)?).as_str(), code.module[code_row]))
    });
    of_frames.chain(of_lines).collect()
}

/// The one file of which `wanted` is the path or its end.
fn one_file(trace: &Trace, tables: &CodeTables, wanted: &str) -> Result<String, QueryError> {
    let known =
        trace.frames.file.iter().chain(&tables.sources.path).map(String::as_str).filter(|path| !path.is_empty());
    let known: BTreeSet<&str> = known.collect();
    let found: Vec<&str> = known.iter().copied().filter(|path| path_matches(wanted, path)).collect();
    match found.as_slice() {
        [] => Err(QueryError::unknown("source file", wanted, known)),
        [path] => Ok((*path).to_owned()),
        several => Err(QueryError::Ambiguous {
            name: wanted.to_owned(),
            choices: several.iter().take(MOST_CHOICES).map(|path| (*path).to_owned()).collect(),
            more: several.len().saturating_sub(MOST_CHOICES),
            by_module: false,
        }),
    }
}

/// A path is given whole, by its last parts, or with `*`.
fn path_matches(wanted: &str, path: &str) -> bool {
    let wanted = wanted.strip_prefix("./").unwrap_or(wanted);
    glob(wanted, path) || path.strip_suffix(wanted).is_some_and(|rest| rest.ends_with('/'))
}
