//! Programs that people run, under the load that people put on them: no loss, no gap, all threads, and the objects that
//! each is known to wait on. Servers listen on free ports of the loopback device and are ended by their process id.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::conservation;
use crate::harness::Case;
use crate::recording::{Recording, Running, collect, is_type, needs_program, needs_recording, number, text, wait_for};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("real_programs::redis", redis),
        Case::new("real_programs::nginx", nginx),
        Case::new("real_programs::memcached", memcached),
        Case::new("real_programs::pigz", pigz),
        Case::new("real_programs::xz", xz),
        Case::new("real_programs::python", python),
    ]
}

/// A server under `dwell collect`.
pub struct Server {
    dwell: Running,
    folder: TempDir,
}

impl Server {
    /// Starts `program` and waits until it listens on `port`.
    pub fn start(folder: TempDir, port: u16, program: &[&str]) -> Result<Self> {
        let remember = format!("echo $$ > {}/pid; exec \"$@\"", folder.path().display());
        let whole: Vec<&str> = ["sh", "-c", &remember, "sh"].into_iter().chain(program.iter().copied()).collect();
        Self::launch(folder, port, &whole)
    }

    /// Starts `program`, which writes its process id to `pid` in the folder, as what Dwell launches itself: its unwind tables
    /// are there before it runs.
    pub fn launch(folder: TempDir, port: u16, program: &[&str]) -> Result<Self> {
        let dwell = Running::start(&mut collect(folder.path(), &[], program))?;
        let server = Self { dwell, folder };
        wait_for("the server to listen", || TcpStream::connect(("127.0.0.1", port)).ok())?;
        Ok(server)
    }

    /// Ends the server with `signal`; the recording of it, in which nothing is missing.
    pub fn stop(self, signal: Signal) -> Result<Recording> {
        let recording = self.end(signal)?;
        conservation::check(&recording, None)?;
        Ok(recording)
    }

    /// Ends the server with `signal`; the recording of it, whatever was lost.
    pub fn end(self, signal: Signal) -> Result<Recording> {
        let pid = fs::read_to_string(self.folder.path().join("pid"))?.trim().parse()?;
        kill_process(Pid::from_raw(pid).ok_or_else(|| anyhow::anyhow!("no process id"))?, signal)?;
        let output = self.dwell.finish()?;
        Recording::in_folder(self.folder, output)
    }
}

pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Puts load on a server: a program that has to succeed.
pub fn load(program: &str, arguments: &[&str]) -> Result<()> {
    let output = Running::start(Command::new(program).args(arguments))?.finish()?;
    ensure!(output.status.success(), "{program}: {}", output.stderr);
    Ok(())
}

/// The sum of `field` over the objects of a type.
fn total(recording: &Recording, of_type: &str, field: &str) -> Result<f64> {
    let waits = recording.rows(&["waits", "--include-idle"])?;
    waits.iter().filter(|row| is_type(row, of_type)).map(|row| number(row, field)).sum()
}

/// At least `least` waits on objects of a type.
fn expect_waits(recording: &Recording, of_type: &str, least: f64) -> Result<()> {
    let count = total(recording, of_type, "wait_count")?;
    ensure!(count >= least, "{count} waits on objects of type {of_type}, expected at least {least}");
    Ok(())
}

fn thread_names(recording: &Recording) -> Result<Vec<String>> {
    Ok(recording.rows(&["threads"])?.iter().map(|row| text(row, "name").to_owned()).collect())
}

/// Most of the wait time has a stack that ends in the thread's entry, not in a gap.
fn expect_stacks(recording: &Recording) -> Result<()> {
    let waits = recording.rows(&["waits", "--include-idle", "--call-stack-mode", "all"])?;
    let sum = |rows: &mut dyn Iterator<Item = &Value>| rows.map(|row| number(row, "wait_ns")).sum::<Result<f64>>();
    let whole = sum(&mut waits.iter())?;
    let with = sum(&mut waits.iter().filter(|row| row["top_stack"].as_array().is_some_and(|it| it.len() > 2)))?;
    ensure!(with >= 0.9 * whole, "{with} of {whole} ns of waiting have a stack");
    Ok(())
}

fn redis() -> Result<()> {
    needs_recording()?;
    let (server, benchmark) = (needs_program("redis-server")?, needs_program("redis-benchmark")?);
    let (folder, port) = (TempDir::new()?, free_port()?);
    let (place, port_text) = (folder.path().display().to_string(), port.to_string());
    let pid = format!("{place}/pid");
    let options = ["--port", &port_text, "--bind", "127.0.0.1", "--dir", &place, "--save", "", "--pidfile", &pid];
    let program: Vec<&str> = [server.as_str()].into_iter().chain(options).collect();
    let server = Server::launch(folder, port, &program)?;
    load(&benchmark, &["-p", &port_text, "-t", "set,get", "-n", "20000", "-c", "20", "-q"])?;
    let recording = server.stop(Signal::TERM)?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    let names = thread_names(&recording)?;
    for name in ["redis-server", "bio_close_file", "bio_aof", "bio_lazy_free"] {
        let there = names.iter().any(|it| it.starts_with(name));
        ensure!(there, "thread {name} is missing: {names:?}");
    }
    expect_waits(&recording, "event", 20.0)?;
    expect_waits(&recording, "condition-variable", 3.0)?;
    expect_stacks(&recording)
}

