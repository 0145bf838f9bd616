//! A DuckDB script of views over the Parquet tables of a result: names instead of ids, words instead of codes.
//!
//! Takes where the tables lie; reads none. The raw tables keep their columns in the schema `raw`, each with
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

/// Writes the script for the tables in `folder`.
pub fn write(folder: &str, out: &mut dyn Write) -> io::Result<()> {
    let views = views();
    write!(out, "{}", head(&views))?;
    writeln!(out, "create schema if not exists raw;\n")?;
    raw_tables::write(folder, out)?;
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

    #[test]
    fn paths_are_quoted_and_patterns_in_them_mean_themselves() {
        let mut out = Vec::new();
        write("/srv/it's [1]*", &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("read_parquet('/srv/it''s [[]1][*]/threads.parquet', file_row_number = true)"), "{text}");
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
