//! Confinement of who meets what others made. A command that only reads keeps the few rights that it needs, whoever runs it: a
//! hostile file that took over one of its readers could neither run a program, nor reach another process, nor write elsewhere.
//! A collector keeps what recording takes ([`confine_recorder`]).
//!
//! Takes what the command still has to do; gives up all else, for good. What the kernel does not offer (Landlock, before
//! Linux 5.13; seccomp, in a container that refuses it) is left out: the reader's own checks are the first line, not these.

mod call_numbers;
mod reader_calls;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError,
};
use libc as c;
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, apply_filter_all_threads,
};

use call_numbers::refuse_x32;

/// What a command that reads still has to do.
#[derive(Debug, Default)]
pub struct Needs {
    /// Folders that it writes below, and files that it writes.
    pub writes: Vec<OwnedFd>,
    /// Writes into a folder of another user's, as root.
    pub writes_for_others: bool,
    /// Runs programs that reach other machines.
    pub fetches: bool,
    /// Answers on a socket.
    pub serves: bool,
}

/// Landlock of Linux 6.2, the first that keeps whoever may not write from emptying files; older ones do what they can.
const KNOWN: ABI = ABI::V3;

/// No collector and no program that fetches needs these: they change other processes, the machine, or this process's own rights.
const NEVER: &[c::c_long] = &[
    c::SYS_acct,
    c::SYS_add_key,
    c::SYS_adjtimex,
    c::SYS_bpf,
    c::SYS_capset,
    c::SYS_chroot,
    c::SYS_clock_adjtime,
    c::SYS_clock_settime,
    c::SYS_delete_module,
    c::SYS_finit_module,
    c::SYS_fsconfig,
    c::SYS_fsmount,
    c::SYS_fsopen,
    c::SYS_fspick,
    c::SYS_init_module,
    c::SYS_io_uring_setup,
    c::SYS_ioperm,
    c::SYS_iopl,
    c::SYS_kcmp,
    c::SYS_kexec_file_load,
    c::SYS_kexec_load,
    c::SYS_keyctl,
    c::SYS_mknod,
    c::SYS_mknodat,
    c::SYS_modify_ldt,
    c::SYS_mount,
    c::SYS_mount_setattr,
    c::SYS_move_mount,
    c::SYS_open_by_handle_at,
    c::SYS_open_tree,
    c::SYS_perf_event_open,
    c::SYS_personality,
    c::SYS_pidfd_getfd,
    c::SYS_pidfd_send_signal,
    c::SYS_pivot_root,
    c::SYS_process_madvise,
    c::SYS_process_vm_readv,
    c::SYS_process_vm_writev,
    c::SYS_ptrace,
    c::SYS_quotactl,
    c::SYS_reboot,
    c::SYS_request_key,
    c::SYS_rt_sigqueueinfo,
    c::SYS_rt_tgsigqueueinfo,
    c::SYS_setdomainname,
    c::SYS_setfsgid,
    c::SYS_setfsuid,
    c::SYS_setgid,
    c::SYS_setgroups,
    c::SYS_sethostname,
    c::SYS_setns,
    c::SYS_setregid,
    c::SYS_setresgid,
    c::SYS_setresuid,
    c::SYS_setreuid,
    c::SYS_settimeofday,
    c::SYS_setuid,
    c::SYS_swapoff,
    c::SYS_swapon,
    c::SYS_syslog,
    c::SYS_tkill,
    c::SYS_umount2,
    c::SYS_unshare,
    c::SYS_userfaultfd,
    c::SYS_vhangup,
];
/// What a collector does of that: it reads stacks and kernel tables, raises its rights, and becomes its user in the end. It lets go
/// of a program that made it its tracer ([`OF_PTRACE`]).
const TO_RECORD: &[c::c_long] = &[
    c::SYS_bpf,
    c::SYS_capset,
    c::SYS_perf_event_open,
    c::SYS_process_vm_readv,
    c::SYS_setgroups,
    c::SYS_setresgid,
    c::SYS_setresuid,
];
/// The requests of ptrace(2) that a collector makes.
const OF_PTRACE: [c::c_uint; 2] = [c::PTRACE_GETSIGINFO, c::PTRACE_DETACH];
/// Keeps only what `needs` names: of this thread and all that it makes, and their programs. Call it before there is a
/// second thread.
///
/// # Errors
///
/// Those of capset(2): then the process must not go on.
pub fn confine(needs: &Needs) -> io::Result<()> {
    drop_capabilities(needs)?;
    set_no_new_privs(true)?;
    let _ = write_only_below(needs);
    let _ = forbid_calls(needs);
    Ok(())
}

