//! Options of `dwell fleet`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use dwell_fleet::{FLEET_REPORTS, FleetReport, GROUPS, RowSelection, SumLevel};

use super::gate::{self, FleetGate};
use super::{Format, parse};

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
  dwell fleet report causes --store fleet --service nginx.service
                    # why it waited, with the error of the estimate
  dwell fleet report services --store fleet --format csv
  dwell fleet report objects --store fleet --engine print | duckdb
                    # the same with the program duckdb";

const SQL_EXAMPLES: &str = "\
Examples:
  dwell fleet sql 'select host, sum(wait_ns) from waits group by 1' --store fleet
  dwell fleet sql \"select * from waits where day = '2026-11-26' limit 5\" --store fleet
  dwell fleet sql 'describe waits' --store fleet
                    # which columns there are; docs/fleet.md says what is in them";

const TREND_EXAMPLES: &str = "\
Examples:
  dwell fleet trend --store fleet --service nginx.service --since 7d
  dwell fleet trend --store fleet --service nginx.service --object tcp:10.0.0.1:5432 --by day
  dwell fleet trend --store fleet --service nginx.service --by row --format csv";

const COMPARE_EXAMPLES: &str = "\
Examples:
  dwell fleet compare --store fleet --base host=web-1 --new host=web-2
  dwell fleet compare --store fleet --base service=checkout,version=1.4 --new service=checkout,version=1.5
  dwell fleet compare --store fleet --base day=2026-11-25 --new day=2026-11-26
  dwell fleet compare --store fleet --base until=2026-11-26T10:00 --new since=2026-11-26T10:00
  dwell fleet compare --store fleet --base host=web-1 --new host=web-2 --fail-if 'wait:futex>+20%'
                    # for a rollout

Times are per second of a host. Difference is first - second, ratio second /
first.

A limit is that of dwell compare, METRIC[:NAME]>LIMIT, per second of a host:
METRIC is wait or wait_count, NAME an object, a service or a kind of wait, the
first of these that there is; object=NAME, service=NAME or kind=NAME says which.

Exit status: 0 all limits kept, 1 one exceeded, 2 anything else.";

const COMPACT_EXAMPLES: &str = "\
Examples:
  dwell fleet compact --store fleet
                    # sums of each hour and day that is over, which questions read instead of its rows
  dwell fleet compact --store fleet --keep-raw 7d
                    # and delete older rows of which there are sums

It may run at any time, beside agents and questions, and again after it was ended.";

/// What is done.
#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Show where the time of a fleet went: waits, services, hosts, versions, objects or causes, the most first.
    #[command(arg_required_else_help = true, after_help = REPORT_EXAMPLES)]
    Report(FleetReportArgs),
    /// Show how long a service waited over time, and where that changed most.
    #[command(arg_required_else_help = true, after_help = TREND_EXAMPLES)]
    Trend(FleetTrendArgs),
    /// Show two selections of hosts or times side by side, and fail when the second one exceeds a limit.
    #[command(arg_required_else_help = true, after_help = COMPARE_EXAMPLES)]
    Compare(FleetCompareArgs),
    /// Sum the rows of each service by hour and day, so that questions about long times read few files.
    #[command(arg_required_else_help = true, after_help = COMPACT_EXAMPLES)]
    Compact(FleetCompactArgs),
    /// Ask a store a question in SQL, with DuckDB's library.
    #[command(arg_required_else_help = true, after_help = SQL_EXAMPLES)]
    Sql(FleetSqlArgs),
}

/// Which store is asked, and how it answers.
#[derive(Args, Debug)]
pub struct StoreArgs {
    /// Folder that `dwell agent` writes to; with `--engine print` also a bucket, s3://BUCKET/PREFIX.
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
    /// The query, in DuckDB's SQL; the views are `waits` and `causes`.
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
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<i64>,
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

/// Options of `dwell fleet trend`.
#[derive(Args, Debug)]
pub struct FleetTrendArgs {
    /// Of which store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Of this service.
    #[arg(long, value_name = "NAME")]
    pub service: String,
    /// Only waits for this object.
    #[arg(long, value_name = "NAME")]
    pub object: Option<String>,
    /// Only rows of time that began so long ago or later: 7d, 12h, 30m.
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<i64>,
    /// What a row is.
    #[arg(long, value_enum, default_value_t)]
    pub by: TrendBy,
}

/// What a row of a trend is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TrendBy {
    /// An hour.
    #[default]
    Hour,
    /// A day in UTC.
    Day,
    /// A row of time.
    Row,
}

