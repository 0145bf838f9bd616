//! Where variables that a mapped file exports lie in its process.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use dwell_probes::exported_addresses;

use crate::kernel::perf::Mapping;

/// The address of each of `names` in the process that mapped the file, none where the file does not export it. Fails, with the reason,
/// when the file cannot be read: as it is mapped, as the process sees its path, or at the path.
pub fn exported_by(mapping: &Mapping, names: &[&str]) -> Result<Vec<Option<u64>>, String> {
    let header = &mapping.header;
    let (pid, start, end) = (header.h.tid, header.start, header.start.saturating_add(header.length));
    let path = Path::new(OsStr::from_bytes(&mapping.path));
    let mapped = PathBuf::from(format!("/proc/{pid}/map_files/{start:x}-{end:x}"));
    let seen = Path::new(&format!("/proc/{pid}/root")).join(path.strip_prefix("/").unwrap_or(Path::new("")));
    let found = [mapped.as_path(), seen.as_path(), path];
    let found = found.iter().map(|path| exported_addresses(path, names, start, header.file_offset));
    found.reduce(Result::or).ok_or("it has no file")?.map_err(|error| error.to_string())
}
