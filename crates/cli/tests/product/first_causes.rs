//! What `explain` tells first of programs with one known fault: deadlocks, threads that begin with different closures, barriers,
//! timers of an event loop.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::harness::Case;
use crate::python::some_interpreter;
use crate::recording::{Recording, Running, collect, needs_program, needs_recording, number, text};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("first_causes::deadlock", deadlock),
        Case::new("first_causes::java_deadlock", java_deadlock),
        Case::new("first_causes::lambdas", lambdas),
        Case::new("first_causes::rust_closures", rust_closures),
        Case::new("first_causes::java_barrier", java_barrier),
        Case::new("first_causes::node_timers", node_timers),
        Case::new("first_causes::attached_pool", attached_pool),
        Case::new("first_causes::stopped", stopped),
        Case::new("first_causes::computing", computing),
    ]
}

/// The first cause is of this kind, explains `seconds` of waits at least (where it is anybody's wait), and names all of these.
pub fn expect_first(recording: &Recording, kind: &str, seconds: f64, named: &[&str]) -> Result<()> {
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    let rows = recording.rows(&["explain"])?;
    // Who else runs on the machine is no fault of the program's.
    let first = rows.iter().find(|row| text(row, "kind") != "cpus-taken").context("no cause")?;
    let told = first.to_string();
    ensure!(text(first, "kind") == kind, "the kind is not {kind}: {told}");
    let of_others = ["path_ns", "served_ns"].into_iter().filter_map(|column| first[column].as_f64());
    let told_s = of_others.fold(number(first, "wait_ns")?, f64::max) / 1e9;
    ensure!(told_s >= seconds, "it explains less than {seconds} s: {told}");
    let missing = named.iter().find(|words| !told.contains(**words));
    ensure!(missing.is_none(), "{missing:?} is not told: {told}");
    Ok(())
}

/// A program of one file, compiled by `compiler` with these options.
pub fn compiled(compiler: &str, options: &[&str], file: &str, source: &str, folder: &Path) -> Result<String> {
    let compiler = needs_program(compiler)?;
    let (source_file, app) = (folder.join(file), folder.join("app"));
    fs::write(&source_file, source)?;
    let status = Command::new(compiler).args(options).arg("-o").arg(&app).arg(&source_file).status()?;
    ensure!(status.success(), "{file} does not compile");
    Ok(app.display().to_string())
}

/// What is recorded of a program of one class of Java, with these options of the virtual machine.
pub fn of_java(class: &str, source: &str, options: &[&str]) -> Result<Recording> {
    let (folder, compiler, java) = (TempDir::new()?, needs_program("javac")?, needs_program("java")?);
    let file = folder.path().join(format!("{class}.java"));
    fs::write(&file, source)?;
    let place = folder.path().display().to_string();
    ensure!(Command::new(compiler).args(["-d", &place]).arg(&file).status()?.success(), "it does not compile");
    let command: Vec<&str> =
        [java.as_str()].into_iter().chain(options.iter().copied()).chain(["-cp", &place, class]).collect();
    Recording::of(&[], &command)
}

const DEADLOCK: &str = "
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER, ledger = PTHREAD_MUTEX_INITIALIZER;
static void *post_entry(void *unused) {
    pthread_mutex_lock(&accounts); usleep(50000); pthread_mutex_lock(&ledger); return unused;
}
static void *close_day(void *unused) {
    pthread_mutex_lock(&ledger); usleep(50000); pthread_mutex_lock(&accounts); return unused;
}
int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, post_entry, 0);
    pthread_create(&threads[1], 0, close_day, 0);
    sleep(2);
}
";

/// Two threads take two locks in opposite order, and the program ends without them.
fn deadlock() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let app = compiled("cc", &["-g", "-O1", "-pthread"], "bank.c", DEADLOCK, folder.path())?;
    let recording = Recording::of(&[], &[&app])?;
    expect_first(&recording, "circle", 3.0, &["Deadlock: 2 threads", "mutex ledger", "mutex accounts", "in one order"])
}

