//! `dwell source`: a function's lines and machine code with the time spent there, as text, CSV or JSON.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dwell_analyze::source::{SourceQuery, SourceView, Syntax};
use dwell_analyze::warnings;
use dwell_store::CodeTables;
use dwell_view::json;

use crate::args::{AssemblySyntax, Format, SourceArgs, SourcePart};
use crate::error::{Hinted, Result, quoted};
use crate::report::newest_result;
use crate::text::style::Style;
use crate::{csv, output, reading, terminal, text};

/// Writes the source that the command line asks for.
pub fn run(args: &SourceArgs) -> Result<ExitCode> {
    reading::await_answers(&args.words)?; // one may be a result
    let (result, function) = words(args)?;
    let folder = reading::open(&result, args.output.as_deref())?;
    let query = args.question.query()?;
    let asked = SourceQuery {
        name: function,
        module: args.module.clone(),
        whole_file: args.file.is_some(),
        syntax: match args.syntax {
            AssemblySyntax::Intel => Syntax::Intel,
            AssemblySyntax::Att => Syntax::Att,
        },
    };
    let tables = CodeTables::read(&folder)?;
    let (view, warnings) = dwell_analyze::answered(&folder, |trace| {
        let view = dwell_analyze::source::source(&trace, &tables, &query, &asked);
        Ok::<_, Hinted>((view.map_err(|error| named(error, args))?, warnings(&trace)))
    })?;
    output::write(&rendered(&view, warnings, args), args.output.as_deref())?;
    Ok(ExitCode::SUCCESS)
}

/// The result and the function: RESULT FUNCTION, FUNCTION RESULT, or FUNCTION of the newest result.
fn words(args: &SourceArgs) -> Result<(PathBuf, String)> {
    let is_result = |word: &&String| Path::new(word).join("manifest.json").is_file();
    let mut words: Vec<&String> = args.words.iter().collect();
    let known = words.iter().position(is_result);
    let unknown = (words.len() > usize::from(args.file.is_none())).then_some(0);
    let result = match known.or(unknown) {
        Some(at) => PathBuf::from(words.remove(at)),
        None => newest_result("dwell source FOLDER FUNCTION")?,
    };
    match (words.as_slice(), &args.file) {
        ([], Some(file)) => Ok((result, file.clone())),
        ([function], None) => Ok((result, (*function).clone())),
        ([], None) => Err(Hinted::usage("dwell source needs the name of a function").hint(format!(
            "dwell report hotspots {0} lists the functions; then dwell source {0} FUNCTION",
            quoted(&result)
        ))),
        ([word, ..], _) => {
            Err(Hinted::usage(format!("`{word}` is one word too many")).hint("dwell source [RESULT] FUNCTION"))
        }
    }
}

/// An error of analysis with the exact next command.
fn named(error: dwell_analyze::QueryError, args: &SourceArgs) -> Hinted {
    use dwell_analyze::QueryError as E;
    match &error {
        E::Ambiguous { choices, by_module: true, .. } => {
            let words = args.words.iter().map(|word| crate::error::shell_word(word)).collect::<Vec<_>>().join(" ");
            let module = choices.first().map_or("", String::as_str);
            let hint = format!("dwell source {words} --module {}", crate::error::shell_word(module));
            Hinted::usage(&error).hint(hint)
        }
        _ => error.into(),
    }
}

fn rendered(view: &SourceView, warnings: usize, args: &SourceArgs) -> String {
    let style = if args.output.is_some() { Style::of_file() } else { Style::of_stdout() };
    match args.format {
        Format::Json => json::render(&view.document()),
        Format::Csv => {
            for note in &view.notes {
                terminal::print_line(format_args!("dwell: {note}"));
            }
            let assembly = args.show == SourcePart::Assembly;
            csv::render(&if assembly { view.instructions_view() } else { view.lines_view() })
        }
        Format::Text => text::source::render(view, args.show, args.context, warnings, &style),
    }
}
