//! The system calls of x86-64 that a thread can block in, and how each names what it waits on.

/// How the arguments of a system call name what the caller waits on. The codes are `enum syscall_class` of the
/// capture crate's object.bpf.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SyscallClass {
    /// They do not: the kernel stack has to tell.
    Other = 0,
    /// The first argument is a file descriptor.
    Fd = 1,
    /// The first argument is the address of a futex.
    Futex = 2,
    /// The first argument is a vector of futexes.
    FutexVector = 3,
    /// The first argument is an array of pollfd.
    Poll = 4,
    /// The arguments are sets of file descriptors.
    Select = 5,
    /// The first argument is the duration of a sleep.
    Sleep = 6,
    /// The third argument is the duration of a sleep.
    ClockSleep = 7,
    /// It waits for a child process.
    Child = 8,
    /// The call alone says it: signals, yielding.
    Named = 9,
}

/// One system call.
#[derive(Clone, Copy, Debug)]
pub struct Syscall {
    /// Its number on x86-64 (arch/x86/entry/syscalls/syscall_64.tbl).
    pub number: i16,
    /// Its name.
    pub name: &'static str,
    /// How it names what the caller waits on.
    pub class: SyscallClass,
}

impl Syscall {
    /// The call of this number, `None` for one that is not in the table.
    pub fn of_number(number: i16) -> Option<&'static Self> {
        SYSCALLS.iter().find(|call| call.number == number)
    }
}

macro_rules! syscalls {
    ($($number:literal $name:literal $class:ident;)*) => {
        /// The calls that threads block in.
        pub static SYSCALLS: &[Syscall] =
            &[$(Syscall { number: $number, name: $name, class: SyscallClass::$class },)*];
    };
}

syscalls! {
    0 "read" Fd; 1 "write" Fd; 2 "open" Other; 3 "close" Fd; 7 "poll" Poll; 9 "mmap" Other; 10 "mprotect" Other;
    11 "munmap" Other; 12 "brk" Other; 16 "ioctl" Fd; 17 "pread64" Fd; 18 "pwrite64" Fd; 19 "readv" Fd;
    20 "writev" Fd; 23 "select" Select; 24 "sched_yield" Named; 26 "msync" Other; 28 "madvise" Other;
    34 "pause" Named; 35 "nanosleep" Sleep; 40 "sendfile" Fd; 42 "connect" Fd; 43 "accept" Fd; 44 "sendto" Fd;
    45 "recvfrom" Fd; 46 "sendmsg" Fd; 47 "recvmsg" Fd; 48 "shutdown" Fd; 56 "clone" Other; 57 "fork" Other;
    58 "vfork" Named; 59 "execve" Other; 60 "exit" Other; 61 "wait4" Child; 65 "semop" Other; 69 "msgsnd" Other;
    70 "msgrcv" Other; 72 "fcntl" Fd; 73 "flock" Fd; 74 "fsync" Fd; 75 "fdatasync" Fd; 76 "truncate" Other;
    77 "ftruncate" Fd; 78 "getdents" Fd; 82 "rename" Other; 83 "mkdir" Other; 84 "rmdir" Other; 87 "unlink" Other;
    127 "rt_sigpending" Named; 128 "rt_sigtimedwait" Named; 130 "rt_sigsuspend" Named; 162 "sync" Other;
    202 "futex" Futex; 208 "io_getevents" Other; 217 "getdents64" Fd; 219 "restart_syscall" Named;
    220 "semtimedop" Other; 230 "clock_nanosleep" ClockSleep; 231 "exit_group" Other; 232 "epoll_wait" Fd;
    242 "mq_timedsend" Fd; 243 "mq_timedreceive" Fd; 247 "waitid" Child; 257 "openat" Other; 262 "newfstatat" Other;
    263 "unlinkat" Other; 270 "pselect6" Select; 271 "ppoll" Poll; 275 "splice" Fd; 276 "tee" Fd;
    277 "sync_file_range" Fd; 281 "epoll_pwait" Fd; 285 "fallocate" Fd; 288 "accept4" Fd; 295 "preadv" Fd;
    296 "pwritev" Fd; 299 "recvmmsg" Fd; 306 "syncfs" Fd; 307 "sendmmsg" Fd; 322 "execveat" Other;
    326 "copy_file_range" Fd; 327 "preadv2" Fd; 328 "pwritev2" Fd; 426 "io_uring_enter" Fd; 435 "clone3" Other;
    436 "close_range" Other; 441 "epoll_pwait2" Fd; 449 "futex_waitv" FutexVector; 455 "futex_wait" Futex;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sorted_and_distinct() {
        assert!(SYSCALLS.windows(2).all(|pair| pair[0].number < pair[1].number));
    }
}
