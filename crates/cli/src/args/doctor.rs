//! Options of `dwell doctor`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::format::Format;

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  dwell doctor                  what can be recorded here, and what delays threads
  sudo dwell doctor             the same with the privileges that a collection has
  sudo dwell doctor --apply governor,c-states
                                changes these until the next boot, and prints the
                                commands that change them back
  dwell doctor --root sosreport-db1/
                                of another machine, from a copy of its /proc and /sys
  dwell doctor --format json    for scripts

Nothing is changed without --apply.";

/// Options of `dwell doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Make the changes that these lines name, such as governor,turbo; `all` for every one that delays threads and can be
    /// changed while the machine runs.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "root")]
    pub apply: Vec<String>,
    /// Load every hook of the collector for a moment, and print how many steps the kernel's verifier took for each.
    #[arg(long, conflicts_with_all = ["apply", "root"])]
    pub hooks: bool,
    /// Look at the /proc and /sys in this folder in place of the machine's own.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub root: Option<PathBuf>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
