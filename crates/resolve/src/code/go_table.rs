//! Names and lines of Go code, from the table that Go's own tracebacks use (`.gopclntab`): it is in every Go binary, stripped or
//! not. Distributions strip theirs, so that nothing else names a function there.
//!
//! Layout of Go 1.18 and later (`src/debug/gosym/pclntab.go`, `src/runtime/symtab.go`); an older one gives no names.

use std::path::Path;

use dwell_files::BoundedFile;
use object::{Object, ObjectSection, ObjectSymbol, ReadRef};

use crate::code::files::MOST_ELF_BYTES;
use crate::code::function::Function;

const MAGIC_1_18: u32 = 0xffff_fff0;
const MAGIC_1_20: u32 = 0xffff_fff1;
/// What the table is called: in position-independent programs it is relocated.
const SECTIONS: [&str; 2] = [".gopclntab", ".data.rel.ro.gopclntab"];
/// Longest name, and longest path, that is taken.
const MOST_NAME_BYTES: usize = 4096;
/// Steps through a function's lines, at most; the longest functions have some ten thousand.
const MOST_STEPS: usize = 1 << 20;

/// The table of one file.
pub struct GoTable {
    bytes: Vec<u8>,
    text: u64,
    count: usize,
    names: usize,
    units: usize,
    files: usize,
    values: usize,
    functions: usize,
}

impl GoTable {
    /// The table of a file; none when it is no Go program, or one that is not understood.
    pub fn read(path: &Path) -> Option<Self> {
        let bytes = BoundedFile::open(path, MOST_ELF_BYTES).ok()?;
        let elf = object::File::parse(&bytes).ok()?;
        let section = SECTIONS.iter().find_map(|name| elf.section_by_name(name))?;
        Self::parse(section.data().ok()?.to_vec(), || text_of(&elf))
    }

    fn parse(bytes: Vec<u8>, text_of: impl FnOnce() -> Option<u64>) -> Option<Self> {
        let understood = matches!(u32_at(&bytes, 0)?, MAGIC_1_18 | MAGIC_1_20) && bytes.get(6..8)? == [1, 8];
        let word = |number: usize| usize::try_from(u64_at(&bytes, 8 + 8 * number)?).ok();
        let (count, functions) = (word(0)?, word(7)?);
        let fits = count.checked_mul(8)?.checked_add(functions)?.checked_add(4)? <= bytes.len();
        let (names, units, files, values) = (word(3)?, word(4)?, word(5)?, word(6)?);
        // Go 1.26 and position-independent programs do not write it here.
        let text = match u64_at(&bytes, 24)? {
            0 => text_of()?,
            text => text,
        };
        (understood && fits).then_some(Self { text, count, names, units, files, values, functions, bytes })
    }

    /// The function at an address of the file, with the line.
    pub fn find(&self, address: u64) -> Option<Function> {
        let offset = u32::try_from(address.checked_sub(self.text)?).ok()?;
        let number = self.function_at(offset)?;
        let entry = self.entry(number)?;
        let place = self.functions.checked_add(u32_at(&self.bytes, self.functions + 8 * number + 4)? as usize)?;
        let field = |number: usize| u32_at(&self.bytes, place.checked_add(4 * number)?);
        let name = self.text_at(self.names.checked_add(field(1)? as usize)?)?;
        if name.is_empty() {
            return None;
        }
        let line = self.value(field(6)?, entry, offset).and_then(|line| u32::try_from(line).ok());
        let file = || {
            let of_unit = usize::try_from(self.value(field(5)?, entry, offset)?).ok()?;
            let entry = self.units.checked_add(4 * (field(8)? as usize).checked_add(of_unit)?)?;
            self.text_at(self.files.checked_add(u32_at(&self.bytes, entry)? as usize)?)
        };
        Some(Function { name, file: file().unwrap_or_default(), line: line.unwrap_or(0) })
    }

    /// Where a function begins, from the text's start.
    fn entry(&self, number: usize) -> Option<u32> {
        u32_at(&self.bytes, self.functions + 8 * number)
    }

