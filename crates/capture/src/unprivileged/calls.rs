//! Which system calls are traced: those that block, and those by which threads wake others.
//!
//! Every traced call is an event per CPU that each new thread inherits, which takes the kernel some 10 to 20 µs. So they
//! are in the order of use, and only as many are traced as the number of CPUs allows. What is not traced is found in /proc
//! when it lasts.

use dwell_model::SYSCALLS;

/// The calls, most useful first.
const BY_USE: &[&str] = &[
    "futex",
    "read",
    "poll",
    "epoll_wait",
    "clock_nanosleep",
    "recvfrom",
    "exit",
    "write",
    "wait4",
    "clone3",
    "ppoll",
    "epoll_pwait",
    "nanosleep",
    "recvmsg",
    "select",
    "pselect6",
    "sendto",
    "fsync",
    "accept4",
    "exit_group",
    "connect",
    "sendmsg",
    "accept",
    "fdatasync",
    "pread64",
    "readv",
    "writev",
    "waitid",
    "flock",
    "clone",
    "vfork",
    "io_uring_enter",
    "rt_sigtimedwait",
    "rt_sigsuspend",
    "pause",
    "epoll_pwait2",
    "sched_yield",
    "pwrite64",
    "fcntl",
    "semtimedop",
    "semop",
    "msync",
    "preadv",
    "recvmmsg",
    "sendmmsg",
    "sendfile",
    "splice",
    "io_getevents",
    "mq_timedreceive",
    "mq_timedsend",
    "futex_waitv",
    "sync_file_range",
    "ioctl",
];
/// Calls that a trial of tracepoints must not make, since they would block or return twice.
const UNTRIED: &[&str] = &["exit", "exit_group", "vfork", "pause"];
/// Events, over all CPUs, that a new thread may inherit; the kernel goes through all of a thread's at every switch, too.
const MOST_EVENTS: usize = 40;

/// The entry of every system call: one tracepoint, which only fires for who may see the kernel.
pub const EVERY: TracedCall = TracedCall { name: "every", number: -1, can_be_tried: false };

/// A system call that may be traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedCall {
    /// Its name, as tracefs has it.
    pub name: &'static str,
    /// Its number.
    pub number: i32,
    /// Whether it fails at once when all its arguments are −1.
    pub can_be_tried: bool,
}

/// Every call that may be traced, most useful first.
pub fn all() -> Vec<TracedCall> {
    let number = |name: &str| SYSCALLS.iter().find(|call| call.name == name).map(|call| i32::from(call.number));
    let traced =
        |&name: &&'static str| Some(TracedCall { name, number: number(name)?, can_be_tried: !UNTRIED.contains(&name) });
    BY_USE.iter().filter_map(traced).collect()
}

/// The filter of [`EVERY`] that lets only these calls through, in the language of trace/events/*/filter.
pub fn filter(calls: &[TracedCall]) -> String {
    let terms: Vec<String> = calls.iter().map(|call| format!("id == {}", call.number)).collect();
    terms.join(" || ")
}

/// How many of them are traced on a machine with so many CPUs; the clock and the page faults are two events more.
pub fn how_many(cpus: usize) -> usize {
    (MOST_EVENTS / cpus.max(1)).saturating_sub(2).clamp(1, BY_USE.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_known_once() {
        let all = all();
        assert_eq!(all.len(), BY_USE.len());
        let mut numbers: Vec<i32> = all.iter().map(|call| call.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), BY_USE.len());
    }

    #[test]
    fn a_filter_names_each_call() {
        let calls = all();
        assert!(filter(&calls).starts_with("id == 202 || id == 0 || "));
        assert_eq!(filter(&calls).matches("id == ").count(), calls.len());
    }

    #[test]
    fn many_cpus_trace_few_calls() {
        assert_eq!((how_many(2), how_many(16), how_many(500)), (18, 1, 1));
    }
}
