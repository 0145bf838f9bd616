//! Options of `dwell pt`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::format::Format;

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  perf record -e intel_pt//u -o perf.data ./app; dwell pt perf.data
                    # each function, from when on, how deep, for how many instructions
  dwell pt perf.data --limit 100000 --format csv

The programs' files must be where they were. Needs libipt2, Intel's decoder.";

/// Options of `dwell pt`.
#[derive(Args, Debug)]
pub struct PtArgs {
    /// What `perf record -e intel_pt//` wrote.
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Show at most so many stretches of each trace.
    #[arg(short, long, value_name = "N", default_value = "1000")]
    pub limit: usize,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
