//! The stacks of real programs against gdb's: a program is recorded while gdb stops it at random moments, and each thread's
//! stack at the switch that took it off the CPU for the stop has to be the one that gdb shows, address by address.
//!
//! `DWELL_GDB_STOPS` is the number of stops of each program (`make check-stacks` asks for more).

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use dwell_store::raw::{Record, Records, SpoolReader, Stream};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tempfile::TempDir;

use crate::harness::Case;
use crate::real_programs::free_port;
use crate::recording::{Running, collect, needs_program, needs_recording, root, sample, wait_for};

/// Stops of each program.
const STOPS: usize = 8;
/// Code of a stack that is complete, and of one with more frames than are recorded.
const COMPLETE: u8 = 1;
const TOO_DEEP: u8 = 4;
/// gdb's words for a stack that it thinks is whole.
const WHOLE: [&str; 2] = ["no reason", "outermost"];

const PYTHON: &str = "
import json, threading, time, hashlib
def work(depth, data):
    if depth: return work(depth - 1, data)
    text = json.dumps(sorted(data.items(), key=lambda item: -item[1]))
    return hashlib.sha256(text.encode()).hexdigest(), json.loads(text)
def loop():
    while True:
        work(12, {str(i): i * 7 % 101 for i in range(300)}); time.sleep(0.0005)
for _ in range(2): threading.Thread(target=loop).start()
loop()";

const SQLITE: &str = "
import sqlite3
db = sqlite3.connect(':memory:')
db.execute('create table t(a, b)')
while True:
    db.executemany('insert into t values (?, ?)', [(i, str(i * 7919 % 1000)) for i in range(2000)])
    db.execute('select b, count(*), sum(a) from t group by b order by 2 desc').fetchall()
    db.execute('delete from t')";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("gdb::python", || of_command(&[&needs_program("python3")?, "-c", PYTHON])),
        Case::new("gdb::sqlite", || of_command(&[&needs_program("python3")?, "-c", SQLITE])),
        Case::new("gdb::cxx", || of_command(&[&sample("work")?, "600"])),
        Case::new("gdb::rust", || of_command(&[&sample("work_rs")?, "600"])),
        Case::new("gdb::openssl", || {
            of_command(&[
                &needs_program("openssl")?,
                "speed",
                "-seconds",
                "60",
                "rsa2048",
                "ecdsap256",
                "aes-128-cbc",
                "sha512",
            ])
        }),
        Case::new("gdb::compressor", || {
            let command = format!("exec {} -T2 -3 -c /dev/zero > /dev/null", needs_program("xz")?);
            of_command(&["sh", "-c", &command])
        }),
        Case::new("gdb::redis", redis),
        Case::new("gdb::nginx", nginx),
    ]
}

