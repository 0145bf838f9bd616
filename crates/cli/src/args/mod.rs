//! The command line: the one place from which parser, help, man page and shell completions come.
//!
//! Options are called as VTune's where it has one. What they do is in the command's own file.

mod analyze;
mod anatomy;
mod bench;
mod gate;
mod install;
mod intervals;
mod merge;
mod mistakes;
mod parse;
mod reports;
mod target;

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use dwell_analyze::CallStackMode;
use dwell_capture::{EventSource, Rule, TaskProbe, Trigger};
use dwell_model::Topic;

pub use analyze::AnalyzeArgs;
pub use anatomy::{
    AnatomyCommand, AnatomyCompareArgs, AnatomyReportArgs, CardArg, CompareBy, ModelArgs, RecordedArgs, RunArgs,
    ShownArgs, SystemArgs,
};
pub use bench::{Benchmark, SpscArgs};
pub use gate::GateArg;
pub use install::{InstallArgs, UninstallArgs};
pub use intervals::IntervalArg;
pub use merge::MergeArgs;
pub use mistakes::{Refused, explain};
use reports::ReportWords;
pub use reports::{Asked, What};
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

const COLLECT_EXAMPLES: &str = "\
Examples:
  sudo dwell collect threading -- ./app --its args
  sudo dwell collect threading --target-process nginx --duration 10s
  sudo dwell collect latency -- ./app

`dwell collect threading --help` has all options and more examples.";

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

const SOURCE_EXAMPLES: &str = "\
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

/// An analysis that can be collected.
#[derive(Debug, Subcommand)]
pub enum Analysis {
    /// Threads: what they wait on, for whom, how long, and where they run.
    #[command(arg_required_else_help = true, after_help = THREADING_EXAMPLES)]
    Threading(Box<CollectArgs>),
    /// Latency: the same, and what delays threads in their tasks, requests and wake-ups, one by one.
    #[command(arg_required_else_help = true, after_help = LATENCY_EXAMPLES)]
    Latency(Box<CollectArgs>),
}

impl Analysis {
    /// The options, with what the analysis records.
    pub fn args(self) -> Box<CollectArgs> {
        match self {
            Self::Threading(args) => args,
            Self::Latency(mut args) => {
                args.analyze.analyze.push(Topic::Latency);
                args
            }
        }
    }
}

const LATENCY_EXAMPLES: &str = "\
Examples:
  sudo dwell collect latency -- ./app
                    # intervals are the tasks and frames that it announces
  sudo dwell collect latency --interval socket --target-process redis-server -d 10s
                    # from receiving a request to having sent the answer
  dwell report latency --outlier 50us
                    # how long they took, the outliers and their causes
  dwell report outlier t1234
                    # the story of one of them
  sudo dwell collect latency --trigger 'interval>50us' --target-process server
                    # on for days: only what is around each outlier is kept

It is `dwell collect threading --analyze latency`; its result is r000la, r001la, …";

const THREADING_EXAMPLES: &str = "\
Examples:
  sudo dwell collect threading -- ./app --its args
  sudo dwell collect threading --target-pid 4242 --duration 10s
  sudo dwell collect threading --target-process nginx --ring-buffer 30
                    # keep the last 30 s; Ctrl-C ends the collection
  sudo dwell collect threading --start-paused --resume-after 5s -- ./app
                    # leave the start-up out
  sudo dwell collect threading --strategy make:notrace:trace -- make -j8
                    # the compilers, not make itself
  dwell collect threading --target ssh:root@db1 --target-process postgres -d 10s
                    # on another machine; needs nothing there but ssh

The result is a folder, r000th, r001th, … in the current one. Under sudo the
program runs as the user who called sudo, and the result is that user's. Ctrl-C
ends the collection; what was recorded is kept.";

