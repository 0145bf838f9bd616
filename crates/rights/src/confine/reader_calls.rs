//! The system calls that a reading command may make: one table, from which the filter and docs/confinement.md come. All others
//! are refused with EPERM.

use std::collections::BTreeMap;

use libc as c;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use super::call_numbers::{hide_clone3, refuse_x32};

/// Reads files and folders, and looks at their names.
const READS: &[c::c_long] = &[
    c::SYS_read,
    c::SYS_readv,
    c::SYS_pread64,
    c::SYS_preadv,
    c::SYS_preadv2,
    c::SYS_lseek,
    c::SYS_open,
    c::SYS_openat,
    c::SYS_openat2,
    c::SYS_close,
    c::SYS_close_range,
    c::SYS_dup,
    c::SYS_dup2,
    c::SYS_dup3,
    c::SYS_fstat,
    c::SYS_stat,
    c::SYS_lstat,
    c::SYS_newfstatat,
    c::SYS_statx,
    c::SYS_statfs,
    c::SYS_fstatfs,
    c::SYS_access,
    c::SYS_faccessat,
    c::SYS_faccessat2,
    c::SYS_readlink,
    c::SYS_readlinkat,
    c::SYS_getdents64,
    c::SYS_getcwd,
    c::SYS_fgetxattr,
    c::SYS_fadvise64,
    c::SYS_flock,
];

/// Writes what Landlock lets it write: files and folders below those that it holds.
const WRITES: &[c::c_long] = &[
    c::SYS_write,
    c::SYS_writev,
    c::SYS_pwrite64,
    c::SYS_pwritev,
    c::SYS_pwritev2,
    c::SYS_copy_file_range,
    c::SYS_sendfile,
    c::SYS_splice,
    c::SYS_ftruncate,
    c::SYS_fallocate,
    c::SYS_fsync,
    c::SYS_fdatasync,
    c::SYS_mkdir,
    c::SYS_mkdirat,
    c::SYS_rename,
    c::SYS_renameat,
    c::SYS_renameat2,
    c::SYS_link,
    c::SYS_linkat,
    c::SYS_unlink,
    c::SYS_unlinkat,
    c::SYS_rmdir,
    c::SYS_fchown,
    c::SYS_fchownat,
    c::SYS_umask,
];

/// Has memory, threads, and children that are copies of itself.
const RUNS: &[c::c_long] = &[
    c::SYS_brk,
    c::SYS_mmap,
    c::SYS_munmap,
    c::SYS_mremap,
    c::SYS_mprotect,
    c::SYS_madvise,
    c::SYS_membarrier,
    c::SYS_futex,
    c::SYS_futex_waitv,
    c::SYS_set_robust_list,
    c::SYS_get_robust_list,
    c::SYS_set_tid_address,
    c::SYS_rseq,
    c::SYS_arch_prctl,
    c::SYS_exit,
    c::SYS_exit_group,
    c::SYS_wait4,
    c::SYS_waitid,
    c::SYS_sched_yield,
    c::SYS_sched_getaffinity,
    c::SYS_rt_sigaction,
    c::SYS_rt_sigprocmask,
    c::SYS_rt_sigreturn,
    c::SYS_sigaltstack,
    c::SYS_restart_syscall,
];

/// Waits, and knows the time.
const WAITS: &[c::c_long] = &[
    c::SYS_poll,
    c::SYS_ppoll,
    c::SYS_select,
    c::SYS_pselect6,
    c::SYS_epoll_create1,
    c::SYS_epoll_ctl,
    c::SYS_epoll_wait,
    c::SYS_epoll_pwait,
    c::SYS_epoll_pwait2,
    c::SYS_eventfd2,
    c::SYS_pipe,
    c::SYS_pipe2,
    c::SYS_nanosleep,
    c::SYS_clock_nanosleep,
    c::SYS_clock_gettime,
    c::SYS_clock_getres,
    c::SYS_gettimeofday,
    c::SYS_time,
];

/// Asks about itself and the machine.
const ASKS: &[c::c_long] = &[
    c::SYS_getpid,
    c::SYS_getppid,
    c::SYS_gettid,
    c::SYS_getuid,
    c::SYS_geteuid,
    c::SYS_getgid,
    c::SYS_getegid,
    c::SYS_getresuid,
    c::SYS_getresgid,
    c::SYS_getgroups,
    c::SYS_getpgrp,
    c::SYS_capget,
    c::SYS_getrlimit,
    c::SYS_setrlimit,
    c::SYS_getrusage,
    c::SYS_times,
    c::SYS_getcpu,
    c::SYS_getrandom,
    c::SYS_sysinfo,
    c::SYS_uname,
];

