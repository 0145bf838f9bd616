//! What a command that reads still is when it shows what it read: the user who called sudo, or root with one right left; in either
//! case unable to start a program or to write elsewhere.
//!
//! Each command is looked at while it prints: its output is a pipe that is full.

use std::fs::{self, Permissions};
use std::io::{PipeReader, PipeWriter, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::OFlags;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{dwell, needs_program, needs_recording, sample, wait_for};

const USER: u32 = 65_534;
/// Opens and reads any file.
const DAC_READ_SEARCH: u64 = 1 << 2;
const SYS_PTRACE: u64 = 1 << 19;
/// DAC_READ_SEARCH, writing files of other users, and making files theirs.
const COPIES: u64 = 0b1111;
/// Capabilities that change the machine: CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_ADMIN, CAP_SYS_BOOT,
/// CAP_SYS_TIME, CAP_MKNOD, CAP_SETFCAP.
const OF_THE_MACHINE: u64 = 1 << 12 | 1 << 13 | 1 << 16 | 1 << 17 | 1 << 21 | 1 << 22 | 1 << 25 | 1 << 27 | 1 << 31;
/// As `/proc/PID/status` says that a filter of system calls is in force.
const FILTERED: &str = "2";
/// How `/proc/PID/syscall` begins of a thread in write(2).
const WRITE: &str = "1 ";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("confined::under_sudo_readers_are_the_users", || readers(true)),
        Case::new("confined::roots_readers_only_read", || readers(false)),
        Case::new("confined::what_only_root_may_read_root_reads", what_only_root_may_read),
        Case::new("confined::readers_make_no_call_that_they_do_not_need", attacks),
        Case::new("confined::who_records_keeps_what_it_names", who_records),
    ]
}

/// What each thread of a process may do.
#[derive(Debug, PartialEq)]
struct Standing {
    uid: u32,
    /// Those that it has or can have.
    capabilities: u64,
    is_filtered: bool,
    gains_nothing: bool,
}

impl Standing {
    fn of(status: &str) -> Result<Self> {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.map(str::trim).with_context(|| format!("no {name}: {status}"))
        };
        let ids: Vec<u32> = field("Uid")?.split_whitespace().filter_map(|id| id.parse().ok()).collect();
        let [uid, ..] = ids[..] else { bail!("no user: {status}") };
        ensure!(ids.iter().all(|id| *id == uid), "it could go back: {status}");
        Ok(Self {
            uid,
            capabilities: u64::from_str_radix(field("CapPrm")?, 16)?,
            is_filtered: field("Seccomp")? == FILTERED,
            gains_nothing: field("NoNewPrivs")? == "1",
        })
    }
}

/// Both ends of a pipe that takes no more.
fn full_pipe() -> Result<(PipeReader, PipeWriter)> {
    let (reads, mut writes) = std::io::pipe()?;
    rustix::fs::fcntl_setfl(&writes, OFlags::NONBLOCK)?;
    while writes.write(&[b' '; 4096]).is_ok() {}
    while writes.write(b" ").is_ok() {}
    rustix::fs::fcntl_setfl(&writes, OFlags::empty())?;
    Ok((reads, writes))
}

/// What every thread of the command is while it waits to print.
fn while_it_prints(command: &mut Command, errors_too: bool) -> Result<Vec<Standing>> {
    let (reads, writes) = full_pipe()?;
    let errors = if errors_too { Stdio::from(writes.try_clone()?) } else { Stdio::null() };
    let mut child = command.stdin(Stdio::null()).stdout(writes).stderr(errors).spawn()?;
    let found = waiting_to_print(&child);
    drop(reads); // it gets EPIPE, and ends
    child.wait()?;
    found
}

fn waiting_to_print(child: &Child) -> Result<Vec<Standing>> {
    let process = format!("/proc/{}", child.id());
    let writes = || fs::read_to_string(format!("{process}/syscall")).is_ok_and(|call| call.starts_with(WRITE));
    wait_for("it prints", || writes().then_some(()))?;
    threads_of(child.id())
}

fn threads_of(pid: u32) -> Result<Vec<Standing>> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))?.flatten();
    tasks.map(|task| Standing::of(&fs::read_to_string(task.path().join("status"))?)).collect()
}

