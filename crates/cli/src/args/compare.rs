//! Options of `dwell compare`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::format::Format;
use super::gate::{self, GateArg};
use super::question::{Compare as OfCompare, Question};

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  dwell compare r000th r001th           # by function: CPU and wait time
  dwell compare r000th r001th --level object --limit 10
  dwell compare base new --fail-if 'wait:queue_lock>+20%' --fail-if 'elapsed>2s'
                    # for a build server

Difference is first - second, ratio second / first.

A limit is METRIC[:NAME]>LIMIT. METRIC is one of those of dwell report, with or
without _ns, or elapsed. NAME is an object, a function or a thread's name, the
first of these that there is, with * for any characters; LEVEL=NAME says which,
as in wait:object=queue_lock. Without it, the limit is on the whole program.
LIMIT is for the second result:
  +20%     20 % more than in the first       20%     of the second's total
  +50ms    50 ms more than in the first      2s      that much
  +100     100 more, of a count              1000    that many

Exit status: 0 all limits kept, 1 one exceeded, 2 anything else.";

/// Options of `dwell compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// The result to compare with.
    #[arg(value_name = "FIRST", value_hint = ValueHint::DirPath)]
    pub first: PathBuf,
    /// The result that is compared.
    #[arg(value_name = "SECOND", value_hint = ValueHint::DirPath)]
    pub second: PathBuf,
    /// What rows are: function, object, thread-name, or another level of dwell report.
    #[arg(
        short = 'g',
        long,
        visible_alias = "group-by",
        value_name = "LEVEL",
        default_value = "function",
        help_heading = "What to show"
    )]
    pub level: String,
    /// What is compared.
    #[command(flatten)]
    pub question: Question<OfCompare>,
    /// Fail when the second result exceeds this limit, such as wait:queue_lock>+20%; can be given several times.
    #[arg(long, value_name = "LIMIT", value_parser = gate::gate, help_heading = "Limits")]
    pub fail_if: Vec<GateArg>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub format: Format,
    /// Write to this file instead, whole or not at all.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: Option<PathBuf>,
}
