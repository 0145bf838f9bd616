//! `dwell merge`: two hosts, played by two network namespaces with a slow line between them, and a clock that is wrong.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use dwell_model::{ProcessId, SocketCause, ThreadId, WakerKind};
use dwell_store::{ResultFolder, Trace};
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Running, collect, needs_program, needs_recording, run_dwell, sample, wait_for};

/// Answers each line after three milliseconds of work.
const SERVER: &str = "
import socket, sys, time
listener = socket.create_server(('10.77.0.2', 7777))
open(sys.argv[1], 'w').close()
peer, _ = listener.accept()
while peer.recv(4096):
    time.sleep(0.003)
    peer.sendall(b'answer' * 10)
";
/// Asks forty times, at an uneven pace.
const CLIENT: &str = "
import socket, time
peer = socket.create_connection(('10.77.0.2', 7777))
for turn in range(40):
    peer.sendall(b'question')
    peer.recv(4096)
    time.sleep(0.001 * (turn * 7 % 13))
";
/// Delay of the line each way, on kernels with netem.
const DELAY_NS: u64 = 2_000_000;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("merge::two_hosts_are_put_on_one_clock", one_clock),
        Case::new("merge::a_way_there_that_is_not_the_way_back", lopsided),
        Case::new("merge::results_without_a_connection_in_common", nothing_in_common),
    ]
}

/// Two network namespaces with a line between them, gone when dropped.
struct Line {
    names: [String; 2],
}

impl Line {
    fn new() -> Result<Self> {
        needs_recording()?;
        for program in ["ip", "tc", "python3"] {
            needs_program(program)?;
        }
        let line = Self { names: ["client", "server"].map(|name| format!("dwell-{name}-{}", std::process::id())) };
        let [client, server] = &line.names;
        let mut script = format!("ip netns add {client}; ip netns add {server}\n");
        script += &format!("ip link add eth0 netns {client} type veth peer name eth0 netns {server}\n");
        for (name, address) in [(client, "10.77.0.1/24"), (server, "10.77.0.2/24")] {
            script += &format!("ip -n {name} addr add {address} dev eth0; ip -n {name} link set eth0 up\n");
            script += &format!("tc -n {name} qdisc add dev eth0 root netem delay {}us || true\n", DELAY_NS / 1000);
        }
        let made = Command::new("sh").args(["-e", "-c", &script]).output()?;
        ensure!(made.status.success(), "no line: {}", String::from_utf8_lossy(&made.stderr));
        Ok(line)
    }

