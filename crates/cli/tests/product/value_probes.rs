//! `--probe`: each hit with the values that a program of known behaviour passed; what cannot be read is faulted, and what cannot
//! be set is pointed at, with the way out, before anything runs.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{Recording, needs_program, needs_recording, number, run_dwell, text};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("value_probes::arguments", arguments),
        Case::new("value_probes::returns", returns),
        Case::new("value_probes::conditions", conditions),
        Case::new("value_probes::usdt", usdt),
        Case::new("value_probes::bad_input", bad_input),
    ]
}

/// Calls process_request 1,000 times in two threads, with ids 0 to 999; every fourth name is no address.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>

static volatile long total;
static const char long_name[] = "0123456789012345678901234567890123456789012345678901234567890123456789";

__attribute__((noinline)) long process_request(unsigned id, const char *name, short delta)
{
	if (name > (const char *)4096)
		total += *name; /* or its page is never in memory */
	total += id + delta;
	return -(long)id;
}

__attribute__((noinline)) void on_stack(int a, int b, int c, int d, int e, int f, signed char g)
{
	total += a + b + c + d + e + f + g;
}

__attribute__((noinline)) void never_called(int a)
{
	total += a;
}

static void *half(void *first)
{
	for (unsigned id = (unsigned long)first; id < 1000; id += 2) {
		const char *names[] = {"alice", "bob", "alice", (const char *)8};

		total += process_request(id, names[id % 4], -(short)(id % 10));
	}
	return NULL;
}

int main(void)
{
	pthread_t other;

	puts("begun"); /* brings the page of the texts into memory */
	pthread_create(&other, NULL, half, (void *)1);
	half(NULL);
	pthread_join(other, NULL);
	process_request(7, long_name, 0);
	on_stack(1, 2, 3, 4, 5, 6, -7);
	if (total == 42)
		never_called(1);
	puts("ran");
	return 0;
}
"#;

fn program(folder: &Path) -> Result<String> {
    needs_recording()?;
    let gcc = needs_program("gcc")?;
    let (source, program) = (folder.join("requests.c"), folder.join("requests"));
    fs::write(&source, PROGRAM)?;
    let output = Command::new(gcc).args(["-O1", "-pthread", "-o"]).arg(&program).arg(&source).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(program.display().to_string())
}

/// The row of a value in the report of probes.
fn row<'r>(rows: &'r [Value], probe: &str, value: &str) -> Result<&'r Value> {
    let found = rows.iter().find(|row| text(row, "probe") == probe && text(row, "value") == value);
    found.ok_or_else(|| anyhow::anyhow!("no row {probe} {value}: {rows:?}"))
}

fn arguments() -> Result<()> {
    let folder = TempDir::new()?;
    let program = program(folder.path())?;
    let probe = "request=uprobe:process_request(id=arg0:u32, name=arg1:str, delta=arg2:i16, raw=arg0:x64)";
    let options = [
        "--probe",
        probe,
        "--probe",
        "stack=uprobe:on_stack(g=arg6:i8)",
        "--probe",
        "never=uprobe:never_called(a=arg0:u8)",
    ];
    let recording = Recording::of(&options, &[&program])?;
    let rows = recording.rows(&["probes"])?;
    let id = row(&rows, "request", "id")?;
    for (field, truth) in [
        ("hits", 1001.0),
        ("threads", 2.0),
        ("faulted", 0.0),
        ("min", 0.0),
        ("median", 499.0),
        ("max", 999.0),
        ("sum", 499_507.0),
    ] {
        ensure!(number(id, field)? == truth, "{field}: {id}");
    }
    let name = row(&rows, "request", "name")?;
    ensure!(number(name, "faulted")? == 250.0, "{name}");
    let cut = "0123456789012345678901234567890123456789012345678901234567890123…";
    ensure!(text(name, "frequent") == format!("\"alice\" 500, \"bob\" 250, \"{cut}\" 1"), "{name}");
    let delta = row(&rows, "request", "delta")?;
    ensure!(
        number(delta, "min")? == -9.0 && number(delta, "sum")? == -4500.0 && number(delta, "max")? == 0.0,
        "{delta}"
    );
    ensure!(text(row(&rows, "request", "raw")?, "max") == "0x3e7", "{rows:?}");
    ensure!(number(row(&rows, "stack", "g")?, "max")? == -7.0, "{rows:?}");
    ensure!(number(row(&rows, "never", "a")?, "hits")? == 0.0, "{rows:?}");
    let markers = recording.rows(&["markers"])?;
    ensure!(
        markers.iter().any(|row| text(row, "marker") == "request" && text(row, "scope") == "thread"),
        "{markers:?}"
    );
    Ok(())
}

fn returns() -> Result<()> {
    let folder = TempDir::new()?;
    let program = program(folder.path())?;
    let recording = Recording::of(&["--probe", "done=uretprobe:process_request(ret=ret:i64)"], &[&program])?;
    let rows = recording.rows(&["probes"])?;
    let ret = row(&rows, "done", "ret")?;
    ensure!(
        number(ret, "hits")? == 1001.0 && number(ret, "sum")? == -499_507.0 && number(ret, "min")? == -999.0,
        "{ret}"
    );
    Ok(())
}

