//! Makes the coarser levels of a store, and deletes rows that they have.
//!
//! One process at a time does it. Killed, it has left files that no manifest names; the next one deletes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::Path;

use dwell_files::Folder;
use rustix::fs::{FlockOperation, flock, fsync};

use super::manifest::{LevelManifest, SummedSpan};
use super::merge::MergedRows;
use super::{LEVELS, SumLevel, TABLE, names, start_of};
use crate::{FleetRow, child, day_of, table};

/// Held by the process that compacts.
const LOCK: &str = "lock";
/// No agent writes a larger file.
const MOST_BYTES: u64 = 256 << 20;

/// What a compaction makes.
#[derive(Clone, Debug)]
pub struct CompactionPlan {
    /// These levels.
    pub levels: Vec<SumLevel>,
    /// The time now, Unix time in ns: only hours and days that are over by then are summed.
    pub now_ns: i64,
    /// Files of rows that began before, Unix time in ns, are deleted where an hourly file has their sums.
    pub delete_before_ns: Option<i64>,
}

/// What it made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactionResult {
    /// Hourly files.
    pub hourly: u64,
    /// Daily files.
    pub daily: u64,
    /// Files of rows that are summed now and were not before, of the finest level made.
    pub summed: u64,
    /// Files of rows that were deleted.
    pub deleted: u64,
    /// Paths of files that are not summed, because they are no tables of an agent.
    pub left: Vec<String>,
}

/// A store that nobody else compacts meanwhile.
#[derive(Debug)]
pub struct StoreCompaction {
    store: Folder,
    levels: Folder,
    /// Closing it gives the lock back.
    _lock: File,
}

/// The files of a service on a day.
struct ServiceDay {
    rows: Folder,
    levels: Folder,
    manifest: LevelManifest,
    /// Names of its files of rows that are there, with the begin of their rows.
    starts: BTreeMap<String, i64>,
}

impl StoreCompaction {
    /// Takes the store at this path; waits while another process compacts it, and calls `wait` before that.
    ///
    /// # Errors
    ///
    /// Where no store is there, or it cannot be written.
    pub fn begin(path: &Path, wait: impl FnOnce()) -> io::Result<Self> {
        let store = Folder::open(path)?;
        let levels = child(&store, LEVELS)?;
        match levels.create_file(LOCK) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let lock = levels.read(LOCK)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => {
                wait();
                flock(&lock, FlockOperation::LockExclusive)?;
            }
            taken => taken?,
        }
        Ok(Self { store, levels, _lock: lock })
    }

    /// Makes what the plan says, service by service; what is made already stays.
    ///
    /// # Errors
    ///
    /// Those of the calls that it needs; what was made until then counts.
    pub fn run(&self, plan: &CompactionPlan) -> io::Result<CompactionResult> {
        let mut result = CompactionResult::default();
        for day in self.days()? {
            let rows = child(&self.store, &day)?;
            let Some(day_name) = day.strip_prefix("day=") else { continue };
            for service in names(&rows, "service=", "")? {
                let levels = child(&child(&self.levels, &day)?, &service)?;
                let mut of = ServiceDay::open(rows.folder(&service)?, levels, day_name)?;
                of.make(plan, &mut result)?;
                of.delete(plan, &mut result)?;
            }
        }
        Ok(result)
    }

    fn days(&self) -> io::Result<BTreeSet<String>> {
        names(&self.store, "day=", "")
    }
}

impl ServiceDay {
    fn open(rows: Folder, levels: Folder, day: &str) -> io::Result<Self> {
        let of_day = |name: String| start_of(&name).filter(|start| day_of(*start) == day).map(|start| (name, start));
        let starts = names(&rows, "", TABLE)?.into_iter().filter_map(of_day).collect();
        Ok(Self { manifest: LevelManifest::read(&levels)?, rows, levels, starts })
    }

    /// Makes what is missing, and lets it count at once.
    fn make(&mut self, plan: &CompactionPlan, result: &mut CompactionResult) -> io::Result<()> {
        let mut made = false;
        let finest = plan.levels.iter().min().copied();
        for level in [SumLevel::Hourly, SumLevel::Daily].into_iter().filter(|level| plan.levels.contains(level)) {
            for (begin_ns, new) in self.missing(level, plan.now_ns) {
                let summed = self.make_span(level, begin_ns, &new, &mut result.left)?;
                if summed == 0 {
                    continue;
                }
                made = true;
                result.summed += if finest == Some(level) { summed } else { 0 };
                match level {
                    SumLevel::Hourly => result.hourly += 1,
                    SumLevel::Daily => result.daily += 1,
                }
            }
        }
        if made { self.manifest.commit(&self.levels) } else { Ok(()) }
    }

