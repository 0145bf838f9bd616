//! The file that holds another's symbols and debug information: by build id, or by the file's own link, as gdb looks for it.

use std::path::{Path, PathBuf};

use object::Object as _;

use crate::elf::{Data, Elf};

/// The separate file of `elf`, which lies at `path`.
pub(crate) fn separate_file(path: &Path, elf: &Elf<'_>) -> Option<PathBuf> {
    candidates(path, elf).into_iter().find(|file| is_of(file, elf))
}

/// Whether `file` is of `elf`: the same build, or where that has no id, the checksum of its link.
fn is_of(file: &Path, elf: &Elf<'_>) -> bool {
    let Ok(data) = Data::open(file) else { return false };
    let Ok(found) = Elf::parse(&data, file) else { return false };
    let id = elf.file.build_id().ok().flatten();
    match id {
        Some(id) => found.file.build_id().ok().flatten() == Some(id),
        None => elf.file.gnu_debuglink().ok().flatten().is_some_and(|(_, sum)| data.checksum() == Some(sum)),
    }
}

/// Where a separate file can be, as gdb looks for it.
fn candidates(path: &Path, elf: &Elf<'_>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    if let Some((first, rest)) = elf.file.build_id().ok().flatten().and_then(<[u8]>::split_first) {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        files.push(PathBuf::from(format!("/usr/lib/debug/.build-id/{first:02x}/{rest}.debug")));
    }
    let link = elf.file.gnu_debuglink().ok().flatten().and_then(|(name, _)| std::str::from_utf8(name).ok());
    // A link is a name without a folder.
    if let Some(name) = link.filter(|name| !name.contains('/')) {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let beside = path.parent().unwrap_or(Path::new("/"));
        let inside = beside.strip_prefix("/").unwrap_or(beside);
        files.extend([beside.join(name), beside.join(".debug").join(name)]);
        files.push(Path::new("/usr/lib/debug").join(inside).join(name));
    }
    files
}
