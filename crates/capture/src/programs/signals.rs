//! The signals that Dwell's caller ignores or blocks: `nohup` ignores SIGHUP, a shell's background job SIGINT. The launched program
//! inherits them as if Dwell were not there.
//!
//! They are read before `main`: Rust's start-up itself ignores SIGPIPE, and Dwell handles others.
#![allow(unsafe_code, reason = "signal calls, and a function that the loader runs before main")]

use std::mem::zeroed;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ignored signals, then blocked ones, as this process inherited them: signal `n` is bit `n - 1`, as in `/proc/PID/status`.
static INHERITED: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Signals of Linux. SIGKILL, SIGSTOP and the two that the C library keeps to itself cannot be set, which the calls refuse.
const SIGNALS: std::ops::RangeInclusive<libc::c_int> = 1..=64;

#[used]
// SAFETY: the loader calls each function in this section once, in the only thread, with the C library ready.
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = note_inherited;

extern "C" fn note_inherited() {
    let (mut ignored, mut blocked) = (0, 0);
    // SAFETY: plain calls that fill in structures of numbers.
    unsafe {
        let mut mask: libc::sigset_t = zeroed();
        libc::sigprocmask(libc::SIG_SETMASK, ptr::null(), &raw mut mask);
        for signal in SIGNALS {
            let mut action: libc::sigaction = zeroed();
            let is_known = libc::sigaction(signal, ptr::null(), &raw mut action) == 0;
            ignored |= bit(signal, is_known && action.sa_sigaction == libc::SIG_IGN);
            blocked |= bit(signal, libc::sigismember(&raw const mask, signal) == 1);
        }
    }
    INHERITED[0].store(ignored, Ordering::Relaxed);
    INHERITED[1].store(blocked, Ordering::Relaxed);
}

fn bit(signal: libc::c_int, is_set: bool) -> u64 {
    u64::from(is_set) << (signal - 1)
}

/// Whether Dwell's caller ignored the signal.
pub fn was_ignored(signal: libc::c_int) -> bool {
    INHERITED[0].load(Ordering::Relaxed) & bit(signal, true) != 0
}

/// Ignores and blocks in this process what Dwell's caller did; all other signals have their default effect. Async-signal-safe.
pub fn restore_inherited() {
    let blocked = INHERITED[1].load(Ordering::Relaxed);
    // SAFETY: plain signal calls with valid arguments, async-signal-safe.
    unsafe {
        let mut mask: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut mask);
        for signal in SIGNALS {
            libc::signal(signal, if was_ignored(signal) { libc::SIG_IGN } else { libc::SIG_DFL });
            if blocked & bit(signal, true) != 0 {
                libc::sigaddset(&raw mut mask, signal);
            }
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const mask, ptr::null_mut());
    }
}
