//! `dwell sql`: a query over the views of a result, answered by DuckDB's library where there is one.
//!
//! Takes a result and a query; gives rows. The process reads and writes no more than a report does, whatever the query says.

mod answer;
mod duckdb;
pub mod script;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use answer::{AskedColumn, QueryAnswer};
pub use duckdb::DuckDatabase;

use crate::args::{Format, SqlArgs};
use crate::error::{Hinted, Result, shell_word};
use crate::report::newest_result;
use crate::{output, reading};

/// How the library is called, and which variable names another file.
const LIBRARY: &str = "libduckdb.so";
const NAMED_BY: &str = "DWELL_DUCKDB";

/// DuckDB would fetch what it lacks from the Internet.
const SETTINGS: &str = "set autoinstall_known_extensions = false; set autoload_known_extensions = false;";

/// Answers the query of the command line.
pub fn run(args: &SqlArgs) -> Result<ExitCode> {
    let result = args.result.clone().map_or_else(|| newest_result("dwell sql QUERY FOLDER"), Ok)?;
    let folder = reading::open(&result, None)?;
    let views = script::text(&folder)?;
    let database = DuckDatabase::load().map_err(|why| no_library(&why, &result))?;
    let of_views = |why: String| Hinted::new(format!("DuckDB does not take the views: {why}"));
    database.rows(&views).map_err(of_views)?;
    let answer = ask(&database, &args.query, args.format).map_err(|why| {
        Hinted::new(format!("the query fails: {}", reason(&why)))
            .hint("dwell sql 'show tables', dwell sql 'describe waits'")
    })?;
    output::print(&answer.render(args.format))?;
    Ok(ExitCode::SUCCESS)
}

impl DuckDatabase {
    /// A database of the library that this machine has. Fails with the reason.
    pub fn load() -> std::result::Result<Self, String> {
        let library = std::env::var_os(NAMED_BY).unwrap_or_else(|| OsString::from(LIBRARY));
        let database = Self::open(&library)?;
        database.rows(SETTINGS)?;
        Ok(database)
    }
}

fn no_library(why: &str, result: &Path) -> Hinted {
    let script =
        format!("dwell export sql {} -o views.sql && duckdb -init views.sql", shell_word(&result.to_string_lossy()));
    Hinted::new(format!("DuckDB's library cannot be loaded: {why}")).hint(format!(
        "{script} does the same with the program duckdb (pip install duckdb-cli); {NAMED_BY}=FILE names the library"
    ))
}

/// Names and types of the query's columns, then its rows as texts: of JSON for JSON, else as DuckDB writes values.
pub fn ask(database: &DuckDatabase, query: &str, format: Format) -> std::result::Result<QueryAnswer, String> {
    let query = within(query);
    let described = database.rows(&format!("select column_name, column_type from (describe\n{query}\n)"))?;
    let column = |row: Vec<Option<String>>| {
        let mut cells = row.into_iter().map(Option::unwrap_or_default);
        AskedColumn { name: cells.next().unwrap_or_default(), kind: cells.next().unwrap_or_default() }
    };
    let cell = if format == Format::Json { "to_json(columns(*))::varchar" } else { "columns(*)::varchar" };
    let rows = database.rows(&format!("select {cell} from (\n{query}\n) as asked"))?;
    Ok(QueryAnswer { columns: described.into_iter().map(column).collect(), rows })
}

/// What DuckDB says, without the place: that is counted in the text around the query.
pub fn reason(why: &str) -> String {
    let said = why.split("\n\nLINE ").next().unwrap_or_default();
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The query as it stands within another one.
fn within(query: &str) -> String {
    let query = query.trim().trim_end_matches([';', ' ', '\n']);
    let first = query.split_whitespace().next().unwrap_or_default().to_lowercase();
    match first.as_str() {
        "describe" | "desc" | "show" | "summarize" => format!("from (\n{query}\n)"),
        _ => query.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_stands_within_another() {
        assert_eq!(within("select 1;\n"), "select 1");
        assert_eq!(within(" DESCRIBE waits ; "), "from (\nDESCRIBE waits\n)");
    }

    #[test]
    fn a_reason_is_one_line() {
        assert_eq!(
            reason("Parser Error: no\nDid you mean?\n\nLINE 2: selec\n        ^"),
            "Parser Error: no Did you mean?"
        );
    }

    #[test]
    fn a_library_that_is_not_there_has_a_reason() {
        let why = DuckDatabase::open("/nonexistent/libduckdb.so".as_ref()).err().unwrap();
        assert!(why.contains("libduckdb.so"), "{why}");
        assert!(DuckDatabase::open("libc.so.6".as_ref()).err().unwrap().contains("duckdb_open"));
    }
}
