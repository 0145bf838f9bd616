//! Options of `dwell import`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::finalize::NamingArgs;

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  perf record -a -g -e cpu-clock -e sched:sched_switch -e sched:sched_waking -- ./app
  dwell import perf.data
                    # running and waiting, to the nanosecond, with wakers
  perf record -g --switch-events -- ./app && dwell import perf.data
                    # without root: waits, but not where in the code
  perf record -g -o - -- ./app | dwell import -
                    # from a pipe";

/// Options of `dwell import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// What `perf record` wrote; `-` is standard input.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Folder of the result [default: the next r000im, r001im, … here].
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub result_dir: Option<PathBuf>,
    #[command(flatten)]
    pub naming: NamingArgs,
    /// Print nothing.
    #[arg(short, long)]
    pub quiet: bool,
}
