//! What goes wrong while Dwell records: programs that stop, ids that are used again, limits, full disks, kills. The program
//! runs on, nothing of a stranger is in the result, and what is missing is told.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dwell_store::{ResultFolder, Trace};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::conservation;
use crate::harness::Case;
use crate::recording::{
    Output, Recording, Running, collect, dwell, needs_program, needs_recording, number, run_dwell, sample, wait_for,
};

/// Where the kernel counts on from when it gives the next process its id; each pid namespace has its own.
const LAST_PID: &str = "/proc/sys/kernel/ns_last_pid";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("faults_recording::program_that_makes_dwell_its_tracer", program_that_makes_dwell_its_tracer),
        Case::new("faults_recording::stranger_with_the_id_of_a_target", stranger_with_the_id_of_a_target),
        Case::new("faults_recording::ids_that_come_round", ids_that_come_round),
        Case::new("faults_recording::killed_collections_leave_nothing", killed_collections_leave_nothing),
        Case::new("faults_recording::killed_while_it_starts", killed_while_it_starts),
        Case::new("faults_recording::few_descriptors", few_descriptors),
        Case::new("faults_recording::file_size_limit", file_size_limit),
        Case::new("faults_recording::disk_full_in_finalization", disk_full_in_finalization),
        Case::new("faults_recording::result_removed", result_removed),
        Case::new("faults_recording::many_files_for_itt", many_files_for_itt),
        Case::new("faults_recording::finalization_has_a_peak", finalization_has_a_peak),
        Case::new("faults_recording::background_process", background_process),
        Case::new("faults_recording::real_time_program", real_time_program),
        Case::new("faults_recording::real_time_processes", real_time_processes),
        Case::new("faults_recording::ring_buffer_forgets_who_ended", ring_buffer_forgets_who_ended),
    ]
}

/// A stop that the kernel tells a tracer is not the end of the program.
fn program_that_makes_dwell_its_tracer() -> Result<()> {
    let recording = Recording::of(&[], &[&sample("traced")?])?;
    let output = &recording.output;
    ensure!(output.code() == 7, "status {}\n{}", output.code(), output.stderr);
    ensure!(output.truth("signals") == Some(1.0), "its signal did not come: {}", output.stdout);
    ensure!(output.truth("second_image") == Some(1.0), "it did not run to its end: {}", output.stdout);
    let elapsed = number(&recording.report(&["summary"])?, "elapsed_ns")?;
    ensure!(elapsed >= 0.3e9, "recorded {elapsed} ns of more than 300 ms");
    ensure!(output.stderr.contains("to trace it"), "nothing is said of it: {}", output.stderr);
    conservation::check(&recording, None)
}

/// A copy of `program` under another name, so that it is told from every other one.
fn stranger(folder: &TempDir, program: &str) -> Result<PathBuf> {
    let copy = folder.path().join("stranger");
    fs::copy(needs_program(program)?, &copy)?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
    Ok(copy)
}

/// The files with code in the result.
fn modules(result: &Path) -> Result<Vec<String>> {
    Ok(Trace::read(&ResultFolder::open(result)?)?.modules.path)
}

/// Runs `program` as process `pid`, which must be free. Others take ids, too: several attempts.
fn run_as(pid: u32, program: &Path) -> Result<()> {
    for _ in 0..50 {
        fs::write(LAST_PID, (pid - 1).to_string()).context("no id can be chosen")?;
        let mut running = Command::new(program).arg("0.2").spawn()?;
        let (got, _) = (running.id(), running.wait()?);
        if got == pid {
            return Ok(());
        }
    }
    anyhow::bail!("no process became {pid}")
}