fn redis() -> Result<()> {
    let (server, benchmark) = (needs_program("redis-server")?, needs_program("redis-benchmark")?);
    let port = free_port()?.to_string();
    let command = [&server, "--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
    let load = ["-p", &port, "-t", "set,get,lpush,zadd", "-n", "100000000", "-c", "5", "-q"];
    compare(&command, Some(Command::new(benchmark).args(load)))
}

fn nginx() -> Result<()> {
    let (server, wrk) = (needs_program("nginx")?, needs_program("wrk")?);
    let (folder, port) = (TempDir::new()?, free_port()?);
    let place = folder.path().display();
    let site = format!("server {{ listen 127.0.0.1:{port}; location / {{ return 200 'hello'; gzip on; }} }}");
    let text = format!("pid {place}/pid; error_log stderr; events {{}} http {{ access_log {place}/log; {site} }}");
    let file = folder.path().join("nginx.conf");
    std::fs::write(&file, text)?;
    let file = file.display().to_string();
    let command = [&server, "-c", &file, "-g", "daemon off; master_process off;"];
    compare(
        &command,
        Some(Command::new(wrk).args(["-d", "600", "-c", "4", "-t", "1", &format!("http://127.0.0.1:{port}/")])),
    )
}

fn of_command(command: &[&str]) -> Result<()> {
    compare(command, None)
}

/// A stop of a thread, as gdb_stops.py writes it.
#[derive(Deserialize)]
struct Stop {
    tid: u32,
    time_ns: u64,
    frames: Vec<u64>,
    why: String,
}

#[derive(Default)]
struct Tally {
    agree: usize,
    /// gdb says itself that its stack is not whole; as far as it goes, it is ours.
    cut_by_gdb: usize,
    /// More frames than are recorded; those that are, agree.
    too_deep: usize,
    differ: Vec<String>,
}

/// Records `command` under `load` while gdb stops it, and compares.
fn compare(command: &[&str], load: Option<&mut Command>) -> Result<()> {
    needs_recording()?;
    let gdb = needs_program("gdb")?;
    let folder = TempDir::new()?;
    let remember = format!("echo $$ > {0}/pid.new; mv {0}/pid.new {0}/pid; exec \"$@\"", folder.path().display());
    let whole: Vec<&str> = ["sh", "-c", &remember, "sh"].into_iter().chain(command.iter().copied()).collect();
    let dwell = Running::start(&mut collect(folder.path(), &["--finalization-mode", "none"], &whole))?;
    let pid_file = folder.path().join("pid");
    let pid = wait_for("the program's process id", || std::fs::read_to_string(&pid_file).ok()?.trim().parse().ok())?;
    let pid = Pid::from_raw(pid).context("no process id")?;
    std::thread::sleep(std::time::Duration::from_millis(500)); // past its start
    let load = load.map(Running::start).transpose()?;
    let stopped = stop_by_gdb(&gdb, pid, folder.path());
    drop(load);
    let _ = kill_process(pid, Signal::KILL);
    dwell.finish()?;
    let stops = stopped?;
    let tally = tally(&stops, &Recorded::read(&folder.path().join("result/spool"))?);
    let Tally { agree, cut_by_gdb, too_deep, differ } = &tally;
    println!("     {agree} of {} stacks are gdb's, {cut_by_gdb} are longer, {too_deep} too deep", stops.len());
    ensure!(differ.is_empty(), "{} of {} differ:\n{}", differ.len(), stops.len(), differ.join("\n"));
    ensure!(*agree * 2 > stops.len(), "only {agree} of {} stacks could be compared in full", stops.len());
    Ok(())
}

fn stop_by_gdb(gdb: &str, pid: Pid, folder: &Path) -> Result<Vec<Stop>> {
    let script = root().join("crates/cli/tests/product/gdb_stops.py");
    let (output, stops) = (folder.join("stops"), std::env::var("DWELL_GDB_STOPS").unwrap_or(STOPS.to_string()));
    let mut command = Command::new(gdb);
    command.args(["-nx", "-batch", "-x"]).arg(script);
    command.env("PID", pid.as_raw_nonzero().to_string()).env("STOPS", stops).env("OUTPUT", &output);
    let done = Running::start(&mut command)?.finish()?;
    let text = std::fs::read_to_string(&output).unwrap_or_default();
    ensure!(done.status.success() && !text.is_empty(), "gdb: {}{}", done.stdout, done.stderr);
    text.lines().map(|line| serde_json::from_str(line).context("gdb_stops.py")).collect()
}

/// What the raw trace says of where threads left the CPU.
#[derive(Default)]
struct Recorded {
    /// Time and stack key of each switch out, by thread.
    switches: HashMap<u32, Vec<(u64, u64)>>,
    /// Frames and end by key.
    stacks: HashMap<u64, (Vec<u64>, u8)>,
}

impl Recorded {
    fn read(spool: &Path) -> Result<Self> {
        let mut recorded = Self::default();
        for stream in [Stream::Meta, Stream::Events] {
            let mut reader = SpoolReader::open(&dwell_store::Folder::open(spool)?, stream)?;
            let mut chunk = Vec::new();
            while reader.next_chunk(&mut chunk).is_some() {
                Records::new(&chunk).for_each(|record| recorded.take(record));
            }
        }
        recorded.switches.values_mut().for_each(|switches| switches.sort_unstable());
        Ok(recorded)
    }

    fn take(&mut self, record: Record<'_>) {
        match record {
            Record::Switch(switch) if switch.h.tid != 0 => {
                self.switches.entry(switch.h.tid).or_default().push((switch.h.time_ns, switch.user_stack));
            }
            Record::Stack(stack, frames) => {
                self.stacks.insert(stack.key, (frames, stack.end));
            }
            _ => {}
        }
    }

    /// The stack with which a thread had left the CPU when it stood still.
    fn at(&self, stop: &Stop) -> Option<&(Vec<u64>, u8)> {
        let switches = self.switches.get(&stop.tid)?;
        let last = switches.partition_point(|(time_ns, _)| *time_ns <= stop.time_ns).checked_sub(1)?;
        self.stacks.get(&switches.get(last)?.1)
    }
}

fn tally(stops: &[Stop], recorded: &Recorded) -> Tally {
    let mut tally = Tally::default();
    for stop in stops {
        let Some((frames, end)) = recorded.at(stop) else {
            tally.differ.push(format!("thread {} has no recorded stack", stop.tid));
            continue;
        };
        let whole = WHOLE.contains(&stop.why.as_str());
        if *frames == stop.frames && (*end == COMPLETE || !whole) {
            tally.agree += 1;
        } else if !whole && frames.starts_with(&stop.frames[..stop.frames.len() - 1]) {
            tally.cut_by_gdb += 1;
        } else if *end == TOO_DEEP && stop.frames.starts_with(frames) {
            tally.too_deep += 1;
        } else {
            let hex = |frames: &[u64]| frames.iter().map(|pc| format!("{pc:x}")).collect::<Vec<_>>().join(" ");
            let (ours, theirs) = (hex(frames), hex(&stop.frames));
            tally.differ.push(format!("thread {}: {} (end {end})\n  gdb: {} ({})", stop.tid, ours, theirs, stop.why));
        }
    }
    tally
}
