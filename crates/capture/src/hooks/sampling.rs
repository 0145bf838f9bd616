//! The clocks that sample running code: one of each CPU, whose program looks at profiled threads alone.
//!
//! A clock of each thread would stand still while the thread does not run, and for that the kernel would set a timer at
//! each switch: several times what all of Dwell's hooks cost there. Here clocks stand still on CPUs where no profiled thread has run
//! for a second.

use std::cell::Cell;
use std::os::fd::{IntoRawFd as _, OwnedFd};

use libbpf_rs::{Link, Object};

use dwell_model::{Notice, notice};

use crate::kernel::perf;
use crate::machine;

/// A CPU that has written nothing for so long, and for so many intervals of its clock, has none until it writes something: it runs no
/// profiled thread, for a sample of one would have been written.
const QUIET_NS: u64 = 1_000_000_000;
const QUIET_INTERVALS: u64 = 4;

/// The sampling program and its clocks. Dropping it ends them all.
pub struct Sampling {
    /// The loaded program.
    pub object: Object,
    interval_ns: u64,
    clocks: Vec<CpuClock>,
}

/// A mark for each CPU, which several hold.
pub struct CpuMarks(Vec<Cell<bool>>);

impl CpuMarks {
    /// None is set.
    pub fn new(cpus: usize) -> Self {
        Self(vec![Cell::new(false); cpus])
    }

    /// Sets that of `cpu`.
    pub fn set(&self, cpu: usize) {
        if let Some(mark) = self.0.get(cpu) {
            mark.set(true);
        }
    }

    /// Whether that of `cpu` was set; clears it.
    fn take(&self, cpu: usize) -> bool {
        self.0.get(cpu).is_some_and(Cell::take)
    }
}

struct CpuClock {
    cpu: usize,
    event: OwnedFd,
    _link: Link,
    attention: Attention,
}

/// Whether a CPU has a clock.
#[derive(Clone, Copy, Debug)]
struct Attention {
    is_on: bool,
    /// When the CPU last wrote something, or was looked at first.
    since_ns: Option<u64>,
}

impl Attention {
    const NEW: Self = Self { is_on: true, since_ns: None };

    /// What holds at `now_ns`, when the CPU `wrote` something since the last look or not, of a clock of `interval_ns`.
    fn after(self, wrote: bool, now_ns: u64, interval_ns: u64) -> Self {
        let quiet_ns = QUIET_NS.max(interval_ns.saturating_mul(QUIET_INTERVALS));
        let since_ns = if wrote { now_ns } else { self.since_ns.unwrap_or(now_ns) };
        let is_on = wrote || (self.is_on && now_ns.saturating_sub(since_ns) < quiet_ns);
        Self { is_on, since_ns: Some(since_ns) }
    }
}

/// How often a clock fires that is asked for `interval_ns`: a little more often. A program that wakes up in round numbers of
/// milliseconds would else be met at the same place each time, or never.
fn period_ns(interval_ns: u64) -> u64 {
    (interval_ns - interval_ns / 1000 * 3).max(1)
}

impl Sampling {
    /// Nothing is sampled yet.
    pub fn new(object: Object, interval_ns: u64) -> Self {
        Self { object, interval_ns, clocks: Vec::new() }
    }

    /// Samples the profiled threads, those to come too. Err: what to tell of CPUs on which they could not be.
    pub fn begin(&mut self) -> Result<(), Notice> {
        let errors: Vec<String> = machine::online().into_iter().filter_map(|cpu| self.begin_on(cpu).err()).collect();
        match errors.last() {
            Some(error) => Err(notice!(CPUS_NOT_SAMPLED, cpus = errors.len(), error = error)),
            None => Ok(()),
        }
    }

    fn begin_on(&mut self, cpu: usize) -> Result<(), String> {
        let clock = match perf::sampling_clock(cpu, period_ns(self.interval_ns)) {
            Ok(clock) => clock,
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(()), // it went offline meanwhile
            Err(error) => return Err(perf::refusal(&error)),
        };
        let Some(program) = self.object.progs_mut().next() else { return Ok(()) };
        let event = clock.try_clone().map_err(|error| error.to_string())?;
        let link = program.attach_perf_event(clock.into_raw_fd()).map_err(|error| error.to_string())?;
        self.clocks.push(CpuClock { cpu, event, _link: link, attention: Attention::NEW });
        Ok(())
    }

    /// Switches clocks off and on by which CPUs wrote something since the last call, and forgets it; `now_ns` is any clock's.
    pub fn attend(&mut self, wrote: &CpuMarks, now_ns: u64) {
        for clock in &mut self.clocks {
            clock.set(clock.attention.after(wrote.take(clock.cpu), now_ns, self.interval_ns));
        }
    }

    /// Switches all clocks on: threads are profiled from now on that may run without end and write nothing until they are sampled.
    pub fn attend_all(&mut self) {
        self.clocks.iter_mut().for_each(|clock| clock.set(Attention::NEW));
    }
}

impl CpuClock {
    fn set(&mut self, attention: Attention) {
        if attention.is_on != self.attention.is_on {
            perf::set_enabled(&self.event, attention.is_on);
        }
        self.attention = attention;
    }
}

#[cfg(test)]
mod tests {
    use super::{Attention, QUIET_NS, period_ns};

    const MS: u64 = 1_000_000;

    #[test]
    fn a_clock_is_not_in_step_with_milliseconds() {
        assert_eq!(period_ns(1_000_000), 997_000);
        assert_eq!(period_ns(10_000_000), 9_970_000);
        assert_eq!(period_ns(1), 1);
    }

    #[test]
    fn a_quiet_cpu_has_no_clock_until_it_writes() {
        let start = 5 * QUIET_NS;
        let first = Attention::NEW.after(false, start, MS);
        assert!(first.is_on, "it was not looked at before");
        assert!(first.after(false, start + QUIET_NS - 1, MS).is_on);
        let quiet = first.after(false, start + QUIET_NS, MS);
        assert!(!quiet.is_on);
        assert!(!quiet.after(false, start + 9 * QUIET_NS, MS).is_on);
        let busy = quiet.after(true, start + 2 * QUIET_NS, MS);
        assert!(busy.is_on && busy.after(false, start + 3 * QUIET_NS - 1, MS).is_on);
        assert!(!busy.after(false, start + 3 * QUIET_NS, MS).is_on);
    }

    #[test]
    fn a_slow_clock_is_waited_for() {
        let first = Attention::NEW.after(false, 0, 2 * QUIET_NS);
        assert!(first.after(false, 7 * QUIET_NS, 2 * QUIET_NS).is_on);
        assert!(!first.after(false, 8 * QUIET_NS, 2 * QUIET_NS).is_on);
    }
}
