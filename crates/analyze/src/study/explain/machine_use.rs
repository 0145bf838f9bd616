//! What the machine's CPUs did beside the program. Which other program ran is seen only on a CPU behind which a thread of the program waited:
//! beside a neighbour that keeps one CPU, two threads share the other one, and seem to wait for each other.

use dwell_query::engine::fold::Fold;
use dwell_query::engine::sweep::ConcurrencyStats;
use dwell_query::question::windows::Windows;
use dwell_store::CpuUse;

/// CPU time of a part of the time, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineUse {
    /// Threads of the program were ready, and CPUs that it may use did not run them.
    pub denied_ns: u64,
    /// Other programs and the kernel ran.
    pub others_ns: u64,
    /// The part of that by programs that were not seen: no thread of the program waited on those CPUs.
    pub unseen_ns: u64,
    /// CPUs had nothing to run.
    pub idle_ns: u64,
    /// A hypervisor had CPUs.
    pub stolen_ns: u64,
}

/// What they did within `windows`, which are in those of the fold; none where the kernel did not say it, or some of the CPUs are not the program's.
/// The kernel's account is of the whole recording: of a part of the time each has its part.
pub fn machine_use(fold: &Fold<'_>, windows: &Windows) -> Option<MachineUse> {
    let CpuUse { all_ns, idle_ns, stolen_ns, collector_ns } =
        fold.trace.manifest.taken.machine.filter(|machine| machine.all_ns > 0)?;
    let cpus = fold.trace.manifest.cpus.online;
    // Fibers that are ready wait for a thread.
    if cpus == 0 || cpus != fold.trace.manifest.cpus.usable || fold.trace.fiber_threads > 0 {
        return None;
    }
    let capacity_ns = windows.length_ns() as f64 * f64::from(cpus);
    let of_machine = |ns: u64| (capacity_ns * (ns as f64 / all_ns as f64).min(1.0)) as u64;
    let part = windows.length_ns() as f64 / fold.sums.windows.length_ns().max(1) as f64;
    let ran_ns = ConcurrencyStats::average(&fold.sums.levels.histogram_cpu) * windows.length_ns() as f64;
    let (idle_ns, stolen_ns) = (of_machine(idle_ns), of_machine(stolen_ns));
    let of_recording = windows.length_ns() as f64 / fold.trace.elapsed_ns().max(1) as f64;
    // A quiet machine does not give back what recording takes.
    let other_use = [ran_ns as u64, idle_ns, stolen_ns, of_machine(collector_ns)];
    let others_ns = other_use.into_iter().fold(capacity_ns as u64, u64::saturating_sub);
    Some(MachineUse {
        denied_ns: (fold.sums.levels.denied_ns as f64 * part) as u64,
        others_ns,
        unseen_ns: others_ns.saturating_sub((fold.trace.manifest.taken.seen_ns() as f64 * of_recording) as u64),
        idle_ns,
        stolen_ns,
    })
}

#[cfg(test)]
mod tests {
    use dwell_query::question::query::Query;
    use dwell_store::{Rival, Trace};
    use dwell_trace_dsl::{CELL, trace};

    use super::*;

    #[test]
    fn what_the_program_did_not_run_and_was_not_idle_is_others() {
        let mut trace = trace("a: #-#-#-#-#-\nb: -#-#-#-#-#");
        let of = |trace: &Trace| machine_use(&Fold::new(trace, &Query::default()).unwrap(), &Windows::whole(trace));
        assert_eq!(of(&trace), None, "nobody said it");
        // Two CPUs for ten cells, by a clock that goes half as fast.
        trace.manifest.taken.machine =
            Some(CpuUse { all_ns: 10 * CELL, idle_ns: CELL, stolen_ns: CELL / 2, collector_ns: 0 });
        let expected = MachineUse {
            denied_ns: 10 * CELL,
            others_ns: 7 * CELL,
            unseen_ns: 7 * CELL,
            idle_ns: 2 * CELL,
            stolen_ns: CELL,
        };
        assert_eq!(of(&trace), Some(expected));
        trace.manifest.taken.rivals = vec![Rival { name: "neighbour".to_owned(), ns: 4 * CELL }];
        assert_eq!(of(&trace), Some(MachineUse { unseen_ns: 3 * CELL, ..expected }));
        trace.manifest.cpus.usable = 1;
        assert_eq!(of(&trace), None, "what others do on CPUs that are not the program's keeps nobody");
    }
}
