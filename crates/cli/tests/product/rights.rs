//! `dwell install`: what members of the group can record without root, and what stays closed to them.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{
    Output, Running, dwell, needs_program, needs_recording, number, run_dwell, sample, text, wait_for,
};

/// Whom nothing belongs to.
pub const NOBODY: u32 = 65534;
/// A group of nobody's that is likely there: what the installed program is for.
pub const GROUP: &str = "daemon";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("rights::installed_for_a_group_and_gone_again", installed_for_a_group_and_gone_again),
        Case::new("rights::installing_is_refused_where_it_is_unsafe", installing_is_refused_where_it_is_unsafe),
        Case::new("rights::a_member_records_its_own_program", a_member_records_its_own_program),
        Case::new("rights::a_member_attaches_to_its_own_only", a_member_attaches_to_its_own_only),
        Case::new("rights::a_member_sets_probes_in_its_own_program", a_member_sets_probes),
        Case::new("rights::none_are_left_while_it_runs", none_are_left_while_it_runs),
        Case::new("rights::programs_that_change_their_user_are_left_out", programs_that_change_their_user_are_left_out),
        Case::new("rights::files_of_others_stay_closed", files_of_others_stay_closed),
        Case::new("rights::a_missing_capability_is_named", a_missing_capability_is_named),
    ]
}

/// setpriv keeps root's capabilities until it starts a program; that one has none.
const THROUGH_A_SHELL: [&str; 3] = ["sh", "-c", "exec \"$0\" \"$@\""];

/// An installed Dwell, and a folder of nobody's.
pub struct Installed {
    pub prefix: TempDir,
    pub home: TempDir,
}

impl Installed {
    pub fn new() -> Result<Self> {
        needs_recording()?;
        needs_program("setpriv")?;
        let installed = Self { prefix: TempDir::new()?, home: TempDir::new()? };
        for folder in [&installed.prefix, &installed.home] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        }
        chown(installed.home.path(), Some(NOBODY), Some(NOBODY))?;
        let output = run_dwell(&["install", "--group", GROUP, "--prefix", &installed.prefix()])?;
        ensure!(output.status.success(), "dwell install: {}", output.stderr);
        ensure!(output.stdout.contains("CAP_DAC_READ_SEARCH"), "{}", output.stdout);
        Ok(installed)
    }

    fn prefix(&self) -> String {
        self.prefix.path().display().to_string()
    }

    fn binary(&self) -> PathBuf {
        self.prefix.path().join("bin/dwell")
    }

    /// The program, run by nobody, who is in the group.
    pub fn dwell(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = self.as_nobody(&["--groups", GROUP])?;
        command.args(THROUGH_A_SHELL).arg(self.binary()).args(arguments);
        Ok(command)
    }

    fn as_nobody(&self, options: &[&str]) -> Result<Command> {
        let mut command = Command::new(needs_program("setpriv")?);
        command.args(["--reuid", "65534", "--regid", "65534"]).args(options);
        command.current_dir(self.home.path()).env("HOME", self.home.path());
        command.env_remove("SUDO_USER").env_remove("SUDO_UID").env_remove("SUDO_GID");
        Ok(command)
    }

    pub fn run(&self, arguments: &[&str]) -> Result<Output> {
        Running::start(&mut self.dwell(arguments)?)?.finish()
    }

    /// A report of the result `r`.
    pub fn rows(&self, arguments: &[&str]) -> Result<Vec<Value>> {
        let all: Vec<&str> = [&["report"], arguments, &["--format", "json", "r"]].concat();
        let output = self.run(&all)?;
        let mut view: Value = serde_json::from_str(&output.stdout).with_context(|| output.stderr)?;
        Ok(view["rows"].as_array_mut().map(std::mem::take).unwrap_or_default())
    }
}

/// A sample where nobody can run it.
pub fn open_sample(installed: &Installed, name: &str) -> Result<String> {
    let path = installed.home.path().join(name);
    fs::copy(sample(name)?, &path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path.display().to_string())
}

