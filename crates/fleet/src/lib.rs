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
mod store;
mod table;

use std::io;

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
pub use store::{BUFFERS, BufferChoice, FleetStore, StoreLocation, StoreOutcome, StoreState, StoreWriter};
pub use table::FleetRow;

/// Rights of its folders, less the umask's.
const FOLDER_MODE: u32 = 0o755;
/// Folder in it that has the causes of windows.
pub(crate) const CAUSES: &str = "causes";
/// Characters of a service's or a host's name that are kept.
const MOST_NAME_CHARS: usize = 100;

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
    use super::*;

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
