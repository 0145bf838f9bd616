//! What the machine's CPUs did while the program was recorded, all together, by the kernel's account in /proc/stat (proc_stat(5)). Other
//! programs are seen one by one only where a thread of the program waited behind them.

use std::fs;

use dwell_store::CpuUse;

use crate::clock::own_cpu_ns;
use crate::processor_times::{IDLE, IO_WAIT, STEAL, TIMES, processor_times};

/// What the account said when the collection began.
pub(super) struct CpuUseWatch {
    first: Option<CpuUse>,
}

impl CpuUseWatch {
    /// Begins now.
    pub(super) fn begin() -> Self {
        Self { first: cpu_use() }
    }

    /// What has passed since; none where the kernel does not say it.
    pub(super) fn finish(&self) -> Option<CpuUse> {
        let (first, last) = (self.first.as_ref()?, cpu_use()?);
        let since = |last: u64, first: u64| last.saturating_sub(first);
        Some(CpuUse {
            all_ns: since(last.all_ns, first.all_ns),
            idle_ns: since(last.idle_ns, first.idle_ns),
            stolen_ns: since(last.stolen_ns, first.stolen_ns),
            collector_ns: since(last.collector_ns, first.collector_ns),
        })
    }
}

fn cpu_use() -> Option<CpuUse> {
    let of_machine = of_machine(&fs::read_to_string("/proc/stat").ok()?)?;
    Some(CpuUse { collector_ns: own_cpu_ns(), ..of_machine })
}

/// The sums since the machine's start in the text of /proc/stat, without the collector's.
fn of_machine(stat: &str) -> Option<CpuUse> {
    let times: [u64; TIMES] = processor_times(stat)?.try_into().ok()?;
    Some(CpuUse {
        all_ns: times.into_iter().fold(0, u64::saturating_add),
        idle_ns: times[IDLE].saturating_add(times[IO_WAIT]),
        stolen_ns: times[STEAL],
        collector_ns: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ticks_per_second;

    #[test]
    fn the_account_is_of_all_cpus_and_guests_count_once() {
        let stat = "cpu  10 20 30 400 50 6 7 8 9 9\ncpu0 1 2 3 4 5 6 7 8 9 9\nintr 1\n";
        let tick_ns = 1_000_000_000 / ticks_per_second();
        let expected =
            CpuUse { all_ns: 531 * tick_ns, idle_ns: 450 * tick_ns, stolen_ns: 8 * tick_ns, collector_ns: 0 };
        assert_eq!(of_machine(stat), Some(expected));
        assert_eq!(of_machine("cpu  1 2 3\n"), None, "a kernel without the rest");
        assert_eq!(of_machine("cpu  1 2 x 4 5 6 7 8 9 9\n"), None);
    }

    #[test]
    fn what_passes_is_counted() {
        let watch = CpuUseWatch { first: Some(CpuUse { all_ns: 7, idle_ns: u64::MAX, ..CpuUse::default() }) };
        let passed = watch.finish().unwrap();
        assert!(passed.all_ns > 0 && passed.idle_ns == 0, "{passed:?}");
    }
}
