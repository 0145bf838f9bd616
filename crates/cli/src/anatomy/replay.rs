//! A trace on a machine, and its reports.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dwell_anatomy::annotate::{Anatomy, Annotator, Detail, Phases, Wanted};
use dwell_anatomy::reports::{Asked, By, REPORTS, compare as side_by_side, report as make};
use dwell_anatomy::trace::{self, TraceError};
use dwell_files::open_regular;
use dwell_machine::{Machine, MachineError};
use dwell_view::{View, json};
use indicatif::ProgressBar;

use super::chart;
use crate::args::{AnatomyCompareArgs, AnatomyReportArgs, CompareBy, Format, ModelArgs, ShownArgs};
use crate::error::{Hinted, Result, quoted};
use crate::reading::Reading;
use crate::text::style::Style;
use crate::{csv, output, progress, terminal, text};

/// What a trace's name ends in.
pub const SUFFIX: &str = "an.dwt";
/// Reports that need a function, or a call.
const OF_FUNCTIONS: [&str; 2] = ["instructions", "code"];
/// A file of the user's that describes something is no larger.
const MOST_BYTES: u64 = 1 << 20;

/// Shows a report of a trace.
pub fn report(args: &AnatomyReportArgs) -> Result<ExitCode> {
    check_name(&args.name)?;
    let path = match &args.trace {
        Some(path) => path.clone(),
        None => newest()?,
    };
    let mut annotator = annotator(&args.model)?;
    if OF_FUNCTIONS.contains(&args.name.as_str()) {
        annotator = annotator.with(Detail::new(wanted(args)?, args.shown.limit));
    }
    Reading::of([&*path])?.writing_file(args.shown.output.as_deref()).confine()?;
    let anatomy = replay(&path, annotator)?;
    let asked = Asked { limit: args.shown.limit, function: args.function.clone(), depth: args.depth };
    show(&args.name, &anatomy, &asked, &args.shown)?;
    Ok(ExitCode::SUCCESS)
}

fn wanted(args: &AnatomyReportArgs) -> Result<Wanted> {
    match (args.call, &args.function) {
        (Some(call), _) if args.name == "instructions" => Ok(Wanted::Call(call)),
        (_, Some(function)) => Ok(Wanted::Functions(function.clone())),
        _ => {
            let message = "of which function are the instructions to be shown?";
            Err(Hinted::usage(message).hint("--function FUNCTION names it"))
        }
    }
}

/// Shows two traces side by side.
pub fn compare(args: &AnatomyCompareArgs) -> Result<ExitCode> {
    let second_model = ModelArgs {
        machine: args.second_machine.clone().unwrap_or_else(|| args.model.machine.clone()),
        phases: args.model.phases.clone(),
    };
    let (first, second) = (annotator(&args.model)?, annotator(&second_model)?);
    Reading::of([&*args.first, &*args.second])?.writing_file(args.shown.output.as_deref()).confine()?;
    let (first, second) = (replay(&args.first, first)?, replay(&args.second, second)?);
    let by = if args.by == CompareBy::Phase { By::Phase } else { By::Function };
    let view = side_by_side(&first, &second, by, args.shown.limit);
    output::write(&rendered(&view, &args.shown), args.shown.output.as_deref())?;
    Ok(ExitCode::SUCCESS)
}

/// Whether there is such a report.
pub fn check_name(name: &str) -> Result<()> {
    let known = REPORTS.iter().any(|report| report.0 == name);
    let names: Vec<&str> = REPORTS.iter().map(|report| report.0).collect();
    let unknown = || Hinted::usage(format!("there is no report `{name}` of a trace"));
    if known { Ok(()) } else { Err(unknown().hint(format!("the reports are {}", names.join(", ")))) }
}

/// Whether there is such a report behind a recording: one that needs no more than its name.
pub fn check_recorded(name: &str) -> Result<()> {
    check_name(name)?;
    if !OF_FUNCTIONS.contains(&name) {
        return Ok(());
    }
    let message = format!("the report `{name}` is of a function of a trace");
    Err(Hinted::usage(message)
        .hint(format!("record first; then: dwell anatomy report {name} TRACE --function FUNCTION")))
}

