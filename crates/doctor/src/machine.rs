//! The files that a machine describes itself in, under a root.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

/// More than any of these files has, but for a damaged or hostile copy.
const MOST_BYTES: u64 = 4 << 20;
/// How much of the kernel's symbols is looked at.
const SYMBOL_BYTES: u64 = 64 << 10;

/// A machine: this one, or a copy of its `/proc` and `/sys`.
#[derive(Clone, Debug)]
pub struct Machine {
    root: PathBuf,
}

impl Machine {
    /// This machine.
    pub fn here() -> Self {
        Self::at("/")
    }

    /// The one whose `/proc` and `/sys` are in `root`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where `path`, absolute on the machine, is here.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Whether there is something at `path`.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Whether the kernel has no such file: its folder can be looked into, and it is not there. A file that may not be
    /// read, or whose file system is not mounted, is neither there nor lacking.
    pub(crate) fn lacks(&self, path: &str) -> bool {
        let path = self.path(path);
        let folder = path.parent().is_some_and(|folder| fs::read_dir(folder).is_ok());
        folder && matches!(fs::symlink_metadata(&path), Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// What the file says, without blanks around it.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let bytes = read(&self.path(path))?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    pub(crate) fn number<N: std::str::FromStr>(&self, path: &str) -> Option<N> {
        self.text(path)?.parse().ok()
    }

    /// The names in a folder, numbers in the order of numbers.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_by_cached_key(|name| {
            let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
            (name[..digits].to_owned(), name[digits..].parse::<u64>().unwrap_or(u64::MAX), name.clone())
        });
        names
    }

    /// `PREFIXn` for the entries of `folder` that are called so and have `file`: the paths of those files.
    pub(crate) fn numbered(&self, folder: &str, prefix: &str, file: &str) -> Vec<String> {
        let is_number = |name: &String| {
            let number = name.strip_prefix(prefix).unwrap_or_default();
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        };
        let names = self.names(folder).into_iter().filter(is_number);
        names.map(|name| format!("{folder}/{name}/{file}")).filter(|path| self.has(path)).collect()
    }

    /// The files called `file` of all CPUs.
    pub(crate) fn of_cpus(&self, file: &str) -> Vec<String> {
        self.numbered("/sys/devices/system/cpu", "cpu", file)
    }

    /// What the kernel's command line says after `WORD=`, the last time that it does.
    pub(crate) fn boot_option(&self, word: &str) -> Option<String> {
        let line = self.text("/proc/cmdline")?;
        let mut values = line.split_whitespace().filter_map(|it| it.strip_prefix(word)?.strip_prefix('='));
        values.next_back().map(str::to_owned)
    }

    /// Whether `/proc/kallsyms` shows this process where the kernel's functions lie; `None` without that file. Whom it shows
    /// zeros instead is up to `kptr_restrict`, `perf_event_paranoid` and CAP_SYSLOG (kallsyms_show_value in the kernel).
    pub(crate) fn shows_kernel_addresses(&self) -> Option<bool> {
        let mut start = Vec::new();
        // As a collection does; asked when the file is opened.
        let _raised = dwell_rights::raise(&[dwell_rights::SYSLOG]);
        File::open(self.path("/proc/kallsyms")).ok()?.take(SYMBOL_BYTES).read_to_end(&mut start).ok()?;
        let text = String::from_utf8_lossy(&start);
        // Per-CPU symbols are at 0 indeed: functions tell.
        let mut functions = text.lines().filter(|line| line.contains(" T ") || line.contains(" t "));
        Some(functions.any(|line| line.split(' ').next().is_some_and(|address| address.bytes().any(|it| it != b'0'))))
    }

    /// The kernel's configuration, where it is kept.
    pub(crate) fn config(&self) -> Option<Config> {
        let release = self.text("/proc/sys/kernel/osrelease").unwrap_or_default();
        let packed = read(&self.path("/proc/config.gz")).and_then(|bytes| {
            let mut text = String::new();
            GzDecoder::new(bytes.as_slice()).take(MOST_BYTES).read_to_string(&mut text).ok()?;
            Some(text)
        });
        packed.or_else(|| self.text(&format!("/boot/config-{release}"))).map(Config)
    }
}

fn read(path: &Path) -> Option<Vec<u8>> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A kernel's configuration.
pub(crate) struct Config(String);

impl Config {
    /// The value of `CONFIG_name`.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix("CONFIG_")?.strip_prefix(name)?.strip_prefix('='))
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.get(name) == Some("y")
    }
}

/// Of a choice such as `always [madvise] never`, what is chosen; of a plain value, that.
pub(crate) fn chosen(text: &str) -> &str {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text, |(word, _)| word)
}

/// `0-2,5` as numbers; at most 65,536 of them.
pub(crate) fn cpu_list(text: &str) -> Vec<u32> {
    let ranges = text.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?)
    });
    ranges.flatten().take(1 << 16).collect()
}

/// The reverse: `[0, 1, 2, 5]` as `0-2,5`.
pub(crate) fn as_list(cpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let text = |(first, last): (u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.into_iter().map(text).collect::<Vec<_>>().join(",")
}

/// The different values among them, in order, and how many have each: `powersave`, or `performance (2), powersave (6)`.
pub(crate) fn tally(values: impl Iterator<Item = String>) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for value in values {
        match counts.iter_mut().find(|(it, _)| *it == value) {
            Some((_, count)) => *count += 1,
            None => counts.push((value, 1)),
        }
    }
    match counts.as_slice() {
        [(value, _)] => value.clone(),
        several => several.iter().map(|(value, count)| format!("{value} ({count})")).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_both_ways() {
        for list in ["0-2,5", "7", "0-1,4-5,9", ""] {
            assert_eq!(as_list(&cpu_list(list)), list);
        }
        assert_eq!(cpu_list("0-4294967295").len(), 1 << 16);
        assert!(cpu_list("x-y,-").is_empty());
    }

    #[test]
    fn choices_and_tallies() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("performance"), "performance");
        let values = |words: &str| tally(words.split(' ').map(str::to_owned));
        assert_eq!(values("a a a"), "a");
        assert_eq!(values("a b a"), "a (2), b (1)");
    }
}
