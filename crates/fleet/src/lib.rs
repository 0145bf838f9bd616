//! The store of a fleet: what the agents of many hosts write, one Parquet file for each host, service and row of time.
//!
//! Takes tables; gives `day=YYYY-MM-DD/service=NAME/HOST-START.parquet`, which engines of SQL read as columns `day` and `service`,
//! and the questions that they answer, as SQL.

mod arrivals;
mod causes;
mod change;
mod contents;
mod levels;
mod questions;
mod table;

use std::io;
use std::path::Path;

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use dwell_files::Folder;

pub use arrivals::{PresenceChange, PresenceSpan, changes_at};
pub use causes::CauseRow;
pub use change::{LevelChange, largest_change};
pub use contents::StoreContents;
pub use levels::{CompactionPlan, CompactionResult, FileNeed, StoreCompaction, StoreFiles, SumLevel};
pub use questions::{
    AnswerColumn, CellKind, DUCKDB, FLEET_REPORTS, FleetQuestion, FleetReport, GROUPS, RowSelection, SqlEngine,
    TrendStep, compare, covered, lost, presence, trend,
};
pub use table::FleetRow;

/// Rights of its folders, less the umask's.
const FOLDER_MODE: u32 = 0o755;
/// Folder in it that has the causes of windows.
pub(crate) const CAUSES: &str = "causes";
/// Is made and deleted when the store is opened.
const PROBE: &str = ".dwell-agent-probe";
/// Characters of a service's or a host's name that are kept.
const MOST_NAME_CHARS: usize = 100;

/// A folder that the files of a fleet lie in.
#[derive(Debug)]
pub struct FleetStore {
    folder: Folder,
}

/// What is at the path of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreState {
    /// A folder that can be written.
    Writable,
    /// Nothing; the folder can be made.
    Missing,
}

impl FleetStore {
    /// The store in this folder, which is made where it is missing.
    ///
    /// # Errors
    ///
    /// Where no file can be written in it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let folder = match Folder::create(path, FOLDER_MODE) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Folder::open(path),
            made => made,
        };
        Self::holding(folder?)
    }

    /// Fails where no file can be written in the folder.
    fn holding(folder: Folder) -> io::Result<Self> {
        folder.replace(PROBE, PROBE.as_bytes())?;
        folder.remove(PROBE)?;
        Ok(Self { folder })
    }

    /// Whether [`Self::open`] would succeed at this path; leaves nothing there.
    ///
    /// # Errors
    ///
    /// Where no file can be written in the folder, or it is missing and cannot be made.
    pub fn try_at(path: &Path) -> io::Result<StoreState> {
        match Folder::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                Self::holding(Folder::open(parent.unwrap_or(Path::new(".")))?)?;
                Ok(StoreState::Missing)
            }
            folder => Self::holding(folder?).map(|_| StoreState::Writable),
        }
    }

    /// Writes what `service` did on `host` in the row of time that began at `start_ns`, Unix time; whole or not at all.
    ///
    /// # Errors
    ///
    /// Those of the calls that it needs.
    pub fn write(&self, service: &str, host: &str, start_ns: i64, rows: &[FleetRow]) -> io::Result<()> {
        let bytes = table::to_parquet(rows).map_err(io::Error::other)?;
        replace_table(&self.folder, service, host, start_ns, &bytes)
    }

    /// Writes why `service` waited on `host` in the window that began at `start_ns`, Unix time; whole or not at all.
    ///
    /// # Errors
    ///
    /// Those of the calls that it needs.
    pub fn write_causes(&self, service: &str, host: &str, start_ns: i64, rows: &[CauseRow]) -> io::Result<()> {
        let bytes = causes::to_parquet(rows).map_err(io::Error::other)?;
        replace_table(&child(&self.folder, CAUSES)?, service, host, start_ns, &bytes)
    }
}

/// Writes a table into the folder of its day and service.
fn replace_table(folder: &Folder, service: &str, host: &str, start_ns: i64, bytes: &[u8]) -> io::Result<()> {
    let day = child(folder, &format!("day={}", day_of(start_ns)))?;
    let folder = child(&day, &format!("service={}", path_name(service)))?;
    folder.replace(&format!("{}-{start_ns}.parquet", path_name(host)), bytes)
}

/// The folder `name` in `parent`, which another agent may just have made.
fn child(parent: &Folder, name: &str) -> io::Result<Folder> {
    match parent.make_folder(name, FOLDER_MODE) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => parent.folder(name),
        made => made,
    }
}

/// A name as a part of a path has it: letters, digits and `.`, `_`, `@`, `-`, anything else replaced by `_`; no dot at the begin.
fn path_name(name: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || "._@-".contains(c) { c } else { '_' };
    let name: String = name.chars().take(MOST_NAME_CHARS).map(kept).collect();
    match name.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None if name.is_empty() => "_".into(),
        None => name,
    }
}

/// Whether a service may be called so: its folder has this very name, and it is not that of what is lost.
///
/// # Errors
///
/// Where it may not: what it has to be, without a subject.
pub fn check_service_name(name: &str) -> Result<(), &'static str> {
    match name {
        "lost" => Err("this is the service of what is lost"),
        _ if name.len() > MOST_NAME_CHARS => Err("it may have 100 characters at most"),
        _ if name.starts_with('.') => Err("it may not begin with a dot"),
        _ if path_name(name) == name => Ok(()),
        _ => Err("it may have letters, digits, `.`, `_`, `@` and `-`"),
    }
}

