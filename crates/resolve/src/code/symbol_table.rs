//! Symbols of stripped files that carry a small table of their own, `.gnu_debugdata` ("MiniDebugInfo"): an ELF file of
//! symbols only, compressed by xz, as Fedora's packages have it.
//!
//! blazesym reads it by a library of C without bounds on memory; here a file that expands without end costs its own names.

use std::io::Read;
use std::path::Path;

use dwell_files::BoundedFile;
use lzma_rust2::XzReader;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

use crate::code::files::MOST_ELF_BYTES;

/// Largest compressed table that is read …
const MOST_COMPRESSED_BYTES: u64 = 64 << 20;
/// … and its largest size when it is expanded; Fedora's largest has some 20 MB.
const MOST_BYTES: u64 = 256 << 20;
/// Longest name that is taken, and most text of all names: many symbols can have one name, which is as long as the table.
const MOST_NAME_BYTES: usize = 64 << 10;
const MOST_TEXT_BYTES: usize = 256 << 20;
/// Memory for expanding, KiB: what xz needs at its highest level.
const MOST_MEMORY_KIB: u32 = 128 << 10;

/// Symbols by address.
#[derive(Debug, Default)]
pub struct SymbolTable {
    symbols: Vec<Symbol>,
    /// Of all names that were looked at.
    text_bytes: usize,
}

#[derive(Debug)]
struct Symbol {
    address: u64,
    bytes: u64,
    name: String,
}

impl SymbolTable {
    /// The symbols in a file's `.gnu_debugdata` and in its dynamic symbol table, which the former leaves out; `None` when
    /// the file has no `.gnu_debugdata`. Fails when it cannot be read.
    pub fn of_debug_data(path: &Path) -> Result<Option<Self>, String> {
        let bytes = BoundedFile::open(path, MOST_ELF_BYTES).map_err(|error| error.to_string())?;
        let elf = object::File::parse(&bytes).map_err(|error| error.to_string())?;
        let Some(section) = elf.section_by_name(".gnu_debugdata") else { return Ok(None) };
        if section.size() > MOST_COMPRESSED_BYTES {
            return Err("its .gnu_debugdata is too large".into());
        }
        let mut table = Self::of_compressed(section.data().map_err(|error| error.to_string())?)?;
        table.add(elf.dynamic_symbols());
        table.sort();
        Ok(Some(table))
    }

    /// The symbols of an ELF file that xz compressed.
    pub fn of_compressed(compressed: &[u8]) -> Result<Self, String> {
        let mut bytes = Vec::new();
        let reader = XzReader::new_mem_limit(compressed, false, MOST_MEMORY_KIB);
        let failed = |error| format!("its .gnu_debugdata: {error}");
        reader.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err("its .gnu_debugdata expands to too much".into());
        }
        Self::of_elf(&bytes)
    }

    /// The symbols of an ELF file in memory.
    fn of_elf(bytes: &[u8]) -> Result<Self, String> {
        let elf = object::File::parse(bytes).map_err(|error| format!("its .gnu_debugdata: {error}"))?;
        let mut table = Self::default();
        table.add(elf.symbols());
        table.sort();
        Ok(table)
    }

    fn add<'d>(&mut self, symbols: impl Iterator<Item = impl ObjectSymbol<'d>>) {
        let of_program = |kind| matches!(kind, SymbolKind::Text | SymbolKind::Data);
        for symbol in symbols.filter(|it| it.is_definition() && it.size() > 0 && of_program(it.kind())) {
            let Some(name) = symbol.name().ok().filter(|name| !name.is_empty()) else { continue };
            // Names that are too long took time as well.
            self.text_bytes = self.text_bytes.saturating_add(name.len());
            if self.text_bytes > MOST_TEXT_BYTES {
                return;
            }
            if name.len() <= MOST_NAME_BYTES {
                self.symbols.push(Symbol { address: symbol.address(), bytes: symbol.size(), name: name.to_owned() });
            }
        }
    }

    fn sort(&mut self) {
        self.symbols.sort_by(|a, b| (a.address, a.bytes, &a.name).cmp(&(b.address, b.bytes, &b.name)));
    }

    /// The symbol over `address`, as the file spells it, and the distance from its start.
    pub fn find(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.symbols.partition_point(|symbol| symbol.address <= address);
        let symbol = self.symbols.get(after.checked_sub(1)?)?;
        let offset = address - symbol.address;
        (offset < symbol.bytes).then_some((symbol.name.as_str(), offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_table_is_refused() {
        assert!(SymbolTable::of_compressed(b"").is_err());
        assert!(SymbolTable::of_compressed(b"\xfd7zXZ\0 and rubbish").is_err());
        let own = std::env::current_exe().expect("path");
        assert!(SymbolTable::of_debug_data(&own).expect("readable").is_none());
    }

    /// An ELF file with so many symbols, all of one name of so many letters.
    fn alike(symbols: usize, letters: usize) -> Vec<u8> {
        let (strings_at, strings) = (64, letters + 2);
        let symbols_at = (strings_at + strings).next_multiple_of(8);
        let headers_at = symbols_at + symbols * 24;
        let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0".to_vec();
        [0, 0, headers_at as u64].iter().for_each(|word| out.extend(word.to_le_bytes()));
        out.extend([0; 4]);
        [64u16, 56, 0, 64, 3, 2].iter().for_each(|half| out.extend(half.to_le_bytes()));
        out.push(0);
        out.resize(strings_at + 1 + letters, b'a');
        out.resize(symbols_at, 0);
        for number in 0..symbols as u64 {
            out.extend([1, 0, 0, 0, 0x12, 0, 1, 0]); // the name, a function that all see, in the first section
            [number * 16, 16].iter().for_each(|word| out.extend(word.to_le_bytes()));
        }
        out.resize(headers_at + 64, 0);
        for (ty, at, size, link) in [(2u32, symbols_at, symbols * 24, 2u32), (3, strings_at, strings, 0)] {
            [0, ty].iter().for_each(|word| out.extend(word.to_le_bytes()));
            [0, 0, at as u64, size as u64].iter().for_each(|word| out.extend(word.to_le_bytes()));
            [link, 0].iter().for_each(|word| out.extend(word.to_le_bytes()));
            [1, if ty == 2 { 24u64 } else { 0 }].iter().for_each(|word| out.extend(word.to_le_bytes()));
        }
        out
    }

    #[test]
    fn many_symbols_of_one_long_name_take_no_memory() {
        let honest = SymbolTable::of_elf(&alike(3, 20)).expect("a table");
        assert_eq!(honest.find(17), Some(("a".repeat(20).as_str(), 1)));
        let hostile = SymbolTable::of_elf(&alike(2000, 1 << 20)).expect("a table");
        assert!(hostile.symbols.is_empty());
        assert!(hostile.text_bytes < MOST_TEXT_BYTES + (2 << 20), "it went on looking: {}", hostile.text_bytes);
    }

    #[test]
    fn a_symbol_covers_its_own_bytes_only() {
        let symbol = |address, bytes, name: &str| Symbol { address, bytes, name: name.into() };
        let table = SymbolTable { text_bytes: 0, symbols: vec![symbol(0x10, 8, "a"), symbol(0x20, 8, "b")] };
        assert_eq!(table.find(0x17), Some(("a", 7)));
        assert_eq!(table.find(0x18), None);
        assert_eq!(table.find(0xf), None);
        assert_eq!(table.find(0x20), Some(("b", 0)));
    }
}
