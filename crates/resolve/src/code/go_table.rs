//! Names and lines of Go code, from the table that Go's own tracebacks use. Distributions strip their programs, so that nothing else
//! names a function there.

use std::path::Path;

use dwell_files::BoundedFile;
use dwell_pclntab::{CodeValue, FunctionTable};

use crate::code::files::MOST_ELF_BYTES;
use crate::code::function::Function;

/// Longest name, and longest path, that is taken.
const MOST_NAME_BYTES: usize = 4096;

/// Calls `look` with the table of a file, where it is a Go program's that is understood.
pub fn with_go_table(path: &Path, look: impl FnOnce(&FunctionTable<'_>)) -> Option<()> {
    let bytes = BoundedFile::open(path, MOST_ELF_BYTES).ok()?;
    let elf = object::File::parse(&bytes).ok()?;
    look(&FunctionTable::of_file(&elf)?);
    Some(())
}

/// The function at an address of the file, with the line.
pub fn function_at(table: &FunctionTable<'_>, address: u64) -> Option<Function> {
    let function = table.function_at(address)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let name = table.name(function, MOST_NAME_BYTES).filter(|name| !name.is_empty()).map(text)?;
    let line = table.value_at(function, CodeValue::Line, address).and_then(|line| u32::try_from(line).ok());
    let file = table.file_at(function, address, MOST_NAME_BYTES).map(text);
    Some(Function { name, file: file.unwrap_or_default(), line: line.unwrap_or(0) })
}