/// Keeps what a collector that has started needs until its end: root's named capabilities in this thread, CAP_SYS_ADMIN among them
/// only if it `administers`, and in all threads none of the calls that change the machine or what it is. The profiled program is
/// another process by then, and keeps all.
///
/// Who may not trace everybody keeps all capabilities, too: the kernel lets a process look into one of the same user only if it has
/// all that the other one has.
///
/// # Errors
///
/// Those of capset(2): then the process must not go on.
pub fn confine_recorder(administers: bool) -> io::Result<()> {
    let permitted = capabilities(None)?.permitted;
    if geteuid().is_root() && permitted.contains(CapabilitySet::SYS_PTRACE) {
        // Some containers give these rights by the older name.
        let has_all = permitted.contains(NEWER);
        let older = if has_all && !administers { CapabilitySet::empty() } else { CapabilitySet::SYS_ADMIN };
        keep_capabilities(RECORDS | WRITES_FOR_OTHERS | older)?;
    }
    let refused = NEVER.iter().filter(|call| !TO_RECORD.contains(call));
    let _ = other_than(&OF_PTRACE).and_then(|other| {
        let rules = refused.map(|&call| (call, if call == c::SYS_ptrace { vec![other.clone()] } else { Vec::new() }));
        apply_filter_all_threads(&filter(rules)?)
    });
    Ok(())
}

/// Keeps, of root's capabilities, those that read any file and write for others: in this thread.
///
/// # Errors
///
/// Those of capset(2).
pub fn keep_to_copy() -> io::Result<()> {
    if geteuid().is_root() { keep_capabilities(READS | WRITES_FOR_OTHERS) } else { crate::keep(&[]) }
}

/// Keeps, of root's capabilities, the one that signals any process: in the process that relays a terminal.
///
/// # Errors
///
/// Those of capset(2).
pub fn keep_to_relay() -> io::Result<()> {
    keep_capabilities(CapabilitySet::KILL)
}

/// Reads any file.
const READS: CapabilitySet = CapabilitySet::DAC_READ_SEARCH;
/// Writes files of other users, and makes files theirs.
const WRITES_FOR_OTHERS: CapabilitySet =
    CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::CHOWN).union(CapabilitySet::FOWNER);
/// Parts of what CAP_SYS_ADMIN gave before Linux 5.8 and 5.9: hooks and tables, and the files that processes have mapped.
const NEWER: CapabilitySet = CapabilitySet::BPF.union(CapabilitySet::PERFMON).union(CapabilitySet::CHECKPOINT_RESTORE);
/// That, other users' processes and their files, the kernel's symbols, staying ahead of real-time threads, and becoming the user
/// who called sudo.
const RECORDS: CapabilitySet = READS
    .union(NEWER)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::SYSLOG)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID);

/// Root reads any file, and nothing else.
fn drop_capabilities(needs: &Needs) -> io::Result<()> {
    keep_capabilities(match (geteuid().is_root(), needs.writes_for_others) {
        (false, _) => CapabilitySet::empty(),
        (true, false) => READS,
        (true, true) => READS | WRITES_FOR_OTHERS,
    })
}

fn keep_capabilities(kept: CapabilitySet) -> io::Result<()> {
    let permitted = capabilities(None)?.permitted & kept;
    let left = CapabilitySets { effective: permitted, permitted, inheritable: CapabilitySet::empty() };
    Ok(set_capabilities(None, left)?)
}

fn write_only_below(needs: &Needs) -> Result<RestrictionStatus, RulesetError> {
    let writing = AccessFs::from_write(KNOWN);
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(writing)?.create()?;
    let allow = |ruleset: RulesetCreated, place: &OwnedFd| {
        let allowed: BitFlags<AccessFs> = if is_folder(place) { writing } else { writing & AccessFs::from_file(KNOWN) };
        ruleset.add_rule(PathBeneath::new(place, allowed))
    };
    needs.writes.iter().try_fold(ruleset, allow)?.restrict_self()
}

fn is_folder(place: &OwnedFd) -> bool {
    rustix::fs::fstat(place).is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir())
}

