//! Finds interpreters in mapped files, CPython, PHP and Ruby: where their state lies and how their structures are laid out.
//!
//! The BPF programs (`python.bpf.h`) walk the interpreter's own list of frames; for that they need the address of
//! `_PyRuntime` and a table of offsets. From 3.13 on the interpreter carries that table itself (`described`); those of earlier
//! versions are in `layouts`, those of the others in `php` and `ruby`. Symbols say the version, not names of files, so that it is
//! right for programs that embed an interpreter.
//! What is read from a file is only ever used as offsets in memory that is read without faults.

mod described;
mod layouts;
mod php;
mod ruby;

use bytemuck::bytes_of;
use dwell_wire::{PhpProcess, PythonProcess, RubyProcess};
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

/// An interpreter in a file. Addresses are those that the file was linked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interpreter {
    /// CPython, whose frames can be walked.
    Python(PythonProcess),
    /// PHP, whose frames can be walked.
    Php(PhpProcess),
    /// Ruby, whose frames can be walked.
    Ruby(RubyProcess),
    /// One whose structures are not known here.
    Unknown(UnknownInterpreter),
}

/// An interpreter whose structures are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownInterpreter {
    /// CPython 3.x.
    Python { minor: u32 },
    /// PHP of this version (10 * major + minor); 0 = not known, or one whose threads have an executor each.
    Php { version: u32 },
    /// Ruby of this version (10 * major + minor).
    Ruby { version: u32 },
}

impl Interpreter {
    /// The value of a process in the map `interpreter_processes`, for the file loaded `bias` bytes from where it was linked.
    pub(crate) fn process_value(&self, bias: u64) -> Option<Vec<u8>> {
        let mut value = match *self {
            Self::Python(python) => {
                let (runtime, code_type) = (python.runtime.wrapping_add(bias), python.code_type.wrapping_add(bias));
                bytes_of(&PythonProcess { runtime, code_type, ..python }).to_vec()
            }
            Self::Php(php) => bytes_of(&PhpProcess { current: php.current.wrapping_add(bias), ..php }).to_vec(),
            Self::Ruby(ruby) => {
                let module = if ruby.module == 0 { 0 } else { ruby.module.wrapping_add(bias) };
                bytes_of(&RubyProcess { module, ..ruby }).to_vec()
            }
            Self::Unknown(_) => return None,
        };
        value.resize(size_of::<PythonProcess>(), 0);
        Some(value)
    }
}

/// What the symbols of a file say of interpreters.
#[derive(Default)]
struct Symbols {
    python_runtime: u64,
    python_code_type: u64,
    python_version: u64,
    from_python_3_8: bool,
    from_python_3_9: bool,
    from_python_3_10: bool,
    php_globals: u64,
    /// PHP whose threads have an executor each.
    is_php_of_threads: bool,
    runs_php: bool,
    ruby_version: u64,
    /// Of the thread-local variable `ruby_current_ec`.
    ruby_context: Option<u64>,
}

impl Symbols {
    fn of<'data, R: ReadRef<'data>>(file: &ElfFile64<'data, LittleEndian, R>) -> Self {
        let mut found = Self::default();
        // Read at once: to read each of thousands of names takes longer than all else before a program's first instruction.
        let names = file.section_by_name(".dynstr").and_then(|section| section.data().ok()).unwrap_or_default();
        let name_at = |at: u32| names.get(at as usize..)?.split(|byte| *byte == 0).next();
        // Not `is_definition`, which is false for variables of threads.
        for symbol in file.dynamic_symbols().filter(|symbol| !symbol.is_undefined()) {
            let Some(name) = name_at(symbol.elf_symbol().st_name(LittleEndian)) else { continue };
            match name {
                b"_PyRuntime" => found.python_runtime = symbol.address(),
                b"PyCode_Type" => found.python_code_type = symbol.address(),
                b"Py_Version" => found.python_version = symbol.address(),
                b"PyConfig_InitPythonConfig" => found.from_python_3_8 = true,
                b"PyFrame_GetCode" => found.from_python_3_9 = true,
                b"Py_NewRef" => found.from_python_3_10 = true,
                b"executor_globals" => found.php_globals = symbol.address(),
                b"executor_globals_offset" => found.is_php_of_threads = true,
                b"execute_ex" => found.runs_php = true,
                b"ruby_version" => found.ruby_version = symbol.address(),
                ruby::CONTEXT => found.ruby_context = Some(symbol.address()),
                _ => {}
            }
        }
        found
    }

