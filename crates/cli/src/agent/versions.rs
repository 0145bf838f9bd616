//! Which version of its program a process runs, where no rule and no container says it: the build id of its file.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Hexadecimal digits of a build id that stand for it.
const BUILD_ID_DIGITS: usize = 12;
/// Programs whose build ids are kept.
const MOST_PROGRAMS: usize = 10_000;
/// Characters of a version that are kept.
const MOST_VERSION_CHARS: usize = 100;

/// A file as it was written once: device, inode, seconds and nanoseconds of its last change.
type FileIdentity = (u64, u64, i64, i64);

/// Build ids of programs that run, each read once.
#[derive(Debug, Default)]
pub struct BuildIds {
    known: RefCell<HashMap<FileIdentity, String>>,
}

impl BuildIds {
    /// The first 12 digits of the GNU build id of the program that `pid` runs; empty where it has none, or cannot be read.
    pub fn of(&self, pid: u32) -> String {
        let path = format!("/proc/{pid}/exe");
        let Ok(file) = fs::metadata(&path) else { return String::new() };
        let identity = (file.dev(), file.ino(), file.mtime(), file.mtime_nsec());
        let mut known = self.known.borrow_mut();
        if known.len() >= MOST_PROGRAMS {
            known.clear();
        }
        known.entry(identity).or_insert_with(|| read(Path::new(&path)).unwrap_or_default()).clone()
    }
}

fn read(program: &Path) -> Option<String> {
    let id = dwell_unwind::program_build_id(&dwell_files::open_regular(program).ok()?)?;
    let digits = id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Some(digits.chars().take(BUILD_ID_DIGITS).collect())
}

/// A version as the rows have it: without what steers a terminal, and not too long.
pub fn version_name(text: &str) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(MOST_VERSION_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_build_ids() {
        let ids = BuildIds::default();
        let own = ids.of(std::process::id());
        assert!(own.is_empty() || own.len() == BUILD_ID_DIGITS && own.bytes().all(|digit| digit.is_ascii_hexdigit()));
        assert_eq!((ids.of(std::process::id()), ids.known.borrow().len()), (own, 1));
        assert_eq!(ids.of(u32::MAX), "");
    }

    #[test]
    fn versions_are_short_plain_texts() {
        assert_eq!(version_name(" 1.4\u{1b}[0m\n"), "1.4[0m");
        assert_eq!(version_name(&"9".repeat(500)).len(), MOST_VERSION_CHARS);
    }
}
