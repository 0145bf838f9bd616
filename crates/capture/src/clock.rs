//! CLOCK_MONOTONIC, the clock of every record.
#![allow(unsafe_code, reason = "system calls")]

use std::hash::{BuildHasher, Hash};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foldhash::fast::FixedState;

/// Nanoseconds on CLOCK_MONOTONIC.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC: the time for which the machine was suspended, ns.
pub fn suspended_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    (time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64).saturating_sub(monotonic_ns())
}

/// When something began: on CLOCK_BOOTTIME, and the time of day that this was as it was noted.
#[derive(Clone, Copy, Debug)]
pub struct StartTime {
    boot_ns: u64,
    noted: SystemTime,
}

impl StartTime {
    /// At this time on CLOCK_BOOTTIME.
    pub fn at_boot(boot_ns: u64) -> Self {
        Self { boot_ns, noted: time_of_day_at(boot_ns) }
    }

    /// At this time on CLOCK_MONOTONIC, since when the machine was not suspended.
    pub fn at(time_ns: u64) -> Self {
        Self::at_boot(time_ns.saturating_add(suspended_ns()))
    }

    /// The earliest time of day that it can have been, if the clock was set since it was noted.
    pub fn earliest(self) -> SystemTime {
        self.noted.min(time_of_day_at(self.boot_ns))
    }
}

/// The time of day at this time on CLOCK_BOOTTIME, as the clock is set now.
fn time_of_day_at(boot_ns: u64) -> SystemTime {
    let now_ns = monotonic_ns().saturating_add(suspended_ns());
    let (now, distance) = (SystemTime::now(), Duration::from_nanos(now_ns.abs_diff(boot_ns)));
    let then = if boot_ns > now_ns { now.checked_add(distance) } else { now.checked_sub(distance) };
    then.unwrap_or(UNIX_EPOCH)
}

/// Ticks in a second of the times in /proc.
pub fn ticks_per_second() -> u64 {
    // SAFETY: sysconf takes any number.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).unwrap_or(0).max(1)
}

/// Seconds since 1970.
pub fn time_of_day() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// This thread's CPU time so far, ns.
pub fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// An interval of this length on average, ns, a different one for each `turn`: whoever looks that often keeps no step with what a program does at
/// an even pace.
pub fn uneven(interval_ns: u64, turn: impl Hash) -> u64 {
    interval_ns * 3 / 4 + FixedState::default().hash_one(turn) % (interval_ns / 2).max(1)
}

/// This process's own CPU time so far, ns.
pub fn own_cpu_ns() -> u64 {
    // SAFETY: an all-zero rusage is valid, and getrusage fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}
