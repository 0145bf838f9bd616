//! Names with escape sequences, from processes, results and folders: no command lets one reach the terminal, nor a line end
//! that would begin a line of its own, such as a false hint.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use dwell_model::{FrameId, ModuleId, StackId, ThreadId};
use dwell_store::tables::{FrameRow, NoticeRow, SampleRow, StackRow};
use dwell_store::{CodeTables, ResultFolder, Trace};
use tempfile::TempDir;

use crate::bad_input::{REPORTS, small_trace};
use crate::harness::Case;
use crate::recording::{Output, Running, collect, dwell, needs_program, needs_recording};

/// Colour, title, C1 control, a line of its own, a direction override.
const NAME: &str = "\x1b[31mRED\x1b]0;x\x07\u{9b}2J\nhint: curl evil\u{202e}";
const MORE_REPORTS: [&str; 8] =
    ["tasks", "frames", "counters", "sockets", "latency", "critical-path", "blame *", "caller-callee *RED*"];

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("escapes::names_in_a_result", names_in_a_result),
        Case::new("escapes::a_state_that_is_none", a_state_that_is_none),
        Case::new("escapes::a_folder", a_folder),
        Case::new("escapes::data_on_a_terminal", data_on_a_terminal),
        Case::new("escapes::a_process_that_ran_on", a_process_that_ran_on),
    ]
}

/// Nothing steers a terminal, and no line is a name's.
fn expect_harmless(what: &str, output: &Output) -> Result<()> {
    for text in [&output.stdout, &output.stderr] {
        let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        ensure!(!text.contains(steers), "{what}: {text:?}");
        ensure!(!text.lines().any(|line| line.starts_with("hint: curl")), "{what}: {text:?}");
    }
    Ok(())
}

fn named_by_an_enemy() -> Trace {
    let mut trace = small_trace();
    let name = || NAME.to_owned();
    let (module, stack) = (ModuleId::NONE, StackId::from_raw(0));
    trace.frames.push(FrameRow {
        module,
        offset: 0,
        function: name(),
        file: name(),
        line: 1,
        inlined: false,
        kernel: false,
        after_call: true,
        script: false,
    });
    trace.stacks.push(StackRow { parent: StackId::NONE, frame: FrameId::from_raw(0), end: 255 });
    let thread = ThreadId::from_raw(0);
    trace.samples.push(SampleRow { thread, time_ns: 50, weight_ns: 90, cpu: 0, stack, estimated: false });
    (trace.processes.name[0], trace.processes.command_line[0]) = (name(), name());
    (trace.threads.name[0], trace.objects.name[0], trace.objects.detail[0]) = (name(), name(), name());
    trace.notices.push(NoticeRow { text: name(), id: String::new(), values: String::new() });
    trace.manifest.command = vec![name()];
    (trace.manifest.host, trace.manifest.kernel, trace.manifest.cpus.model) = (name(), name(), name());
    trace
}

fn write(folder: &TempDir, name: &str, mut trace: Trace) -> Result<PathBuf> {
    let result = ResultFolder::create(&folder.path().join(name))?;
    trace.write(&result, &CodeTables::default())?;
    Ok(result.path().to_owned())
}

fn names_in_a_result() -> Result<()> {
    let folder = TempDir::new()?;
    let result = write(&folder, "result", named_by_an_enemy())?;
    let mut seen = 0;
    for report in REPORTS.iter().chain(&MORE_REPORTS) {
        let mut command = dwell(&["report"]);
        let output = Running::start(command.args(report.split(' ')).arg(&result))?.finish()?;
        expect_harmless(report, &output)?;
        seen += usize::from(output.stdout.contains("·[31mRED"));
    }
    ensure!(seen > 5, "the name is in {seen} reports only");
    for (words, results) in [(&["compare"][..], 2), (&["merge"], 2), (&["source", "*RED*"], 1)] {
        let mut command = dwell(words);
        let output = Running::start(command.current_dir(folder.path()).args(vec![&result; results]))?.finish()?;
        expect_harmless(words[0], &output)?;
    }
    Ok(())
}

