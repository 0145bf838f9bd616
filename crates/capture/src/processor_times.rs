//! What all CPUs of the machine did since it started, by /proc/stat (proc_stat(5)).

use crate::clock::ticks_per_second;

/// The fields of the line `cpu` that are times, guests left out: they are in user and nice.
pub const TIMES: usize = 8;
/// Nothing to run.
pub const IDLE: usize = 3;
/// Nothing to run, and a thread waits for a device.
pub const IO_WAIT: usize = 4;
/// A hypervisor had the CPU.
pub const STEAL: usize = 7;

/// The times in the text of /proc/stat, ns: at most [`TIMES`].
pub fn processor_times(stat: &str) -> Option<Vec<u64>> {
    let tick_ns = 1_000_000_000 / ticks_per_second();
    Some(numbers(stat, "cpu")?.iter().take(TIMES).map(|ticks| ticks.saturating_mul(tick_ns)).collect())
}

/// The first numbers of a line of /proc/stat: of the line `intr`, which is long, only the total matters. None of a line with anything else.
pub fn numbers(stat: &str, name: &str) -> Option<Vec<u64>> {
    let line = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.split_ascii_whitespace().take(16).map(|word| word.parse().ok()).collect()
}
