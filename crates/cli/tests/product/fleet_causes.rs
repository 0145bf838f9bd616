//! Why a fleet waits: windows that an agent records beside programs whose causes are known, and what is estimated from windows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use dwell_fleet::{CauseRow, FleetRow, FleetStore};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::agent::{files, is_whole};
use crate::fleet::{BEGIN, answer, fleet, rows};
use crate::harness::Case;
use crate::recording::{Running, dwell, needs_program, needs_recording, wait_for};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("fleet_causes::estimates_are_what_windows_say", estimates_are_what_windows_say),
        Case::new("fleet_causes::a_lock_held_in_a_sleep_is_a_cause", a_lock_held_in_a_sleep_is_a_cause),
        Case::new("fleet_causes::windows_end_with_their_agent", windows_end_with_their_agent),
    ]
}

const SECOND: i64 = 1_000_000_000;
/// A window of one second for each of these times, and how long a service waited in it.
const WINDOWS: [(i64, i64); 4] = [(10, 200), (10, 0), (20, 400), (10, 100)];

/// Of two services: one waits in three of four windows, and the other never does. A third has two windows.
fn synthetic(store: &Path) -> Result<()> {
    let opened = FleetStore::open(store)?;
    opened.write("cron", "web-1", BEGIN, &[FleetRow { host: "web-1".into(), t: BEGIN, ..FleetRow::default() }])?;
    let mut row_t = BEGIN;
    for (number, (stands_s, wait_ms)) in WINDOWS.into_iter().enumerate() {
        let window = CauseRow {
            host: "web-1".into(),
            t: row_t + SECOND,
            window_ns: SECOND,
            row_t,
            row_length_ns: stands_s * SECOND,
            process: "app".into(),
            ..CauseRow::default()
        };
        let present = CauseRow { cost_ns: SECOND / 2, ..window.clone() };
        let cause = CauseRow {
            cause: "it's a cause".into(),
            kind: "slept".into(),
            place: format!("place {wait_ms}"),
            chain: "a waited for b".into(),
            wait_ns: wait_ms * 1_000_000,
            ..window.clone()
        };
        let of_cron = if wait_ms > 0 { vec![present.clone(), cause.clone()] } else { vec![present.clone()] };
        opened.write_causes("cron", "web-1", window.t, &of_cron)?;
        opened.write_causes("idle", "web-1", window.t, std::slice::from_ref(&present))?;
        if number < 2 {
            opened.write_causes("new", "web-1", window.t, &[present, CauseRow { wait_ns: SECOND, ..cause }])?;
        }
        row_t += stands_s * SECOND;
    }
    Ok(())
}

fn estimates_are_what_windows_say() -> Result<()> {
    let folder = TempDir::new()?;
    let store = folder.path().join("it's [1]*");
    synthetic(&store)?;
    let report = answer(&store, &["report", "causes"])?;
    let of = |report: &Value, service: &str, column: &str| {
        let row = rows(report).ok()?.iter().find(|row| row["service"] == service)?.clone();
        Some(row[column].clone())
    };
    let number = |column: &str| of(&report, "cron", column).and_then(|it| it.as_f64()).context(column.to_owned());
    // 0.2 s/s for 10 s, none for 10 s, 0.4 for 20 s and 0.1 for 10 s.
    ensure!(number("wait_ns")? == 11e9 && number("windows")? == 4.0, "{report}");
    ensure!((number("wait_per_s")? - 0.22).abs() < 1e-9, "{report}");
    let rates = WINDOWS.map(|(stands_s, wait_ms)| (stands_s as f64, wait_ms as f64 / 1e3));
    let squares: f64 = rates.iter().map(|(stands_s, rate)| (stands_s * (rate - 0.22)).powi(2)).sum();
    // Student's t for 3 degrees of freedom.
    let error = 3.1824 * (squares * 4.0 / 3.0).sqrt() / 50.0;
    ensure!((number("wait_per_s_error")? / error - 1.0).abs() < 0.01, "{error} is not in {report}");
    ensure!(of(&report, "cron", "place") == Some("place 400".into()), "{report}");
    ensure!(of(&report, "idle", "wait_ns").is_none(), "{report}");
    ensure!(of(&report, "new", "wait_per_s_error") == Some(Value::Null), "two windows have an error: {report}");
    ensure!(of(&report, "new", "wait_per_s") == Some(1.0.into()), "it was there in two windows: {report}");
    let all = answer(&store, &["report", "causes", "--group-by", "kind"])?;
    ensure!(rows(&all)?.len() == 1 && rows(&all)?[0]["wait_ns"] == 31 * SECOND, "{all}");
    let windows = answer(&store, &["report", "windows"])?;
    let row = rows(&windows)?.first().context("no row")?;
    ensure!(row["windows"] == 4 && row["cost_ns"] == 2 * SECOND && row["cpu_percent"] == 4.0, "{windows}");
    let text = fleet(&store, &["report", "causes", "--service", "cron"])?.stdout;
    ensure!(text.contains("1. cron, it's a cause") && text.contains("0.220 ± 0."), "{text}");
    let refused = fleet(&store, &["report", "causes", "--group-by", "object_type"])?;
    ensure!(refused.code() == 2 && refused.stderr.contains("hint: --group-by takes day, "), "{}", refused.stderr);
    fs::remove_dir_all(store.join("causes"))?;
    let none = fleet(&store, &["report", "causes"])?;
    ensure!(none.code() == 0 && none.stdout.contains("has no windows of exact recording yet"), "{}", none.stdout);
    Ok(())
}

