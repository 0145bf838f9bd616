//! Servers under the load of a client: Redis, memcached, nginx, haproxy and MariaDB.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::{Measured, Planted, Program, Recorded, needs_file};
use crate::event_loops::{redis, repeat};
use crate::real_programs::{Server, free_port, load};
use crate::recording::{Recording, Running, needs_program, number, text, wait_for};

pub const PROGRAMS: &[Program] = &[
    Program { name: "redis", planted: "", cause: None, may_tell: &[], quick: false, record: redis_load },
    Program {
        name: "redis_slow_command",
        planted: "each 100 ms a script counts",
        cause: Some(Planted::Finding("event-loop-blocked", "redis-server")),
        may_tell: &[],
        quick: false,
        record: redis_script,
    },
    Program {
        name: "redis_io_threads",
        planted: "four I/O threads poll for work that one could do",
        cause: Some(Planted::Finding("spinning", "IOThread")),
        // The loop stands still until they are done.
        may_tell: &["fine-grained-waits", "event-loop-blocked"],
        quick: false,
        record: redis_threads,
    },
    // Its thread that keeps the items in order sleeps and looks, as long as it lives.
    Program { name: "memcached", planted: "", cause: None, may_tell: &[], quick: false, record: memcached },
    Program { name: "nginx", planted: "", cause: None, may_tell: &[], quick: false, record: || web("nginx") },
    Program { name: "haproxy", planted: "", cause: None, may_tell: &[], quick: false, record: || web("haproxy") },
    Program {
        name: "mariadb_row_lock",
        planted: "six clients update one row",
        cause: Some(Planted::Cause("slept", "Item_func_sleep")),
        may_tell: &[],
        quick: false,
        record: mariadb,
    },
];

fn benchmark(port: u16, questions: &str) -> Result<()> {
    let program = needs_program("redis-benchmark")?;
    load(&program, &["-p", &port.to_string(), "-n", questions, "-q", "-t", "get,set"])
}

fn redis_load() -> Result<Recorded> {
    needs_program("redis-benchmark")?;
    Ok(redis(&[], |port| benchmark(port, "20000"))?.into())
}

/// How much CPU time the scripts took, Redis measures.
fn redis_script() -> Result<Recorded> {
    let took = std::cell::Cell::new(0.0);
    let counts = "EVAL \"local n = 0; for i = 1, 20000000 do n = n + i end; return 1\" 0";
    let recording = redis(&[], |port| {
        let before = cpu_seconds(port)?;
        repeat(port, counts)?;
        took.set(cpu_seconds(port)? - before);
        Ok(())
    })?;
    let found = recording.findings()?;
    let of_loop = |row: &&Value| text(row, "id") == "event-loop-blocked";
    let dwell = found.iter().filter(of_loop).map(|row| number(row, "cost_ns")).sum::<Result<f64>>()? / 1e9;
    let measured = Measured { what: "CPU seconds of scripts", dwell, truth: took.get(), within: 0.7..1.2 };
    Ok(Recorded { recording, measured: Some(measured) })
}

/// CPU time of the server's main thread so far, by `INFO cpu`.
fn cpu_seconds(port: u16) -> Result<f64> {
    let mut client = TcpStream::connect(("127.0.0.1", port))?;
    client.write_all(b"INFO cpu\r\n")?;
    let mut lines = BufReader::new(client).lines().map_while(Result::ok).take(20);
    let seconds = lines.find_map(|line| Some(line.strip_prefix("used_cpu_user_main_thread:")?.trim().to_owned()));
    Ok(seconds.context("no statistics of the CPU time")?.parse()?)
}

fn redis_threads() -> Result<Recorded> {
    needs_program("redis-benchmark")?;
    Ok(redis(&["--io-threads", "4", "--io-threads-do-reads", "yes"], |port| benchmark(port, "3000"))?.into())
}

/// One client asks one question after the other.
fn memcached() -> Result<Recorded> {
    let (folder, program, port) = (TempDir::new()?, needs_program("memcached")?, free_port()?);
    let place = folder.path().join("pid").display().to_string();
    let words = [&program, "-u", "root", "-l", "127.0.0.1", "-p", &port.to_string(), "-t", "4", "-P", &place];
    let server = Server::launch(folder, port, &words.map(|word| word))?;
    let mut client = TcpStream::connect(("127.0.0.1", port))?;
    let mut answers = BufReader::new(client.try_clone()?);
    for number in 0..8000 {
        client.write_all(format!("set key{} 0 0 5\r\nhello\r\n", number % 50).as_bytes())?;
        let mut answer = String::new();
        answers.read_line(&mut answer)?;
        ensure!(answer.starts_with("STORED"), "{answer}");
    }
    Ok(server.end(Signal::TERM)?.into())
}

