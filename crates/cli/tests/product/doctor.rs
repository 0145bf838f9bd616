//! `dwell doctor`: what it says of this machine, and that it changes nothing unasked. What `--apply` writes is tested
//! in crates/doctor.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{run_dwell, text};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("doctor::each_line_has_state_effect_and_command", each_line_has_state_effect_and_command),
        Case::new("doctor::nothing_is_changed_unasked", nothing_is_changed_unasked),
        Case::new("doctor::the_verifier_takes_few_steps_for_each_hook", the_verifier_takes_few_steps_for_each_hook),
        Case::new("doctor::a_copy_is_never_changed", a_copy_is_never_changed),
        Case::new("doctor::what_cannot_be_changed_is_an_error", what_cannot_be_changed_is_an_error),
    ]
}

const GOVERNOR: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";

/// A machine with one CPU, which saves energy.
fn machine() -> Result<TempDir> {
    let folder = TempDir::new()?;
    let file = folder.path().join(GOVERNOR);
    fs::create_dir_all(file.parent().context("a folder")?)?;
    fs::write(file, "powersave\n")?;
    fs::create_dir(folder.path().join("proc"))?;
    Ok(folder)
}

fn governor(folder: &Path) -> Result<String> {
    Ok(fs::read_to_string(folder.join(GOVERNOR))?.trim().to_owned())
}

fn each_line_has_state_effect_and_command() -> Result<()> {
    let output = run_dwell(&["doctor", "--format", "json"])?;
    let answer: Value = serde_json::from_str(&output.stdout).context(output.stderr)?;
    let rows = answer["rows"].as_array().context("no rows")?;
    for name in
        ["hooks", "btf", "governor", "c-states", "smt", "steal", "cgroup-quota", "clocksource", "intel-pt", "pmu"]
    {
        let row = rows.iter().find(|row| text(row, "name") == name).with_context(|| format!("no {name}"))?;
        ensure!(!text(row, "state").is_empty(), "{row}");
        ensure!(["good", "costs", "missing", "unknown"].contains(&text(row, "verdict")), "{row}");
        ensure!(row.get("command").is_some() && row.get("effect").is_some(), "{row}");
    }
    let shown = run_dwell(&["doctor"])?.stdout;
    ensure!(shown.contains("What can be recorded here") && shown.contains("What delays threads here"), "{shown}");
    Ok(())
}

/// More steps make a start slow, and some kernels refuse what others do not: see checked.bpf.h.
const MOST_STEPS: u64 = 100_000;

fn the_verifier_takes_few_steps_for_each_hook() -> Result<()> {
    let output = run_dwell(&["doctor", "--hooks", "--format", "json"])?;
    if output.code() == 77 {
        return Err(Skip(output.stderr).into());
    }
    let answer: Value = serde_json::from_str(&output.stdout).context(output.stderr)?;
    let hooks = answer["hooks"].as_array().context("no hooks")?;
    for name in ["on_switch", "on_waking", "on_sample", "on_fork", "on_latency_switch", "on_call_end", "on_task_probe"]
    {
        ensure!(hooks.iter().any(|hook| text(hook, "hook") == name), "{name} was not loaded: {}", answer["notices"]);
    }
    for hook in hooks {
        ensure!(hook["steps"].as_u64().is_some_and(|steps| steps <= MOST_STEPS), "{hook}");
    }
    for notice in answer["notices"].as_array().context("no notices")? {
        ensure!(!notice.as_str().unwrap_or_default().contains("refuses"), "{notice}");
    }
    Ok(())
}

fn nothing_is_changed_unasked() -> Result<()> {
    let folder = machine()?;
    let root = folder.path().display().to_string();
    let shown = run_dwell(&["doctor", "--root", &root])?.stdout;
    ensure!(shown.contains("hint: echo performance | sudo tee"), "{shown}");
    ensure!(governor(folder.path())? == "powersave");
    Ok(())
}

/// A copy of another machine is only looked at: its links may lead anywhere.
fn a_copy_is_never_changed() -> Result<()> {
    let folder = machine()?;
    let root = folder.path().display().to_string();
    let output = run_dwell(&["doctor", "--root", &root, "--apply", "governor"])?;
    ensure!(output.code() == 2 && output.stderr.contains("hint: "), "{}", output.stderr);
    ensure!(governor(folder.path())? == "powersave");
    ensure!(run_dwell(&["doctor", "--root", "/no/such/folder"])?.code() == 2);
    Ok(())
}

fn what_cannot_be_changed_is_an_error() -> Result<()> {
    let output = run_dwell(&["doctor", "--apply", "no-such-line"])?;
    ensure!(output.code() == 2 && output.stderr.contains("dwell doctor lists the names"), "{}", output.stderr);
    Ok(())
}