/// A folder of the user's with results of theirs: one finished, and one raw.
fn results() -> Result<TempDir> {
    let folder = TempDir::new()?;
    for (name, mode) in [("one", "full"), ("raw", "none")] {
        let options = ["collect", "threading", "--quiet", "--finalization-mode", mode, "--result-dir", name, "--"];
        let status =
            dwell(&options).arg(sample("convoy")?).current_dir(folder.path()).stdout(Stdio::null()).status()?;
        ensure!(status.success(), "{name}: {status}");
    }
    Ok(folder)
}

fn give_to_user(path: &Path) -> Result<()> {
    rustix::fs::chown(path, Some(rustix::fs::Uid::from_raw(USER)), Some(rustix::fs::Gid::from_raw(USER)))?;
    if path.is_dir() {
        fs::read_dir(path)?.flatten().try_for_each(|entry| give_to_user(&entry.path()))?;
    }
    Ok(())
}

fn under_sudo(command: &mut Command) {
    command.env("SUDO_USER", "nobody").env("SUDO_UID", USER.to_string()).env("SUDO_GID", USER.to_string());
}

fn readers(by_sudo: bool) -> Result<()> {
    needs_recording()?;
    let folder = results()?;
    if by_sudo {
        give_to_user(folder.path())?;
    }
    // Each prints at its end; `collect` says something before, too.
    let commands: [(&[&str], bool); 6] = [
        (&["report", "summary", "one"], false),
        (&["source", "one", "main"], false),
        (&["compare", "one", "one"], false),
        (&["merge", "one", "one", "--offset-ns", "0", "--result-dir", "both"], true),
        (&["finalize", "raw"], true),
        (&["collect", "threading", "--result-dir", "made", "--", "sleep", "0.2"], false),
    ];
    let uid = if by_sudo { USER } else { 0 };
    for (words, errors_too) in commands {
        let mut command = dwell(words);
        command.current_dir(folder.path());
        if by_sudo {
            under_sudo(&mut command);
        }
        let found = while_it_prints(&mut command, errors_too).with_context(|| words.join(" "))?;
        let is_right = |it: &Standing| {
            let rights = it.capabilities & !if by_sudo { 0 } else { DAC_READ_SEARCH };
            it.uid == uid && rights == 0 && it.is_filtered && it.gains_nothing
        };
        ensure!(!found.is_empty() && found.iter().all(is_right), "{words:?}: {found:?}");
    }
    for made in ["both", "made"] {
        let owner = fs::metadata(folder.path().join(made).join("tables"))?.uid();
        ensure!(owner == uid, "{made} is {owner}'s");
    }
    Ok(())
}

/// Under sudo, in a folder that the user may not enter.
fn what_only_root_may_read() -> Result<()> {
    needs_recording()?;
    let folder = results()?;
    fs::set_permissions(folder.path(), Permissions::from_mode(0o700))?;
    let result = folder.path().join("one").display().to_string();
    let mut command = dwell(&["report", "summary", &result]);
    under_sudo(&mut command);
    let found = while_it_prints(&mut command, false)?;
    ensure!(found.iter().all(|it| it.uid == 0 && it.is_filtered && it.gains_nothing), "{found:?}");
    let outside = TempDir::new()?;
    let output = outside.path().join("report.txt").display().to_string();
    let mut command = dwell(&["report", "summary", &result, "--output", &output]);
    under_sudo(&mut command);
    ensure!(command.status()?.success() && fs::metadata(&output)?.uid() == USER, "no report, or not the user's");
    Ok(())
}