    /// The last function that begins at `offset` or before; the table's end is the end of the last one.
    fn function_at(&self, offset: u32) -> Option<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entry(middle)? <= offset { low = middle + 1 } else { high = middle }
        }
        let number = low.checked_sub(1)?;
        (offset < self.entry(self.count)?).then_some(number)
    }

    /// The value that a table of a function has at `offset`: pairs of changes of the value and lengths of code.
    fn value(&self, table: u32, entry: u32, offset: u32) -> Option<i32> {
        let mut at = self.values.checked_add(table as usize).filter(|_| table != 0)?;
        let (mut value, mut behind) = (-1_i32, entry);
        for _ in 0..MOST_STEPS {
            let delta = varint(&self.bytes, &mut at)?;
            if delta == 0 && behind != entry {
                return None;
            }
            value = value.checked_add((delta >> 1).cast_signed() ^ -(delta & 1).cast_signed())?;
            behind = behind.checked_add(varint(&self.bytes, &mut at)?)?;
            if offset < behind {
                return Some(value);
            }
        }
        None
    }

    fn text_at(&self, start: usize) -> Option<String> {
        let rest = self.bytes.get(start..)?;
        let text = rest.get(..MOST_NAME_BYTES).unwrap_or(rest).split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

fn text_of<'data, R: ReadRef<'data>>(elf: &object::File<'data, R>) -> Option<u64> {
    let symbol = elf.symbols().find(|symbol| symbol.name_bytes() == Ok(b"runtime.text"));
    let of_section = || elf.section_by_name(".text").filter(|_| elf.section_by_name(".init").is_none());
    symbol.map(|symbol| symbol.address()).or_else(|| of_section().map(|section| section.address()))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at.checked_add(8)?)?.try_into().ok().map(u64::from_le_bytes)
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let mut value = 0_u32;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: u64 = 0x40_1000;

    /// A table of two functions of 64 bytes: `main.first` in `a.go`, whose second half is line 12, and `main.second`.
    fn table() -> Vec<u8> {
        let mut bytes = MAGIC_1_20.to_le_bytes().to_vec();
        bytes.extend([0, 0, 1, 8]);
        let (names, units, files, values) = (72_u64, 100_u64, 104_u64, 112_u64);
        let functions = 128_u64;
        for word in [2, 1, TEXT, names, units, files, values, functions] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(b"main.first\0main.second\0");
        bytes.resize(100, 0);
        bytes.extend(0_u32.to_le_bytes()); // the unit's only file
        bytes.extend(b"a.go\0");
        bytes.resize(112, 0);
        bytes.extend([0, 2, 64, 0, 22, 32, 4, 32, 0]); // at 1: file 0; at 4: line 10, then 12
        bytes.resize(128, 0);
        let place = |number: u32| 20 + 44 * number;
        for (start, number) in [(0_u32, 0), (64, 1)] {
            bytes.extend(start.to_le_bytes());
            bytes.extend(place(number).to_le_bytes());
        }
        bytes.extend(128_u32.to_le_bytes());
        for (start, name) in [(0_u32, 0_u32), (64, 11)] {
            for field in [start, name, 0, 0, 0, 1, 4, 0, 0, 0, 0] {
                bytes.extend(field.to_le_bytes());
            }
        }
        bytes
    }

    fn found(table: &GoTable, address: u64) -> Option<(String, String, u32)> {
        table.find(address).map(|function| (function.name, function.file, function.line))
    }

    #[test]
    fn functions_have_names_files_and_lines() {
        let table = GoTable::parse(table(), || None).unwrap();
        let first = |line| Some(("main.first".to_owned(), "a.go".to_owned(), line));
        assert_eq!((found(&table, TEXT), found(&table, TEXT + 40)), (first(10), first(12)));
        assert_eq!(found(&table, TEXT + 64).unwrap().0, "main.second");
        assert_eq!((found(&table, TEXT + 128), found(&table, TEXT - 1)), (None, None));
    }

    #[test]
    fn damaged_tables_cost_no_more_than_their_names() {
        for at in 0..table().len() {
            for value in [0, 0xff] {
                let mut bytes = table();
                bytes[at] = value;
                if let Some(table) = GoTable::parse(bytes, || None) {
                    (0..200).for_each(|offset| _ = table.find(TEXT + offset));
                }
            }
        }
        for end in 0..table().len() {
            if let Some(table) = GoTable::parse(table()[..end].to_vec(), || None) {
                (0..200).for_each(|offset| _ = table.find(TEXT + offset));
            }
        }
    }
}
