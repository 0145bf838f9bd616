//! Hardened machines: under each setting that takes something from Dwell, a collection is exact all the same, or the summary
//! names what is missing.
//!
//! Settings of the whole machine are put back even when the tests are killed. What can be made for one process alone
//! (mounts, networks, capabilities, refused calls) is. Yama's `ptrace_scope=3` is left out: it stays until the next boot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use dwell_model::{SocketCause, Syscall};
use dwell_store::{ResultFolder, Table, Trace};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::conservation;
use crate::harness::{Case, Skip};
use crate::recording::{Recording, Running, collect, needs_program, needs_recording, number, sample, text, wait_for};

/// Status of a command that lacks what it needs.
const UNAVAILABLE: i32 = 77;
const EPERM: &str = "1";
const ENOSYS: &str = "38";

pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case::new("settings::yama_ptrace_scope", yama_ptrace_scope),
        Case::new("settings::hidden_processes", hidden_processes),
        Case::new("settings::nothing_executable_in_temporary_folders", noexec),
        Case::new("settings::read_only_root", read_only_root),
        Case::new("settings::no_sysfs", no_sysfs),
        Case::new("settings::no_ipv6", no_ipv6),
        Case::new("settings::without_capabilities", without_capabilities),
        Case::new("settings::closed_processes", closed_processes),
        Case::new("settings::refused_calls", refused_calls),
        Case::new("settings::no_perf_events", no_perf_events),
        Case::new("settings::no_bpf", no_bpf),
        Case::new("settings::control_group_with_a_quota", control_group),
        Case::new("settings::control_groups_of_version_2_alone", control_groups_2),
    ];
    let addresses = |value| Case::new(format!("settings::kptr_restrict_{value}"), move || kernel_addresses(value));
    cases.extend([0, 1, 2].map(addresses));
    let paranoid = |value| Case::new(format!("settings::perf_event_paranoid_{value}"), move || paranoid(value));
    cases.extend([-1, 0, 1, 2, 3, 4].map(paranoid));
    cases
}

/// A setting of the machine, changed until this is dropped, or until the tests end in whatever way: a shell waits for
/// that at the other end of a pipe.
pub struct Setting(Option<Child>);

impl Setting {
    /// Skips where the machine does not let us.
    pub fn change(name: &str, value: i32) -> Result<Self> {
        let path = format!("/proc/sys/{name}");
        let Ok(before) = fs::read_to_string(&path) else {
            return Err(Skip(format!("this kernel has no {path}")).into());
        };
        let script = "trap '' INT TERM HUP; read -r _; echo \"$1\" > \"$2\"";
        let guard = Command::new("sh")
            .args(["-c", script, "sh", before.trim(), &path])
            .stdin(Stdio::piped())
            .spawn()
            .context("cannot start sh")?;
        let setting = Self(Some(guard));
        match fs::write(&path, value.to_string()) {
            Ok(()) => Ok(setting),
            Err(error) => Err(Skip(format!("{path} cannot be set to {value} here: {error}")).into()),
        }
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        if let Some(mut guard) = self.0.take() {
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
    }
}

/// `command`, after `prefix`: a program that runs the rest of its arguments.
fn behind(prefix: &[&str], command: &Command) -> Command {
    let mut wrapped = Command::new(prefix[0]);
    wrapped.args(&prefix[1..]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    wrapped
}

/// A collection behind `prefix`.
fn recorded(prefix: &[&str], options: &[&str], program: &[&str]) -> Result<Recording> {
    needs_recording()?;
    needs_program(prefix[0])?;
    let folder = TempDir::new()?;
    let output = Running::start(&mut behind(prefix, &collect(folder.path(), options, program)))?.finish()?;
    ensure!(output.code() != UNAVAILABLE, "{}", output.stderr);
    Recording::in_folder(folder, output)
}

/// A collection with mounts of its own, which `script` makes first.
fn with_mounts(script: &str, options: &[&str], program: &[&str]) -> Result<Recording> {
    let script = format!("{script}; exec \"$@\"");
    let prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", &script, "sh"];
    recorded(&prefix, options, program)
}

/// The convoy's waits are exact, and nothing is lost.
fn is_exact(recording: &Recording) -> Result<()> {
    has_exact_waits(recording)?;
    conservation::check(recording, None)
}

/// The convoy's waits for its lock are all there and as long as it measured them itself.
fn has_exact_waits(recording: &Recording) -> Result<()> {
    let waits = recording.rows(&["waits"])?;
    let lock = waits.iter().find(|row| text(row, "object") == "queue_lock").context("no queue_lock")?;
    let truth =
        |key| recording.output.truth(key).with_context(|| format!("no truth {key}: {}", recording.output.stderr));
    let (count, wait_ns) = (number(lock, "wait_count")?, number(lock, "wait_ns")?);
    let (true_count, true_ns) = (truth("queue_lock_waits")?, truth("queue_lock_wait_ns")?);
    ensure!((true_count - count).abs() <= 2.0, "{count} waits, the program counted {true_count}");
    ensure!((true_ns - wait_ns).abs() < 0.05 * true_ns + 5e5, "{wait_ns} ns, the program measured {true_ns}");
    Ok(())
}

fn is_sampled(recording: &Recording) -> Result<()> {
    let hotspots = recording.rows(&["hotspots"])?;
    ensure!(hotspots.iter().any(|row| text(row, "function") == "burn_ns"), "burn_ns is no hotspot: {hotspots:?}");
    Ok(())
}

fn trace(recording: &Recording) -> Result<Trace> {
    Ok(Trace::read(&ResultFolder::open(&recording.path())?)?)
}

fn notice<'t>(trace: &'t Trace, words: &str) -> Option<&'t String> {
    trace.notices.text.iter().find(|text| text.contains(words))
}

