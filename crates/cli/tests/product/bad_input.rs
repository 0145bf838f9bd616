//! Input that is wrong, damaged or not there: a clear error with a hint, the right status, and never a panic.
//!
//! The results that are damaged here are written by the store itself, so that these cases need no privileges.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use dwell_model::{ObjectId, ObjectType, ProcessId, StackId, ThreadId};
use dwell_store::raw::{SpoolWriter, Stream};
use dwell_store::tables::{ObjectRow, OffCpuRow, ProcessRow, ThreadRow};
use dwell_store::{CodeTables, CpuInfo, Folder, Manifest, ResultFolder, State, Trace};
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Output, Running, collect, dwell, needs_program, needs_recording, run_dwell};

/// Exit status of a usage error, and of missing privileges.
const USAGE: i32 = 2;
const UNAVAILABLE: i32 = 77;

pub const REPORTS: [&str; 11] = [
    "summary",
    "waits",
    "hotspots",
    "bottom-up",
    "top-down",
    "threads",
    "transitions",
    "timeline",
    "findings",
    "losses",
    "log",
];

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("bad_input::no_arguments_teach", no_arguments_teach),
        Case::new("bad_input::no_such_program", no_such_program),
        Case::new("bad_input::not_executable", not_executable),
        Case::new("bad_input::no_interpreter", no_interpreter),
        Case::new("bad_input::no_such_process", no_such_process),
        Case::new("bad_input::result_exists", result_exists),
        Case::new("bad_input::unprivileged", unprivileged),
        Case::new("bad_input::not_a_result", not_a_result),
        Case::new("bad_input::other_format", other_format),
        Case::new("bad_input::damaged_manifest", damaged_manifest),
        Case::new("bad_input::not_finalized", not_finalized),
        Case::new("bad_input::damaged_tables", damaged_tables),
        Case::new("bad_input::damaged_spool", damaged_spool),
        Case::new("bad_input::empty_result", empty_result),
        Case::new("bad_input::nearest_name", nearest_name),
        Case::new("bad_input::unwritable_output", unwritable_output),
    ]
}

/// One sentence and one hint on standard error, nothing on standard output.
pub fn expect_error(output: &Output, words: &[&str]) -> Result<()> {
    expect_no_panic(output)?;
    let Output { stdout, stderr, .. } = output;
    ensure!(output.code() != 0, "succeeded: {stdout}");
    let lines = |start: &str| stderr.lines().filter(|line| line.starts_with(start)).count();
    ensure!(lines("error: ") == 1, "not one error: line:\n{stderr}");
    ensure!(lines("hint: ") >= 1, "no hint: line:\n{stderr}");
    ensure!(stdout.is_empty(), "standard output is not empty:\n{stdout}");
    for word in words {
        ensure!(stderr.contains(word), "the error does not say {word:?}:\n{stderr}");
    }
    Ok(())
}

fn expect_no_panic(output: &Output) -> Result<()> {
    ensure!(!output.stderr.contains("panicked"), "panicked:\n{}", output.stderr);
    ensure!(output.code() < 128, "killed by a signal: status {}\n{}", output.code(), output.stderr);
    Ok(())
}

fn expect_status(output: &Output, status: i32) -> Result<()> {
    ensure!(output.code() == status, "exit status {}, expected {status}\n{}", output.code(), output.stderr);
    Ok(())
}

fn no_arguments_teach() -> Result<()> {
    let output = run_dwell(&[])?;
    expect_status(&output, USAGE)?;
    let shown = output.stdout + &output.stderr;
    ensure!(shown.contains("Examples:") && shown.contains("dwell collect threading"), "no examples:\n{shown}");
    let help = run_dwell(&["collect", "threading", "--help"])?;
    expect_status(&help, 0)?;
    ensure!(help.stdout.contains("--target-pid"), "help lacks options:\n{}", help.stdout);
    Ok(())
}

fn no_such_program() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let output = Running::start(&mut collect(folder.path(), &[], &["/no/such/program"]))?.finish()?;
    expect_error(&output, &["/no/such/program"])
}

fn not_executable() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let program = folder.path().join("data.txt");
    fs::write(&program, "no program")?;
    let program = program.display().to_string();
    let output = Running::start(&mut collect(folder.path(), &[], &[&program]))?.finish()?;
    expect_error(&output, &["data.txt", "chmod +x"])
}

/// The kernel says that the script is not there, where its interpreter is not.
fn no_interpreter() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let program = folder.path().join("report");
    fs::write(&program, "#!/no/such/python9\n")?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    let program = program.display().to_string();
    let output = Running::start(&mut collect(folder.path(), &[], &[&program]))?.finish()?;
    expect_error(&output, &["report", "hint: head -1 ", "interpreter"])?;
    ensure!(!output.stderr.contains("chmod"), "it may be executed:\n{}", output.stderr);
    Ok(())
}

