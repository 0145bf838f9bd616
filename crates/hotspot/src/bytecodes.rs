//! Places in the bytecode of methods: their functions, files and lines (`constMethod.hpp`, `compressedLineNumberStream`).

use std::collections::{BTreeSet, HashMap};

use crate::error::Result;
use crate::layout::{Description, Layout};
use crate::memory::{RemoteMemory, number, short, shorts_at, word, words_at};
use crate::names::{method_names, symbols};
use crate::unsigned5::{Numbers, Packing};

/// Bit of a method's flags: it has a table of lines.
const HAS_LINES: u16 = 1;
/// Of a table of lines, bytes that are read at most; methods with the longest code, 64 KiB, have less.
const MOST_LINE_BYTES: u64 = 1 << 16;
/// The first version of the JVM that writes no byte 0 into numbers.
const NO_ZERO_SINCE: u32 = 20;

/// A place in the bytecode of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BytecodePlace {
    /// Address of the `Method`.
    pub method: u64,
    /// Where in its code.
    pub at: Bytecode,
}

/// Where in a method's code something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bytecode {
    /// It is not known.
    Unknown,
    /// Bytes from the code's beginning.
    Index(u32),
    /// The lowest bits, as many as `mask` has, of the bytecode's address.
    AddressBits {
        /// Those bits.
        bits: u32,
        /// Which ones.
        mask: u32,
    },
}

/// A line of a method.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MethodLine {
    /// `com.example.Pool.take`
    pub name: String,
    /// `com/example/Pool.java`, empty where the class does not tell.
    pub file: String,
    /// 0 where the class does not tell.
    pub line: u32,
}

/// Where a JVM keeps the lines of its methods. Offsets in bytes.
#[derive(Clone, Copy, Debug)]
pub struct LineLayout {
    flags: u64,
    code_bytes: u64,
    method_bytes: u64,
    header_bytes: u64,
    source_file: u64,
    /// How numbers are packed.
    pub packing: Packing,
}

impl LineLayout {
    /// As the JVM describes it.
    pub fn of(memory: &mut impl RemoteMemory, is: &Description) -> Result<Self> {
        let version = is.field("Abstract_VM_Version::_vm_major_version")?.place;
        let version = number(&memory.read_pieces(&[(version, 4)]), 0);
        Ok(Self {
            flags: is.offset("ConstMethod::_flags").or_else(|_| is.offset("ConstMethod::_flags._flags"))?,
            code_bytes: is.offset("ConstMethod::_code_size")?,
            method_bytes: is.offset("ConstMethod::_constMethod_size")?,
            header_bytes: is.size("ConstMethod")?,
            source_file: is.offset("ConstantPool::_source_file_name_index")?,
            packing: if version < NO_ZERO_SINCE { Packing::AnyByte } else { Packing::NoZero },
        })
    }

    /// The line of each of `places`; none where no method can be read there.
    pub fn lines(
        &self,
        memory: &mut impl RemoteMemory,
        layout: &Layout,
        places: &[BytecodePlace],
    ) -> Vec<Option<MethodLine>> {
        let methods: Vec<u64> = places.iter().map(|place| place.method).collect::<BTreeSet<_>>().into_iter().collect();
        let known = self.methods(memory, layout, &methods);
        let line = |place: &BytecodePlace| {
            let method = known.get(&place.method)?;
            let line = method.index(place.at).and_then(|index| method.line_at(index, self.packing)).unwrap_or(0);
            Some(MethodLine { name: method.name.clone(), file: method.file.clone(), line })
        };
        places.iter().map(line).collect()
    }

    fn methods(&self, memory: &mut impl RemoteMemory, layout: &Layout, methods: &[u64]) -> HashMap<u64, KnownMethod> {
        let names = method_names(memory, layout, methods);
        let constants = words_at(memory, methods, layout.method_constant);
        let files = self.source_files(memory, layout, &constants);
        let headers: Vec<_> = constants.iter().map(|constant| (*constant, self.header_bytes as usize)).collect();
        let headers = memory.read_pieces(&headers);
        let header = |index: usize| headers.get(index * self.header_bytes as usize..).unwrap_or_default();
        let tables: Vec<(u64, u64, usize)> =
            constants.iter().enumerate().map(|(index, constant)| self.table(*constant, header(index))).collect();
        let pieces: Vec<(u64, usize)> =
            tables.iter().map(|&(code, bytes, length)| (code.wrapping_add(bytes), length)).collect();
        let bytes = memory.read_pieces(&pieces);
        let mut rest = bytes.as_slice();
        let mut known = HashMap::new();
        for (((method, name), file), (code_start, code_bytes, length)) in
            methods.iter().zip(names).zip(files).zip(tables)
        {
            let (table, behind) = rest.split_at(length.min(rest.len()));
            rest = behind;
            let Some(name) = name else { continue };
            let file = source_path(&name, &file);
            known.insert(*method, KnownMethod { name, file, code_start, code_bytes, lines: table.to_vec() });
        }
        known
    }

    /// Where the code of the method with this header begins, its bytes, and those of the table of lines behind it.
    fn table(&self, constant: u64, header: &[u8]) -> (u64, u64, usize) {
        let code_bytes = u64::from(short(header, self.code_bytes));
        let all = u64::from(number(header, self.method_bytes)).saturating_mul(8);
        let has_lines = short(header, self.flags) & HAS_LINES != 0;
        let behind = all.saturating_sub(self.header_bytes + code_bytes).min(MOST_LINE_BYTES);
        (constant.wrapping_add(self.header_bytes), code_bytes, if has_lines { behind as usize } else { 0 })
    }

