//! The walk over all of the time that is looked at: in parts of it, side by side. A wait that lies across the edge of two parts is
//! explained in both, each for its own time, so that the parts add up to the whole.

use dwell_query::question::windows::Windows;
use dwell_store::Trace;
use dwell_work::parallel;

use crate::study::explain::asked_spans::{AskedSpan, within};
use crate::study::explain::chains::{Chains, NodeId, PATH, WAITS};
use crate::study::explain::found::FoundCauses;
use crate::study::explain::wait_parts::{Wait, WaitPart};
use crate::study::explain::wait_sums::WaitSums;
use crate::study::explain::walk::{KnownFacts, WaitWalk};

/// Rows of a part, at least: to begin a walk costs something for each thread.
const PART_ROWS: usize = 20_000;
/// Parts at most, however many CPUs there are: what is found does not depend on them.
const PARTS: usize = 16;
/// Of so many parts one is walked before the others, to tell how many steps all of them take: where threads hand a lock on through a long queue, a wait
/// takes as many as it sees hand-overs.
const PROBED: usize = 8;

/// What was found in all parts.
pub struct WalkedParts {
    /// The chains of waits.
    pub chains: Chains,
    /// Their causes.
    pub found: FoundCauses,
    /// What waits add up to.
    pub sums: WaitSums,
    /// Waits on others: thread-nanoseconds.
    pub demand_ns: u64,
    /// Length of the program's path, ns.
    pub path_ns: u64,
    /// Steps that the walk over all parts takes, more or less.
    pub steps: u64,
    /// Whether most parts are left out, since these are more than were allowed.
    pub is_cut: bool,
}

/// What one worker adds up, and what each of its parts has found, by number.
struct WorkerSums {
    sums: WaitSums,
    demand_ns: u64,
    path_ns: u64,
    found: Vec<(usize, Chains, FoundCauses)>,
}

/// Into how many parts the walk over a trace is cut.
pub fn usual_parts(trace: &Trace) -> usize {
    (trace.events().off_cpu.end() / PART_ROWS).clamp(1, PARTS)
}

/// Walks over the windows, cut into about so many parts, if that takes so many steps at most: `asked` are spans of threads that are asked for,
/// `root_of` says where the chains of a wait begin, if it is to be explained.
pub fn walk_parts(
    known: &KnownFacts<'_, '_, '_>,
    (windows, count, most_steps): (&Windows, usize, u64),
    asked: &[AskedSpan],
    root_of: &(impl Fn(&Wait) -> Option<NodeId> + Sync),
) -> WalkedParts {
    let parts = parts(windows, count);
    let new = || WorkerSums { sums: WaitSums::new(known.trace()), demand_ns: 0, path_ns: 0, found: Vec::new() };
    let walk = |numbers: &[usize]| {
        let add = |worker: &mut WorkerSums, at: usize| {
            // The walk goes back in time.
            let part = parts[parts.len() - 1 - numbers[at]];
            let (chains, found) = worker.walk(known, part, asked, root_of);
            worker.found.push((numbers[at], chains, found));
        };
        parallel::fold(numbers.len(), new, add)
    };
    let (probes, others): (Vec<usize>, Vec<usize>) = (0..parts.len()).partition(|number| number % PROBED == PROBED / 2);
    let mut workers = walk(&probes);
    let of_probes: u64 = workers.iter().flat_map(|worker| &worker.found).map(|(.., found)| found.steps).sum();
    let steps = (of_probes as f64 * parts.len() as f64 / probes.len().max(1) as f64) as u64;
    let is_cut = steps > most_steps;
    if !is_cut {
        workers.extend(walk(&others));
    }
    let mut all = WalkedParts {
        chains: Chains::new(),
        found: FoundCauses::default(),
        sums: WaitSums::new(known.trace()),
        demand_ns: 0,
        path_ns: 0,
        steps,
        is_cut,
    };
    let mut found = Vec::new();
    for worker in workers {
        all.sums.add_all(&worker.sums);
        all.demand_ns = all.demand_ns.saturating_add(worker.demand_ns);
        all.path_ns = all.path_ns.saturating_add(worker.path_ns);
        found.extend(worker.found);
    }
    found.sort_unstable_by_key(|(number, ..)| *number);
    for (_, chains, of_part) in found {
        let here = all.chains.add(&chains);
        all.found.add(of_part, &here);
    }
    if !is_cut {
        all.steps = all.found.steps;
    }
    all
}

/// The windows, cut into about so many parts, in order.
fn parts(windows: &Windows, count: usize) -> Vec<(u64, u64)> {
    let length_ns = (windows.length_ns() / count.max(1) as u64).max(1);
    let cut = |(from, to): &(u64, u64)| {
        let (from, to) = (*from, *to);
        let pieces = ((to - from) / length_ns).max(1);
        let edge = move |piece: u64| if piece == pieces { to } else { from + (to - from) / pieces * piece };
        (0..pieces).map(move |piece| (edge(piece), edge(piece + 1)))
    };
    windows.parts().iter().flat_map(cut).collect()
}

impl WorkerSums {
    /// Walks over a part of the time.
    fn walk(
        &mut self,
        known: &KnownFacts<'_, '_, '_>,
        part: (u64, u64),
        asked: &[AskedSpan],
        root_of: &impl Fn(&Wait) -> Option<NodeId>,
    ) -> (Chains, FoundCauses) {
        let mut walk = WaitWalk::new(known);
        for (thread, (from, to), root) in within(asked, part) {
            self.path_ns += if root == PATH { to - from } else { 0 };
            walk.ask(thread, (from, to), root);
        }
        walk.walk(part, &mut |wait, parts| {
            let (from, to) = (wait.span.0.max(part.0), wait.span.1.min(part.1));
            let ns = self.sums.add(known.trace(), wait, to.saturating_sub(from));
            if let Some(root) = root_of(wait).filter(|_| ns > 0) {
                self.demand_ns = self.demand_ns.saturating_add(if root == WAITS { ns } else { 0 });
                parts.push(WaitPart { from, to, root });
            }
        });
        walk.found()
    }
}
