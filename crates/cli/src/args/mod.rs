//! The command line: the one place from which parser, help, man page and shell completions come.
//!
//! Options are called as VTune's where it has one. What they do is in the command's own file.

mod analyze;
mod anatomy;
mod bench;
mod collect;
mod gate;
mod install;
mod intervals;
mod merge;
mod mistakes;
mod parse;
mod reports;
mod source;
mod target;

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use dwell_analyze::CallStackMode;

pub use analyze::AnalyzeArgs;
pub use anatomy::{
    AnatomyCommand, AnatomyCompareArgs, AnatomyReportArgs, CardArg, CompareBy, ModelArgs, RecordedArgs, RunArgs,
    ShownArgs, SystemArgs,
};
pub use bench::{Benchmark, SpscArgs};
use collect::COLLECT_EXAMPLES;
pub use collect::{Analysis, CollectArgs, FinalizationMode};
pub use gate::GateArg;
pub use install::{InstallArgs, UninstallArgs};
pub use intervals::IntervalArg;
pub use merge::MergeArgs;
pub use mistakes::{Refused, explain};
use reports::ReportWords;
pub use reports::{Asked, What};
use source::SOURCE_EXAMPLES;
pub use source::{AssemblySyntax, Part, SourceArgs};
pub use target::SshTarget;

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "dwell",
    version,
    about = "Where the threads of a Linux program spend their time, running or waiting, and why",
    after_help = DWELL_EXAMPLES,
    arg_required_else_help = true,
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const DWELL_EXAMPLES: &str = "\
Examples:
  sudo dwell collect threading -- ./app --its args
                    # profile a program, and see what is wrong with it
  dwell report waits
                    # what threads waited on, from the newest result here
  dwell report waits r000th --group-by object,function --filter thread=worker*
                    # the same of one result, by place, for some threads
  dwell report blame queue_lock
                    # what the others did while threads waited on queue_lock
  dwell view        # the same in the browser, to look around in
  dwell doctor      # what this machine lets Dwell see, and what it does to latency

Exit status: 0 done, 1 failed, 2 wrong usage, 77 privileges or kernel features
missing. `collect` passes on the status of the program that it ran, and 128 + N
when signal N ended it.";

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run or attach to a program and record what its threads do; then print what is wrong with it.
    #[command(subcommand_required = true, arg_required_else_help = true, after_help = COLLECT_EXAMPLES)]
    Collect {
        /// Which analysis.
        #[command(subcommand)]
        analysis: Analysis,
    },
    /// Show a report of a result: as text, CSV or JSON.
    #[command(
        arg_required_else_help = true,
        override_usage = "dwell report [OPTIONS] NAME [OBJECT] [RESULT]",
        after_help = reports::help()
    )]
    Report(Box<ReportArgs>),
    /// Show two results side by side, and fail when the second one exceeds a limit.
    #[command(arg_required_else_help = true, after_help = COMPARE_EXAMPLES)]
    Compare(Box<CompareArgs>),
    /// Show a result, or all results of a folder, in the browser.
    #[command(after_help = VIEW_EXAMPLES)]
    View(ViewArgs),
    /// Show a function's source lines and machine code, with the time spent at each.
    #[command(
        arg_required_else_help = true,
        override_usage = "dwell source [OPTIONS] [RESULT] FUNCTION|FILE:LINE",
        after_help = SOURCE_EXAMPLES
    )]
    Source(Box<SourceArgs>),
    /// Trace every instruction of a program, and replay it on a model of a machine.
    #[command(subcommand_required = true, arg_required_else_help = true, after_help = anatomy::EXAMPLES)]
    Anatomy {
        /// What to do.
        #[command(subcommand)]
        command: AnatomyCommand,
    },
    /// Join the results of two hosts into one, their clocks aligned.
    #[command(arg_required_else_help = true, after_help = merge::EXAMPLES)]
    Merge(MergeArgs),
    /// Make a result of what a deferred or interrupted collection recorded.
    #[command(arg_required_else_help = true, after_help = FINALIZE_EXAMPLES)]
    Finalize(FinalizeArgs),
    /// Say what can be recorded on this machine and what delays threads on it, with the exact command that changes it.
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),
    /// Put this program where the members of a group can record with it, without root.
    #[command(after_help = install::INSTALL_EXAMPLES)]
    Install(InstallArgs),
    /// Undo what `install` did.
    #[command(after_help = install::UNINSTALL_EXAMPLES)]
    Uninstall(UninstallArgs),
    /// Measure how long packets take from one thread to another on this machine.
    #[command(subcommand_required = true, arg_required_else_help = true, after_help = bench::EXAMPLES)]
    Bench {
        /// Which benchmark.
        #[command(subcommand)]
        benchmark: Benchmark,
    },
    /// Show an Intel PT trace that `perf record` wrote as a timeline of functions, counted by instructions.
    #[command(arg_required_else_help = true, after_help = PT_EXAMPLES)]
    Pt(PtArgs),
    /// Print the environment in which a program announces its ITT tasks and counters to a collection that attaches to it.
    #[command(after_help = ENV_EXAMPLES)]
    Env(EnvArgs),
    /// Print the completions of a shell.
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page, of all commands together.
    #[command(after_help = MAN_EXAMPLES)]
    Man,
    /// Print a part of the documentation that is made from the program's tables.
    #[command(hide = true)]
    Docs {
        /// Which part.
        part: DocsPart,
    },
}