/// Options of `dwell collect threading` and `latency`.
#[derive(Args, Debug)]
pub struct CollectArgs {
    /// Program to run and its arguments.
    #[arg(last = true, value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
    /// Attach to a running process; can be given several times.
    #[arg(
        long,
        value_name = "PID",
        value_delimiter = ',',
        help_heading = "What to profile",
        conflicts_with = "command"
    )]
    pub target_pid: Vec<u32>,
    /// Attach to every process that runs a program of this name.
    #[arg(long, value_name = "NAME", help_heading = "What to profile", conflicts_with_all = ["command", "target_pid"])]
    pub target_process: Option<String>,
    /// Collect on another machine: ssh:USER@HOST. This program is copied there, and the result is brought back.
    #[arg(long, value_name = "TARGET", value_parser = target::target, help_heading = "What to profile")]
    pub target: Option<SshTarget>,
    /// Working directory of the program.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "What to profile")]
    pub app_working_dir: Option<PathBuf>,
    /// User to run the program as [default: the user who called sudo, else yourself].
    #[arg(long, value_name = "USER", value_hint = ValueHint::Username, help_heading = "What to profile")]
    pub user: Option<String>,
    /// Leave out the processes that the program forks.
    #[arg(long, help_heading = "What to profile")]
    pub no_follow_child: bool,
    /// Whether to record the processes that run a program of this name, and their children:
    /// NAME:trace|notrace:trace|notrace, several with commas.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = parse::rule, help_heading = "What to profile")]
    pub strategy: Vec<Rule>,

    /// End the collection after this time, such as 10s; a launched program goes on.
    #[arg(short, long, value_name = "TIME", value_parser = parse::positive_seconds, help_heading = "When to record")]
    pub duration: Option<u64>,
    /// Begin without recording.
    #[arg(long, help_heading = "When to record")]
    pub start_paused: bool,
    /// Begin to record after this time; means --start-paused.
    #[arg(long, value_name = "TIME", value_parser = parse::seconds, help_heading = "When to record")]
    pub resume_after: Option<u64>,
    /// Keep only what this time at the end recorded, such as 30s.
    #[arg(long, value_name = "TIME", value_parser = parse::positive_seconds, help_heading = "When to record")]
    pub ring_buffer: Option<u64>,
    /// Keep what was recorded last (5 s, or --ring-buffer) as a result of its own when an interval is longer:
    /// interval>50us, wake-up>5ms, wait>100ms, or TASK>1ms with the name of an ITT task.
    #[arg(long, value_name = "WHAT>TIME", value_parser = parse::trigger, help_heading = "When to record")]
    pub trigger: Option<Trigger>,
    /// Such results at most in a minute.
    #[arg(long, value_name = "N", default_value = "6", value_parser = clap::value_parser!(u32).range(1..), help_heading = "When to record")]
    pub trigger_limit: u32,

    /// What is recorded.
    #[command(flatten)]
    pub analyze: AnalyzeArgs,
    /// Where records come from: BPF programs, which see most; perf events of your own processes, which need no rights where
    /// kernel.perf_event_paranoid is 2 or less.
    #[arg(long, value_enum, default_value_t, help_heading = "How to record")]
    pub source: SourceArg,
    /// Time that a thread runs between its samples, 100us to 1s.
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = parse::sampling_interval, help_heading = "How to record")]
    pub sampling_interval: u64,
    /// Which functions the printed stacks show. Kernel stacks are recorded of samples, and of waits whose system call does
    /// not tell the reason; with `all`, of every wait, which costs more.
    #[arg(long, value_name = "MODE", default_value = "user+1", value_parser = parse::call_stack_modes(), help_heading = "How to record")]
    pub call_stack_mode: CallStackMode,
    /// Leave out what programs announce through ITT: tasks, counters, frames, names.
    #[arg(long, help_heading = "How to record")]
    pub no_itt: bool,
    /// Make tasks called NAME of what runs between two probes, for programs without ITT; can be given several times:
    /// NAME=uprobe:[FILE:]FUNCTION, NAME=uprobe:[FILE:]BEGIN..END or NAME=usdt:[FILE:]PROVIDER:BEGIN..END. Each pass of a
    /// probe costs 1 to 10 µs, in every process that uses FILE; with --no-follow-child only in those that are profiled.
    #[arg(long, value_name = "NAME=PROBE", value_parser = TaskProbe::parse, help_heading = "How to record")]
    pub task_probe: Vec<TaskProbe>,
    /// Make intervals for `dwell report latency`; can be given several times. socket: what a thread does from receiving on a
    /// socket to sending on it, a request that it handles. [name=NAME,]begin=PROBE,end=PROBE: from one probe to another of
    /// the same thread, each uprobe:[FILE:]FUNCTION, usdt:[FILE:]PROVIDER:NAME or syscall:NAME. period:[FILE:]FUNCTION:
    /// from each call of a function to the next.
    #[arg(long, value_name = "WHAT", value_parser = intervals::interval, help_heading = "How to record")]
    pub interval: Vec<IntervalArg>,
    /// CPUs that the program is meant to use [default: what its affinity and cgroup allow].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "How to record")]
    pub target_concurrency: Option<u32>,

    /// Folder of the result [default: the next r000th, r001th, … here].
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "The result")]
    pub result_dir: Option<PathBuf>,
    /// Stop recording at this size of the raw data in MB; 0 is no limit [default: 0, with --trigger 1000].
    #[arg(long, value_name = "MB", value_parser = parse::megabytes, help_heading = "The result")]
    pub data_limit: Option<u64>,
    /// What to do with the raw data at the end.
    #[arg(long, value_enum, default_value_t, help_heading = "The result")]
    pub finalization_mode: FinalizationMode,
    /// Where else to look for binaries and debug information; can be given several times.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "The result")]
    pub search_dir: Vec<PathBuf>,
    /// Print neither progress nor summary.
    #[arg(short, long, help_heading = "The result")]
    pub quiet: bool,
}