fn installed_for_a_group_and_gone_again() -> Result<()> {
    let installed = Installed::new()?;
    let metadata = fs::metadata(installed.binary())?;
    ensure!(metadata.mode() & 0o7777 == 0o750 && metadata.uid() == 0, "mode {:o}", metadata.mode());
    ensure!(metadata.gid() != 0, "of root's group");
    let capabilities = Running::start(Command::new(needs_program("getcap")?).arg(installed.binary()))?.finish()?;
    for name in ["cap_bpf", "cap_perfmon", "cap_sys_ptrace", "cap_syslog", "cap_dac_read_search"] {
        ensure!(capabilities.stdout.contains(name), "{}", capabilities.stdout);
    }
    // Again: the same. And nothing else is left in the folder.
    let again = run_dwell(&["install", "--group", GROUP, "--prefix", &installed.prefix()])?;
    ensure!(again.status.success(), "{}", again.stderr);
    ensure!(fs::read_dir(installed.prefix.path().join("bin"))?.count() == 1, "something is left");
    // Who is not in the group cannot run it.
    let mut stranger = installed.as_nobody(&["--clear-groups"])?;
    let stranger = Running::start(stranger.args(THROUGH_A_SHELL).arg(installed.binary()).arg("--version"))?.finish()?;
    ensure!(!stranger.status.success(), "a stranger may run it");
    let held = [fs::File::open(installed.binary())?];
    let again = run_dwell(&["install", "--group", GROUP, "--prefix", &installed.prefix()])?;
    ensure!(again.status.success(), "{}", again.stderr);
    let [replaced, removed] = [&held[0], &fs::File::open(installed.binary())?];
    for expected in ["Removed", "is not there"] {
        let output = run_dwell(&["uninstall", "--prefix", &installed.prefix()])?;
        ensure!(output.status.success() && output.stdout.contains(expected), "{}{}", output.stdout, output.stderr);
    }
    ensure!(!installed.binary().exists(), "it is still there");
    // Whoever had opened it cannot run it any more, nor with its capabilities.
    for program in [replaced, removed] {
        let attribute = rustix::fs::fgetxattr(program, "security.capability", &mut [0u8; 64]);
        let mode = program.metadata()?.mode() & 0o7777;
        ensure!(attribute.is_err() && mode == 0, "{attribute:?}, mode {mode:o}");
    }
    Ok(())
}