/// Gives up more.
const RESTRICTS: &[c::c_long] =
    &[c::SYS_seccomp, c::SYS_landlock_create_ruleset, c::SYS_landlock_add_rule, c::SYS_landlock_restrict_self];

/// Answers on sockets that were bound before. No reader opens one.
const SERVES: &[c::c_long] = &[
    c::SYS_accept,
    c::SYS_accept4,
    c::SYS_recvfrom,
    c::SYS_recvmsg,
    c::SYS_sendto,
    c::SYS_sendmsg,
    c::SYS_getsockname,
    c::SYS_getpeername,
    c::SYS_getsockopt,
    c::SYS_setsockopt,
    c::SYS_shutdown,
];

/// What a reader does, and the calls that this takes.
const ALWAYS: [(&str, &[c::c_long]); 6] = [
    ("reads files and folders, and looks at their names", READS),
    ("writes where Landlock lets it", WRITES),
    ("has memory, threads, and children that are copies of itself", RUNS),
    ("waits, and knows the time", WAITS),
    ("asks about itself and the machine", ASKS),
    ("gives up more", RESTRICTS),
];

/// What is allowed of a call by one of its arguments.
struct Limited {
    call: c::c_long,
    /// Number of the argument, from 0.
    argument: u8,
    test: Test,
}

