//! `dwell fleet compare`: two selections of rows side by side, and limits for a rollout.

use std::process::ExitCode;

use dwell_analyze::compare::Limit;
use dwell_fleet::{DUCKDB, FileNeed, FleetQuestion, RowSelection, SumLevel, compare, covered};
use dwell_view::{Prose, glob};

use super::report::{MOST_IN_TEXT, lost_note, partial_note};
use super::shown;
use super::store::{OpenedStore, views};
use crate::args::{FLEET_NAMES, FleetCompareArgs, FleetGate, Format};
use crate::error::{Hinted, Result, quoted, shell_word, status};
use crate::text::limits::limit_of;
use crate::text::units;
use crate::{output, terminal};

/// Writes the comparison; fails when a limit is not kept. Whatever else goes wrong has the status of trouble.
pub fn run(args: &FleetCompareArgs) -> Result<ExitCode> {
    compared(args).map_err(|error| error.with_status(status::USAGE))
}

fn compared(args: &FleetCompareArgs) -> Result<ExitCode> {
    let format = args.store.format;
    let question = compare(&DUCKDB, &args.base, &args.new);
    let need = FileNeed::of(Some(SumLevel::Daily), &[args.base.range(), args.new.range()]);
    let Some(store) = OpenedStore::open(&args.store, need.clone())? else {
        output::print(&format!("{}{};\n", views(&args.store.store, &need, false)?, question.sql.trim_end()))?;
        return Ok(ExitCode::SUCCESS);
    };
    let lengths = [covered_ns(&store, "--base", &args.base)?, covered_ns(&store, "--new", &args.new)?];
    let answer = store.answer(&question.sql)?;
    let rates = Rates { question: &question, rows: &answer };
    let verdicts: Vec<FleetVerdict<'_>> = args.fail_if.iter().map(|gate| rates.check(gate)).collect();
    let most = args.limit.or((format == Format::Text).then_some(MOST_IN_TEXT)).unwrap_or(u64::MAX);
    let shown = answer.len().min(usize::try_from(most).unwrap_or(usize::MAX));
    let mut view = shown::view(&question.columns, &answer[..shown], format);
    let [base, new] = lengths.map(units::duration);
    view.notes
        .push(Prose::plain(format!("hosts were looked at for {base} in the first rows, for {new} in the second")));
    view.notes.extend(lost_note(&store, &RowSelection::default())?.map(Prose::plain));
    view.notes.extend(partial_note(store.contents.partial).map(Prose::plain));
    view.notes.extend(store.left_out_note().map(Prose::plain));
    if shown < answer.len() {
        let (shown, all) = (units::count(shown as u64), units::count(answer.len() as u64));
        view.notes.push(Prose::plain(format!("the first {shown} of {all} rows; --limit N shows more")));
    }
    view.notes.extend(verdicts.iter().map(|verdict| Prose::plain(verdict.sentence())));
    shown::print(&view, format)?;
    Ok(told(&verdicts, args))
}

/// Says which limits are exceeded, and which have a name that no row has.
fn told(verdicts: &[FleetVerdict<'_>], args: &FleetCompareArgs) -> ExitCode {
    for verdict in verdicts.iter().filter(|verdict| verdict.holds() && verdict.is_unknown) {
        terminal::print_line(format_args!("gate: warning: {}", verdict.sentence()));
    }
    let broken: Vec<_> = verdicts.iter().filter(|verdict| !verdict.holds()).collect();
    for verdict in &broken {
        terminal::print_line(format_args!("gate: {}", verdict.sentence()));
        let store = quoted(&args.store.store);
        let look_at = match (verdict.column, &verdict.gate.name) {
            (Some("service"), Some(name)) if !name.contains('*') => {
                format!("dwell fleet report waits --store {store} --service {}", shell_word(name))
            }
            _ => format!("dwell fleet report waits --store {store} --group-by host,service,kind,object"),
        };
        terminal::print_line(format_args!("hint: {look_at}"));
    }
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(status::FAILURE) }
}