fn no_such_process() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let output = Running::start(&mut collect(folder.path(), &["--target-pid", "4194304"], &[]))?.finish()?;
    expect_error(&output, &["4194304"])?;
    let output = Running::start(&mut collect(folder.path(), &["--target-process", "no-such-name"], &[]))?.finish()?;
    expect_error(&output, &["no-such-name"])
}

fn result_exists() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    fs::create_dir(folder.path().join("result"))?;
    let output = Running::start(&mut collect(folder.path(), &[], &["true"]))?.finish()?;
    expect_error(&output, &["already exists", "--result-dir"])
}

/// Without privileges, where nothing but BPF will do: what is missing, the command that gives it, and a status of its own.
fn unprivileged() -> Result<()> {
    needs_recording()?;
    let setpriv = needs_program("setpriv")?;
    let folder = TempDir::new()?;
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777))?;
    let copy = folder.path().join("dwell");
    fs::copy(env!("CARGO_BIN_EXE_dwell"), &copy)?;
    let mut command = std::process::Command::new(setpriv);
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&copy).current_dir(folder.path());
    let output = Running::start(command.args(["collect", "threading", "--source", "bpf", "--", "true"]))?.finish()?;
    expect_status(&output, UNAVAILABLE)?;
    expect_error(&output, &["sudo"])
}

pub fn manifest(state: State) -> Manifest {
    Manifest {
        state,
        command: vec!["app".into()],
        host: "host".into(),
        kernel: "6.1".into(),
        cpus: CpuInfo { online: 2, usable: 2, model: "CPU".into() },
        end_ns: 1_000,
        exit_status: Some(0),
        ..Manifest::default()
    }
}

/// A finalized result with one thread and one wait.
pub fn small_trace() -> Trace {
    let mut trace = Trace::new(manifest(State::Collected));
    trace.processes.push(ProcessRow {
        pid: 1,
        parent: ProcessId::NONE,
        name: "app".into(),
        executable: "/app".into(),
        command_line: "app".into(),
        start_ns: 0,
        end_ns: 1_000,
        exit_code: 0,
        cgroup: String::new(),
        unit: String::new(),
        container: String::new(),
        pod: String::new(),
    });
    trace.threads.push(ThreadRow {
        tid: 1,
        process: ProcessId::from_raw(0),
        parent: ThreadId::NONE,
        name: "app".into(),
        start_ns: 0,
        end_ns: 1_000,
        kernel_cpu_ns: 0,
        read_calls: 0,
        read_bytes: 0,
        write_calls: 0,
        write_bytes: 0,
        policy: 0,
        nice: 0,
        cpus_allowed: 0,
        exited: true,
        ignored: false,
    });
    trace.objects.push(ObjectRow {
        kind: ObjectType::Mutex.code(),
        name: "queue_lock".into(),
        detail: String::new(),
        process: ProcessId::from_raw(0),
        address: 0x4000,
        first_stack: StackId::NONE,
        created_stack: StackId::NONE,
    });
    trace.off_cpu.push(OffCpuRow {
        thread: ThreadId::from_raw(0),
        start_ns: 100,
        wait_ns: 500,
        runnable_ns: 10,
        cpu: 0,
        reason: 1,
        outcome: 1,
        syscall: 202,
        object: ObjectId::from_raw(0),
        stack: StackId::NONE,
        waker: ThreadId::NONE,
        waker_kind: 3,
        waker_stack: StackId::NONE,
        holder: ThreadId::NONE,
        same_call: false,
    });
    trace
}

/// Writes `trace` into `folder/result`.
fn write(folder: &TempDir, mut trace: Trace) -> Result<PathBuf> {
    let result = ResultFolder::create(&folder.path().join("result"))?;
    trace.write(&result, &CodeTables::default())?;
    Ok(result.path().to_owned())
}

fn report(name: &str, result: &Path, options: &[&str]) -> Result<Output> {
    let mut command = dwell(&["report", name]);
    Running::start(command.arg(result).args(options))?.finish()
}

fn not_a_result() -> Result<()> {
    let folder = TempDir::new()?;
    expect_error(&report("waits", folder.path(), &[])?, &["is not a Dwell result"])?;
    expect_error(&report("waits", Path::new("/no/such/folder"), &[])?, &["is not a Dwell result"])?;
    expect_error(&run_dwell(&["finalize", "/no/such/folder"])?, &["is not a Dwell result"])?;
    let mut here = dwell(&["report", "waits"]);
    expect_error(&Running::start(here.current_dir(folder.path()))?.finish()?, &[])
}

