//! `dwell agent --store s3://…`: against moto, whose requests botocore checks, with the server away at the wrong moments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dwell_fleet::{FleetRow, FleetStore};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::agent::{files, is_whole, rows};
use crate::harness::{Case, Skip};
use crate::recording::{Output, Running, dwell, needs_program, needs_recording, root, wait_for};

/// An S3 server, the check of its requests, and a reader of its objects that is not ours.
const PACKAGES: [&str; 4] =
    ["moto[server]==5.2.5", "duckdb==1.5.5", "duckdb-cli==1.5.5", "duckdb-extension-httpfs==1.5.5"];
const EXTENSION: &str = "duckdb_extension_httpfs/extensions/v1.5.5/httpfs.duckdb_extension";
/// How long the packages may take to come.
const INSTALLING: Duration = Duration::from_secs(300);
const STORE: &str = "s3://fleet/eu west";
const VARIABLES: [(&str, &str); 3] =
    [("AWS_ACCESS_KEY_ID", "dwell-key"), ("AWS_SECRET_ACCESS_KEY", "dwell-secret"), ("AWS_REGION", "eu-test-1")];
/// Rows of what the server has, as files of a folder.
const FETCH: &str = "
import os, sys, boto3
objects = boto3.client('s3', endpoint_url=sys.argv[1])
for page in objects.get_paginator('list_objects_v2').paginate(Bucket='fleet'):
    for found in page.get('Contents', []):
        path = os.path.join(sys.argv[2], found['Key'])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        objects.download_file('fleet', found['Key'], path)
";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("agent_store::a_bucket_has_the_rows", a_bucket_has_the_rows),
        Case::new("agent_store::what_waits_is_written_when_the_server_is_back", what_waits_is_written),
        Case::new("agent_store::a_killed_agent_loses_nothing_that_waits", a_killed_agent_loses_nothing_that_waits),
        Case::new("agent_store::refusals_are_told_at_the_start", refusals_are_told_at_the_start),
        Case::new("agent_store::a_reload_changes_the_store", a_reload_changes_the_store),
        Case::new("agent_store::a_full_buffer_drops_the_oldest", a_full_buffer_drops_the_oldest),
    ]
}

/// A Python with the packages, in an environment below the target folder.
fn environment() -> Result<PathBuf> {
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("s3-python");
    let done = environment.join("installed");
    if !done.exists() {
        let python = needs_program("python3")?;
        Running::start(Command::new(python).args(["-m", "venv"]).arg(&environment))?.finish_within(INSTALLING)?;
        let mut install = Command::new(environment.join("bin/python"));
        install.args(["-m", "pip", "install", "--quiet", "--timeout", "20", "--retries", "1"]).args(PACKAGES);
        if !Running::start(&mut install)?.finish_within(INSTALLING)?.status.success() {
            return Err(Skip("pip cannot install moto and duckdb".into()).into());
        }
        fs::write(&done, "")?;
    }
    Ok(environment)
}

/// A server of objects, which may be away.
struct Server {
    environment: PathBuf,
    port: String,
    running: Option<Running>,
}

impl Server {
    /// One that does not answer yet, at a port that is free.
    fn away() -> Result<Self> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
        Ok(Self { environment: environment()?, port, running: None })
    }

    fn started() -> Result<Self> {
        let mut server = Self::away()?;
        server.start()?;
        Ok(server)
    }

    /// Starts it, with an empty bucket.
    fn start(&mut self) -> Result<()> {
        let script = root().join("crates/cli/tests/product/object_store.py");
        let running = Running::start(self.python().arg(script).arg(&self.port))?;
        wait_for("the server", || running.stdout().contains(&self.port).then_some(()))?;
        self.running = Some(running);
        Ok(())
    }

    fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn python(&self) -> Command {
        self.with_variables(Command::new(self.environment.join("bin/python")))
    }

    fn with_variables(&self, mut command: Command) -> Command {
        command.envs(VARIABLES).env("AWS_ENDPOINT_URL", self.endpoint()).env("NO_PROXY", "127.0.0.1");
        command.env_remove("AWS_SESSION_TOKEN").env_remove("AWS_ENDPOINT_URL_S3");
        command
    }

    /// An agent that writes to it, with rows of a second.
    fn agent(&self, folder: &Path, more: &[&str]) -> Result<Running> {
        let buffer = buffer_of(folder).display().to_string();
        let words = ["agent", "--store", STORE, "--host", "web-1", "--row", "1s", "--window", "0", "--buffer", &buffer];
        Running::start(&mut self.with_variables(dwell(&[&words[..], more].concat())))
    }

    /// What it has, as a folder.
    fn objects(&self, folder: &Path) -> Result<PathBuf> {
        let into = folder.join("objects");
        let output = Running::start(self.python().args(["-c", FETCH, &self.endpoint()]).arg(&into))?.finish()?;
        ensure!(output.status.success(), "{}", output.stderr);
        Ok(into.join("eu west"))
    }
}