const JAVA_DEADLOCK: &str = "
public class Bank {
    static final Object accounts = new Object(), ledger = new Object();
    static void transfer(Object first, Object second) {
        synchronized (first) {
            try { Thread.sleep(100); } catch (InterruptedException e) { return; }
            synchronized (second) { System.out.println(1); }
        }
    }
    public static void main(String[] arguments) throws Exception {
        Thread one = new Thread(() -> transfer(accounts, ledger)), other = new Thread(() -> transfer(ledger, accounts));
        one.setDaemon(true); other.setDaemon(true);
        one.start(); other.start();
        one.join(2500);
    }
}
";

/// The JVM looks again from time to time whether it can have the monitor: these are no time-outs of the program.
fn java_deadlock() -> Result<()> {
    needs_recording()?;
    let recording = of_java("Bank", JAVA_DEADLOCK, &[])?;
    expect_first(&recording, "circle", 3.0, &["Deadlock: 2 threads", "java.lang.Object monitor", "Bank.transfer"])
}

const LAMBDAS: &str = "
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>
#include <vector>
#include <unistd.h>
static std::mutex lock; static std::condition_variable there; static std::deque<std::promise<void> *> asked; static bool done;
static void write_record() { usleep(20000); }
int main() {
    std::thread writer([] {
        for (std::unique_lock<std::mutex> hold(lock);;) {
            there.wait(hold, [] { return done || !asked.empty(); });
            if (asked.empty()) return;
            std::promise<void> *answer = asked.front();
            asked.pop_front();
            hold.unlock(); write_record(); answer->set_value(); hold.lock();
        }
    });
    std::vector<std::thread> clients;
    for (int client = 0; client < 4; client++)
        clients.emplace_back([] {
            for (int i = 0; i < 20; i++) {
                std::promise<void> answer;
                { std::lock_guard<std::mutex> hold(lock); asked.push_back(&answer); }
                there.notify_one();
                answer.get_future().get();
            }
        });
    for (auto &client : clients) client.join();
    { std::lock_guard<std::mutex> hold(lock); done = true; }
    there.notify_one();
    writer.join();
}
";

/// All threads begin in lambdas of `main`: clients, and one that serves them.
fn lambdas() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let app = compiled("g++", &["-std=c++17", "-g", "-O1", "-pthread"], "writer.cpp", LAMBDAS, folder.path())?;
    let recording = Recording::of(&[], &[&app])?;
    expect_first(&recording, "slept", 3.0, &["main::{lambda:", "write_record"])
}

const CLOSURES: &str = "
use std::{sync::mpsc, thread, time::Duration};
#[inline(never)]
fn store(number: u64) -> u64 { thread::sleep(Duration::from_millis(20)); number }
fn main() {
    let (sender, receiver) = mpsc::channel::<(u64, mpsc::Sender<u64>)>();
    let server = thread::spawn(move || {
        while let Ok((number, back)) = receiver.recv() {
            let _ = back.send(store(number));
        }
    });
    let clients: Vec<_> = (0..4).map(|_| { let sender = sender.clone(); thread::spawn(move || {
        let (back, answer) = mpsc::channel();
        for number in 0..20 {
            sender.send((number, back.clone())).unwrap();
            answer.recv().unwrap();
        }
    })}).collect();
    drop(sender);
    for client in clients { client.join().unwrap(); }
    server.join().unwrap();
}
";

/// The same with closures of Rust, which no symbol tells apart.
fn rust_closures() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let app = compiled("rustc", &["-g", "-O"], "shop.rs", CLOSURES, folder.path())?;
    let recording = Recording::of(&[], &[&app])?;
    expect_first(&recording, "slept", 3.0, &["(shop.rs:", "store", "add workers"])
}

