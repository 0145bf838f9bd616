//! `dwell compare`: two results side by side, and limits for a build server.

use std::process::ExitCode;

use dwell_analyze::compare::{Verdict, compare};
use dwell_analyze::{Fold, Level};
use dwell_model::Unit;
use dwell_store::ResultFolder;
use dwell_view::{Prose, json};

use crate::args::{CompareArgs, Format, GateArg};
use crate::error::{Hinted, Result, quoted, shell_word, status};
use crate::reading::Reading;
use crate::text::limits::limit_of;
use crate::text::style::Style;
use crate::text::units;
use crate::{csv, output, terminal, text};

/// Writes the comparison; fails when a limit is not kept. Whatever else goes wrong has the status of trouble, so that
/// a script can tell the two apart.
pub fn run(args: &CompareArgs) -> Result<ExitCode> {
    compared(args).map_err(|error| error.with_status(status::USAGE))
}

fn compared(args: &CompareArgs) -> Result<ExitCode> {
    let query = args.question.query()?;
    let level = Level::parse(args.level.trim())?;
    Reading::of([&*args.first, &*args.second])?.writing_file(args.output.as_deref()).confine()?;
    let (first, second) = (ResultFolder::open(&args.first)?, ResultFolder::open(&args.second)?);
    let (mut view, verdicts) = dwell_analyze::answered(&first, |first| {
        dwell_analyze::answered(&second, |second| {
            dwell_analyze::refuse_handles([&first, &second], &query)?;
            let (first, second) = (Fold::new(&first, &query)?, Fold::new(&second, &query)?);
            let verdicts: Vec<Verdict> = args.fail_if.iter().map(|gate| gate.gate.check(&first, &second)).collect();
            Ok::<_, Hinted>((compare(&first, &second, level), verdicts))
        })
    })?;
    let checked: Vec<(&GateArg, Verdict)> = args.fail_if.iter().zip(verdicts).collect();
    view.notes.extend(checked.iter().map(|(gate, verdict)| Prose::plain(sentence(gate, verdict))));
    let rendered = match args.format {
        Format::Json => json::render(&view),
        Format::Csv => csv::render(&view),
        Format::Text if args.output.is_some() => text::render(&view, 0, &Style::of_file()),
        Format::Text => text::render(&view, 0, &Style::of_stdout()),
    };
    output::write(&rendered, args.output.as_deref())?;
    // A name that neither result has keeps every limit: more likely it is misspelt.
    for (gate, verdict) in checked.iter().filter(|(gate, verdict)| verdict.holds() && is_unknown(gate, verdict)) {
        terminal::print_line(format_args!("gate: warning: {}", sentence(gate, verdict)));
    }
    let mut broken = checked.iter().filter(|(_, verdict)| !verdict.holds()).peekable();
    let failed = broken.peek().is_some();
    for (gate, verdict) in broken {
        terminal::print_line(format_args!("gate: {}", sentence(gate, verdict)));
        terminal::print_line(format_args!("hint: {}", look_at(gate, verdict, args)));
    }
    Ok(if failed { ExitCode::from(status::FAILURE) } else { ExitCode::SUCCESS })
}

/// What was measured, what the limit is, and whether it was kept.
fn sentence(gate: &GateArg, verdict: &Verdict) -> String {
    let amount = |number: f64| match gate.gate.metric {
        Some(metric) if metric.unit == Unit::Count => units::count(number as u64),
        _ => units::duration(number as u64),
    };
    let what = gate.gate.metric.map_or("Elapsed Time", |metric| metric.title);
    let of = gate.gate.name.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
    let base = limit_of(gate.gate.limit, verdict.first, amount);
    let kept = if verdict.holds() { "kept" } else { "exceeded" };
    let unknown = if is_unknown(gate, verdict) { "; neither result has this name" } else { "" };
    let (now, limit) = (amount(verdict.second), amount(verdict.limit));
    format!("{}: {what}{of} is {now}, the limit {limit}{base}: {kept}{unknown}", gate.text)
}

/// Whether neither result has the name that is limited.
fn is_unknown(gate: &GateArg, verdict: &Verdict) -> bool {
    gate.gate.name.is_some() && verdict.level.is_none()
}

/// The report that shows where the time went.
fn look_at(gate: &GateArg, verdict: &Verdict, args: &CompareArgs) -> String {
    let result = quoted(&args.second);
    let name = gate.gate.name.as_deref().map(shell_word).unwrap_or_default();
    match verdict.level {
        Some(Level::Object) => format!("dwell report blame {name} {result}"),
        Some(Level::Function) => format!("dwell report caller-callee {name} {result}"),
        Some(Level::ThreadName) => format!("dwell report bottom-up {result} --filter thread={name}"),
        _ => format!("dwell report findings {result}"),
    }
}
