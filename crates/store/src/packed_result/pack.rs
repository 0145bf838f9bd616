//! Writes a packed result.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use dwell_files::Folder;
use tar::{Builder, EntryType, Header};
use zstd::stream::write::Encoder;

use super::private_parts::{self, PrivatePart};
use super::{MARK, Part};
use crate::error::{Error, Result};
use crate::folder::{MANIFEST, ResultFolder, manifest_text};
use crate::manifest::State;
use crate::table::TableReader;
use crate::tables::TABLES;

/// What tables hold is compressed already: more effort gains a percent.
const LEVEL: i32 = 3;
/// Rights of a file in the archive, for those who unpack it by other programs.
const MODE: u32 = 0o600;

/// Why a result could not be packed.
#[derive(Debug, thiserror::Error)]
pub enum PackFailure {
    /// The result could not be read.
    #[error(transparent)]
    Result(#[from] Error),
    /// What was read could not be written.
    #[error(transparent)]
    Output(io::Error),
}

type Packing<T> = std::result::Result<T, PackFailure>;

/// Writes the result to `to` as one file, without the private parts `left_out`. The result must be finalized.
///
/// # Errors
///
/// When a file of the result cannot be read, or `to` takes no more.
pub fn pack(result: &ResultFolder, left_out: &BTreeSet<PrivatePart>, mut to: impl Write) -> Packing<()> {
    let manifest = manifest_bytes(result, left_out)?;
    to.write_all(MARK).map_err(PackFailure::Output)?;
    let mut encoder = Encoder::new(to, LEVEL).map_err(PackFailure::Output)?;
    encoder.include_checksum(true).map_err(PackFailure::Output)?;
    let mut archive = Builder::new(encoder);
    append(&mut archive, Part::Manifest, &manifest)?;
    let log = if private_parts::hold_log(left_out) { String::new() } else { result.log()? };
    append(&mut archive, Part::Log, log.as_bytes())?;
    let reader = TableReader::new(result.tables()?);
    for table in TABLES {
        append_table(&mut archive, &reader, table.name, left_out)?;
    }
    let encoder = archive.into_inner().map_err(PackFailure::Output)?;
    encoder.finish().and_then(|mut to| to.flush()).map_err(PackFailure::Output)
}

fn manifest_bytes(result: &ResultFolder, left_out: &BTreeSet<PrivatePart>) -> Result<Vec<u8>> {
    let mut manifest = result.manifest()?;
    if manifest.state != State::Finalized {
        return Err(Error::NotFinalized { path: result.path().to_owned() });
    }
    let path = result.path().join(MANIFEST);
    if left_out.is_empty() {
        return result.manifest_bytes().map_err(|error| Error::io(&path, error));
    }
    private_parts::empty_manifest(&mut manifest, left_out);
    manifest_text(&manifest, &path)
}

fn append_table(
    archive: &mut Builder<impl Write>,
    reader: &TableReader,
    name: &'static str,
    left_out: &BTreeSet<PrivatePart>,
) -> Packing<()> {
    let part = Part::Table(name);
    match private_parts::emptied_table(reader, name, left_out)? {
        Some(bytes) => append(archive, part, &bytes),
        None => append_file(archive, reader.folder(), part),
    }
}

fn append(archive: &mut Builder<impl Write>, part: Part, bytes: &[u8]) -> Packing<()> {
    let header = header(part, bytes.len() as u64).map_err(PackFailure::Output)?;
    archive.append(&header, bytes).map_err(PackFailure::Output)
}

fn append_file(archive: &mut Builder<impl Write>, folder: &Folder, part: Part) -> Packing<()> {
    let path = folder.path().join(part.file_name());
    let unread = |error| PackFailure::Result(Error::io(&path, error));
    let file = folder.read(&part.file_name()).map_err(unread)?;
    let bytes = file.metadata().map_err(unread)?.len();
    let header = header(part, bytes).map_err(PackFailure::Output)?;
    let mut source = WholeFile { file, left: bytes, failure: None };
    let appended = archive.append(&header, &mut source);
    match source.failure {
        Some(error) => Err(unread(error)),
        None => appended.map_err(PackFailure::Output),
    }
}

/// The same for the same result, whenever and by whomever it is packed.
fn header(part: Part, bytes: u64) -> io::Result<Header> {
    let mut header = Header::new_ustar();
    header.set_path(part.archive_name())?;
    header.set_entry_type(EntryType::Regular);
    header.set_size(bytes);
    header.set_mode(MODE);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_cksum();
    Ok(header)
}

/// A file of which exactly as many bytes are read as its header says. Remembers what failed: the archive's own error may be of
/// either side.
struct WholeFile<R> {
    file: R,
    left: u64,
    failure: Option<io::Error>,
}

impl<R: Read> Read for WholeFile<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let read = match self.file.read(&mut buffer[..most]) {
            Ok(0) if most > 0 => Err(io::Error::other("it became shorter meanwhile")),
            other => other,
        };
        match read {
            Ok(read) => {
                self.left -= read as u64;
                Ok(read)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let failure = io::Error::new(error.kind(), "the result cannot be read");
                self.failure = Some(error);
                Err(failure)
            }
        }
    }
}
