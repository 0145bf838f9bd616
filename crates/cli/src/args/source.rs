//! `dwell source`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::format::Format;
use super::question::{Question, Source as OfSource};

pub const SOURCE_EXAMPLES: &str = "\
Examples:
  dwell source push_item
                    # of the newest result here
  dwell source r000th '*ThreadPool::run*' --show source
  dwell source queue.c:42 --context 10
                    # the function with this line
  dwell source r000th --file queue.c --format csv
                    # all lines of a file; instructions with --show assembly
  dwell source memcpy --module libc.so.6 --syntax att

CPU time is sampled: it may stand an instruction or two behind the one that took
it, and at lines of neighbouring instructions.";

/// Options of `dwell source`.
#[derive(Args, Debug)]
pub struct SourceArgs {
    /// A function, exact or with `*`, or FILE:LINE; and the result [default: the newest r000th, r001th, … here].
    #[arg(num_args = 0..=2, value_name = "FUNCTION")]
    pub words: Vec<String>,
    /// Show a whole source file instead of a function.
    #[arg(long, value_name = "FILE", help_heading = "What to show")]
    pub file: Option<String>,
    /// The program or library that the function is in, by path or name.
    #[arg(long, value_name = "MODULE", help_heading = "What to show")]
    pub module: Option<String>,
    /// Lines, instructions, or both; for CSV, both is lines.
    #[arg(long, value_enum, default_value_t, help_heading = "What to show")]
    pub show: SourcePart,
    /// Lines without time to show around those with.
    #[arg(long, value_name = "N", default_value = "3", help_heading = "What to show")]
    pub context: usize,
    /// How instructions are written.
    #[arg(long, value_enum, default_value_t, help_heading = "What to show")]
    pub syntax: AssemblySyntax,
    /// What is counted.
    #[command(flatten)]
    pub question: Question<OfSource>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub format: Format,
    /// Write to this file instead, whole or not at all.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// What of a function is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SourcePart {
    /// Lines, then instructions.
    #[default]
    Both,
    /// Lines.
    Source,
    /// Instructions.
    Assembly,
}

/// How instructions are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AssemblySyntax {
    /// mov rax, [rbx]
    #[default]
    Intel,
    /// mov (%rbx),%rax
    Att,
}
