//! `dwell collect`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use dwell_analyze::CallStackMode;
use dwell_capture::{EventSource, FiberMode, Rule, TaskProbe, Trigger};
use dwell_model::Topic;

use super::{
    AnalyzeArgs, BelongingArgs, EventList, IntervalArg, SshTarget, StartAt, events, intervals, parse, start_at, target,
};

pub const COLLECT_EXAMPLES: &str = "\
Examples:
  sudo dwell collect -- ./app --its args       # is `dwell collect threading -- …`
  sudo dwell collect --target-process nginx --duration 10s
  sudo dwell collect --all --duration 10s      # the whole machine
  sudo dwell collect latency -- ./app

`dwell collect threading --help` has all options and more examples.";

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
  dwell report outlier ot1234
                    # the story of one of them
  sudo dwell collect latency --trigger 'interval>50us' --target-process server
                    # on for days: only what is around each outlier is kept

It is `dwell collect threading --analyze latency`; its result is r000la, r001la, …";

const THREADING_EXAMPLES: &str = "\
Examples:
  sudo dwell collect threading -- ./app --its args
  sudo dwell collect threading --target-pid 4242 --duration 10s
  sudo dwell collect threading --all --duration 10s
                    # every process of the machine
  sudo dwell collect threading --container web --duration 10s
                    # a container, with what joins it later; also --unit, --cgroup
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
    #[arg(last = true, value_name = "PROGRAM", conflicts_with = "belonging", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
    /// Attach to a running process and those that it has forked; can be given several times.
    #[arg(
        short = 'p',
        long,
        value_name = "PID",
        value_delimiter = ',',
        help_heading = "What to profile",
        conflicts_with_all = ["command", "belonging"]
    )]
    pub target_pid: Vec<u32>,
    /// Attach to every process that runs a program of this name.
    #[arg(long, value_name = "NAME", help_heading = "What to profile", conflicts_with_all = ["command", "target_pid", "belonging"])]
    pub target_process: Option<String>,
    /// Processes by what they belong to.
    #[command(flatten)]
    pub belonging: BelongingArgs,
    /// Collect on another machine: ssh:USER@HOST. This program is copied there, and the result is brought back.
    #[arg(long, value_name = "TARGET", value_parser = target::target, help_heading = "What to profile")]
    pub target: Option<SshTarget>,
    /// Working directory of the program.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "What to profile")]
    pub app_working_dir: Option<PathBuf>,
    /// User to run the program as [default: the user who called sudo, else yourself].
    #[arg(long, value_name = "USER", value_hint = ValueHint::Username, help_heading = "What to profile")]
    pub user: Option<String>,
    /// Leave out the processes that the program forks, or has forked.
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
    /// Prepare everything, and begin to record at this instant: 14:30:00 (local time), +30s, or /10s for the next multiple of 10 s
    /// of the clock, so that several machines begin together; means --start-paused.
    #[arg(long, value_name = "WHEN", value_parser = start_at::start_at, conflicts_with = "resume_after", help_heading = "When to record")]
    pub start_at: Option<StartAt>,
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
    /// How to look at goroutines of Go programs.
    #[arg(long, value_enum, default_value_t, help_heading = "How to record")]
    pub fibers: FibersArg,
    /// Leave out what programs announce through ITT: tasks, counters, frames, names.
    #[arg(long, help_heading = "How to record")]
    pub no_itt: bool,
    /// Make tasks called NAME of what runs between two probes, for programs without ITT; can be given several times:
    /// NAME=uprobe:[FILE:]FUNCTION, NAME=uprobe:[FILE:]BEGIN..END or NAME=usdt:[FILE:]PROVIDER:BEGIN..END. Each pass of a
    /// probe costs 1 to 10 µs, in every process that uses FILE; with --no-follow-child only in those that are profiled.
    #[arg(long, value_name = "NAME=PROBE", value_parser = TaskProbe::parse, help_heading = "How to record")]
    pub task_probe: Vec<TaskProbe>,
    /// Note each hit of a place in the code as NAME, with values; can be given several times:
    /// NAME=uprobe:[FILE:]FUNCTION(VALUE=arg0:u32, VALUE=arg1:str), NAME=uretprobe:[FILE:]FUNCTION(VALUE=ret:i64),
    /// NAME=usdt:[FILE:]PROVIDER:PROBE(VALUE=arg0:u64) or NAME=tracepoint:GROUP:EVENT(FIELD). Types are u8 to u64, i8 to
    /// i64, x8 to x64 (base 16) and str (a text of at most 64 bytes). With debug information, PARAMETER or
    /// PARAMETER->MEMBER.MEMBER stands for VALUE=arg0:u32. Behind it, a condition of the hits that are recorded: if VALUE >
    /// 100 && OTHER == "text". `dwell report probes` sums them up.
    #[arg(long, value_name = "NAME=PROBE(VALUES)", help_heading = "How to record")]
    pub probe: Vec<String>,
    /// Make intervals for `dwell report latency`; can be given several times. socket: what a thread does from receiving on a
    /// socket to sending on it, a request that it handles. [name=NAME,]begin=PROBE,end=PROBE: from one probe to another of
    /// the same thread, each uprobe:[FILE:]FUNCTION, usdt:[FILE:]PROVIDER:NAME or syscall:NAME. period:[FILE:]FUNCTION:
    /// from each call of a function to the next.
    #[arg(long, value_name = "WHAT", value_parser = intervals::interval, help_heading = "How to record")]
    pub interval: Vec<IntervalArg>,
    /// Count these events for each thread, exactly, at most 8: page-faults, context-switches, cycles, instructions, cache-misses and
    /// others of `perf list`, with :u in user code only, :k in the kernel only. `dwell report events` shows them.
    #[arg(long, value_name = "EVENTS", value_parser = events::event_list, help_heading = "How to record")]
    pub events: Option<EventList>,
    /// CPUs that the program is meant to use [default: what its affinity and cgroup allow].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "How to record")]
    pub target_concurrency: Option<u32>,

    /// Folder of the result [default: the next r000th, r001th, … here].
    #[arg(short, short_alias = 'o', long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "The result")]
    pub result_dir: Option<PathBuf>,
    /// Stop recording at this size of the raw data in MB; 0 is no limit [default: 0, with --trigger 1000].
    #[arg(long, value_name = "MB", value_parser = parse::megabytes, help_heading = "The result")]
    pub data_limit: Option<u64>,
    /// What to do with the raw data at the end.
    #[arg(long, value_enum, default_value_t, help_heading = "The result")]
    pub finalization_mode: FinalizationMode,
    /// Where else to look for binaries, debug information and sources; can be given several times.
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

/// How goroutines are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FibersArg {
    /// Now and then, from outside, for at most 1 % of a CPU.
    #[default]
    Sampled,
    /// At each change of state, by probes in the program; each wait costs it 3 to 10 µs.
    Exact,
    /// Not at all.
    None,
}

impl From<FibersArg> for FiberMode {
    fn from(fibers: FibersArg) -> Self {
        match fibers {
            FibersArg::Sampled => Self::Sampled,
            FibersArg::Exact => Self::Exact,
            FibersArg::None => Self::None,
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