impl Command {
    /// Whether it may use the capabilities of Dwell's own file; the others give them up at once.
    pub fn uses_rights(&self) -> bool {
        matches!(self, Self::Collect { .. } | Self::Finalize(_) | Self::Doctor(_))
    }
}

const COMPARE_EXAMPLES: &str = "\
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

const VIEW_EXAMPLES: &str = "\
Examples:
  dwell view r000th   # prints an address that only this machine reaches
  dwell view          # every result and instruction trace in the current folder
  dwell view r000an.dwt
  dwell view results --port 8080 --no-browser
                      # from a laptop: ssh -L 8080:127.0.0.1:8080 HOST, then
                      # open the printed address there
  dwell view r000th --listen 0.0.0.0 --tls-cert cert.pem --tls-key key.pem

The address has a token that is good once; the browser then keeps a cookie until
dwell view ends, by Ctrl-C. No result is changed, but for the index of a large
one (index.cache, which can be deleted); nothing is fetched from elsewhere.";

const FINALIZE_EXAMPLES: &str = "\
Examples:
  dwell finalize r000th
                    # after --finalization-mode deferred, kill -9, a full disk
  dwell finalize r000th --search-dir ./debug-symbols
                    # symbols are in files that have moved since";

const DOCTOR_EXAMPLES: &str = "\
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

const ENV_EXAMPLES: &str = "\
Examples:
  eval \"$(dwell env)\"; ./server &
  sudo dwell collect threading --target-process server --duration 10s
                    # with the server's own tasks and counters

A program that Dwell launches needs none of this. While nobody listens, what a
program announces costs it a few nanoseconds. Run it in the same container.";

const PT_EXAMPLES: &str = "\
Examples:
  perf record -e intel_pt//u -o perf.data ./app; dwell pt perf.data
                    # each function, from when on, how deep, for how many instructions
  dwell pt perf.data --limit 100000 --format csv

The programs' files must be where they were. Needs libipt2, Intel's decoder.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  dwell completions bash > ~/.local/share/bash-completion/completions/dwell
  dwell completions zsh > ~/.zfunc/_dwell
  dwell completions fish > ~/.config/fish/completions/dwell.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  dwell man | man -l -
  dwell man > ~/.local/share/man/man1/dwell.1";

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

/// On or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes.
    #[default]
    On,
    /// No.
    Off,
}

/// Form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// RFC 4180, exact numbers.
    Csv,
    /// One document, exact numbers; docs/reports.md describes it.
    Json,
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
    /// Compare these metrics, such as wait_ns,wait_count.
    #[arg(short, long, value_name = "METRICS", value_delimiter = ',', help_heading = "What to show")]
    pub metric: Vec<String>,
    /// Show only what matches, such as thread=worker; can be given several times.
    #[arg(short, long, value_name = "KEY=VALUE", help_heading = "What to show")]
    pub filter: Vec<String>,
    /// Leave out what matches; can be given several times.
    #[arg(short = 'x', long, value_name = "KEY=VALUE", help_heading = "What to show")]
    pub exclude: Vec<String>,
    /// Sort by this metric's difference, the largest first.
    #[arg(short, long, value_name = "METRIC", help_heading = "What to show")]
    pub sort: Option<String>,
    /// Show at most so many rows.
    #[arg(short, long, value_name = "N", help_heading = "What to show")]
    pub limit: Option<usize>,
    /// Fail when the second result exceeds this limit, such as wait:queue_lock>+20%; can be given several times.
    #[arg(long, value_name = "LIMIT", value_parser = gate::gate, help_heading = "Limits")]
    pub fail_if: Vec<GateArg>,
    /// Which functions stacks show.
    #[arg(long, value_name = "MODE", default_value = "user+1", value_parser = parse::call_stack_modes(), help_heading = "How to count")]
    pub call_stack_mode: CallStackMode,
    /// Whether functions that the compiler inlined count as functions.
    #[arg(long, value_enum, default_value_t, help_heading = "How to count")]
    pub inline_mode: Switch,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub format: Format,
    /// Write to this file instead, whole or not at all.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// Options of `dwell view`.
