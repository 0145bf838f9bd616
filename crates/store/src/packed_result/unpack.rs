//! Reads a packed result, which anybody may have made: only the parts of a result are made, each once, as regular files in a new
//! folder, and no more of them than a file of this size can honestly hold.

use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use dwell_files::Folder;
use tar::{Archive, Entry};
use zstd::stream::read::Decoder;

use super::{MARK, MARK_OF_ALL_VERSIONS, MOST_LOG_BYTES, Part};
use crate::error::{Error, Result};
use crate::folder::{MANIFEST, MOST_MANIFEST_BYTES, PRIVATE, ResultFolder, TABLES as FOLDER, parse_manifest};
use crate::manifest::State;

/// Tables are compressed themselves: a whole result unpacks to little more than its file. A manifest and a log are text.
const MOST_GROWTH: u64 = 16;
const ALLOWANCE_BYTES: u64 = 64 << 20;
/// The window of what [`super::pack`] writes is 2 MiB. What asks for more memory than 8 MiB was made otherwise.
const MOST_WINDOW_LOG: u32 = 23;
/// Copied at once, bytes.
const PIECE: usize = 64 << 10;

/// Whether a file that begins like this is a packed result, be it of another version.
pub fn begins_packed_result(mut from: impl Read) -> bool {
    let mut begin = [0; MARK_OF_ALL_VERSIONS];
    from.read_exact(&mut begin).is_ok() && begin == MARK[..MARK_OF_ALL_VERSIONS]
}

/// Makes the folder `to` of the packed result `from`, which has `packed_bytes` and is called `name` in messages. A folder that could
/// not be filled is deleted.
///
/// # Errors
///
/// When something is at `to` already, when it cannot be written, and for every file that [`super::pack`] would not have made.
pub fn unpack(from: impl Read, packed_bytes: u64, name: &Path, to: &Path) -> Result<ResultFolder> {
    let result = ResultFolder::create_bare(to)?;
    let unpacking = Unpacking { name, result: &result };
    if let Err(error) = unpacking.fill(from, packed_bytes) {
        let _ = result.held().clone().delete(); // the error says why it is not there
        return Err(error);
    }
    Ok(result)
}

struct Unpacking<'a> {
    name: &'a Path,
    result: &'a ResultFolder,
}

impl Unpacking<'_> {
    /// The manifest is written last: until then the folder counts as no result.
    fn fill(&self, mut from: impl Read, packed_bytes: u64) -> Result<()> {
        self.read_mark(&mut from)?;
        let mut decoder = Decoder::new(from).map_err(|error| self.refused(error))?;
        decoder.window_log_max(MOST_WINDOW_LOG).map_err(|error| self.refused(error))?;
        let most = packed_bytes.saturating_mul(MOST_GROWTH).saturating_add(ALLOWANCE_BYTES);
        let mut archive = Archive::new(BoundedReader { from: decoder, left: most });
        let manifest = self.parts(&mut archive)?;
        // The checksum is at the very end.
        io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(|error| self.refused(error))?;
        let held = self.result.held();
        held.replace(MANIFEST, &manifest).map_err(|error| Error::io(&held.path().join(MANIFEST), error))
    }

    fn read_mark(&self, from: &mut impl Read) -> Result<()> {
        let mut mark = [0; MARK.len()];
        match from.read_exact(&mut mark) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(self.refused("it is no packed result"));
            }
            read => read.map_err(|error| self.refused(error))?,
        }
        if &mark == MARK {
            return Ok(());
        }
        let is_other = mark.starts_with(&MARK[..MARK_OF_ALL_VERSIONS]);
        Err(self.refused(if is_other { "a Dwell with another format packed it" } else { "it is no packed result" }))
    }

    /// Makes the files, but for the manifest, which is returned.
    fn parts(&self, archive: &mut Archive<impl Read>) -> Result<Vec<u8>> {
        // Raw: a name is that of its header, and no entry describes another one.
        let mut entries = archive.entries().map_err(|error| self.refused(error))?.raw(true);
        let first = entries.next().ok_or_else(|| self.refused("nothing is in it"))?;
        let manifest = self.manifest(first.map_err(|error| self.refused(error))?)?;
        let folder = self.result.held();
        let path = folder.path().join(FOLDER);
        let tables = folder.make_folder(FOLDER, PRIVATE).map_err(|error| Error::io(&path, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| self.refused(error))?;
            match self.part(&entry)? {
                Part::Manifest => return Err(self.refused("it has two manifests")),
                part @ Part::Log => self.file(entry, part, folder)?,
                part @ Part::Table(_) => self.file(entry, part, &tables)?,
            }
        }
        Ok(manifest)
    }

    fn manifest(&self, mut entry: Entry<'_, impl Read>) -> Result<Vec<u8>> {
        if self.part(&entry)? != Part::Manifest {
            return Err(self.refused("it does not begin with a manifest"));
        }
        let mut bytes = Vec::new();
        self.copy(&mut entry, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        match parse_manifest(self.name, &bytes)?.state {
            State::Finalized => Ok(bytes),
            _ => Err(self.refused("its result is not finalized")),
        }
    }

    /// What the entry is, if it may be that, and have that size.
    fn part(&self, entry: &Entry<'_, impl Read>) -> Result<Part> {
        let name = entry.path_bytes();
        let shown = String::from_utf8_lossy(&name);
        if !entry.header().entry_type().is_file() {
            return Err(self.refused(format!("{shown} in it is no file")));
        }
        let part = Part::parse(&name).ok_or_else(|| self.refused(format!("no result has a file {shown}")))?;
        let most = match part {
            Part::Manifest => MOST_MANIFEST_BYTES,
            Part::Log => MOST_LOG_BYTES,
            Part::Table(_) => u64::MAX, // as far as the file may grow in all
        };
        if entry.size() > most {
            return Err(self.refused(format!("{shown} in it is too large")));
        }
        Ok(part)
    }

    fn file(&self, mut entry: Entry<'_, impl Read>, part: Part, folder: &Folder) -> Result<()> {
        let path = folder.path().join(part.file_name());
        let mut file = folder.create_file(&part.file_name()).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => self.refused(format!("{} is in it twice", part.archive_name())),
            _ => Error::io(&path, error),
        })?;
        self.copy(&mut entry, |piece| file.write_all(piece).map_err(|error| Error::io(&path, error)))
    }

    /// All that the entry's header promises.
    fn copy(&self, entry: &mut Entry<'_, impl Read>, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (mut piece, mut left) = (vec![0; PIECE], entry.size());
        while left > 0 {
            match entry.read(&mut piece) {
                Ok(0) => return Err(self.refused("it is cut off")),
                Ok(read) => {
                    write(&piece[..read])?;
                    left = left.saturating_sub(read as u64);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.refused(error)),
            }
        }
        Ok(())
    }

    fn refused(&self, reason: impl Into<Box<dyn std::error::Error>>) -> Error {
        Error::Packed { path: self.name.to_owned(), reason: reason.into().to_string() }
    }
}

/// Fails when more comes out than there may be.
struct BoundedReader<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::new(ErrorKind::FileTooLarge, "it unpacks to more than a result of its size does")
        })?;
        Ok(read)
    }
}
