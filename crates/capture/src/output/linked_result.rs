//! Results that share their pieces of the spool with a recording that goes on, and one another, by hard links: they cost no copy.

use std::io;
use std::os::unix::fs::MetadataExt;

use dwell_store::{Folder, Manifest, ResultFolder};

/// The file of a result with what the processors traced: one of perf's.
const TRACE_FILE: &str = "intel_pt.perf-data";

/// What such a result is made of. Nobody may write to the files of the spool any more.
pub struct ResultParts<'a> {
    /// The recording's spool.
    pub spool: &'a Folder,
    /// Files that were copied for it.
    pub modules: &'a Folder,
    /// What the result says of itself.
    pub manifest: &'a Manifest,
    /// What the processors traced; empty for nothing.
    pub trace: &'a [u8],
}

/// Makes the result `name` in `all`. Returns the bytes that only it and the recording have of the spool.
pub fn make(all: &Folder, name: &str, parts: &ResultParts<'_>) -> io::Result<u64> {
    let folder = ResultFolder::create_in(all, name).map_err(io::Error::other)?;
    let bytes = link_all(parts.spool, &folder.spool().map_err(io::Error::other)?)?;
    link_all(parts.modules, &folder.modules().map_err(io::Error::other)?)?;
    if !parts.trace.is_empty() {
        folder.held().replace(TRACE_FILE, parts.trace)?;
    }
    folder.write_manifest(parts.manifest).map_err(io::Error::other)?;
    Ok(bytes)
}

/// Links every regular file of `from` into `to`, where it is not there yet. Returns the bytes of those that have no other link.
pub fn link_all(from: &Folder, to: &Folder) -> io::Result<u64> {
    let mut bytes = 0;
    for name in from.names()?.iter().filter_map(|name| name.to_str()) {
        if !from.has_file(name) {
            continue;
        }
        let metadata = from.read(name)?.metadata()?;
        match from.link(name, to) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ if metadata.nlink() == 1 => bytes += metadata.len(),
            _ => {}
        }
    }
    Ok(bytes)
}
