//! What source files import of one another.
//!
//! An import is a path to something that another file declares: re-exports are followed to it, `mod` alone imports nothing. What
//! only tests have is left out: they may import what they test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Files, and the files that each imports.
pub type Imports = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

/// A module's path from its crate's root; the root's is empty.
type Module = Vec<String>;

/// A Rust file: what its paths lead to before re-exports are followed.
#[derive(Default)]
struct Source {
    file: PathBuf,
    /// Paths from the crate's root that its code names.
    named: Vec<Vec<String>>,
    /// Names that its `use` declarations bring in, with their paths; `*` is a name of several.
    brought: Vec<(String, Vec<String>)>,
    /// Its modules that have a file.
    children: Vec<String>,
}

/// What the files of the crate whose root is `root` import of one another.
///
/// # Errors
///
/// A file that cannot be read, or is not Rust.
pub fn of_crate(root: &Path) -> Result<Imports> {
    let mut sources = BTreeMap::new();
    read_module(root.to_owned(), &root.with_file_name(""), Vec::new(), &mut sources)?;
    let mut imports = Imports::new();
    for (module, source) in &sources {
        let to = imports.entry(source.file.clone()).or_default();
        for path in &source.named {
            for found in declared_by(path, &sources, 0) {
                if found != *module {
                    to.insert(sources[&found].file.clone());
                }
            }
        }
    }
    Ok(imports)
}

fn read_module(file: PathBuf, folder: &Path, module: Module, sources: &mut BTreeMap<Module, Source>) -> Result<()> {
    let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    let tokens: TokenStream = text.parse().map_err(|error| anyhow::anyhow!("{}: {error}", file.display()))?;
    let mut source = Source { file, ..Source::default() };
    Reader { module: &module, inner: Vec::new(), source: &mut source }.read(tokens);
    for child in source.children.clone() {
        let path: Module = module.iter().cloned().chain([child.clone()]).collect();
        let beside = folder.join(format!("{child}.rs"));
        let (file, folder) =
            (if beside.exists() { beside } else { folder.join(&child).join("mod.rs") }, folder.join(&child));
        read_module(file, &folder, path, sources)?;
    }
    sources.insert(module, source);
    Ok(())
}

/// The modules that declare what a path names.
fn declared_by(path: &[String], sources: &BTreeMap<Module, Source>, depth: usize) -> Vec<Module> {
    // The longest part that is a module with a file.
    let Some(length) = (0..=path.len()).rev().find(|&length| sources.contains_key(&path[..length])) else {
        return Vec::new();
    };
    let (module, rest) = path.split_at(length);
    let Some(name) = rest.first().filter(|_| depth < 16) else { return Vec::new() };
    let source = &sources[module];
    if name == "*" {
        return vec![module.to_vec()];
    }
    for (brought, from) in &source.brought {
        if brought == name && from[..] != *path {
            let whole: Vec<String> = from.iter().chain(&rest[1..]).cloned().collect();
            return declared_by(&whole, sources, depth + 1);
        }
    }
    vec![module.to_vec()]
}

struct Reader<'a> {
    module: &'a Module,
    /// Modules without a file, in which it is.
    inner: Vec<String>,
    source: &'a mut Source,
}

impl Reader<'_> {
    fn read(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        self.read_declarations(&tokens);
        self.read_paths(&tokens);
    }

    /// `mod name;` and `use …;` of the file itself, but those of tests.
    fn read_declarations(&mut self, tokens: &[TokenTree]) {
        let mut at = 0;
        while at < tokens.len() {
            if let Some(end) = end_of_test_item(tokens, at) {
                at = end;
                continue;
            }
            if word(tokens, at) == "mod" && punctuation(tokens, at + 2) == Some(';') {
                self.source.children.push(word(tokens, at + 1));
                at += 2;
            } else if word(tokens, at) == "use" {
                let mut tree = Vec::new();
                at = read_tree(tokens, at + 1, &[], &mut tree);
                for (name, path) in tree {
                    if let Some(path) = self.whole(&path) {
                        self.source.brought.push((name, path));
                    }
                }
            } else {
                at += 1;
            }
        }
    }

    /// Paths that begin with `crate`, `super` or `self`, with a module that is a child, or with a name that was brought in.
    fn read_paths(&mut self, tokens: &[TokenTree]) {
        let mut at = 0;
        while at < tokens.len() {
            let skipped = end_of_test_item(tokens, at).or_else(|| end_of_re_export(tokens, at));
            if let Some(end) = skipped {
                at = end;
            } else if let TokenTree::Group(group) = &tokens[at] {
                // `super` in an inner module is this one.
                let is_module = at > 1 && word(tokens, at - 2) == "mod";
                self.inner.extend(is_module.then(|| word(tokens, at - 1)));
                self.read_paths(&tokens_of(group));
                if is_module {
                    self.inner.pop();
                }
                at += 1;
            } else if is_begin_of_path(tokens, at) {
                let mut tree = Vec::new();
                at = read_tree(tokens, at, &[], &mut tree).max(at + 1);
                let named = tree.iter().filter_map(|(_, path)| self.whole(path)).collect::<Vec<_>>();
                self.source.named.extend(named);
            } else {
                at += 1;
            }
        }
    }

    /// A path of the file, from the crate's root; `None` if it leads to another crate.
    fn whole(&self, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let here: Module = self.module.iter().chain(&self.inner).cloned().collect();
        let mut whole: Module = match first.as_str() {
            "crate" => Vec::new(),
            "self" => here,
            "super" => here.split_last()?.1.to_vec(),
            name if self.source.children.iter().any(|it| it == name) => {
                self.module.iter().cloned().chain([name.to_owned()]).collect()
            }
            name => self.source.brought.iter().find(|(it, _)| it == name)?.1.clone(),
        };
        for name in rest {
            if name == "super" {
                whole.pop();
            } else {
                whole.push(name.clone());
            }
        }
        Some(whole)
    }
}

