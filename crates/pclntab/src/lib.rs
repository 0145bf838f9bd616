//! `.gopclntab`, the table by which Go's own tracebacks find functions, lines and the sizes of frames. It is in every Go binary,
//! stripped or not.
//!
//! Takes the bytes of the section; gives functions and what the table tells of their code. The bytes are hostile input: what does
//! not fit is `None`. Layout of Go 1.18 and later (`src/debug/gosym/pclntab.go`, `src/runtime/symtab.go`); an older one is not
//! understood.

use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};

const MAGIC_1_18: u32 = 0xffff_fff0;
const MAGIC_1_20: u32 = 0xffff_fff1;
/// What the section is called; the second name is that of position-independent programs.
pub const SECTIONS: [&str; 2] = [".gopclntab", ".data.rel.ro.gopclntab"];

/// The table of a program.
pub struct FunctionTable<'b> {
    bytes: &'b [u8],
    text: u64,
    count: usize,
    names: usize,
    units: usize,
    files: usize,
    values: usize,
    functions: usize,
    /// Where a function's flags are in its description: Go 1.20 added the line on which it begins.
    flags: usize,
}

/// A function of the table.
#[derive(Clone, Copy, Debug)]
pub struct GoFunction {
    /// Link-time address of its first byte, and of the next function's.
    pub start: u64,
    /// See `start`.
    pub end: u64,
    description: usize,
}

/// What the table has a value of at each address of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeValue {
    /// Bytes of the frame, without the return address.
    FrameSize,
    /// Number of the source file within the function's unit.
    File,
    /// Line in it.
    Line,
}

impl CodeValue {
    /// Word of the description that says where the values are.
    fn word(self) -> usize {
        match self {
            Self::FrameSize => 4,
            Self::File => 5,
            Self::Line => 6,
        }
    }
}

/// Word of the description that says where the function's unit has its files.
const UNIT_WORD: usize = 8;

impl<'b> FunctionTable<'b> {
    /// The table in a section's bytes. Go 1.26 and position-independent programs do not write into it where the text begins:
    /// then `text_start` tells.
    pub fn parse(bytes: &'b [u8], text_start: impl FnOnce() -> Option<u64>) -> Option<Self> {
        let flags = match u32_at(bytes, 0)? {
            MAGIC_1_18 => 37,
            MAGIC_1_20 => 41,
            _ => return None,
        };
        let word = |number: usize| usize::try_from(u64_at(bytes, 8 + 8 * number)?).ok();
        let (count, functions) = (word(0)?, word(7)?);
        let understood = bytes.get(6..8)? == [1, 8];
        let fits = count.checked_mul(8)?.checked_add(functions)?.checked_add(4)? <= bytes.len();
        let text = match u64_at(bytes, 24)? {
            0 => text_start()?,
            text => text,
        };
        let (names, units, files, values) = (word(3)?, word(4)?, word(5)?, word(6)?);
        (understood && fits).then_some(Self { bytes, text, count, names, units, files, values, functions, flags })
    }

    /// How many functions it has.
    pub fn count(&self) -> usize {
        self.count
    }

    /// A function by its number, below [`Self::count`]; they are in order of address.
    pub fn function(&self, number: usize) -> Option<GoFunction> {
        let entry = self.functions + 8 * number;
        let address = |at| self.text.checked_add(u64::from(u32_at(self.bytes, at)?));
        let description = self.functions.checked_add(u32_at(self.bytes, entry + 4)? as usize)?;
        Some(GoFunction { start: address(entry)?, end: address(entry + 8)?, description })
    }

