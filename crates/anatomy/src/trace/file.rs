//! Replays the trace of a file, and says how far that is.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use dwell_work::stop;
use rustix::fs::OFlags;

use super::{Head, TraceError, head, read};
use crate::annotate::{Anatomy, Annotator};

/// How far a replay is.
#[derive(Debug, Default)]
pub struct Progress {
    read: AtomicU64,
    size: AtomicU64,
}

impl Progress {
    /// Bytes that were read, and bytes of the file.
    pub fn bytes(&self) -> (u64, u64) {
        (self.read.load(Ordering::Relaxed), self.size.load(Ordering::Relaxed))
    }
}

/// Opens a trace: a regular file, and not through a link, which may lead anywhere by now.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")),
    }
}

/// What was recorded in a file.
pub fn recorded(path: &Path) -> Result<Head, TraceError> {
    head(BufReader::new(open(path)?))
}

/// Replays a trace.
pub fn replay(from: impl Read, mut annotator: Annotator) -> Result<(Head, Anatomy), TraceError> {
    let head = read(BufReader::with_capacity(1 << 20, from), |_| (), &mut annotator)?;
    Ok((head, annotator.finish()))
}

/// A file that says how far it was read, and can be stopped (`dwell_work::stop`).
pub struct Watched<'a> {
    file: File,
    progress: &'a Progress,
}

impl<'a> Watched<'a> {
    /// Tells `progress`.
    pub fn new(file: File, progress: &'a Progress) -> io::Result<Self> {
        progress.size.store(file.metadata()?.len(), Ordering::Relaxed);
        Ok(Self { file, progress })
    }
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        stop::check();
        let read = self.file.read(buffer)?;
        self.progress.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
