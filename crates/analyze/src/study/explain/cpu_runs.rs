//! Who ran on each CPU: what a thread in the run queue is behind of.

use std::ops::Range;

use dwell_query::question::windows::Windows;
use dwell_store::Trace;
use dwell_work::parallel;

use crate::study::thread_index::{ThreadIndex, near};

/// CPU of a row that did not run again.
pub const NO_CPU: u16 = u16::MAX;
/// Runs looked at for one stay in the run queue, at most.
const LOOKED_AT: usize = 64;

/// A run: begin, end, thread.
type Run = (u64, u64, u32);

/// The runs of the program's threads on each CPU, in order of time.
#[derive(Default)]
pub struct CpuRuns {
    of_cpu: Vec<RunsOfCpu>,
    /// The windows that they are of.
    windows: Vec<(u64, u64)>,
}

/// The runs on one CPU in order of time, each column apart: searches read the begins only.
#[derive(Default)]
struct RunsOfCpu {
    begins: Vec<u64>,
    ends: Vec<u64>,
    threads: Vec<u32>,
    /// Of each run, how long all before it were together, ns.
    before_ns: Vec<u64>,
}

impl RunsOfCpu {
    fn new(runs: &[Run]) -> Self {
        let add = |sum: &mut u64, (begin, end, _): &Run| Some(std::mem::replace(sum, *sum + (end - begin)));
        Self {
            begins: runs.iter().map(|(begin, ..)| *begin).collect(),
            ends: runs.iter().map(|(_, end, _)| *end).collect(),
            threads: runs.iter().map(|(.., thread)| *thread).collect(),
            before_ns: runs.iter().scan(0, add).collect(),
        }
    }

    /// The first run that does not begin before `time`, which is not far from `last`.
    fn behind(&self, time: u64, last: usize) -> usize {
        let near = near(0..self.begins.len(), last, |run| self.begins[run] < time);
        near.start + self.begins[near].partition_point(|begin| *begin < time)
    }

    /// How long they ran until `time`, ns, of which `behind` is [`Self::behind`].
    fn ran_until(&self, time: u64, behind: usize) -> u64 {
        let of_last = |run: usize| self.before_ns[run] + self.ends[run].min(time) - self.begins[run];
        behind.checked_sub(1).map_or(0, of_last)
    }
}

/// Where one looked last, on each CPU: the next search is not far from there.
pub type LastLooks = Vec<usize>;

impl CpuRuns {
    /// Those of a trace within windows.
    pub fn new(trace: &Trace, windows: &Windows) -> Self {
        let add = |of_cpu: &mut Vec<Vec<Run>>, thread: usize| runs_of((trace, windows), thread, of_cpu);
        let parts = parallel::fold(trace.threads.tid.len(), Vec::new, add);
        let mut of_cpu: Vec<Vec<Run>> = Vec::new();
        for (cpu, runs) in parts.into_iter().flat_map(|part| part.into_iter().enumerate()) {
            at(&mut of_cpu, cpu).extend(runs);
        }
        let in_order = |mut runs: Vec<Run>| {
            runs.sort(); // merges the threads' runs, which are in order
            RunsOfCpu::new(&runs)
        };
        Self { of_cpu: of_cpu.into_iter().map(in_order).collect(), windows: windows.parts().to_vec() }
    }

    /// Where to look first.
    pub fn last_looks(&self) -> LastLooks {
        vec![0; self.of_cpu.len()]
    }

    /// How long threads of the program ran on `cpu` between two instants.
    pub fn ran_ns(&self, cpu: u16, (from, to): (u64, u64), last: &mut LastLooks) -> u64 {
        let Some((runs, last)) = self.of_cpu.get(usize::from(cpu)).zip(last.get_mut(usize::from(cpu))) else {
            return 0;
        };
        *last = runs.behind(from, *last);
        let ran_ns = runs.ran_until(to, runs.behind(to, *last)).saturating_sub(runs.ran_until(from, *last));
        ran_ns.min(to.saturating_sub(from))
    }