/// While root records: the collector, the thread of it that copies files, and the program, which keeps all.
fn who_records() -> Result<()> {
    needs_recording()?;
    if threads_of(std::process::id())?.iter().any(|it| it.capabilities & SYS_PTRACE == 0) {
        return Err(Skip("without CAP_SYS_PTRACE root keeps all".into()).into());
    }
    let folder = TempDir::new()?;
    // With ITT it keeps CAP_SYS_ADMIN before Linux 6.10.
    let mut command = dwell(&["collect", "threading", "--quiet", "--no-itt", "--", "cat"]);
    let mut child = command.current_dir(folder.path()).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let program = wait_for("the program runs", || {
        let pid: u32 = fs::read_to_string(&children).ok()?.trim().parse().ok()?;
        (fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim() == "cat").then_some(pid)
    })?;
    let has_settled = |threads: &Vec<Standing>| {
        threads.iter().all(|it| it.is_filtered) && threads.iter().any(|it| it.capabilities & !COPIES == 0)
    };
    let settled = || threads_of(child.id()).ok().filter(has_settled);
    let collector = wait_for("the collector has settled", settled);
    let (program, own) = (threads_of(program)?, threads_of(std::process::id())?);
    drop(child.stdin.take()); // the program ends
    ensure!(child.wait()?.success(), "the collection failed");
    let collector = collector?;
    ensure!(collector.iter().all(|it| it.gains_nothing && it.capabilities & OF_THE_MACHINE == 0), "{collector:?}");
    ensure!(collector.iter().filter(|it| it.capabilities & !COPIES == 0).count() == 1, "{collector:?}");
    ensure!(program.iter().all(|it| *it == own[0]), "{program:?} {own:?}");
    Ok(())
}

/// A call that a reader which a file took over would like to make: number, arguments as gdb's, what it does.
const ATTACKS: &[(i64, &str, &str)] = &[
    (libc::SYS_ioctl, "0, 0x5412, \"#\", 0", "types into the terminal"),
    (libc::SYS_ioctl, "0, 0x541c, \"#\", 0", "pastes into the terminal"),
    (libc::SYS_kill, "$other, 0, 0, 0", "signals a process"),
    (libc::SYS_tgkill, "$other, $other, 0, 0", "signals a thread of another process"),
    (libc::SYS_tkill, "$other, 0, 0, 0", "signals a thread"),
    (libc::SYS_rt_sigqueueinfo, "$other, 0, 0, 0", "signals with a value"),
    (libc::SYS_pidfd_open, "$other, 0, 0, 0", "opens a process"),
    (libc::SYS_fcntl, "0, 8, $other, 0", "has another process signalled by input"),
    (libc::SYS_execve, "\"/bin/true\", 0, 0, 0", "runs a program"),
    (libc::SYS_clone, "0x10000011, 0, 0, 0", "makes a user namespace"),
    (libc::SYS_unshare, "0x10000000, 0, 0, 0", "enters a user namespace"),
    (libc::SYS_chmod, "\"/tmp\", 04777, 0, 0", "makes a program set-user-ID"),
    (libc::SYS_fchmod, "0, 04755, 0, 0", "makes an open program set-user-ID"),
    (libc::SYS_utime, "\"/tmp\", 0, 0, 0", "changes a file's times"),
    (libc::SYS_utimensat, "-100, \"/tmp\", 0, 0", "changes a file's times"),
    (libc::SYS_setxattr, "\"/tmp\", \"user.x\", \"y\", 1", "changes a file's attributes"),
    (libc::SYS_truncate, "\"/tmp/none\", 0, 0, 0", "empties a file"),
    (libc::SYS_symlink, "\"/tmp\", \"/tmp/dwell-link\", 0, 0", "makes a link"),
    (libc::SYS_prlimit64, "$other, 7, 0, 0", "changes another process's limits"),
    (libc::SYS_sched_setaffinity, "$other, 8, $sp, 0", "moves another process"),
    (libc::SYS_setpriority, "0, $other, 19, 0", "slows another process down"),
    (libc::SYS_ptrace, "16, $other, 0, 0", "traces a process"),
    (libc::SYS_process_vm_readv, "$other, $sp, 0, $sp", "reads another process's memory"),
    (libc::SYS_socket, "1, 1, 0, 0", "opens a local socket"),
    (libc::SYS_socket, "2, 1, 0, 0", "opens a network socket"),
    (libc::SYS_connect, "0, $sp, 2, 0", "connects"),
    (libc::SYS_bind, "0, $sp, 2, 0", "binds"),
    (libc::SYS_io_uring_setup, "8, $sp, 0, 0", "makes a ring of unseen calls"),
    (libc::SYS_shmget, "4711, 4096, 01600, 0", "makes shared memory"),
    (libc::SYS_mq_open, "\"dwell\", 0102, 0600, 0", "makes a message queue"),
    (libc::SYS_memfd_create, "\"x\", 0, 0, 0", "makes a file without a place"),
    (libc::SYS_name_to_handle_at, "-100, \"/\", $sp, $sp", "names a file by number"),
    (libc::SYS_perf_event_open, "0, 0, 0, 0", "opens a perf event"),
    (libc::SYS_bpf, "0, 0, 0, 0", "loads a BPF program"),
    (libc::SYS_keyctl, "0, 0, 0, 0", "takes keys"),
    (libc::SYS_inotify_init1, "0, 0, 0, 0", "watches files"),
];

