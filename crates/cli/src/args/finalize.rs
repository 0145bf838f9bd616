//! Options of `dwell finalize`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::collect::FinalizationMode;

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  dwell finalize r000th
                    # after --finalization-mode deferred, kill -9, a full disk
  dwell finalize r000th --search-dir ./debug-symbols
                    # symbols are in files that have moved since";

/// Options of `dwell finalize`.
#[derive(Args, Debug)]
pub struct FinalizeArgs {
    /// The result's folder.
    #[arg(value_hint = ValueHint::DirPath)]
    pub result: PathBuf,
    #[command(flatten)]
    pub naming: NamingArgs,
    /// Print no progress.
    #[arg(short, long)]
    pub quiet: bool,
}

/// Options of commands that name what was recorded.
#[derive(Args, Debug, Default)]
pub struct NamingArgs {
    /// Where else to look for binaries, debug information and sources; can be given several times.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub search_dir: Vec<PathBuf>,
    /// How much to find out: full, or fast, which leaves out inlined functions and source lines.
    #[arg(long, value_enum, default_value_t, value_name = "full|fast", hide_possible_values = true)]
    pub finalization_mode: FinalizationMode,
}
