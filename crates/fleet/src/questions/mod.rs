//! Questions to a store, as texts of SQL: files of their own, the same for every engine but for the scan of the files.
//!
//! Takes what is asked; gives SQL and the columns of its answer. Values of the user are quoted literals in it. It runs nothing.

mod columns;
mod course;
mod engine;

pub use columns::{AnswerColumn, CellKind, GROUPS};
pub use course::{TrendStep, compare, covered, presence, trend};
pub use engine::{DUCKDB, RowSelection, SqlEngine};

use crate::{FileNeed, SumLevel};
use columns::columns_of;

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
    measures: &'static [&'static str],
}

/// All reports.
pub static FLEET_REPORTS: [FleetReport; 5] = [
    FleetReport {
        id: "waits",
        help: "what processes waited for",
        sql: include_str!("waits.sql"),
        groups: &["service", "process", "object", "object_type", "kind"],
        measures: &["wait_ns", "waits", "longest_ns"],
    },
    FleetReport {
        id: "services",
        help: "services: waiting, running and runnable time",
        sql: include_str!("services.sql"),
        groups: &["service"],
        measures: &["wait_ns", "waits", "longest_ns", "running_ns", "runnable_ns", "processes", "hosts"],
    },
    FleetReport {
        id: "hosts",
        help: "hosts: the same, and from when to when they have rows",
        sql: include_str!("hosts.sql"),
        groups: &["host"],
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
        measures: &["wait_ns", "waits", "longest_ns", "services", "hosts"],
    },
    FleetReport {
        id: "versions",
        help: "versions of services: the same, on how many hosts, and from when to when they ran",
        sql: include_str!("versions.sql"),
        groups: &["service", "version"],
        measures: &["wait_ns", "waits", "longest_ns", "running_ns", "runnable_ns", "hosts", "first_t", "end_t"],
    },
];

impl FleetReport {
    /// The report of this name.
    pub fn of(id: &str) -> Option<&'static Self> {
        FLEET_REPORTS.iter().find(|report| report.id == id)
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
        let sql = self.sql.replace("{groups}", &groups.join(", ")).replace("{condition}", &engine.condition(rows));
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
