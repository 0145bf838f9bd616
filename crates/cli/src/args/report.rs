//! Options of `dwell report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use dwell_analyze::CallStackMode;

use super::parse;
use super::report_words::ReportWords;
use super::switch::Switch;

/// Options of `dwell report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Name of the report; for `blame` an object, for `caller-callee` a function; and the result [default: the newest
    /// r000th, r001th, … here].
    #[arg(required_unless_present = "html", num_args = 1..=3, value_name = "NAME", value_parser = ReportWords, hide_possible_values = true)]
    pub words: Vec<String>,
    /// Group rows by up to three levels, such as object,function.
    #[arg(short, long, value_name = "LEVELS", value_delimiter = ',', help_heading = "What to show")]
    pub group_by: Vec<String>,
    /// Show only what matches, such as thread=worker; can be given several times.
    #[arg(short, long, value_name = "KEY=VALUE", help_heading = "What to show")]
    pub filter: Vec<String>,
    /// Leave out what matches; can be given several times.
    #[arg(short = 'x', long, value_name = "KEY=VALUE", help_heading = "What to show")]
    pub exclude: Vec<String>,
    /// Show only this part of the time, such as 1.5s-3s.
    #[arg(long, value_name = "FROM-TO", value_parser = parse::range, allow_hyphen_values = true, help_heading = "What to show")]
    pub time_range: Option<(u64, u64)>,
    /// Leave out this part of the time; can be given several times.
    #[arg(long, value_name = "FROM-TO", value_parser = parse::range, allow_hyphen_values = true, help_heading = "What to show")]
    pub excluded_range: Vec<(u64, u64)>,
    /// Show these metrics, such as wait_ns,wait_count.
    #[arg(short, long, value_name = "METRICS", value_delimiter = ',', help_heading = "What to show")]
    pub metric: Vec<String>,
    /// Sort by this column, largest first.
    #[arg(short, long, value_name = "COLUMN", help_heading = "What to show")]
    pub sort: Option<String>,
    /// Show at most so many rows.
    #[arg(short, long, value_name = "N", help_heading = "What to show")]
    pub limit: Option<usize>,
    /// For `latency`: intervals longer than this are outliers, such as 50us [default: those above the median and 5 times
    /// the median of the distances from it].
    #[arg(long, value_name = "TIME", value_parser = parse::seconds, help_heading = "How to count")]
    pub outlier: Option<u64>,
    /// For `latency --format hgrm`: which intervals, by the name that the report has of them.
    #[arg(long, value_name = "NAME", help_heading = "What to show")]
    pub interval: Option<String>,
    /// Bins of the timeline.
    #[arg(long, value_name = "N", default_value = "60", value_parser = parse::bins, help_heading = "What to show")]
    pub bins: usize,
    /// Frames a second below which frames are slow, and above which they are fast [default: 40,100].
    #[arg(long, value_name = "SLOW,FAST", help_heading = "How to count")]
    pub frame_rates: Option<String>,
    /// Count the waits of idle workers too: a pool's thread without work, an event loop.
    #[arg(long, help_heading = "How to count")]
    pub include_idle: bool,
    /// CPUs that the program is meant to use [default: as collected].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "How to count")]
    pub target_concurrency: Option<u32>,
    /// Which functions stacks show.
    #[arg(long, value_name = "MODE", default_value = "user+1", value_parser = parse::call_stack_modes(), help_heading = "How to count")]
    pub call_stack_mode: CallStackMode,
    /// Whether functions that the compiler inlined count as functions.
    #[arg(long, value_enum, default_value_t, help_heading = "How to count")]
    pub inline_mode: Switch,
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