/// How long the hosts of these rows were looked at, ns; fails where no row is chosen.
fn covered_ns(store: &OpenedStore, option: &str, rows: &RowSelection) -> Result<u64> {
    let answer = store.answer(&covered(&DUCKDB, rows))?;
    let covered = answer.first().and_then(|row| row.first()?.as_deref()?.parse().ok()).unwrap_or(0);
    if covered > 0 {
        return Ok(covered);
    }
    let error = Hinted::new(format!("{option} chooses no row of the store"));
    Err(error.hint(match rows.values.iter().any(|(column, _)| *column == "version") {
        true => {
            "dwell fleet report versions --store DIR lists the versions of services, and from when to when they ran"
        }
        false => "dwell fleet report hosts --store DIR lists the hosts, and from when to when they have rows",
    }))
}

/// All rows of a comparison.
struct Rates<'r> {
    question: &'r FleetQuestion,
    rows: &'r [Vec<Option<String>>],
}

impl Rates<'_> {
    fn cell(&self, row: usize, column: &str) -> &str {
        let at = self.question.columns.iter().position(|known| known.id == column);
        at.and_then(|at| self.rows.get(row)?.get(at)?.as_deref()).unwrap_or_default()
    }

    fn is_named(&self, row: usize, column: &str, name: &str) -> bool {
        glob(name, self.cell(row, column))
    }

    /// Sums of the rows that the limit is on: ns or waits per second of a host, first and second.
    fn sums(&self, gate: &FleetGate, is_of: impl Fn(usize) -> bool) -> [f64; 2] {
        let columns = if gate.is_count { ["base_waits_per_s", "new_waits_per_s"] } else { ["base_per_s", "new_per_s"] };
        let scale = if gate.is_count { 1.0 } else { 1e9 };
        let number = |row, column| self.cell(row, column).parse().unwrap_or(0.0) * scale;
        columns.map(|column| (0..self.rows.len()).filter(|row| is_of(*row)).map(|row| number(row, column)).sum())
    }

    fn check<'g>(&self, gate: &'g FleetGate) -> FleetVerdict<'g> {
        let has = |column: &&str| match &gate.name {
            Some(name) => (0..self.rows.len()).any(|row| self.is_named(row, column, name)),
            None => false,
        };
        let column = FLEET_NAMES.into_iter().filter(|name| gate.column.is_none_or(|only| only == *name)).find(has);
        let [first, second] = self.sums(gate, |row| match (&gate.name, column) {
            (Some(name), Some(column)) => self.is_named(row, column, name),
            (Some(_), None) => false,
            (None, _) => true,
        });
        let limit = match gate.limit {
            Limit::GrowthBy(part) => first * (1.0 + part),
            Limit::MoreBy(more) => first + more,
            Limit::Share(part) => self.sums(gate, |_| true)[1] * part,
            Limit::Above(limit) => limit,
        };
        FleetVerdict { gate, first, second, limit, column, is_unknown: gate.name.is_some() && column.is_none() }
    }
}

/// What became of a limit.
struct FleetVerdict<'g> {
    gate: &'g FleetGate,
    first: f64,
    second: f64,
    limit: f64,
    /// Where the name was found.
    column: Option<&'static str>,
    is_unknown: bool,
}

impl FleetVerdict<'_> {
    fn holds(&self) -> bool {
        self.second <= self.limit
    }

    fn sentence(&self) -> String {
        let amount = |number: f64| match self.gate.is_count {
            true => units::real(number),
            false => units::duration(number as u64),
        };
        let what = if self.gate.is_count { "Wait Count" } else { "Wait Time" };
        let of = self.gate.name.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
        let base = limit_of(self.gate.limit, self.first, amount);
        let kept = if self.holds() { "kept" } else { "exceeded" };
        let unknown = if self.is_unknown { "; no row has this name" } else { "" };
        let (now, limit) = (amount(self.second), amount(self.limit));
        let text = &self.gate.text;
        format!("{text}: {what}{of} per second of a host is {now}, the limit {limit}{base}: {kept}{unknown}")
    }
}
