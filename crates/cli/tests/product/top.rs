//! `dwell top`: what it says of programs that do a known thing, once for a script and on its screen.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Recording, Running, dwell, needs_program, needs_recording, number, sample, text, wait_for};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("top::a_lock_and_its_holder", a_lock_and_its_holder),
        Case::new("top::times_are_the_kernels", times_are_the_kernels),
        Case::new("top::the_whole_machine", the_whole_machine),
        Case::new("top::every_wait_exactly", every_wait_exactly),
        Case::new("top::forms_and_limits", forms_and_limits),
        Case::new("top::without_root", without_root),
        Case::new("top::what_is_not_there_is_said", what_is_not_there_is_said),
        Case::new("top::the_screen", the_screen),
    ]
}

/// A boss holds a mutex and sleeps, and three workers wait for it.
pub const HELD: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *worker(void *name) { pthread_setname_np(pthread_self(), name); pthread_mutex_lock(&lock); return 0; }
int main(void) {
	pthread_t threads[3];
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, worker, "worker");
	sleep(60);
	return 0;
}
"#;

pub fn build(folder: &Path, name: &str, source: &str) -> Result<PathBuf> {
    let compiler = needs_program("cc")?;
    let (path, file) = (folder.join(name), folder.join(format!("{name}.c")));
    fs::write(&file, source)?;
    let output = Command::new(compiler).args(["-O1", "-pthread", "-o"]).arg(&path).arg(&file).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(path)
}

fn once(options: &[&str]) -> Result<Vec<Value>> {
    let output = Running::start(dwell(&["top", "--once", "--format", "json"]).args(options))?.finish()?;
    ensure!(output.status.success(), "{}", output.stderr);
    let view: Value = serde_json::from_str(&output.stdout)?;
    view["rows"].as_array().cloned().context("no rows")
}

fn a_lock_and_its_holder() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let program = Running::start(&mut Command::new(build(folder.path(), "boss", HELD)?))?;
    let pid = program.pid().to_string();
    wait_for("the workers", || {
        fs::read_dir(format!("/proc/{pid}/task")).ok().map(Iterator::count).filter(|threads| *threads == 4)
    })?;
    let rows = once(&["-p", &pid, "--interval", "1s"])?;
    ensure!(rows.len() == 1 && text(&rows[0], "process") == "boss", "{rows:?}");
    let row = &rows[0];
    let waits = &row["waits"];
    let lived = 4.0 * 1e9;
    ensure!((number(waits, "lock")? / lived - 0.75).abs() < 0.02, "three of four threads wait for a lock: {row}");
    ensure!((number(waits, "sleep")? / lived - 0.25).abs() < 0.02, "one sleeps: {row}");
    ensure!(text(row, "top_object_type") == "mutex" && text(row, "holder") == format!("boss ({pid})"), "{row}");
    ensure!(text(row, "explanation").contains(&format!("which boss ({pid}) has: it sleeps")), "{row}");
    ensure!(number(row, "exact")? == 1.0, "nothing moved, so nothing is estimated: {row}");
    let threads = once(&["-p", &pid, "--interval", "1s", "--group-by", "thread"])?;
    ensure!(threads.iter().filter(|row| text(row, "thread") == "worker").count() == 3, "{threads:?}");
    Ok(())
}

/// Running and runnable time against /proc, for a program that runs all the time beside another.
fn times_are_the_kernels() -> Result<()> {
    needs_recording()?;
    let busy = Running::start(Command::new("sh").args(["-c", "while :; do :; done"]))?;
    let _other = Running::start(Command::new("sh").args(["-c", "while :; do :; done"]))?;
    let pid = busy.pid();
    let accounts = || -> Result<[f64; 2]> {
        let text = fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
        let mut numbers = text.split_whitespace().map(|number| number.parse::<f64>().unwrap_or(0.0));
        Ok([numbers.next().unwrap_or(0.0), numbers.next().unwrap_or(0.0)])
    };
    let before = accounts()?;
    let rows = once(&["-p", &pid.to_string(), "--interval", "2s"])?;
    let after = accounts()?;
    let row = rows.first().context("no row")?;
    let (running, runnable) = (number(row, "running_ns")?, number(row, "runnable_ns")?);
    let lived = running + runnable + number(row, "waiting_ns")?;
    ensure!((lived / 2e9 - 1.0).abs() < 0.05, "one thread lived {lived} ns of 2 s");
    // Around the interval /proc has the time in which Dwell started and printed, too: of that the same share is running.
    let share = (after[0] - before[0]) / (after[0] - before[0] + after[1] - before[1]);
    ensure!(
        (running / (running + runnable) - share).abs() < 0.1,
        "{running} ns running and {runnable} runnable, /proc says {share}"
    );
    ensure!(running <= after[0] - before[0] + 2e7, "{running} ns, and /proc has only {}", after[0] - before[0]);
    Ok(())
}