/// Refused with EPERM: a library that tries one gets an error, and the program goes on. Who fetches runs programs that nobody has listed
/// the calls of: there the list is of those that are refused.
fn forbid_calls(needs: &Needs) -> Result<(), seccompiler::Error> {
    if needs.fetches {
        return apply_filter(&filter(NEVER.iter().map(|&call| (call, Vec::new())))?);
    }
    apply_filter(&reader_calls::filter(needs.serves)?)
}

/// A call's first argument is other than these.
fn other_than(arguments: &[c::c_uint]) -> Result<SeccompRule, seccompiler::Error> {
    let other =
        |&argument: &c::c_uint| SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, argument.into());
    Ok(SeccompRule::new(arguments.iter().map(other).collect::<Result<_, _>>()?)?)
}

/// Refuses calls: all of a kind, or those to which a rule applies.
fn filter(refused: impl Iterator<Item = (c::c_long, Vec<SeccompRule>)>) -> Result<BpfProgram, seccompiler::Error> {
    let rules: BTreeMap<i64, Vec<SeccompRule>> = refused.collect();
    let error = SeccompAction::Errno(c::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, error.clone(), TargetArch::x86_64)?;
    let rules = BpfProgram::try_from(filter)?;
    Ok(refuse_x32(&error).into_iter().chain(rules).collect())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::net::UdpSocket;
    use std::process::Command;

    use super::*;

    /// What `act` finds in a thread that is confined so.
    fn confined<T: Send>(needs: &Needs, act: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    confine(needs).unwrap();
                    act()
                })
                .join()
                .unwrap()
        })
    }

    #[test]
    fn a_reader_writes_where_it_must_and_nowhere_else() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("theirs"), "whole").unwrap();
        let needs = Needs { writes: vec![File::open(inside.path()).unwrap().into()], ..Needs::default() };
        let (written, moved, made, emptied, read, removed) = confined(&needs, || {
            (
                fs::write(inside.path().join("ours"), "x").is_ok(),
                fs::rename(inside.path().join("ours"), inside.path().join("done")).is_ok(),
                fs::write(outside.path().join("new"), "x").is_ok(),
                File::options().write(true).truncate(true).open(outside.path().join("theirs")).is_ok(),
                fs::read_to_string(outside.path().join("theirs")).is_ok_and(|text| text == "whole"),
                fs::remove_file(outside.path().join("theirs")).is_ok(),
            )
        });
        assert!(written && moved && read);
        if has_landlock() {
            assert!(!made && !emptied && !removed);
            assert_eq!(fs::read_to_string(outside.path().join("theirs")).unwrap(), "whole");
        }
    }

    /// Whether the kernel has Landlock of Linux 6.2 or newer.
    fn has_landlock() -> bool {
        confined(&Needs::default(), || File::create("/dev/null").is_err())
    }

    #[test]
    fn a_reader_runs_nothing_and_reaches_nobody() {
        let tried = || {
            let ran = Command::new("/bin/true").status().is_ok();
            (ran, UdpSocket::bind("127.0.0.1:0").is_ok(), fs::metadata("/").is_ok())
        };
        assert_eq!(confined(&Needs::default(), tried), (false, false, true));
        assert_eq!(confined(&Needs { serves: true, ..Needs::default() }, tried), (false, false, true));
        assert_eq!(confined(&Needs { fetches: true, ..Needs::default() }, tried), (true, true, true));
    }

    #[test]
    fn a_reader_makes_no_call_by_another_number() {
        // getpid(2) of the x32 ABI; a kernel without that says ENOSYS.
        let script = "exit(syscall(0x40000027) == -1 && $!{EPERM} ? 0 : 1)";
        let is_refused = || Command::new("perl").args(["-MErrno", "-e", script]).status().unwrap().success();
        assert!(confined(&Needs { fetches: true, ..Needs::default() }, is_refused));
        assert!(!is_refused(), "the filter is of that thread");
    }

    #[test]
    fn root_reads_and_no_more() {
        let kept = |needs: &Needs| confined(needs, || capabilities(None).unwrap().permitted);
        let reads = if geteuid().is_root() { CapabilitySet::DAC_READ_SEARCH } else { CapabilitySet::empty() };
        assert!(reads.contains(kept(&Needs::default())));
        let writes = kept(&Needs { writes_for_others: true, ..Needs::default() });
        assert!(!writes.intersects(CapabilitySet::SYS_ADMIN | CapabilitySet::SETUID | CapabilitySet::SYS_PTRACE));
        assert!(geteuid().is_root() || writes.is_empty());
    }
}