    /// The function at a link-time address.
    pub fn function_at(&self, address: u64) -> Option<GoFunction> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.function(middle)?.start <= address { low = middle + 1 } else { high = middle }
        }
        self.function(low.checked_sub(1)?).filter(|function| address < function.end)
    }

    /// The name of a function, cut after `most` bytes.
    pub fn name(&self, function: GoFunction, most: usize) -> Option<&'b [u8]> {
        self.text_at(self.names.checked_add(self.word(function, 1)? as usize)?, most)
    }

    /// The flags of a function, `abi.FuncFlag`.
    pub fn flags(&self, function: GoFunction) -> Option<u8> {
        self.bytes.get(function.description.checked_add(self.flags)?).copied()
    }

    /// Whether the table has such values of a function: a mark, which is no function, has none.
    pub fn has(&self, function: GoFunction, value: CodeValue) -> Option<bool> {
        Some(self.word(function, value.word())? != 0)
    }

    /// Calls `each` with the first address and the value of each stretch of a function's code, until it gives `None`. `None` where
    /// it did, or where the table is damaged.
    pub fn for_each_value(
        &self,
        function: GoFunction,
        value: CodeValue,
        mut each: impl FnMut(u64, i32) -> Option<()>,
    ) -> Option<()> {
        let mut at = self.values.checked_add(self.word(function, value.word())? as usize)?;
        let (mut address, mut current) = (function.start, -1_i32);
        while address < function.end {
            let delta = varint(self.bytes, &mut at)?;
            if delta == 0 && address != function.start {
                break;
            }
            current = current.checked_add((delta >> 1).cast_signed() ^ -(delta & 1).cast_signed())?;
            each(address, current)?;
            let length = varint(self.bytes, &mut at).filter(|length| *length > 0)?;
            address = address.checked_add(u64::from(length))?;
        }
        Some(())
    }

    /// The value at an address of a function.
    pub fn value_at(&self, function: GoFunction, value: CodeValue, address: u64) -> Option<i32> {
        let mut found = None;
        if self.has(function, value)? {
            let _stopped =
                self.for_each_value(function, value, |from, value| (from <= address).then(|| found = Some(value)));
        }
        found
    }

    /// The source file at an address of a function, cut after `most` bytes.
    pub fn file_at(&self, function: GoFunction, address: u64, most: usize) -> Option<&'b [u8]> {
        let of_unit = usize::try_from(self.value_at(function, CodeValue::File, address)?).ok()?;
        let entry = (self.word(function, UNIT_WORD)? as usize).checked_add(of_unit)?.checked_mul(4)?;
        let name = u32_at(self.bytes, self.units.checked_add(entry)?)?;
        self.text_at(self.files.checked_add(name as usize)?, most)
    }

    fn word(&self, function: GoFunction, number: usize) -> Option<u32> {
        u32_at(self.bytes, function.description.checked_add(4 * number)?)
    }

    fn text_at(&self, start: usize, most: usize) -> Option<&'b [u8]> {
        let rest = self.bytes.get(start..)?;
        rest.get(..most).unwrap_or(rest).split(|byte| *byte == 0).next()
    }
}

impl<'data> FunctionTable<'data> {
    /// The table of a file; `None` where it is no Go program's that is understood.
    pub fn of_file(file: &impl Object<'data>) -> Option<Self> {
        let section = SECTIONS.iter().find_map(|name| file.section_by_name(name))?;
        Self::parse(section.data().ok()?, || text_start(file))
    }

    /// All functions, in order of address.
    pub fn functions(&self) -> impl Iterator<Item = GoFunction> {
        (0..self.count).filter_map(|number| self.function(number))
    }
}

/// The first bytes of a function's code in its file, `most` of them at most.
pub fn code_of<'data>(file: &impl Object<'data>, function: GoFunction, most: u64) -> Option<&'data [u8]> {
    let length = function.end.checked_sub(function.start)?.min(most);
    file.segments().find_map(|segment| segment.data_range(function.start, length).ok().flatten())
}

/// Where Go's code begins, by a file's symbols or its section; not known of a stripped program that C code is linked into.
pub fn text_start<'data>(file: &impl Object<'data>) -> Option<u64> {
    let symbol = file.symbols().find(|symbol| symbol.name_bytes() == Ok(b"runtime.text"));
    let of_section = || file.section_by_name(".text").filter(|_| file.section_by_name(".init").is_none());
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
mod tests;