fn the_whole_machine() -> Result<()> {
    needs_recording()?;
    let sleeping = Running::start(Command::new("sleep").arg("60"))?;
    let rows = once(&["--interval", "500ms", "--limit", "0"])?;
    let pid = f64::from(sleeping.pid());
    let sleep = rows.iter().find(|row| number(row, "pid").ok() == Some(pid)).context("a process is missing")?;
    ensure!(number(&sleep["waits"], "sleep")? > 0.95 * number(sleep, "waiting_ns")?, "{sleep}");
    let kernel = once(&["--interval", "200ms", "--limit", "0", "--kernel-threads"])?;
    let has_kthreadd = |rows: &[Value]| rows.iter().any(|row| text(row, "process") == "kthreadd");
    ensure!(has_kthreadd(&kernel) && !has_kthreadd(&rows), "kthreadd is shown only when asked for");
    for row in &rows {
        let waits = row["waits"].as_object().context("waits")?.values().filter_map(Value::as_f64).sum::<f64>();
        ensure!((waits - number(row, "waiting_ns")?).abs() < 1.0, "the kinds are not the waiting time: {row}");
    }
    Ok(())
}

/// Of a program that begins and ends within the interval: what `dwell collect` and the program itself say of the same run.
fn every_wait_exactly() -> Result<()> {
    needs_recording()?;
    let sleeping = Running::start(Command::new("sleep").arg("60"))?;
    let options = ["--once", "--exact", "--interval", "6s", "--limit", "0", "--format", "json", "--group-by", "thread"];
    let top = Running::start(dwell(&["top"]).args(options))?;
    sleep(Duration::from_secs(1));
    let recorded = Recording::of(&[], &[&sample("convoy")?])?;
    let output = top.finish()?;
    ensure!(output.status.success(), "{}", output.stderr);
    let view: Value = serde_json::from_str(&output.stdout)?;
    ensure!(view["notes"].to_string().contains("exact: every wait is in it"), "{}", view["notes"]);
    let rows = view["rows"].as_array().context("rows")?;
    let convoy: Vec<_> = rows.iter().filter(|row| text(row, "process") == "convoy").collect();
    ensure!(convoy.len() == 5, "all its threads have ended, and each has a row: {convoy:?}");
    let waits = recorded.rows(&["waits"])?;
    let lock = waits.iter().find(|row| text(row, "object") == "queue_lock").context("no lock")?;
    // The thread of main is apart: before its exec it waited until `dwell collect` had its hooks in place.
    let is_worker = |row: &&&Value| text(row, "thread") != "convoy";
    let (mut shown, wanted) = (0.0, number(lock, "wait_ns")?);
    for worker in convoy.iter().filter(is_worker) {
        let of_locks = number(&worker["waits"], "lock")?;
        ensure!(number(worker, "top_wait_ns")? == of_locks, "there is one lock: {worker}");
        shown += of_locks;
    }
    ensure!((shown / wanted - 1.0).abs() < 0.02, "{shown} ns in locks, and collect has {wanted}: {convoy:?}");
    ensure!(rows.iter().all(|row| number(row, "exact").is_ok_and(|exact| exact == 1.0)), "nothing is estimated");
    let is_sleeping = |row: &&Value| number(row, "pid").is_ok_and(|pid| pid == f64::from(sleeping.pid()));
    let asleep = rows.iter().find(is_sleeping).context("a wait that neither began nor ended is missing")?;
    let lived = number(asleep, "running_ns")? + number(asleep, "runnable_ns")? + number(asleep, "waiting_ns")?;
    ensure!((lived / 6e9 - 1.0).abs() < 0.05, "it lived {lived} ns of 6 s: {asleep}");
    Ok(())
}

fn forms_and_limits() -> Result<()> {
    needs_recording()?;
    let print = |options: &[&str]| -> Result<String> {
        let output = Running::start(dwell(&["top", "--once", "--interval", "200ms"]).args(options))?.finish()?;
        ensure!(output.status.success(), "{}", output.stderr);
        Ok(output.stdout)
    };
    let csv = print(&["--format", "csv", "--limit", "3"])?;
    ensure!(csv.starts_with("process,pid,tid,") && csv.lines().count() <= 4, "{csv}");
    let text = print(&["--limit", "2", "--sort", "waiting"])?;
    ensure!(text.contains("Running") && text.contains("more rows: --limit 0 shows all"), "{text}");
    let groups = print(&["--group-by", "cgroup", "--format", "csv"])?;
    ensure!(groups.lines().count() >= 2, "{groups}");
    Ok(())
}

