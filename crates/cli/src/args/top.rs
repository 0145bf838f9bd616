//! Options of `dwell top`.

use clap::{Args, ValueEnum};
use dwell_live::{GroupBy, SortBy};

use super::{BelongingArgs, Format, parse};

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  sudo dwell top                the whole machine: who runs, who waits, for what, because of whom
  sudo dwell top --container web --sort blocked
                                one container, what is held up first
  sudo dwell top --keep 30s     w writes the last 30 s as a result, with every wait and stack
  sudo dwell top --once --format json
                                two seconds of it for a script
  sudo dwell top --exact        every wait summed in the kernel: nothing is estimated
  dwell top                     your own processes, without root

Running, runnable and waiting time are the kernel's own accounts, and exact. What a wait was for is
looked at some times a second, as often as costs 0.5 % of a CPU; --exact and `dwell collect` see every one.";

/// Options of `dwell top`.
#[derive(Args, Debug)]
pub struct TopArgs {
    /// Only these processes; can be given several times.
    #[arg(
        short = 'p',
        long,
        value_name = "PID",
        value_delimiter = ',',
        help_heading = "What to show",
        conflicts_with = "belonging"
    )]
    pub target_pid: Vec<u32>,
    /// Only processes that run a program of this name.
    #[arg(long, value_name = "NAME", help_heading = "What to show", conflicts_with_all = ["target_pid", "belonging"])]
    pub target_process: Option<String>,
    /// Processes by what they belong to.
    #[command(flatten)]
    pub belonging: BelongingArgs,
    /// The kernel's own threads, too.
    #[arg(long, help_heading = "What to show")]
    pub kernel_threads: bool,
    /// What a row is.
    #[arg(short, long, value_enum, default_value_t, help_heading = "What to show")]
    pub group_by: GroupByArg,
    /// What comes first.
    #[arg(short, long, value_enum, default_value_t, help_heading = "What to show")]
    pub sort: SortByArg,
    /// Rows at most with --once; 0 = all.
    #[arg(long, value_name = "N", default_value = "20", help_heading = "What to show")]
    pub limit: usize,

    /// How long an interval is, such as 1s; with --once 2s.
    #[arg(short, long, value_name = "TIME", value_parser = parse::positive_seconds, help_heading = "How")]
    pub interval: Option<u64>,
    /// Look so often a second [default: 1 to 20 times, as often as costs 0.5 % of a CPU].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "How")]
    pub rate: Option<u32>,
    /// Sum every wait in the kernel, by hooks in the scheduler: nothing is estimated, and short-lived threads are in it.
    #[arg(long, conflicts_with = "rate", help_heading = "How")]
    pub exact: bool,
    /// Record what is shown from the start, and keep what this time at the end recorded, such as 30s: w writes it as a result.
    #[arg(long, value_name = "TIME", value_parser = parse::positive_seconds, conflicts_with = "once", help_heading = "How")]
    pub keep: Option<u64>,
    /// Print one interval and end.
    #[arg(long, help_heading = "How")]
    pub once: bool,
    /// Form of what --once prints.
    #[arg(long, value_enum, default_value_t, requires = "once", help_heading = "How")]
    pub format: Format,
}

/// What a row is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GroupByArg {
    /// A process.
    #[default]
    Process,
    /// A thread.
    Thread,
    /// A control group.
    Cgroup,
}

impl From<GroupByArg> for GroupBy {
    fn from(by: GroupByArg) -> Self {
        match by {
            GroupByArg::Process => Self::Process,
            GroupByArg::Thread => Self::Thread,
            GroupByArg::Cgroup => Self::Cgroup,
        }
    }
}

/// What rows are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SortByArg {
    /// Time on a CPU and in the run queue.
    #[default]
    Cpu,
    /// Time in the run queue.
    Queue,
    /// Waits for locks, sockets, pipes, disks and pages.
    Blocked,
    /// All waits.
    Waiting,
    /// Switches.
    Switches,
    /// Process id.
    Pid,
}

impl From<SortByArg> for SortBy {
    fn from(by: SortByArg) -> Self {
        match by {
            SortByArg::Cpu => Self::Cpu,
            SortByArg::Queue => Self::Queue,
            SortByArg::Blocked => Self::Blocked,
            SortByArg::Waiting => Self::Waiting,
            SortByArg::Switches => Self::Switches,
            SortByArg::Pid => Self::Pid,
        }
    }
}