fn nginx() -> Result<()> {
    needs_recording()?;
    let (server, wrk) = (needs_program("nginx")?, needs_program("wrk")?);
    let (folder, port) = (TempDir::new()?, free_port()?);
    let place = folder.path().display().to_string();
    let configuration = format!(
        "daemon off; worker_processes 2; pid {place}/nginx.pid; error_log {place}/error.log; user root;\n\
         events {{ worker_connections 128; }}\n\
         http {{ access_log off; client_body_temp_path {place}/1; proxy_temp_path {place}/2; fastcgi_temp_path {place}/3;\n\
         uwsgi_temp_path {place}/4; scgi_temp_path {place}/5;\n\
         server {{ listen 127.0.0.1:{port}; location / {{ return 200 'hello'; }} }} }}\n"
    );
    let file = folder.path().join("nginx.conf");
    fs::write(&file, configuration)?;
    let file = file.display().to_string();
    let server = Server::start(folder, port, &[&server, "-p", &place, "-c", &file])?;
    load(&wrk, &["-t", "1", "-c", "8", "-d", "1s", &format!("http://127.0.0.1:{port}/")])?;
    let recording = server.stop(Signal::QUIT)?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    let processes = number(&recording.report(&["summary"])?, "processes")?;
    ensure!(processes == 3.0, "{processes} processes, expected a master and two workers");
    expect_waits(&recording, "event", 20.0)?;
    expect_waits(&recording, "signal", 1.0)
}

fn memcached() -> Result<()> {
    needs_recording()?;
    let server = needs_program("memcached")?;
    let (folder, port) = (TempDir::new()?, free_port()?);
    let port_text = port.to_string();
    let options = ["-l", "127.0.0.1", "-p", &port_text, "-U", "0", "-t", "2", "-u", "root"];
    let program: Vec<&str> = [server.as_str()].into_iter().chain(options).collect();
    let server = Server::start(folder, port, &program)?;
    let mut client = TcpStream::connect(("127.0.0.1", port))?;
    client.set_nodelay(true)?;
    let mut answer = [0; 64];
    for i in 0..2_000 {
        write!(client, "set key{} 0 0 5\r\nvalue\r\n", i % 50)?;
        ensure!(client.read(&mut answer)? > 0, "memcached hung up");
    }
    let recording = server.stop(Signal::TERM)?;
    let names = thread_names(&recording)?;
    ensure!(names.len() >= 4, "threads are missing: {names:?}");
    expect_waits(&recording, "event", 500.0)?;
    expect_waits(&recording, "condition-variable", 1.0)
}

/// Text that compresses neither too well nor too badly.
fn write_text(path: &Path, megabytes: usize) -> Result<()> {
    let mut state = 1u32;
    let mut word = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        format!("{:x} ", state >> 17)
    };
    let mut bytes = Vec::with_capacity(megabytes << 20);
    while bytes.len() < megabytes << 20 {
        bytes.extend_from_slice(word().as_bytes());
    }
    Ok(fs::write(path, bytes)?)
}

/// Compresses with two threads; both run at once, and somebody waits for them.
fn compress(program: &str, options: &str, megabytes: usize) -> Result<Recording> {
    needs_recording()?;
    let program = needs_program(program)?;
    let folder = TempDir::new()?;
    let file = folder.path().join("text");
    write_text(&file, megabytes)?;
    let script = format!("exec {program} {options} -c {} > /dev/null", file.display());
    let recording = Recording::of(&[], &["sh", "-c", &script])?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    conservation::check(&recording, None)?;
    let threads = thread_names(&recording)?;
    ensure!(threads.len() >= 3, "threads are missing: {threads:?}");
    expect_waits(&recording, "condition-variable", 2.0)?;
    expect_stacks(&recording)?;
    Ok(recording)
}

fn pigz() -> Result<()> {
    compress("pigz", "-p 2", 12).map(drop)
}

fn xz() -> Result<()> {
    compress("xz", "-T 2 -0 --block-size=1MiB", 8).map(drop)
}

const GIL_BOUND: &str = "
import threading
def work():
    n = 0
    for i in range(3_000_000): n += i
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
";

/// Python's threads take turns: they wait for the interpreter's lock, which is named as such.
fn python() -> Result<()> {
    let python =
        if Path::new("/usr/bin/python3").is_file() { "/usr/bin/python3".into() } else { needs_program("python3")? };
    let recording = Recording::of(&[], &[&python, "-c", GIL_BOUND])?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    conservation::check(&recording, None)?;
    ensure!(thread_names(&recording)?.len() == 4, "threads are missing");
    expect_waits(&recording, "gil", 10.0)?;
    let waited = total(&recording, "gil", "wait_ns")?;
    let running = number(&recording.report(&["summary"])?, "cpu_ns")?;
    ensure!(waited > 0.5 * running, "three threads waited {waited} ns for the GIL while {running} ns were run");
    Ok(())
}
