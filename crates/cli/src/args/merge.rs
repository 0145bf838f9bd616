//! Options of `dwell merge`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  dwell merge r000th r001th
                    # a client's and a server's, collected at the same time with
                    # --analyze sockets; the first one's clock counts
  dwell merge r000th r001th --offset-ns -1500000
                    # the second one's times are 1.5 ms too late";

/// Options of `dwell merge`.
#[derive(Args, Debug)]
pub struct MergeArgs {
    /// The result whose clock counts.
    #[arg(value_hint = ValueHint::DirPath)]
    pub first: PathBuf,
    /// The result that is put beside it.
    #[arg(value_hint = ValueHint::DirPath)]
    pub second: PathBuf,
    /// What is added to the second one's times, counted from the start of each collection, to get the first one's
    /// [default: found out from the connections between both].
    #[arg(long, value_name = "NS", allow_hyphen_values = true)]
    pub offset_ns: Option<i64>,
    /// Folder of the result [default: the next r000th, r001th, … here].
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub result_dir: Option<PathBuf>,
    /// Print nothing.
    #[arg(short, long)]
    pub quiet: bool,
}
