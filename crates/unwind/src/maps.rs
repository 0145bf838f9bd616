//! Executable mappings of processes: their description and their list in `/proc/PID/maps`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// A file (or a named part of memory) mapped executable into a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The process, in the initial pid namespace.
    pub tgid: u32,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Where in the file it begins, in bytes.
    pub file_offset: u64,
    /// As the process sees it; `[vdso]`, `//anon` and the like for what is no file.
    pub path: PathBuf,
    /// GNU build-id of the mapped file; empty when it is not known.
    pub build_id: Vec<u8>,
}

impl Mapping {
    pub(crate) fn end(&self) -> u64 {
        self.start.saturating_add(self.length)
    }
}

/// The executable mappings in the text of `/proc/PID/maps`; lines that are not understood are left out.
pub fn parse_maps(tgid: u32, text: &[u8]) -> Vec<Mapping> {
    text.split(|byte| *byte == b'\n').filter_map(|line| parse_line(tgid, line)).collect()
}

/// `start-end perms offset device inode   path`.
fn parse_line(tgid: u32, line: &[u8]) -> Option<Mapping> {
    let (range, rest) = field(line)?;
    let (permissions, rest) = field(rest)?;
    let (offset, rest) = field(rest)?;
    let (_device, rest) = field(rest)?;
    let (_inode, path) = field(rest)?;
    if permissions.get(2) != Some(&b'x') {
        return None;
    }
    let mut range = range.split(|byte| *byte == b'-').map(hexadecimal);
    let (start, end) = (range.next()??, range.next()??);
    Some(Mapping {
        tgid,
        start,
        length: end.checked_sub(start)?,
        file_offset: hexadecimal(offset)?,
        path: PathBuf::from(OsStr::from_bytes(&unescape(path.trim_ascii_start()))),
        build_id: Vec::new(),
    })
}

fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    if line.is_empty() {
        return None;
    }
    let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
    Some((&line[..end], line.get(end + 1..).unwrap_or_default()))
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The kernel writes a line feed in a path as `\012`.
fn unescape(path: &[u8]) -> Vec<u8> {
    let mut unescaped = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some(byte) = rest.first() {
        let line_feed = rest.starts_with(b"\\012");
        unescaped.push(if line_feed { b'\n' } else { *byte });
        rest = &rest[if line_feed { 4 } else { 1 }..];
    }
    unescaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_lines_are_taken() {
        let text = b"5555-6666 r--p 00000000 08:01 12 /a\n\
            7f00-8f00 r-xp 00001000 08:01 12                         /usr/lib/a b\\012c.so (deleted)\n\
            9000-a000 r-xp 00000000 00:00 0 \nffff r-xp\nffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";
        let maps = parse_maps(7, text);
        assert_eq!(maps.len(), 3);
        assert_eq!((maps[0].start, maps[0].length, maps[0].file_offset), (0x7f00, 0x1000, 0x1000));
        assert_eq!(maps[0].path, PathBuf::from("/usr/lib/a b\nc.so (deleted)"));
        assert_eq!(maps[1].path, PathBuf::new());
    }
}
