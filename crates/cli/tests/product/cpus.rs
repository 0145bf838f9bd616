//! CPUs that a program does not get: others have them, or its quota is used up.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::cgroup::Cgroup;
use crate::harness::{Case, Skip};
use crate::recording::{Recording, Running, collect, number, sample, text};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("cpus::taken_by_others", taken),
        Case::new("cpus::taken_unseen", taken_unseen),
        Case::new("cpus::low_priority", low_priority),
        Case::new("cpus::quota", quota),
        Case::new("cpus::quota_of_a_group_entered_later", quota_entered_later),
    ]
}

/// A program that computes without end on one CPU.
fn busy(cpu: &str) -> Result<Running> {
    Running::start(Command::new("taskset").args(["-c", cpu, "sh", "-c", "while :; do :; done"]))
}

/// A command's program and arguments.
fn words(command: &Command) -> Vec<String> {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect()
}

fn cause(recording: &Recording, kind: &str) -> Result<Option<Value>> {
    let told = recording.rows(&["explain"])?;
    Ok(told.into_iter().find(|row| text(row, "kind") == kind))
}

/// Three loops beside a program of two threads on one CPU: it gets what is left, and the cause says how much it wanted more and
/// who had it.
fn taken() -> Result<()> {
    let busy = [busy("0")?, busy("0")?, busy("0")?];
    let folder = TempDir::new()?;
    let command = words(&collect(folder.path(), &[], &[&sample("convoy_fixed")?]));
    let output = Running::start(Command::new("taskset").args(["-c", "0"]).args(command))?.finish()?;
    drop(busy);
    let recording = Recording::in_folder(folder, output)?;
    let summary = recording.report(&["summary"])?;
    let manifest = fs::read_to_string(recording.path().join("manifest.json"))?;
    let taken =
        cause(&recording, "cpus-taken")?.with_context(|| format!("no cause cpus-taken: {summary} {manifest}"))?;
    let (elapsed, queued) = (number(&summary, "elapsed_ns")?, number(&summary, "preemption_ns")?);
    let denied = number(&taken, "wait_ns")?;
    ensure!(denied >= 0.1 * elapsed, "{denied} ns of {elapsed}");
    // Several threads may be ready at once behind one program.
    ensure!(denied <= queued, "{denied} ns, though threads were ready for {queued} only");
    ensure!(text(&taken, "text").contains("sh "), "it does not name the loops: {taken}");
    Ok(())
}

/// Two processes that compute, beside a loop that keeps each CPU but one: they share that one, and seem to wait for each other. Others have
/// the rest, though nobody waits there.
fn taken_unseen() -> Result<()> {
    let cpus = std::thread::available_parallelism()?.get();
    if cpus < 2 {
        return Err(Skip("there is one CPU".into()).into());
    }
    let busy = (1..cpus).map(|cpu| busy(&cpu.to_string())).collect::<Result<Vec<_>>>()?;
    let count = "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done";
    let recording = Recording::of(&[], &["sh", "-c", &format!("({count}) & ({count}) & wait")])?;
    drop(busy);
    let summary = recording.report(&["summary"])?;
    let taken = cause(&recording, "cpus-taken")?.with_context(|| format!("no cause cpus-taken: {summary}"))?;
    let (taken_ns, queued_ns) = (number(&taken, "wait_ns")?, number(&summary, "preemption_ns")?);
    ensure!(taken_ns >= 0.6 * queued_ns, "others had {taken_ns} ns of {queued_ns} only: {taken} {summary}");
    Ok(())
}

/// A program with a quarter of a loop's weight beside it: it is told that this is why it waits.
fn low_priority() -> Result<()> {
    let busy = busy("0")?;
    let folder = TempDir::new()?;
    let niced = ["taskset", "-c", "0", "nice", "-n", "6"];
    let sample = sample("convoy_fixed")?;
    let mut command = collect(folder.path(), &[], &[&niced[..], &[sample.as_str()]].concat());
    let output = Running::start(&mut command)?.finish()?;
    drop(busy);
    let recording = Recording::in_folder(folder, output)?;
    let told = recording.rows(&["explain"])?;
    let low = told.iter().find(|row| text(row, "kind") == "low-priority");
    let low = low.with_context(|| format!("no cause low-priority: {told:?}"))?;
    ensure!(text(low, "text").contains("nice 6"), "{low}");
    ensure!(text(low, "advice").contains("nice 6"), "{low}");
    let threads = recording.rows(&["threads"])?;
    let workers: Vec<&Value> = threads.iter().filter(|row| text(row, "process") == "convoy_fixed").collect();
    ensure!(!workers.is_empty() && workers.iter().all(|row| text(row, "priority") == "nice 6"), "{threads:?}");
    if std::thread::available_parallelism()?.get() > 1 {
        ensure!(
            workers.iter().all(|row| number(row, "cpus_allowed").is_ok_and(|cpus| cpus == 1.0)),
            "bound to one CPU: {workers:?}"
        );
    }
    Ok(())
}

/// A fifth of a CPU for four computing threads.
fn quota() -> Result<()> {
    let version_1 = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "20000")];
    let group = Cgroup::new("cpu", &version_1, &[("cpu.max", "20000 100000")])?;
    let folder = TempDir::new()?;
    let dwell = words(&collect(folder.path(), &[], &[&sample("convoy_fixed")?]));
    let command = group.entering(&dwell.iter().map(String::as_str).collect::<Vec<_>>());
    let output = Running::start(Command::new(&command[0]).args(&command[1..]))?.finish()?;
    let recording = Recording::in_folder(folder, output)?;
    let manifest: Value = serde_json::from_slice(&fs::read(recording.path().join("manifest.json"))?)?;
    let quota = manifest["taken"]["quotas"].as_array().and_then(|quotas| quotas.first()).context("no quota")?;
    ensure!(number(quota, "throttled_periods")? >= 1.0, "{quota}");
    let quota = cause(&recording, "cpu-quota")?.context("no cause cpu-quota")?;
    ensure!(text(&quota, "text").contains("20.0 ms of CPU time in 100 ms"), "{quota}");
    Ok(())
}

/// A program that enters its group when it already runs, as in a container, and without exec; the group is gone before the end. It
/// has one thread: of several that a quota stops on one CPU the kernel counts the time once.
fn quota_entered_later() -> Result<()> {
    let version_1 = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "20000")];
    let group = Cgroup::new("cpu", &version_1, &[("cpu.max", "20000 100000")])?;
    let parent = group.path().parent().context("the group has no parent")?;
    let script = format!(
        "(while :; do :; done) & sleep 0.3; echo $! > {group}/cgroup.procs; sleep 2; \
         awk '$1 == \"throttled_time\" {{ print \"truth ms\", $2 / 1e6 }} $1 == \"throttled_usec\" {{ print \"truth ms\", $2 / 1e3 }}' \
         {group}/cpu.stat; echo $! > {parent}/cgroup.procs; rmdir {group}; kill $!; wait",
        group = group.path().display(),
        parent = parent.display(),
    );
    let recording = Recording::of(&[], &["sh", "-c", &script])?;
    let counted_ns = recording.output.truth("ms").context("no count of the kernel")? * 1e6;
    let quota = cause(&recording, "cpu-quota")?.context("no cause cpu-quota")?;
    let told = number(&quota, "wait_ns")?;
    ensure!((0.8..1.2).contains(&(told / counted_ns)), "{told} ns, the kernel counted {counted_ns}");
    Ok(())
}
