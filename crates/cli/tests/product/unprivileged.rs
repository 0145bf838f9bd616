//! Recording without any rights: the samples as user nobody, against the same truth as with root.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dwell_store::{ResultFolder, Trace};
use rustix::process::{Signal, geteuid};
use tempfile::TempDir;

use crate::conservation;
use crate::harness::{Case, Skip};
use crate::recording::{Recording, Running, is_type, needs_program, number, root, text, wait_for};
use crate::settings::Setting;
use crate::truth;

const NOBODY: u32 = 65534;
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";
/// Samples whose truth needs what a plain user cannot see.
const NOT_MET: &[&str] = &[
    // Only the futexes of so many threads are traced: threads_without_end_stay_cheap.
    "many_threads",
    // 400,000 system calls a second are more than the buffers of a plain user hold on a busy machine: counted as lost.
    "semaphore_pingpong",
    "small_calls",
    // Page faults are in the kernel, which a plain user does not see.
    "memory_churn",
    // Waits of a millisecond under large frames, and interrupted ones on another stack: the copied piece does not reach there.
    "call_chains",
    "call_chains_lazy",
    "call_chains_now",
    "call_chains_static",
    "call_chains_static_pie",
    "library_chains",
    // What a path says is read where the thread blocks.
    "paths",
    // Which of several futexes woke a thread, the kernel shows BPF programs only.
    "futex_vector",
    // Who sent the signal, the kernel tells BPF programs only.
    "stopped",
];

pub fn cases() -> Vec<Case> {
    let met = truth::names().into_iter().filter(|name| !NOT_MET.contains(&name.as_str()));
    let mut cases: Vec<Case> =
        met.map(|name| Case::new(format!("unprivileged::{name}"), move || check_truth(&name))).collect();
    cases.push(Case::new("unprivileged::running_processes_are_attached_to", running_processes_are_attached_to));
    cases.push(Case::new("unprivileged::what_needs_bpf_is_refused", what_needs_bpf_is_refused));
    cases.push(Case::new("unprivileged::threads_without_end_stay_cheap", threads_without_end_stay_cheap));
    cases.push(Case::new("unprivileged::xz_compresses", xz_compresses));
    cases.push(Case::new("unprivileged::losses_at_the_end_are_counted", losses_at_the_end_are_counted));
    cases.push(Case::new(
        "unprivileged::the_kernel_is_seen_where_that_is_allowed",
        the_kernel_is_seen_where_that_is_allowed,
    ));
    cases.push(Case::new(
        "unprivileged::doctor_knows_what_a_plain_user_records",
        doctor_knows_what_a_plain_user_records,
    ));
    cases
}

/// Copies of what a plain user runs, where they can reach them.
struct Place {
    folder: TempDir,
}

fn place() -> Result<&'static Path> {
    static PLACE: OnceLock<Option<Place>> = OnceLock::new();
    let made = PLACE.get_or_init(|| make_place().ok());
    Ok(made.as_ref().context("no folder that user nobody can reach")?.folder.path())
}

fn make_place() -> Result<Place> {
    let folder = TempDir::new()?;
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755));
    open(folder.path())?;
    let copy = |from: &Path, to: PathBuf| -> Result<()> {
        fs::copy(from, &to)?;
        Ok(open(&to)?)
    };
    copy(Path::new(env!("CARGO_BIN_EXE_dwell")), folder.path().join("dwell"))?;
    for entry in fs::read_dir(root().join("samples/bin"))? {
        let entry = entry?;
        copy(&entry.path(), folder.path().join(entry.file_name()))?;
    }
    let home = folder.path().join("home");
    fs::create_dir(&home)?;
    if geteuid().is_root() {
        chown(&home, Some(NOBODY), Some(NOBODY))?;
    }
    Ok(Place { folder })
}

fn needs_events() -> Result<()> {
    let level = fs::read_to_string(PARANOID).unwrap_or_default().trim().parse::<i32>().unwrap_or(i32::MAX);
    if level > 2 {
        return Err(Skip(format!("kernel.perf_event_paranoid is {level}: a plain user records nothing")).into());
    }
    Ok(())
}