/// Stops a command behind the call that sets its filter, and makes calls there: by the registers, as gdb's own calls of functions write
/// the vector registers, too, which not every gdb can on every CPU.
const GDB: &str = "\
set pagination off
set confirm off
set breakpoint pending on
catch syscall seccomp
run
continue
delete
set $call = $pc - 2
finish
set scheduler-locking on
python
class Attack(gdb.Command):
    def __init__(self): super().__init__('attack', gdb.COMMAND_USER)
    def invoke(self, words, tty):
        free = int(gdb.parse_and_eval('(long)$sp')) - 8192
        values = []
        for word in words.split(', '):
            if word.startswith('\"'):
                gdb.selected_inferior().write_memory(free, word.strip('\"').encode() + b'\\0')
                values.append(free)
                free += 256
            else:
                values.append(int(gdb.parse_and_eval('(long)(' + word + ')')))
        values += [0] * (7 - len(values))
        for register, value in zip(['rax', 'rdi', 'rsi', 'rdx', 'r10', 'r8', 'r9'], values):
            gdb.execute('set $%s = %d' % (register, value))
        gdb.execute('set $orig_rax = -1')
        gdb.execute('set $rip = $call')
        gdb.execute('stepi', to_string=True)
        print('ATTACK', max(0, -int(gdb.parse_and_eval('(long)$rax'))))
Attack()
end
";

/// gdb makes the calls in each reading command once its filter is in force.
fn attacks() -> Result<()> {
    needs_recording()?;
    let gdb = needs_program("gdb")?;
    let folder = results()?;
    let mut other = Command::new("sleep").arg("300").spawn()?;
    let script = folder.path().join("attacks.gdb");
    let attacks: String =
        ATTACKS.iter().map(|(number, arguments, _)| format!("attack {number}, {arguments}\n")).collect();
    let text = format!("{GDB}set $other = {}\n{attacks}kill\nquit\n", other.id());
    fs::write(&script, text)?;
    let commands: [&[&str]; 6] = [
        &["report", "summary", "one"],
        &["source", "one", "main"],
        &["compare", "one", "one"],
        &["merge", "one", "one", "--offset-ns", "0", "--result-dir", "both"],
        &["finalize", "raw"],
        &["view", "--no-browser", "one"],
    ];
    let mut outcome = Ok(());
    for words in commands {
        let command = dwell(words);
        let mut gdb = Command::new(&gdb);
        gdb.args(["-q", "-batch", "-nx", "-x"]).arg(&script).arg("--args").arg(command.get_program()).args(words);
        let output = gdb.current_dir(folder.path()).stdin(Stdio::null()).output()?;
        outcome = outcome.and_then(|()| were_refused(words, &String::from_utf8_lossy(&output.stdout)));
    }
    other.kill()?;
    other.wait()?;
    outcome
}

fn were_refused(words: &[&str], shown: &str) -> Result<()> {
    let numbers: Vec<i32> =
        shown.lines().filter_map(|line| line.strip_prefix("ATTACK ")?.trim().parse().ok()).collect();
    ensure!(numbers.len() == ATTACKS.len(), "{words:?}: {} of {} were tried: {shown}", numbers.len(), ATTACKS.len());
    let allowed = numbers.iter().zip(ATTACKS).filter(|(number, _)| **number != libc::EPERM);
    let allowed: Vec<_> = allowed.map(|(number, (_, arguments, what))| (what, arguments, number)).collect();
    ensure!(allowed.is_empty(), "{words:?} may do what no reader needs: {allowed:?}");
    Ok(())
}
