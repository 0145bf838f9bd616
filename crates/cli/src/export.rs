//! `dwell export`: a result as other tools read it.

use std::cell::Cell;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use dwell_analyze::Fold;
use dwell_export::{StackWeight, folded, speedscope};

use crate::args::{ExportArgs, ExportFormat, ExportWeight};
use crate::error::{Hinted, Result};
use crate::report::newest_result;
use crate::{output, reading};

/// Writes what the command line asks for.
pub fn run(args: &ExportArgs) -> Result<ExitCode> {
    if args.weight.is_some() && args.format != ExportFormat::Folded {
        return Err(Hinted::usage("--weight is of the format folded: the others have both")
            .hint("dwell export folded --weight wait"));
    }
    let query = args.question.query()?;
    let result = result_path(args)?;
    let folder = reading::open(&result, args.output.as_deref())?;
    let begun = Cell::new(false);
    dwell_analyze::answered(&folder, |trace| {
        let fold = Fold::new(&trace, &query)?;
        if begun.replace(true) && args.output.is_none() {
            let again = Hinted::new("the index of the result was damaged, and what is written so far may be wrong");
            return Err(again.hint("it has been made anew: export once more"));
        }
        output::stream(args.output.as_deref(), None, |out| write(args, &fold, out))
    })?;
    Ok(ExitCode::SUCCESS)
}

fn result_path(args: &ExportArgs) -> Result<PathBuf> {
    args.result.clone().map_or_else(|| newest_result("dwell export FORMAT FOLDER"), Ok)
}

fn write(args: &ExportArgs, fold: &Fold<'_>, out: &mut dyn Write) -> io::Result<()> {
    match args.format {
        ExportFormat::Folded => folded::write(fold, weight(args), out),
        ExportFormat::Speedscope => speedscope::write(fold, out),
    }
}

fn weight(args: &ExportArgs) -> StackWeight {
    match args.weight {
        Some(ExportWeight::Wait) => StackWeight::Wait,
        Some(ExportWeight::Cpu) | None => StackWeight::Cpu,
    }
}
