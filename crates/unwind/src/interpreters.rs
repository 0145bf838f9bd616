//! Finds CPython in mapped files: where its state lies and how its structures are laid out.
//!
//! The BPF programs (`python.bpf.h`) walk the interpreter's own list of frames; for that they need the address of
//! `_PyRuntime` and a table of offsets. From 3.13 on the interpreter carries that table itself (`described`); those of earlier
//! versions are in `layouts`. Symbols say the version, not names of files, so that it is right for programs that embed CPython.
//! What is read from a file is only ever used as offsets in memory that is read without faults.

mod described;
mod layouts;

use bytemuck::bytes_of;
use dwell_wire::PythonProcess;
use object::ReadRef;
use object::read::elf::{ElfFile64, Sym as _};
use object::{LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _};

use self::described::{FIELDS_3_13, FIELDS_3_14, self_described};
use self::layouts::{V3_8, V3_9, V3_10, V3_11, V3_12};
use crate::elf::Elf;

/// Versions of CPython 3 whose frames are known: the first and the last.
const FIRST_KNOWN: u32 = 8;
const LAST_KNOWN: u32 = 14;
/// The version that brought `_Py_DebugOffsets`.
const FIRST_SELF_DESCRIBED: u32 = 13;

/// CPython in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Python {
    /// Frames can be walked. Addresses are those that the file was linked for.
    Known(PythonProcess),
    /// It is CPython 3.x, whose structures are not known here.
    Unknown { minor: u32 },
}

impl Python {
    /// The value of a process in the map `python_processes`, for the file loaded `bias` bytes from where it was linked.
    pub(crate) fn process_value(&self, bias: u64) -> Option<Vec<u8>> {
        let Self::Known(python) = *self else { return None };
        let (runtime, code_type) = (python.runtime.wrapping_add(bias), python.code_type.wrapping_add(bias));
        Some(bytes_of(&PythonProcess { runtime, code_type, ..python }).to_vec())
    }
}

/// What the symbols of a file say of CPython.
#[derive(Default)]
struct Symbols {
    runtime: u64,
    code_type: u64,
    version: u64,
    from_3_8: bool,
    from_3_9: bool,
    from_3_10: bool,
}

impl Symbols {
    fn of<'data, R: ReadRef<'data>>(file: &ElfFile64<'data, LittleEndian, R>) -> Self {
        let mut found = Self::default();
        // Read at once: to read each of thousands of names takes longer than all else before a program's first instruction.
        let names = file.section_by_name(".dynstr").and_then(|section| section.data().ok()).unwrap_or_default();
        let name_at = |at: u32| names.get(at as usize..)?.split(|byte| *byte == 0).next();
        for symbol in file.dynamic_symbols().filter(|symbol| symbol.is_definition()) {
            let Some(name) = name_at(symbol.elf_symbol().st_name(LittleEndian)) else { continue };
            match name {
                b"_PyRuntime" => found.runtime = symbol.address(),
                b"PyCode_Type" => found.code_type = symbol.address(),
                b"Py_Version" => found.version = symbol.address(),
                b"PyConfig_InitPythonConfig" => found.from_3_8 = true,
                b"PyFrame_GetCode" => found.from_3_9 = true,
                b"Py_NewRef" => found.from_3_10 = true,
                _ => {}
            }
        }
        found
    }

    /// 3.x: `Py_Version` holds the version since 3.11, earlier ones are known by what they export.
    fn minor<'data, R: ReadRef<'data>>(&self, elf: &Elf<'data, R>) -> Option<u32> {
        if self.version != 0 {
            let bytes = elf.loaded_bytes(self.version, 4)?;
            let number = u32::from_le_bytes(bytes.try_into().ok()?);
            return (number >> 24 == 3).then_some(number >> 16 & 0xff);
        }
        match (self.from_3_10, self.from_3_9, self.from_3_8) {
            (true, true, true) => Some(10),
            (false, true, true) => Some(9),
            (false, false, true) => Some(8),
            _ => Some(7),
        }
    }
}

/// CPython, if the file holds it.
pub(crate) fn python<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>) -> Option<Python> {
    let symbols = Symbols::of(elf.file());
    if symbols.runtime == 0 || symbols.code_type == 0 {
        return None;
    }
    let minor = symbols.minor(elf)?;
    let offsets = match minor {
        8 => Some(V3_8),
        9 => Some(V3_9),
        10 => Some(V3_10),
        11 => Some(V3_11),
        12 => Some(V3_12),
        FIRST_SELF_DESCRIBED..=LAST_KNOWN => {
            let fields = if minor == 13 { &FIELDS_3_13 } else { &FIELDS_3_14 };
            elf.loaded_bytes(symbols.runtime, fields.bytes).and_then(|bytes| self_described(bytes, minor, fields))
        }
        _ => None,
    };
    let (runtime, code_type) = (symbols.runtime, symbols.code_type);
    let known = |offsets| Python::Known(PythonProcess { runtime, code_type, ..offsets });
    Some(offsets.map_or(Python::Unknown { minor }, known))
}

/// Why a file's Python frames are not shown.
pub(crate) fn unknown_version(minor: u32) -> String {
    format!(
        "CPython 3.{minor} is not one that Dwell knows (3.{FIRST_KNOWN} to 3.{LAST_KNOWN}): its stacks show the \
         interpreter's own functions"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_follow_the_load_address() {
        let python = Python::Known(PythonProcess { runtime: 0x1000, code_type: 0x2000, ..V3_8 });
        let value = python.process_value(0x7f00_0000_0000).expect("value");
        assert_eq!(value.len(), size_of::<PythonProcess>());
        assert_eq!(value[..8], 0x7f00_0000_1000u64.to_le_bytes());
        assert_eq!(Python::Unknown { minor: 14 }.process_value(0), None);
    }
}
