//! Options of `dwell export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::question::{Export as OfExport, Question};

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  dwell export folded --weight wait | flamegraph.pl --countname ns > waits.svg
                    # a flame graph of the waits of the newest result here
  dwell export speedscope r000th --filter thread=worker* -o r000th.speedscope.json
                    # for https://www.speedscope.app: two profiles, CPU and wait time
  dwell export pprof r000th && go tool pprof -http=: -sample_index=wait r000th.pb.gz
                    # by stack, with labels thread, object, type and waker
  dwell export otlp r000th && curl --data-binary @r000th.otlp.pb -H 'Content-Type: application/x-protobuf' \
      http://127.0.0.1:4318/v1development/profiles
                    # experimental: OpenTelemetry profiles, to a collector
  dwell export firefox r000th --time-range 1.5s-3s
                    # for https://profiler.firefox.com: r000th.profile.json.gz
  dwell export perfetto r000th
                    # for https://ui.perfetto.dev: r000th.pftrace
  dwell export sql r000th -o views.sql && duckdb -init views.sql
                    # for SQL: select object, sum(wait_ns) from waits group by 1";

/// Options of `dwell export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// Which format.
    #[arg(value_enum)]
    pub format: ExportFormat,
    /// The result [default: the newest r000th, r001th, … here].
    #[arg(value_hint = ValueHint::DirPath)]
    pub result: Option<PathBuf>,
    /// What is exported.
    #[command(flatten)]
    pub question: Question<OfExport>,
    /// For `folded`: what the numbers are [default: cpu].
    #[arg(long, value_enum, help_heading = "How to count")]
    pub weight: Option<ExportWeight>,
    /// Write to this file, whole or not at all; - is standard output [default: folded, speedscope and sql to
    /// standard output, the others to a file here that is called as the result].
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// A format that other tools read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Text: a line for each stack, for flamegraph.pl and its like.
    Folded,
    /// JSON: CPU and wait time by stack, for speedscope.
    Speedscope,
    /// Binary: CPU time, wait time and waits by stack, with labels, for `go tool pprof` and Grafana Pyroscope.
    Pprof,
    /// Binary, experimental: CPU time, wait time and waits by stack as OpenTelemetry profiles, with attributes.
    Otlp,
    /// JSON, compressed where the file's name ends in .gz: what each thread did over time, and each wait, for
    /// https://profiler.firefox.com.
    Firefox,
    /// Binary: who ran on which CPU, waits with arrows from their wakers, samples, for https://ui.perfetto.dev.
    Perfetto,
    /// Text: a script of views over the result's tables, for DuckDB.
    Sql,
}

impl ExportFormat {
    /// How the name of the file ends that is written where none is named; none: it goes to standard output.
    pub fn usual_ending(self) -> Option<&'static str> {
        match self {
            Self::Folded | Self::Speedscope | Self::Sql => None,
            Self::Pprof => Some("pb.gz"),
            Self::Otlp => Some("otlp.pb"),
            Self::Firefox => Some("profile.json.gz"),
            Self::Perfetto => Some("pftrace"),
        }
    }

    /// Whether it has events in order of time, and not only sums.
    pub fn has_events(self) -> bool {
        matches!(self, Self::Firefox | Self::Perfetto)
    }

    /// Whether it is no text.
    pub fn is_binary(self) -> bool {
        matches!(self, Self::Pprof | Self::Otlp | Self::Perfetto)
    }
}

/// What the number of a stack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportWeight {
    /// Time on a CPU.
    Cpu,
    /// Time blocked.
    Wait,
}
