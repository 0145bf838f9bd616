//! How much is read of files that others wrote: one whose headers claim more than there is memory for costs its own names,
//! and nothing else.

use std::path::Path;

use dwell_files::BoundedFile;
use object::read::ReadRef;
use object::{Object, ObjectSection};

/// Most bytes of one ELF file that are read at a time: symbol tables, call frame information, code. Debug information
/// counts by itself.
pub const MOST_ELF_BYTES: u64 = 512 << 20;
/// Most that compressed sections of one file expand to.
const MOST_EXPANDED_BYTES: u64 = 4 << 30;
/// The same of all files of a result.
const MOST_EXPANDED_IN_ALL: u64 = 8 << 30;
/// Debug information expands less than twentyfold: what claims more than this is zeros.
const MOST_TIMES: u64 = 100;
/// Sections that expand to less may be anything.
const SMALL_BYTES: u64 = 16 << 20;

/// The parts of a file that are not read, because its tables or its expanded debug information claim too much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnreadParts {
    /// Nothing can be read, and why.
    All(String),
    /// Its debug information; its symbol tables are sound.
    DebugInformation(String),
}

/// What the files of a result may still expand to.
pub struct Expansion {
    left: u64,
}

impl Default for Expansion {
    fn default() -> Self {
        Self { left: MOST_EXPANDED_IN_ALL }
    }
}

impl Expansion {
    /// The parts of a file that must not be given to readers that trust it; `None` when all is sound. Those readers refuse a
    /// file that is not an ELF file themselves.
    pub fn refused(&mut self, path: &Path) -> Option<UnreadParts> {
        let bytes = match BoundedFile::open(path, MOST_ELF_BYTES) {
            Ok(bytes) => bytes,
            Err(error) => return Some(UnreadParts::All(error.to_string())),
        };
        let Ok(elf) = object::File::parse(&bytes) else {
            let large = (&bytes).len().is_ok_and(|len| len > MOST_ELF_BYTES);
            return large.then(|| UnreadParts::All("its symbol tables are damaged or too large".into()));
        };
        let (of_debug, others) = claims(&elf);
        if let Some(why) = others.refused(self.left) {
            return Some(UnreadParts::All(why.into()));
        }
        self.left -= others.bytes;
        if let Some(why) = of_debug.refused(self.left) {
            return Some(UnreadParts::DebugInformation(why.into()));
        }
        self.left -= of_debug.bytes;
        None
    }
}

/// What compressed sections claim.
#[derive(Default)]
struct Claims {
    bytes: u64,
    of_zeros: bool,
}

impl Claims {
    fn refused(&self, left: u64) -> Option<&'static str> {
        if self.of_zeros {
            Some("it expands more than a hundredfold")
        } else if self.bytes > MOST_EXPANDED_BYTES {
            Some("it expands to more than 4 GiB")
        } else {
            (self.bytes > left).then_some("all files together expand to more than 8 GiB")
        }
    }
}

/// Those of the debug information, and those of the rest.
fn claims<'d>(elf: &object::File<'d, &'d BoundedFile>) -> (Claims, Claims) {
    let (mut of_debug, mut others) = (Claims::default(), Claims::default());
    for section in elf.sections() {
        let Ok(range) = section.compressed_file_range() else { continue };
        if range.format == object::CompressionFormat::None {
            continue;
        }
        let is_debug = section.name().is_ok_and(|name| name.starts_with(".debug") || name.starts_with(".zdebug"));
        let claims = if is_debug { &mut of_debug } else { &mut others };
        let (packed, bytes) = (range.compressed_size, range.uncompressed_size);
        claims.bytes = claims.bytes.saturating_add(bytes);
        claims.of_zeros |= bytes > SMALL_BYTES && bytes / MOST_TIMES > packed;
    }
    (of_debug, others)
}

/// The same of a file by itself.
pub fn claims_too_much(path: &Path) -> Option<UnreadParts> {
    Expansion::default().refused(path)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::time::{Duration, Instant};

    use super::*;

    /// A sparse ELF file of 2 GB with a build id, a link and a section that each claim nearly all of it.
    fn hollow(path: &Path, section: (&str, u32)) {
        const BYTES: u64 = 2 << 30;
        let names = [b"\0.shstrtab\0".as_slice(), section.0.as_bytes(), b"\0"].concat();
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(16, 0);
        let mut put = |value: u64, size: usize| bytes.extend(&value.to_le_bytes()[..size]);
        for (value, size) in [(3, 2), (62, 2), (1, 4), (0, 8), (64, 8), (120, 8), (0, 4), (64, 2), (56, 2), (1, 2)] {
            put(value, size);
        }
        for (value, size) in [(64, 2), (3, 2), (1, 2)] {
            put(value, size);
        }
        // One segment of notes; then no section, the names, and the section.
        for (value, size) in [(4, 4), (4, 4), (4096, 8), (0, 8), (0, 8), (BYTES - 4096, 8), (BYTES - 4096, 8), (4, 8)] {
            put(value, size);
        }
        for (name, kind, offset, size) in
            [(0, 0, 0, 0), (1, 3, 312, names.len() as u64), (11, u64::from(section.1), 4096, (BYTES - 4096) / 24 * 24)]
        {
            for (value, size) in
                [(name, 4), (kind, 4), (0, 8), (0, 8), (offset, 8), (size, 8), (1, 4), (0, 4), (8, 8), (24, 8)]
            {
                put(value, size);
            }
        }
        assert_eq!(bytes.len(), 312);
        bytes.extend(names);
        std::fs::write(path, bytes).expect("file");
        OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(BYTES)).expect("a sparse file");
    }

    #[test]
    fn a_file_that_claims_too_much_costs_its_names_only() {
        use crate::code::symbol_reader::Depth;
        use crate::code::symbols::{DebugFileSources, Request, SymbolPlace, symbolize};
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("hollow.so");
        let begun = Instant::now();
        for section in [(".note.gnu.build-id", 7), (".debug_info", 1), (".symtab", 2), (".gnu_debuglink", 1)] {
            hollow(&path, section);
            let build_id = crate::code::modules::read_build_id(&path);
            assert_eq!(build_id, (section.0 != ".symtab").then(String::new), "{section:?}");
            let request = Request {
                place: SymbolPlace::File(path.clone(), Some(path.clone())),
                code: vec![0x1000],
                data: Vec::new(),
                shares: vec![1.0],
            };
            let depth = Depth { debug_info: true, inlines: true };
            let kernel = crate::KernelFiles::default();
            let elsewhere = DebugFileSources { debug_dirs: &[], kernel: &kernel };
            let answers = symbolize(&[request], depth, elsewhere, &crate::NoProgress);
            assert_eq!(answers[0].code, [[]], "{section:?}");
            let refused = [".debug_info", ".symtab"].contains(&section.0);
            assert!(!refused || answers[0].failure.is_some(), "{section:?}: nobody is told");
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "the claims were read: {:?}", begun.elapsed());
    }
}