fn installing_is_refused_where_it_is_unsafe() -> Result<()> {
    needs_recording()?;
    let prefix = TempDir::new()?;
    let place = prefix.path().display().to_string();
    let refused = |what: &str| -> Result<()> {
        let output = run_dwell(&["install", "--group", GROUP, "--prefix", &place])?;
        ensure!(!output.status.success() && output.stderr.contains(what), "{}{}", output.stdout, output.stderr);
        ensure!(output.stderr.contains("hint: "), "{}", output.stderr);
        Ok(())
    };
    let bin = prefix.path().join("bin");
    std::os::unix::fs::symlink("/tmp", &bin)?;
    refused("cannot open")?;
    fs::remove_file(&bin)?;
    fs::create_dir(&bin)?;
    fs::set_permissions(&bin, fs::Permissions::from_mode(0o777))?;
    refused("someone other than root can change")?;
    // As Debian's /usr/local/bin may be.
    fs::set_permissions(&bin, fs::Permissions::from_mode(0o2775))?;
    chown(&bin, None, Some(NOBODY))?;
    refused("someone other than root can change")?;
    chown(&bin, None, Some(0))?;
    // The mode bits do not show that an access list names nobody.
    fs::set_permissions(&bin, fs::Permissions::from_mode(0o755))?;
    let entries = [(1u16, 7u16, u32::MAX), (2, 7, NOBODY), (4, 5, u32::MAX), (0x10, 7, u32::MAX), (0x20, 5, u32::MAX)];
    let entry = |(tag, rights, id): (u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let list = [2u32.to_le_bytes().to_vec(), entries.into_iter().flat_map(entry).collect()].concat();
    let set = rustix::fs::setxattr(&bin, "system.posix_acl_access", &list, rustix::fs::XattrFlags::empty());
    if set.is_ok() {
        refused("the access list of")?;
        rustix::fs::removexattr(&bin, "system.posix_acl_access")?;
    }
    // Who owns a folder above can put another one there.
    chown(prefix.path(), Some(NOBODY), None)?;
    refused("someone other than root can change")?;
    chown(prefix.path(), Some(0), None)?;
    ensure!(fs::read_dir(&bin)?.count() == 0, "something is left");
    // What it did not put there it does not remove.
    fs::write(bin.join("dwell"), "#!/bin/sh\n")?;
    refused("dwell install did not put it there")?;
    ensure!(fs::read(bin.join("dwell"))? == b"#!/bin/sh\n", "somebody else's program was replaced");
    let output = run_dwell(&["uninstall", "--prefix", &place])?;
    ensure!(!output.status.success() && bin.join("dwell").exists(), "{}", output.stdout);
    Ok(())
}

fn a_member_records_its_own_program() -> Result<()> {
    let installed = Installed::new()?;
    let convoy = open_sample(&installed, "convoy")?;
    let script = format!("{convoy} && grep -E 'Cap(Inh|Prm|Eff|Amb)|NoNewPrivs' /proc/self/status");
    let output = installed.run(&["collect", "threading", "-r", "r", "--", "sh", "-c", &script])?;
    ensure!(output.status.success(), "{}", output.stderr);
    // The program has none of it.
    let sets = output.stdout.lines().filter(|line| line.starts_with("Cap"));
    let none = sets.clone().filter(|line| line.ends_with("\t0000000000000000")).count();
    ensure!(none == 4 && sets.count() == 4, "the program has capabilities: {}", output.stdout);
    ensure!(output.stdout.contains("NoNewPrivs:\t0"), "{}", output.stdout);
    ensure!(!output.stderr.contains("Permission denied"), "{}", output.stderr);
    let waits = installed.rows(&["waits"])?;
    let lock = waits.iter().find(|row| text(row, "object") == "queue_lock").context("no queue_lock")?;
    let (count, measured) = (number(lock, "wait_count")?, number(lock, "wait_ns")?);
    let truth = output.truth("queue_lock_wait_ns").context("no truth")?;
    let waits = output.truth("queue_lock_waits").context("no truth")?;
    ensure!((count - waits).abs() <= 2.0, "{count} waits, not {waits}");
    ensure!((measured / truth - 1.0).abs() < 0.05, "{measured} ns for {truth}");
    ensure!(lock["top_stack"].to_string().contains("push_item"), "{lock}");
    ensure!(
        fs::metadata(installed.home.path().join("r/manifest.json"))?.uid() == NOBODY,
        "the result is not the user's"
    );
    ensure!(installed.home.path().join("r/modules").is_dir(), "no modules");
    Ok(())
}

/// A process that waits, of this user.
pub fn waiting(uid: &str) -> Result<Running> {
    let mut command = Command::new(needs_program("setpriv")?);
    Running::start(command.args(["--reuid", uid, "--regid", uid, "--clear-groups", "sleep", "60"]))
}

fn a_member_attaches_to_its_own_only() -> Result<()> {
    let installed = Installed::new()?;
    let (own, foreign, root) = (waiting("65534")?, waiting("1")?, waiting("0")?);
    let started = |it: &Running| {
        let comm = fs::read_to_string(format!("/proc/{}/comm", it.pid())).ok()?;
        (comm.trim() == "sleep").then_some(())
    };
    for it in [&own, &foreign, &root] {
        wait_for("sleep", || started(it))?;
    }
    for it in [&foreign, &root] {
        let output = installed.run(&["collect", "threading", "-r", "no", "--target-pid", &it.pid().to_string()])?;
        ensure!(output.code() == 77 && output.stderr.contains("belongs to another user"), "{}", output.stderr);
        ensure!(output.stderr.contains("hint: sudo "), "{}", output.stderr);
        ensure!(!installed.home.path().join("no").exists(), "a result of another's process");
    }
    let pid = own.pid().to_string();
    let output = installed.run(&["collect", "threading", "-r", "r", "--duration", "0.5", "--target-pid", &pid])?;
    ensure!(output.status.success(), "{}", output.stderr);
    let waits = installed.rows(&["waits"])?;
    let stack = |row: &Value| row["top_stack"].as_array().map_or(0, Vec::len);
    ensure!(waits.iter().any(|row| stack(row) > 2), "where it waited is not known: {waits:?}");
    Ok(())
}

/// By BPF, CAP_BPF is kept for the tables of code that is mapped later.
fn none_are_left_while_it_runs() -> Result<()> {
    for (source, kept) in [("bpf", 1 << 39), ("perf", 0)] {
        left_while_it_runs(source, kept).with_context(|| format!("--source {source}"))?;
    }
    Ok(())
}

fn left_while_it_runs(source: &str, kept: u64) -> Result<()> {
    let installed = Installed::new()?;
    let arguments = ["collect", "threading", "--source", source, "-r", "r", "--no-itt", "--", "sleep", "2"];
    let running = Running::start(&mut installed.dwell(&arguments)?)?;
    let folder = PathBuf::from(format!("/proc/{}/task", running.pid()));
    // The launched program runs: start-up is over.
    let children = || fs::read_to_string(folder.join(format!("{}/children", running.pid()))).ok();
    let runs = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == "sleep");
    let child = || children()?.split_whitespace().filter_map(|pid| pid.parse().ok()).find(runs);
    let child: u32 = wait_for("the program", child)?;
    std::thread::sleep(std::time::Duration::from_millis(300));
    ensure!(hold_no_more_than(&installed, kept)? >= 2, "fewer than two threads");
    // Its user cannot look into it while it holds a right.
    let owner = fs::metadata(format!("/proc/{}/mem", running.pid()))?.uid();
    ensure!(owner == 0, "the collector can be traced by its user");
    let status = fs::read_to_string(format!("/proc/{child}/status"))?;
    ensure!(capabilities(&status, "CapPrm")? == 0, "the program has capabilities: {status}");
    ensure!(running.finish()?.status.success(), "the collection failed");
    // Who closes tracepoints is left behind, and nothing else.
    hold_no_more_than(&installed, 0)?;
    Ok(())
}