/// Reads a path with its groups: what it is called at its ends, and the paths there. Returns where it ends.
fn read_tree(tokens: &[TokenTree], mut at: usize, before: &[String], found: &mut Vec<(String, Vec<String>)>) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(name)) => path.push(name.to_string()),
            Some(TokenTree::Punct(it)) if it.as_char() == '*' => path.push("*".into()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner = tokens_of(group);
                let mut inside = 0;
                while inside < inner.len() {
                    inside = read_tree(&inner, inside, &path, found).max(inside + 1);
                    while inside < inner.len() && punctuation(&inner, inside) != Some(',') {
                        inside += 1;
                    }
                    inside += 1;
                }
                return at + 1;
            }
            _ => break,
        }
        at += 1;
        if !is_path_mark(tokens, at) {
            break;
        }
        // Not the type arguments in `Vec::<T>`.
        if punctuation(tokens, at + 2) == Some('<') {
            break;
        }
        at += 2;
    }
    if path.last().is_some_and(|it| it == "self") {
        path.pop();
    }
    let Some(last) = path.last().cloned() else { return at };
    let renamed = word(tokens, at) == "as";
    let name = if renamed { word(tokens, at + 1) } else { last };
    found.push((name, path));
    if renamed { at + 2 } else { at }
}

fn tokens_of(group: &Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}

fn is_begin_of_path(tokens: &[TokenTree], at: usize) -> bool {
    let is_behind_mark = at >= 2 && is_path_mark(tokens, at - 2);
    !word(tokens, at).is_empty() && !is_behind_mark && is_path_mark(tokens, at + 1)
}

/// Where a `pub use` ends, if one begins here: whoever uses what it names imports the file that declares that.
fn end_of_re_export(tokens: &[TokenTree], at: usize) -> Option<usize> {
    let is_scope = matches!(tokens.get(at + 1), Some(TokenTree::Group(_)));
    let is_use = word(tokens, at) == "pub" && word(tokens, at + if is_scope { 2 } else { 1 }) == "use";
    is_use.then(|| (at..tokens.len()).find(|&end| punctuation(tokens, end) == Some(';')).unwrap_or(tokens.len()))
}

/// Where an item ends that only tests have, if one begins here.
fn end_of_test_item(tokens: &[TokenTree], at: usize) -> Option<usize> {
    let TokenTree::Group(attribute) = tokens.get(at + 1)? else { return None };
    let is_test =
        punctuation(tokens, at) == Some('#') && attribute.stream().to_string().replace(' ', "") == "cfg(test)";
    if !is_test {
        return None;
    }
    let is_end = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(it) => it.as_char() == ';',
        _ => false,
    };
    // Braces of `use a::{b, c};` end nothing.
    let is_use = tokens[at + 2..].iter().take(3).any(|it| it.to_string() == "use");
    let mut end = at + 2;
    while end < tokens.len() && (!is_end(&tokens[end]) || is_use && punctuation(tokens, end) != Some(';')) {
        end += 1;
    }
    Some(end + 1)
}

fn word(tokens: &[TokenTree], at: usize) -> String {
    match tokens.get(at) {
        Some(TokenTree::Ident(name)) => name.to_string(),
        _ => String::new(),
    }
}

fn punctuation(tokens: &[TokenTree], at: usize) -> Option<char> {
    match tokens.get(at) {
        Some(TokenTree::Punct(it)) => Some(it.as_char()),
        _ => None,
    }
}

fn is_path_mark(tokens: &[TokenTree], at: usize) -> bool {
    punctuation(tokens, at) == Some(':') && punctuation(tokens, at + 1) == Some(':')
}

/// What the C sources of a folder include of one another.
///
/// # Errors
///
/// A file that cannot be read.
pub fn of_c_sources(folder: &Path) -> Result<Imports> {
    let mut imports = Imports::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let file = entry?.path();
        let text = fs::read_to_string(&file)?;
        let included = text.lines().filter_map(|line| line.trim().strip_prefix("#include \"")?.split('"').next());
        let included = included.map(|name| folder.join(name)).filter(|file| file.exists()).collect();
        imports.insert(file, included);
    }
    Ok(imports)
}

/// The circles: groups of files of which each leads to each other.
pub fn circles(imports: &Imports) -> Vec<Vec<&PathBuf>> {
    let reach: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        imports.keys().map(|file| (file, reached_from(file, imports))).collect();
    let mut found: BTreeSet<Vec<&PathBuf>> = BTreeSet::new();
    for file in imports.keys().filter(|file| reach[file].contains(file)) {
        found.insert(
            imports.keys().filter(|other| reach[file].contains(other) && reach[other].contains(file)).collect(),
        );
    }
    found.into_iter().collect()
}

/// All files that a file imports, and that these import, and so on.
fn reached_from<'a>(file: &'a PathBuf, imports: &'a Imports) -> BTreeSet<&'a PathBuf> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&PathBuf> = vec![file];
    while let Some(file) = open.pop() {
        for next in imports.get(file).into_iter().flatten() {
            if found.insert(next) {
                open.push(next);
            }
        }
    }
    found
}
