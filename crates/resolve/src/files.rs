//! Opens and reads files that others wrote. A path that leads to a pipe or a device by now, and a file whose headers claim
//! more than there is memory for, may cost that file's names, and nothing else.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use object::read::{ReadCache, ReadRef};
use object::{Object, ObjectSection};

/// Flags of open(2) on Linux: a place in the tree of files, without opening what is there.
const O_PATH: i32 = 0o10_000_000;
/// Opening does not wait.
const O_NONBLOCK: i32 = 0o4000;
/// Most bytes of one ELF file that are read at a time: symbol tables, call frame information, code. Debug information
/// counts by itself.
pub const MOST_ELF_BYTES: u64 = 512 << 20;
/// Largest debug information that is expanded, all sections together.
const MOST_EXPANDED_BYTES: u64 = 4 << 30;
/// What a string takes beside its text.
const STRING_OVERHEAD: u64 = 64;

/// Opens the regular file at `path` for reading. What else is there is not opened: a pipe would wait for its writer, and
/// some devices do things when they are opened.
///
/// # Errors
///
/// Those of open(2); [`io::ErrorKind::InvalidInput`] when no regular file is there.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let place = OpenOptions::new().read(true).custom_flags(O_PATH).open(path)?;
    if !place.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    // The path may lead elsewhere by now: the same file again.
    let same = format!("/proc/self/fd/{}", place.as_raw_fd());
    OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(same)
}

/// An ELF file's bytes, of which only so many are read: its headers say how many to read, and whoever wrote it made them.
pub struct ElfBytes {
    cache: ReadCache<File>,
    room: Cell<u64>,
    /// Place and length of what was read, a string's length as 0: the cache has it.
    held: RefCell<HashSet<(u64, u64)>>,
}

impl ElfBytes {
    /// The file at `path`, of which at most `most_bytes` are read.
    ///
    /// # Errors
    ///
    /// Those of [`open_regular`].
    pub fn open(path: &Path, most_bytes: u64) -> io::Result<Self> {
        let cache = ReadCache::new(open_regular(path)?);
        Ok(Self { cache, room: Cell::new(most_bytes), held: RefCell::default() })
    }

    /// Makes room for what is not held yet; before it is read, for the cache takes the memory first.
    fn admit(&self, range: (u64, u64), bytes: u64) -> Result<(), ()> {
        if self.held.borrow().contains(&range) {
            return Ok(());
        }
        self.room.set(self.room.get().checked_sub(bytes).ok_or(())?);
        self.held.borrow_mut().insert(range);
        Ok(())
    }
}

impl<'d> ReadRef<'d> for &'d ElfBytes {
    fn len(self) -> Result<u64, ()> {
        (&self.cache).len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'d [u8], ()> {
        if size > 0 {
            self.admit((offset, size), size)?;
        }
        (&self.cache).read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'d [u8], ()> {
        self.admit((range.start, 0), STRING_OVERHEAD)?;
        let found = (&self.cache).read_bytes_at_until(range, delimiter)?;
        // The cache reads no string beyond some KiB.
        self.room.set(self.room.get().saturating_sub(found.len() as u64));
        Ok(found)
    }
}

/// Says why a file's symbols are not read, for those readers that take what the file says: its tables or its expanded
/// debug information claim too much. A file that is no ELF file is theirs to refuse.
pub fn claims_too_much(path: &Path) -> Option<String> {
    let bytes = match ElfBytes::open(path, MOST_ELF_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => return Some(error.to_string()),
    };
    let Ok(elf) = object::File::parse(&bytes) else {
        let large = (&bytes).len().is_ok_and(|len| len > MOST_ELF_BYTES);
        return large.then(|| "its symbol tables are damaged or too large".into());
    };
    let mut expanded = 0u64;
    for section in elf.sections() {
        let range = section.compressed_file_range();
        let compressed = range.as_ref().is_ok_and(|range| range.format != object::CompressionFormat::None);
        if compressed {
            expanded = expanded.saturating_add(range.map_or(0, |range| range.uncompressed_size));
        }
    }
    (expanded > MOST_EXPANDED_BYTES).then(|| "its debug information expands to too much".into())
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().expect("folder");
        let (pipe, file, link) = (folder.path().join("pipe"), folder.path().join("file"), folder.path().join("link"));
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        std::fs::write(&file, "text").expect("file");
        std::os::unix::fs::symlink(&pipe, &link).expect("link");
        for path in [pipe.as_path(), link.as_path(), folder.path(), Path::new("/dev/zero")] {
            let kind = open_regular(path).map_err(|error| error.kind()).err();
            assert_eq!(kind, Some(io::ErrorKind::InvalidInput), "{}", path.display());
        }
        assert_eq!(io::read_to_string(open_regular(&file).expect("a file")).expect("text"), "text");
    }

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
        use crate::symbols::{Depth, Place, Request, symbolize};
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("hollow.so");
        let begun = Instant::now();
        for section in [(".note.gnu.build-id", 7), (".debug_info", 1), (".symtab", 2), (".gnu_debuglink", 1)] {
            hollow(&path, section);
            let build_id = crate::modules::read_build_id(&path);
            assert_eq!(build_id, (section.0 != ".symtab").then(String::new), "{section:?}");
            let request = Request {
                place: Place::File(path.clone(), Some(path.clone())),
                code: vec![0x1000],
                data: Vec::new(),
                shares: vec![1.0],
            };
            let depth = Depth { debug_info: true, inlines: true };
            let answers = symbolize(&[request], depth, &[], &crate::Silent);
            assert_eq!(answers[0].code, [[]], "{section:?}");
            let refused = [".debug_info", ".symtab"].contains(&section.0);
            assert!(!refused || answers[0].failure.is_some(), "{section:?}: nobody is told");
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "the claims were read: {:?}", begun.elapsed());
    }

    #[test]
    fn only_so_much_is_read_and_nothing_twice() {
        let own = std::env::current_exe().expect("path");
        let bytes = ElfBytes::open(&own, 300).expect("a file");
        let read = |offset, size| (&bytes).read_bytes_at(offset, size).map(<[u8]>::len);
        assert_eq!(
            (read(0, 200), read(0, 200), read(8, 101), read(8, 100), read(9, 1)),
            (Ok(200), Ok(200), Err(()), Ok(100), Err(()))
        );
        assert_eq!((&bytes).read_bytes_at_until(0..200, 0), Err(()));
    }
}