/// A child of the program ends unseen, in a pause, and a stranger gets its id.
fn stranger_with_the_id_of_a_target() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let stranger = stranger(&folder, "sleep")?;
    let [pid, done] = ["pid", "done"].map(|name| folder.path().join(name));
    let script = format!(
        "sh -c 'echo $$ > {0}.new'; mv {0}.new {0}; until [ -e {1} ]; do sleep 0.05; done",
        pid.display(),
        done.display()
    );
    let options = ["--start-paused", "--resume-after", "700ms"];
    let running = Running::start(&mut collect(folder.path(), &options, &["sh", "-c", &script]))?;
    let dead = wait_for("the child's id", || fs::read_to_string(&pid).ok()?.trim().parse().ok())?;
    std::thread::sleep(Duration::from_secs(1));
    run_as(dead, &stranger)?;
    fs::write(&done, "")?;
    let output = running.finish()?;
    let recording = Recording::in_folder(folder, output)?;
    let modules = modules(&recording.path())?;
    ensure!(modules.iter().any(|path| path.contains("libc")), "the program's files are missing: {modules:?}");
    ensure!(!modules.iter().any(|path| path.contains("stranger")), "a stranger's file is in the result: {modules:?}");
    Ok(())
}

/// Ids come round twice a second, and strangers have those of the program's children soon after these ended: none of their
/// files is in the result, nor held open.
fn ids_that_come_round() -> Result<()> {
    needs_recording()?;
    let unshare = needs_program("unshare")?;
    let folder = TempDir::new()?;
    let stranger = stranger(&folder, "true")?;
    let result = folder.path().join("result");
    let dwell = dwell(&[]).get_program().display().to_string();
    // The children and the strangers take the ids above 300 in turn.
    let script = format!(
        "'{dwell}' collect threading -q --duration 6s -r '{result}' -- \
           sh -c 'while :; do /bin/true; /bin/ls / >/dev/null; done' &
         dwell=$!
         sleep 1.5
         count() {{ ls /proc/$dwell/fd | wc -l; }}
         echo truth fds_before $(count)
         for turn in 1 2 3 4 5 6; do
           echo 300 > {LAST_PID}
           for stranger in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do '{stranger}'; done
           sleep 0.3
         done
         echo truth fds_after $(count)
         wait $dwell",
        result = result.display(),
        stranger = stranger.display(),
    );
    let namespace = ["--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", &script];
    let output = Running::start(Command::new(unshare).args(namespace))?.finish()?;
    let [before, after] = ["fds_before", "fds_after"].map(|key| output.truth(key).unwrap_or_default());
    let recording = Recording::in_folder(folder, output)?;
    ensure!(before > 0.0 && after <= before + 2.0, "descriptors: {before}, then {after}\n{}", recording.output.stderr);
    let threads = recording.rows(&["threads"])?;
    ensure!(threads.len() > 50, "{} threads: no id came round", threads.len());
    let modules = modules(&recording.path())?;
    ensure!(modules.iter().any(|path| path.contains("/ls")), "the program's files are missing: {modules:?}");
    ensure!(!modules.iter().any(|path| path.contains("stranger")), "a stranger's file is in the result: {modules:?}");
    Ok(())
}

/// The variable that tells a program its folder of ITT, in the words of a shell.
const TELL_FOLDER: &str = "env | grep -o '/dev/shm/dwell-[0-9a-f]*' | head -n 1";

/// A collection that is killed leaves a result, with the kill among its losses, and a folder in shared memory, which the next
/// collection removes.
fn killed_collections_leave_nothing() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let told = folder.path().join("told");
    let script = format!("{TELL_FOLDER} > {0}.new; mv {0}.new {0}; exec sleep 2", told.display());
    let running = Running::start(&mut collect(folder.path(), &[], &["sh", "-c", &script]))?;
    wait_for("the program", || told.exists().then_some(()))?;
    let shared = PathBuf::from(fs::read_to_string(&told)?.trim());
    ensure!(shared.is_absolute(), "the program was told no folder: {}", shared.display());
    std::thread::sleep(Duration::from_millis(500));
    running.signal(Signal::KILL)?;
    let output = running.finish()?;
    ensure!(shared.exists(), "nothing is left that the next collection has to remove");
    let finalized = run_dwell(&["finalize", &folder.path().join("result").display().to_string()])?;
    ensure!(finalized.status.success(), "finalize: {}", finalized.stderr);
    let killed = Recording::in_folder(folder, output)?;
    let lost = killed.report(&["summary"])?["losses"]["collections_cut_off"].as_f64();
    ensure!(lost == Some(1.0), "the kill is no loss: {}", killed.report(&["losses"])?);
    Recording::of(&[], &["true"])?;
    ensure!(!shared.exists(), "{} is left", shared.display());
    Ok(())
}

