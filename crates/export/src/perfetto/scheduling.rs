//! Who ran on which CPU, and who woke whom: the events of `sched_switch`, `sched_waking` and `sched_blocked_reason`, CPU by CPU.
//!
//! Dwell knows the intervals of each thread. They are put in order by CPU; where nothing that was recorded runs, the idle task does.

use std::ops::Range;

use dwell_analyze::Fold;
use dwell_analyze::selected::{ThreadActivity, WaitDetails, for_each_piece};
use dwell_model::{Outcome, Reason, WakerKind};

use super::clock::clock_ns;
use super::message::{FtraceEvent, SchedBlockedReason, SchedSwitch, SchedWaking};

/// State of a thread that waits, of one that could run, and of one that ended, as `sched_switch` has them.
const WAITS: i64 = 1;
const RUNNABLE: i64 = 0;
const DEAD: i64 = 16;
/// The priority of an ordinary thread: Dwell does not record them.
const PRIORITY: i32 = 120;
/// The idle task.
const IDLE: u32 = u32::MAX;

/// A thread ran on a CPU, ns since the start.
#[derive(Clone, Copy, Debug)]
struct Run {
    from_ns: u64,
    to_ns: u64,
    thread: u32,
    cpu: u16,
    /// What it did then.
    state: u8,
}

/// A thread was woken.
#[derive(Clone, Copy, Debug)]
struct Waking {
    time_ns: u64,
    thread: u32,
    waker: u32,
    object: u32,
    /// Where it then ran.
    target: u16,
    /// Where the waker ran.
    cpu: u16,
}

/// Runs and wakings, in order of CPU and time.
#[derive(Debug, Default)]
pub struct Scheduling {
    runs: Vec<Run>,
    wakings: Vec<Waking>,
    /// Running time on a CPU that is not known, ns.
    pub unplaced_ns: u64,
}

impl Scheduling {
    /// Of all threads in the query's windows, whatever its filters are: a CPU on which some do not run would be wrong.
    pub fn new(fold: &Fold<'_>) -> Self {
        let mut made = Self::default();
        let mut of_thread: Vec<Range<usize>> = Vec::new();
        for thread in 0..fold.trace.threads.tid.len() {
            let first = made.runs.len();
            made.thread(fold, thread);
            of_thread.push(first..made.runs.len());
        }
        for waking in &mut made.wakings {
            let runs = of_thread.get(waking.waker as usize).map_or(&[][..], |range| &made.runs[range.clone()]);
            let before = runs.partition_point(|run| run.from_ns <= waking.time_ns);
            let ran = before.checked_sub(1).map(|at| runs[at]).filter(|run| waking.time_ns <= run.to_ns);
            match ran {
                Some(run) => waking.cpu = run.cpu,
                None => waking.waker = IDLE,
            }
        }
        made.runs.sort_unstable_by_key(|run| (run.cpu, run.from_ns));
        made.wakings.sort_unstable_by_key(|waking| (waking.cpu, waking.time_ns));
        made
    }

    fn thread(&mut self, fold: &Fold<'_>, thread: usize) {
        let number = thread as u32;
        let first = self.runs.len();
        for_each_piece(fold, thread, |piece| {
            let last = self.runs[first..].last_mut().filter(|run| run.to_ns == piece.from_ns);
            match (&piece.did, last) {
                (ThreadActivity::Ran, Some(run)) if piece.cpu == Some(run.cpu) && run.state == DEAD as u8 => {
                    run.to_ns = piece.to_ns;
                }
                (ThreadActivity::Ran, _) => match piece.cpu {
                    None => self.unplaced_ns += piece.to_ns - piece.from_ns,
                    Some(cpu) => {
                        let (from_ns, to_ns) = (piece.from_ns, piece.to_ns);
                        self.runs.push(Run { from_ns, to_ns, thread: number, cpu, state: DEAD as u8 });
                    }
                },
                (ThreadActivity::Waited(_), Some(run)) => run.state = WAITS as u8,
                (ThreadActivity::Queued, Some(run)) => run.state = RUNNABLE as u8,
                _ => {}
            }
            if let (ThreadActivity::Waited(wait), Some(cpu)) = (&piece.did, piece.cpu) {
                self.wakings.extend(waking(number, piece.to_ns, cpu, wait));
            }
        });
    }

    /// The CPUs, each once.
    pub fn cpus(&self) -> Vec<u16> {
        let mut cpus: Vec<u16> =
            self.runs.iter().map(|run| run.cpu).chain(self.wakings.iter().map(|it| it.cpu)).collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }

