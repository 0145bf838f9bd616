//! Files that wait for a store that is away: a folder with a bound, in which the oldest make room for new ones.
//!
//! A file has its name when it is whole, and says at its begin where it belongs and how long it is. The names are numbers, in the order in
//! which they came. What another agent left there when it was killed is written first.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::path::Path;

use dwell_files::Folder;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::StoreFile;

/// Folder that has a buffer for each store, where nobody names another one.
pub const BUFFERS: &str = "/var/lib/dwell/buffers";
/// What is buffered may name users' programs.
const FOLDER_MODE: u32 = 0o700;
/// How the names of its files end.
const ENDING: &str = ".row";
/// What stands at both ends of a table.
const TABLE_MARK: &[u8] = b"PAR1";
/// A path and a number are shorter.
const MOST_HEADER_BYTES: usize = 1_024;

/// See the module.
pub(super) struct StoreBuffer {
    folder: Folder,
    files: VecDeque<BufferedFile>,
    bytes: u64,
    most_bytes: u64,
    next: u64,
    /// Files that had to go, or were damaged.
    dropped: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BufferedFile {
    number: u64,
    bytes: u64,
}

impl BufferedFile {
    fn name(number: u64) -> String {
        format!("{number:016}{ENDING}")
    }
}

impl StoreBuffer {
    /// The buffer in this folder, which is made where it is missing, with all that is in it. It is this agent's alone.
    pub(super) fn open(path: &Path, most_bytes: u64) -> io::Result<Self> {
        let folder = make_all(path)?;
        if !folder.is_this_users() {
            return Err(io::Error::new(ErrorKind::PermissionDenied, "the folder is another user's"));
        }
        flock(&folder, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
            Errno::WOULDBLOCK => io::Error::new(ErrorKind::ResourceBusy, "another agent uses it"),
            other => other.into(),
        })?;
        let mut buffer = Self { folder, files: VecDeque::new(), bytes: 0, most_bytes, next: 0, dropped: 0 };
        for name in buffer.folder.names()? {
            let name = name.to_string_lossy();
            if name.strip_suffix(".partial").is_some_and(|name| number_of(name).is_some()) {
                buffer.folder.remove(&name)?;
            }
            let Some(number) = number_of(&name) else { continue };
            let bytes = buffer.folder.size(&name);
            buffer.files.push_back(BufferedFile { number, bytes });
            (buffer.bytes, buffer.next) = (buffer.bytes + bytes, number.saturating_add(1));
        }
        buffer.make_room(0);
        Ok(buffer)
    }

    /// Files in it.
    pub(super) fn len(&self) -> u64 {
        self.files.len() as u64
    }

    /// Files that were dropped.
    pub(super) const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Adds a file; the oldest ones make room.
    pub(super) fn add(&mut self, file: &StoreFile) -> io::Result<()> {
        let mut bytes = format!("{} {}\n", file.path, file.bytes.len()).into_bytes();
        bytes.extend_from_slice(&file.bytes);
        let length = bytes.len() as u64;
        if length > self.most_bytes {
            return Err(io::Error::new(ErrorKind::FileTooLarge, "a file is larger than the buffer"));
        }
        self.make_room(length);
        self.folder.replace(&BufferedFile::name(self.next), &bytes)?;
        self.files.push_back(BufferedFile { number: self.next, bytes: length });
        (self.bytes, self.next) = (self.bytes + length, self.next + 1);
        Ok(())
    }

    /// The oldest file and its number; one that is damaged is dropped.
    pub(super) fn oldest(&mut self) -> Option<(u64, StoreFile)> {
        while let Some(BufferedFile { number, bytes }) = self.files.front().copied() {
            let read = self.folder.read_all(&BufferedFile::name(number), bytes);
            match read.ok().and_then(parsed) {
                Some(file) => return Some((number, file)),
                None => self.drop_oldest(),
            }
        }
        None
    }

    /// Forgets a file that the store has by now. It may have been dropped meanwhile.
    pub(super) fn remove(&mut self, number: u64) {
        if self.files.front().is_some_and(|file| file.number == number) {
            self.forget_oldest();
        } else {
            self.dropped = self.dropped.saturating_sub(1);
        }
    }

