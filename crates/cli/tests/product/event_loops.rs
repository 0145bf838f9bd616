//! Event loops of Python, Node and Redis: one that stands still is found, and what it is busy with is named; one that serves many
//! short requests is not accused.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::Case;
use crate::real_programs::{Server, free_port, load};
use crate::recording::{Recording, needs_program, needs_recording, text};

/// What is looked for.
const BLOCKED: &str = "event-loop-blocked";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("event_loops::asyncio", asyncio),
        Case::new("event_loops::node", node),
        Case::new("event_loops::redis_under_load", redis_under_load),
        Case::new("event_loops::redis_commands", redis_commands),
    ]
}

/// The finding of a recording, if it was made.
fn blocked(recording: &Recording) -> Result<Option<Value>> {
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    Ok(recording.findings()?.into_iter().find(|row| text(row, "id") == BLOCKED))
}

fn expect_blocked(recording: &Recording, mentions: &[&str]) -> Result<()> {
    let finding = blocked(recording)?;
    let told = finding.as_ref().map_or_else(String::new, Value::to_string);
    let missing = mentions.iter().find(|words| !told.contains(**words));
    let waits = || recording.report(&["waits", "--include-idle"]).unwrap_or_default();
    ensure!(finding.is_some(), "no finding; the waits are {}", waits());
    ensure!(missing.is_none(), "the finding does not say {missing:?}: {told}");
    Ok(())
}

fn expect_free(recording: &Recording) -> Result<()> {
    let finding = blocked(recording)?;
    ensure!(finding.is_none(), "a false finding: {finding:?}");
    Ok(())
}

const ASYNCIO: &str = "
import asyncio, sys, time
def compute():
    end = time.process_time() + 0.1
    while time.process_time() < end: pass
def doze():
    time.sleep(0.05)
async def answer():
    for _ in range(300): await asyncio.sleep(0.005)
async def report(do):
    for _ in range(20):
        await asyncio.sleep(0.05)
        do()
async def main():
    what = {'compute': compute, 'doze': doze}.get(sys.argv[1], lambda: None)
    await asyncio.gather(answer(), report(what))
asyncio.run(main())
";

fn asyncio() -> Result<()> {
    let python =
        if Path::new("/usr/bin/python3").is_file() { "/usr/bin/python3".into() } else { needs_program("python3")? };
    let record = |what: &str| Recording::of(&[], &[&python, "-c", ASYNCIO, what]);
    expect_blocked(&record("compute")?, &["in compute"])?;
    expect_blocked(&record("doze")?, &["in doze", "waited for 100.0"])?;
    expect_free(&record("nothing")?)
}

const NODE: &str = "
const spent = () => process.cpuUsage().user + process.cpuUsage().system;
function compute() { const end = spent() + 100_000; while (spent() < end); }
let reports = 0;
const answer = setInterval(() => {}, 5);
const report = setInterval(() => {
  if (process.argv[1] == 'compute') compute();
  if (++reports == 15) { clearInterval(answer); clearInterval(report); }
}, 200);
";

/// Node names its functions only when it is asked to; without, the finding is made, too.
fn node() -> Result<()> {
    let node = needs_program("node")?;
    let record = |options: &[&str], what: &str| {
        let program: Vec<&str> = [node.as_str()].into_iter().chain(options.iter().copied()).collect();
        Recording::of(&[], &[program.as_slice(), &["-e", NODE, what]].concat())
    };
    let named = ["--perf-basic-prof", "--no-logfile-per-isolate", "--logfile=/dev/null"];
    expect_blocked(&record(&named, "compute")?, &["compute"])?;
    expect_blocked(&record(&[], "compute")?, &["event-loop-blocked"])?;
    expect_free(&record(&[], "nothing")?)
}

/// Redis without files and with these options, recorded while `using` uses it.
pub fn redis(options: &[&str], using: impl Fn(u16) -> Result<()>) -> Result<Recording> {
    needs_recording()?;
    let program = needs_program("redis-server")?;
    let (folder, port) = (TempDir::new()?, free_port()?);
    let (place, port_text) = (folder.path().display().to_string(), port.to_string());
    let pid = format!("{place}/pid");
    let mut whole = vec![program.as_str(), "--port", &port_text, "--bind", "127.0.0.1", "--dir", &place, "--save", ""];
    whole.extend(["--pidfile", pid.as_str(), "--enable-debug-command", "local"]);
    whole.extend(options);
    let server = Server::launch(folder, port, &whole)?;
    using(port)?;
    server.stop(Signal::TERM)
}

fn redis_under_load() -> Result<()> {
    let benchmark = needs_program("redis-benchmark")?;
    let recording =
        redis(&[], |port| load(&benchmark, &["-p", &port.to_string(), "-n", "20000", "-q", "-t", "get,set"]))?;
    expect_free(&recording)
}

/// Sends a command again and again, with pauses.
pub fn repeat(port: u16, command: &str) -> Result<()> {
    let mut client = TcpStream::connect(("127.0.0.1", port))?;
    let mut answers = BufReader::new(client.try_clone()?);
    for _ in 0..10 {
        thread::sleep(Duration::from_millis(100));
        client.write_all(format!("{command}\r\n").as_bytes())?;
        let mut answer = String::new();
        answers.read_line(&mut answer)?;
        ensure!(answer.starts_with(['+', ':']), "{command}: {answer}");
    }
    Ok(())
}

fn redis_commands() -> Result<()> {
    expect_blocked(&redis(&[], |port| repeat(port, "DEBUG SLEEP 0.05"))?, &["redis-server", "waited for 100.0"])?;
    let counts = "EVAL \"local n = 0; for i = 1, 20000000 do n = n + i end; return 1\" 0";
    expect_blocked(&redis(&[], |port| repeat(port, counts))?, &["redis-server", "ran for"])?;
    expect_free(&redis(&[], |port| repeat(port, "PING"))?)
}
