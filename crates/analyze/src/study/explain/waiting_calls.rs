//! System calls by what they wait for.

use dwell_model::Syscall;
use dwell_store::EventKey;

/// System calls that wait for whatever comes. All others that block (open, stat, flock, fsync, mmap, write, connect) were
/// asked for one thing.
pub const LISTENS: &[&str] = &[
    "read",
    "pread64",
    "readv",
    "preadv",
    "preadv2",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "accept",
    "accept4",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "ioctl",
    "wait4",
    "waitid",
    "pause",
    "rt_sigtimedwait",
    "rt_sigsuspend",
    "futex",
    "futex_wait",
    "futex_waitv",
    "io_getevents",
    "io_pgetevents",
    "io_uring_enter",
    "nanosleep",
    "clock_nanosleep",
    "semop",
    "semtimedop",
    "msgrcv",
    "mq_timedreceive",
];
/// Those that read a file that is there.
pub const READS: &[&str] = &["read", "pread64", "readv", "preadv", "preadv2"];
/// Those that wait for signals.
pub const SIGNALS: &[&str] = &["pause", "rt_sigtimedwait", "rt_sigsuspend"];

/// Whether a key's call is one of these.
pub fn calls_one_of(key: &EventKey, names: &[&str]) -> bool {
    key.syscall() >= 0 && names.contains(&Syscall::name_of(key.syscall()).as_ref())
}
