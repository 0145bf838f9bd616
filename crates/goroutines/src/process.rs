//! The program that a process runs.

use std::fs;
use std::path::Path;

use dwell_files::BoundedFile;
use object::{Object, ObjectSegment};

use crate::reader::GoroutineReader;
use crate::runtime::{Runtime, Unsupported};

/// The most that is read of a program's file; its symbols are in it.
pub(crate) const MOST_FILE_BYTES: u64 = 256 << 20;

/// Whatever reads the goroutines of process `pid`; `None` where that runs no Go program, or has ended.
///
/// # Errors
///
/// It runs a Go program whose goroutines cannot be read.
pub fn reader_of(pid: u32) -> Result<Option<GoroutineReader>, Unsupported> {
    let Ok(bytes) = BoundedFile::open(Path::new(&format!("/proc/{pid}/exe")), MOST_FILE_BYTES) else { return Ok(None) };
    let Ok(file) = object::File::parse(&bytes) else { return Ok(None) };
    let Some(runtime) = Runtime::of(&file)? else { return Ok(None) };
    Ok(bias(pid, &file).map(|bias| GoroutineReader::new(runtime, bias)))
}

/// What the addresses of a process's program are above those in its file.
fn bias<'data>(pid: u32, file: &impl Object<'data>) -> Option<u64> {
    if file.kind() == object::ObjectKind::Executable {
        return Some(0);
    }
    let linked = file.segments().find(|segment| segment.file_range().0 == 0)?.address();
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let maps = String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/maps")).ok()?).into_owned();
    mapped_at(&maps, &path.to_string_lossy())?.checked_sub(linked)
}

/// Where the beginning of file `path` is mapped, by the text of `/proc/PID/maps`: `start-end perms offset device inode   path`.
fn mapped_at(maps: &str, path: &str) -> Option<u64> {
    let line = maps.lines().find(|line| line.split_whitespace().nth(2) == Some("00000000") && line.ends_with(path))?;
    u64::from_str_radix(line.split_once('-')?.0, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapping_of_a_files_beginning_is_found() {
        let maps = "00400000-00401000 r--p 00001000 08:01 12   /bin/app\n7f00001000-7f00002000 r--p 00000000 08:01 12   /bin/app\n";
        assert_eq!(mapped_at(maps, "/bin/app"), Some(0x7f_0000_1000));
        assert_eq!(mapped_at("", "/bin/app"), None);
        assert_eq!(mapped_at("x 00000000 /bin/app", "/bin/app"), None);
    }

    #[test]
    fn this_process_is_no_go_program() {
        assert!(matches!(reader_of(std::process::id()), Ok(None)));
        assert!(matches!(reader_of(u32::MAX), Ok(None)));
    }
}
