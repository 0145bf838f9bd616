//! `dwell report`: asks analyze, and writes the answer as text, CSV or JSON.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dwell_analyze::latency::Latency;
use dwell_analyze::{Fold, Query, Report, warnings};
use dwell_store::{ResultFolder, Trace};
use dwell_view::{Column, Row, Value, View, json};

use crate::args::{Asked, CollectArgs, ReportArgs, ReportFormat, ReportSubject};
use crate::error::{Hinted, Result, quoted, shell_word};
use crate::next::{self, Collected};
use crate::text::style::Style;
use crate::{csv, hgrm, html, one_thing, output, reading, terminal, text};

/// Writes the report that the command line asks for.
pub fn run(args: &ReportArgs) -> Result<ExitCode> {
    reading::await_answers(&args.words)?; // one may be a result
    if let Some(file) = &args.html {
        return html_file(args, file);
    }
    let asked = Asked::parse(&args.words)?;
    let query = query(args, &asked)?;
    let folder = reading::open(&result_path(&asked)?, args.output.as_deref())?;
    if args.format == ReportFormat::Hgrm {
        if asked.what != ReportSubject::View(Report::Latency) {
            let error = Hinted::usage("--format hgrm is of the report latency");
            return Err(error.hint("dwell report latency --format hgrm"));
        }
        let interval = args.interval.as_deref();
        let text = dwell_analyze::answered(&folder, |trace| distribution(&trace, &query, interval))?;
        output::write(&text, args.output.as_deref())?;
        return Ok(ExitCode::SUCCESS);
    }
    let (view, warnings) = match asked.what {
        ReportSubject::Log => (log(&folder)?, 0),
        ReportSubject::View(report) => dwell_analyze::answered(&folder, |trace| {
            Ok::<_, Hinted>((dwell_analyze::report(report, &trace, &query)?, warnings(&trace)))
        })?,
    };
    let rendered = match one_thing::whole(&view, &asked).filter(|_| args.format == ReportFormat::Text) {
        Some(whole) => self::rendered(&whole, warnings, args) + &one_thing::next(&whole, &asked),
        None => self::rendered(&view, warnings, args),
    };
    output::write(&rendered, args.output.as_deref())?;
    Ok(ExitCode::SUCCESS)
}

/// The percentiles of one kind of intervals.
fn distribution(trace: &Trace, query: &Query, interval: Option<&str>) -> Result<String> {
    let latency = Latency::new(&Fold::new(trace, query)?);
    let named = |name: &&str| interval.is_none_or(|wanted| wanted == *name);
    let names: Vec<&str> = latency.types.iter().map(|of| of.name.as_str()).filter(named).collect();
    match names.as_slice() {
        [name] => {
            let found = latency.types.iter().find(|of| of.name == *name);
            Ok(hgrm::render(found.map_or(&[], |of| of.statistics.sorted())))
        }
        [] => {
            let what = interval.map_or_else(String::new, |name| format!(" called {name}"));
            Err(Hinted::new(format!("there are no intervals{what}")).hint("dwell report latency lists them"))
        }
        [first, ..] => {
            let message = format!("there are {} kinds of intervals, and a distribution is of one", names.len());
            let hint = format!("dwell report latency --format hgrm --interval {}", shell_word(first));
            Err(Hinted::usage(message).hint(hint))
        }
    }
}

/// One file for all that matters; the words name the result only.
fn html_file(args: &ReportArgs, file: &Path) -> Result<ExitCode> {
    let result = match args.words.as_slice() {
        [] => None,
        [result] => Some(PathBuf::from(result)),
        words @ [_, last, ..] => {
            let hint = "dwell report --html FILE [RESULT] has summary, findings, objects and graphs in one file";
            let message = match words.iter().find(|word| Report::parse(word).is_ok()) {
                Some(name) => format!("--html takes no report's name, `{name}` is one"),
                None => format!("`{last}` is one word too many"),
            };
            return Err(Hinted::usage(message).hint(hint));
        }
    };
    let asked = Asked { what: ReportSubject::View(Report::Summary), subject: None, result };
    let query = query(args, &asked)?;
    let folder = reading::open(&result_path(&asked)?, Some(file))?;
    let html = dwell_analyze::answered(&folder, |trace| Ok::<_, Hinted>(html::render(trace, &query)?))?;
    output::write(&html, Some(file))?;
    Ok(ExitCode::SUCCESS)
}

fn rendered(view: &View, warnings: usize, args: &ReportArgs) -> String {
    match args.format {
        ReportFormat::Json => json::render(view),
        ReportFormat::Csv => {
            for note in &view.notes {
                terminal::print_line(format_args!("dwell: {note}"));
            }
            csv::render(view)
        }
        ReportFormat::Text if args.output.is_some() => text::render(view, warnings, &Style::of_file()),
        ReportFormat::Text | ReportFormat::Hgrm => text::render(view, warnings, &Style::of_stdout()),
    }
}

fn result_path(asked: &Asked) -> Result<PathBuf> {
    asked.result.clone().map_or_else(|| newest_result("dwell report NAME FOLDER"), Ok)
}

/// The newest result in the current folder; where there is none, the hint has the `form` that names another.
pub fn newest_result(form: &str) -> Result<PathBuf> {
    reading::await_results_here()?;
    let newest = ResultFolder::latest(Path::new("."));
    newest.map(|path| path.strip_prefix(".").map(Path::to_owned).unwrap_or(path)).ok_or_else(|| {
        Hinted::new("there is no result in this folder")
            .hint(format!("dwell collect threading -- PROGRAM makes one; {form} names another"))
    })
}

fn query(args: &ReportArgs, asked: &Asked) -> Result<Query> {
    Ok(Query { subject: asked.subject.clone(), ..args.question.query()? })
}

/// The log as a view of lines.
fn log(folder: &ResultFolder) -> Result<View> {
    let text = folder.log()?;
    let line = |line: &str| Row { depth: 0, values: vec![Value::Text(line.to_owned())] };
    Ok(View {
        title: "Log".into(),
        columns: vec![Column { id: "line", title: "Line", help: "A line of the log.", detail: false }],
        rows: text.lines().map(line).collect(),
        ..View::default()
    })
}

/// What people read after a collection: the summary, what is wrong, and what to type next.
pub fn after_collection(trace: &Trace, args: &CollectArgs, folder: &Path) -> Result<String> {
    let query = Query {
        target_concurrency: args.target_concurrency,
        call_stack_mode: args.call_stack_mode,
        ..Query::default()
    };
    let view = dwell_analyze::report(Report::Summary, trace, &query)?;
    let mut text = format!("\n{}", text::digest::render(&view, warnings(trace), &Style::of_stdout()));
    let topics = args.analyze.topics();
    let command: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let collected = Collected { topics: &topics, command: &command, result: &quoted(folder) };
    text.push_str("\nNext\n");
    for command in next::commands(&view, &collected) {
        text.push_str(&format!("  {command}\n"));
    }
    Ok(text)
}