/// The day of a Unix time in UTC: 2026-11-26.
pub(crate) fn day_of(unix_ns: i64) -> String {
    DateTime::from_timestamp_nanos(unix_ns).format("%Y-%m-%d").to_string()
}

/// A Unix time in UTC for people: 2026-11-26 10:20:00.
pub fn utc(unix_ns: i64) -> String {
    DateTime::from_timestamp_nanos(unix_ns).format("%Y-%m-%d %H:%M:%S").to_string()
}

/// The Unix time in ns of `2026-11-26`, `2026-11-26T10:20`, `2026-11-26T10:20:30`, in UTC, or of `2026-11-26T10:20:30+01:00`.
pub fn parse_utc(text: &str) -> Option<i64> {
    let of_day = || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0);
    let of = |format: &str| NaiveDateTime::parse_from_str(text, format).ok();
    let utc = || of("%Y-%m-%dT%H:%M:%S").or_else(|| of("%Y-%m-%dT%H:%M")).or_else(of_day);
    match DateTime::parse_from_rfc3339(text) {
        Ok(time) => time.timestamp_nanos_opt(),
        Err(_) => utc()?.and_utc().timestamp_nanos_opt(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use tempfile::TempDir;

    use super::*;

    fn row(object: &str, wait_ns: i64) -> FleetRow {
        FleetRow {
            host: "h".into(),
            t: 7,
            length_ns: 1_000,
            process: "app".into(),
            version: "1.4".into(),
            kind: "lock".into(),
            object: object.into(),
            object_type: "futex".into(),
            waits: 2,
            wait_ns,
            longest_ns: wait_ns,
            running_ns: 0,
            runnable_ns: -1,
        }
    }

    #[test]
    fn names_are_parts_of_paths() {
        assert_eq!(path_name("nginx.service"), "nginx.service");
        assert_eq!(path_name("../a/b c"), "_._a_b_c");
        assert_eq!((path_name(""), path_name(".").as_str()), ("_".into(), "_"));
        assert_eq!(path_name(&"x".repeat(300)).len(), MOST_NAME_CHARS);
    }

    #[test]
    fn days_are_those_of_utc() {
        assert_eq!(day_of(0), "1970-01-01");
        assert_eq!(day_of(951_782_400_000_000_000), "2000-02-29");
        assert_eq!(day_of(1_795_737_599_999_999_999), "2026-11-26");
        assert_eq!(day_of(1_795_737_600_000_000_000), "2026-11-27");
    }

    #[test]
    fn times_are_of_utc_unless_they_say_otherwise() {
        let hour = 3_600_000_000_000;
        assert_eq!(parse_utc("1970-01-02"), Some(24 * hour));
        assert_eq!(parse_utc("1970-01-01T02:30"), Some(hour * 5 / 2));
        assert_eq!(parse_utc("1970-01-01T02:00:01"), Some(2 * hour + 1_000_000_000));
        assert_eq!(parse_utc("1970-01-01T02:00:00+01:00"), Some(hour));
        assert_eq!((parse_utc("7d"), parse_utc("1970-13-01"), parse_utc("")), (None, None, None));
        assert_eq!(utc(24 * hour), "1970-01-02 00:00:00");
    }

    #[test]
    fn a_row_lies_by_day_and_service() {
        let folder = TempDir::new().unwrap();
        let store = FleetStore::open(&folder.path().join("fleet")).unwrap();
        store.write("a/b", "web 1", 86_400_000_000_000, &[row("futex 0x10", 500), row("", 600)]).unwrap();
        let written = folder.path().join("fleet/day=1970-01-02/service=a_b");
        let names: Vec<_> = fs::read_dir(&written).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["web_1-86400000000000.parquet"]);
        let reader = SerializedFileReader::new(File::open(written.join(&names[0])).unwrap()).unwrap();
        let read: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        let of = |object, ns| {
            format!(
                "{{host: \"h\", t: 7, length_ns: 1000, process: \"app\", version: \"1.4\", kind: \"lock\", object: \"{object}\", object_type: \"futex\", \
                 waits: 2, wait_ns: {ns}, longest_ns: {ns}, running_ns: 0, runnable_ns: -1}}"
            )
        };
        assert_eq!(read, [of("futex 0x10", 500), of("", 600)]);
    }

    #[test]
    fn a_store_that_cannot_be_written_is_refused() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(FleetStore::open(&folder.path().join("file")).is_err());
        assert!(FleetStore::open(&folder.path().join("missing/fleet")).is_err());
        assert!(FleetStore::try_at(&folder.path().join("file")).is_err());
        assert!(FleetStore::try_at(&folder.path().join("missing/fleet")).is_err());
    }

    #[test]
    fn a_store_is_tried_without_a_trace() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("fleet");
        assert_eq!(FleetStore::try_at(&path).unwrap(), StoreState::Missing);
        assert!(!path.exists());
        FleetStore::open(&path).unwrap();
        assert_eq!(FleetStore::try_at(&path).unwrap(), StoreState::Writable);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    }

    #[test]
    fn services_are_called_as_their_folders() {
        for name in ["checkout", "nginx@eu.service", "a-b_c"] {
            assert_eq!(check_service_name(name), Ok(()), "{name}");
            assert_eq!(path_name(name), name);
        }
        for name in ["", "a/b", "a b", ".hidden", "lost", &"x".repeat(101)] {
            assert!(check_service_name(name).is_err(), "{name}");
        }
    }
}
