//! `--probe` at tracepoints of the kernel: fields that lie in the event, beside it and in the program's memory, of recorded threads only,
//! against a program that does each thing a known number of times.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{Recording, needs_program, needs_recording, number, text};
use crate::value_probes::refuses;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("probe_tracepoints::as_often_as_the_program_does", as_often),
        Case::new("probe_tracepoints::bad_input", bad_input),
    ]
}

/// Opens a file that is not there 40 times, sends itself 25 signals, and runs another program 3 times.
const PROGRAM: &str = r#"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	puts("begun"); /* brings the page of the texts into memory */
	signal(SIGUSR1, SIG_IGN);
	for (int turn = 0; turn < 40; turn++)
		open("/no/such/file", O_RDONLY | O_CLOEXEC);
	for (int turn = 0; turn < 25; turn++)
		kill(getpid(), SIGUSR1);
	for (int turn = 0; turn < 3; turn++) {
		if (fork() == 0) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		wait(NULL);
	}
	puts("ran");
	return 0;
}
"#;

fn program(folder: &Path) -> Result<String> {
    needs_recording()?;
    if !Path::new("/sys/kernel/tracing/events/syscalls").is_dir() {
        return Err(Skip("tracefs is not mounted, or this kernel has no tracepoints of system calls".into()).into());
    }
    let gcc = needs_program("gcc")?;
    let (source, program) = (folder.join("calls.c"), folder.join("calls"));
    fs::write(&source, PROGRAM)?;
    let output = Command::new(gcc).args(["-O1", "-o"]).arg(&program).arg(&source).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(program.display().to_string())
}

fn row<'r>(rows: &'r [Value], probe: &str, value: &str) -> Result<&'r Value> {
    let found = rows.iter().find(|row| text(row, "probe") == probe && text(row, "value") == value);
    found.with_context(|| format!("no row {probe} {value}: {rows:?}"))
}

fn as_often() -> Result<()> {
    let folder = TempDir::new()?;
    let program = program(folder.path())?;
    let probes = [
        "open=tracepoint:syscalls:sys_enter_openat(filename, flags, dfd) if filename == \"/no/such/file\"",
        "signal=tracepoint:signal:signal_generate(sig, comm) if sig == 10",
        "exec=tracepoint:sched:sched_process_exec(filename)",
        "calls=uprobe:main",
    ];
    let options: Vec<&str> = probes.iter().flat_map(|probe| ["--probe", probe]).collect();
    // Others do the same beside it: they are not recorded.
    let mut other = Command::new(&program).spawn()?;
    let recording = Recording::of(&options, &[&program])?;
    other.wait()?;
    let rows = recording.rows(&["probes"])?;
    let file = row(&rows, "open", "filename")?;
    ensure!(number(file, "passed")? == 40.0 && number(file, "hits")? > 40.0, "{file}");
    ensure!(text(file, "frequent") == "\"/no/such/file\" 40", "{file}");
    ensure!(number(row(&rows, "open", "flags")?, "max")? == f64::from(0o2_000_000), "{rows:?}");
    ensure!(number(row(&rows, "open", "dfd")?, "min")? == -100.0, "{rows:?}");
    ensure!(number(row(&rows, "signal", "sig")?, "passed")? == 25.0, "{rows:?}");
    ensure!(text(row(&rows, "signal", "comm")?, "frequent") == "\"calls\" 25", "{rows:?}");
    let executed = row(&rows, "exec", "filename")?;
    ensure!(text(executed, "frequent").contains("\"/bin/true\" 3"), "{executed}");
    ensure!(number(executed, "faulted")? == 0.0, "{executed}");
    let main = rows.iter().find(|row| text(row, "probe") == "calls").context("no row of main")?;
    ensure!(number(main, "hits")? == 1.0, "{main}");
    Ok(())
}

fn bad_input() -> Result<()> {
    let folder = TempDir::new()?;
    let program = program(folder.path())?;
    for (probe, error, pointed, hint) in [
        (
            "r=tracepoint:sched:sched_swich",
            "no tracepoint sched:sched_swich",
            "sched_swich",
            "the nearest is sched_switch;",
        ),
        ("r=tracepoint:shed:sched_switch", "no tracepoint shed:sched_switch", "shed:", "the nearest is sched;"),
        ("r=tracepoint:sched:sched_switch(prev)", "no field `prev`", "prev)", "prev_comm"),
        (
            "r=tracepoint:sched:sched_switch(prev_pid) if prev_pid > 5000000000",
            "no value can be",
            "5000000000",
            "from -2147483648",
        ),
        ("r=tracepoint:sched", "the probe has no place", "sched", "tracepoint:GROUP:EVENT"),
    ] {
        refuses(&program, probe, error, pointed, hint)?;
    }
    Ok(())
}
