//! Options of `dwell anatomy`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use dwell_anatomy::Window;

use super::Format;

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  dwell anatomy run -- ./app --its args
                    # every instruction of the program, on a model of a machine
  dwell anatomy report phases
                    # another report of the newest trace here
  dwell anatomy report hotspots r000an.dwt --machine zen5
                    # the same trace on another machine

Needs neither privileges nor a special processor, but QEMU.";

const RUN_EXAMPLES: &str = "\
Examples:
  dwell anatomy run -- ./app --its args
  dwell anatomy run --window parse_request -- ./server --once
                    # only that function, with what it calls
  dwell anatomy run --window 1000000:500000 -- ls -l
                    # half a million instructions, after the first million
  dwell anatomy run --window begin_frame..end_frame -- ./game
  dwell anatomy run --no-trace --machine sapphire-rapids -- ./long-job
                    # no file: straight into the model

The trace is a file, r000an.dwt, r001an.dwt, … in the current folder.";

const REPORT_EXAMPLES: &str = "\
Examples:
  dwell anatomy report hotspots
                    # of the newest trace here
  dwell anatomy report trace r000an.dwt --function parse_request --depth 4
                    # each call of that function, with what it calls
  dwell anatomy report phases --phases mine.toml
                    # with phases of your own
  dwell anatomy report topdown --machine zen5 --format json

Reports: summary, hotspots, topdown, phases, halves, trace, packets, buffers.";

/// What is done.
#[derive(Debug, Subcommand)]
pub enum AnatomyCommand {
    /// Trace a program's instructions in QEMU, and say where a machine would spend its cycles.
    #[command(arg_required_else_help = true, after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Show a report of a trace, on this machine or another one.
    #[command(arg_required_else_help = true, after_help = REPORT_EXAMPLES)]
    Report(Box<AnatomyReportArgs>),
}

/// On which machine, with which phases.
#[derive(Args, Debug)]
pub struct ModelArgs {
    /// The machine: p4-xeon, skylake-sp, sapphire-rapids, zen4, zen5, or a file that describes one.
    #[arg(long, value_name = "NAME|FILE", default_value = dwell_machine::DEFAULT_MACHINE, help_heading = "The machine")]
    pub machine: String,
    /// Phases of your own, by patterns of functions; they stand before Dwell's.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "The machine")]
    pub phases: Option<PathBuf>,
}

/// How much is shown, and how.
#[derive(Args, Debug)]
pub struct ShownArgs {
    /// Show at most so many rows.
    #[arg(short, long, value_name = "N", default_value = "20", help_heading = "Output")]
    pub limit: usize,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub format: Format,
    /// Write to this file instead, whole or not at all.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// Options of `dwell anatomy run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Program to run and its arguments.
    #[arg(last = true, required = true, value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
    /// Record only a part: FUNCTION with what it calls (* for any characters), BEGIN..END from one function's call to
    /// another's, `task` for ITT tasks, or start:count in instructions.
    #[arg(long, value_name = "WINDOW", value_parser = Window::parse, help_heading = "What to record")]
    pub window: Option<Window>,
    /// Write no trace: the model runs beside the program, which waits for it.
    #[arg(long, help_heading = "What to record")]
    pub no_trace: bool,
    /// The trace's file [default: the next r000an.dwt, r001an.dwt, … here].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "no_trace", help_heading = "What to record")]
    pub trace: Option<PathBuf>,
    /// The machine.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Report to show.
    #[arg(long, value_name = "NAME", default_value = "hotspots", help_heading = "Output")]
    pub report: String,
    /// What is shown.
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// Options of `dwell anatomy report`.
#[derive(Args, Debug)]
pub struct AnatomyReportArgs {
    /// Name of the report.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The trace [default: the newest r000an.dwt, r001an.dwt, … here].
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub trace: Option<PathBuf>,
    /// Of the annotated trace, only calls of this function and what they call.
    #[arg(long, value_name = "FUNCTION", help_heading = "What to show")]
    pub function: Option<String>,
    /// Of the annotated trace, calls no deeper than this.
    #[arg(long, value_name = "N", default_value = "64", help_heading = "What to show")]
    pub depth: u16,
    /// The machine.
    #[command(flatten)]
    pub model: ModelArgs,
    /// What is shown.
    #[command(flatten)]
    pub shown: ShownArgs,
}
