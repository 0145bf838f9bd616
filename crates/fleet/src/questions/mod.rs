//! Questions to a store, as texts of SQL: files of their own, the same for every engine but for the scan of the files.
//!
//! Takes what is asked; gives SQL and the columns of its answer. Values of the user are quoted literals in it. It runs nothing.

mod columns;
mod course;
mod engine;
mod template;

pub use columns::{AnswerColumn, CellKind, GROUPS};
pub use course::{TrendStep, compare, covered, presence, trend};
pub(crate) use engine::USUAL_REGION;
pub use engine::{DUCKDB, RowSelection, SqlEngine};

use crate::{FileNeed, SumLevel};
use columns::{CAUSE_GROUPS, WAIT_GROUPS, WINDOW_GROUPS, columns_of};
use template::fill;

/// A question, and how its answer looks.
#[derive(Debug)]
pub struct FleetQuestion {
    /// One `select`.
    pub sql: String,
    /// The columns of the answer, in order.
    pub columns: Vec<&'static AnswerColumn>,
}

/// A report: rows of sums, the largest wait first.
#[derive(Debug)]
pub struct FleetReport {
    /// Its name.
    pub id: &'static str,
    /// What it shows, one line.
    pub help: &'static str,
    sql: &'static str,
    groups: &'static [&'static str],
    /// Columns that its rows can be grouped by.
    other_groups: &'static [&'static str],
    measures: &'static [&'static str],
}

/// All reports.
pub static FLEET_REPORTS: [FleetReport; 7] = [
    FleetReport {
        id: "waits",
        help: "what processes waited for",
        sql: include_str!("waits.sql"),
        groups: &["service", "process", "object", "object_type", "kind"],
        other_groups: &WAIT_GROUPS,
        measures: &["wait_ns", "waits", "longest_ns"],
    },
    FleetReport {
        id: "services",
        help: "services: waiting, running and runnable time",
        sql: include_str!("services.sql"),
        groups: &["service"],
        other_groups: &WAIT_GROUPS,
        measures: &["wait_ns", "waits", "longest_ns", "running_ns", "runnable_ns", "processes", "hosts"],
    },
    FleetReport {
        id: "hosts",
        help: "hosts: the same, and from when to when they have rows",
        sql: include_str!("hosts.sql"),
        groups: &["host"],
        other_groups: &WAIT_GROUPS,
        measures: &[
            "wait_ns",
            "waits",
            "longest_ns",
            "running_ns",
            "runnable_ns",
            "services",
            "rows_of_time",
            "first_t",
            "end_t",
        ],
    },
    FleetReport {
        id: "objects",
        help: "what was waited for, by all services together",
        sql: include_str!("objects.sql"),
        groups: &["object", "object_type", "kind"],
        other_groups: &WAIT_GROUPS,
        measures: &["wait_ns", "waits", "longest_ns", "services", "hosts"],
    },
    FleetReport {
        id: "versions",
        help: "versions of services: the same, on how many hosts, and from when to when they ran",
        sql: include_str!("versions.sql"),
        groups: &["service", "version"],
        other_groups: &WAIT_GROUPS,
        measures: &["wait_ns", "waits", "longest_ns", "running_ns", "runnable_ns", "hosts", "first_t", "end_t"],
    },
    FleetReport {
        id: "causes",
        help: "why services waited, estimated by windows of exact recording",
        sql: include_str!("causes.sql"),
        groups: &["service", "cause"],
        other_groups: &CAUSE_GROUPS,
        measures: &[
            "wait_per_s",
            "wait_per_s_error",
            "wait_ns",
            "windows",
            "place",
            "chain",
            "advice",
            "hosts",
            "versions",
        ],
    },
    FleetReport {
        id: "windows",
        help: "windows of exact recording: how many, how long, and what they took",
        sql: include_str!("windows.sql"),
        groups: &["host"],
        other_groups: &WINDOW_GROUPS,
        measures: &["windows", "window_ns", "covered_ns", "cost_ns", "cpu_percent", "first_t", "end_t"],
    },
];

/// Columns that say of which processes a window is: a cause that they did not have in it counts as no waiting.
const PRESENCE: [&str; 5] = ["day", "service", "host", "process", "version"];

