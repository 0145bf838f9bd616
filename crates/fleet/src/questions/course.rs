//! Questions about how a service changed: over time, and between two selections of rows.

use std::ops::Range;

use super::columns::columns_of;
use super::template::fill;
use super::{FleetQuestion, RowSelection, SqlEngine};
use crate::SumLevel;

/// What a row of a trend has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrendStep {
    /// An hour.
    #[default]
    Hour,
    /// A day in UTC.
    Day,
    /// The rows of time that begin in the same second, or 50 ms before it: agents end their rows at the same multiples.
    Row,
}

impl TrendStep {
    /// The coarsest sums that have such steps.
    pub const fn coarsest(self) -> Option<SumLevel> {
        match self {
            Self::Hour => Some(SumLevel::Hourly),
            Self::Day => Some(SumLevel::Daily),
            Self::Row => None,
        }
    }

    /// When rows of time begin that are in the steps from the first to the last, Unix time in ns.
    const fn range(self, first_t: i64, last_t: i64) -> Range<i64> {
        const EARLY_NS: i64 = 50_000_000;
        match self {
            Self::Hour => first_t..last_t + 3_600_000_000_000,
            Self::Day => first_t..last_t + 86_400_000_000_000,
            Self::Row => first_t - EARLY_NS..last_t + 1_000_000_000 - EARLY_NS,
        }
    }

    /// The begin of the step that `t` is in.
    fn bucket(self) -> &'static str {
        match self {
            Self::Hour => "t - t % 3600000000000",
            Self::Day => "t - t % 86400000000000",
            Self::Row => "t + 50000000 - (t + 50000000) % 1000000000",
        }
    }
}

/// How the rows' waiting time changed over time, of one object where it is named. `per_s` is the waiting time in seconds per second that
/// rows of time cover, also of those in which nobody waited for the object.
pub fn trend(engine: &SqlEngine, rows: &RowSelection, object: Option<&str>, step: TrendStep) -> FleetQuestion {
    let object = RowSelection {
        values: object.map(|object| ("object", object.to_owned())).into_iter().collect(),
        ..RowSelection::default()
    };
    let sql = fill(
        include_str!("trend.sql"),
        &[
            ("{bucket}", step.bucket()),
            ("{condition}", &engine.condition(rows)),
            ("{object}", &engine.condition(&object)),
        ],
    );
    FleetQuestion { sql, columns: columns_of(["t", "wait_ns", "waits", "covered_ns", "per_s"]) }
}

/// Which versions ran on which hosts in the steps from `first_t` to `last_t`, and in which of these steps first and last: `version`, `host`,
/// `first_t`, `last_t`.
pub fn presence(engine: &SqlEngine, rows: &RowSelection, step: TrendStep, first_t: i64, last_t: i64) -> String {
    let range = step.range(first_t, last_t);
    let since = rows.since_ns.map_or(range.start, |since| since.max(range.start));
    let rows = RowSelection { since_ns: Some(since), until_ns: Some(range.end), ..rows.clone() };
    fill(include_str!("presence.sql"), &[("{bucket}", step.bucket()), ("{condition}", &engine.condition(&rows))])
}

/// What both sides of a comparison call an object. The address of a lock is another one in each process, and says nothing there.
const COMPARED_OBJECT: &str = "case when object like 'futex 0x%' then 'futex' else object end";

/// The waiting time of both selections by service, kind and object, per second that hosts were looked at; the largest difference first.
/// Locks of a service and kind are one object.
pub fn compare(engine: &SqlEngine, base: &RowSelection, new: &RowSelection) -> FleetQuestion {
    let sql = fill(
        include_str!("compare.sql"),
        &[
            ("{object}", COMPARED_OBJECT),
            ("{base}", &engine.condition(base)),
            ("{new}", &engine.condition(new)),
            ("{base_hosts}", &engine.condition(&base.of_hosts())),
            ("{new_hosts}", &engine.condition(&new.of_hosts())),
        ],
    );
    let columns = columns_of([
        "service",
        "kind",
        "object",
        "base_per_s",
        "new_per_s",
        "difference_per_s",
        "ratio",
        "base_waits_per_s",
        "new_waits_per_s",
    ]);
    FleetQuestion { sql, columns }
}

/// How long the hosts of these rows were looked at, ns.
pub fn covered(engine: &SqlEngine, rows: &RowSelection) -> String {
    include_str!("covered.sql").replace("{condition}", &engine.condition(&rows.of_hosts()))
}

#[cfg(test)]
mod tests {
    use super::super::DUCKDB;
    use super::*;

    #[test]
    fn questions_have_their_columns() {
        let rows =
            RowSelection { values: vec![("service", "{object}".into()), ("host", "h".into())], ..Default::default() };
        for question in [trend(&DUCKDB, &rows, Some("{bucket}"), TrendStep::Row), compare(&DUCKDB, &rows, &rows)] {
            assert!(question.sql.contains("service = '{object}'"), "{}", question.sql);
            for column in &question.columns {
                assert!(question.sql.contains(column.id), "{} is not in {}", column.id, question.sql);
            }
        }
        assert!(covered(&DUCKDB, &rows).contains("where host = 'h')"), "a service is no part of what hosts cover");
        let mut of_version = rows.clone();
        of_version.values.push(("version", "1.4".into()));
        let covered = covered(&DUCKDB, &of_version);
        assert!(covered.contains("service = '{object}' and host = 'h' and version = '1.4')"), "{covered}");
    }

    #[test]
    fn presence_is_of_the_steps() {
        let rows = RowSelection::default();
        let sql = presence(&DUCKDB, &rows, TrendStep::Row, 2_000_000_000, 5_000_000_000);
        assert!(sql.contains("t >= 1950000000 and") && sql.contains("t < 5950000000"), "{sql}");
        let sql = presence(&DUCKDB, &rows, TrendStep::Hour, 0, 0);
        assert!(sql.contains("t >= 0 and") && sql.contains("t < 3600000000000"), "{sql}");
    }
}