fn buffer_of(folder: &Path) -> PathBuf {
    folder.join("buffer")
}

/// Begins of rows of time, each with its files.
fn rows_of_time(store: &Path) -> BTreeMap<String, usize> {
    let mut rows = BTreeMap::new();
    for file in files(store).into_iter().filter(|file| is_whole(file)) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        *rows.entry(name).or_default() += 1;
    }
    rows
}

/// Where the files of a buffer belong; one that is being written does not wait yet.
fn waiting(folder: &Path) -> BTreeSet<String> {
    let is_written = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "row");
    let path = |file: PathBuf| {
        let bytes = fs::read(file).ok()?;
        let line = bytes.split(|byte| *byte == b'\n').next()?;
        Some(String::from_utf8_lossy(line).split(' ').next()?.to_owned())
    };
    files(&buffer_of(folder)).into_iter().filter(is_written).filter_map(path).collect()
}

/// No time is missing: each row begins where the one before ended.
fn ensure_without_gap(store: &Path, service: &str) -> Result<()> {
    let mut spans: Vec<(f64, f64)> = Vec::new();
    for row in rows(store)?.iter().filter(|row| row.service == service && row.text("kind") == "cpu") {
        spans.push((row.number("t"), row.number("length_ns")));
    }
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    ensure!(spans.len() >= 3, "{} rows of {service}", spans.len());
    for pair in spans.windows(2) {
        let gap_ns = pair[1].0 - pair[0].0 - pair[0].1;
        ensure!(gap_ns.abs() < 1e6, "{gap_ns} ns between rows of {service}: {spans:?}");
    }
    Ok(())
}

fn ended(output: &Output, code: i32, said: &[&str]) -> Result<()> {
    ensure!(output.code() == code, "{}: {}", output.code(), output.stderr);
    for said in said {
        ensure!(output.stderr.contains(said), "{said} is not in {}", output.stderr);
    }
    Ok(())
}

fn a_bucket_has_the_rows() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let server = Server::started()?;
    let _waiter = Running::start(Command::new("sleep").arg("60"))?;
    let output = server.agent(folder.path(), &["--duration", "3s"])?.finish()?;
    ended(&output, 0, &["files written to s3://fleet/eu west"])?;
    ensure!(!output.stderr.contains("note: "), "{}", output.stderr);
    let store = server.objects(folder.path())?;
    ensure!(rows(&store)?.iter().any(|row| row.text("process") == "sleep" && row.number("wait_ns") > 5e8), "no sleep");
    ensure!(files(&buffer_of(folder.path())).is_empty(), "something waits");
    // The program duckdb reads the bucket as the folder.
    let extensions = folder.path().join(".duckdb/extensions/v1.5.5/linux_amd64");
    fs::create_dir_all(&extensions)?;
    let packages = files(&server.environment.join("lib")).into_iter().find(|file| file.ends_with(EXTENSION));
    fs::copy(packages.context("no httpfs")?, extensions.join("httpfs.duckdb_extension"))?;
    let words = ["fleet", "report", "services", "--engine", "print", "--store"];
    let answer = |store: &str| -> Result<String> {
        let sql = Running::start(&mut server.with_variables(dwell(&[&words[..], &[store]].concat())))?.finish()?;
        ensure!(sql.code() == 0 && !sql.stdout.contains("dwell-secret"), "{} {}", sql.stdout, sql.stderr);
        let mut duckdb = Command::new(server.environment.join("bin/duckdb"));
        duckdb.args(["-csv", "-c", &sql.stdout]).env("HOME", folder.path());
        let output = Running::start(&mut server.with_variables(duckdb))?.finish()?;
        ensure!(output.code() == 0, "{}", output.stderr);
        Ok(output.stdout.replace("Success\ntrue\n", "").replace("\r\n", "\n"))
    };
    let (of_bucket, of_folder) = (answer(STORE)?, answer(&store.display().to_string())?);
    ensure!(of_bucket.ends_with(&of_folder) && of_folder.lines().count() > 3, "{of_bucket}\n{of_folder}");
    for words in [&["fleet", "report", "waits", "--store", STORE][..], &["fleet", "compact", "--store", STORE]] {
        let output = Running::start(&mut server.with_variables(dwell(words)))?.finish()?;
        ended(&output, 1, &["hint: "])?;
    }
    Ok(())
}