/// nginx with two workers, and for haproxy that in front of it.
fn web(which: &str) -> Result<Recorded> {
    let (nginx, wrk, which) = (needs_program("nginx")?, needs_program("wrk")?, needs_program(which)?);
    let (folder, port) = (TempDir::new()?, free_port()?);
    let place = folder.path().display().to_string();
    let file = folder.path().join("nginx.conf");
    let pages = format!(
        "daemon off; worker_processes 2; pid {place}/nginx.pid; error_log {place}/error.log; user root;\n\
         events {{ worker_connections 128; }}\n\
         http {{ access_log off; client_body_temp_path {place}/1; proxy_temp_path {place}/2; fastcgi_temp_path {place}/3;\n\
         uwsgi_temp_path {place}/4; scgi_temp_path {place}/5;\n\
         server {{ listen 127.0.0.1:{port}; location / {{ return 200 'hello'; }} }} }}\n"
    );
    fs::write(&file, pages)?;
    let served = [nginx.as_str(), "-p", &place, "-c", &file.display().to_string()].map(str::to_owned);
    let served: Vec<&str> = served.iter().map(String::as_str).collect();
    let ask = |port: u16| load(&wrk, &["-t", "1", "-c", "8", "-d", "1s", &format!("http://127.0.0.1:{port}/")]);
    if which == nginx {
        let server = Server::start(folder, port, &served)?;
        ask(port)?;
        return Ok(server.end(Signal::QUIT)?.into());
    }
    let behind = Running::start(Command::new(served[0]).args(&served[1..]))?;
    let (front, configuration) = (free_port()?, folder.path().join("haproxy.cfg"));
    let limits = "defaults\n mode http\n timeout connect 1s\n timeout client 5s\n timeout server 5s\n";
    let text = format!(
        "global\n maxconn 200\n{limits}frontend f\n bind 127.0.0.1:{front}\n default_backend b\nbackend b\n server s 127.0.0.1:{port}\n"
    );
    fs::write(&configuration, text)?;
    // The first start on a machine waits for the disk that has the system's certificates: that is true, and not what is judged.
    load(&which, &["-c", "-f", &configuration.display().to_string()])?;
    let server = Server::start(TempDir::new()?, front, &[&which, "-f", &configuration.display().to_string()])?;
    ask(front)?;
    let recording = server.end(Signal::TERM)?;
    behind.signal(Signal::QUIT)?;
    behind.finish()?;
    Ok(recording.into())
}

/// How long its clients waited for the row, InnoDB measures.
fn mariadb() -> Result<Recorded> {
    let (server, client) = (needs_program("mariadbd")?, needs_program("mariadb")?);
    needs_file("/usr/bin/mariadb-install-db")?;
    let (folder, port) = (TempDir::new()?, free_port()?);
    let data = folder.path().join("data").display().to_string();
    let place = format!("--datadir={data}");
    load("mariadb-install-db", &["--no-defaults", "--user=root", &place, "--auth-root-authentication-method=normal"])?;
    let (socket, pid) = (format!("--socket={data}/socket"), format!("--pid-file={}/pid", folder.path().display()));
    let port_text = format!("--port={port}");
    let words = [
        &server,
        "--no-defaults",
        "--user=root",
        &place,
        &port_text,
        "--bind-address=127.0.0.1",
        &socket,
        &pid,
        "--skip-grant-tables",
        "--skip-networking=0",
    ];
    let running = Server::launch(folder, port, &words)?;
    let ask = |query: &str| {
        let mut command = Command::new(&client);
        command.args(["--no-defaults", "-h127.0.0.1", "-uroot", "-N", "-e", query]).arg(format!("-P{port}"));
        command
    };
    wait_for("MariaDB to answer", || {
        Running::start(&mut ask("select 1")).ok()?.finish().ok().filter(|output| output.status.success())
    })?;
    let table = "create database t; create table t.stock(id int primary key, n int) engine=innodb; insert into t.stock values(1, 0)";
    Running::start(&mut ask(table))?.finish()?;
    let order = "begin; update t.stock set n = n + 1 where id = 1; do sleep(0.005); commit;".repeat(40);
    let clients: Vec<Running> = (0..6).map(|_| Running::start(&mut ask(&order))).collect::<Result<_>>()?;
    for client in clients {
        ensure!(client.finish()?.status.success(), "a client failed");
    }
    let status = Running::start(&mut ask("show status like 'Innodb_row_lock_time'"))?.finish()?.stdout;
    let truth: f64 = status.split_whitespace().last().context("no statistics")?.parse()?;
    let recording: Recording = running.end(Signal::TERM)?;
    // Each waiter has a condition variable of its own, at one place: whatever they wait because of.
    let causes = recording.rows(&["explain"])?;
    let of_row = |row: &&Value| {
        row["chain"][0].as_str().is_some_and(|wait| wait.contains("waited for a condition variable at [mariadbd]"))
    };
    let dwell = causes.iter().filter(of_row).map(|row| number(row, "wait_ns")).sum::<Result<f64>>()? / 1e9;
    let measured = Measured { what: "seconds of waits for the row", dwell, truth: truth / 1e3, within: 0.7..1.2 };
    Ok(Recorded { recording, measured: Some(measured) })
}
