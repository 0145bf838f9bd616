//! Names for code that is met little by little, as an instruction trace meets it: files stay open between the questions.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use blazesym::symbolize::Input;

use crate::code::demangle::readable;
use crate::code::files::claims_too_much;
use crate::code::symbol_reader::{Depth, SymbolReader, file_readers};

/// Names of functions in files.
#[derive(Default)]
pub struct CodeNames {
    files: HashMap<PathBuf, Vec<SymbolReader>>,
}

impl CodeNames {
    /// The demangled name of the function at each offset in the file, as far as its symbols or its debug file tell. A file that
    /// cannot be read has no names.
    pub fn names(&mut self, file: &Path, offsets: &[u64]) -> Vec<Option<String>> {
        self.look_up(file, offsets, |offsets| Input::FileOffset(offsets))
    }

    /// The same by the addresses that the file was linked for.
    pub fn names_by_address(&mut self, file: &Path, addresses: &[u64]) -> Vec<Option<String>> {
        self.look_up(file, addresses, |addresses| Input::VirtOffset(addresses))
    }

    fn look_up(&mut self, file: &Path, offsets: &[u64], input: fn(&[u64]) -> Input<&[u64]>) -> Vec<Option<String>> {
        let readers = self.files.entry(file.to_owned()).or_insert_with(|| readers(file));
        let mut names = vec![None; offsets.len()];
        for reader in readers {
            let rows: Vec<usize> = (0..names.len()).filter(|&row| names[row].is_none()).collect();
            if rows.is_empty() {
                break;
            }
            let wanted: Vec<u64> = rows.iter().map(|&row| offsets[row]).collect();
            // A damaged file must cost its own names only.
            let found = catch_unwind(AssertUnwindSafe(|| reader.names_at(input(&wanted))));
            for (row, name) in rows.into_iter().zip(found.unwrap_or_default()) {
                names[row] = name.map(readable);
            }
        }
        names
    }
}

/// The symbol table first: it is quick, and tells what a profile needs.
fn readers(file: &Path) -> Vec<SymbolReader> {
    if !file.is_file() || claims_too_much(file).is_some() {
        return Vec::new();
    }
    let depth = Depth { debug_info: true, inlines: false };
    let mut readers: Vec<SymbolReader> = file_readers(file, None, depth, &[]).collect();
    readers.reverse();
    readers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_this_program_has_its_name() {
        let program = std::env::current_exe().unwrap();
        let place = a_function_of_this_program_has_its_name as fn() as usize as u64;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let offset = maps.lines().find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (start, end) = words[0].split_once('-')?;
            let number = |text: &str| u64::from_str_radix(text, 16).ok();
            (number(start)?..number(end)?).contains(&place).then_some(place - number(start)? + number(words[2])?)
        });
        let names = CodeNames::default().names(&program, &[offset.unwrap(), u64::MAX]);
        assert!(names[0].as_ref().is_some_and(|name| name.contains("has_its_name")), "{names:?}");
        assert_eq!(names[1], None);
    }

    #[test]
    fn what_is_no_program_has_no_names() {
        assert_eq!(CodeNames::default().names(Path::new("/etc/passwd"), &[0]), [None]);
        assert_eq!(CodeNames::default().names(Path::new("/none"), &[0]), [None]);
    }
}
