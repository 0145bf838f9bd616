//! Options of `dwell agent`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::parse;

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  sudo dwell agent --store /var/lib/dwell/fleet
                    # until it is ended: what all processes waited for, a file per service each five minutes
  sudo dwell agent --store fleet --row 1s --duration 30s
  dwell fleet report waits --store fleet
                    # what is in there

Every wait is in it, as in `dwell top --exact`: sums of the kernel, without stacks. No command line and no
environment leaves the host.";

/// Options of `dwell agent`.
#[derive(Args, Debug)]
pub struct AgentArgs {
    /// Folder that the files are written to: DIR/day=YYYY-MM-DD/service=NAME/HOST-START.parquet.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub store: PathBuf,
    /// Time that a row has; rows end at its multiples on the clock.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse::positive_seconds)]
    pub row: u64,
    /// End after so long [default: when SIGTERM or SIGINT comes].
    #[arg(short, long, value_name = "TIME", value_parser = parse::positive_seconds)]
    pub duration: Option<u64>,
    /// Name of this host in the rows [default: the machine's].
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
}
