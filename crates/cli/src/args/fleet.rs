//! Options of `dwell fleet`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use dwell_fleet::{FLEET_REPORTS, FleetReport, GROUPS};

use super::Format;
use super::parse;

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  dwell fleet report waits --store /var/lib/dwell/fleet --since 7d
  dwell fleet report services --store fleet
  dwell fleet sql 'select kind, sum(wait_ns) from waits group by 1' --store fleet

`dwell agent` writes the store. DuckDB's library answers: libduckdb.so, or
DWELL_DUCKDB=FILE.";

const REPORT_EXAMPLES: &str = "\
Examples:
  dwell fleet report waits --store fleet --since 7d
                    # what processes waited for, the most first
  dwell fleet report waits --store fleet --service nginx.service --group-by host,kind
  dwell fleet report services --store fleet --format csv
  dwell fleet report objects --store fleet --engine print | duckdb
                    # the same with the program duckdb";

const SQL_EXAMPLES: &str = "\
Examples:
  dwell fleet sql 'select host, sum(wait_ns) from waits group by 1' --store fleet
  dwell fleet sql \"select * from waits where day = '2026-11-26' limit 5\" --store fleet
  dwell fleet sql 'describe waits' --store fleet
                    # which columns there are; docs/fleet.md says what is in them";

/// What is done.
#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Show where the time of a fleet went: waits, services, hosts or objects, the most first.
    #[command(arg_required_else_help = true, after_help = REPORT_EXAMPLES)]
    Report(FleetReportArgs),
    /// Ask a store a question in SQL, with DuckDB's library.
    #[command(arg_required_else_help = true, after_help = SQL_EXAMPLES)]
    Sql(FleetSqlArgs),
}

/// Which store is asked, and how it answers.
#[derive(Args, Debug)]
pub struct StoreArgs {
    /// Folder that `dwell agent` writes to.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub store: PathBuf,
    /// Who answers.
    #[arg(long, value_enum, default_value_t)]
    pub engine: FleetEngine,
    /// Form of the answer.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Who answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FleetEngine {
    /// DuckDB's library.
    #[default]
    Duckdb,
    /// Nobody: the SQL is printed, for the program duckdb.
    Print,
}

/// Options of `dwell fleet sql`.
#[derive(Args, Debug)]
pub struct FleetSqlArgs {
    /// The query, in DuckDB's SQL; the view is `waits`.
    pub query: String,
    /// Of which store.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Options of `dwell fleet report`.
#[derive(Args, Debug)]
pub struct FleetReportArgs {
    /// Which report.
    #[arg(value_parser = reports())]
    pub report: &'static FleetReport,
    /// Of which store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Only rows of time that began so long ago or later: 7d, 12h, 30m.
    #[arg(long, value_name = "TIME", value_parser = parse::ago)]
    pub since: Option<u64>,
    /// Only this service.
    #[arg(long, value_name = "NAME")]
    pub service: Option<String>,
    /// Columns that rows are grouped by, instead of the report's own.
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',', value_parser = groups())]
    pub group_by: Vec<&'static str>,
    /// Show at most so many rows [default: 50 as text, else all].
    #[arg(long, value_name = "N", value_parser = |text: &str| parse::number(text, 1, 1_000_000_000))]
    pub limit: Option<u64>,
}

fn reports() -> impl TypedValueParser<Value = &'static FleetReport> {
    let values = FLEET_REPORTS.iter().map(|report| PossibleValue::new(report.id).help(report.help));
    PossibleValuesParser::new(values).try_map(|id| FleetReport::of(&id).ok_or(id))
}

fn groups() -> impl TypedValueParser<Value = &'static str> {
    PossibleValuesParser::new(GROUPS)
        .try_map(|id| GROUPS.into_iter().find(|group| *group == id).ok_or("no such column"))
}