/// Whether no thread of the installed program has a right in force, or holds more than these. Returns how many there are.
fn hold_no_more_than(installed: &Installed, kept: u64) -> Result<usize> {
    let binary = installed.binary();
    let mut looked = 0;
    for process in fs::read_dir("/proc")?.flatten().map(|entry| entry.path()) {
        if !fs::read_link(process.join("exe")).is_ok_and(|exe| exe == binary) {
            continue;
        }
        for thread in fs::read_dir(process.join("task")).into_iter().flatten().flatten() {
            let Ok(status) = fs::read_to_string(thread.path().join("status")) else { continue };
            ensure!(capabilities(&status, "CapEff")? == 0, "in force: {status}");
            ensure!(capabilities(&status, "CapInh")? == 0 && capabilities(&status, "CapAmb")? == 0, "{status}");
            ensure!(capabilities(&status, "CapPrm")? & !kept == 0, "more than {kept:x} is held: {status}");
            looked += 1;
        }
    }
    Ok(looked)
}

pub fn capabilities(status: &str, set: &str) -> Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(set)?.strip_prefix(':'));
    Ok(u64::from_str_radix(line.context("no such set")?.trim(), 16)?)
}

fn programs_that_change_their_user_are_left_out() -> Result<()> {
    let installed = Installed::new()?;
    let convoy = open_sample(&installed, "convoy")?;
    let changed = installed.home.path().join("set-user-id");
    fs::copy(&convoy, &changed)?;
    fs::set_permissions(&changed, fs::Permissions::from_mode(0o4755))?; // root's
    let script = format!("{}; {convoy}", changed.display());
    let output = installed.run(&["collect", "threading", "-r", "r", "--", "sh", "-c", &script])?;
    ensure!(output.status.success(), "{}", output.stderr);
    let threads = installed.rows(&["threads", "--limit", "100"])?;
    let of = |name: &str| threads.iter().filter(|row| text(row, "process") == name).count();
    ensure!(of("convoy") == 5, "its own program is not whole: {threads:?}");
    ensure!(of("set-user-id") <= 1, "root's program was recorded: {threads:?}");
    let losses = installed.rows(&["losses"])?;
    let left_out = losses.iter().find(|row| text(row, "loss") == "programs_out_of_scope");
    ensure!(left_out.is_some_and(|row| number(row, "count").is_ok_and(|count| count >= 1.0)), "{losses:?}");
    Ok(())
}

/// Major and minor number of the running Linux.
fn kernel_version() -> Result<(u32, u32)> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    let mut next = || numbers.next().context("no version")?.context("no number");
    Ok((next()?, next()?))
}

/// Probes of its own, and those that tell who asked for work.
fn a_member_sets_probes() -> Result<()> {
    if kernel_version()? < (6, 10) {
        return Err(Skip("before Linux 6.10 some kernels set uprobes for root only".into()).into());
    }
    let installed = Installed::new()?;
    let program = open_sample(&installed, "announce")?;
    chown(&program, Some(NOBODY), Some(NOBODY))?;
    let probe = "whole=uprobe:main";
    let output =
        installed.run(&["collect", "threading", "-r", "r", "--task-probe", probe, "--", &program, "stitch", "1000"])?;
    ensure!(output.status.success(), "{}", output.stderr);
    ensure!(!output.stderr.contains("Who asked for the work"), "{}", output.stderr);
    let tasks = installed.rows(&["tasks"])?;
    ensure!(tasks.iter().any(|row| text(row, "task") == "whole"), "{tasks:?}");
    let losses = installed.rows(&["losses"])?;
    let unknown = losses.iter().find(|row| text(row, "loss") == "itt_askers_unknown");
    // Those before the probe was set: a call takes 3 ms.
    let unknown = unknown.map_or(Ok(0.0), |row| number(row, "count"))?;
    ensure!(unknown <= 800.0, "who asked is unknown {unknown} times of 1000: {}", output.stderr);
    Ok(())
}