/// A model of the machine that is asked for.
pub fn annotator(args: &ModelArgs) -> Result<Annotator> {
    let machine = machine(&args.machine)?;
    let table = args.phases.as_deref().map(small_file).transpose()?;
    let phases = Phases::with(table.as_deref()).map_err(|error| {
        let file = args.phases.as_deref().map(Path::display).map(|it| it.to_string()).unwrap_or_default();
        Hinted::usage(format!("{file} is no table of phases: {error}")).hint(
            "it has [[phase]] with name = \"NAME\" and functions = [\"PATTERN\", …]; docs/anatomy.md describes it",
        )
    })?;
    Annotator::new(&machine, phases).map_err(|error| of_machine(&error))
}

fn machine(name: &str) -> Result<Machine> {
    let is_file = name.contains('/') || name.ends_with(".toml");
    let machine = if is_file { Machine::parse(&small_file(Path::new(name))?) } else { Machine::named(name) };
    machine.map_err(|error| of_machine(&error))
}

fn of_machine(error: &MachineError) -> Hinted {
    Hinted::usage(error).hint(error.hint())
}

/// A text that the user named.
fn small_file(path: &Path) -> Result<String> {
    let cannot = |why: &str| Hinted::usage(format!("cannot read {}: {why}", path.display()));
    let file = open_regular(path).map_err(|error| cannot(&error.to_string()).hint("name an existing file"))?;
    let mut text = String::new();
    let read = file.take(MOST_BYTES + 1).read_to_string(&mut text);
    let bytes = read.map_err(|error| cannot(&error.to_string()).hint("name a TOML file"))?;
    if bytes as u64 > MOST_BYTES {
        return Err(cannot("it is no text file of at most 1 MiB").hint("name a TOML file"));
    }
    Ok(text)
}

/// The trace on the machine; shows how far it is.
pub fn replay(path: &Path, annotator: Annotator) -> Result<Anatomy> {
    let of_trace = |error: TraceError| {
        let hint = error.hint();
        Hinted::new(format!("{}: {error}", path.display())).hint(hint)
    };
    // A link of the user's own is followed.
    let file = path.canonicalize().and_then(|path| trace::open(&path)).map_err(|error| of_trace(error.into()))?;
    let progress = progress::bar(false).unwrap_or_else(ProgressBar::hidden).with_message("replaying");
    progress.set_length(file.metadata().map_or(0, |metadata| metadata.len()));
    let replayed = trace::replay(progress.wrap_read(file), annotator);
    progress.finish_and_clear();
    Ok(replayed.map_err(of_trace)?.1)
}

/// Writes a report.
pub fn show(name: &str, anatomy: &Anatomy, asked: &Asked, shown: &ShownArgs) -> Result<()> {
    let view = make(name, anatomy, asked).unwrap_or_default();
    let mut text = rendered(&view, shown);
    if name == "buffers" && shown.format == Format::Text {
        text += &chart::buffers(&view);
    }
    output::write(&text, shown.output.as_deref())
}

fn rendered(view: &View, shown: &ShownArgs) -> String {
    let style = if shown.output.is_some() { Style::of_file() } else { Style::of_stdout() };
    match shown.format {
        Format::Text => text::render(view, 0, &style),
        Format::Json => json::render(view),
        Format::Csv => {
            for note in &view.notes {
                terminal::print_line(format_args!("dwell: {note}"));
            }
            csv::render(view)
        }
    }
}

fn newest() -> Result<PathBuf> {
    let traces = numbered().into_iter().max();
    traces.map(file_of).ok_or_else(|| {
        Hinted::new("there is no trace in this folder")
            .hint("dwell anatomy run -- PROGRAM makes one; dwell anatomy report NAME TRACE names another")
    })
}

/// The numbers of the traces here.
fn numbered() -> Vec<u32> {
    let entries = std::fs::read_dir(".").into_iter().flatten().filter_map(std::result::Result::ok);
    let number = |name: &str| name.strip_prefix('r')?.strip_suffix(SUFFIX)?.parse().ok();
    entries.filter_map(|entry| number(entry.file_name().to_str()?)).collect()
}

/// The name of the next trace.
pub fn next() -> PathBuf {
    file_of(numbered().into_iter().max().map_or(0, |number| number.saturating_add(1)))
}

fn file_of(number: u32) -> PathBuf {
    PathBuf::from(format!("r{number:03}{SUFFIX}"))
}

/// What to type next.
pub fn next_steps(trace: &Path) -> String {
    format!(
        "dwell: trace {}; next: dwell anatomy report phases {}; dwell view {}",
        trace.display(),
        quoted(trace),
        quoted(trace)
    )
}
