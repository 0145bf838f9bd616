//! The system calls of x86-64: one table of their names, of how the arguments of each name what its caller waits on (the
//! BPF programs read that), and of what it waits on (finalization reads that).

macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident = $code:literal,)*) => {
        /// How the arguments of a system call name what the caller waits on. The build script of `capture` makes
        /// `enum syscall_class` of it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum SyscallClass { $($(#[$doc])* $class = $code,)* }

        impl SyscallClass {
            /// Every class.
            pub const ALL: &'static [Self] = &[$(Self::$class,)*];
        }
    };
}

classes! {
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
    /// The first argument is the duration of a sleep: `nanosleep(request)`.
    Sleep = 6,
    /// The third argument is the duration of a sleep: `clock_nanosleep(clock, flags, request)`.
    ClockSleep = 7,
    /// It waits for a child process.
    Child = 8,
    /// The call alone says it: signals, yielding.
    Named = 9,
    /// The first argument is a path.
    Path = 10,
    /// The first argument is a directory's descriptor, the second a path.
    PathAt = 11,
}

impl SyscallClass {
    /// Whether an argument is a path.
    pub fn is_path(self) -> bool {
        matches!(self, Self::Path | Self::PathAt)
    }
}

/// What a thread in a system call may wait on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// A word of user memory.
    Futex,
    /// Time to pass.
    Sleep,
    /// One of several files, with a time limit: poll, select, epoll.
    Poll,
    /// The end of a child process.
    Child,
    /// The child that was just made, until it runs another program.
    Spawn,
    /// A signal.
    Signal,
    /// A file's pages on their way to the disk.
    FileSync,
    /// Completions of an io_uring.
    IoUring,
    /// A system V semaphore.
    Semaphore,
    /// `sched_yield`.
    Yield,
    /// A lock on a file.
    FileLock,
    /// Data from or to a socket.
    Network,
    /// Anything else; the object, if there is one, tells.
    Other,
}

impl CallKind {
    /// Whether such a call takes a time limit whose end means that the awaited thing did not come.
    pub fn has_time_limit(self) -> bool {
        matches!(self, Self::Futex | Self::Poll)
    }
}

/// Number of a system call that a thread waited in, but that was not seen.
pub const UNSEEN: i16 = -2;
/// Stands for the system call of a thread that was off the CPU, or ran unnoticed, between two samples of an imported file.
pub const BETWEEN_SAMPLES: i16 = -3;

/// One system call.
#[derive(Clone, Copy, Debug)]
pub struct Syscall {
    /// Its number on x86-64 (arch/x86/entry/syscalls/syscall_64.tbl).
    pub number: i16,
    /// Its name.
    pub name: &'static str,
    /// How its arguments name what the caller waits on.
    pub class: SyscallClass,
    /// What the caller may wait on.
    pub kind: CallKind,
}

impl Syscall {
    /// The call of this number, `None` for one that is not in the table.
    pub fn of_number(number: i16) -> Option<&'static Self> {
        SYSCALLS.binary_search_by_key(&number, |call| call.number).ok().map(|index| &SYSCALLS[index])
    }

    /// The number of the call `name`, for constants: a name that is not in the table does not compile.
    pub const fn number_of(name: &str) -> i32 {
        let mut index = 0;
        while !is_same(SYSCALLS[index].name.as_bytes(), name.as_bytes()) {
            index += 1;
        }
        SYSCALLS[index].number as i32
    }

    /// The kind of system call `number`; `Other` for none.
    pub fn kind_of(number: i16) -> CallKind {
        Self::of_number(number).map_or(CallKind::Other, |call| call.kind)
    }

    /// Whether an argument of system call `number` is the path of the file that it is about.
    pub fn has_path(number: i16) -> bool {
        Self::of_number(number).is_some_and(|call| call.class.is_path())
    }

    /// The name of system call `number`; `system call N` for one that is not known, `no system call` for -1.
    /// [`UNSEEN`] is a call, but nobody knows which; [`BETWEEN_SAMPLES`] is none.
    pub fn name_of(number: i16) -> String {
        match Self::of_number(number) {
            Some(call) => call.name.to_owned(),
            None if number == UNSEEN => "a system call that was not seen".into(),
            None if number == BETWEEN_SAMPLES => "time between samples".into(),
            None if number < 0 => "no system call".into(),
            None => format!("system call {number}"),
        }
    }
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// `Other` where the table says nothing.
macro_rules! or_other {
    ($of:ident) => {
        $of::Other
    };
    ($of:ident $word:ident) => {
        $of::$word
    };
}