/// What the summary says is lost.
fn losses(recording: &Recording) -> Result<String> {
    Ok(recording.report(&["summary"])?["losses"].to_string())
}

/// The share of delayed ACKs in the waits of the connection whose peers run into them.
fn delayed_acks(trace: &Trace) -> f64 {
    let causes = &trace.sockets.causes;
    let sum = |wanted: Option<SocketCause>| -> u64 {
        let rows = (0..causes.len()).filter(|&row| wanted.is_none_or(|wanted| causes.cause[row] == wanted.code()));
        rows.map(|row| causes.cause_ns[row]).sum()
    };
    sum(Some(SocketCause::DelayedAck)) as f64 / sum(None).max(1) as f64
}

/// Delayed ACKs are seen wherever the kernel hides its addresses; its functions have names, or the summary says why not.
fn kernel_addresses(value: i32) -> Result<()> {
    needs_recording()?;
    let recording = {
        let _setting = Setting::change("kernel/kptr_restrict", value)?;
        Recording::of(&["--analyze", "sockets"], &[&sample("sockets")?, "nagle"])?
    };
    let trace = trace(&recording)?;
    let share = delayed_acks(&trace);
    ensure!(share > 0.8, "delayed ACKs are {share:.2} of the wait");
    check_kernel_names(&trace, value == 2)
}

fn check_kernel_names(trace: &Trace, hidden: bool) -> Result<()> {
    let frames = &trace.frames;
    let kernel: Vec<usize> = (0..frames.len()).filter(|&frame| frames.kernel[frame]).collect();
    ensure!(!kernel.is_empty(), "no kernel frames");
    let named = kernel.iter().filter(|&&frame| !frames.function[frame].is_empty()).count();
    let told = notice(trace, "Kernel code has no names");
    ensure!(told.is_some() == hidden, "hidden: {hidden}, told: {told:?}");
    ensure!(hidden || named == kernel.len(), "{named} of {} kernel frames have names", kernel.len());
    Ok(())
}

/// Root may measure whatever the setting is.
fn paranoid(value: i32) -> Result<()> {
    needs_recording()?;
    let _setting = Setting::change("kernel/perf_event_paranoid", value)?;
    let recording = Recording::of(&[], &[&sample("convoy")?])?;
    is_exact(&recording)?;
    is_sampled(&recording)
}

