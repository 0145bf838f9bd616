//! Where the file lies that has another one's symbols and debug information, by gdb's rules ("Debugging Information in Separate Files").

use std::io::Read;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection};

use crate::open_regular;

/// Where distributions put debug files.
pub const DEBUG_FOLDERS: [&str; 2] = ["/usr/lib/debug", "/lib/debug"];
/// A file without a build id is read whole to compare it: not without bound.
const MOST_CHECKED_BYTES: u64 = 1 << 30;

/// What an ELF file says of the one that has its debug information: its name, without a folder, and the file's checksum.
pub fn debug_link<'d>(elf: &impl Object<'d>) -> Option<(String, u32)> {
    let (name, checksum) = elf.gnu_debuglink().ok().flatten()?;
    let name = std::str::from_utf8(name).ok()?;
    (!name.contains('/')).then(|| (name.to_owned(), checksum))
}

/// Whether an ELF file has debug information itself.
pub fn has_debug_info<'d>(elf: &impl Object<'d>) -> bool {
    elf.section_by_name(".debug_info").is_some_and(|section| section.size() > 0 && section.file_range().is_some())
}

/// Paths at which the debug information of the file at `path` may lie, in `folders` and beside it; by its build id in hexadecimal, empty for
/// none, and by the name that it links to.
pub fn debug_file_candidates(folders: &[PathBuf], path: &Path, build_id: &str, link: Option<&str>) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if let Some((first, rest)) = build_id.split_at_checked(2).filter(|(_, rest)| !rest.is_empty()) {
        // The kernel tells 20 bytes and pads shorter ids with zeros.
        let short = rest.trim_end_matches("00");
        for folder in folders {
            paths.push(folder.join(".build-id").join(first).join(format!("{rest}.debug")));
            paths.push(folder.join(".build-id").join(first).join(format!("{short}.debug")));
        }
    }
    if let Some(name) = link {
        let beside = path.parent().unwrap_or(Path::new("/"));
        let inside = beside.strip_prefix("/").unwrap_or(beside);
        paths.extend([beside.join(name), beside.join(".debug").join(name)]);
        paths.extend(folders.iter().map(|folder| folder.join(inside).join(name)));
    }
    paths
}

/// The checksum of a whole file, by which [`debug_link`] names it; `None` when it cannot be read.
pub fn checksum_of(path: &Path) -> Option<u32> {
    let mut file = open_regular(path).ok()?.take(MOST_CHECKED_BYTES);
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hasher.finalize()),
            count => hasher.update(&buffer[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_looked_for_by_build_id_and_by_link() {
        let folders = [PathBuf::from("/usr/lib/debug")];
        let of = |build_id: &str, link: Option<&str>| {
            let found = debug_file_candidates(&folders, Path::new("/usr/bin/app"), build_id, link);
            found.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            of("abcdef0000", None),
            ["/usr/lib/debug/.build-id/ab/cdef0000.debug", "/usr/lib/debug/.build-id/ab/cdef.debug"]
        );
        let linked = ["/usr/bin/app.dbg", "/usr/bin/.debug/app.dbg", "/usr/lib/debug/usr/bin/app.dbg"];
        assert_eq!(of("", Some("app.dbg")), linked);
        assert!(of("a", None).is_empty() && of("", None).is_empty());
    }
}
