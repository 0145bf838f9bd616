//! Recording in and around containers, which are made of namespaces by hand: Dwell inside, outside, and in a sidecar that shares
//! the pid namespace with the program.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{
    Output, Recording, Running, collect, needs_program, needs_recording, number, sample, text, wait_for,
};

/// Waits for the lock in one run of the convoy.
const WAITS: f64 = 23.0;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("containers::inside_a_program_is_launched", inside_a_program_is_launched),
        Case::new("containers::inside_a_neighbour_is_attached_to", inside_a_neighbour_is_attached_to),
        Case::new("containers::outside_sees_into_a_container", outside_sees_into_a_container),
        Case::new("containers::a_sidecar_shares_the_pids_only", a_sidecar_shares_the_pids_only),
        Case::new("containers::a_read_only_root_is_enough", a_read_only_root_is_enough),
        Case::new("containers::a_control_group_is_no_hindrance", a_control_group_is_no_hindrance),
        Case::new("containers::foreign_proc_is_refused", foreign_proc_is_refused),
        Case::new("containers::an_engines_capabilities_are_too_few", an_engines_capabilities_are_too_few),
    ]
}

/// A shell line as process 1 of new pid and mount namespaces. It ends with `unshare`.
fn contained(line: &str) -> Result<Command> {
    let mut command = Command::new(needs_program("unshare")?);
    command.args(["--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "sh", "-c", line]);
    command.env_remove("SUDO_USER");
    Ok(command)
}

/// `dwell collect threading` as a line for a shell.
fn collecting(folder: &Path, options: &[&str], program: &[&str]) -> String {
    let command = collect(folder, options, program);
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| format!("'{}'", word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

fn recorded(folder: TempDir, output: Output) -> Result<Recording> {
    ensure!(output.status.success(), "dwell: {}", output.stderr);
    Recording::in_folder(folder, output)
}

/// The convoy's lock has its name, its count and, where the program told it, its time.
fn check_lock(recording: &Recording) -> Result<()> {
    let waits = recording.rows(&["waits"])?;
    let lock = waits.iter().find(|row| text(row, "object") == "queue_lock").context("no wait for queue_lock")?;
    let count = number(lock, "wait_count")?;
    let expected = recording.output.truth("queue_lock_waits").unwrap_or(WAITS);
    ensure!((count - expected).abs() <= 2.0, "{count} waits for queue_lock, not {expected}");
    if let Some(truth) = recording.output.truth("queue_lock_wait_ns") {
        let measured = number(lock, "wait_ns")?;
        ensure!((measured / truth - 1.0).abs() < 0.05, "{measured} ns for {truth}");
    }
    let joins = waits.iter().filter(|row| text(row, "object").starts_with("Thread worker-"));
    ensure!(joins.count() > 0, "no joined thread has a name: {waits:?}");
    Ok(())
}

/// Each whole run of a convoy that runs again and again waited so often, in a function with a name.
fn check_convoys(recording: &Recording, within_one_namespace: bool) -> Result<()> {
    let rows = recording.rows(&["waits", "--limit", "1000"])?;
    let locks: Vec<&Value> = rows.iter().filter(|row| text(row, "object") == "queue_lock").collect();
    let whole = |row: &&&Value| number(row, "wait_count").is_ok_and(|count| (count - WAITS).abs() <= 2.0);
    let complete = locks.iter().filter(whole).count();
    ensure!(complete >= 2, "{complete} whole convoys of {}: {rows:?}", locks.len());
    let named = locks.iter().filter(whole).filter(|row| text(row, "first_wait_at").contains("push_item")).count();
    ensure!(named == complete, "{named} of {complete} locks are waited for in push_item: {rows:?}");
    let threads = recording.rows(&["threads", "--limit", "10000"])?;
    let low = |row: &Value| number(row, "tid").is_ok_and(|tid| tid > 0.0 && tid < 2000.0);
    ensure!(!within_one_namespace || threads.iter().all(low), "ids of another namespace: {threads:?}");
    let made_up = threads.iter().filter(|row| text(row, "name").is_empty()).count();
    ensure!(made_up == 0, "{made_up} threads without names");
    Ok(())
}

fn inside_a_program_is_launched() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let line = collecting(folder.path(), &[], &[&sample("convoy")?]);
    let output = Running::start(&mut contained(&line)?)?.finish()?;
    let recording = recorded(folder, output)?;
    check_lock(&recording)?;
    let threads = recording.rows(&["threads"])?;
    ensure!(threads.len() == 5, "{} threads", threads.len());
    let low = threads.iter().all(|row| number(row, "tid").is_ok_and(|tid| tid > 1.0 && tid < 100.0));
    ensure!(low, "ids are not those inside: {threads:?}");
    Ok(())
}

/// A line that runs the program at `path` again and again.
fn again_and_again(path: &str) -> String {
    format!("while :; do '{path}' > /dev/null; done")
}

fn inside_a_neighbour_is_attached_to() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let collecting = collecting(folder.path(), &["--duration", "3", "--target-pid"], &[]);
    let line = format!("{} & sleep 0.3; {collecting} $!", again_and_again(&sample("convoy")?));
    let output = Running::start(&mut contained(&line)?)?.finish()?;
    check_convoys(&recorded(folder, output)?, true)
}

/// A container whose program no path outside leads to: it lies in a file system that is mounted there only. Gives the
/// container, and the id of its first process outside.
fn hidden_program() -> Result<(Running, u32)> {
    let convoy = sample("convoy")?;
    let run = again_and_again("/mnt/hidden");
    let line = format!("mount -t tmpfs none /mnt && cp '{convoy}' /mnt/hidden && {run}");
    let container = Running::start(&mut contained(&line)?)?;
    let children = format!("/proc/{0}/task/{0}/children", container.pid());
    let first = || fs::read_to_string(&children).ok()?.split_whitespace().next()?.parse::<u32>().ok();
    let first = wait_for("the container", first)?;
    wait_for("its program", || Path::new(&format!("/proc/{first}/root/mnt/hidden")).exists().then_some(()))?;
    Ok((container, first))
}

fn outside_sees_into_a_container() -> Result<()> {
    needs_recording()?;
    let (_container, first) = hidden_program()?;
    let folder = TempDir::new()?;
    let options = ["--duration", "3", "--target-pid", &first.to_string()];
    let output = Running::start(&mut collect(folder.path(), &options, &[]))?.finish()?;
    let recording = recorded(folder, output)?;
    check_convoys(&recording, false)?;
    let joins = recording.rows(&["waits", "--limit", "1000"])?;
    let named = joins.iter().filter(|row| text(row, "object").starts_with("Thread worker-")).count();
    ensure!(named > 0, "joined threads are known by their ids inside: {joins:?}");
    Ok(())
}

fn a_sidecar_shares_the_pids_only() -> Result<()> {
    needs_recording()?;
    let (_container, first) = hidden_program()?;
    let folder = TempDir::new()?;
    // Its own mounts, but the program's processes: what Kubernetes calls shareProcessNamespace.
    let collecting = collecting(folder.path(), &["--duration", "3", "--target-pid", "1"], &[]);
    let mut sidecar = Command::new(needs_program("nsenter")?);
    sidecar.args([
        "--pid",
        "--target",
        &first.to_string(),
        "unshare",
        "--mount",
        "--mount-proc",
        "sh",
        "-c",
        &collecting,
    ]);
    let output = Running::start(sidecar.env_remove("SUDO_USER"))?.finish()?;
    check_convoys(&recorded(folder, output)?, true)
}

fn a_read_only_root_is_enough() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let place = folder.path().display();
    let line = collecting(folder.path(), &[], &[&sample("convoy")?]);
    // All is read-only but the place of the result.
    let line = format!(
        "mount --bind '{place}' '{place}' && mount -o remount,bind,ro / && ! touch /dwell-was-here && cd / && {line}"
    );
    let output = Running::start(&mut contained(&line)?)?.finish()?;
    check_lock(&recorded(folder, output)?)
}

/// In a group of its own, of each hierarchy that this machine has, which shows as the root of all groups.
fn a_control_group_is_no_hindrance() -> Result<()> {
    needs_recording()?;
    let mut tried = 0;
    for hierarchy in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu"] {
        let group = Path::new(hierarchy).join(format!("dwell-test-{}", std::process::id()));
        if !Path::new(hierarchy).join("cgroup.procs").exists() || fs::create_dir(&group).is_err() {
            continue;
        }
        let outcome = recorded_in_group(&group);
        // Processes that have just ended keep it busy for a moment.
        wait_for("the group's end", || fs::remove_dir(&group).ok())?;
        outcome.with_context(|| hierarchy.to_owned())?;
        tried += 1;
    }
    if tried > 0 { Ok(()) } else { Err(Skip("no control group can be made".into()).into()) }
}

