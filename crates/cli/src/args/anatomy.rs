//! Options of `dwell anatomy`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use dwell_anatomy::Window;

use super::format::Format;
use super::parse;

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

const SYSTEM_EXAMPLES: &str = "\
Examples:
  dwell anatomy system --scenario tcp-receive
                    # what a buffer of 64 to 65536 bytes costs, by phases
  dwell anatomy system --scenario tcp-receive --card virtio --report halves
  dwell anatomy system --scenario udp --kernel ./linux-image-6.1.0-56-amd64.deb
  dwell anatomy system --scenario ./mine.sh
                    # a script for busybox's shell

The guest is a kernel of this machine (/boot), or of a Debian package in Dwell's
folder of caches, which is unpacked and not installed.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  dwell anatomy compare r000an.dwt r001an.dwt
                    # two kernels, two settings, two versions of a program
  dwell anatomy compare r000an.dwt r000an.dwt --second-machine zen5
                    # the same instructions on two machines";

const REPORT_EXAMPLES: &str = "\
Examples:
  dwell anatomy report hotspots
                    # of the newest trace here
  dwell anatomy report trace r000an.dwt --function parse_request --depth 4
                    # each call of that function, with what it calls
  dwell anatomy report instructions --function parse_request --limit 200
                    # each of its instructions, with what held it up
  dwell anatomy report phases --phases mine.toml
                    # with phases of your own
  dwell anatomy report topdown --machine zen5 --format json

Reports: summary, hotspots, topdown, phases, halves, trace, instructions, code, packets,
parts, buffers.";

/// What is done.
#[derive(Debug, Subcommand)]
pub enum AnatomyCommand {
    /// Trace a program's instructions in QEMU, and say where a machine would spend its cycles.
    #[command(arg_required_else_help = true, after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Trace a scenario in a guest with its kernel: packets from the interrupt to the program.
    #[command(arg_required_else_help = true, after_help = SYSTEM_EXAMPLES)]
    System(Box<SystemArgs>),
    /// Show a report of a trace, on this machine or another one.
    #[command(arg_required_else_help = true, after_help = REPORT_EXAMPLES)]
    Report(Box<AnatomyReportArgs>),
    /// Show two traces side by side, or one on two machines.
    #[command(arg_required_else_help = true, after_help = COMPARE_EXAMPLES)]
    Compare(Box<AnatomyCompareArgs>),
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
    /// What is recorded.
    #[command(flatten)]
    pub recorded: RecordedArgs,
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

/// Options of `dwell anatomy system`.
#[derive(Args, Debug)]
pub struct SystemArgs {
    /// What happens in the guest: tcp-receive, tcp-send, udp, unix, loopback, or a script for busybox's shell.
    #[arg(long, value_name = "NAME|FILE", help_heading = "The guest")]
    pub scenario: String,
    /// Its kernel: a package linux-image-*.deb, or an image vmlinuz-VERSION with modules in ../lib/modules.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "The guest")]
    pub kernel: Option<PathBuf>,
    /// The kernel's file with symbols, of the same build [default: the kernel names its functions itself].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "The guest")]
    pub vmlinux: Option<PathBuf>,
    /// Its network card.
    #[arg(long, value_enum, default_value_t, help_heading = "The guest")]
    pub card: CardArg,
    /// SO_RCVBUF of the receiving socket.
    #[arg(long, value_name = "BYTES", default_value = "0", hide_default_value = true, help_heading = "The guest")]
    pub receive_buffer: u32,
    /// Turn the card's GRO off: packets go up the stack one by one.
    #[arg(long, help_heading = "The guest")]
    pub no_gro: bool,
    /// End a guest that takes longer.
    #[arg(long, value_name = "TIME", default_value = "300s", value_parser = parse::positive_seconds, help_heading = "The guest")]
    pub time_limit: u64,
    /// busybox for a script, linked statically.
    #[arg(long, value_name = "FILE", default_value = "/bin/busybox", value_hint = ValueHint::FilePath, help_heading = "The guest")]
    pub busybox: PathBuf,
    /// What is recorded.
    #[command(flatten)]
    pub recorded: RecordedArgs,
    /// The machine.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Report to show.
    #[arg(long, value_name = "NAME", default_value = "phases", help_heading = "Output")]
    pub report: String,
    /// What is shown.
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// The guest's network card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CardArg {
    /// Intel's 82540EM.
    #[default]
    E1000,
    /// A virtual one.
    Virtio,
}

/// Which part is recorded, and where.
#[derive(Args, Debug)]
pub struct RecordedArgs {
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
    /// Of the annotated trace, only calls of this function and what they call; of `instructions` and `code`, this function.
    #[arg(long, value_name = "FUNCTION", help_heading = "What to show")]
    pub function: Option<String>,
    /// Of `instructions`, one call with what it calls: its number in the annotated trace's JSON.
    #[arg(long, value_name = "N", conflicts_with = "function", help_heading = "What to show")]
    pub call: Option<u64>,
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

/// What the rows of a comparison are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CompareBy {
    /// Phases.
    #[default]
    Phase,
    /// Functions.
    Function,
}

/// Options of `dwell anatomy compare`.
#[derive(Args, Debug)]
pub struct AnatomyCompareArgs {
    /// The trace to compare with.
    #[arg(value_name = "FIRST", value_hint = ValueHint::FilePath)]
    pub first: PathBuf,
    /// The trace that is compared.
    #[arg(value_name = "SECOND", value_hint = ValueHint::FilePath)]
    pub second: PathBuf,
    /// What the rows are.
    #[arg(long, value_enum, default_value_t, help_heading = "What to show")]
    pub by: CompareBy,
    /// The machine of the second trace [default: that of the first].
    #[arg(long, value_name = "NAME|FILE", help_heading = "The machine")]
    pub second_machine: Option<String>,
    /// The machine.
    #[command(flatten)]
    pub model: ModelArgs,
    /// What is shown.
    #[command(flatten)]
    pub shown: ShownArgs,
}