/// Threads that wait already have their stacks at the attach, which reads their memory.
fn yama_ptrace_scope() -> Result<()> {
    needs_recording()?;
    for value in 0..=2 {
        let _setting = Setting::change("kernel/yama/ptrace_scope", value)?;
        let (program, pid) = hung(&[])?;
        let recording = Recording::of(&["--target-pid", &pid, "--duration", "300ms"], &[])?;
        has_hung_stack(&recording)?;
        program.signal(Signal::KILL)?;
    }
    Ok(())
}

/// The sample that hangs, behind `prefix`, once it does, and its id.
fn hung(prefix: &[&str]) -> Result<(Running, String)> {
    let mut command = Command::new(sample("hung")?);
    command.arg("60");
    let mut command = if prefix.is_empty() { command } else { behind(prefix, &command) };
    let program = Running::start(&mut command)?;
    let tasks = PathBuf::from(format!("/proc/{}/task", program.pid()));
    wait_for("its threads", || (fs::read_dir(&tasks).ok()?.count() == 6).then_some(()))?;
    let pid = program.pid().to_string();
    Ok((program, pid))
}

fn has_hung_stack(recording: &Recording) -> Result<()> {
    let waits = recording.rows(&["waits", "--include-idle"])?;
    let lock = waits.iter().find(|row| text(row, "object") == "kept_lock").context("no kept_lock")?;
    ensure!(lock["top_stack"].to_string().contains("wait_for_lock"), "{lock}");
    Ok(())
}

/// Root with CAP_SYS_PTRACE sees all processes; without it, those of others are hidden: a target is still found and
/// recorded.
fn hidden_processes() -> Result<()> {
    const HIDE: &str = "mount -t proc -o hidepid=2 proc /proc";
    let recording = with_mounts(HIDE, &[], &[&sample("convoy")?])?;
    is_exact(&recording)?;
    needs_program("setpriv")?;
    let (program, pid) = hung(&["setpriv", "--reuid", "65534", "--clear-groups"])?;
    let script = format!("{HIDE}; exec setpriv --bounding-set -sys_ptrace \"$@\"");
    let prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", &script, "sh"];
    let recording = recorded(&prefix, &["--target-pid", &pid, "--duration", "300ms"], &[])?;
    ensure!(losses(&recording)?.contains("processes_closed"), "{}", losses(&recording)?);
    ensure!(!recording.rows(&["waits", "--include-idle"])?.is_empty(), "nothing of its waits");
    program.signal(Signal::KILL)
}

/// The two threads of the announcing sample announced 1,000 tasks each.
fn has_tasks(recording: &Recording) -> Result<()> {
    let tasks: f64 = recording.rows(&["tasks"])?.iter().filter_map(|row| number(row, "count").ok()).sum();
    ensure!(tasks == 2000.0, "{tasks} tasks, the program announced 2,000");
    Ok(())
}

/// The library through which programs announce tasks lies elsewhere.
fn noexec() -> Result<()> {
    let mounts =
        "for folder in /tmp /dev/shm; do mount --bind $folder $folder; mount -o remount,bind,noexec $folder; done";
    is_exact(&with_mounts(mounts, &[], &[&sample("convoy")?])?)?;
    has_tasks(&with_mounts(mounts, &[], &[&sample("announce")?, "threads", "1000"])?)
}

/// Nothing can be written but the result. What programs announce then goes there too, by a library that was stored before;
/// without one the summary says that it is missing.
fn read_only_root() -> Result<()> {
    let folder = std::env::temp_dir();
    let folder = folder.display();
    let mounts = format!(
        "mount --bind {folder} {folder}; mount -o remount,bind,ro /; mount -t tmpfs -o ro none /dev/shm; \
         mount -t tmpfs -o ro none /var/cache; mount -t tmpfs -o ro none /run"
    );
    is_exact(&with_mounts(&mounts, &[], &[&sample("convoy")?])?)?;
    let recording = with_mounts(&mounts, &[], &[&sample("announce")?, "threads", "1000"])?;
    let trace = trace(&recording)?;
    let words = "What the program announces through ITT is not recorded: its library cannot be stored";
    ensure!(notice(&trace, words).is_some(), "{:?}", trace.notices.text);
    Ok(())
}

