//! `dwell export`: a result as other tools read it.

use std::cell::Cell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use dwell_analyze::{FilterKey, Fold, Query};
use dwell_export::{StackWeight, firefox, folded, otlp, perfetto, pprof, speedscope};

use crate::args::{ExportArgs, ExportFormat, ExportWeight};
use crate::error::{Hinted, Result};
use crate::progress::Exporting;
use crate::report::newest_result;
use crate::sql::script;
use crate::{output, reading, terminal};

/// Writes what the command line asks for.
pub fn run(args: &ExportArgs) -> Result<ExitCode> {
    if args.weight.is_some() && args.format != ExportFormat::Folded {
        return Err(Hinted::usage("--weight is of the format folded: the others have both")
            .hint("dwell export folded --weight wait"));
    }
    let query = args.question.query()?;
    refuse_classes(args, &query)?;
    if args.format == ExportFormat::Sql {
        script::refuse_question(&query)?;
    }
    let result = result_path(args)?;
    let target = target(args, &result);
    let folder = reading::open(&result, target.as_deref())?;
    if args.format == ExportFormat::Sql {
        return script::write(&folder, target.as_deref());
    }
    let binary = args.format.is_binary();
    let format = args.format.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    let exporting = Exporting::new(format, target.is_none());
    let begun = Cell::new(false);
    dwell_analyze::answered(&folder, |trace| {
        let fold = Fold::new(&trace, &query)?;
        if begun.replace(true) && target.is_none() {
            let again = Hinted::new("the index of the result was damaged, and what is written so far may be wrong");
            return Err(again.hint("it has been made anew: export once more"));
        }
        output::stream(target.as_deref(), binary, |out| {
            write(args, &fold, target.as_deref(), &mut exporting.counting(out))
        })
    })?;
    drop(exporting);
    if let Some(file) = target.filter(|_| args.output.is_none()) {
        terminal::print_line(format_args!("dwell: wrote {}", file.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// A class of utilization cuts waits to pieces that are sums: formats with events have no place for these.
fn refuse_classes(args: &ExportArgs, query: &Query) -> Result<()> {
    let mut filters = query.filters.iter().chain(&query.exclude);
    if args.format.has_events() && filters.any(|filter| filter.key == FilterKey::Utilization) {
        let error = Hinted::usage("a filter by utilization is of sums, and this format has events");
        return Err(error.hint("dwell export pprof takes it; --time-range cuts events"));
    }
    Ok(())
}

fn result_path(args: &ExportArgs) -> Result<PathBuf> {
    args.result.clone().map_or_else(|| newest_result("dwell export FORMAT FOLDER"), Ok)
}

/// The file to be written; none: standard output.
fn target(args: &ExportArgs, result: &Path) -> Option<PathBuf> {
    let named = || {
        let name = result.file_name().map_or_else(|| "result".into(), |name| name.to_string_lossy());
        args.format.usual_ending().map(|ending| PathBuf::from(format!("{name}.{ending}")))
    };
    args.output.clone().or_else(named).filter(|path| path != Path::new("-"))
}

fn write(args: &ExportArgs, fold: &Fold<'_>, target: Option<&Path>, out: &mut dyn Write) -> io::Result<()> {
    match args.format {
        ExportFormat::Folded => folded::write(fold, weight(args), out),
        ExportFormat::Speedscope => speedscope::write(fold, out),
        ExportFormat::Pprof => pprof::write(fold, out),
        ExportFormat::Otlp => otlp::write(fold, out),
        ExportFormat::Firefox if target.is_some_and(is_compressed) => firefox::write_compressed(fold, out),
        ExportFormat::Firefox => firefox::write(fold, out),
        ExportFormat::Perfetto => perfetto::write(fold, out),
        ExportFormat::Sql => Ok(()), // written before, without a fold
    }
}

fn is_compressed(target: &Path) -> bool {
    target.extension().is_some_and(|ending| ending == "gz")
}

fn weight(args: &ExportArgs) -> StackWeight {
    match args.weight {
        Some(ExportWeight::Wait) => StackWeight::Wait,
        Some(ExportWeight::Cpu) | None => StackWeight::Cpu,
    }
}
