//! `dwell fleet report`: sums over a store, and notes of what they do not have.

use std::process::ExitCode;

use dwell_fleet::{DUCKDB, RowSelection, lost};
use dwell_view::Prose;

use super::store::{OpenedStore, views};
use super::{causes, shown};
use crate::args::{FleetReportArgs, Format};
use crate::error::{Hinted, Result};
use crate::output;
use crate::text::units;

/// Rows of a text that says nothing else.
pub const MOST_IN_TEXT: u64 = 50;

/// Writes the report.
pub fn run(args: &FleetReportArgs) -> Result<ExitCode> {
    if let Some((refused, groups)) = args.report.refused_group(&args.group_by) {
        let error = Hinted::usage(format!("rows of {} cannot be grouped by {refused}", args.report.id));
        return Err(error.hint(format!("--group-by takes {}", groups.join(", "))));
    }
    let format = args.store.format;
    let time = RowSelection { since_ns: args.since, ..RowSelection::default() };
    let mut rows = time.clone();
    rows.values.extend(args.service.clone().map(|service| ("service", service)));
    let most = args.limit.or((format == Format::Text).then_some(MOST_IN_TEXT));
    let need = args.report.need(&rows, &args.group_by);
    let is_of_windows = matches!(args.report.id, "causes" | "windows");
    let Some(store) = OpenedStore::open(&args.store, need.clone())? else {
        let question = args.report.question(&DUCKDB, &rows, &args.group_by, most);
        output::print(&format!("{}{};\n", views(&args.store.store, &need, is_of_windows)?, question.sql.trim_end()))?;
        return Ok(ExitCode::SUCCESS);
    };
    // One more tells whether there are more.
    let question = args.report.question(&DUCKDB, &rows, &args.group_by, most.map(|most| most + 1));
    let mut answer = store.answer(&question.sql)?;
    let is_cut = most.is_some_and(|most| answer.len() as u64 > most);
    if is_cut {
        answer.pop();
    }
    let mut view = match format {
        Format::Text if args.report.id == "causes" => causes::view(&question.columns, &answer),
        _ => shown::view(&question.columns, &answer, format),
    };
    view.notes.extend(lost_note(&store, &time)?.map(Prose::plain));
    view.notes.extend(partial_note(store.contents.partial).map(Prose::plain));
    view.notes.extend(store.left_out_note().map(Prose::plain));
    if is_cut {
        let note = format!("the first {} rows; --limit N shows more", units::count(answer.len() as u64));
        view.notes.push(Prose::plain(note));
    }
    if answer.is_empty() {
        let note = if is_of_windows { no_windows_note(&store) } else { nothing_note(args) };
        view.notes.push(Prose::plain(note));
    }
    shown::print(&view, format)?;
    Ok(ExitCode::SUCCESS)
}

/// What the kernel's sums had no place for, of all services: nobody knows whose it is.
pub fn lost_note(store: &OpenedStore, time: &RowSelection) -> Result<Option<String>> {
    let answer = store.answer(&lost(&DUCKDB, time))?;
    let number = |at: usize| answer.first().and_then(|row| row.get(at)?.as_deref()?.parse::<u64>().ok()).unwrap_or(0);
    let (rows, waits, wait_ns) = (number(0), number(1), number(2));
    Ok((rows > 0).then(|| {
        let (waits, wait) = (units::count(waits), units::duration(wait_ns));
        format!("{waits} waits of {wait} are lost, and are rows of the service `lost`: the kernel's sums had no place for them")
    }))
}

/// Files that no question reads.
pub fn partial_note(partial: u64) -> Option<String> {
    match partial {
        0 => None,
        1 => Some("1 file is half written and does not count: an agent writes it now, or was killed".into()),
        count => {
            let count = units::count(count);
            Some(format!("{count} files are half written and do not count: agents write them now, or were killed"))
        }
    }
}

fn no_windows_note(store: &OpenedStore) -> String {
    match store.contents.causes {
        0 => "the store has no windows of exact recording yet: dwell agent makes them, see its --window and --cpu-percent".into(),
        _ => "no window of exact recording is asked for, or nothing waited in it".into(),
    }
}

fn nothing_note(args: &FleetReportArgs) -> String {
    match &args.service {
        Some(service) => format!("no row has the service {service}; dwell fleet report services lists them"),
        None => "no row of time began in this time".into(),
    }
}
