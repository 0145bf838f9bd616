//! Options of `dwell sql`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::Format;

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  dwell sql 'select object, sum(wait_ns) as wait_ns from waits group by 1 order by 2 desc'
                    # of the newest result here, with DuckDB's library (libduckdb.so, or DWELL_DUCKDB=FILE)
  dwell sql 'show tables' r000th
                    # which views there are
  dwell sql 'describe waits' r000th
                    # which columns a view has
  dwell sql \"select stack from waits where wait_ns > 1e7\" --format json
  dwell export sql r000th -o views.sql && duckdb -init views.sql
                    # the same with the program duckdb";

/// Options of `dwell sql`.
#[derive(Args, Debug)]
pub struct SqlArgs {
    /// The query, in DuckDB's SQL.
    pub query: String,
    /// The result [default: the newest r000th, r001th, … here].
    #[arg(value_hint = ValueHint::DirPath)]
    pub result: Option<PathBuf>,
    /// Form of the answer.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}