const BARRIER: &str = "
import java.util.concurrent.CyclicBarrier;
public class Tiles {
    static void load(int tile) throws Exception { Thread.sleep(tile == 2 ? 60 : 3); }
    public static void main(String[] arguments) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(4);
        Thread[] threads = new Thread[4];
        for (int number = 0; number < 4; number++) {
            int tile = number;
            threads[number] = new Thread(() -> {
                try { for (int turn = 0; turn < 30; turn++) { load(tile); barrier.await(); } } catch (Exception e) { }
            }, \"tiler-\" + tile);
            threads[number].start();
        }
        for (Thread thread : threads) thread.join();
    }
}
";

/// Threads that wait for the slowest of them at a barrier do not take turns.
fn java_barrier() -> Result<()> {
    needs_recording()?;
    let recording = of_java("Tiles", BARRIER, &[])?;
    expect_first(&recording, "slept", 3.0, &["Tiles.load", "Share the work"])
}

/// A chain of promises of which each waits for its timer: helper threads of Node's live on to the end, and are not what it waited for.
fn node_timers() -> Result<()> {
    needs_recording()?;
    let node = needs_program("node")?;
    let program = "let last = Promise.resolve(); for (let i = 0; i < 40; i++) last = last.then(() => new Promise(done => setTimeout(done, 50)));";
    let recording = Recording::of(&[], &[&node, "-e", program])?;
    expect_first(&recording, "timed-out", 1.5, &["timer of its own"])
}

/// What is recorded of a program that runs already, in two seconds.
pub fn attached(program: &mut Command) -> Result<Recording> {
    let running = Running::start(program)?;
    std::thread::sleep(Duration::from_millis(500));
    let folder = TempDir::new()?;
    let pid = running.pid().to_string();
    let dwell = Running::start(&mut collect(folder.path(), &["--target-pid", &pid, "--duration", "2"], &[]))?;
    let output = dwell.finish()?;
    running.signal(Signal::KILL)?;
    Recording::in_folder(folder, output)
}

const POOL: &str = "
import asyncio, time
def parse_document(): time.sleep(0.3)
async def main():
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.gather(*[loop.run_in_executor(None, parse_document) for _ in range(40)])
asyncio.run(main())
";

/// Nobody saw who spoke first, but the workers have work all the time, and the loop waits for them.
fn attached_pool() -> Result<()> {
    needs_recording()?;
    let python = some_interpreter()?;
    let recording = attached(Command::new(python).args(["-c", POOL]))?;
    expect_first(&recording, "slept", 1.0, &["parse_document"])
}

/// Who is stopped by a signal is not held up by what the one does who stopped it.
fn stopped() -> Result<()> {
    needs_recording()?;
    let python = some_interpreter()?.display().to_string();
    let script = format!(
        "{python} -c 'import time
while True: print(1, flush=True); time.sleep(0.05)' > >(cat >/dev/null) & worker=$!; sleep 0.3; kill -STOP $worker; sleep 1.5; kill -CONT $worker; sleep 0.2; kill $worker"
    );
    let recording = Recording::of(&[], &["bash", "-c", &script])?;
    let rows = recording.rows(&["explain"])?;
    let told = rows.iter().find(|row| text(row, "kind") == "stopped").with_context(|| format!("{rows:?}"))?;
    ensure!(told.to_string().contains("SIGSTOP from bash"), "{told}");
    Ok(())
}

/// Nobody waits for a thread that computes alone: the program's end does.
fn computing() -> Result<()> {
    let python = some_interpreter()?.display().to_string();
    let program = "def sum_up(n):\n    s = 0\n    for i in range(n): s += i * i\n    return s\nfor _ in range(40): sum_up(400000)";
    let recording = Recording::of(&[], &[&python, "-c", program])?;
    expect_first(&recording, "running", 0.3, &["sum_up (<string>:3)", " of the program's "])
}
