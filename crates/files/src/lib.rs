//! Files that others wrote or chose: none is opened before it is known to be a regular one, and none is read without bound.
//! Opening a pipe waits for its other end, opening a device may do anything, and a file of a few bytes on the disk
//! can say that it has a section of many GB.

mod debug_files;
mod folder;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use object::read::{CompressionFormat, ReadCache};
use object::{ObjectSection, ReadRef};
use rustix::fs::{CWD, FileType, Mode, OFlags, RawMode, ResolveFlags, SeekFrom, fstat, openat2, seek};
use rustix::io::{Errno, retry_on_intr};
use rustix::path::Arg;

pub use debug_files::{DEBUG_FOLDERS, checksum_of, debug_file_candidates, debug_link, has_debug_info};
pub use folder::Folder;

/// What a string takes beside its text, of which [`ReadCache`] keeps some KiB at most.
const STRING_OVERHEAD: u64 = 64;
/// A compressed section that says it has more than this is not unpacked.
const MOST_UNPACKED_BYTES: u64 = 256 << 20;

/// openat(2), again when a signal interrupts it: slow file systems let it.
fn openat(folder: impl AsFd, path: impl Arg + Copy, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    retry_on_intr(|| rustix::fs::openat(&folder, path, flags, mode))
}

/// Opens the regular file that `path` leads to for reading. Anything else is not opened.
///
/// # Errors
///
/// Those of open(2); [`io::ErrorKind::InvalidInput`] when no regular file is there.
pub fn open_regular(path: &Path) -> io::Result<File> {
    read_regular(openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

/// Opens the regular file `path` as a process would whose root is the folder `root`: links, and `..`, lead nowhere out of
/// it, and those of `/proc` lead nowhere.
pub fn open_regular_in(root: impl AsFd, path: &Path) -> io::Result<File> {
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    read_regular(retry_on_intr(|| openat2(&root, path, flags, Mode::empty(), resolve))?)
}

/// The file `path` as process `tgid` sees it.
pub fn open_regular_of(tgid: u32, path: &Path) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = format!("/proc/{tgid}/root");
    let root = openat(CWD, root.as_str(), flags, Mode::empty())?;
    open_regular_in(root, path)
}

/// Opens for reading what `named`, opened with `O_PATH`, only names, if it is a regular file.
pub fn read_regular(named: OwnedFd) -> io::Result<File> {
    open_named(named, OFlags::RDONLY, |_| true)
}

/// Opens for `access` what `named`, opened with `O_PATH`, only names, if it is a regular file of which `is_wanted` says so.
pub fn open_named(named: OwnedFd, access: OFlags, is_wanted: impl FnOnce(&Metadata) -> bool) -> io::Result<File> {
    let kind = kind_of(fstat(&named)?.st_mode);
    if kind != FileType::RegularFile {
        return Err(refused(&format!("{} is in its place; only regular files are read", in_words(kind))));
    }
    let named = File::from(named);
    if !is_wanted(&named.metadata()?) {
        return Err(refused("it is another file, or another user's"));
    }
    let flags = access | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", named.as_raw_fd());
    Ok(openat(CWD, path.as_str(), flags, Mode::empty())?.into())
}

/// Opens for reading what `file` has open, as this thread's user may: the kernel asks for its rights once more.
///
/// # Errors
///
/// Those of open(2); [`io::ErrorKind::InvalidInput`] when it is no regular file.
pub fn reopen(file: &File) -> io::Result<File> {
    read_regular(file.as_fd().try_clone_to_owned()?)
}

fn kind_of(mode: RawMode) -> FileType {
    FileType::from_raw_mode(mode)
}

fn in_words(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a folder",
        FileType::Symlink => "a link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    }
}

/// Bytes of a file that take room on the disk, up to the first hole.
///
/// # Errors
///
/// Those of lseek(2).
pub fn bytes_before_a_hole(file: &File) -> io::Result<u64> {
    match seek(file, SeekFrom::Hole(0)) {
        // The file is empty.
        Err(Errno::NXIO) => Ok(0),
        // The file system knows no holes.
        Err(Errno::INVAL) => Ok(file.metadata()?.len()),
        hole => Ok(hole?),
    }
}

/// What is there is not opened.
fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// A file that is read in pieces, which are kept, up to a number of bytes in all. Its size does not count, what is asked for
/// does: each piece once, before memory is taken for it.
#[derive(Debug)]
pub struct BoundedFile {
    cache: ReadCache<File>,
    room: Cell<u64>,
    /// Offset and size of the pieces that are kept; 0 for the size of a string.
    kept: RefCell<HashSet<(u64, u64)>>,
}

impl BoundedFile {
    /// At most `bytes` bytes of `file` will be read.
    pub fn new(file: File, bytes: u64) -> Self {
        Self { cache: ReadCache::new(file), room: Cell::new(bytes), kept: RefCell::default() }
    }

    /// The regular file at `path`, of which at most `bytes` bytes will be read.
    ///
    /// # Errors
    ///
    /// Those of [`open_regular`].
    pub fn open(path: &Path, bytes: u64) -> io::Result<Self> {
        Ok(Self::new(open_regular(path)?, bytes))
    }

    /// Takes `bytes` of the room for a piece that is not kept yet, and says whether it is new. Before it is read: the cache
    /// takes the memory first.
    fn take(&self, piece: (u64, u64), bytes: u64) -> Result<bool, ()> {
        if self.kept.borrow().contains(&piece) {
            return Ok(false);
        }
        self.room.set(self.room.get().checked_sub(bytes).ok_or(())?);
        Ok(self.kept.borrow_mut().insert(piece))
    }
}

impl<'a> ReadRef<'a> for &'a BoundedFile {
    fn len(self) -> Result<u64, ()> {
        (&self.cache).len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        if size > 0 {
            self.take((offset, size), size)?;
        }
        self.cache.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        let is_new = self.take((range.start, 0), STRING_OVERHEAD)?;
        let string = (&self.cache).read_bytes_at_until(range, delimiter)?;
        if is_new {
            self.room.set(self.room.get().saturating_sub(string.len() as u64));
        }
        Ok(string)
    }
}