    /// The names of the source files of methods, by what is constant of these; empty where the class does not tell.
    fn source_files(&self, memory: &mut impl RemoteMemory, layout: &Layout, constants: &[u64]) -> Vec<String> {
        let pools = words_at(memory, constants, layout.constant_pool);
        let indices = shorts_at(memory, &pools, self.source_file);
        let place = |(pool, index): (&u64, &u16)| pool.wrapping_add(layout.pool_bytes + u64::from(*index) * 8);
        let entries: Vec<(u64, usize)> =
            pools.iter().zip(&indices).map(|it| (place(it), if *it.1 == 0 { 0 } else { 8 })).collect();
        let words = memory.read_pieces(&entries);
        let mut words = words.chunks_exact(8).map(|entry| word(entry, 0));
        let symbol = |index: &u16| if *index == 0 { 0 } else { words.next().unwrap_or(0) };
        let found: Vec<u64> = indices.iter().map(symbol).collect();
        symbols(memory, layout, &found)
    }
}

/// `com/example/Pool.java` of `com.example.Pool.take` in `Pool.java`: packages are folders.
fn source_path(method: &str, file: &str) -> String {
    let class = method.rsplit_once('.').map_or("", |(class, _)| class);
    let is_name = !file.is_empty() && !file.contains(|letter: char| letter.is_control() || letter == '/');
    match class.rsplit_once('.') {
        _ if !is_name => String::new(),
        Some((package, _)) => format!("{}/{file}", package.replace('.', "/")),
        None => file.to_owned(),
    }
}

struct KnownMethod {
    name: String,
    file: String,
    /// Address of its first bytecode.
    code_start: u64,
    code_bytes: u64,
    /// Its table of lines.
    lines: Vec<u8>,
}

impl KnownMethod {
    fn index(&self, at: Bytecode) -> Option<u32> {
        let index = match at {
            Bytecode::Unknown => return None,
            Bytecode::Index(index) => index,
            Bytecode::AddressBits { bits, mask } => bits.wrapping_sub(self.code_start as u32) & mask,
        };
        (u64::from(index) < self.code_bytes).then_some(index)
    }

    /// The line of the bytecode at `index`: that of the last entry up to it.
    fn line_at(&self, index: u32, packing: Packing) -> Option<u32> {
        let mut numbers = Numbers::new(&self.lines, packing);
        let (mut at, mut line, mut best) = (0i64, 0i64, None);
        while let Some(byte) = numbers.byte().filter(|byte| *byte != 0) {
            let (bytes, lines) = match byte {
                0xff => (i64::from(numbers.next_signed()?), i64::from(numbers.next_signed()?)),
                _ => (i64::from(byte >> 3), i64::from(byte & 7)),
            };
            (at, line) = (at.saturating_add(bytes), line.saturating_add(lines));
            // The table is not in the order of the code.
            if at <= i64::from(index) && best.is_none_or(|(best, _)| best <= at) {
                best = Some((at, line));
            }
        }
        best.and_then(|(_, line)| u32::try_from(line).ok())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn method(lines: &[u8]) -> KnownMethod {
        let (name, file) = ("a.B.c".to_owned(), String::new());
        KnownMethod { name, file, code_start: 0x7f00_1238, code_bytes: 100, lines: lines.to_vec() }
    }

    #[test]
    fn a_line_goes_on_until_the_next_begins() {
        // 0: line 7; 5: line 9; 45: line 8, whose difference is negative.
        let table = [0xff, 1, 15, 5 << 3 | 2, 0xff, 81, 2, 0];
        let line = |index| method(&table).line_at(index, Packing::NoZero);
        assert_eq!([0, 4, 5, 44, 45, 99].map(line), [7, 7, 9, 9, 8, 8].map(Some));
        assert_eq!(method(&[]).line_at(3, Packing::NoZero), None);
    }

    #[test]
    fn places_are_told_by_index_or_by_the_bits_of_their_address() {
        let method = method(&[]);
        let bits = |address: u64| Bytecode::AddressBits { bits: address as u32 & 0x7fff, mask: 0x7fff };
        assert_eq!(method.index(Bytecode::Index(9)), Some(9));
        assert_eq!(method.index(bits(0x7f00_1238 + 99)), Some(99));
        assert_eq!([Bytecode::Index(100), Bytecode::Unknown, bits(0x7f00_1237)].map(|at| method.index(at)), [None; 3]);
    }

    #[test]
    fn packages_are_folders() {
        assert_eq!(source_path("com.example.Pool$1.take", "Pool.java"), "com/example/Pool.java");
        assert_eq!(source_path("Main.main", "Main.java"), "Main.java");
        assert_eq!(source_path("com.example.Pool.take", ""), "");
        assert_eq!(source_path("com.example.Pool.take", "../../etc/passwd"), "");
    }

    proptest! {
        #[test]
        fn any_table_is_read(lines: Vec<u8>, index: u32) {
            method(&lines).line_at(index, Packing::NoZero);
            method(&lines).line_at(index, Packing::AnyByte);
        }
    }
}