fn what_waits_is_written() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let mut server = Server::away()?;
    let _waiter = Running::start(Command::new("sleep").arg("60"))?;
    let agent = server.agent(folder.path(), &[])?;
    let times =
        |paths: BTreeSet<String>| paths.iter().filter_map(|path| Some(path.rsplit_once('/')?.1.to_owned())).collect();
    wait_for("three rows that wait", || {
        let rows: BTreeSet<String> = times(waiting(folder.path()));
        (rows.len() >= 3).then_some(())
    })?;
    server.start()?;
    wait_for("all that waits", || files(&buffer_of(folder.path())).is_empty().then_some(()))?;
    sleep(Duration::from_millis(1_200));
    agent.signal(Signal::TERM)?;
    let output = agent.finish()?;
    ended(&output, 0, &["is away, and files wait in", "is back: ", "files written to"])?;
    let store = server.objects(folder.path())?;
    ensure!(rows_of_time(&store).len() >= 4, "{:?}", rows_of_time(&store));
    ensure_without_gap(&store, "sleep")
}

fn a_killed_agent_loses_nothing_that_waits() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let mut server = Server::away()?;
    let agent = server.agent(folder.path(), &[])?;
    wait_for("rows that wait", || (waiting(folder.path()).len() > 20).then_some(()))?;
    agent.signal(Signal::KILL)?;
    agent.finish()?;
    // Half of a file, as a kill within a write leaves it.
    let left = waiting(folder.path());
    fs::write(
        buffer_of(folder.path()).join("0000000000099999.row.partial"),
        "day=2026-11-26/service=half/x.parquet 9\nPA",
    )?;
    fs::write(buffer_of(folder.path()).join("0000000000099998.row"), "day=2026-11-26/service=half/x.parquet 9\nPA")?;
    server.start()?;
    let output = server.agent(folder.path(), &["--duration", "1s"])?.finish()?;
    ended(&output, 1, &["1 of ", "1 are lost"])?;
    let store = server.objects(folder.path())?;
    for path in &left {
        ensure!(store.join(path).is_file(), "{path} is lost");
    }
    ensure!(!files(&store).iter().any(|file| file.display().to_string().contains("service=half")), "half a file");
    rows(&store)?;
    Ok(())
}

