//! Functions of a program without symbols: each is one row, which begins where its symbol was.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Recording, Running, needs_program, needs_recording, number, run_dwell, text};

pub fn cases() -> Vec<Case> {
    vec![Case::new("stripped::functions_add_up", functions_add_up)]
}

/// Three quarters of the time are in `long_part`, one in `short_part`, each spread over many instructions.
const SOURCE: &str = "
static volatile unsigned sum;
__attribute__((noinline)) static void long_part(void) {
    for (int i = 0; i < 300000; i++) { sum += i; sum ^= i * 3; if (sum & 1) sum -= 5; }
}
__attribute__((noinline)) static void short_part(void) {
    for (int i = 0; i < 100000; i++) { sum += i; sum ^= i * 3; if (sum & 1) sum -= 5; }
}
int main(void) { for (int i = 0; i < 250; i++) { long_part(); short_part(); } return 0; }
";

fn functions_add_up() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let app = folder.path().join("app");
    let starts = build(&app)?;
    let recording = Recording::of(&[], &[&app.display().to_string()])?;
    let rows = recording.rows(&["hotspots", "--limit", "500"])?;
    let name = |function: &str| -> Result<String> { Ok(format!("[app]func@{:#x}", start(&starts, function)?)) };
    let long = number(row(&rows, &name("long_part")?)?, "cpu_ns")?;
    let short = number(row(&rows, &name("short_part")?)?, "cpu_ns")?;
    let all = number(&recording.report(&["summary"])?, "cpu_ns")?;
    ensure!((long + short) / all > 0.8, "the two have {long} and {short} of {all} ns");
    ensure!((2.0..4.5).contains(&(long / short)), "the two have {long} and {short} ns");
    let alone = rows.iter().filter(|row| text(row, "function").starts_with("[app]+0x")).count();
    ensure!(alone == 0, "{alone} addresses of app are rows of their own");
    its_code_is_listed(&recording, &name("long_part")?)
}

fn its_code_is_listed(recording: &Recording, name: &str) -> Result<()> {
    let source = run_dwell(&["source", &recording.path().display().to_string(), name, "--show", "assembly"])?;
    ensure!(source.code() == 0 && source.stdout.contains(name), "{}{}", source.stdout, source.stderr);
    ensure!(source.stdout.contains(" ms ") && source.stdout.contains("mov "), "no instructions: {}", source.stdout);
    Ok(())
}

/// Builds and strips the program; returns what `nm` said of it before.
fn build(app: &Path) -> Result<String> {
    let source = app.with_extension("c");
    std::fs::write(&source, SOURCE)?;
    run(Command::new(needs_program("cc")?).args(["-O1", "-o"]).arg(app).arg(&source))?;
    let symbols = Running::start(Command::new(needs_program("nm")?).arg(app))?.finish()?.stdout;
    run(Command::new(needs_program("strip")?).arg(app))?;
    Ok(symbols)
}

fn run(command: &mut Command) -> Result<()> {
    let output = Running::start(command)?.finish()?;
    ensure!(output.status.success(), "{}", output.stderr);
    Ok(())
}

/// The address of a function, by nm.
fn start(symbols: &str, function: &str) -> Result<u64> {
    let line = symbols.lines().find(|line| line.split(' ').next_back() == Some(function));
    let address = line.and_then(|line| line.split(' ').next()).with_context(|| format!("no symbol {function}"))?;
    Ok(u64::from_str_radix(address, 16)?)
}

fn row<'a>(rows: &'a [Value], name: &str) -> Result<&'a Value> {
    let names: Vec<&str> = rows.iter().take(8).map(|row| text(row, "function")).collect();
    rows.iter().find(|row| text(row, "function") == name).with_context(|| format!("{name} is not among {names:?}"))
}
