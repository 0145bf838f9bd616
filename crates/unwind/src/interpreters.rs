//! Finds CPython in mapped files: where its state lies and how its structures are laid out.
//!
//! The BPF programs (`python.bpf.h`) walk the interpreter's own list of frames; for that they need the address of
//! `_PyRuntime` and a table of offsets. From 3.13 on the interpreter carries that table itself; those of earlier versions
//! are here. Symbols say the version, not names of files, so that it is right for programs that embed CPython.
//! What is read from a file is only ever used as offsets in memory that is read without faults.

use bytemuck::bytes_of;
use dwell_wire::{PYTHON_CODE_BYTES, PYTHON_FRAME_BYTES, PythonProcess, python_style};
use object::ReadRef;
use object::read::elf::{ElfFile64, Sym as _};
use object::{LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _};

use crate::elf::Elf;

/// Versions of CPython 3 whose frames are known: the first and the last.
const FIRST_KNOWN: u32 = 8;
const LAST_KNOWN: u32 = 13;
/// The version that brought `_Py_DebugOffsets`.
const FIRST_SELF_DESCRIBED: u32 = 13;
/// `_Py_Debug_Cookie`.
const COOKIE: &[u8] = b"xdebugpy";
/// `sizeof(_Py_DebugOffsets)` of 3.13.
const DEBUG_OFFSETS_BYTES: usize = 584;
/// No honest structure is larger.
const MAX_OFFSET: u64 = 1 << 24;

/// 3.8: Include/frameobject.h, Include/cpython/pystate.h, Include/code.h, Include/internal/pycore_pystate.h,
/// pycore_gil.h, Include/cpython/unicodeobject.h.
const V3_8: PythonProcess = PythonProcess {
    runtime: 0,
    code_type: 0,
    version: 8,
    style: python_style::FRAME_OBJECTS,
    instruction_bytes: 1,
    interpreters: 32,
    interpreter_next: 0,
    interpreter_threads: 8,
    thread_next: 8,
    thread_id: 176,
    thread_frame: 24,
    cframe: 0,
    cframe_frame: 0,
    cframe_previous: 0,
    frame_bytes: 112,
    frame_previous: 24,
    frame_code: 32,
    frame_instruction: 104,
    frame_owner: 0,
    object_type: 8,
    code_bytes: 176,
    code_start: 0,
    code_name: 112,
    code_file: 104,
    code_table: 120,
    code_line: 40,
    bytes_length: 16,
    bytes_data: 32,
    text_length: 16,
    text_state: 32,
    text_ascii: 48,
    text_compact: 72,
    gil_pointer: 0,
    gil: 1152,
    gil_holder: 8,
    gil_locked: 16,
};

/// 3.9: the same files; Include/internal/pycore_runtime.h.
const V3_9: PythonProcess = PythonProcess { version: 9, gil: 352, ..V3_8 };

/// 3.10: the same; the instruction number counts pairs of bytes, Include/cpython/frameobject.h.
const V3_10: PythonProcess =
    PythonProcess { version: 10, instruction_bytes: 2, frame_instruction: 96, frame_bytes: 104, ..V3_9 };

/// 3.11: Include/internal/pycore_frame.h, Include/cpython/pystate.h (`_PyCFrame`), Include/cpython/code.h,
/// Include/internal/pycore_interp.h, pycore_runtime.h.
const V3_11: PythonProcess = PythonProcess {
    version: 11,
    style: python_style::ENTRY_MARK,
    instruction_bytes: 0,
    interpreters: 40,
    interpreter_threads: 16,
    thread_id: 152,
    thread_frame: 0,
    cframe: 56,
    cframe_frame: 8,
    cframe_previous: 16,
    frame_bytes: 72,
    frame_previous: 48,
    frame_instruction: 56,
    frame_owner: 68,
    code_start: 184,
    code_name: 128,
    code_file: 112,
    code_table: 136,
    code_line: 72,
    gil: 360,
    ..V3_10
};

/// 3.12: the same files.
const V3_12: PythonProcess = PythonProcess {
    version: 12,
    style: python_style::SHIM,
    interpreter_threads: 72,
    thread_id: 136,
    cframe_frame: 0,
    cframe_previous: 8,
    frame_previous: 8,
    frame_code: 0,
    frame_owner: 70,
    code_start: 192,
    code_line: 68,
    text_ascii: 40,
    text_compact: 56,
    gil_pointer: 384,
    gil: 0,
    ..V3_11
};

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
            elf.loaded_bytes(symbols.runtime, DEBUG_OFFSETS_BYTES as u64).and_then(|bytes| self_described(bytes, minor))
        }
        _ => None,
    };
    let (runtime, code_type) = (symbols.runtime, symbols.code_type);
    let known = |offsets| Python::Known(PythonProcess { runtime, code_type, ..offsets });
    Some(offsets.map_or(Python::Unknown { minor }, known))
}