/// Without `/sys` nothing tells how many CPUs there are, nor the kernel's types: no result is better than half of one.
fn no_sysfs() -> Result<()> {
    needs_recording()?;
    needs_program("unshare")?;
    let folder = TempDir::new()?;
    let script = "mount -t tmpfs none /sys; exec \"$@\"";
    let prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh"];
    let mut command = behind(&prefix, &collect(folder.path(), &[], &[&sample("sleep")?]));
    let output = Running::start(&mut command)?.finish()?;
    ensure!(output.code() == UNAVAILABLE, "exit status {}: {}", output.code(), output.stderr);
    ensure!(output.stderr.contains("/sys/") && output.stderr.contains("hint: "), "{}", output.stderr);
    Ok(())
}

fn no_ipv6() -> Result<()> {
    needs_program("ip")?;
    let script = "ip link set lo up; test ! -e /proc/sys/net/ipv6 || echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6; \
                  exec \"$@\"";
    let prefix = ["unshare", "--net", "sh", "-ec", script, "sh"];
    let recording = recorded(&prefix, &["--analyze", "sockets"], &[&sample("sockets")?, "nagle"])?;
    let share = delayed_acks(&trace(&recording)?);
    ensure!(share > 0.8, "delayed ACKs are {share:.2} of the wait");
    Ok(())
}

/// Root without one capability: each costs only what it gives.
fn without_capabilities() -> Result<()> {
    for lacking in
        ["-sys_ptrace", "-syslog", "-dac_read_search,-dac_override", "-sys_admin", "-net_admin,-sys_resource"]
    {
        let prefix = ["setpriv", "--bounding-set", lacking];
        let recording = recorded(&prefix, &[], &[&sample("convoy")?])?;
        is_exact(&recording).with_context(|| format!("with {lacking}"))?;
        is_sampled(&recording).with_context(|| format!("with {lacking}"))?;
    }
    let prefix = ["setpriv", "--bounding-set", "-syslog"];
    let recording = recorded(&prefix, &["--analyze", "sockets"], &[&sample("sockets")?, "nagle"])?;
    let trace = trace(&recording)?;
    let share = delayed_acks(&trace);
    ensure!(share > 0.8, "delayed ACKs are {share:.2} of the wait");
    check_kernel_names(&trace, hides_addresses_without_syslog()?)
}

/// kallsyms_show_value in kernel/ksyms_common.c.
fn hides_addresses_without_syslog() -> Result<bool> {
    let read = |name: &str| fs::read_to_string(format!("/proc/sys/kernel/{name}"));
    Ok(read("kptr_restrict")?.trim() != "0" || read("perf_event_paranoid")?.trim().parse::<i32>()? > 1)
}

/// Another user's process, without the right to look into it: recorded, and what is missing has a name.
fn closed_processes() -> Result<()> {
    needs_program("setpriv")?;
    let (program, pid) = hung(&["setpriv", "--reuid", "65534", "--clear-groups"])?;
    let prefix = ["setpriv", "--bounding-set", "-sys_ptrace"];
    let recording = recorded(&prefix, &["--target-pid", &pid, "--duration", "300ms"], &[])?;
    let lost = losses(&recording)?;
    ensure!(lost.contains("processes_closed") && lost.contains("seeded_stacks_lost"), "{lost}");
    ensure!(number(&recording.report(&["summary"])?, "threads")? == 6.0, "threads are missing");
    program.signal(Signal::KILL)
}

