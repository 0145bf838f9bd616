//! `dwell fleet trend`: a service's waiting time over time, and the step at which it changed most.

use std::process::ExitCode;

use dwell_fleet::{
    DUCKDB, FileNeed, LevelChange, PresenceChange, PresenceSpan, RowSelection, TrendStep, changes_at, largest_change,
    presence, trend, utc,
};
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
        output::print(&format!("{}{};\n", views(&args.store.store, &need, false)?, question.sql.trim_end()))?;
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
    if let Some(change) = &change {
        let steps: Vec<i64> = answer.iter().filter_map(|row| cell(row, 0).parse().ok()).collect();
        let arrivals = Arrivals::around(&store, &rows, step, change, &steps)?;
        view.notes.push(Prose::plain(arrivals.note()));
    }
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

/// Versions and hosts that came or went with the step.
struct Arrivals {
    versions: PresenceChange,
    hosts: PresenceChange,
    /// Hosts of the versions that came.
    hosts_of_new: Vec<String>,
}

impl Arrivals {
    /// Looks at the rows that the step is told of, which begin at `steps`.
    fn around(
        store: &OpenedStore,
        rows: &RowSelection,
        step: TrendStep,
        change: &LevelChange,
        steps: &[i64],
    ) -> Result<Self> {
        let window = &steps[change.rows(steps.len())];
        let (Some(first), Some(last)) = (window.first(), window.last()) else { return Ok(Self::of(&[], 0, 0)) };
        let answer = store.answer(&presence(&DUCKDB, rows, step, *first, *last))?;
        let at = |cell: &Option<String>| {
            let t = cell.as_deref().and_then(|t| t.parse().ok()).unwrap_or(*first);
            window.partition_point(|begin| *begin < t)
        };
        let seen: Vec<[PresenceSpan; 2]> = answer
            .iter()
            .filter_map(|row| {
                let [version, host, first, last] = row.as_slice() else { return None };
                let span = |name: &Option<String>| PresenceSpan {
                    name: name.clone().unwrap_or_default(),
                    first: at(first),
                    last: at(last),
                };
                Some([span(version), span(host)])
            })
            .collect();
        let at = window.partition_point(|begin| *begin < steps[change.at]);
        Ok(Self::of(&seen, at, window.len()))
    }

    /// Of pairs of a version and a host.
    fn of(seen: &[[PresenceSpan; 2]], at: usize, length: usize) -> Self {
        let column = |which: usize| seen.iter().map(|pair| pair[which].clone()).collect::<Vec<_>>();
        let (versions, hosts) = (changes_at(&column(0), at, length), changes_at(&column(1), at, length));
        let is_new = |[version, _]: &&[PresenceSpan; 2]| versions.came.contains(&version.name);
        let mut hosts_of_new: Vec<String> = seen.iter().filter(is_new).map(|[_, host]| host.name.clone()).collect();
        hosts_of_new.sort();
        hosts_of_new.dedup();
        Self { versions, hosts, hosts_of_new }
    }

    fn note(&self) -> String {
        let Self { versions, hosts, hosts_of_new } = self;
        let mut parts = Vec::new();
        if !versions.came.is_empty() {
            parts.push(format!("{} came, on {}", listed("version", &versions.came), listed("host", hosts_of_new)));
        }
        let others = [
            (listed("version", &versions.went), versions.went.is_empty(), "went"),
            (listed("host", &hosts.came), hosts.came.is_empty(), "came"),
            (listed("host", &hosts.went), hosts.went.is_empty(), "went"),
        ];
        parts.extend(others.into_iter().filter(|other| !other.1).map(|(names, _, verb)| format!("{names} {verb}")));
        match parts.is_empty() {
            true => "no version and no host came or went with the step".into(),
            false => format!("with the step {}", parts.join("; ")),
        }
    }
}

/// `versions 1.4, 1.5`; the first names of many.
fn listed(what: &str, names: &[String]) -> String {
    const MOST_NAMES: usize = 3;
    let first = names.iter().take(MOST_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    let plural = if names.len() == 1 { "" } else { "s" };
    match names.len().saturating_sub(MOST_NAMES) {
        0 => format!("{what}{plural} {first}"),
        more => format!("{what}{plural} {first} and {} more", units::count(more as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_names_the_version_that_came() {
        let span = |name: &str, first, last| PresenceSpan { name: name.into(), first, last };
        let of = |version: &str, host: &str, first, last| [span(version, first, last), span(host, first, last)];
        let rolled = [of("1.4", "web-1", 0, 11), of("1.4", "web-2", 0, 6), of("1.5", "web-2", 6, 11)];
        assert_eq!(Arrivals::of(&rolled, 6, 12).note(), "with the step version 1.5 came, on host web-2");
        let all = [of("1.4", "web-1", 0, 5), of("1.5", "web-1", 6, 11)];
        assert_eq!(Arrivals::of(&all, 6, 12).note(), "with the step version 1.5 came, on host web-1; version 1.4 went");
        let host = [of("1.4", "web-1", 0, 11), of("1.4", "web-2", 6, 11)];
        assert_eq!(Arrivals::of(&host, 6, 12).note(), "with the step host web-2 came");
        assert_eq!(Arrivals::of(&host, 3, 12).note(), "no version and no host came or went with the step");
        assert_eq!(listed("host", &["a", "b", "c", "d"].map(String::from)), "hosts a, b, c and 1 more");
    }
}
