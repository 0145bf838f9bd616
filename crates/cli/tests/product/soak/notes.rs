//! What a running collection holds, noted from outside: from `/proc` and its result.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result};

/// Where the kernel counts on from when it gives the next process its id.
const LAST_PID: &str = "/proc/sys/kernel/ns_last_pid";
/// The columns of `notes.csv`.
const HEAD: &str = "collection,at_s,anonymous_bytes,resident_bytes,descriptors,map_bytes,disk_bytes,ids_wrapped";

/// One collection at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Note {
    pub collection: String,
    /// Since the collections began.
    pub at_s: u64,
    /// Anonymous memory (`RssAnon`).
    pub anonymous_bytes: u64,
    pub resident_bytes: u64,
    pub descriptors: u64,
    /// What the kernel has charged for its BPF maps (`memlock` in fdinfo).
    pub map_bytes: u64,
    /// Of its result, hard links once.
    pub disk_bytes: u64,
    /// How often the machine's process ids have come round.
    pub ids_wrapped: u64,
}

impl Note {
    /// Of the collector `pid`, which writes `result`.
    pub fn of(collection: &str, pid: u32, result: &Path) -> Result<Self> {
        let process = Path::new("/proc").join(pid.to_string());
        let status = fs::read_to_string(process.join("status"))?;
        let of_status = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
            kib.map(|kib| kib * 1024).with_context(|| format!("no {key} in {}", process.display()))
        };
        let (descriptors, map_bytes) = descriptors(&process)?;
        Ok(Self {
            collection: collection.into(),
            anonymous_bytes: of_status("RssAnon:")?,
            resident_bytes: of_status("VmRSS:")?,
            descriptors,
            map_bytes,
            disk_bytes: disk_bytes(result, &mut HashSet::new()),
            ..Self::default()
        })
    }

    fn row(&self) -> String {
        let Self { collection, at_s, anonymous_bytes, resident_bytes, descriptors, map_bytes, disk_bytes, ids_wrapped } =
            self;
        format!(
            "{collection},{at_s},{anonymous_bytes},{resident_bytes},{descriptors},{map_bytes},{disk_bytes},{ids_wrapped}\n"
        )
    }

    fn of_row(row: &str) -> Option<Self> {
        let (collection, numbers) = row.split_once(',')?;
        let numbers: Vec<u64> = numbers.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
        let &[at_s, anonymous_bytes, resident_bytes, descriptors, map_bytes, disk_bytes, ids_wrapped] = &*numbers
        else {
            return None;
        };
        let collection = collection.to_owned();
        Some(Self {
            collection,
            at_s,
            anonymous_bytes,
            resident_bytes,
            descriptors,
            map_bytes,
            disk_bytes,
            ids_wrapped,
        })
    }
}

/// Number of descriptors, and the bytes of the BPF maps behind them, each map once.
fn descriptors(process: &Path) -> Result<(u64, u64)> {
    let (mut count, mut map_bytes, mut seen) = (0, 0, HashSet::new());
    for entry in fs::read_dir(process.join("fdinfo"))?.flatten() {
        count += 1;
        let info = fs::read_to_string(entry.path()).unwrap_or_default(); // closed meanwhile
        let number = |key: &str| {
            let line = info.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            line.and_then(|value| value.trim().parse::<u64>().ok())
        };
        if let (Some(id), Some(bytes)) = (number("map_id"), number("memlock"))
            && seen.insert(id)
        {
            map_bytes += bytes;
        }
    }
    Ok((count, map_bytes))
}

fn disk_bytes(folder: &Path, seen: &mut HashSet<u64>) -> u64 {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else { continue }; // forgotten meanwhile
        if metadata.is_dir() {
            bytes += disk_bytes(&entry.path(), seen);
        } else if seen.insert(metadata.ino()) {
            bytes += metadata.blocks() * 512;
        }
    }
    bytes
}

/// How often process ids have come round, of the whole machine.
#[derive(Default)]
pub struct Ids {
    last: u64,
    pub wrapped: u64,
}

impl Ids {
    /// To be called more often than they come round.
    pub fn look(&mut self) -> Result<()> {
        let last = fs::read_to_string(LAST_PID)?.trim().parse()?;
        self.wrapped += u64::from(last < self.last);
        self.last = last;
        Ok(())
    }
}

/// The notes in a file, so that they outlive whoever takes them.
pub fn write(path: &Path, notes: &[Note]) -> Result<()> {
    let mut text = format!("{HEAD}\n");
    for note in notes {
        write!(text, "{}", note.row())?;
    }
    Ok(fs::write(path, text)?)
}

pub fn read(path: &Path) -> Result<Vec<Note>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let rows = text.lines().skip(1);
    rows.map(|row| Note::of_row(row).with_context(|| format!("no note: {row}"))).collect()
}
