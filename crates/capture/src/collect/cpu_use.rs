//! What the machine's CPUs did while the program was recorded, all together, by the kernel's account in /proc/stat (proc_stat(5)). Other
//! programs are seen one by one only where a thread of the program waited behind them.

use std::fs;

use dwell_store::CpuUse;

use crate::clock::own_cpu_ns;

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
    let of_machine = parse(&fs::read_to_string("/proc/stat").ok()?, rustix::param::clock_ticks_per_second())?;
    Some(CpuUse { collector_ns: own_cpu_ns(), ..of_machine })
}

/// The sums since the machine's start, without the collector's.
fn parse(stat: &str, ticks_per_second: u64) -> Option<CpuUse> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times: Vec<u64> = line.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice.
    let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = times[..] else { return None };
    let ns = |ticks: u64| ticks.saturating_mul(1_000_000_000 / ticks_per_second.max(1));
    let all = [user, nice, system, idle, iowait, irq, softirq, steal].into_iter().fold(0, u64::saturating_add);
    Some(CpuUse { all_ns: ns(all), idle_ns: ns(idle.saturating_add(iowait)), stolen_ns: ns(steal), collector_ns: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_of_all_cpus_and_guests_count_once() {
        let stat = "cpu  10 20 30 400 50 6 7 8 9 9\ncpu0 1 2 3 4 5 6 7 8 9 9\nintr 1\n";
        let expected = CpuUse { all_ns: 5_310_000_000, idle_ns: 4_500_000_000, stolen_ns: 80_000_000, collector_ns: 0 };
        assert_eq!(parse(stat, 100), Some(expected));
        assert_eq!(parse("cpu  1 2 3\n", 100), None, "a kernel without the rest");
        assert_eq!(parse("cpu  1 2 x 4 5 6 7 8\n", 100), None);
    }

    #[test]
    fn what_passes_is_counted() {
        let watch = CpuUseWatch { first: Some(CpuUse { all_ns: 7, idle_ns: u64::MAX, ..CpuUse::default() }) };
        let passed = watch.finish().unwrap();
        assert!(passed.all_ns > 0 && passed.idle_ns == 0, "{passed:?}");
    }
}
