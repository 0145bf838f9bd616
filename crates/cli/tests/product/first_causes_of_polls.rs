//! What `explain` tells where a thread looks again and again for what another one does: that one. And Ruby's locks, whose threads all wait on
//! a condition variable of their own.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::first_causes::{expect_first, of_java};
use crate::first_causes_of_loops::slow_server;
use crate::harness::Case;
use crate::python::some_interpreter;
use crate::recording::{Recording, needs_program, needs_recording, number, text};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("first_causes::looks_for_a_file", looks_for_a_file),
        Case::new("first_causes::looks_for_a_worker", looks_for_a_worker),
        Case::new("first_causes::looks_for_a_transaction", looks_for_a_transaction),
        Case::new("first_causes::paced_by_itself", paced_by_itself),
        Case::new("first_causes::collections_asked_for", collections_asked_for),
        Case::new("first_causes::ruby_mutex", ruby_mutex),
        Case::new("first_causes::ruby_threads", ruby_threads),
    ]
}

/// What is recorded of a script that this program runs.
fn of_script(program: &str, file: &str, script: &str) -> Result<Recording> {
    let folder = TempDir::new()?;
    let path = folder.path().join(file);
    fs::write(&path, script)?;
    Recording::of(&[], &[program, &path.display().to_string()])
}

fn of_python(file: &str, script: &str) -> Result<Recording> {
    needs_recording()?;
    of_script(&some_interpreter()?.display().to_string(), file, script)
}

/// The shell sleeps in a program for each look.
fn looks_for_a_file() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let file = folder.path().join("done").display().to_string();
    let script = format!("(sleep 1.6; touch {file}) & until [ -f {file} ]; do sleep 0.1; done");
    let recording = Recording::of(&[], &["sh", "-c", &script])?;
    expect_first(&recording, "slept", 1.3, &["sleep 1.6"])
}

const WORKER: &str = "
import subprocess, sys, time
digest = 'import time\\nend = time.process_time() + 1.2\\nwhile time.process_time() < end: sum(range(5000))'
worker = subprocess.Popen([sys.executable, '-c', digest])
while worker.poll() is None: time.sleep(0.02)
";

fn looks_for_a_worker() -> Result<()> {
    expect_first(&of_python("app.py", WORKER)?, "running", 0.3, &["(<string>:3)"])
}

const TRANSACTIONS: &str = "
import os, socket, sqlite3, sys
file = os.path.join(os.path.dirname(__file__), 'orders.db')
def fetch_price(connection):
    connection.sendall(b'price\\n')
    return connection.recv(100)
def book(connection, database):
    for _ in range(6):
        database.execute('begin immediate')
        for _ in range(5): fetch_price(connection)
        database.execute('insert into orders values (1)')
        database.execute('commit')
sqlite3.connect(file).execute('create table orders (id)')
children = []
for _ in range(3):
    children.append(os.fork())
    if children[-1] == 0:
        connection = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
        book(connection, sqlite3.connect(file, timeout=20, isolation_level=None))
        os._exit(0)
for child in children: os.waitpid(child, 0)
";

/// Nobody is seen to hold what the others sleep for; who asks a server within its transaction does.
fn looks_for_a_transaction() -> Result<()> {
    needs_recording()?;
    let (folder, python, port) = (TempDir::new()?, some_interpreter()?, slow_server()?.to_string());
    let script = folder.path().join("orders.py");
    fs::write(&script, TRANSACTIONS)?;
    let recording = Recording::of(&[], &[&python.display().to_string(), &script.display().to_string(), &port])?;
    expect_first(&recording, "outside", 2.0, &["fetch_price (orders.py:", "look again and again for the lock"])
}

const PACED: &str = "
import threading, time
def tick():
    while True:
        sum(range(20000)); time.sleep(0.007)
threading.Thread(target=tick, daemon=True).start()
def emit():
    for _ in range(30): time.sleep(0.05)
emit()
";

/// Somebody else who does things meanwhile is not what it sleeps for.
fn paced_by_itself() -> Result<()> {
    expect_first(&of_python("app.py", PACED)?, "slept", 1.2, &["emit (app.py:"])
}

const COLLECTS: &str = "
public class App {
    static Object[] kept = new Object[400000];
    static void refresh() { System.gc(); }
    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < kept.length; i++) kept[i] = new int[4];
        for (int i = 0; i < 40; i++) refresh();
    }
}
";

fn collections_asked_for() -> Result<()> {
    let recording = of_java("App", COLLECTS, &[])?;
    expect_first(&recording, "garbage-collection", 0.3, &["asks for these collections", "App.refresh"])
}

const MUTEX: &str = "
LOCK = Mutex.new
def price = LOCK.synchronize { sleep 0.02 }
6.times.map { Thread.new { 12.times { price } } }.each(&:join)
";

fn ruby_mutex() -> Result<()> {
    needs_recording()?;
    let recording = of_script(&needs_program("ruby")?, "app.rb", MUTEX)?;
    expect_first(&recording, "slept", 4.0, &["price (app.rb:3)", "Mutex in price"])
}

const THREADS: &str = "
def digest
  250.times { 12_000.times.sum { |i| i ^ 7 } }
end
4.times.map { Thread.new { digest } }.each(&:join)
";

fn ruby_threads() -> Result<()> {
    needs_recording()?;
    let recording = of_script(&needs_program("ruby")?, "app.rb", THREADS)?;
    // Which of the threads that hand it to one another had it is not always seen: then they waited in a circle.
    let causes = recording.rows(&["explain"])?;
    let told = |row: &&Value| text(row, "kind") == "running" && row.to_string().contains("waited for GIL");
    let ran_ns = causes.iter().filter(told).map(|row| number(row, "wait_ns")).sum::<Result<f64>>()?;
    ensure!(ran_ns > 1e8, "threads that ran explain {ran_ns} ns of waits for the lock: {causes:?}");
    Ok(())
}