/// The offsets that the interpreter states itself: `_Py_DebugOffsets`, Include/internal/pycore_runtime.h of 3.13.
fn self_described(bytes: &[u8], minor: u32) -> Option<PythonProcess> {
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let offset =
        |at: usize| word(at).filter(|offset| *offset < MAX_OFFSET).and_then(|offset| u32::try_from(offset).ok());
    if bytes.get(..8)? != COOKIE || word(8)? >> 16 != u64::from(0x0300 | minor) {
        return None;
    }
    let text_ascii = offset(560)?;
    let offsets = PythonProcess {
        runtime: 0,
        code_type: 0,
        version: minor,
        style: python_style::SHIM,
        instruction_bytes: 0,
        interpreters: offset(40)?,
        interpreter_next: offset(64)?,
        interpreter_threads: offset(72)?,
        thread_next: offset(168)?,
        thread_id: offset(192)?,
        thread_frame: offset(184)?,
        cframe: 0,
        cframe_frame: 0,
        cframe_previous: 0,
        frame_bytes: 0,
        frame_previous: offset(232)?,
        frame_code: offset(240)?,
        frame_instruction: offset(248)?,
        frame_owner: offset(264)?,
        object_type: offset(360)?,
        code_bytes: 0,
        code_start: offset(344)?,
        code_name: offset(296)?,
        code_file: offset(280)?,
        code_table: offset(304)?,
        code_line: offset(312)?,
        bytes_length: offset(520)?,
        bytes_data: offset(528)?,
        text_length: offset(552)?,
        text_state: offset(544)?,
        text_ascii,
        text_compact: text_ascii + 16, // the length and the pointer of the UTF-8 form
        gil_pointer: offset(112)?,
        gil: 0,
        gil_holder: offset(144)?,
        gil_locked: offset(136)?,
    };
    with_extents(offsets)
}

/// How much of a frame and of a code object has to be read for all fields; none when that is too much.
fn with_extents(offsets: PythonProcess) -> Option<PythonProcess> {
    let frame = [offsets.frame_previous, offsets.frame_code, offsets.frame_instruction, offsets.frame_owner];
    let code = [offsets.object_type, offsets.code_name, offsets.code_file, offsets.code_table, offsets.code_line];
    let end = |fields: &[u32]| fields.iter().max().map_or(0, |last| (last & !7) + 8);
    let (frame_bytes, code_bytes) = (end(&frame), end(&code));
    let fits = frame_bytes <= PYTHON_FRAME_BYTES && code_bytes <= PYTHON_CODE_BYTES;
    fits.then_some(PythonProcess { frame_bytes, code_bytes, ..offsets })
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

    /// `_Py_DebugOffsets` with the numbers of 3.13.0 where they matter.
    fn described() -> Vec<u8> {
        let mut bytes = vec![0; DEBUG_OFFSETS_BYTES];
        let mut set = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let numbers = [
            (8, 0x030d_00f0),
            (40, 632),
            (64, 7264),
            (72, 7344),
            (112, 16),
            (136, 16),
            (144, 8),
            (168, 8),
            (184, 72),
            (192, 152),
            (232, 8),
            (240, 0),
            (248, 56),
            (264, 70),
            (280, 112),
            (296, 128),
            (304, 136),
            (312, 68),
            (344, 200),
            (360, 8),
            (520, 16),
            (528, 32),
            (544, 32),
            (552, 16),
            (560, 40),
        ];
        numbers.iter().for_each(|&(at, value)| set(at, value));
        bytes[..8].copy_from_slice(COOKIE);
        bytes
    }

    #[test]
    fn an_interpreter_that_describes_itself_is_believed() {
        let offsets = self_described(&described(), 13).expect("offsets");
        assert_eq!((offsets.interpreters, offsets.interpreter_threads, offsets.thread_frame), (632, 7344, 72));
        assert_eq!((offsets.frame_bytes, offsets.code_bytes, offsets.text_compact), (72, 144, 56));
    }

    #[test]
    fn nonsense_is_not_believed() {
        let mut bytes = described();
        assert_eq!(self_described(&bytes, 12), None);
        assert_eq!(self_described(&bytes[..100], 13), None);
        bytes[240] = 255; // the code object far outside of what is read of a frame
        assert_eq!(self_described(&bytes, 13), None);
        bytes[240] = 0;
        bytes[47] = 0xff;
        assert_eq!(self_described(&bytes, 13), None);
        assert_eq!(self_described(&[0; DEBUG_OFFSETS_BYTES], 13), None);
    }

    #[test]
    fn every_table_fits_what_is_read() {
        for offsets in [V3_8, V3_9, V3_10, V3_11, V3_12] {
            let extents = with_extents(offsets).expect("fits");
            assert!(offsets.frame_bytes >= extents.frame_bytes && offsets.code_bytes >= extents.code_bytes);
            assert!(offsets.frame_bytes <= PYTHON_FRAME_BYTES && offsets.code_bytes <= PYTHON_CODE_BYTES);
        }
    }

    #[test]
    fn addresses_follow_the_load_address() {
        let python = Python::Known(PythonProcess { runtime: 0x1000, code_type: 0x2000, ..V3_8 });
        let value = python.process_value(0x7f00_0000_0000).expect("value");
        assert_eq!(value.len(), size_of::<PythonProcess>());
        assert_eq!(value[..8], 0x7f00_0000_1000u64.to_le_bytes());
        assert_eq!(Python::Unknown { minor: 14 }.process_value(0), None);
    }
}
