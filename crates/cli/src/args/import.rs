//! Options of `dwell import`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::collect::FinalizationMode;

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
    /// Where else to look for binaries and debug information; can be given several times.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub search_dir: Vec<PathBuf>,
    /// How much to find out: full, or fast, which leaves out inlined functions and source lines.
    #[arg(long, value_enum, default_value_t, value_name = "full|fast", hide_possible_values = true)]
    pub finalization_mode: FinalizationMode,
    /// Print nothing.
    #[arg(short, long)]
    pub quiet: bool,
}
