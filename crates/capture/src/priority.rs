//! How urgent the collector's own thread is to the scheduler.
#![allow(unsafe_code, reason = "getpriority and setpriority")]

/// Lets the collector's thread come to the CPU at once, however busy the program keeps the machine: a drain takes little
/// but must not be late. After the launch, so that the program does not inherit it; without the right to, it stays as it is.
/// Returns the nice value that it had.
pub fn be_prompt() -> i32 {
    // SAFETY: plain numbers; 0 is the calling thread.
    unsafe {
        let before = libc::getpriority(libc::PRIO_PROCESS, 0);
        libc::setpriority(libc::PRIO_PROCESS, 0, -20);
        before
    }
}

/// Back to that.
pub fn be_patient(nice: i32) {
    // SAFETY: as above.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
}
