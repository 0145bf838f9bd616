//! How urgent the collector's own thread is to the scheduler.
#![allow(unsafe_code, reason = "getpriority, sched_setscheduler and their kin")]

/// The highest priority of sched(7)'s SCHED_RR.
const HIGHEST: u32 = 99;

/// How a thread was scheduled before.
#[derive(Clone, Copy, Debug)]
pub struct SavedScheduling {
    policy: i32,
    real_time: libc::sched_param,
    nice: i32,
}

/// Lets the collector's thread come to the CPU at once, however busy the program keeps the machine: a drain takes little
/// but must not be late. After the launch, so that the program does not inherit it; without the right to, it stays as it is.
/// Returns how it was.
pub fn be_prompt() -> SavedScheduling {
    let mut real_time = libc::sched_param { sched_priority: 0 };
    // SAFETY: `real_time` is valid for the call, the others are plain numbers; 0 is the calling thread.
    unsafe {
        let policy = libc::sched_getscheduler(0);
        libc::sched_getparam(0, &raw mut real_time);
        let nice = libc::getpriority(libc::PRIO_PROCESS, 0);
        libc::setpriority(libc::PRIO_PROCESS, 0, -20);
        SavedScheduling { policy, real_time, nice }
    }
}

/// Lets this thread run before those of real-time priority `urgency`, of which a few that never sleep would keep it from every CPU. What
/// it starts runs without. Returns its priority, or `None` when it may not.
pub fn raise_priority(urgency: u32) -> Option<u32> {
    let priority = (urgency + 1).min(HIGHEST);
    let parameter = libc::sched_param { sched_priority: priority as i32 };
    // SAFETY: `parameter` is valid for the call; 0 is the calling thread.
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const parameter) };
    (done == 0).then_some(priority)
}

/// As it was before [`be_prompt`].
pub fn restore_scheduling(before: &SavedScheduling) {
    // SAFETY: as above.
    unsafe {
        libc::sched_setscheduler(0, before.policy, &raw const before.real_time);
        libc::setpriority(libc::PRIO_PROCESS, 0, before.nice);
    }
}