    /// The thread that ran there most between two instants, if that was half of the time; of this the window at `time`.
    pub fn most(&self, cpu: u16, (from, to): (u64, u64), time: u64, last: &mut LastLooks) -> Option<usize> {
        let behind = self.windows.partition_point(|(begin, _)| *begin <= time);
        let window = behind.checked_sub(1).and_then(|row| self.windows.get(row));
        let span = window.map_or((from, to), |window| (from.max(window.0), to.min(window.1)));
        let runs = self.runs(cpu, span, last);
        // Who has half has no less than all others together, so that these do not outweigh it, in any order.
        let outweighs = |(most, by): (u32, u64), (begin, end, thread): Run| match end - begin {
            ns if thread == most => (most, by + ns),
            ns if ns <= by => (most, by - ns),
            ns => (thread, ns - by),
        };
        let (most, _) = runs.clone().fold((u32::MAX, 0), outweighs);
        let ran_ns: u64 = runs.filter(|(.., thread)| *thread == most).map(|(begin, end, _)| end - begin).sum();
        (ran_ns > 0 && 2 * ran_ns >= span.1.saturating_sub(span.0)).then_some(most as usize)
    }

    /// The runs on `cpu` between two instants, cut there.
    fn runs(&self, cpu: u16, (from, to): (u64, u64), last: &mut LastLooks) -> impl Iterator<Item = Run> + Clone + '_ {
        let found = self.of_cpu.get(usize::from(cpu)).zip(last.get_mut(usize::from(cpu)));
        let found = found.map(|(runs, last)| {
            *last = runs.behind(from, *last);
            (runs, last.saturating_sub(1)..runs.begins.len())
        });
        let within = found.into_iter().flat_map(move |(runs, all)| {
            let within = all.take(LOOKED_AT).take_while(move |run| runs.begins[*run] < to);
            within.map(move |run| (runs.begins[run].max(from), runs.ends[run].min(to), runs.threads[run]))
        });
        within.filter(|(begin, end, _)| begin < end)
    }
}

/// Adds the runs of a thread.
fn runs_of((trace, windows): (&Trace, &Windows), thread: usize, of_cpu: &mut Vec<Vec<Run>>) {
    let mut add = |before: Option<(u16, u64)>, until: u64| {
        if let Some((cpu, ran)) = before.filter(|(cpu, ran)| *cpu != NO_CPU && until > *ran) {
            at(of_cpu, usize::from(cpu)).push((ran, until, thread as u32));
        }
    };
    let off_cpu = &trace.events().off_cpu;
    for rows in rows_within(trace, windows, thread) {
        let mut before: Option<(u16, u64)> = None;
        let behind = rows.end;
        ThreadIndex::new(trace).for_each(thread, rows, |bounds, _, cpu| {
            add(before.replace((cpu, bounds.ran)), bounds.start);
        });
        let is_last = behind >= off_cpu.of(thread).end;
        add(before, if is_last { trace.threads.end_ns[thread] } else { off_cpu.start_ns(behind) });
    }
}

/// The off-CPU rows of a thread that overlap windows: those that begin there, and the one before.
pub fn rows_within(trace: &Trace, windows: &Windows, thread: usize) -> Vec<Range<usize>> {
    let off_cpu = &trace.events().off_cpu;
    let mut next = off_cpu.of(thread).start;
    let of_part = |(from, to): &(u64, u64)| {
        let begun = off_cpu.begun(thread, *from, to.saturating_add(1));
        let rows = begun.start.saturating_sub(1).max(next)..begun.end;
        next = next.max(begun.end);
        (!rows.is_empty()).then_some(rows)
    };
    windows.parts().iter().filter_map(of_part).collect()
}

fn at(of_cpu: &mut Vec<Vec<Run>>, cpu: usize) -> &mut Vec<Run> {
    if of_cpu.len() <= cpu {
        of_cpu.resize_with(cpu + 1, Vec::new);
    }
    &mut of_cpu[cpu]
}