    fn make_room(&mut self, bytes: u64) {
        while !self.files.is_empty() && self.bytes.saturating_add(bytes) > self.most_bytes {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        self.dropped += 1;
        self.forget_oldest();
    }

    fn forget_oldest(&mut self) {
        if let Some(BufferedFile { number, bytes }) = self.files.pop_front() {
            // What cannot be deleted is written again, under the same name.
            let _ = self.folder.remove(&BufferedFile::name(number));
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }
}

/// The number of a file's name.
fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(ENDING)?;
    let number = digits.parse().ok()?;
    (BufferedFile::name(number) == name).then_some(number)
}

/// The file in a buffer's file; none where it is not whole.
fn parsed(mut bytes: Vec<u8>) -> Option<StoreFile> {
    let end = bytes.iter().take(MOST_HEADER_BYTES).position(|byte| *byte == b'\n')?;
    let header = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let (path, length) = header.rsplit_once(' ')?;
    let table = bytes.split_off(end + 1);
    let is_path = !path.split('/').any(|part| part.is_empty() || part.starts_with('.'));
    let is_whole = length.parse() == Ok(table.len()) && table.starts_with(TABLE_MARK) && table.ends_with(TABLE_MARK);
    (is_path && is_whole).then(|| StoreFile { path: path.to_owned(), bytes: table })
}

/// The folder at this path, which is made with those above it.
fn make_all(path: &Path) -> io::Result<Folder> {
    match Folder::create(path, FOLDER_MODE) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Folder::open(path),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).ok_or(error)?;
            make_all(parent)?;
            Folder::create(path, FOLDER_MODE)
        }
        made => made,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn file(name: &str, filling: usize) -> StoreFile {
        let bytes = [TABLE_MARK, &vec![7; filling], TABLE_MARK].concat();
        StoreFile { path: format!("day=1970-01-01/service=a/{name}.parquet"), bytes }
    }

    fn drained(buffer: &mut StoreBuffer) -> Vec<String> {
        let mut paths = Vec::new();
        while let Some((number, file)) = buffer.oldest() {
            buffer.remove(number);
            paths.push(file.path.rsplit_once('/').unwrap().1.to_owned());
        }
        paths
    }

    #[test]
    fn what_was_left_there_comes_first() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a/b");
        let mut buffer = StoreBuffer::open(&path, 1 << 20).unwrap();
        (0..12).for_each(|at| buffer.add(&file(&format!("x{at}"), 10)).unwrap());
        assert_eq!(StoreBuffer::open(&path, 1 << 20).err().unwrap().kind(), ErrorKind::ResourceBusy);
        drop(buffer);
        // What a killed agent leaves, and what was never the buffer's.
        fs::write(path.join("0000000000000012.row.partial"), "day=").unwrap();
        fs::write(path.join("notes.txt"), "mine").unwrap();
        let mut buffer = StoreBuffer::open(&path, 1 << 20).unwrap();
        buffer.add(&file("new", 10)).unwrap();
        let wanted: Vec<String> = (0..12).map(|at| format!("x{at}.parquet")).chain(["new.parquet".into()]).collect();
        assert_eq!(drained(&mut buffer), wanted);
        assert_eq!((buffer.len(), buffer.dropped()), (0, 0));
        let left: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["notes.txt"]);
    }

    #[test]
    fn the_oldest_make_room() {
        let folder = TempDir::new().unwrap();
        let mut buffer = StoreBuffer::open(folder.path(), 1_000).unwrap();
        (0..9).for_each(|at| buffer.add(&file(&format!("x{at}"), 250)).unwrap());
        assert_eq!((buffer.len(), buffer.dropped()), (3, 6));
        assert!(buffer.add(&file("large", 2_000)).is_err());
        // One that is dropped while it is being written is in the store all the same.
        let (number, _) = buffer.oldest().unwrap();
        buffer.add(&file("x9", 250)).unwrap();
        buffer.remove(number);
        assert_eq!(buffer.dropped(), 6);
        assert_eq!(drained(&mut buffer), ["x7.parquet", "x8.parquet", "x9.parquet"]);
        drop(buffer);
        let mut buffer = StoreBuffer::open(folder.path(), 1_000).unwrap();
        (0..3).for_each(|at| buffer.add(&file(&format!("y{at}"), 250)).unwrap());
        drop(buffer);
        let mut smaller = StoreBuffer::open(folder.path(), 400).unwrap();
        assert_eq!((drained(&mut smaller), smaller.dropped()), (vec!["y2.parquet".into()], 2));
    }

    #[test]
    fn what_is_damaged_never_reaches_the_store() {
        let folder = TempDir::new().unwrap();
        let whole = b"day=1/service=a/x.parquet 8\nPAR1PAR1".to_vec();
        assert!(parsed(whole.clone()).is_some());
        for end in 0..whole.len() {
            assert!(parsed(whole[..end].to_vec()).is_none(), "{end}");
        }
        for bad in [
            "../x.parquet 8\nPAR1PAR1",
            "/etc/x 8\nPAR1PAR1",
            "a//x 8\nPAR1PAR1",
            "a/x 9\nPAR1PAR1",
            "a/x 8\nPAR1\0\0\0\0",
        ] {
            assert!(parsed(bad.into()).is_none(), "{bad}");
            fs::write(folder.path().join(BufferedFile::name(3)), bad).unwrap();
            let mut buffer = StoreBuffer::open(folder.path(), 1_000).unwrap();
            assert!(buffer.oldest().is_none());
            assert_eq!((buffer.len(), buffer.dropped()), (0, 1));
        }
    }
}
