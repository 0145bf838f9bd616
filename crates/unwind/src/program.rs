//! Which files a program will map when it starts, so that their tables can be there before its first instruction.
//!
//! A forecast, not the dynamic linker: what it misses is mapped a moment later and reported then. It knows run paths,
//! `LD_LIBRARY_PATH` and the folders of `/etc/ld.so.conf`, and not the rules of hardware capabilities and name spaces.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH};

use crate::elf::{Elf, MOST_BYTES};
use dwell_files::{BoundedFile, open_regular};

/// More files than this are no honest program's.
const MAX_FILES: usize = 1000;
/// More looks for libraries in folders than this no honest program needs: each is a system call before the program starts.
const MAX_LOOKS: usize = 100_000;
const STANDARD_FOLDERS: [&str; 4] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// The program at `path` (or, for a script, its interpreter), its dynamic linker and the libraries that it needs, theirs
/// included. What is not found is left out.
pub fn program_files(path: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        std::env::var_os("LD_LIBRARY_PATH").iter().flat_map(std::env::split_paths).collect();
    folders.extend(configured_folders(Path::new("/etc/ld.so.conf"), 0));
    folders.extend(STANDARD_FOLDERS.map(PathBuf::from));
    let mut seen = BTreeSet::new();
    let mut files = Vec::new();
    let mut looks = MAX_LOOKS;
    let mut waiting: VecDeque<PathBuf> = [script_interpreter(path).unwrap_or_else(|| path.to_owned())].into();
    while let Some(file) = waiting.pop_front().filter(|_| files.len() < MAX_FILES) {
        let Ok(real) = file.canonicalize() else { continue };
        if seen.insert(real.clone()) {
            waiting.extend(needed_by(&real, &folders, &mut looks).unwrap_or_default());
            files.push(real);
        }
    }
    files
}

/// The dynamic linker that the program at `path` (or, for a script, its interpreter) asks for; none if it is static, or no
/// program.
pub fn dynamic_linker(path: &Path) -> Option<PathBuf> {
    let program = script_interpreter(path).unwrap_or_else(|| path.to_owned());
    let data = BoundedFile::open(&program, MOST_BYTES).ok()?;
    let linker = Elf::parse(&data).ok()?.interpreter()?;
    Some(PathBuf::from(OsString::from_vec(linker)))
}

/// `looks`: how many are left.
fn needed_by(path: &Path, folders: &[PathBuf], looks: &mut usize) -> Option<Vec<PathBuf>> {
    let data = BoundedFile::open(path, MOST_BYTES).ok()?;
    let elf = Elf::parse(&data).ok()?;
    let origin = path.parent()?;
    let run_paths = [DT_RUNPATH, DT_RPATH].into_iter().flat_map(|tag| elf.dynamic_strings(tag));
    let own: Vec<PathBuf> = run_paths.flat_map(|list| run_path_folders(&list, origin)).collect();
    let needed = elf.dynamic_strings(DT_NEEDED).into_iter().filter_map(|name| {
        let name = PathBuf::from(OsString::from_vec(name));
        let places = own.iter().chain(folders).map(|folder| folder.join(&name)).take(*looks);
        places.inspect(|_| *looks -= 1).find(|file| file.is_file())
    });
    let interpreter = elf.interpreter().map(|path| PathBuf::from(OsString::from_vec(path)));
    Some(interpreter.into_iter().chain(needed).collect())
}

/// The folders of a run path, `$ORIGIN` replaced.
fn run_path_folders(list: &[u8], origin: &Path) -> Vec<PathBuf> {
    let folder = |entry: &[u8]| {
        let rest = entry.strip_prefix(b"$ORIGIN").or_else(|| entry.strip_prefix(b"${ORIGIN}"));
        match rest {
            Some(rest) => origin.join(OsStr::from_bytes(rest.strip_prefix(b"/").unwrap_or(rest))),
            None => PathBuf::from(OsStr::from_bytes(entry)),
        }
    };
    list.split(|byte| *byte == b':').filter(|entry| !entry.is_empty()).map(folder).collect()
}

/// The folders in `/etc/ld.so.conf` and the files that it includes by `folder/*.conf`.
fn configured_folders(path: &Path, depth: u32) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut folders = Vec::new();
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        match line.strip_prefix("include ").map(|pattern| Path::new(pattern.trim())) {
            Some(pattern) if depth < 4 => {
                for file in files_matching(pattern) {
                    folders.extend(configured_folders(&file, depth + 1));
                }
            }
            None if line.starts_with('/') => folders.push(PathBuf::from(line)),
            _ => {}
        }
    }
    folders
}

/// The files of a pattern `folder/*.extension`, in order; the file itself where there is no star.
fn files_matching(pattern: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name().and_then(OsStr::to_str)) else {
        return Vec::new();
    };
    let Some(suffix) = name.strip_prefix('*') else { return vec![pattern.to_owned()] };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = entries.filter(|path| path.to_string_lossy().ends_with(suffix)).collect();
    files.sort();
    files
}

/// The interpreter that a script's first line names.
fn script_interpreter(path: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    open_regular(path).ok()?.take(256).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let mut words = line.split(u8::is_ascii_whitespace).map(|word| PathBuf::from(OsStr::from_bytes(word)));
    let interpreter = words.next()?;
    if interpreter.file_name() != Some(OsStr::new("env")) {
        return Some(interpreter);
    }
    let program = words.find(|word| !word.as_os_str().as_bytes().starts_with(b"-"))?;
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(&program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str) -> Vec<String> {
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        program_files(Path::new(path)).iter().map(name).collect()
    }

    #[test]
    fn a_program_needs_its_linker_and_libc() {
        let files = names("/proc/self/exe");
        assert!(files.len() >= 3, "{files:?}");
        assert!(files.iter().any(|name| name.starts_with("ld-linux")), "{files:?}");
        assert!(files.iter().any(|name| name.starts_with("libc.so")), "{files:?}");
    }

    #[test]
    fn a_script_needs_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "#! /usr/bin/env -S sh -e\nexit\n").unwrap();
        let files = names(script.to_str().unwrap());
        assert!(files.iter().any(|name| name.ends_with("sh")), "{files:?}");
    }

    #[test]
    fn a_script_has_the_linker_of_its_interpreter() {
        let own = dynamic_linker(Path::new("/proc/self/exe")).unwrap();
        assert!(own.to_string_lossy().contains("ld-linux"), "{own:?}");
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, format!("#!{}\n", std::env::current_exe().unwrap().display())).unwrap();
        assert_eq!(dynamic_linker(&script), Some(own));
        std::fs::write(&script, "no program").unwrap();
        assert_eq!(dynamic_linker(&script), None);
        assert_eq!(dynamic_linker(Path::new("/nonexistent")), None);
    }

    #[test]
    fn run_paths_may_be_relative_to_the_file() {
        let folders = run_path_folders(b"$ORIGIN/../lib:/opt/x:${ORIGIN}", Path::new("/a/bin"));
        assert_eq!(folders, ["/a/bin/../lib", "/opt/x", "/a/bin/"].map(PathBuf::from));
    }

    #[test]
    fn libraries_are_looked_for_a_bounded_number_of_times() {
        let own = Path::new("/proc/self/exe");
        let folders = vec![PathBuf::from("/nonexistent"); 20_000];
        let mut looks = 30_000;
        needed_by(own, &folders, &mut looks).expect("an ELF file");
        assert_eq!(looks, 0, "two libraries at least, in all folders");
    }

    #[test]
    fn nothing_comes_of_nothing() {
        assert!(program_files(Path::new("/no/such/program")).is_empty());
    }
}