/// A security module or a container's filter refuses calls that Dwell can do without: waits are exact all the same, and
/// what is missing is told.
fn refused_calls() -> Result<()> {
    let without = |call, error| -> Result<Recording> {
        let recording = recorded(&[&sample("refused")?, &number_of(call)?, error], &[], &[&sample("convoy")?])?;
        has_exact_waits(&recording).with_context(|| format!("without {call}, error {error}"))?;
        Ok(recording)
    };
    for (call, error) in [("pidfd_open", EPERM), ("setpriority", EPERM), ("sched_setscheduler", EPERM)] {
        conservation::check(&without(call, error)?, None)?;
    }
    for error in [EPERM, ENOSYS] {
        let lost = losses(&without("openat2", error)?)?;
        ensure!(lost.contains("processes_closed"), "{lost}");
    }
    Ok(())
}

/// Without perf events waits are counted and named, code that is mapped while the program runs too, and the summary says what is
/// missing.
fn no_perf_events() -> Result<()> {
    let (refused, call) = (sample("refused")?, number_of("perf_event_open")?);
    let recording = recorded(&[&refused, &call, EPERM], &[], &[&sample("convoy")?])?;
    let trace = trace(&recording)?;
    for words in ["was not sampled", "Which files programs mapped was read from /proc"] {
        ensure!(notice(&trace, words).is_some(), "nothing says `{words}`: {:?}", trace.notices.text);
    }
    has_exact_waits(&recording)
}

/// The number of a system call, as text.
fn number_of(call: &str) -> Result<String> {
    let found = (0..600).find(|&number| Syscall::name_of(number) == call);
    found.map(|number| number.to_string()).with_context(|| format!("no system call {call}"))
}

/// Where BPF is refused, perf events record, and the summary says what is missing; who wants BPF only has no collection.
fn no_bpf() -> Result<()> {
    needs_recording()?;
    let refused = sample("refused")?;
    let bpf = number_of("bpf")?;
    let filtered = (vec![refused.as_str(), bpf.as_str(), EPERM], "bpf(2)");
    let lacking = (vec!["setpriv", "--bounding-set", "-bpf,-sys_admin"], "CAP_BPF");
    for (prefix, why) in [filtered, lacking] {
        for (source, status, word) in [("bpf", UNAVAILABLE, "hint: "), ("auto", 0, "Recorded without BPF")] {
            let folder = TempDir::new()?;
            let command = collect(folder.path(), &["--source", source], &[&sample("sleep")?]);
            let output = Running::start(&mut behind(&prefix, &command))?.finish()?;
            ensure!(output.code() == status, "{source}: exit status {}: {}", output.code(), output.stderr);
            ensure!(output.stderr.contains(why) && output.stderr.contains(word), "{source}: {}", output.stderr);
        }
    }
    Ok(())
}

/// A control group, removed when this is dropped.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// A group below the one of this process in whichever hierarchy controls CPU time, with a quota of 80 % of a CPU.
fn group_with_quota() -> Result<Group> {
    let name = format!("dwell-test-{}", std::process::id());
    let usual = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"];
    for parent in usual.map(Path::new) {
        let group = Group(parent.join(&name));
        if fs::create_dir(&group.0).is_err() {
            continue;
        }
        let quotas = [("cpu.cfs_quota_us", "80000"), ("cpu.max", "80000 100000")];
        if quotas.iter().any(|(file, quota)| {
            let file = group.0.join(file);
            file.exists() && fs::write(file, quota).is_ok()
        }) {
            return Ok(group);
        }
    }
    Err(Skip("no control group with a CPU quota can be made here".into()).into())
}

/// The quota of the group tells how many CPUs the program may use, in version 1 and 2.
fn control_group() -> Result<()> {
    needs_recording()?;
    let group = group_with_quota()?;
    let join = format!("echo $$ > {}/cgroup.procs; exec \"$@\"", group.0.display());
    let recording = recorded(&["sh", "-ec", &join, "sh"], &[], &[&sample("sleep")?])?;
    let manifest = ResultFolder::open(&recording.path())?.manifest()?;
    ensure!(manifest.cpus.usable == 1, "{:?}", manifest.cpus);
    Ok(())
}

fn control_groups_2() -> Result<()> {
    let mounts = "umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup";
    is_exact(&with_mounts(mounts, &[], &[&sample("convoy")?])?)
}