    /// 3.x: `Py_Version` holds the version since 3.11, earlier ones are known by what they export.
    fn minor<'data, R: ReadRef<'data>>(&self, elf: &Elf<'data, R>) -> Option<u32> {
        if self.python_version != 0 {
            let bytes = elf.loaded_bytes(self.python_version, 4)?;
            let number = u32::from_le_bytes(bytes.try_into().ok()?);
            return (number >> 24 == 3).then_some(number >> 16 & 0xff);
        }
        match (self.from_python_3_10, self.from_python_3_9, self.from_python_3_8) {
            (true, true, true) => Some(10),
            (false, true, true) => Some(9),
            (false, false, true) => Some(8),
            _ => Some(7),
        }
    }
}

/// The interpreter that the file holds, if it holds one.
pub(crate) fn interpreter<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>) -> Option<Interpreter> {
    let symbols = Symbols::of(elf.file());
    python(elf, &symbols).or_else(|| php(elf, &symbols)).or_else(|| ruby(elf, &symbols))
}

fn python<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>, symbols: &Symbols) -> Option<Interpreter> {
    if symbols.python_runtime == 0 || symbols.python_code_type == 0 {
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
            elf.loaded_bytes(symbols.python_runtime, fields.bytes)
                .and_then(|bytes| self_described(bytes, minor, fields))
        }
        _ => None,
    };
    let (runtime, code_type) = (symbols.python_runtime, symbols.python_code_type);
    let known = |offsets| Interpreter::Python(PythonProcess { runtime, code_type, ..offsets });
    Some(offsets.map_or(Interpreter::Unknown(UnknownInterpreter::Python { minor }), known))
}

fn php<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>, symbols: &Symbols) -> Option<Interpreter> {
    if !symbols.runs_php || (symbols.php_globals == 0 && !symbols.is_php_of_threads) {
        return None;
    }
    let version = if symbols.is_php_of_threads { None } else { php::version(elf) };
    let known = version.and_then(|version| php::layout(version, symbols.php_globals)).map(Interpreter::Php);
    Some(known.unwrap_or(Interpreter::Unknown(UnknownInterpreter::Php { version: version.unwrap_or(0) })))
}

fn ruby<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>, symbols: &Symbols) -> Option<Interpreter> {
    let version = ruby::version(elf, symbols.ruby_version)?;
    let known = ruby::layout(elf, version, symbols.ruby_context).map(Interpreter::Ruby);
    Some(known.unwrap_or(Interpreter::Unknown(UnknownInterpreter::Ruby { version })))
}

/// Why the frames of a file's interpreter are not shown.
pub(crate) fn why_unknown(unknown: UnknownInterpreter) -> String {
    let (what, known) = match unknown {
        UnknownInterpreter::Python { minor } => {
            (format!("CPython 3.{minor}"), format!("3.{FIRST_KNOWN} to 3.{LAST_KNOWN}"))
        }
        UnknownInterpreter::Php { version: 0 } => ("this PHP".to_owned(), "7.4 to 8.5 without threads".to_owned()),
        UnknownInterpreter::Php { version } => {
            (format!("PHP {}.{}", version / 10, version % 10), "7.4 to 8.5".to_owned())
        }
        UnknownInterpreter::Ruby { version } => {
            (format!("Ruby {}.{}", version / 10, version % 10), "3.0 to 3.4".to_owned())
        }
    };
    format!("{what} is not one that Dwell knows ({known}): its stacks show the interpreter's own functions")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_follow_the_load_address() {
        let python = Interpreter::Python(PythonProcess { runtime: 0x1000, code_type: 0x2000, ..V3_8 });
        let value = python.process_value(0x7f00_0000_0000).expect("value");
        assert_eq!(value.len(), size_of::<PythonProcess>());
        assert_eq!(value[..8], 0x7f00_0000_1000u64.to_le_bytes());
        let php = Interpreter::Php(php::layout(82, 0x3000).expect("layout"));
        let value = php.process_value(0x7f00_0000_0000).expect("value");
        assert_eq!(value.len(), size_of::<PythonProcess>());
        assert_eq!(value[..8], 0x7f00_0000_31e8u64.to_le_bytes());
        assert_eq!(Interpreter::Unknown(UnknownInterpreter::Python { minor: 14 }).process_value(0), None);
    }
}