/// Whenever a collection is killed while it starts, its folder is a result that can be finalized, or the error of the next
/// one of this name says what to type.
fn killed_while_it_starts() -> Result<()> {
    needs_recording()?;
    for delay_ms in [0, 2, 20, 60, 150, 300] {
        let folder = TempDir::new()?;
        let result = folder.path().join("result");
        let running = Running::start(&mut collect(folder.path(), &[], &["true"]))?;
        wait_for("the result's folder", || result.exists().then_some(()))?;
        std::thread::sleep(Duration::from_millis(delay_ms));
        running.signal(Signal::KILL)?;
        running.finish()?;
        let finalized = run_dwell(&["finalize", &result.display().to_string()])?;
        if finalized.status.success() {
            Recording::in_folder(folder, finalized)?.report(&["summary"])?;
            continue;
        }
        let again = Running::start(&mut collect(folder.path(), &[], &["true"]))?.finish()?;
        let hint = again.stderr.lines().find_map(|line| line.strip_prefix("hint: ")?.split_once(" deletes it"));
        let (command, _) = hint.with_context(|| format!("{delay_ms} ms: {}\n{}", finalized.stderr, again.stderr))?;
        ensure!(Command::new("sh").args(["-c", command]).status()?.success(), "{command}");
        let again = Running::start(&mut collect(folder.path(), &[], &["true"]))?.finish()?;
        ensure!(again.status.success(), "after {command}: {}", again.stderr);
    }
    Ok(())
}

/// Collects `program` from a shell in which `before` was done.
fn collect_after(folder: &TempDir, before: &str, options: &[&str], program: &[&str]) -> Result<Output> {
    let command = collect(folder.path(), options, program);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{before} && exec \"$0\" \"$@\"")]).arg(command.get_program()).args(command.get_args());
    Running::start(&mut shell)?.finish()
}

fn few_descriptors() -> Result<()> {
    needs_recording()?;
    let output = collect_after(&TempDir::new()?, "ulimit -n 64", &[], &["true"])?;
    ensure!(output.code() == 77 && output.stderr.contains("only 64 files"), "{}", output.stderr);
    ensure!(output.stderr.contains("hint: ulimit -n "), "{}", output.stderr);
    let folder = TempDir::new()?;
    let output = collect_after(&folder, "ulimit -Sn 64", &[], &["sh", "-c", "echo truth limit $(ulimit -n)"])?;
    ensure!(output.status.success(), "a limit that may be raised: {}", output.stderr);
    ensure!(output.truth("limit") == Some(64.0), "the program has another limit: {}", output.stdout);
    Ok(())
}

fn file_size_limit() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let mark = folder.path().join("end");
    let program = format!("sleep 1; touch {}; exit 7", mark.display());
    let output = collect_after(&folder, "ulimit -f 4", &[], &["sh", "-c", &program])?;
    // Dwell waits for the program: its status is what whoever started the job wants to know.
    ensure!(output.code() == 7 && output.stderr.contains("File too large"), "{}: {}", output.code(), output.stderr);
    ensure!(mark.exists(), "the program did not reach its end");
    Ok(())
}