fn refusals_are_told_at_the_start() -> Result<()> {
    let folder = TempDir::new()?;
    let server = Server::started()?;
    let config = folder.path().join("agent.toml");
    let run = |store: &str, variable: (&str, &str)| -> Result<[Output; 2]> {
        let buffer = buffer_of(folder.path());
        fs::write(&config, format!("store = '{store}'\nbuffer = '{}'\nbuffer-mib = 8\n", buffer.display()))?;
        let config = config.display().to_string();
        let run = |words: &[&str]| {
            let mut command = server.with_variables(dwell(words));
            Running::start(command.env(variable.0, variable.1))?.finish()
        };
        Ok([
            run(&["agent", "--check", "--config", &config])?,
            run(&["agent", "--config", &config, "--duration", "1s"])?,
        ])
    };
    let hint = "hint: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL";
    for (store, variable, said) in [
        (STORE, ("AWS_SECRET_ACCESS_KEY", "wrong"), "403 SignatureDoesNotMatch"),
        (STORE, ("AWS_ACCESS_KEY_ID", "nobody"), "403 InvalidAccessKeyId"),
        (STORE, ("AWS_ACCESS_KEY_ID", ""), "is not set"),
        ("s3://no-fleet", VARIABLES[0], "404 NoSuchBucket"),
    ] {
        for output in run(store, variable)? {
            ended(&output, 1, &["cannot be written: ", said, hint])?;
            ensure!(output.stderr.lines().count() == 2, "{}", output.stderr);
        }
    }
    let [away, _] = run(STORE, ("AWS_ENDPOINT_URL", "http://127.0.0.1:9"))?;
    ended(&away, 1, &["cannot be written: ", hint])?;
    let [good, _] = run(STORE, VARIABLES[0])?;
    ensure!(good.code() == 0 && good.stdout.contains("s3://fleet/eu west: can be written"), "{}", good.stderr);
    ensure!(good.stdout.contains("8 MiB at most"), "{}", good.stdout);
    let left = server.objects(folder.path())?;
    ensure!(files(&left).iter().all(|file| is_whole(file)), "a check leaves {:?}", files(&left));
    Ok(())
}

/// A buffer of 1 MiB that another agent filled with small files: there is no place for a row of this one.
fn a_full_buffer_drops_the_oldest() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let server = Server::away()?;
    let store = FleetStore::open(&folder.path().join("fleet"))?;
    store.write("filling", "web-0", 7, &[FleetRow::default()])?;
    let table = fs::read(&files(&folder.path().join("fleet"))[0])?;
    fs::create_dir(buffer_of(folder.path()))?;
    let path = |at: usize| format!("day=1970-01-01/service=filling/web-0-{at:04}.parquet");
    let file = |at| [format!("{} {}\n", path(at), table.len()).as_bytes(), &table].concat();
    let count = (1 << 20) / file(0).len();
    for at in 0..count {
        fs::write(buffer_of(folder.path()).join(format!("{at:016}.row")), file(at))?;
    }
    let output = server.agent(folder.path(), &["--buffer-mib", "1", "--duration", "2s"])?.finish()?;
    ended(&output, 1, &["has its 1 MiB, and the oldest files are dropped", " are lost, ", " wait in "])?;
    let left = waiting(folder.path());
    ensure!(!left.contains(&path(0)) && left.contains(&path(count - 1)), "not the oldest are dropped");
    ensure!(left.iter().any(|path| !path.contains("service=filling")), "no row of the agent waits");
    let bytes: u64 = files(&buffer_of(folder.path())).iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    ensure!(bytes <= 1 << 20, "{bytes} bytes wait");
    Ok(())
}

/// From one folder to another with the same buffer, and to one that cannot be written.
fn a_reload_changes_the_store() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let config = folder.path().join("agent.toml");
    let configure = |store: &str| {
        let buffer = buffer_of(folder.path());
        let text = format!("store = '{store}'\nbuffer = '{}'\nrow = '200ms'\nwindow = '0'\n", buffer.display());
        fs::write(&config, text)
    };
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let count = |store: &Path| files(store).iter().filter(|file| is_whole(file)).count();
    configure(&first.display().to_string())?;
    fs::create_dir(buffer_of(folder.path()))?;
    let agent = Running::start(&mut dwell(&["agent", "--config", &config.display().to_string()]))?;
    wait_for("rows in the first store", || (count(&first) > 0).then_some(()))?;
    configure("gs://fleet")?;
    agent.signal(Signal::HUP)?;
    let before = count(&first);
    wait_for("more rows in the first store", || (count(&first) > before + 50).then_some(()))?;
    configure(&second.display().to_string())?;
    agent.signal(Signal::HUP)?;
    wait_for("rows in the second store", || (count(&second) > 0).then_some(()))?;
    let before = count(&first);
    agent.signal(Signal::TERM)?;
    let output = agent.finish()?;
    let all = count(&first) + count(&second);
    ended(&output, 0, &["neither a folder nor s3://BUCKET/PREFIX", &format!("{all} files written to ")])?;
    ensure!(count(&first) == before, "rows come into the first store");
    Ok(())
}