macro_rules! syscalls {
    ($($number:literal $name:literal $($class:ident $($kind:ident)?)?;)*) => {
        /// Every call, by number.
        pub static SYSCALLS: &[Syscall] = &[$(Syscall {
            number: $number,
            name: $name,
            class: or_other!(SyscallClass $($class)?),
            kind: or_other!(CallKind $($($kind)?)?),
        },)*];
    };
}

// Number, name, class, kind; the last two where they are not `Other`.
syscalls! {
    0 "read" Fd; 1 "write" Fd; 2 "open" Path; 3 "close" Fd; 4 "stat" Path; 5 "fstat"; 6 "lstat" Path;
    7 "poll" Poll Poll; 8 "lseek"; 9 "mmap"; 10 "mprotect"; 11 "munmap"; 12 "brk"; 13 "rt_sigaction";
    14 "rt_sigprocmask"; 15 "rt_sigreturn"; 16 "ioctl" Fd; 17 "pread64" Fd; 18 "pwrite64" Fd; 19 "readv" Fd;
    20 "writev" Fd; 21 "access" Path; 22 "pipe"; 23 "select" Select Poll; 24 "sched_yield" Named Yield; 25 "mremap";
    26 "msync" Other FileSync; 27 "mincore"; 28 "madvise"; 29 "shmget"; 30 "shmat"; 31 "shmctl"; 32 "dup"; 33 "dup2";
    34 "pause" Named Signal; 35 "nanosleep" Sleep Sleep; 36 "getitimer"; 37 "alarm"; 38 "setitimer"; 39 "getpid";
    40 "sendfile" Fd; 41 "socket"; 42 "connect" Fd Network; 43 "accept" Fd Network; 44 "sendto" Fd Network;
    45 "recvfrom" Fd Network; 46 "sendmsg" Fd Network; 47 "recvmsg" Fd Network; 48 "shutdown" Fd; 49 "bind";
    50 "listen"; 51 "getsockname"; 52 "getpeername"; 53 "socketpair"; 54 "setsockopt" Fd; 55 "getsockopt";
    56 "clone" Other Spawn; 57 "fork"; 58 "vfork" Named Spawn; 59 "execve" Path; 60 "exit"; 61 "wait4" Child Child;
    62 "kill"; 63 "uname"; 64 "semget"; 65 "semop" Other Semaphore; 66 "semctl"; 67 "shmdt"; 68 "msgget"; 69 "msgsnd";
    70 "msgrcv"; 71 "msgctl"; 72 "fcntl" Fd FileLock; 73 "flock" Fd FileLock; 74 "fsync" Fd FileSync; 75 "fdatasync" Fd FileSync;
    76 "truncate" Path; 77 "ftruncate" Fd; 78 "getdents" Fd; 79 "getcwd"; 80 "chdir" Path; 81 "fchdir";
    82 "rename" Path; 83 "mkdir" Path; 84 "rmdir" Path; 85 "creat" Path; 86 "link" Path; 87 "unlink" Path;
    88 "symlink"; 89 "readlink" Path; 90 "chmod" Path; 91 "fchmod"; 92 "chown" Path; 93 "fchown"; 94 "lchown" Path;
    95 "umask"; 96 "gettimeofday"; 97 "getrlimit"; 98 "getrusage"; 99 "sysinfo"; 100 "times"; 101 "ptrace";
    102 "getuid"; 103 "syslog"; 104 "getgid"; 105 "setuid"; 106 "setgid"; 107 "geteuid"; 108 "getegid"; 109 "setpgid";
    110 "getppid"; 111 "getpgrp"; 112 "setsid"; 113 "setreuid"; 114 "setregid"; 115 "getgroups"; 116 "setgroups";
    117 "setresuid"; 118 "getresuid"; 119 "setresgid"; 120 "getresgid"; 121 "getpgid"; 122 "setfsuid"; 123 "setfsgid";
    124 "getsid"; 125 "capget"; 126 "capset"; 127 "rt_sigpending" Named; 128 "rt_sigtimedwait" Named Signal;
    129 "rt_sigqueueinfo"; 130 "rt_sigsuspend" Named Signal; 131 "sigaltstack"; 132 "utime" Path; 133 "mknod" Path;
    134 "uselib"; 135 "personality"; 136 "ustat"; 137 "statfs" Path; 138 "fstatfs"; 139 "sysfs"; 140 "getpriority";
    141 "setpriority"; 142 "sched_setparam"; 143 "sched_getparam"; 144 "sched_setscheduler"; 145 "sched_getscheduler";
    146 "sched_get_priority_max"; 147 "sched_get_priority_min"; 148 "sched_rr_get_interval"; 149 "mlock";
    150 "munlock"; 151 "mlockall"; 152 "munlockall"; 153 "vhangup"; 154 "modify_ldt"; 155 "pivot_root"; 156 "_sysctl";
    157 "prctl"; 158 "arch_prctl"; 159 "adjtimex"; 160 "setrlimit"; 161 "chroot" Path; 162 "sync" Other FileSync;
    163 "acct"; 164 "settimeofday"; 165 "mount"; 166 "umount2"; 167 "swapon"; 168 "swapoff"; 169 "reboot";
    170 "sethostname"; 171 "setdomainname"; 172 "iopl"; 173 "ioperm"; 174 "create_module"; 175 "init_module";
    176 "delete_module"; 177 "get_kernel_syms"; 178 "query_module"; 179 "quotactl"; 180 "nfsservctl"; 181 "getpmsg";
    182 "putpmsg"; 183 "afs_syscall"; 184 "tuxcall"; 185 "security"; 186 "gettid"; 187 "readahead"; 188 "setxattr";
    189 "lsetxattr"; 190 "fsetxattr"; 191 "getxattr"; 192 "lgetxattr"; 193 "fgetxattr"; 194 "listxattr";
    195 "llistxattr"; 196 "flistxattr"; 197 "removexattr"; 198 "lremovexattr"; 199 "fremovexattr"; 200 "tkill";
    201 "time"; 202 "futex" Futex Futex; 203 "sched_setaffinity"; 204 "sched_getaffinity"; 205 "set_thread_area";
    206 "io_setup"; 207 "io_destroy"; 208 "io_getevents"; 209 "io_submit"; 210 "io_cancel"; 211 "get_thread_area";
    212 "lookup_dcookie"; 213 "epoll_create"; 214 "epoll_ctl_old"; 215 "epoll_wait_old"; 216 "remap_file_pages";
    217 "getdents64" Fd; 218 "set_tid_address"; 219 "restart_syscall" Named; 220 "semtimedop" Other Semaphore;
    221 "fadvise64"; 222 "timer_create"; 223 "timer_settime"; 224 "timer_gettime"; 225 "timer_getoverrun";
    226 "timer_delete"; 227 "clock_settime"; 228 "clock_gettime"; 229 "clock_getres";
    230 "clock_nanosleep" ClockSleep Sleep; 231 "exit_group"; 232 "epoll_wait" Fd Poll; 233 "epoll_ctl"; 234 "tgkill";
    235 "utimes" Path; 236 "vserver"; 237 "mbind"; 238 "set_mempolicy"; 239 "get_mempolicy"; 240 "mq_open";
    241 "mq_unlink"; 242 "mq_timedsend" Fd; 243 "mq_timedreceive" Fd; 244 "mq_notify"; 245 "mq_getsetattr";
    246 "kexec_load"; 247 "waitid" Child Child; 248 "add_key"; 249 "request_key"; 250 "keyctl"; 251 "ioprio_set";
    252 "ioprio_get"; 253 "inotify_init"; 254 "inotify_add_watch"; 255 "inotify_rm_watch"; 256 "migrate_pages";
    257 "openat" PathAt; 258 "mkdirat" PathAt; 259 "mknodat" PathAt; 260 "fchownat" PathAt; 261 "futimesat" PathAt;
    262 "newfstatat" PathAt; 263 "unlinkat" PathAt; 264 "renameat" PathAt; 265 "linkat" PathAt; 266 "symlinkat";
    267 "readlinkat" PathAt; 268 "fchmodat" PathAt; 269 "faccessat" PathAt; 270 "pselect6" Select Poll;
    271 "ppoll" Poll Poll; 272 "unshare"; 273 "set_robust_list"; 274 "get_robust_list"; 275 "splice" Fd; 276 "tee" Fd;
    277 "sync_file_range" Fd FileSync; 278 "vmsplice"; 279 "move_pages"; 280 "utimensat" PathAt;
    281 "epoll_pwait" Fd Poll; 282 "signalfd"; 283 "timerfd_create"; 284 "eventfd"; 285 "fallocate" Fd;
    286 "timerfd_settime"; 287 "timerfd_gettime"; 288 "accept4" Fd Network; 289 "signalfd4"; 290 "eventfd2";
    291 "epoll_create1"; 292 "dup3"; 293 "pipe2"; 294 "inotify_init1"; 295 "preadv" Fd; 296 "pwritev" Fd;
    297 "rt_tgsigqueueinfo"; 298 "perf_event_open"; 299 "recvmmsg" Fd Network; 300 "fanotify_init";
    301 "fanotify_mark"; 302 "prlimit64"; 303 "name_to_handle_at"; 304 "open_by_handle_at"; 305 "clock_adjtime";
    306 "syncfs" Fd FileSync; 307 "sendmmsg" Fd Network; 308 "setns"; 309 "getcpu"; 310 "process_vm_readv";
    311 "process_vm_writev"; 312 "kcmp"; 313 "finit_module"; 314 "sched_setattr"; 315 "sched_getattr";
    316 "renameat2" PathAt; 317 "seccomp"; 318 "getrandom"; 319 "memfd_create"; 320 "kexec_file_load"; 321 "bpf";
    322 "execveat" PathAt; 323 "userfaultfd"; 324 "membarrier"; 325 "mlock2"; 326 "copy_file_range" Fd;
    327 "preadv2" Fd; 328 "pwritev2" Fd; 329 "pkey_mprotect"; 330 "pkey_alloc"; 331 "pkey_free"; 332 "statx" PathAt;
    333 "io_pgetevents"; 334 "rseq"; 424 "pidfd_send_signal"; 425 "io_uring_setup"; 426 "io_uring_enter" Fd IoUring;
    427 "io_uring_register"; 428 "open_tree"; 429 "move_mount"; 430 "fsopen"; 431 "fsconfig"; 432 "fsmount";
    433 "fspick"; 434 "pidfd_open"; 435 "clone3" Other Spawn; 436 "close_range"; 437 "openat2" PathAt;
    438 "pidfd_getfd"; 439 "faccessat2" PathAt; 440 "process_madvise"; 441 "epoll_pwait2" Fd Poll; 442 "mount_setattr";
    443 "quotactl_fd"; 444 "landlock_create_ruleset"; 445 "landlock_add_rule"; 446 "landlock_restrict_self";
    447 "memfd_secret"; 448 "process_mrelease"; 449 "futex_waitv" FutexVector Futex; 450 "set_mempolicy_home_node";
    451 "cachestat"; 452 "fchmodat2" PathAt; 453 "map_shadow_stack"; 454 "futex_wake"; 455 "futex_wait" Futex Futex;
    456 "futex_requeue" Other Futex; 457 "statmount"; 458 "listmount"; 459 "lsm_get_self_attr";
    460 "lsm_set_self_attr"; 461 "lsm_list_modules"; 462 "mseal"; 463 "setxattrat"; 464 "getxattrat";
    465 "listxattrat"; 466 "removexattrat"; 467 "open_tree_attr";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sorted_and_distinct() {
        assert!(SYSCALLS.windows(2).all(|pair| pair[0].number < pair[1].number));
    }

    #[test]
    fn calls_are_found_by_number() {
        assert_eq!(Syscall::name_of(202), "futex");
        assert_eq!(Syscall::name_of(-1), "no system call");
        assert_eq!(Syscall::name_of(9999), "system call 9999");
        assert_eq!(Syscall::kind_of(-1), CallKind::Other);
        assert_eq!(Syscall::kind_of(9999), CallKind::Other);
    }

    #[test]
    fn every_call_is_found_by_its_name() {
        for call in SYSCALLS {
            assert_eq!(Syscall::number_of(call.name), i32::from(call.number));
        }
    }

    #[test]
    fn class_and_kind_agree() {
        for call in SYSCALLS {
            let agree = match call.class {
                SyscallClass::Futex | SyscallClass::FutexVector => call.kind == CallKind::Futex,
                SyscallClass::Poll | SyscallClass::Select => call.kind == CallKind::Poll,
                SyscallClass::Sleep | SyscallClass::ClockSleep => call.kind == CallKind::Sleep,
                SyscallClass::Child => call.kind == CallKind::Child,
                SyscallClass::Other | SyscallClass::Fd | SyscallClass::Named => true,
                SyscallClass::Path | SyscallClass::PathAt => call.kind == CallKind::Other,
            };
            assert!(agree, "{}", call.name);
        }
    }
}