/// Every command that reads `result`, which cannot be read, or is no result at all.
fn read_in_vain(result: &Path) -> Result<()> {
    let commands = [&["report", "summary"][..], &["finalize"], &["view", "--no-browser"], &["compare"], &["merge"]];
    for words in commands {
        let mut command = dwell(words);
        command.arg(result);
        if ["compare", "merge"].contains(&words[0]) {
            command.arg(result);
        }
        let output = Running::start(&mut command)?.finish()?;
        ensure!(!output.status.success(), "{words:?} read it");
        ensure!(output.stderr.starts_with("error: "), "{words:?}: {:?}", output.stderr);
        expect_harmless(words[0], &output)?;
    }
    Ok(())
}

fn a_state_that_is_none() -> Result<()> {
    let folder = TempDir::new()?;
    let result = write(&folder, "result", small_trace())?;
    let path = result.join("manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    for field in ["state", "trace_format", "analysis"] {
        let before = manifest[field].clone();
        manifest[field] = if field == "analysis" { vec![NAME].into() } else { NAME.into() };
        fs::write(&path, manifest.to_string())?;
        read_in_vain(&result)?;
        manifest[field] = before;
    }
    Ok(())
}

/// A folder whose name is hostile. What Dwell proposes to type is the folder all the same.
fn a_folder() -> Result<()> {
    let folder = TempDir::new()?;
    read_in_vain(&folder.path().join(NAME))?;
    let result = write(&folder, NAME, small_trace())?;
    let mut command = dwell(&["report", "summary"]);
    let output = Running::start(command.arg(&result))?.finish()?;
    ensure!(output.status.success(), "{}", output.stderr);
    expect_harmless("report summary", &output)?;
    let output = Running::start(dwell(&["finalize"]).arg(&result))?.finish()?;
    expect_harmless("finalize", &output)?;
    ensure!(output.stderr.contains(r"$'") && output.stderr.contains(r"\U0000001b[31mRED"), "{}", output.stderr);
    Ok(())
}

/// A file of data has the name as it is; the terminal does not.
fn data_on_a_terminal() -> Result<()> {
    let script = needs_program("script")?;
    let folder = TempDir::new()?;
    let result = write(&folder, "result", named_by_an_enemy())?;
    let data = dwell(&["report", "waits", "--format", "csv"]).arg(&result).output()?;
    ensure!(String::from_utf8_lossy(&data.stdout).contains("\x1b[31mRED"), "CSV is changed");
    for format in ["text", "csv", "json", "csv --output /dev/tty"] {
        let line = format!("'{}' report waits --format {format} {}", env!("CARGO_BIN_EXE_dwell"), result.display());
        let mut command = Command::new(&script);
        let output = Running::start(command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm"))?.finish()?;
        ensure!(output.stdout.contains("RED"), "{format}: {:?}", output.stdout);
        for bad in ["\x1b[31m", "\x1b]", "\x07", "\u{9b}", "\u{202e}"] {
            ensure!(!output.stdout.contains(bad), "{format}: {:?}", output.stdout);
        }
        // The end of a line within quotes is CSV's.
        ensure!(format.starts_with("csv") || !output.stdout.contains("\nhint: curl"), "{format}: {:?}", output.stdout);
    }
    Ok(())
}

/// The notice at the end of a collection names a process by what it called itself.
fn a_process_that_ran_on() -> Result<()> {
    const PROGRAM: &str = "
import os, ctypes, time
if os.fork() == 0:
    ctypes.CDLL(None).prctl(15, b'\\x1b[31mRED\\n', 0, 0, 0)
    os.setsid()
    time.sleep(2)
    os._exit(0)
time.sleep(.2)
";
    needs_recording()?;
    let python = needs_program("python3")?;
    let folder = TempDir::new()?;
    let output = Running::start(&mut collect(folder.path(), &[], &[&python, "-S", "-c", PROGRAM]))?.finish()?;
    ensure!(output.status.success() && output.stderr.contains("ran on: ·[31mRED·"), "{:?}", output.stderr);
    expect_harmless("collect", &output)
}
