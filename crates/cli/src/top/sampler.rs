//! Takes snapshots at a pace that costs little, of the processes that were asked for.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use dwell_capture::{Snapshots, TaskSnapshot, pids_named};
use dwell_cgroups::Selection;
use dwell_live::{Activity, Interval};
use dwell_store::{ControlReply, ControlRequest};
use rustix::process::geteuid;
use rustix::time::{ClockId, clock_gettime};

use super::exact::ExactSums;
use crate::args::TopArgs;
use crate::belonging;
use crate::collect::explain;
use crate::control::ask;
use crate::error::{Hinted, Result};

/// The part of a CPU that snapshots may take.
pub const BUDGET: f64 = 0.005;
/// Time between snapshots, without --rate.
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(1);
/// How often the chosen processes are looked up.
const LOOK_UP: Duration = Duration::from_secs(1);

/// Which processes are looked at.
enum Chosen {
    All,
    Pids(Vec<u32>),
    Named(String),
    Belonging(Selection),
    /// Those that are recorded into this result now.
    Recorded(PathBuf),
}

/// Takes snapshots and adds them up.
pub struct Sampler {
    snapshots: Snapshots,
    activity: Activity,
    tasks: Vec<TaskSnapshot>,
    chosen: Chosen,
    /// Their processes, and when they were looked up.
    pids: Option<(Instant, HashSet<u32>)>,
    kernel_threads: bool,
    rate: Option<u32>,
    /// Sums of all waits, if they are wanted; snapshots then tell names, and what happens now.
    exact: Option<ExactSums>,
    /// The chosen processes of the interval, those that have ended, too.
    pids_of_interval: HashSet<u32>,
    /// What a snapshot costs, CPU time: the mean of the last ones.
    cost: Option<Duration>,
}

impl Sampler {
    /// Nothing is taken yet.
    pub fn open(args: &TopArgs) -> Result<Self> {
        let chosen = match (belonging::selection(&args.belonging)?, &args.target_process) {
            (Some(Selection::Machine), _) => Chosen::All,
            (Some(selection), _) => Chosen::Belonging(selection),
            (None, Some(name)) => Chosen::Named(name.clone()),
            (None, None) if args.target_pid.is_empty() => Chosen::All,
            (None, None) => Chosen::Pids(args.target_pid.clone()),
        };
        let mut sampler = Self { kernel_threads: args.kernel_threads, rate: args.rate, ..Self::of(chosen) };
        sampler.check()?;
        sampler.exact = args.exact.then(|| ExactSums::open(args.kernel_threads)).transpose()?;
        Ok(sampler)
    }

    /// Of the processes that the running collection of `result` records.
    pub fn of_collection(result: PathBuf) -> Self {
        Self::of(Chosen::Recorded(result))
    }

    fn of(chosen: Chosen) -> Self {
        Self {
            snapshots: Snapshots::open(),
            activity: Activity::default(),
            tasks: Vec::new(),
            chosen,
            pids: None,
            kernel_threads: false,
            rate: None,
            exact: None,
            pids_of_interval: HashSet::new(),
            cost: None,
        }
    }

    /// What was asked for is there.
    fn check(&self) -> Result<()> {
        let is_there = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).is_dir();
        match &self.chosen {
            Chosen::Pids(pids) => match pids.iter().find(|pid| !is_there(pid)) {
                Some(pid) => Err(Hinted::new(format!("no process {pid} runs")).hint("dwell top without it shows all")),
                None => Ok(()),
            },
            Chosen::Named(name) if pids_named(name, false).is_empty() => {
                Err(Hinted::new(format!("no process runs a program called {name}"))
                    .hint("pgrep -a . lists those that run"))
            }
            _ => Ok(()),
        }
    }

    /// What the reader should know of where the threads are seen; nothing where the kernel hands them all out at once.
    pub fn source_note(&self) -> Option<&'static str> {
        match (self.snapshots.are_complete(), geteuid().is_root()) {
            (true, _) => None,
            (false, true) => Some("from /proc, each thread at its own instant: dwell doctor says what BPF lacks here"),
            (false, false) => Some("only your own processes, from /proc: sudo shows all"),
        }
    }

    /// Takes a snapshot.
    pub fn sample(&mut self) -> Result<()> {
        let before = thread_time();
        let looked_up = self.pids.as_ref().map(|(since, _)| *since);
        self.snapshots.take(&mut self.tasks).map_err(|error| explain(error, None))?;
        if !matches!(self.chosen, Chosen::All) {
            self.look_up_chosen();
            let pids = self.pids.as_ref().map(|(_, pids)| pids);
            self.tasks.retain(|task| pids.is_some_and(|pids| pids.contains(&task.pid)));
        }
        if !self.kernel_threads {
            self.tasks.retain(|task| task.flags & dwell_capture::KERNEL_THREAD == 0);
        }
        self.activity.take(&self.tasks);
        if self.pids.as_ref().map(|(since, _)| *since) != looked_up {
            return Ok(()); // this one cost more than the others will
        }
        let cost = thread_time().saturating_sub(before);
        self.cost = Some(self.cost.map_or(cost, |mean| (mean * 7 + cost) / 8));
        Ok(())
    }

    /// Looking them up costs more than a snapshot: what joins is seen a moment later.
    fn look_up_chosen(&mut self) {
        if self.pids.as_ref().is_none_or(|(since, _)| since.elapsed() >= LOOK_UP) {
            self.pids = self.chosen_pids().map(|pids| (Instant::now(), pids));
            self.pids_of_interval.extend(self.pids.iter().flat_map(|(_, pids)| pids));
        }
    }

    fn chosen_pids(&self) -> Option<HashSet<u32>> {
        match &self.chosen {
            Chosen::All => None,
            Chosen::Pids(pids) => Some(pids.iter().copied().collect()),
            Chosen::Named(name) => Some(pids_named(name, false).into_iter().collect()),
            Chosen::Belonging(selection) => Some(selection.pids().into_iter().collect()),
            Chosen::Recorded(result) => match ask(result, &ControlRequest::Processes) {
                Ok(ControlReply::Processes(pids)) => Some(pids.into_iter().collect()),
                // It begins or ends just now.
                _ => Some(HashSet::new()),
            },
        }
    }

    /// Whether a snapshot was taken.
    pub fn has_begun(&self) -> bool {
        self.cost.is_some() || self.pids.is_some()
    }

    /// Time from one snapshot to the next.
    pub fn period(&self) -> Duration {
        match self.rate {
            _ if self.exact.is_some() => LONGEST,
            Some(rate) => Duration::from_secs(1) / rate,
            None => self.cost.unwrap_or_default().div_f64(BUDGET).clamp(SHORTEST, LONGEST),
        }
    }

    /// The part of a CPU that snapshots take.
    pub fn cost(&self) -> f64 {
        self.cost.unwrap_or_default().as_secs_f64() / self.period().as_secs_f64()
    }

    /// What happened since the last call.
    pub fn end_interval(&mut self) -> Result<Interval> {
        if self.exact.is_some() {
            self.sample()?; // how all stand as the sums end
        }
        let mut interval = self.activity.end_interval();
        if let Some(exact) = &mut self.exact {
            let is_limited = !matches!(self.chosen, Chosen::All);
            exact.end_interval(&mut interval, is_limited.then_some(&self.pids_of_interval))?;
            self.pids_of_interval = self.pids.iter().flat_map(|(_, pids)| pids).copied().collect();
        }
        Ok(interval)
    }
}

/// CPU time of this thread.
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}