/// What finalization has no room for it writes later.
fn disk_full_in_finalization() -> Result<()> {
    needs_recording()?;
    let unshare = needs_program("unshare")?;
    let folder = TempDir::new()?;
    let dwell = dwell(&[]).get_program().display().to_string();
    let script = format!(
        "mount -t tmpfs -o size=4m none '{disk}' && cd '{disk}' &&
         '{dwell}' collect threading -q --finalization-mode none -r r -- '{convoy}' >/dev/null &&
         dd if=/dev/zero of=filler bs=4k status=none; ! '{dwell}' finalize r && rm filler && '{dwell}' finalize r",
        disk = folder.path().display(),
        convoy = sample("convoy")?,
    );
    let output = Running::start(Command::new(unshare).args(["--mount", "sh", "-c", &script]))?.finish()?;
    let stderr = &output.stderr;
    ensure!(output.status.success(), "not finalized when there was room again: {stderr}");
    ensure!(stderr.contains("No space left on device") && !stderr.contains("damaged"), "{stderr}");
    ensure!(stderr.contains("hint: free some space; then dwell finalize r"), "{stderr}");
    Ok(())
}

fn result_removed() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let script = format!("rm -rf '{}'; sleep 0.5; exit 7", folder.path().join("result").display());
    let output = Running::start(&mut collect(folder.path(), &[], &["sh", "-c", &script]))?.finish()?;
    ensure!(output.code() == 7 && output.stderr.contains("removed or moved"), "{}: {}", output.code(), output.stderr);
    ensure!(!output.stderr.contains("dwell finalize"), "there is nothing to finalize: {}", output.stderr);
    Ok(())
}

/// A program that fills its folder of ITT with files of its own name costs Dwell little.
fn many_files_for_itt() -> Result<()> {
    let script = format!(
        "d=$({TELL_FOLDER}); i=0; while [ $i -lt 20000 ]; do : > $d/$$-$i.itt; i=$((i+1)); done; sleep 4; echo truth files $i"
    );
    let recording = Recording::of(&[], &["sh", "-c", &script])?;
    ensure!(recording.output.truth("files") == Some(20_000.0), "{}", recording.output.stderr);
    let manifest = ResultFolder::open(&recording.path())?.manifest()?;
    let elapsed_ns = manifest.end_ns - manifest.start_ns;
    let cpu_ns = manifest.collector_cpu_ns;
    ensure!(cpu_ns < elapsed_ns / 2, "the collector took {cpu_ns} ns of CPU time in {elapsed_ns} ns");
    let refused = recording.report(&["summary"])?["losses"]["itt_files_refused"].as_f64();
    ensure!(refused.is_some(), "files that nobody mapped are no loss");
    Ok(())
}

fn finalization_has_a_peak() -> Result<()> {
    let recording = Recording::of(&[], &[&sample("convoy")?])?;
    let manifest = ResultFolder::open(&recording.path())?.manifest()?;
    let (collector, finalization) = (manifest.collector_peak_bytes, manifest.finalization_peak_bytes);
    // The kernel brings the largest value up to date now and then only.
    ensure!(collector > 0 && finalization as f64 >= 0.99 * collector as f64, "{collector} bytes, then {finalization}");
    Ok(())
}

/// A loop of a shell for so many seconds, up to its body. It makes no system call that waits.
fn busy_for(seconds: u32) -> String {
    format!(
        "read now _ < /proc/uptime; end=$((${{now%.*}} + {seconds})); \
         while read now _ < /proc/uptime; [ ${{now%.*}} -lt $end ]; do"
    )
}

/// A real-time program that leaves Dwell no CPU but what it takes by its own priority: the result says which.
fn real_time_program() -> Result<()> {
    needs_recording()?;
    let (taskset, chrt) = (needs_program("taskset")?, needs_program("chrt")?);
    let folder = TempDir::new()?;
    let busy = format!("{} :; done", busy_for(3));
    let command = collect(folder.path(), &[], &[&chrt, "-f", "50", "sh", "-c", &busy]);
    let mut pinned = Command::new(taskset);
    pinned.args(["-c", "0"]).arg(command.get_program()).args(command.get_args());
    let output = Running::start(&mut pinned)?.finish()?;
    ensure!(output.status.success(), "{}", output.stderr);
    let says_so = ["for a CPU", "real-time priority"].iter().any(|words| output.stderr.contains(words));
    ensure!(says_so, "nothing says that the collector came late or ran ahead: {}", output.stderr);
    let elapsed = number(&Recording::in_folder(folder, output)?.report(&["summary"])?, "elapsed_ns")?;
    ensure!(elapsed >= 2e9, "recorded {elapsed} ns of 2 s and more");
    Ok(())
}