fn other_format() -> Result<()> {
    let folder = TempDir::new()?;
    for format in [0, 7, 999] {
        fs::write(folder.path().join("manifest.json"), format!(r#"{{"trace_format": {format}, "new": true}}"#))?;
        expect_error(
            &report("summary", folder.path(), &[])?,
            &[&format!("has trace format {format}"), "hint: read it"],
        )?;
    }
    Ok(())
}

fn damaged_manifest() -> Result<()> {
    let folder = TempDir::new()?;
    for text in ["", "{", "[]", r#"{"trace_format": 1}"#, r#"{"trace_format": "x"}"#, "\u{0}"] {
        fs::write(folder.path().join("manifest.json"), text)?;
        expect_error(&report("summary", folder.path(), &[])?, &["is not a Dwell result"])?;
    }
    Ok(())
}

fn not_finalized() -> Result<()> {
    let folder = TempDir::new()?;
    let result = ResultFolder::create(&folder.path().join("result"))?;
    result.write_manifest(&manifest(State::Collected))?;
    expect_error(&report("waits", result.path(), &[])?, &["dwell finalize"])
}

/// Tables that only `dwell source` reads.
const CODE_TABLES: [&str; 4] = ["code", "inlines", "lines", "sources"];

/// Every table, cut short, emptied, removed and with flipped bytes: an error that names it, or the right rows.
fn damaged_tables() -> Result<()> {
    let folder = TempDir::new()?;
    let result = write(&folder, small_trace())?;
    let tables: Vec<PathBuf> =
        fs::read_dir(result.join("tables"))?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    ensure!(tables.len() >= 10, "tables are missing");
    for table in tables {
        let is_code = table.file_stem().is_some_and(|name| CODE_TABLES.iter().any(|code| name == *code));
        let report = |_: &str, result: &Path, options: &[&str]| {
            let path = result.display().to_string();
            if is_code { run_dwell(&["source", &path, "main"]) } else { report("waits", result, options) }
        };
        let good = fs::read(&table)?;
        for cut in [0, 3, good.len() / 2, good.len() - 1] {
            fs::write(&table, &good[..cut])?;
            expect_error(&report("waits", &result, &[])?, &["tables"])?;
        }
        for at in (0..good.len()).step_by(good.len() / 5 + 1) {
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            fs::write(&table, &bad)?;
            expect_no_panic(&report("waits", &result, &[])?)?;
        }
        fs::remove_file(&table)?;
        expect_error(&report("waits", &result, &[])?, &["tables"])?;
        fs::write(&table, &good)?;
    }
    expect_status(&report("waits", &result, &[])?, 0)
}

/// Finalizing a spool of garbage, checksummed garbage or nothing makes a result of what is there or says what is wrong.
fn damaged_spool() -> Result<()> {
    let noise: Vec<u8> = (0..20_000u32).map(|i| (i * i % 251) as u8).collect();
    for content in [&noise[..0], &[0; 10_000], &noise, b"DWELLSP1", b"DWELLSP1CHNKxxxxxxxxxxxxxxxxxxxxxxxxxxx"] {
        finalize_spool(|spool| Ok(fs::write(spool.join("events-000000.dws"), content)?))?;
    }
    finalize_spool(|spool| {
        for stream in [Stream::Meta, Stream::Events] {
            SpoolWriter::create(&Folder::open(spool)?, stream)?.append(&noise, 0, u64::MAX)?;
        }
        Ok(())
    })
}

fn finalize_spool(fill: impl Fn(&Path) -> Result<()>) -> Result<()> {
    let folder = TempDir::new()?;
    let result = ResultFolder::create(&folder.path().join("result"))?;
    result.write_manifest(&manifest(State::Collecting))?;
    fill(result.spool()?.path())?;
    expect_no_panic(&run_dwell(&["finalize", &result.path().display().to_string()])?)
}

/// A result without a single row has every report, in every form.
fn empty_result() -> Result<()> {
    let folder = TempDir::new()?;
    let result = write(&folder, Trace::new(manifest(State::Collected)))?;
    for name in REPORTS {
        for format in ["text", "csv", "json"] {
            let output = report(name, &result, &["--format", format])?;
            expect_no_panic(&output)?;
            ensure!(output.code() == 0, "report {name} as {format}: {}", output.stderr);
        }
    }
    for (name, subject) in [("blame", "no_such_object"), ("caller-callee", "no_such_function")] {
        expect_no_panic(&run_dwell(&["report", name, subject, &result.display().to_string()])?)?;
    }
    Ok(())
}

fn nearest_name() -> Result<()> {
    let folder = TempDir::new()?;
    let result = write(&folder, small_trace())?;
    expect_error(&report("wiats", &result, &[])?, &["waits"])?;
    let blame = run_dwell(&["report", "blame", "queue_lok", &result.display().to_string()])?;
    expect_error(&blame, &["queue_lock"])?;
    let wrong: [(&[&str], &str); 6] = [
        (&["--filter", "thraed=worker"], "thread"),
        (&["--group-by", "objct"], "object"),
        (&["--group-by", "object,functoin"], "function"),
        (&["--metric", "wait_n"], "wait_ns"),
        (&["--sort", "wait_cuont"], "wait_count"),
        (&["--time-range", "3s-1s"], "time"),
    ];
    for (options, nearest) in wrong {
        expect_error(&report("waits", &result, options)?, &[nearest])?;
    }
    Ok(())
}

fn unwritable_output() -> Result<()> {
    let folder = TempDir::new()?;
    let result = write(&folder, small_trace())?;
    expect_error(&report("waits", &result, &["--output", "/no/such/folder/waits.txt"])?, &["/no/such/folder"])
}