/// Without rights one's own processes are shown, and it is said that others are not.
fn without_root() -> Result<()> {
    let setpriv = needs_program("setpriv")?;
    let folder = TempDir::new()?;
    let own = folder.path().join("dwell");
    fs::copy(env!("CARGO_BIN_EXE_dwell"), &own)?;
    let open = |path: &Path, mode: u32| fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode));
    open(folder.path(), 0o755)?;
    open(&own, 0o755)?;
    let mut nobody = Command::new(setpriv);
    nobody.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "sh", "-c"]);
    let refused = format!("{} top --once --exact; echo \"status $?\"", own.display());
    let line = format!("sleep 5 & {} top --once --interval 500ms --format json --limit 0; kill $!", own.display());
    let output = Running::start(nobody.arg(format!("{refused} >&2; {line}")))?.finish()?;
    let says = |words: &str| output.stderr.contains(words);
    ensure!(says("--exact needs hooks") && says("hint: ") && says("status 1"), "{}", output.stderr);
    ensure!(output.status.success(), "{}", output.stderr);
    let view: Value = serde_json::from_str(&output.stdout)?;
    ensure!(view["notes"].to_string().contains("only your own processes"), "{}", view["notes"]);
    let rows = view["rows"].as_array().context("rows")?;
    let sleep = rows.iter().find(|row| text(row, "process") == "sleep").context("the own process is missing")?;
    ensure!(number(&sleep["waits"], "sleep")? > 0.9 * number(sleep, "waiting_ns")?, "{sleep}");
    ensure!(rows.iter().all(|row| number(row, "pid").is_ok_and(|pid| pid != 1.0)), "root's process is shown");
    Ok(())
}

fn what_is_not_there_is_said() -> Result<()> {
    for (options, code, said) in [
        (&["--once", "-p", "4194304"][..], 1, "no process 4194304 runs"),
        (&["--once", "--target-process", "nosuchprogram"][..], 1, "no process runs a program called nosuchprogram"),
        (&["--once", "--container", "nosuch"][..], 1, "called nosuch"),
        (&[][..], 2, "the screen needs a terminal"),
        (&["--format", "json"][..], 2, "--once"),
        (&["--once", "--sort", "beauty"][..], 2, "beauty"),
    ] {
        let output = Running::start(dwell(&["top"]).args(options))?.finish()?;
        ensure!(output.status.code() == Some(code), "{options:?}: {:?} {}", output.status, output.stderr);
        ensure!(output.stderr.contains(said) && output.stderr.contains("hint: "), "{options:?}: {}", output.stderr);
    }
    Ok(())
}

/// In a terminal of 80 columns: rows, the way into a process and back, order, filter, help, and a terminal as it was before.
fn the_screen() -> Result<()> {
    needs_recording()?;
    let tmux = needs_program("tmux")?;
    let folder = TempDir::new()?;
    let program = Running::start(&mut Command::new(build(folder.path(), "boss", HELD)?))?;
    let socket = folder.path().join("tmux").display().to_string();
    let tell = |arguments: &[&str]| -> Result<String> {
        let output = Command::new(&tmux).args(["-S", &socket]).args(arguments).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let line = format!("{} top --target-process boss --interval 300ms", env!("CARGO_BIN_EXE_dwell"));
    tell(&["new-session", "-d", "-x", "80", "-y", "24", "sh"])?;
    tell(&["send-keys", &line, "Enter"])?;
    let screen = || tell(&["capture-pane", "-p"]).unwrap_or_default();
    let shows = |words: &str| wait_for(words, || Some(screen()).filter(|screen| screen.contains(words)));
    let keys = |keys: &[&str]| tell(&[&["send-keys"], keys].concat());
    let outcome = (|| -> Result<()> {
        let first = shows(&format!("which boss ({}) has: it sleeps", program.pid()))?;
        ensure!(first.contains("PROCESS") && first.contains("LOCK") && first.contains("boss"), "{first}");
        ensure!(first.lines().all(|line| line.chars().count() <= 80), "{first}");
        keys(&["Enter"])?;
        let inside = shows("THREAD ")?;
        ensure!(inside.matches("worker ").count() >= 3, "{inside}");
        keys(&["Escape"])?;
        shows("PROCESS")?;
        keys(&["s"])?;
        shows("dwell top by queue")?;
        keys(&["Space"])?;
        shows("FROZEN")?;
        keys(&["Space"])?;
        keys(&["/", "n", "o", "n", "e", "Enter"])?;
        shows("no thread fits")?;
        keys(&["Escape"])?;
        shows("boss")?;
        keys(&["?"])?;
        shows("only rows with this name")?;
        keys(&["q"])?;
        shows("PROCESS")?;
        tell(&["resize-window", "-x", "20", "-y", "5"])?;
        wait_for("a small screen", || Some(screen()).filter(|screen| !screen.contains("panicked")))?;
        tell(&["resize-window", "-x", "80", "-y", "24"])?;
        shows("PROCESS")?;
        keys(&["q"])?;
        keys(&["echo back again", "Enter"])?;
        shows("back again")?;
        // A terminal that goes away ends it.
        keys(&["clear", "Enter", &line, "Enter"])?;
        shows("PROCESS").map(drop)
    })();
    tell(&["kill-server"])?;
    outcome?;
    let runs_on = || Command::new("pgrep").args(["-f", &line]).output().is_ok_and(|found| found.status.success());
    wait_for("the end of dwell top", || (!runs_on()).then_some(()))
}
