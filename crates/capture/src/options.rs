//! What to record and how.

use std::ffi::OsString;
use std::path::PathBuf;

use dwell_cgroups::Selection;
use dwell_model::Topic;
use dwell_probes::{TaskProbe, ValueProbe};

use crate::event_name::CountedEvent;

/// What is profiled.
#[derive(Clone, Debug)]
pub enum Target {
    /// A program to be launched.
    Launch(Launch),
    /// Processes that run already.
    Attach(Vec<u32>),
}

/// How to launch a program.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Working directory, Dwell's own when not given.
    pub working_dir: Option<PathBuf>,
    /// User to run it as, Dwell's own when not given.
    pub user: Option<String>,
}

/// What to do with processes that run a program of this name (VTune's `-strategy`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Base name of the program; the kernel keeps 15 bytes of it, and so does the comparison.
    pub name: String,
    /// Whether to record the process.
    pub process: bool,
    /// Whether to record the processes that it forks.
    pub children: bool,
}

/// Where records come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventSource {
    /// BPF programs where they can be loaded, else perf events.
    #[default]
    Auto,
    /// BPF programs; without the right to load them there is no collection.
    Bpf,
    /// perf events, which need no rights.
    Perf,
}

/// Which intervals a trigger is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// ITT tasks, regions and frames, what task probes and `--interval` make, and requests.
    Intervals,
    /// From where a thread is woken to where it runs.
    WakeUps,
    /// Waits, until the wake-up.
    Waits,
    /// ITT tasks and what probes make, of this name.
    Named(String),
}

/// A user of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Login name, by which the groups are found.
    pub name: String,
    /// User id.
    pub uid: u32,
    /// Id of the main group.
    pub gid: u32,
}

/// When what was recorded lately is kept: `interval>50us`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Which intervals.
    pub subject: Subject,
    /// Those that are longer, ns.
    pub longer_than_ns: u64,
}

/// How goroutines are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FiberMode {
    /// Not at all.
    None,
    /// Now and then, from outside.
    Sampled,
    /// At each change of state, by probes in the program; now and then where these cannot be set.
    Exact,
}

/// Options of a collection.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is profiled.
    pub target: Target,
    /// Whatever joins these while the collection goes on is profiled, too.
    pub joining: Option<Selection>,
    /// What is recorded; threading always is.
    pub topics: Vec<Topic>,
    /// Where records come from.
    pub source: EventSource,
    /// Interval between readings of the machine's counters, ns; for [`Topic::System`].
    pub system_interval_ns: u64,
    /// Running time of a thread between its samples, ns.
    pub sampling_interval_ns: u64,
    /// Whether processes forked by the target are recorded.
    pub follow_children: bool,
    /// Exceptions from that, by program name.
    pub strategy: Vec<Rule>,
    /// Begin paused.
    pub start_paused: bool,
    /// Resume after this time, ns.
    pub resume_after_ns: Option<u64>,
    /// Resume then, CLOCK_MONOTONIC, ns.
    pub resume_at_ns: Option<u64>,
    /// End after this time, ns.
    pub duration_ns: Option<u64>,
    /// Stop recording when the spool has this many bytes; 0 = no limit.
    pub data_limit_bytes: u64,
    /// Keep only the last so many ns.
    pub ring_buffer_ns: Option<u64>,
    /// Keep what was recorded lately as a result of its own when an interval is longer than this.
    pub trigger: Option<Trigger>,
    /// Such results at most in a minute.
    pub outliers_per_minute: u32,
    /// Bytes of raw data in all such results, at which no more are kept; 0 = no limit.
    pub outliers_bytes: u64,
    /// Take kernel stacks of every wait, not only of those that the system call does not explain.
    pub kernel_stacks_for_all: bool,
    /// Whether to record what programs announce through ITT.
    pub itt: bool,
    /// How to look at goroutines.
    pub fibers: FiberMode,
    /// Tasks by their probes; the trace knows them by their number here.
    pub task_probes: Vec<TaskProbe>,
    /// Probes with values; the trace knows them by their number here.
    pub probes: Vec<ValueProbe>,
    /// Whether to record what threads do from receiving on a socket to sending on it.
    pub requests: bool,
    /// Events that are counted for each thread, at most [`dwell_wire::MOST_EVENTS`].
    pub events: Vec<CountedEvent>,
    /// Whose the result will be; none: who this process runs as. Files that this user may not read are not copied into it.
    pub result_owner: Option<User>,
    /// Whether only programs are recorded that this user might trace without capabilities.
    pub own_only: bool,
    /// T of the metrics, when not what the machine allows.
    pub target_concurrency: Option<u32>,
    /// The command line, for the manifest.
    pub command_line: Vec<String>,
}

impl Options {
    /// The defaults for `target`.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            joining: None,
            topics: vec![Topic::Threading],
            source: EventSource::Auto,
            system_interval_ns: 100_000_000,
            sampling_interval_ns: 1_000_000,
            follow_children: true,
            strategy: Vec::new(),
            start_paused: false,
            resume_after_ns: None,
            resume_at_ns: None,
            duration_ns: None,
            data_limit_bytes: 0,
            ring_buffer_ns: None,
            trigger: None,
            outliers_per_minute: 6,
            outliers_bytes: 0,
            kernel_stacks_for_all: false,
            itt: true,
            fibers: FiberMode::Sampled,
            task_probes: Vec::new(),
            probes: Vec::new(),
            requests: false,
            events: Vec::new(),
            result_owner: None,
            own_only: false,
            target_concurrency: None,
            command_line: Vec::new(),
        }
    }
}