    /// Files of rows whose sums a level does not have, by hour or day; only those that are over.
    fn missing(&self, level: SumLevel, now_ns: i64) -> BTreeMap<i64, BTreeSet<String>> {
        let mut missing = BTreeMap::<i64, BTreeSet<String>>::new();
        // Those that are deleted are in an hourly file.
        let deleted = self.manifest.of_level(SumLevel::Hourly).flat_map(|span| &span.of);
        for name in self.starts.keys().chain(deleted) {
            let Some(begin_ns) = start_of(name).map(|start| level.begin_of(start)) else { continue };
            let has = self.manifest.span(level, begin_ns).is_some_and(|span| span.of.contains(name));
            if !has && begin_ns + level.length_ns() <= now_ns {
                missing.entry(begin_ns).or_default().insert(name.clone());
            }
        }
        missing
    }

    /// Makes the sums of an hour or a day with these files, too; gives how many of them are in it.
    fn make_span(
        &mut self,
        level: SumLevel,
        begin_ns: i64,
        new: &BTreeSet<String>,
        left: &mut Vec<String>,
    ) -> io::Result<u64> {
        let old = self.manifest.span(level, begin_ns);
        let mut span = SummedSpan {
            level,
            begin_ns,
            generation: old.map_or(0, |old| old.generation) + 1,
            of: old.map(|old| old.of.clone()).unwrap_or_default(),
        };
        let mut merged = MergedRows::default();
        if let Some(old) = old {
            merged.add(read_table(&self.levels, &old.file())?);
        }
        let before = span.of.len();
        // An hour that is new as a whole is read as its sums.
        for hour in self.manifest.of_level(SumLevel::Hourly).filter(|hour| level > hour.level && hour.of.is_subset(new))
        {
            merged.add(read_table(&self.levels, &hour.file())?);
            span.of.extend(hour.of.iter().cloned());
        }
        for name in new {
            if span.of.contains(name) {
                continue;
            }
            let rows = read_table(&self.rows, name);
            match rows.ok().filter(|rows| rows.iter().all(|row| level.begin_of(row.t) == begin_ns)) {
                Some(rows) => {
                    merged.add(rows);
                    span.of.insert(name.clone());
                }
                None => left.push(self.rows.path().join(name).display().to_string()),
            }
        }
        let summed = span.of.len() - before;
        if summed > 0 {
            let bytes = table::to_parquet(&merged.into_rows()).map_err(io::Error::other)?;
            self.levels.replace(&span.file(), &bytes)?;
            self.manifest.put(span);
        }
        Ok(summed as u64)
    }

    /// Deletes files of rows that are old enough and whose sums stay.
    fn delete(&self, plan: &CompactionPlan, result: &mut CompactionResult) -> io::Result<()> {
        let Some(before_ns) = plan.delete_before_ns else { return Ok(()) };
        let old = self.starts.iter().filter(|(name, start)| self.may_delete(name, **start, before_ns));
        let old: Vec<&String> = old.map(|(name, _)| name).collect();
        if old.is_empty() {
            return Ok(());
        }
        // The sums survive a loss of power before the rows are gone.
        for name in names(&self.levels, "", "")? {
            fsync(self.levels.read(&name)?)?;
        }
        fsync(&self.levels)?;
        for name in old {
            self.rows.remove(name)?;
            result.deleted += 1;
        }
        Ok(())
    }

    /// Whether its hour is before that time as a whole, and every level that there is has its sums.
    fn may_delete(&self, name: &str, start: i64, before_ns: i64) -> bool {
        let span = |level: SumLevel| self.manifest.span(level, level.begin_of(start));
        let has = |span: &SummedSpan| span.of.contains(name);
        span(SumLevel::Hourly).is_some_and(|hour| hour.end_ns() <= before_ns && has(hour))
            && span(SumLevel::Daily).is_none_or(has)
    }
}

fn read_table(folder: &Folder, name: &str) -> io::Result<Vec<FleetRow>> {
    let named = |why: String| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", folder.path().join(name).display()))
    };
    if folder.size(name) > MOST_BYTES {
        return Err(named("it is larger than any table of an agent".into()));
    }
    table::from_parquet(folder.read(name)?).map_err(|error| named(error.to_string()))
}