/// What a program leaves behind when it ends is named.
fn background_process() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let script = "sleep 2 & sleep 0.2";
    let output = Running::start(&mut collect(folder.path(), &[], &["sh", "-c", script]))?.finish()?;
    ensure!(output.status.success() && output.stderr.contains("ran on: sleep ("), "{}", output.stderr);
    let output = Running::start(&mut collect(folder.path(), &["--result-dir", "other"], &["sh", "-c", "sleep 0.1"]))?
        .finish()?;
    ensure!(!output.stderr.contains("ran on"), "{}", output.stderr);
    Ok(())
}

/// Real-time processes that never let a CPU rest, and load code meanwhile: Dwell runs ahead of them, and has complete stacks.
fn real_time_processes() -> Result<()> {
    const PROGRAM: &str = "
import hashlib, os, time
end = time.time() + 3
for _ in range(3 * os.cpu_count() - 1):
    if os.fork() == 0:
        break
import ctypes, decimal, json, sqlite3
while time.time() < end:
    hashlib.sha256(bytes(100000)).hexdigest()
    time.sleep(0.0001)
";
    needs_recording()?;
    let (python, chrt) = (needs_program("python3")?, needs_program("chrt")?);
    let folder = TempDir::new()?;
    let output =
        Running::start(&mut collect(folder.path(), &[], &[&chrt, "-f", "50", &python, "-c", PROGRAM]))?.finish()?;
    ensure!(output.status.success(), "{}", output.stderr);
    ensure!(output.stderr.contains("real-time priority 51"), "nothing says that Dwell ran ahead: {}", output.stderr);
    let summary = Recording::in_folder(folder, output)?.report(&["summary"])?;
    let complete = number(&summary, "stacks_complete")?;
    ensure!(complete >= 0.9, "{complete} of the stacks are complete");
    Ok(())
}

/// A bounded recording of programs that come and go keeps what describes those of its last moments only.
fn ring_buffer_forgets_who_ended() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let options = ["--ring-buffer", "1", "--finalization-mode", "none"];
    // Each of them starts some hundred times a second, with five mappings.
    let script = format!("{} /bin/ls / >/dev/null; /bin/true; done", busy_for(10));
    let script = format!("{{ {script}; }} & {script}; wait");
    let running = Running::start(&mut collect(folder.path(), &options, &["sh", "-c", &script]))?;
    let output = running.finish()?;
    let result = folder.path().join("result");
    let names = fs::read_dir(result.join("spool"))?.flatten();
    let meta: Vec<_> = names.filter(|entry| entry.file_name().to_string_lossy().starts_with("meta")).collect();
    let is_new = meta.iter().all(|entry| entry.file_name().to_string_lossy().ends_with(".all.dws"));
    ensure!(output.status.success() && is_new && meta.len() == 1, "{meta:?}: {}", output.stderr);
    let finalized = run_dwell(&["finalize", &result.display().to_string()])?;
    ensure!(finalized.status.success(), "finalize: {}", finalized.stderr);
    let recording = Recording::in_folder(folder, output)?;
    let lost = &recording.report(&["summary"])?["losses"];
    for name in ["threads_made_up", "stacks_missing", "spool_bytes_lost"] {
        // A switch that no hook saw can be dated before its thread's birth.
        ensure!(lost[name].as_f64().unwrap_or(0.0) <= 5.0, "too much was forgotten: {lost}");
    }
    let wrong = conservation::of_parts(&recording)?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
