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
    of_cpu: Vec<Vec<Run>>,
    /// Of each run, how long all before it on its CPU were together, ns.
    before_ns: Vec<Vec<u64>>,
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
        // Merges the threads' runs, which are in order.
        of_cpu.iter_mut().for_each(|runs| runs.sort());
        let sums = |runs: &Vec<Run>| {
            let add = |sum: &mut u64, (begin, end, _): &Run| Some(std::mem::replace(sum, *sum + (end - begin)));
            runs.iter().scan(0, add).collect()
        };
        Self { before_ns: of_cpu.iter().map(sums).collect(), of_cpu }
    }

    /// Where to look first.
    pub fn last_looks(&self) -> LastLooks {
        vec![0; self.of_cpu.len()]
    }

    /// How long threads of the program ran on `cpu` between two instants.
    pub fn ran_ns(&self, cpu: u16, (from, to): (u64, u64), last: &mut LastLooks) -> u64 {
        let cpu = usize::from(cpu);
        let (Some(runs), Some(before_ns)) = (self.of_cpu.get(cpu), self.before_ns.get(cpu)) else { return 0 };
        let until = |time: u64, last: usize| {
            let near = near(0..runs.len(), last, |run| runs[run].0 < time);
            let behind = near.start + runs[near].partition_point(|(begin, ..)| *begin < time);
            let of_last = behind.checked_sub(1).map(|run| before_ns[run] + runs[run].1.min(time) - runs[run].0);
            (behind, of_last.unwrap_or(0))
        };
        let (first, before) = until(from, last.get(cpu).copied().unwrap_or(0));
        if let Some(last) = last.get_mut(cpu) {
            *last = first;
        }
        until(to, first).1.saturating_sub(before).min(to.saturating_sub(from))
    }

    /// The thread that ran there most, if that was half of the time.
    pub fn most(&self, cpu: u16, (from, to): (u64, u64), last: &mut LastLooks) -> Option<usize> {
        let mut of_thread: Vec<(u32, u64)> = Vec::new();
        for (begin, end, thread) in self.runs(cpu, (from, to), last) {
            if 2 * (end - begin) > to - from {
                return Some(thread as usize);
            }
            match of_thread.iter_mut().find(|(known, _)| *known == thread) {
                Some((_, sum)) => *sum += end - begin,
                None => of_thread.push((thread, end - begin)),
            }
        }
        let (thread, ns) = of_thread.into_iter().max_by_key(|(_, ns)| *ns)?;
        (2 * ns >= to - from).then_some(thread as usize)
    }

    /// The runs on `cpu` between two instants, cut there.
    fn runs(&self, cpu: u16, (from, to): (u64, u64), last: &mut LastLooks) -> impl Iterator<Item = Run> + '_ {
        let cpu = usize::from(cpu);
        let runs = self.of_cpu.get(cpu).map_or(&[][..], Vec::as_slice);
        let mut first = 0;
        if let Some(last) = last.get_mut(cpu) {
            let near = near(0..runs.len(), *last, |run| runs[run].0 < from);
            *last = near.start + runs[near].partition_point(|(begin, ..)| *begin < from);
            first = last.saturating_sub(1);
        }
        let within = runs[first..].iter().take(LOOKED_AT).take_while(move |(begin, ..)| *begin < to);
        within
            .map(move |(begin, end, thread)| ((*begin).max(from), (*end).min(to), *thread))
            .filter(|(begin, end, _)| begin < end)
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
