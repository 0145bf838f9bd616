//! Options of `dwell report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::question::{Question, Report as OfReport};
use super::report_words::ReportWords;

/// Options of `dwell report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Name of the report; for `blame` an object, for `caller-callee` a function; and the result [default: the newest
    /// r000th, r001th, … here]. A handle, such as w3, t7 or f2, shows that one object, thread or finding whole.
    #[arg(required_unless_present = "html", num_args = 1..=3, value_name = "NAME", value_parser = ReportWords, hide_possible_values = true)]
    pub words: Vec<String>,
    /// What is asked of it.
    #[command(flatten)]
    pub question: Question<OfReport>,
    /// For `latency --format hgrm`: which intervals, by the name that the report has of them.
    #[arg(long, value_name = "NAME", help_heading = "What to show")]
    pub interval: Option<String>,
    /// Write one HTML file with summary, findings, objects, timeline and flame graph, to attach to a ticket; in place of
    /// NAME.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["format", "output"], help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub format: ReportFormat,
    /// Write to this file instead, whole or not at all.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// Form of what `dwell report` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For people.
    #[default]
    Text,
    /// RFC 4180, exact numbers.
    Csv,
    /// One document, exact numbers; docs/reports.md describes it.
    Json,
    /// Of `latency`: the percentiles of one kind of intervals in µs, for HdrHistogram's tools.
    Hgrm,
}
