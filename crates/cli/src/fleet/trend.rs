//! `dwell fleet trend`: a service's waiting time over time, and the step at which it changed most.

use std::process::ExitCode;

use dwell_fleet::{DUCKDB, FileNeed, LevelChange, RowSelection, TrendStep, largest_change, trend, utc};
use dwell_view::{Column, Prose, Value};

use super::report::{lost_note, partial_note};
use super::shown;
use super::store::{OpenedStore, views};
use crate::args::{FleetTrendArgs, TrendBy};
use crate::error::Result;
use crate::output;
use crate::text::units;

/// The step's own column.
const STEP: Column =
    Column { id: "step_per_s", title: "Step", help: "Change of the mean at the largest step", detail: false };

/// Writes the trend.
pub fn run(args: &FleetTrendArgs) -> Result<ExitCode> {
    let format = args.store.format;
    let time = RowSelection { since_ns: args.since, ..RowSelection::default() };
    let rows = RowSelection { values: vec![("service", args.service.clone())], ..time.clone() };
    let step = match args.by {
        TrendBy::Hour => TrendStep::Hour,
        TrendBy::Day => TrendStep::Day,
        TrendBy::Row => TrendStep::Row,
    };
    let question = trend(&DUCKDB, &rows, args.object.as_deref(), step);
    let need = FileNeed::of(step.coarsest(), &[rows.range()]).of_service(&args.service);
    let Some(store) = OpenedStore::open(&args.store, need.clone())? else {
        output::print(&format!("{}{};\n", views(&args.store.store, &need)?, question.sql.trim_end()))?;
        return Ok(ExitCode::SUCCESS);
    };
    let answer = store.answer(&question.sql)?;
    let cell = |row: &Vec<Option<String>>, at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    let course: Vec<f64> = answer.iter().filter_map(|row| cell(row, 4).parse().ok()).collect();
    let change = largest_change(&course);
    let mut view = shown::view(&question.columns, &answer, format);
    view.columns.push(STEP);
    for (at, row) in view.rows.iter_mut().enumerate() {
        let here = change.filter(|change| change.at == at);
        row.values.push(here.map_or(Value::None, |change| Value::Real(change.after - change.before)));
    }
    let note = match change {
        _ if answer.is_empty() => {
            format!("no row has the service {}; dwell fleet report services lists them", args.service)
        }
        Some(change) => step_note(&change, cell(&answer[change.at], 0).parse().unwrap_or(0)),
        None => "no step: the waiting time changes nowhere by more than three times what it varies around it".into(),
    };
    view.notes.push(Prose::plain(note));
    view.notes.extend(lost_note(&store, &time)?.map(Prose::plain));
    view.notes.extend(partial_note(store.contents.partial).map(Prose::plain));
    view.notes.extend(store.left_out_note().map(Prose::plain));
    shown::print(&view, format)?;
    Ok(ExitCode::SUCCESS)
}

fn step_note(change: &LevelChange, t: i64) -> String {
    let (before, after) = (units::real(change.before), units::real(change.after));
    format!("the largest step is at {} UTC: from {before} s of waiting per second to {after}", utc(t))
}