/// Options of `dwell fleet compare`.
#[derive(Args, Debug)]
pub struct FleetCompareArgs {
    /// Of which store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// The rows to compare with: host=NAME, version=NAME, day=2026-11-26, service=NAME, process=NAME, object=NAME, kind=NAME, since=TIME
    /// and until=TIME, with commas between. A time is 2026-11-26T10:00 in UTC, or so long ago: 7d.
    #[arg(long, value_name = "ROWS", value_parser = selection)]
    pub base: RowSelection,
    /// The rows that are compared.
    #[arg(long, value_name = "ROWS", value_parser = selection)]
    pub new: RowSelection,
    /// Fail when the second rows exceed this limit, such as wait:futex>+20%; can be given several times.
    #[arg(long, value_name = "LIMIT", value_parser = gate::fleet_gate)]
    pub fail_if: Vec<FleetGate>,
    /// Show at most so many rows [default: 50 as text, else all].
    #[arg(long, value_name = "N", value_parser = |text: &str| parse::number(text, 1, 1_000_000_000))]
    pub limit: Option<u64>,
}

/// Options of `dwell fleet compact`.
#[derive(Args, Debug)]
pub struct FleetCompactArgs {
    /// Folder that `dwell agent` writes to.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub store: PathBuf,
    /// Which sums are made.
    #[arg(long, value_enum, default_value_t)]
    pub level: LevelChoice,
    /// Delete rows of hours that ended so long ago, where an hourly file has their sums: 2d, 12h [default: keep all].
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub keep_raw: Option<i64>,
}

/// Which sums are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LevelChoice {
    /// Of hours and of days.
    #[default]
    All,
    /// Of hours.
    Hourly,
    /// Of days.
    Daily,
}

impl LevelChoice {
    /// The levels that it stands for.
    pub fn levels(self) -> Vec<SumLevel> {
        match self {
            Self::All => vec![SumLevel::Hourly, SumLevel::Daily],
            Self::Hourly => vec![SumLevel::Hourly],
            Self::Daily => vec![SumLevel::Daily],
        }
    }
}

/// Understands `host=web-1,since=7d`.
fn selection(text: &str) -> Result<RowSelection, String> {
    let mut rows = RowSelection::default();
    for part in text.split(',') {
        let form = || format!("`{part}` is no condition such as host=web-1, day=2026-11-26 or since=7d");
        let (name, value) = part.split_once('=').ok_or_else(form)?;
        let time = || {
            let ago = || parse::ago(value).ok().map(parse::time_before);
            dwell_fleet::parse_utc(value)
                .or_else(ago)
                .ok_or_else(|| format!("`{value}` is no time such as 2026-11-26T10:00 or 7d"))
        };
        match name {
            "since" => rows.since_ns = Some(time()?),
            "until" => rows.until_ns = Some(time()?),
            name => {
                let column = GROUPS.into_iter().find(|group| *group == name).ok_or_else(form)?;
                rows.values.push((column, value.to_owned()));
            }
        }
    }
    Ok(rows)
}

/// The Unix time in ns of what was so long ago.
fn since(text: &str) -> Result<i64, String> {
    parse::ago(text).map(parse::time_before)
}

fn reports() -> impl TypedValueParser<Value = &'static FleetReport> {
    let values = FLEET_REPORTS.iter().map(|report| PossibleValue::new(report.id).help(report.help));
    PossibleValuesParser::new(values).try_map(|id| FleetReport::of(&id).ok_or(id))
}

fn groups() -> impl TypedValueParser<Value = &'static str> {
    PossibleValuesParser::new(GROUPS)
        .try_map(|id| GROUPS.into_iter().find(|group| *group == id).ok_or("no such column"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_chosen_by_columns_and_times() {
        let rows = selection("host=web-1,kind=a=b,since=1970-01-02,until=1970-01-03T00:00").unwrap();
        assert_eq!(rows.values, [("host", "web-1".to_owned()), ("kind", "a=b".to_owned())]);
        assert_eq!((rows.since_ns, rows.until_ns), (Some(86_400_000_000_000), Some(172_800_000_000_000)));
        assert!(selection("since=7d").unwrap().since_ns.is_some_and(|t| t > 1_700_000_000_000_000_000));
        for wrong in ["", "web-1", "user=x", "since=soon", "host=a,,", "wait_ns=7"] {
            assert!(selection(wrong).is_err(), "{wrong}");
        }
    }
}