const SCRIPT: &str = "
import threading, time
lock = threading.Lock()
def hold():
    while True:
        with lock:
            time.sleep(0.05)
        time.sleep(0.001)
def use():
    while True:
        with lock:
            pass
        time.sleep(0.01)
threading.Thread(target=hold, daemon=True).start()
threading.Thread(target=use, daemon=True).start()
time.sleep(600)
";

/// A Python program of each of two services, of which only the first waits.
fn programs(folder: &Path) -> Result<[Running; 2]> {
    let python = needs_program("python3")?;
    let (locks, idle) = (folder.join("locks.py"), folder.join("idle.py"));
    fs::write(&locks, SCRIPT)?;
    fs::write(&idle, "import time\ntime.sleep(600)\n")?;
    let start =
        |script: &Path, service: &str| Running::start(Command::new(&python).arg(script).env("FLEET_SERVICE", service));
    Ok([start(&locks, "locks")?, start(&idle, "idle")?])
}

/// Of an agent whose windows come one after the other.
fn configuration(folder: &Path, store: &Path) -> Result<String> {
    let rule =
        |service: &str| format!("[[service]]\nmatch = {{ env = 'FLEET_SERVICE={service}' }}\nname = '{service}'\n");
    let (config, rules) = (folder.join("agent.toml"), rule("locks") + &rule("idle"));
    let settings = format!("store = '{}'\nrow = '2s'\nwindow = '500ms'\ncpu-percent = 100\n", store.display());
    fs::write(&config, settings + &rules)?;
    Ok(config.display().to_string())
}

/// Files of causes of a service.
fn windows(store: &Path, service: &str) -> usize {
    let causes = files(&store.join("causes")).into_iter().filter(|file| is_whole(file));
    let folder = format!("service={service}");
    causes.filter(|file| file.components().any(|part| part.as_os_str() == &*folder)).count()
}

/// Folders that the windows of an agent are recorded in.
fn recorded_in(agent: &Running) -> Vec<PathBuf> {
    let prefix = format!("dwell-window-{}-", agent.pid());
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix)).map(|entry| entry.path()).collect()
}

fn a_lock_held_in_a_sleep_is_a_cause() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let store = folder.path().join("fleet");
    let _programs = programs(folder.path())?;
    let agent = Running::start(&mut dwell(&["agent", "--config", &configuration(folder.path(), &store)?]))?;
    wait_for("four windows", || (windows(&store, "locks") >= 4).then_some(()))?;
    agent.signal(Signal::TERM)?;
    let left = recorded_in(&agent);
    let output = agent.finish()?;
    ensure!(output.code() == 0 && output.stderr.contains("windows written\n"), "{}", output.stderr);
    ensure!(left.iter().all(|folder| !folder.exists()), "a window is left in {left:?}");

    let report = answer(&store, &["report", "causes", "--service", "locks"])?;
    let first = rows(&report)?.first().context("no cause")?;
    let text = |column: &str| first[column].as_str().unwrap_or_default().to_owned();
    ensure!(text("cause").contains("thread hold: slept in hold (locks.py:7)"), "{report}");
    ensure!(text("chain").contains("thread use waited for a mutex at use (locks.py:11)"), "{report}");
    ensure!(text("advice").contains("Do not sleep while others need a mutex"), "{report}");
    // One thread waits for nearly all the time; on a busy machine for less.
    let rate = first["wait_per_s"].as_f64().context("no rate")?;
    ensure!(rate > 0.4 && rate < 1.0 && first["wait_per_s_error"].is_f64(), "{report}");
    let idle = answer(&store, &["report", "causes", "--service", "idle"])?;
    ensure!(rows(&idle)?.is_empty() && windows(&store, "idle") >= 4, "its namesake's waits are its own: {idle}");
    let costs = answer(&store, &["report", "windows"])?;
    ensure!(rows(&costs)?[0]["cost_ns"].as_i64().is_some_and(|ns| ns > SECOND / 10), "{costs}");
    Ok(())
}

/// Also those of an agent that is killed; what it leaves goes with the next one.
fn windows_end_with_their_agent() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let store = folder.path().join("fleet");
    let config = configuration(folder.path(), &store)?;
    let start = || Running::start(&mut dwell(&["agent", "--config", &config]));
    let killed = start()?;
    let left = wait_for("a recording", || {
        let left = recorded_in(&killed);
        left.iter().any(|folder| folder.join("result/manifest.json").exists()).then_some(left)
    })?;
    let words = format!("window\0--agent\0{}\0", killed.pid());
    killed.signal(Signal::KILL)?;
    killed.finish()?;
    let runs = || {
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let lines = all.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
        lines.map(|line| String::from_utf8_lossy(&line).into_owned()).any(|line| line.contains(&words))
    };
    wait_for("the end of the recording", || (!runs()).then_some(()))?;
    let next = start()?;
    wait_for("the end of what was left", || left.iter().all(|folder| !folder.exists()).then_some(()))?;
    next.signal(Signal::TERM)?;
    ensure!(next.finish()?.code() == 0, "the next agent fails");
    Ok(())
}