impl FleetReport {
    /// The report of this name.
    pub fn of(id: &str) -> Option<&'static Self> {
        FLEET_REPORTS.iter().find(|report| report.id == id)
    }

    /// The first of these columns that its rows cannot be grouped by, and those that they can be.
    pub fn refused_group(&self, groups: &[&'static str]) -> Option<(&'static str, &'static [&'static str])> {
        let refused = groups.iter().find(|group| !self.other_groups.contains(group))?;
        Some((refused, self.other_groups))
    }

    /// The files that it needs, with such groups. The bounds and the number of rows of time by process, kind or object need rows.
    pub fn need(&self, rows: &RowSelection, groups: &[&'static str]) -> FileNeed {
        let tells_rows = self.measures.contains(&"end_t");
        let are_kept = groups.iter().all(|group| matches!(*group, "day" | "service" | "host" | "version"));
        let coarsest = (are_kept || !tells_rows).then_some(SumLevel::Daily);
        let need = FileNeed::of(coarsest, &[rows.range()]);
        match rows.values.iter().find(|(column, _)| *column == "service") {
            Some((_, service)) => need.of_service(service),
            None => need,
        }
    }

    /// Its question about these rows, grouped by these columns of [`GROUPS`], or as usual where there are none. At most `most` rows.
    pub fn question(
        &self,
        engine: &SqlEngine,
        rows: &RowSelection,
        groups: &[&'static str],
        most: Option<u64>,
    ) -> FleetQuestion {
        let groups = if groups.is_empty() { self.groups } else { groups };
        let presence: Vec<&str> = groups.iter().copied().filter(|group| PRESENCE.contains(group)).collect();
        let same = |table: &str, columns: &[&str]| {
            let each: Vec<String> = columns.iter().map(|column| format!("sums.{column} = {table}.{column}")).collect();
            if each.is_empty() { "true".to_owned() } else { each.join(" and ") }
        };
        let before: String = presence.iter().map(|column| format!("{column}, ")).collect();
        let by = if presence.is_empty() { String::new() } else { format!("group by {}", presence.join(", ")) };
        let of_sums: Vec<String> = groups.iter().map(|column| format!("sums.{column}")).collect();
        let values = [
            ("{groups}", groups.join(", ")),
            ("{condition}", engine.condition(rows)),
            ("{presence}", before),
            ("{presence_groups}", by),
            ("{sums_groups}", of_sums.join(", ")),
            ("{same_presence}", same("presences", &presence)),
            ("{same_groups}", same("places", groups)),
        ];
        let sql = fill(self.sql, &values.each_ref().map(|(name, value)| (*name, value.as_str())));
        let limit = most.map(|most| format!("limit {most}\n")).unwrap_or_default();
        let ids = groups.iter().chain(self.measures).copied();
        FleetQuestion { sql: sql + &limit, columns: columns_of(ids) }
    }
}

/// How much the kernel's sums had no place for in these rows: rows, waits, nanoseconds.
pub fn lost(engine: &SqlEngine, rows: &RowSelection) -> String {
    include_str!("lost.sql").replace("{condition}", &engine.condition(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_all_its_columns() {
        for report in &FLEET_REPORTS {
            let question = report.question(&DUCKDB, &RowSelection::default(), &[], Some(7));
            assert_eq!(question.columns.len(), report.groups.len() + report.measures.len(), "{}", report.id);
            assert!(!question.sql.contains('{') && question.sql.ends_with("limit 7\n"), "{}", question.sql);
            for measure in report.measures {
                assert!(question.sql.contains(&format!(" as {measure}")), "{} has no {measure}", report.id);
            }
        }
        let columns = columns_of(GROUPS);
        assert!(columns.iter().all(|column| column.kind == CellKind::Text) && columns.len() == GROUPS.len());
    }

    #[test]
    fn a_value_with_braces_stays_a_value() {
        let rows = RowSelection { values: vec![("service", "{groups}".into())], ..RowSelection::default() };
        let question = FLEET_REPORTS[0].question(&DUCKDB, &rows, &["kind"], None);
        assert!(
            question.sql.contains("service = '{groups}'") && question.sql.contains("group by kind\n"),
            "{question:?}"
        );
    }
}