/// Only hits that meet the condition are recorded; signs and lengths of texts count, and what cannot be read meets nothing.
fn conditions() -> Result<()> {
    let folder = TempDir::new()?;
    let program = program(folder.path())?;
    let probes = [
        "both=uprobe:process_request(id=arg0:u32, name=arg1:str, delta=arg2:i16) if id > 100 && name == \"bob\" && delta < -3",
        "others=uprobe:process_request(name=arg1:str) if name != \"alice\"",
        "range=uprobe:process_request(id=arg0:u32) if id >= 10 && id <= 0x13 && id != 15",
        "ends=uretprobe:process_request(ret=ret:i64) if ret >= -5",
        "none=uprobe:process_request(id=arg0:u64) if id == 18446744073709551615",
        "long=uprobe:process_request(name=arg1:str) if name == \"0123456789012345678901234567890123456789012345678901234567890123\"",
    ];
    let options: Vec<&str> = probes.iter().flat_map(|probe| ["--probe", probe]).collect();
    let recording = Recording::of(&options, &[&program])?;
    let rows = recording.rows(&["probes"])?;
    let meets = |id: &u32| *id > 100 && id % 4 == 1 && id % 10 > 3;
    let both: Vec<u32> = (0..1000).filter(meets).collect();
    let sum = f64::from(both.iter().sum::<u32>());
    for (probe, value, passed, field, truth) in [
        ("both", "id", both.len() as f64, "sum", sum),
        ("both", "name", both.len() as f64, "faulted", 0.0),
        ("others", "name", 251.0, "faulted", 0.0), // 250 of bob and the long one; those without address meet nothing
        ("range", "id", 9.0, "sum", 130.0),
        ("ends", "ret", 6.0, "min", -5.0),
        ("none", "id", 0.0, "faulted", 0.0),
        ("long", "name", 0.0, "faulted", 0.0), // cut is not equal
    ] {
        let row = row(&rows, probe, value)?;
        ensure!(number(row, "hits")? == 1001.0 && number(row, "passed")? == passed, "{probe}: {row}");
        ensure!(number(row, field)? == truth, "{probe} {field}: {row}");
    }
    let filtered = recording.rows(&["probes", "--filter", "thread=requests"])?;
    let row = row(&filtered, "range", "id")?;
    ensure!(row["hits"].is_null() && number(row, "passed")? > 0.0, "{row}");
    Ok(())
}

/// A probe behind a semaphore, whose argument lies where the note says.
fn usdt() -> Result<()> {
    needs_recording()?;
    let python = "/usr/bin/python3"; // the distribution's, which has these probes
    if !Path::new(python).is_file() {
        return Err(Skip(format!("{python} is not installed")).into());
    }
    let script = "import gc\ngc.disable()\nfor _ in range(30): gc.collect(1)\nfor _ in range(10): gc.collect(2)";
    let recording =
        Recording::of(&["--probe", "gc=usdt:python:gc__start(generation=arg0:i32)"], &[python, "-c", script])?;
    let rows = recording.rows(&["probes"])?;
    let generation = row(&rows, "gc", "generation")?;
    // The interpreter collects some generations more when it begins and ends.
    let (hits, sum) = (number(generation, "hits")?, number(generation, "sum")?);
    let (most, faulted) = (number(generation, "max")?, number(generation, "faulted")?);
    ensure!(hits >= 40.0 && sum >= 50.0 && sum <= 2.0 * hits && most == 2.0 && faulted == 0.0, "{generation}");
    Ok(())
}

fn bad_input() -> Result<()> {
    let folder = TempDir::new()?;
    let program = program(folder.path())?;
    for (probe, error, pointed, hint) in [
        (
            "r=uprobe:proces_request(id=arg0:u32)",
            "no function \"proces_request\"",
            "proces_request(",
            "process_request",
        ),
        ("r=uprobe:process_request(id=arg0:u23)", "`u23` is no type", "u23)", "u8"),
        ("r=kprobe:f", "`kprobe` is no kind of probe", "kprobe:f", "uprobe"),
        ("r=uprobe:process_request(id=arg90:u32)", "`arg90` is no argument", "arg90:u32)", "arg0"),
        ("r=uprobe:process_request(id=arg0:u32) if idd > 1", "no value `idd`", "idd > 1", "id"),
        ("r=uprobe:process_request(id=arg0:u8) if id == 256", "no value can be 256", "256", "from 0 to 255"),
        ("r=usdt:app:start(id=arg0:u32)", "no USDT probe app:start", "app:start(", "uprobe"),
    ] {
        refuses(&program, probe, error, pointed, hint)?;
    }
    Ok(())
}

/// That a probe is refused with this error before the program runs: a caret is under `pointed`, and a hint says `hint`.
pub fn refuses(program: &str, probe: &str, error: &str, pointed: &str, hint: &str) -> Result<()> {
    let output = run_dwell(&["collect", "threading", "--probe", probe, "--", program])?;
    ensure!(!output.status.success(), "{probe} was taken");
    ensure!(output.stderr.contains(error) && !output.stdout.contains("ran"), "{probe}: {}", output.stderr);
    let hinted = output.stderr.lines().any(|line| line.starts_with("hint: ") && line.contains(hint));
    ensure!(hinted, "{probe}: {}", output.stderr);
    let lines: Vec<&str> = output.stderr.lines().collect();
    let caret = lines.iter().position(|line| line.trim() == "^");
    let under = caret.and_then(|at| lines[at - 1].get(lines[at].len() - 1..));
    ensure!(under.is_some_and(|under| under.starts_with(pointed)), "{probe}: {}", output.stderr);
    Ok(())
}
