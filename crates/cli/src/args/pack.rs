//! Options of `dwell pack` and `dwell unpack`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use dwell_store::PrivatePart;

/// The examples of its help.
pub const PACK_EXAMPLES: &str = "\
Examples:
  dwell pack        # the newest result here: r000th.dwell
  dwell view r000th.dwell
                    # what its reader types; report, compare, export, sql and source
                    # take the file as well
  dwell pack r000th --leave-out command-lines,environment,sources -o for-them.dwell

Symbols, sources and machine code are in it, as the result has them. The program's
environment variables are in no result. Names cannot be left out, every report is
made of them: those of threads, processes, functions, files, locks, tasks, of other
programs that took CPUs, and the addresses of sockets.";

/// The examples of its help.
pub const UNPACK_EXAMPLES: &str = "\
Examples:
  dwell unpack r000th.dwell
                    # makes the folder r000th here
  dwell unpack r000th.dwell results
                    # makes results/r000th, which dwell view results lists
  dwell unpack r000th.dwell results/before-the-change";

/// Options of `dwell pack`.
#[derive(Args, Debug)]
pub struct PackArgs {
    /// The result [default: the newest r000th, r001th, … here].
    #[arg(value_hint = ValueHint::DirPath)]
    pub result: Option<PathBuf>,
    /// The file, written whole or not at all; - is standard output [default: a file here that is called as the result, with
    /// the ending .dwell].
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Replace the file if it is there.
    #[arg(long)]
    pub force: bool,
    /// Leave these texts out.
    #[arg(long, value_enum, value_name = "PARTS", value_delimiter = ',')]
    pub leave_out: Vec<LeftOutPart>,
}

/// A private part of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LeftOutPart {
    /// The arguments of the programs and of the collection, and the log.
    CommandLines,
    /// Where it ran: the names of host, control groups, units, containers and pods, and the log.
    Environment,
    /// The text of source files; files and lines keep their names and numbers.
    Sources,
}

impl From<LeftOutPart> for PrivatePart {
    fn from(part: LeftOutPart) -> Self {
        match part {
            LeftOutPart::CommandLines => Self::CommandLines,
            LeftOutPart::Environment => Self::Environment,
            LeftOutPart::Sources => Self::Sources,
        }
    }
}

/// Options of `dwell unpack`.
#[derive(Args, Debug)]
pub struct UnpackArgs {
    /// The packed result.
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// The result's folder, or the folder in which it is made [default: here, called as the file without .dwell].
    #[arg(value_hint = ValueHint::DirPath)]
    pub folder: Option<PathBuf>,
    /// Print nothing.
    #[arg(short, long)]
    pub quiet: bool,
}
