//! The file that holds another's symbols and debug information.

use std::path::{Path, PathBuf};

use dwell_files::{DEBUG_FOLDERS, checksum_of, debug_file_candidates, debug_link};
use object::Object as _;

use crate::elf::{Data, Elf};

/// The separate file of `elf`, which lies at `path`.
pub(crate) fn separate_file(path: &Path, elf: &Elf<'_>) -> Option<PathBuf> {
    let build_id = build_id(elf).unwrap_or_default();
    let link = debug_link(&elf.file);
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = link.as_ref().map(|(name, _)| name.as_str());
    let candidates = debug_file_candidates(&DEBUG_FOLDERS.map(PathBuf::from), &path, &build_id, name);
    // The same build, or where that has no id, the checksum of its link.
    let is_of = |file: &PathBuf| match build_id.is_empty() {
        false => has_build_id(file, &build_id),
        true => link.as_ref().is_some_and(|(_, checksum)| checksum_of(file) == Some(*checksum)),
    };
    candidates.into_iter().find(is_of)
}

/// In hexadecimal.
fn build_id(elf: &Elf<'_>) -> Option<String> {
    let id = elf.file.build_id().ok().flatten()?;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn has_build_id(file: &Path, wanted: &str) -> bool {
    let Ok(data) = Data::open(file) else { return false };
    Elf::parse(&data, file).ok().and_then(|elf| build_id(&elf)).is_some_and(|found| found == wanted)
}