#[derive(Args, Debug)]
pub struct ViewArgs {
    /// A result, an instruction trace (*.dwt), or a folder of both.
    #[arg(default_value = ".", value_hint = ValueHint::AnyPath)]
    pub path: PathBuf,
    /// Port to listen on [default: a free one].
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    pub port: u16,
    /// Only print the address.
    #[arg(long)]
    pub no_browser: bool,
    /// Address to listen on; one that other machines reach needs --tls-cert and --tls-key, or --insecure.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub listen: IpAddr,
    /// Certificate chain in PEM form.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its private key in PEM form.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Serve other machines without encryption: everyone on the way can read the result, and the cookie.
    #[arg(long)]
    pub insecure: bool,
}

/// Options of `dwell finalize`.
#[derive(Args, Debug)]
pub struct FinalizeArgs {
    /// The result's folder.
    #[arg(value_hint = ValueHint::DirPath)]
    pub result: PathBuf,
    /// Where else to look for binaries and debug information; can be given several times.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub search_dir: Vec<PathBuf>,
    /// How much to find out: full, or fast, which leaves out inlined functions and source lines.
    #[arg(long, value_enum, default_value_t, value_name = "full|fast", hide_possible_values = true)]
    pub finalization_mode: FinalizationMode,
    /// Print no progress.
    #[arg(short, long)]
    pub quiet: bool,
}

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

/// Options of `dwell pt`.
#[derive(Args, Debug)]
pub struct PtArgs {
    /// What `perf record -e intel_pt//` wrote.
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Show at most so many stretches of each trace.
    #[arg(short, long, value_name = "N", default_value = "1000")]
    pub limit: usize,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Options of `dwell env`.
#[derive(Args, Debug)]
pub struct EnvArgs {
    /// Commands for a shell, or a JSON object.
    #[arg(long, value_enum, default_value_t)]
    pub format: EnvFormat,
}

/// Form of environment variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EnvFormat {
    /// export NAME=VALUE
    #[default]
    Shell,
    /// {"NAME": "VALUE"}
    Json,
}

/// A part of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DocsPart {
    /// docs/trace-format.md.
    TraceFormat,
    /// docs/metrics.md.
    Metrics,
    /// docs/system.md.
    System,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(words: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(words.split_whitespace())
    }

    #[test]
    fn definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_teaches_by_example() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "{} has no examples", command.get_name());
            command.get_subcommands().filter(|sub| !sub.is_hide_set()).for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn the_programs_arguments_are_its_own() {
        let cli = parse("dwell collect threading --duration 10 -- ls --quiet -- x").unwrap();
        let Command::Collect { analysis: Analysis::Threading(args) } = cli.command else { panic!() };
        assert_eq!(args.command, ["ls", "--quiet", "--", "x"]);
        assert_eq!(args.duration, Some(10_000_000_000));
        assert!(!args.quiet);
    }

    #[test]
    fn a_program_and_a_process_exclude_each_other() {
        assert!(parse("dwell collect threading --target-pid 1 -- ls").is_err());
        assert!(parse("dwell collect threading --target-pid 1 --target-pid 2").is_ok());
    }

    #[test]
    fn options_of_a_report_stand_anywhere() {
        for line in ["dwell report waits r000th --limit 3", "dwell report --limit 3 waits r000th"] {
            let Command::Report(args) = parse(line).unwrap().command else { panic!() };
            assert_eq!(args.words, ["waits", "r000th"]);
            assert_eq!(args.limit, Some(3));
        }
    }
}
