//! Runs `dwell` as a user does: records programs, asks for reports, ends what it started.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use dwell_model::ObjectType;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::Skip;

/// No command of these tests may run longer, but one that says so.
const LIMIT: Duration = Duration::from_secs(120);

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A sample program's path.
pub fn sample(name: &str) -> Result<String> {
    let path = root().join("samples/bin").join(name);
    ensure!(path.is_file(), "{} is missing: `make samples` builds it", path.display());
    Ok(path.display().to_string())
}

/// What a command left behind.
pub struct Output {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    /// Where wakers are not seen, what a thread waits for a CPU counts as waiting.
    pub waits_have_delays: bool,
    /// Time that the hypervisor took of all CPUs meanwhile: running for who had them, and in no account of the scheduler's.
    pub stolen_ns: f64,
}

impl Output {
    /// The exit status as a shell reports it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// The value that a sample printed as `truth KEY VALUE`, on whichever stream.
    pub fn truth(&self, key: &str) -> Option<f64> {
        let of_line = |line: &str| {
            let mut words = line.split_whitespace();
            (words.next() == Some("truth") && words.next() == Some(key)).then(|| words.next()?.parse().ok()).flatten()
        };
        self.stdout.lines().chain(self.stderr.lines()).find_map(of_line)
    }
}

/// A command that runs, with its output going to files: a program that outlives it cannot block us.
pub struct Running {
    child: Child,
    output: TempDir,
    what: String,
    /// [`stolen_ns`] at its start.
    stolen_ns: f64,
}

/// Time that the hypervisor has taken of all CPUs since the boot, ns: `steal` of proc_stat(5), in ticks of USER_HZ.
fn stolen_ns() -> f64 {
    const TICK_NS: f64 = 10_000_000.0;
    let machine = fs::read_to_string("/proc/stat").unwrap_or_default();
    machine.split_whitespace().nth(8).and_then(|ticks| ticks.parse::<f64>().ok()).map_or(0.0, |ticks| ticks * TICK_NS)
}

impl Running {
    pub fn start(command: &mut Command) -> Result<Self> {
        let output = TempDir::new()?;
        let what = format!("{command:?}");
        let stolen_ns = stolen_ns();
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(output.path().join("stdout"))?)
            .stderr(File::create(output.path().join("stderr"))?)
            .spawn()
            .with_context(|| format!("cannot start {what}"))?;
        Ok(Self { child, output, what, stolen_ns })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn stdout(&self) -> String {
        self.text("stdout")
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }

    /// Waits for the end; kills it and fails when that takes too long.
    pub fn finish(self) -> Result<Output> {
        self.finish_within(LIMIT)
    }