/// A command as a plain user, not started yet.
fn as_nobody(program: &Path) -> Result<Command> {
    let home = place()?.join("home");
    let mut command = if geteuid().is_root() {
        let mut command = Command::new(needs_program("setpriv")?);
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.env("HOME", &home).env("TMPDIR", &home).env("XDG_CACHE_HOME", home.join(".cache"));
    command.env_remove("SUDO_USER").env_remove("SUDO_UID").env_remove("SUDO_GID");
    Ok(command)
}

/// Records as a plain user, in a result folder of its own.
fn record(options: &[&str], program: &[&str], environment: &[(&str, &str)]) -> Result<Recording> {
    needs_events()?;
    let folder = nobodys_folder()?;
    let mut command = as_nobody(&place()?.join("dwell"))?;
    command.args(["collect", "threading", "--result-dir"]).arg(folder.path().join("result")).args(options);
    if !program.is_empty() {
        command.arg("--").args(program);
    }
    let mut output = Running::start(command.envs(environment.iter().copied()))?.finish()?;
    output.waits_have_delays = true;
    let recording = Recording::in_folder(folder, output)?;
    let manifest = fs::read_to_string(recording.path().join("manifest.json"))?;
    ensure!(manifest.contains("\"source\": \"perf\""), "not recorded by perf events: {}", recording.output.stderr);
    Ok(recording)
}

fn nobodys_folder() -> Result<TempDir> {
    let folder = TempDir::new()?;
    if geteuid().is_root() {
        chown(folder.path(), Some(NOBODY), Some(NOBODY))?;
    }
    Ok(folder)
}

fn copied(sample: &str) -> Result<String> {
    let path = place()?.join(sample);
    ensure!(path.is_file(), "{sample} is missing: `make samples` builds it");
    Ok(path.display().to_string())
}

fn check_truth(name: &str) -> Result<()> {
    let program = copied(name)?;
    // The kernel's account has what it takes to give the events of an ending thread back, which nobody sees.
    truth::check_recorded(name, &|environment| record(&[], &[&program], environment), false)
}

/// The threads are there by name, with what they wait for since before.
fn running_processes_are_attached_to() -> Result<()> {
    needs_events()?;
    let mut command = as_nobody(Path::new(&copied("hung")?))?;
    let running = Running::start(command.arg("60"))?;
    let threads = || fs::read_dir(format!("/proc/{}/task", running.pid())).ok().map_or(0, Iterator::count);
    wait_for("the threads of hung", || (threads() > 4).then_some(()))?;
    thread::sleep(Duration::from_millis(200));
    let recording = record(&["--target-pid", &running.pid().to_string(), "--duration", "500ms"], &[], &[])?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    let waits = recording.rows(&["waits", "--include-idle"])?;
    let of_type = |id: &str| waits.iter().find(|row| is_type(row, id)).with_context(|| format!("no {id} in {waits:?}"));
    ensure!(text(of_type("mutex")?, "object") == "kept_lock", "{waits:?}");
    ensure!(text(of_type("condition-variable")?, "object") == "never_ready", "{waits:?}");
    of_type("stream")?;
    let wrong = conservation::of_parts(&recording)?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn what_needs_bpf_is_refused() -> Result<()> {
    needs_events()?;
    let folder = nobodys_folder()?;
    for options in [["--analyze", "sockets"], ["--analyze", "latency"], ["--interval", "socket"]] {
        let mut command = as_nobody(&place()?.join("dwell"))?;
        command.args(["collect", "threading", "--source", "perf", "--result-dir"]).arg(folder.path().join("result"));
        let output = Running::start(command.args(options).args(["--", "true"]))?.finish()?;
        ensure!(output.code() == 77, "status {} of {options:?}: {}", output.code(), output.stderr);
        ensure!(output.stderr.contains("needs BPF") && output.stderr.contains("hint: "), "{}", output.stderr);
    }
    Ok(())
}

/// Every traced call costs whoever creates a thread: beyond some threads a second only futexes are traced, with a word.
fn threads_without_end_stay_cheap() -> Result<()> {
    let recording = record(&[], &[&copied("many_threads")?], &[])?;
    let summary = recording.report(&["summary"])?;
    ensure!(number(&summary, "threads")? == 10_001.0, "{} threads, not 10,001", summary["threads"]);
    ensure!(recording.output.stderr.contains("creates many threads"), "{}", recording.output.stderr);
    ensure!(summary["losses"]["perf_records_lost"].is_null(), "losses: {}", summary["losses"]);
    Ok(())
}

/// The buffers are full when the program ends, and no later record tells what was lost.
fn losses_at_the_end_are_counted() -> Result<()> {
    needs_events()?;
    let folder = nobodys_folder()?;
    let mut command = as_nobody(&place()?.join("dwell"))?;
    command.args(["collect", "threading", "--source", "perf", "--result-dir"]).arg(folder.path().join("result"));
    let running = Running::start(command.args(["--", &copied("semaphore_pingpong")?]))?;
    let dwell = running.pid();
    let program = || children_of(dwell).into_iter().find(|pid| stat_of(*pid).contains("(semaphore_pingp"));
    let program = wait_for("the program", program)?;
    running.signal(Signal::STOP)?;
    let ended = wait_for("its end", || stat_of(program).contains(") Z ").then_some(()));
    running.signal(Signal::CONT)?;
    ended?;
    let recording = Recording::in_folder(folder, running.finish()?)?;
    let lost = number(&recording.report(&["summary"])?["losses"], "perf_records_lost")?;
    ensure!(lost > 0.0, "{}", recording.output.stderr);
    Ok(())
}

fn stat_of(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default()
}

fn children_of(pid: u32) -> Vec<u32> {
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    listed.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// At level 1 every call is traced by one event, samples and waits for a disk have the kernel's stack; at level 2 none has.
fn the_kernel_is_seen_where_that_is_allowed() -> Result<()> {
    needs_events()?;
    for (level, is_seen) in [(1, true), (2, false)] {
        let _setting = Setting::change("kernel/perf_event_paranoid", level)?;
        check_truth("condvar_queue")?;
        let recording = record(&[], &[&copied("fsync")?], &[])?;
        let trace = Trace::read(&ResultFolder::open(&recording.path())?)?;
        let in_kernel = |stack: dwell_model::StackId| {
            let frame = stack.get().and_then(|stack| trace.stacks.frame[stack].get());
            frame.is_some_and(|frame| trace.frames.kernel[frame])
        };
        let measured = trace.samples.stack.iter().zip(&trace.samples.estimated).filter(|(_, estimated)| !**estimated);
        let samples = measured.filter(|(stack, _)| in_kernel(**stack)).count();
        let waits = trace.off_cpu.stack.iter().filter(|stack| in_kernel(**stack)).count();
        ensure!(
            (samples > 0, waits > 0) == (is_seen, is_seen),
            "level {level}: {samples} samples, {waits} waits in the kernel"
        );
        let says_so = recording.output.stderr.contains("What the kernel did is not known");
        ensure!(says_so != is_seen, "level {level}: {}", recording.output.stderr);
    }
    Ok(())
}

/// `dwell doctor` as nobody, where `dwell collect` records and where it does not.
fn doctor_knows_what_a_plain_user_records() -> Result<()> {
    needs_events()?;
    for (level, code, word) in
        [(1, 0, "and what the kernel does"), (2, 0, "but not what the kernel does"), (3, 0, "not what")]
    {
        let _setting = Setting::change("kernel/perf_event_paranoid", level)?;
        let output = Running::start(as_nobody(&place()?.join("dwell"))?.arg("doctor"))?.finish()?;
        let line = output.stdout.lines().find(|line| line.contains("perf-events")).context("no line perf-events")?;
        ensure!(output.code() == code && line.contains(word), "level {level}, status {}: {line}", output.code());
    }
    Ok(())
}

/// What xz compresses.
const XZ_BYTES: usize = 32 << 20;

/// A real program: its threads compute, and wait for one another.
fn xz_compresses() -> Result<()> {
    let xz = needs_program("xz")?;
    // Of so much, however large Dwell is: some of its stacks are longer than what is copied of them.
    let input = place()?.join("input");
    let mut begin = vec![0; XZ_BYTES];
    File::open(place()?.join("dwell"))?.read_exact(&mut begin)?;
    fs::write(&input, begin)?;
    let input = input.display().to_string();
    let program = [xz.as_str(), "-T2", "-1", "--block-size=1MiB", "-k", "-c", &input];
    let shell = format!("exec {} > /dev/null", program.join(" "));
    let recording = record(&[], &["sh", "-c", &shell], &[])?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    let hotspots = recording.report(&["hotspots"])?.to_string();
    ensure!(hotspots.contains("liblzma"), "no code of liblzma: {hotspots}");
    let waits = recording.rows(&["waits", "--include-idle"])?;
    ensure!(waits.iter().any(|row| text(row, "type").contains("ondition")), "no wait on a condition variable");
    conservation::check(&recording, None)
}
