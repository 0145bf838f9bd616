//! Options of `dwell mcp`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  claude mcp add dwell -- dwell mcp --results /home/me/results
                    # an agent that reads the results in this folder
  dwell mcp --results results --allow-collect
                    # one that may also run and record programs
  dwell mcp --results results --list
                    # what it would see there

docs/agents.md says how other clients start it; `dwell skill` prints what an
agent should know.";

/// Options of `dwell mcp`.
#[derive(Args, Debug)]
pub struct McpArgs {
    /// The folder whose results are read; nothing outside it is.
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub results: PathBuf,
    /// Offer the tool `collect`, which runs any program as you.
    #[arg(long)]
    pub allow_collect: bool,
    /// Print the results as JSON, and end.
    #[arg(long, conflicts_with = "allow_collect")]
    pub list: bool,
}