    /// Records `script` at one end into `folder/result`.
    fn record(&self, end: usize, folder: &Path, script: &str, argument: &str) -> Result<Running> {
        let program = ["ip", "netns", "exec", &self.names[end], "python3", "-c", script, argument];
        Running::start(&mut collect(folder, &["--quiet", "--analyze", "sockets"], &program))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

fn read(folder: &Path) -> Result<Trace> {
    Ok(Trace::read(&ResultFolder::open(folder)?)?)
}

/// The first thread's beginning, of the threads of processes from this one on.
fn begins(trace: &Trace, process: usize) -> Result<i64> {
    let row = trace.threads.process.iter().position(|id| *id == ProcessId::new(process)).context("no thread")?;
    Ok(i64::try_from(trace.threads.start_ns[row])?)
}

fn one_clock() -> Result<()> {
    let line = Line::new()?;
    let (client, server, both) = (TempDir::new()?, TempDir::new()?, TempDir::new()?);
    let ready = server.path().join("ready");
    let serving = line.record(1, server.path(), SERVER, &ready.display().to_string())?;
    let up = || ready.exists().then_some(());
    wait_for("the server", up).or_else(|_| wait_for("the server", up))?;
    let asking = line.record(0, client.path(), CLIENT, "")?;
    for running in [asking, serving] {
        let output = running.finish()?;
        ensure!(output.status.success(), "{}", output.stderr);
    }
    let paths = [&client, &server].map(|folder| folder.path().join("result"));
    // The second host's clock goes an hour wrong; both are this machine's, so that the truth is known.
    let folder = ResultFolder::open(&paths[1])?;
    let mut manifest = folder.manifest()?;
    manifest.started_at += 3600.0;
    folder.write_manifest(&manifest)?;
    let merged = both.path().join("merged");
    let words = [&paths[0], &paths[1], &merged].map(|path| path.display().to_string());
    let output = run_dwell(&["merge", &words[0], &words[1], "--result-dir", &words[2]])?;
    ensure!(output.status.success(), "{}", output.stderr);
    let (first, second, joined) = (read(&paths[0])?, read(&paths[1])?, read(&merged)?);
    let truth = second.manifest.start_ns.cast_signed() - first.manifest.start_ns.cast_signed();
    let moved = begins(&joined, first.processes.pid.len())? - begins(&second, 0)?;
    let found = moved - (begins(&joined, 0)? - begins(&first, 0)?);
    let wrong = found.abs_diff(truth);
    ensure!(wrong < DELAY_NS, "the clocks differ by {truth} ns, found were {found}\n{}", output.stderr);
    ensure!(output.stderr.contains(" ± ") && output.stderr.contains("exchanges agree"), "{}", output.stderr);
    explained(&joined, first.threads.tid.len())?;
    ensure!(dwell_conserves(&words[2])?, "times do not add up");
    Ok(())
}

/// The client's waits for answers are ended by the server's thread.
fn explained(joined: &Trace, of_first: usize) -> Result<()> {
    let off_cpu = &joined.off_cpu;
    let is_second = |thread: &ThreadId| thread.get().is_some_and(|row| row >= of_first);
    let across = off_cpu.thread.iter().zip(&off_cpu.waker).zip(&off_cpu.waker_kind);
    let across = across
        .filter(|((thread, waker), kind)| !is_second(thread) && is_second(waker) && **kind == WakerKind::Thread.code());
    let across = across.count();
    ensure!(across >= 30, "{across} of the client's 40 waits have a thread of the server as their waker");
    let names = &joined.processes.name;
    ensure!(names.iter().all(|name| name.contains(" @")), "processes without a host: {names:?}");
    Ok(())
}

/// The way back takes four times as long as the way there, and the clock is wrong: the error that is stated covers what that
/// makes wrong, and the client's waits are explained by the server's sleep.
fn lopsided() -> Result<()> {
    needs_recording()?;
    crate::sockets::needs_wire()?;
    let python = needs_program("python3")?;
    let folder = TempDir::new()?;
    let scripts = [("server.py", SERVER.replace("0.003", "0.020")), ("client.py", CLIENT.into())];
    for (name, script) in &scripts {
        fs::write(folder.path().join(name), script)?;
    }
    let at = |name: &str| folder.path().join(name).display().to_string();
    let line = |result: &str, script: &str| {
        let options = "--quiet --analyze sockets --result-dir";
        format!(
            "{} collect threading {options} {} -- {python} {} {}",
            env!("CARGO_BIN_EXE_dwell"),
            at(result),
            at(script),
            at("ready")
        )
    };
    let (far, near) = (line("far", "server.py"), line("near", "client.py"));
    let near = format!("while ! [ -e {} ]; do sleep 0.1; done; {near}", at("ready"));
    let mut wire = Command::new(sample("wire")?);
    let output = Running::start(wire.args(["2:8", "0", &far, "--", "sh", "-c", &near]))?.finish()?;
    ensure!(output.status.success(), "{}", output.stderr);
    wait_for("the server's result", || read(Path::new(&at("far"))).ok())?;
    let result = ResultFolder::open(Path::new(&at("far")))?;
    let mut manifest = result.manifest()?;
    manifest.started_at -= 3600.0;
    result.write_manifest(&manifest)?;
    let output = run_dwell(&["merge", &at("near"), &at("far"), "--result-dir", &at("both")])?;
    ensure!(output.status.success(), "{}", output.stderr);
    let [first, second, joined] = ["near", "far", "both"].map(|name| read(Path::new(&at(name))));
    let (first, second, joined) = (first?, second?, joined?);
    let truth = second.manifest.start_ns.cast_signed() - first.manifest.start_ns.cast_signed();
    let moved = begins(&joined, first.processes.pid.len())? - begins(&second, 0)?;
    let wrong = (moved - (begins(&joined, 0)? - begins(&first, 0)?)).abs_diff(truth);
    let stated =
        output.stderr.split(" ± ").nth(1).and_then(|rest| rest.split_once(" ms")).context("no error is stated")?;
    let stated_ns = stated.0.parse::<f64>()? * 1e6;
    // Half of what both ways take together, and what a busy machine adds.
    ensure!((wrong as f64) <= stated_ns && stated_ns < 8e6, "wrong by {wrong} ns; {}", output.stderr);
    let causes = |trace: &Trace, cause: SocketCause| -> u64 {
        let table = &trace.sockets.causes;
        (0..table.cause.len()).filter(|&row| table.cause[row] == cause.code()).map(|row| table.cause_ns[row]).sum()
    };
    let before = causes(&first, SocketCause::Peer);
    let (left, waiting) = (causes(&joined, SocketCause::Peer), causes(&joined, SocketCause::PeerWaiting));
    ensure!(before > 500_000_000, "{before} ns were for an end that is not profiled");
    ensure!(
        left * 10 < before && waiting * 2 > before,
        "{left} ns of {before} are not explained, {waiting} are the server's"
    );
    Ok(())
}

fn dwell_conserves(result: &str) -> Result<bool> {
    let output = run_dwell(&["report", "threads", "--format", "json", result])?;
    ensure!(output.status.success(), "{}", output.stderr);
    let view: serde_json::Value = serde_json::from_str(&output.stdout)?;
    let rows = view["rows"].as_array().context("no rows")?;
    let sum = |row: &serde_json::Value| {
        ["running_ns", "runnable_ns", "waiting_ns"].iter().filter_map(|field| row[field].as_u64()).sum::<u64>()
    };
    Ok(!rows.is_empty() && rows.iter().all(|row| row["lifetime_ns"].as_u64() == Some(sum(row))))
}

fn nothing_in_common() -> Result<()> {
    needs_recording()?;
    let folders = [TempDir::new()?, TempDir::new()?];
    for folder in &folders {
        let recorded = Running::start(&mut collect(folder.path(), &["--quiet"], &["true"]))?.finish()?;
        ensure!(recorded.status.success(), "{}", recorded.stderr);
    }
    let [first, second] = folders.each_ref().map(|folder| folder.path().join("result").display().to_string());
    let out = folders[0].path().join("out");
    let out = out.display().to_string();
    let refused = run_dwell(&["merge", &first, &second, "--result-dir", &out])?;
    ensure!(refused.code() == 1, "status {}", refused.code());
    for word in ["error: both results have no connection in common", "hint: ", "--offset-ns"] {
        ensure!(refused.stderr.contains(word), "{}", refused.stderr);
    }
    ensure!(fs::metadata(&out).is_err(), "a result was made of nothing");
    let told = run_dwell(&["merge", &first, &second, "--offset-ns", "-5000000", "--result-dir", &out])?;
    ensure!(told.status.success(), "{}", told.stderr);
    let (one, two, both) = (read(Path::new(&first))?, read(Path::new(&second))?, read(Path::new(&out))?);
    ensure!(both.threads.tid.len() == one.threads.tid.len() + two.threads.tid.len(), "threads are missing");
    ensure!(begins(&both, 0)? == begins(&one, 0)? + 5_000_000, "the first one is not moved");
    ensure!(dwell_conserves(&out)?, "times do not add up");
    Ok(())
}
