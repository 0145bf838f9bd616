//! Who ran on each CPU: what a thread in the run queue is behind of.

use std::collections::HashMap;

use dwell_store::Trace;

/// CPU of a row that did not run again.
const NO_CPU: u16 = u16::MAX;
/// Runs looked at for one stay in the run queue, at most.
const LOOKED_AT: usize = 64;

/// The runs of the program's threads on each CPU, in order of time.
#[derive(Default)]
pub struct CpuRuns {
    of_cpu: HashMap<u16, Vec<(u64, u64, u32)>>,
}

impl CpuRuns {
    /// Those of a trace.
    pub fn new(trace: &Trace) -> Self {
        let rows = &trace.events().off_cpu;
        let mut of_cpu: HashMap<u16, Vec<(u64, u64, u32)>> = HashMap::new();
        for thread in 0..trace.threads.tid.len() {
            let all = rows.of(thread);
            for row in all.clone() {
                let until = if row + 1 < all.end { rows.start_ns(row + 1) } else { trace.threads.end_ns[thread] };
                let (cpu, ran) = (rows.cpu(row), rows.end_ns(row));
                if cpu != NO_CPU && until > ran {
                    of_cpu.entry(cpu).or_default().push((ran, until, thread as u32));
                }
            }
        }
        of_cpu.values_mut().for_each(|runs| runs.sort_unstable());
        Self { of_cpu }
    }

    /// How long threads of the program ran on `cpu` between two instants.
    pub fn ran_ns(&self, cpu: u16, (from, to): (u64, u64)) -> u64 {
        self.runs(cpu, (from, to)).map(|(begin, end, _)| end - begin).sum::<u64>().min(to.saturating_sub(from))
    }

    /// The thread that ran there most, if that was half of the time.
    pub fn most(&self, cpu: u16, (from, to): (u64, u64)) -> Option<usize> {
        let mut of_thread: Vec<(u32, u64)> = Vec::new();
        for (begin, end, thread) in self.runs(cpu, (from, to)) {
            match of_thread.iter_mut().find(|(known, _)| *known == thread) {
                Some((_, sum)) => *sum += end - begin,
                None => of_thread.push((thread, end - begin)),
            }
        }
        let (thread, ns) = of_thread.into_iter().max_by_key(|(_, ns)| *ns)?;
        (2 * ns >= to - from).then_some(thread as usize)
    }

    /// The runs on `cpu` between two instants, cut there.
    fn runs(&self, cpu: u16, (from, to): (u64, u64)) -> impl Iterator<Item = (u64, u64, u32)> + '_ {
        let runs = self.of_cpu.get(&cpu).map_or(&[][..], Vec::as_slice);
        let first = runs.partition_point(|(begin, ..)| *begin < from).saturating_sub(1);
        let within = runs[first..].iter().take(LOOKED_AT).take_while(move |(begin, ..)| *begin < to);
        within
            .map(move |(begin, end, thread)| ((*begin).max(from), (*end).min(to), *thread))
            .filter(|(begin, end, _)| begin < end)
    }
}