/// Where records come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SourceArg {
    /// BPF where it can be used, else perf.
    #[default]
    Auto,
    /// BPF programs, or nothing.
    Bpf,
    /// perf events.
    Perf,
}

impl From<SourceArg> for EventSource {
    fn from(source: SourceArg) -> Self {
        match source {
            SourceArg::Auto => Self::Auto,
            SourceArg::Bpf => Self::Bpf,
            SourceArg::Perf => Self::Perf,
        }
    }
}

/// What happens to the raw data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FinalizationMode {
    /// Functions, inlined functions and source lines.
    #[default]
    Full,
    /// Functions only.
    Fast,
    /// Later, by `dwell finalize`.
    Deferred,
    /// As deferred, and without a word about it.
    None,
}

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
    pub show: Part,
    /// Lines without time to show around those with.
    #[arg(long, value_name = "N", default_value = "3", help_heading = "What to show")]
    pub context: usize,
    /// How instructions are written.
    #[arg(long, value_enum, default_value_t, help_heading = "What to show")]
    pub syntax: AssemblySyntax,
    /// Count only what matches, such as thread=worker; can be given several times.
    #[arg(short, long, value_name = "KEY=VALUE", help_heading = "What to count")]
    pub filter: Vec<String>,
    /// Count only this part of the time, such as 1.5s-3s.
    #[arg(long, value_name = "FROM-TO", value_parser = parse::range, allow_hyphen_values = true, help_heading = "What to count")]
    pub time_range: Option<(u64, u64)>,
    /// Which functions have time of their own.
    #[arg(long, value_name = "MODE", default_value = "user+1", value_parser = parse::call_stack_modes(), help_heading = "What to count")]
    pub call_stack_mode: CallStackMode,
    /// Whether functions that the compiler inlined count as functions.
    #[arg(long, value_enum, default_value_t, help_heading = "What to count")]
    pub inline_mode: Switch,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub format: Format,
    /// Write to this file instead, whole or not at all.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// What of a function is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Part {
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