enum Test {
    IsOneOf(&'static [u64]),
    /// None of these bits is set.
    HasNoneOf(u64),
    IsThisProcess,
}

/// Terminals: whether there is one, and its size. Descriptors: blocking or not, closed by exec.
const IOCTLS: &[u64] = &[c::TCGETS, TCGETS2, c::TIOCGWINSZ, c::FIONBIO, c::FIONREAD, c::FIOCLEX];
/// `TCGETS2` of asm-generic/ioctls.h, which newer C libraries use.
const TCGETS2: u64 = 0x802c_542a;
/// Nothing that makes signals (F_SETOWN, F_SETSIG, F_NOTIFY).
const FCNTLS: &[u64] = &[
    c::F_DUPFD as u64,
    c::F_DUPFD_CLOEXEC as u64,
    c::F_GETFD as u64,
    c::F_SETFD as u64,
    c::F_GETFL as u64,
    c::F_SETFL as u64,
    c::F_GETLK as u64,
    c::F_SETLK as u64,
    c::F_SETLKW as u64,
];
/// The name of a thread, the end of a child with its parent, and giving up more.
const PRCTLS: &[u64] = &[
    c::PR_SET_NAME as u64,
    c::PR_SET_PDEATHSIG as u64,
    c::PR_SET_VMA as u64,
    c::PR_SET_NO_NEW_PRIVS as u64,
    c::PR_GET_DUMPABLE as u64,
    c::PR_SET_DUMPABLE as u64,
    c::PR_CAP_AMBIENT as u64,
    PR_GET_AUXV,
];
/// What the kernel told this process as it began (linux/prctl.h, Linux 6.4): rustix asks for the size of pages by it.
const PR_GET_AUXV: u64 = 0x4155_5856;
/// Threads, and children without namespaces of their own.
const NAMESPACES: u64 = (c::CLONE_NEWNS
    | c::CLONE_NEWCGROUP
    | c::CLONE_NEWUTS
    | c::CLONE_NEWIPC
    | c::CLONE_NEWUSER
    | c::CLONE_NEWPID
    | c::CLONE_NEWNET
    | c::CLONE_PTRACE) as u64;
/// Set-user-ID, set-group-ID and sticky.
const SPECIAL_MODES: u64 = 0o7000;

const LIMITED: &[Limited] = &[
    Limited { call: c::SYS_ioctl, argument: 1, test: Test::IsOneOf(IOCTLS) },
    Limited { call: c::SYS_fcntl, argument: 1, test: Test::IsOneOf(FCNTLS) },
    Limited { call: c::SYS_prctl, argument: 0, test: Test::IsOneOf(PRCTLS) },
    Limited { call: c::SYS_clone, argument: 0, test: Test::HasNoneOf(NAMESPACES) },
    Limited { call: c::SYS_fchmod, argument: 1, test: Test::HasNoneOf(SPECIAL_MODES) },
    Limited { call: c::SYS_prlimit64, argument: 0, test: Test::IsOneOf(&[0]) },
    Limited { call: c::SYS_tgkill, argument: 0, test: Test::IsThisProcess },
];

impl Limited {
    fn rules(&self) -> Result<Vec<SeccompRule>, Error> {
        let rule = |test: SeccompCmpOp, value: u64| {
            let condition = SeccompCondition::new(self.argument, SeccompCmpArgLen::Dword, test, value)?;
            Ok(SeccompRule::new(vec![condition])?)
        };
        match self.test {
            Test::IsOneOf(values) => values.iter().map(|&value| rule(SeccompCmpOp::Eq, value)).collect(),
            Test::HasNoneOf(bits) => Ok(vec![rule(SeccompCmpOp::MaskedEq(bits), 0)?]),
            Test::IsThisProcess => Ok(vec![rule(SeccompCmpOp::Eq, u64::from(std::process::id()))?]),
        }
    }
}

/// The filter of a reader, which may `serve`.
pub fn filter(serves: bool) -> Result<BpfProgram, Error> {
    let serving = if serves { SERVES } else { &[] };
    let always = ALWAYS.iter().flat_map(|(_, calls)| *calls).chain(serving);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = always.map(|&call| (call, Vec::new())).collect();
    for limited in LIMITED {
        rules.insert(limited.call, limited.rules()?);
    }
    let error = SeccompAction::Errno(c::EPERM as u32);
    let filter = SeccompFilter::new(rules, error.clone(), SeccompAction::Allow, TargetArch::x86_64)?;
    let rules = BpfProgram::try_from(filter)?;
    Ok(refuse_x32(&error).into_iter().chain(hide_clone3()).chain(rules).collect())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use dwell_model::Syscall;

    use super::*;

    /// What is allowed of the limited calls, in words.
    const ONLY: [&str; LIMITED.len()] = [
        "whether there is a terminal, its size; of a descriptor whether it blocks, how much it has, and that exec closes it",
        "copies, flags and locks of descriptors; nothing that makes signals",
        "a thread's name, memory's names, what the kernel told it as it began, the end of a child with its parent, giving up more",
        "threads and copies of itself; no namespaces",
        "without set-user-ID, set-group-ID and sticky",
        "its own limits",
        "its own threads",
    ];

    fn names(calls: &[c::c_long]) -> String {
        let names: Vec<String> = calls.iter().map(|&call| Syscall::name_of(call as i16)).collect();
        names.join(", ")
    }

    fn page() -> String {
        let mut page = "# What a reading command may do\n\n\
            `report`, `view`, `source`, `compare`, `merge`, `finalize`, `pt`, `anatomy report` and `compare`, and `collect` once it has \
            recorded, read\nwhat others made. Before that each gives up every system call but these, for good; `make generate` makes \
            this page from the filter's\ntable, and the cases `confined::` try others in each command. A refused call fails with EPERM; \
            clone3 with ENOSYS, so that the C\nlibrary uses clone.\n\n| it | by |\n|---|---|\n"
            .to_owned();
        for (what, calls) in ALWAYS.iter().chain(&[("as `view`, answers on sockets that were bound before", SERVES)]) {
            let _ = writeln!(page, "| {what} | {} |", names(calls));
        }
        page.push_str("\nOf these calls a part, by an argument:\n\n| call | only |\n|---|---|\n");
        for (limited, only) in LIMITED.iter().zip(ONLY) {
            let _ = writeln!(page, "| {} | {only} |", names(&[limited.call]));
        }
        page.push_str(
            "\nWhere `DEBUGINFOD_URLS` is set, `finalize` and `collect` run curl, and `--target ssh:` runs tar: of these programs' calls only \
             those are refused\nthat change other processes, the machine or their own rights (`NEVER` in `crates/rights/src/confine.rs`). So \
             are the collector's\nwhile it records, less the few by which it records.\n",
        );
        page
    }

    #[test]
    fn the_page_has_the_calls() {
        dwell_generated::is_current("docs/confinement.md", &page());
    }

    #[test]
    fn no_call_is_listed_twice() {
        let mut calls: Vec<c::c_long> = ALWAYS.iter().flat_map(|(_, calls)| *calls).chain(SERVES).copied().collect();
        calls.extend(LIMITED.iter().map(|limited| limited.call));
        let count = calls.len();
        calls.sort_unstable();
        calls.dedup();
        assert_eq!(calls.len(), count);
    }
}