    /// Tells the events of a CPU in order of time. `symbol` has the number of an object's name among the kernel symbols. The reader
    /// drops the first switch of each CPU: one from the idle task to itself comes before.
    pub fn events(
        &self,
        fold: &Fold<'_>,
        cpu: u16,
        mut symbol: impl FnMut(u32) -> u64,
        mut tell: impl FnMut(FtraceEvent),
    ) {
        let names = Names { fold };
        let runs = &self.runs[self.runs.partition_point(|run| run.cpu < cpu)..];
        let wakings = &self.wakings[self.wakings.partition_point(|it| it.cpu < cpu)..];
        let mut wakings = wakings.iter().take_while(|it| it.cpu == cpu).peekable();
        tell(names.switch(0, (IDLE, RUNNABLE), IDLE));
        let mut last: Option<Run> = None;
        let mut wake_until = |until: u64, tell: &mut dyn FnMut(FtraceEvent)| {
            while let Some(it) = wakings.next_if(|it| it.time_ns < until) {
                tell(names.blocked_reason(it, symbol(it.object)));
                tell(names.waking(it));
            }
        };
        for run in runs.iter().take_while(|run| run.cpu == cpu) {
            // Two threads cannot run at once: clocks of records may differ by nanoseconds.
            let from = run.from_ns.max(last.map_or(0, |last| last.to_ns));
            if from >= run.to_ns {
                continue;
            }
            if let Some(last) = last.filter(|last| last.to_ns < from) {
                wake_until(last.to_ns, &mut tell);
                tell(names.switch(last.to_ns, (last.thread, last.state.into()), IDLE));
                wake_until(from, &mut tell);
                tell(names.switch(from, (IDLE, RUNNABLE), run.thread));
            } else {
                wake_until(from, &mut tell);
                let (thread, state) = last.map_or((IDLE, RUNNABLE), |last| (last.thread, last.state.into()));
                tell(names.switch(from, (thread, state), run.thread));
            }
            last = Some(*run);
        }
        if let Some(last) = last {
            wake_until(last.to_ns, &mut tell);
            tell(names.switch(last.to_ns, (last.thread, last.state.into()), IDLE));
        }
        wake_until(u64::MAX, &mut tell);
    }
}

fn waking(thread: u32, time_ns: u64, cpu: u16, wait: &WaitDetails) -> Option<Waking> {
    let ended = wait.has_end && wait.outcome != Outcome::Unfinished && wait.reason == Reason::Waiting;
    let waker = if wait.waker_kind == WakerKind::Thread { wait.waker.raw() } else { IDLE };
    ended.then_some(Waking { time_ns, thread, waker, object: wait.object.raw(), target: cpu, cpu })
}

/// Ids and names of threads in events.
struct Names<'f, 't> {
    fold: &'f Fold<'t>,
}

impl Names<'_, '_> {
    fn tid(&self, thread: u32) -> i32 {
        self.fold.trace.threads.tid.get(thread as usize).map_or(0, |tid| tid.cast_signed())
    }

    fn name(&self, thread: u32) -> String {
        self.fold.trace.threads.name.get(thread as usize).map_or_else(|| "swapper".to_owned(), Clone::clone)
    }

    fn event(&self, time_ns: u64, pid: u32) -> FtraceEvent {
        let timestamp = Some(clock_ns(self.fold, time_ns));
        FtraceEvent { timestamp, pid: Some(self.tid(pid).cast_unsigned()), ..FtraceEvent::default() }
    }

    fn switch(&self, time_ns: u64, (thread, state): (u32, i64), next: u32) -> FtraceEvent {
        let sched_switch = SchedSwitch {
            prev_comm: self.name(thread),
            prev_pid: Some(self.tid(thread)),
            prev_prio: Some(PRIORITY),
            prev_state: Some(state),
            next_comm: self.name(next),
            next_pid: Some(self.tid(next)),
            next_prio: Some(PRIORITY),
        };
        FtraceEvent { sched_switch: Some(sched_switch), ..self.event(time_ns, thread) }
    }

    fn waking(&self, it: &Waking) -> FtraceEvent {
        let sched_waking = SchedWaking {
            comm: self.name(it.thread),
            pid: Some(self.tid(it.thread)),
            prio: Some(PRIORITY),
            success: 1,
            target_cpu: it.target.into(),
        };
        FtraceEvent { sched_waking: Some(sched_waking), ..self.event(it.time_ns, it.waker) }
    }

    fn blocked_reason(&self, it: &Waking, caller: u64) -> FtraceEvent {
        let reason = SchedBlockedReason { pid: Some(self.tid(it.thread)), caller, io_wait: 0 };
        FtraceEvent { sched_blocked_reason: Some(reason), ..self.event(it.time_ns, it.waker) }
    }
}
