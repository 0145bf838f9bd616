//! Ticks: the time stamp counter where the kernel trusts it, else nanoseconds.

use core::arch::x86_64::{__cpuid, _rdtsc};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use dwell_itt_wire::Clock;

use crate::abi::ClockDomain;
use crate::header;

static IS_TSC: AtomicBool = AtomicBool::new(false);

/// Now.
#[inline(always)]
pub fn ticks() -> u64 {
    if IS_TSC.load(Relaxed) {
        // SAFETY: every x86-64 has it, and where it is trapped the program could not have started.
        unsafe { _rdtsc() }
    } else {
        nanoseconds()
    }
}

/// `CLOCK_MONOTONIC`.
pub fn nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Chooses what ticks are.
pub fn choose() -> Clock {
    let is_tsc = is_invariant() && kernel_trusts_it();
    IS_TSC.store(is_tsc, Relaxed);
    if is_tsc { Clock::Tsc } else { Clock::Nanoseconds }
}

/// Whether the processor says that the counter always runs at one rate.
fn is_invariant() -> bool {
    __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
}

/// Whether the kernel's own clock is the counter, scaled by a hypervisor or not: then it is the same on all CPUs.
fn kernel_trusts_it() -> bool {
    let path = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let mut name = [0u8; 32];
    // SAFETY: a path and a buffer with its size; the descriptor is ours.
    let read = unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return false;
        }
        let read = libc::read(file, name.as_mut_ptr().cast(), name.len());
        libc::close(file);
        read
    };
    let name = usize::try_from(read).ok().and_then(|read| name.get(..read)).unwrap_or_default();
    [b"tsc".as_slice(), b"kvm-clock", b"hyperv_clocksource_tsc_page"].iter().any(|it| name.trim_ascii() == *it)
}

/// The ticks of a time that the program gave by one of its own clocks, or, without one, as ticks; 0 and -1 are now.
///
/// # Safety
///
/// `clock` is null or a clock domain that this library made.
pub unsafe fn given(clock: *const ClockDomain, time: u64) -> u64 {
    if time == 0 || time == u64::MAX {
        return ticks();
    }
    // SAFETY: the caller's.
    let Some(clock) = (unsafe { clock.as_ref() }) else { return time };
    if clock.frequency == 0 {
        return ticks();
    }
    let seconds = time.wrapping_sub(clock.base) as i64 as f64 / clock.frequency as f64;
    clock.ticks.wrapping_add_signed((seconds * ticks_per_second()) as i64)
}

/// How fast ticks are, by what passed since the shared file was made.
fn ticks_per_second() -> f64 {
    if !IS_TSC.load(Relaxed) {
        return 1e9;
    }
    let (ticks_then, ns_then) = header::opened_at();
    let ns = nanoseconds().saturating_sub(ns_then);
    if ns == 0 { 1e9 } else { ticks().saturating_sub(ticks_then) as f64 * 1e9 / ns as f64 }
}
