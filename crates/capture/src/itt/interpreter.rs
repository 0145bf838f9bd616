//! Which loader a program asks for.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Sizes of a 64-bit ELF file's header and of each of its program headers.
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const PT_INTERP: u64 = 3;
/// Most bytes of a loader's path that are read.
const MOST_PATH: u64 = 256;

/// Whether the file at `path` is a program of musl, which cannot load a library that is made for glibc. A script is none.
pub fn is_of_musl(path: &Path) -> bool {
    interpreter(path).is_some_and(|loader| loader.windows(7).any(|part| part == b"ld-musl"))
}

/// The path of its loader, as the file has it.
fn interpreter(path: &Path) -> Option<Vec<u8>> {
    let file = File::open(path).ok()?;
    let read = |offset: u64, size: usize| {
        let mut bytes = vec![0; size];
        file.read_exact_at(&mut bytes, offset).ok().map(|()| bytes)
    };
    let header = read(0, HEADER)?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let start = number(&header, 32, 8)?;
    for index in 0..number(&header, 56, 2)? {
        let program_header = read(start.checked_add(index * PROGRAM_HEADER as u64)?, PROGRAM_HEADER)?;
        if number(&program_header, 0, 4)? == PT_INTERP {
            let size = number(&program_header, 32, 8)?.min(MOST_PATH);
            return read(number(&program_header, 8, 8)?, size as usize);
        }
    }
    None
}

/// The number in `size` bytes, lowest first.
fn number(bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(offset..offset + size)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This program, and the same with musl's loader.
    #[test]
    fn a_program_of_musl_is_known_by_its_loader() {
        let own = std::env::current_exe().expect("a path");
        let loader = interpreter(&own).expect("a loader");
        assert!(loader.starts_with(b"/lib"), "{loader:?}");
        assert!(!is_of_musl(&own));
        let mut bytes = std::fs::read(&own).expect("a program");
        let at = bytes.windows(loader.len()).position(|part| part == loader).expect("its loader");
        bytes[at..at + 20].copy_from_slice(b"/lib/ld-musl-x86.so\0");
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), &bytes).expect("written");
        assert!(is_of_musl(file.path()));
        std::fs::write(file.path(), &bytes[..80]).expect("cut");
        assert!(!is_of_musl(file.path()) && !is_of_musl(Path::new("/nonexistent")));
    }
}