fn recorded_in_group(group: &Path) -> Result<()> {
    let folder = TempDir::new()?;
    let line = collecting(folder.path(), &[], &[&sample("convoy")?]);
    let line = format!("echo $$ > '{}/cgroup.procs' && unshare --cgroup {line}", group.display());
    let output = Running::start(Command::new("sh").args(["-c", &line]).env_remove("SUDO_USER"))?.finish()?;
    check_lock(&recorded(folder, output)?)
}

/// Inside, but with the `/proc` of outside: no id in it is what the kernel takes for one there.
fn foreign_proc_is_refused() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let line = collecting(folder.path(), &[], &["true"]);
    let mut command = Command::new(needs_program("unshare")?);
    command.args(["--pid", "--fork", "--kill-child", "sh", "-c", &line]).env_remove("SUDO_USER");
    let output = Running::start(&mut command)?.finish()?;
    ensure!(output.code() == 77, "status {}: {}", output.code(), output.stderr);
    ensure!(output.stderr.contains("another pid namespace"), "{}", output.stderr);
    ensure!(output.stderr.contains("hint: mount -t proc"), "{}", output.stderr);
    Ok(())
}

/// What docker and podman leave to root in a container, unless told otherwise.
const ENGINE: &str =
    "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+sys_chroot";

fn an_engines_capabilities_are_too_few() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let dwell = collecting(folder.path(), &["--source", "bpf"], &["true"]);
    let line = format!("{} --bounding-set={ENGINE} {dwell}", needs_program("setpriv")?);
    let output = Running::start(&mut contained(&line)?)?.finish()?;
    ensure!(output.code() == 77, "status {}: {}", output.code(), output.stderr);
    ensure!(output.stderr.contains("CAP_BPF") && output.stderr.contains("CAP_PERFMON"), "{}", output.stderr);
    ensure!(!folder.path().join("result").exists(), "an empty result is left");
    Ok(())
}
