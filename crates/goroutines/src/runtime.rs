//! Where a Go program has its goroutines, by its file.

use dwell_pclntab::{FunctionTable, code_of};
use object::{Object, ObjectSection, ObjectSymbol};

use crate::allgs;
use crate::offsets::{self, Offsets};

/// Begins the section `.go.buildinfo` (`src/debug/buildinfo/buildinfo.go`).
const BUILD_INFO_MAGIC: &[u8] = b"\xff Go buildinf:";
/// Bit of its flags: the version stands in it, as a length and that many bytes, from byte 32 on. So it is since Go 1.18.
const INLINE_VERSION: u8 = 2;
/// Longest version that is taken.
const MOST_VERSION_BYTES: usize = 64;
/// Longest code of `runtime.allgadd` that is looked through.
const MOST_CODE_BYTES: u64 = 4096;

/// Why the goroutines of a Go program cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// How this version of Go lays goroutines out is not known.
    Version(String),
    /// The program does not say where its list of goroutines is.
    NoList(String),
    /// The program does not say where it changes the state of its goroutines.
    NoChangePoints(String),
}

/// Where a Go program has its goroutines.
#[derive(Clone, Debug)]
pub struct Runtime {
    /// Its version of Go, such as `go1.26.1`.
    pub version: String,
    /// Link-time address of `runtime.allgs`, a slice of pointers.
    pub(crate) allgs: u64,
    /// Link-time address of `runtime.semtable`, where the file has symbols.
    pub(crate) semaphores: Option<u64>,
    pub(crate) offsets: &'static Offsets,
}

impl Runtime {
    /// What the file of a program says; `None` when it is no Go program.
    ///
    /// # Errors
    ///
    /// It is a Go program whose goroutines cannot be read.
    pub fn of<'data>(file: &impl Object<'data>) -> Result<Option<Self>, Unsupported> {
        let Some(version) = go_version(file) else { return Ok(None) };
        let Some(offsets) = offsets::of_version(&version) else { return Err(Unsupported::Version(version)) };
        let symbol = |name: &[u8]| file.symbols().find(|symbol| symbol.name_bytes() == Ok(name)).map(|it| it.address());
        let Some(allgs) = symbol(b"runtime.allgs").or_else(|| allgs_by_code(file)) else {
            return Err(Unsupported::NoList(version));
        };
        Ok(Some(Self { version, allgs, semaphores: symbol(b"runtime.semtable"), offsets }))
    }
}

fn go_version<'data>(file: &impl Object<'data>) -> Option<String> {
    let section = file.section_by_name(".go.buildinfo")?;
    let bytes = section.data_range(section.address(), section.size().min(4096)).ok().flatten()?;
    let flags = *bytes.strip_prefix(BUILD_INFO_MAGIC)?.get(1)?;
    let length = usize::from(*bytes.get(32)?);
    let text = bytes.get(33..33_usize.checked_add(length)?)?;
    let known = flags & INLINE_VERSION != 0 && length <= MOST_VERSION_BYTES;
    known.then(|| String::from_utf8_lossy(text).into_owned())
}

/// Of a stripped program: the list that `runtime.allgadd` appends to.
fn allgs_by_code<'data>(file: &impl Object<'data>) -> Option<u64> {
    let table = FunctionTable::of_file(file)?;
    let function = table.functions().find(|&function| table.name(function, 64) == Some(b"runtime.allgadd"))?;
    allgs::appended_list(code_of(file, function, MOST_CODE_BYTES)?, function.start)
}
