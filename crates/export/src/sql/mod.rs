//! A DuckDB script of views over the Parquet tables of a result: names instead of ids, words instead of codes.
//!
//! Takes where the tables lie and which of them there are; reads none. The raw tables keep their columns in the schema `raw`, each with
//! its row number; the views of the script join them. Words, columns and lists come from the declarations that the reports use.

mod event_views;
mod own_frames;
mod program_views;
mod raw_tables;
mod socket_views;
mod view_def;

use std::fmt::Write as _;
use std::io::{self, Write};

use view_def::ViewDef;

use crate::losses::EXPORTER;
pub use raw_tables::ResultTables;

/// Writes the script.
pub fn write(tables: &ResultTables<'_>, out: &mut dyn Write) -> io::Result<()> {
    let views = views();
    write!(out, "{}", head(&views))?;
    writeln!(out, "create schema if not exists raw;\n")?;
    raw_tables::write(tables, out)?;
    views.iter().try_for_each(|view| writeln!(out, "\n{view}"))
}

/// Every view; those that others are made of come first.
fn views() -> Vec<ViewDef> {
    let program = program_views::all();
    program.into_iter().chain(event_views::all()).chain(socket_views::all()).collect()
}

fn head(views: &[ViewDef]) -> String {
    let mut text = format!("-- Views of a recording for DuckDB, written by {EXPORTER}: duckdb -init THIS_FILE\n--\n");
    text.push_str("--   select object, sum(wait_ns) from waits group by 1 order by 2 desc;\n--\n");
    for view in views {
        let _ = writeln!(text, "-- {:13} {}", view.name, view.doc);
    }
    text + "--\n-- Times are in ns, instants since the start of the collection. An id is a row number, and null is none. The tables that the\n\
        -- views are made of are in the schema raw: raw.off_cpu, raw.frames, …\n\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(folder: &str, tables: &[&str], trace_format: u32) -> String {
        let mut out = Vec::new();
        let present = |name: &str| tables.contains(&name);
        write(&ResultTables { folder, trace_format, present: &present }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn paths_are_quoted_and_patterns_in_them_mean_themselves() {
        let text = script("/srv/it's [1]*", &["threads"], 6);
        assert!(text.contains("read_parquet('/srv/it''s [[]1][*]/threads.parquet', file_row_number = true)"), "{text}");
    }

    #[test]
    fn a_table_that_is_not_there_is_empty_with_the_same_columns() {
        let text = script("/srv", &[], 6);
        assert!(!text.contains("read_parquet("), "{text}");
        assert!(text.contains("cast(null as varchar) as \"name\""), "{text}");
    }

    #[test]
    fn columns_that_an_older_trace_lacks_have_their_empty_value() {
        let text = script("/srv", &["off_cpu"], 5);
        assert!(text.contains("cast(false as boolean) as \"again\""), "{text}");
        assert!(!script("/srv", &["off_cpu"], 6).contains("cast(false as boolean) as \"again\""), "{text}");
    }

    #[test]
    fn each_view_and_column_says_what_it_is() {
        for view in views() {
            assert!(view.doc.ends_with('.'), "{}", view.name);
            for column in &view.columns {
                assert!(column.doc.ends_with('.'), "{}.{}", view.name, column.name);
            }
        }
    }
}