/// The content of a section, unpacked where it is compressed; `None` when it cannot be read or says that it is larger than
/// 256 MiB unpacked.
pub fn section_data<'data>(section: &impl ObjectSection<'data>) -> Option<Cow<'data, [u8]>> {
    let data = section.compressed_data().ok()?;
    let packed = data.format != CompressionFormat::None;
    if packed && data.uncompressed_size > MOST_UNPACKED_BYTES { None } else { data.decompress().ok() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_a_pipe_does_not_block() {
        let folder = tempfile::tempdir().expect("folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "x").expect("file");
        symlink("file", path("link")).expect("link");
        symlink("/etc/passwd", path("out")).expect("link");
        rustix::fs::mkfifoat(CWD, path("pipe"), Mode::from_raw_mode(0o600)).expect("pipe");
        for name in ["file", "link"] {
            let text = open_regular(&path(name)).and_then(io::read_to_string).expect("a file");
            assert_eq!(text, "x");
        }
        for refused in ["pipe", ".", "none"] {
            assert!(open_regular(&path(refused)).is_err(), "{refused}");
        }
        assert!(open_regular(Path::new("/dev/null")).is_err());
        let root = File::open(folder.path()).expect("folder");
        let inside = |name: &str| open_regular_in(&root, Path::new(name));
        assert!(inside("/../link").is_ok());
        assert!(inside("out").is_err() && inside("pipe").is_err());
        assert!(open_regular_of(std::process::id(), Path::new("/proc/self/exe")).is_err(), "a magic link");
        assert!(open_regular_of(std::process::id(), Path::new("/etc/passwd")).is_ok());
    }

    #[test]
    fn a_sparse_file_is_read_up_to_the_bound() {
        let file = tempfile::tempfile().expect("file");
        file.set_len(1 << 40).expect("a sparse file");
        let bounded = BoundedFile::new(file, 1 << 20);
        assert!((&bounded).read_bytes_at(0, 1 << 30).is_err());
        assert!((&bounded).read_bytes_at(0, 1 << 19).is_ok());
        assert!((&bounded).read_bytes_at(0, 1 << 19).is_ok(), "kept");
        assert!((&bounded).read_bytes_at(1, 1 << 19).is_ok());
        assert!((&bounded).read_bytes_at(2, 1).is_err());
        assert!((&bounded).read_bytes_at_until(0..100, 0).is_err());
        assert!((&bounded).read_bytes_at(0, 1 << 19).is_ok(), "kept");
    }
}