    /// Waits so long for the end.
    pub fn finish_within(mut self, limit: Duration) -> Result<Output> {
        let begun = Instant::now();
        while begun.elapsed() < limit {
            if let Some(status) = self.child.try_wait()? {
                let (stdout, stderr) = (self.stdout(), self.text("stderr"));
                let stolen_ns = stolen_ns() - self.stolen_ns;
                return Ok(Output { status, stdout, stderr, waits_have_delays: false, stolen_ns });
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        bail!("{} did not end within {} s\n{}", self.what, limit.as_secs(), self.text("stderr"))
    }

    fn text(&self, stream: &str) -> String {
        let bytes = fs::read(self.output.path().join(stream)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Waits until `condition` gives a value; fails after a minute, naming `what`.
pub fn wait_for<T>(what: &str, condition: impl Fn() -> Option<T>) -> Result<T> {
    let begun = Instant::now();
    loop {
        if let Some(value) = condition() {
            return Ok(value);
        }
        ensure!(begun.elapsed() < Duration::from_secs(60), "waited a minute in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// `dwell` with these arguments, not started yet.
pub fn dwell(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.args(arguments).env_remove("SUDO_USER").env_remove("SUDO_UID").env_remove("SUDO_GID");
    command
}

/// Runs `dwell` to its end.
pub fn run_dwell(arguments: &[&str]) -> Result<Output> {
    Running::start(&mut dwell(arguments))?.finish()
}

/// Skips the case where nothing can be recorded: no root, no BTF, no capability. Where they are there, hooks that do
/// not load are a failure.
pub fn needs_recording() -> Result<()> {
    static WHY_NOT: OnceLock<Option<&str>> = OnceLock::new();
    let why_not = WHY_NOT.get_or_init(|| {
        if !geteuid().is_root() || !can_load_bpf() {
            return Some("recording needs root with CAP_BPF and CAP_PERFMON");
        }
        (!Path::new("/sys/kernel/btf/vmlinux").exists()).then_some("this kernel has no BTF")
    });
    why_not.map_or(Ok(()), |why| Err(Skip(why.into()).into()))
}

fn can_load_bpf() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    const PERFMON_AND_BPF: u64 = 1 << 38 | 1 << 39;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    held & SYS_ADMIN != 0 || held & PERFMON_AND_BPF == PERFMON_AND_BPF
}

/// Skips the case unless `program` is installed; returns its path.
pub fn needs_program(program: &str) -> Result<String> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
    let found = path.split(':').map(|folder| Path::new(folder).join(program)).find(|path| path.is_file());
    found.map(|path| path.display().to_string()).ok_or_else(|| Skip(format!("{program} is not installed")).into())
}

/// A finished recording.
pub struct Recording {
    path: PathBuf,
    /// What is deleted with it.
    _folder: Option<TempDir>,
    pub output: Output,
}

impl Recording {
    /// Records `program` with `options`, in a result folder of its own.
    pub fn of(options: &[&str], program: &[&str]) -> Result<Self> {
        Self::with_environment(options, program, &[])
    }

    pub fn with_environment(options: &[&str], program: &[&str], environment: &[(&str, &str)]) -> Result<Self> {
        needs_recording()?;
        let folder = TempDir::new()?;
        let mut command = collect(folder.path(), options, program);
        command.envs(environment.iter().copied());
        let output = Running::start(&mut command)?.finish()?;
        Self::in_folder(folder, output)
    }

    /// A recording that `dwell` made in `folder`, however it ended.
    pub fn in_folder(folder: TempDir, output: Output) -> Result<Self> {
        Self { path: folder.path().join("result"), _folder: Some(folder), output }.checked()
    }

    /// A recording that stays, and what `dwell` said of it last.
    pub fn kept(path: PathBuf, output: Output) -> Result<Self> {
        Self { path, _folder: None, output }.checked()
    }

    fn checked(self) -> Result<Self> {
        let Output { stderr, .. } = &self.output;
        ensure!(!stderr.contains("panicked at"), "dwell panicked:\n{stderr}");
        ensure!(self.path().join("manifest.json").is_file(), "dwell made no result:\n{stderr}");
        Ok(self)
    }

    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }

    pub fn manifest(&self) -> Result<Value> {
        Ok(serde_json::from_slice(&fs::read(self.path().join("manifest.json"))?)?)
    }

    /// `dwell report …` of this recording as JSON.
    pub fn report(&self, arguments: &[&str]) -> Result<Value> {
        let path = self.path().display().to_string();
        let tail = ["--format", "json", path.as_str()];
        let arguments: Vec<&str> = ["report"].iter().chain(arguments).chain(&tail).copied().collect();
        let output = run_dwell(&arguments)?;
        ensure!(output.status.success(), "dwell {}: {}", arguments.join(" "), output.stderr);
        serde_json::from_str(&output.stdout).with_context(|| format!("dwell {} is not JSON", arguments.join(" ")))
    }

    /// The rows of a report.
    pub fn rows(&self, arguments: &[&str]) -> Result<Vec<Value>> {
        match self.report(arguments)? {
            Value::Object(mut view) => match view.remove("rows") {
                Some(Value::Array(rows)) => Ok(rows),
                _ => bail!("report {} has no rows", arguments.join(" ")),
            },
            _ => bail!("report {} is not an object", arguments.join(" ")),
        }
    }

    /// The findings; each number that one claims is what the report says which it names.
    pub fn findings(&self) -> Result<Vec<Value>> {
        let findings = self.rows(&["findings"])?;
        let unproved = findings.iter().map(|finding| self.unproved(finding)).collect::<Result<Vec<_>>>()?.concat();
        ensure!(unproved.is_empty(), "{}", unproved.join("; "));
        Ok(findings)
    }

    /// The claims of a finding that the reports which they name do not bear out.
    pub fn unproved(&self, finding: &Value) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        for claim in finding["claims"].as_array().into_iter().flatten() {
            let question: Vec<&str> =
                claim["question"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let (column, number) = (text(claim, "column"), claim["number"].as_f64().context("no number")?);
            let shown = self.report(&question)?;
            let is_meant = |row: &Value| match claim["rows"].as_str().and_then(|rows| rows.split_once('=')) {
                Some((column, value)) => text(row, column) == value,
                None => row["depth"].as_u64().unwrap_or(0) == 0,
            };
            let of_row = |row: &Value| if is_meant(row) { row[column].as_f64() } else { None };
            let sum: f64 = match shown["rows"].as_array() {
                Some(rows) => rows.iter().filter_map(of_row).sum(),
                None => shown[column].as_f64().unwrap_or(0.0),
            };
            if sum < number || (text(claim, "relation") == "is" && sum > number) {
                let id = text(finding, "id");
                wrong.push(format!("{id} claims {column} {number}, and {} says {sum}", question.join(" ")));
            }
        }
        Ok(wrong)
    }
}

/// `dwell collect threading` into `folder/result`, not started yet.
pub fn collect(folder: &Path, options: &[&str], program: &[&str]) -> Command {
    let mut command = dwell(&["collect", "threading", "--result-dir"]);
    command.arg(folder.join("result")).args(options);
    if !program.is_empty() {
        command.arg("--").args(program);
    }
    command
}

/// A number of a JSON row.
pub fn number(row: &Value, field: &str) -> Result<f64> {
    row[field].as_f64().with_context(|| format!("no number {field} in {row}"))
}

/// A text of a JSON row, empty when it has none.
pub fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_default()
}

/// Whether the row's object is of the type with this id; the report says its title.
pub fn is_type(row: &Value, id: &str) -> bool {
    let shown = text(row, "type");
    shown == id || ObjectType::ALL.iter().any(|of_type| of_type.id() == id && of_type.title() == shown)
}