/// What only root may read does not come out by any name that the user gives.
fn files_of_others_stay_closed() -> Result<()> {
    let installed = Installed::new()?;
    let secret = TempDir::new()?;
    fs::set_permissions(secret.path(), fs::Permissions::from_mode(0o700))?;
    let secret_path = secret.path().display().to_string();
    let program = secret.path().join("program");
    fs::copy(sample("convoy")?, &program)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    // A result that root made there.
    let made =
        Running::start(dwell(&["collect", "threading", "-r"]).arg(secret.path().join("r")).args(["--", "true"]))?;
    ensure!(made.finish()?.status.success(), "root's own recording failed");
    let result = secret.path().join("r").display().to_string();
    let program = program.display().to_string();
    let attempts: &[&[&str]] = &[
        &["collect", "threading", "-r", "r1", "--", &program],
        &["collect", "threading", "-r", "r2", "--app-working-dir", &secret_path, "--", "true"],
        &["collect", "threading", "-r", &format!("{secret_path}/stolen"), "--", "true"],
        &["collect", "threading", "-r", "r3", "--task-probe", &format!("x=uprobe:{program}:main"), "--", "true"],
        &["report", "summary", &result],
        &["finalize", &result],
    ];
    for attempt in attempts {
        let output = installed.run(attempt)?;
        ensure!(!output.status.success(), "{attempt:?} worked: {}", output.stdout);
        ensure!(!output.stdout.contains("main"), "{attempt:?}: {}", output.stdout);
    }
    ensure!(!secret.path().join("stolen").exists(), "a result was written into root's folder");
    search_dir_gives_nothing(&installed, secret.path())
}

/// A debug file that only root may read does not name a function of the user's stripped program.
fn search_dir_gives_nothing(installed: &Installed, secret: &Path) -> Result<()> {
    let (objcopy, strip) = (needs_program("objcopy")?, needs_program("strip")?);
    let convoy = open_sample(installed, "convoy")?;
    let debug = secret.join("convoy.debug").display().to_string();
    for command in [vec![&objcopy[..], "--only-keep-debug", &convoy, &debug], vec![&strip, "--strip-all", &convoy]] {
        ensure!(
            Running::start(Command::new(command[0]).args(&command[1..]))?.finish()?.status.success(),
            "{command:?}"
        );
    }
    let secret = secret.display().to_string();
    let collect = ["collect", "threading", "-r", "r", "--search-dir", &secret, "--", &convoy];
    let output = installed.run(&collect)?;
    ensure!(output.status.success(), "{}", output.stderr);
    let named = installed.rows(&["waits"])?.iter().any(|row| row["top_stack"].to_string().contains("push_item"));
    ensure!(!named, "a file of root's was read");
    // It would have named it: root may read it.
    let result = installed.home.path().join("r2").display().to_string();
    let collect = ["collect", "threading", "-r", &result, "--search-dir", &secret, "--", &convoy];
    ensure!(run_dwell(&collect)?.status.success(), "root's own recording failed");
    let report = run_dwell(&["report", "waits", "--format", "json", &result])?;
    ensure!(report.stdout.contains("push_item"), "the debug file names nothing, so this test shows nothing");
    Ok(())
}

fn a_missing_capability_is_named() -> Result<()> {
    let installed = Installed::new()?;
    let collect = |without: &str, source: &str| -> Result<Output> {
        let mut command = installed.as_nobody(&["--groups", GROUP, &format!("--bounding-set=-{without}")])?;
        command.args(THROUGH_A_SHELL).arg(installed.binary()).args([
            "collect",
            "threading",
            "--source",
            source,
            "-r",
            &format!("{without}-{source}"),
            "--",
            "true",
        ]);
        Running::start(&mut command)?.finish()
    };
    for essential in ["bpf", "perfmon"] {
        // Without BPF, perf events record: the summary says why.
        for (source, status) in [("bpf", 77), ("auto", 0)] {
            let output = collect(essential, source)?;
            ensure!(output.code() == status, "{source} without {essential}: {} {}", output.code(), output.stderr);
            let name = format!("CAP_{}", essential.to_uppercase());
            ensure!(output.stderr.contains(&name), "{name} is not named: {}", output.stderr);
        }
    }
    for other in ["syslog", "sys_ptrace", "dac_read_search"] {
        let output = collect(other, "bpf")?;
        ensure!(output.status.success(), "without {other}: {}", output.stderr);
    }
    Ok(())
}
