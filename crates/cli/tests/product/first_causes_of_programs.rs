//! What `explain` tells first where several programs wait for one another: what a child writes, an answer that is waited for in parts,
//! a lock that somebody without work keeps.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::first_causes::{attached, compiled, expect_first, of_java};
use crate::harness::Case;
use crate::python::some_interpreter;
use crate::recording::{Recording, needs_program, needs_recording, number, text};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("first_causes::output_of_a_child", output_of_a_child),
        Case::new("first_causes::targets_in_turn", targets_in_turn),
        Case::new("first_causes::answer_in_intervals", answer_in_intervals),
        Case::new("first_causes::idle_lock_holder", idle_lock_holder),
        Case::new("first_causes::pool_of_connections", pool_of_connections),
        Case::new("first_causes::server_without_a_pause", server_without_a_pause),
        Case::new("first_causes::starved_holder", starved_holder),
        Case::new("first_causes::lock_file", lock_file),
        Case::new("first_causes::affinity", affinity),
        Case::new("first_causes::java_heap", java_heap),
    ]
}

/// Scripts of Python, by their files' names, and the shell's command that runs them: `$PYTHON` is an interpreter, `$FOLDER` theirs.
fn of_scripts(scripts: &[(&str, &str)], command: &str) -> Result<Recording> {
    needs_recording()?;
    let (folder, python) = (TempDir::new()?, some_interpreter()?);
    for (file, script) in scripts {
        fs::write(folder.path().join(file), script)?;
    }
    let variables = format!("PYTHON={}; FOLDER={}; ", python.display(), folder.path().display());
    Recording::of(&[], &["sh", "-c", &(variables + command)])
}

const PROBES: &str = "
import subprocess
def probe_host():
    subprocess.run(['sh', '-c', 'sleep 0.4; echo up'], capture_output=True)
for _ in range(5):
    probe_host()
";

/// A shell runs a program that runs shells, and reads both of their outputs: that it waits for a pipe is no idle time of an event loop.
fn output_of_a_child() -> Result<()> {
    let recording = of_scripts(&[("probes.py", PROBES)], "$PYTHON $FOLDER/probes.py; true")?;
    expect_first(&recording, "slept", 1.8, &["probe_host (probes.py:4)", "poll {pipe}"])
}

/// A runner could have started them at once; what stands for work here is no pace.
fn targets_in_turn() -> Result<()> {
    needs_recording()?;
    let (folder, make) = (TempDir::new()?, needs_program("make")?);
    let targets = "all: a b c d e\na b c d e:\n\t@sleep 0.4; true\n";
    fs::write(folder.path().join("Makefile"), targets)?;
    let recording = Recording::of(&[], &[&make, "-C", &folder.path().display().to_string()])?;
    expect_first(&recording, "slept", 1.8, &["5 such processes, one after another", "make -j"])
}

const PRICES: &str = "
import socket, sys, time
def price_option(): time.sleep(0.55)
listener = socket.create_server(('127.0.0.1', 0))
open(sys.argv[1], 'w').write(str(listener.getsockname()[1]))
connection = listener.accept()[0]
while connection.recv(1):
    price_option()
    connection.send(b'1')
";

const BOOK: &str = "
import os, select, socket, sys, time
while not (os.path.exists(sys.argv[1]) and open(sys.argv[1]).read()): time.sleep(0.01)
connection = socket.create_connection(('127.0.0.1', int(open(sys.argv[1]).read())))
connection.setblocking(False)
answers = select.poll()
answers.register(connection, select.POLLIN)
def ask():
    connection.send(b'?')
    while not answers.poll(100): pass
    connection.recv(1)
for _ in range(4):
    ask()
";

/// Whoever looks each 100 ms whether a signal came waits for the answer all the same, and nobody failed to give it in time.
fn answer_in_intervals() -> Result<()> {
    let scripts = [("prices.py", PRICES), ("book.py", BOOK)];
    let command = "$PYTHON $FOLDER/prices.py $FOLDER/port & $PYTHON $FOLDER/book.py $FOLDER/port; wait";
    let recording = of_scripts(&scripts, command)?;
    expect_first(&recording, "slept", 2.0, &["price_option (prices.py:3)", "ask (book.py:1"])?;
    let rows = recording.rows(&["explain"])?;
    let late = rows.iter().find(|row| text(row, "kind") == "timed-out" && number(row, "wait_ns").unwrap_or(0.0) > 1e8);
    ensure!(late.is_none(), "an answer is said to be late: {late:?}");
    Ok(())
}

const KEEPER: &str = "
import fcntl, sys
lock = open(sys.argv[1], 'w')
fcntl.flock(lock, fcntl.LOCK_EX)
open(sys.argv[1] + '.taken', 'w')
sys.stdin.read()
";

const NEEDER: &str = "
import fcntl, os, sys, time
while not os.path.exists(sys.argv[1] + '.taken'): time.sleep(0.01)
def save_order():
    fcntl.flock(open(sys.argv[1], 'w'), fcntl.LOCK_EX)
save_order()
";

/// Who holds a lock and waits for whoever types at its terminal is not without work: others need the lock.
fn idle_lock_holder() -> Result<()> {
    let scripts = [("keeper.py", KEEPER), ("needer.py", NEEDER)];
    let command = "sleep 2 | $PYTHON $FOLDER/keeper.py $FOLDER/orders & $PYTHON $FOLDER/needer.py $FOLDER/orders; wait";
    let recording = of_scripts(&scripts, command)?;
    expect_first(&recording, "slept", 1.5, &["file lock", "save_order (needer.py:5)"])
}

const ORDERS: &str = "
import threading, time
class ConnectionPool:
    def __init__(self):
        self.returned, self.free = threading.Condition(), ['connection']
    def checkout(self):
        with self.returned:
            while not self.free: self.returned.wait(20)
            return self.free.pop()
    def give_back(self, connection):
        with self.returned:
            self.free.append(connection)
            self.returned.notify()
pool = ConnectionPool()
def send_mail(): time.sleep(0.4)
def place_order():
    connection = pool.checkout()
    send_mail()
    pool.give_back(connection)
orders = [threading.Thread(target=place_order) for _ in range(5)]
for order in orders: order.start()
for order in orders: order.join()
";

/// Whoever takes from a pool that is used up is no idle worker, though each takes once, with a time-out, and others of its role end its
/// wait.
fn pool_of_connections() -> Result<()> {
    let recording = of_scripts(&[("orders.py", ORDERS)], "exec $PYTHON $FOLDER/orders.py")?;
    expect_first(
        &recording,
        "slept",
        3.2,
        &["send_mail (orders.py:1", "Connection pool in ConnectionPool.checkout", "is used up"],
    )
}

const SHOP: &str = "
import asyncio, os, socket, threading, time
def fetch_stock(): time.sleep(0.2)
async def answer(reader, writer):
    while await reader.readexactly(1):
        fetch_stock()
        writer.write(b'1')
def ask(port):
    connection = socket.create_connection(('127.0.0.1', port))
    while connection.send(b'?'): connection.recv(1)
async def serve(listener):
    server = await asyncio.start_server(answer, sock=listener)
    await server.serve_forever()
listener = socket.create_server(('127.0.0.1', 0))
port = listener.getsockname()[1]
child = os.fork()
if child == 0:
    if os.fork() == 0:
        listener.close()
        for _ in range(3): threading.Thread(target=ask, args=(port,)).start()
else:
    os.waitpid(child, 0)
    asyncio.run(serve(listener))
";

/// A loop that always has the next request never waits for one: nobody is seen to ask it. Its clients are no children of its.
fn server_without_a_pause() -> Result<()> {
    needs_recording()?;
    let python = some_interpreter()?;
    let recording = attached(Command::new(python).args(["-c", SHOP]))?;
    expect_first(&recording, "slept", 1.6, &["fetch_stock", "runs an event loop"])
}

const STARVED: &str = "
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t config_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_over;
static double cpu_seconds(void) {
    struct timespec now; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}
static void *rewrite(void *unused) {
    setpriority(PRIO_PROCESS, syscall(SYS_gettid), 12);
    pthread_mutex_lock(&config_lock);
    while (cpu_seconds() < 0.06) {}
    pthread_mutex_unlock(&config_lock);
    return unused;
}
static void *compute(void *unused) { while (!is_over) {} return unused; }
static void read_config(void) { pthread_mutex_lock(&config_lock); pthread_mutex_unlock(&config_lock); }
int main(void) {
    pthread_t low, busy[3];
    pthread_create(&low, 0, rewrite, 0);
    usleep(20000);
    for (int i = 0; i < 3; i++) pthread_create(&busy[i], 0, compute, 0);
    read_config();
    is_over = 1;
    for (int i = 0; i < 3; i++) pthread_join(busy[i], 0);
    return 0;
}
";

/// A holder of low priority beside threads that compute has no CPU: the lock is the cause, not that there are more threads than CPUs.
fn starved_holder() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let app = compiled("gcc", &["-g", "-O1", "-pthread"], "starved.c", STARVED, folder.path())?;
    let recording = Recording::of(&[], &["taskset", "-c", "0", &app])?;
    expect_first(&recording, "run-queue", 0.5, &["mutex config_lock", "read_config (starved.c:", "a higher priority"])
}

const MIGRATIONS: &str = "
import os, sys, time
def migrate_schema(): time.sleep(1.5)
def take(path):
    while True:
        try: return os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError: time.sleep(0.05)
take(sys.argv[1])
child = os.fork()
if child == 0:
    take(sys.argv[1])
    time.sleep(0.3)
else:
    migrate_schema()
    os.unlink(sys.argv[1])
    os.wait()
";

/// Whoever has a lock file sleeps, and another one looks each 50 ms whether it is gone: nobody wakes it.
fn lock_file() -> Result<()> {
    let recording = of_scripts(&[("migrate.py", MIGRATIONS)], "exec $PYTHON $FOLDER/migrate.py $FOLDER/lock")?;
    expect_first(&recording, "slept", 1.2, &["migrate_schema (migrate.py:3)", "take (migrate.py:7)", "a lock file"])
}

const PINNED: &str = "
#include <pthread.h>
#include <sched.h>
static void *render_tile(void *unused) {
    cpu_set_t one; CPU_ZERO(&one); CPU_SET(0, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    for (volatile long i = 0; i < 1500000000; i++) {}
    return unused;
}
int main(void) {
    pthread_t tiles[4];
    for (int i = 0; i < 4; i++) pthread_create(&tiles[i], 0, render_tile, 0);
    for (int i = 0; i < 4; i++) pthread_join(tiles[i], 0);
    return 0;
}
";

/// Threads that bind themselves to one CPU are not too many for the machine.
fn affinity() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let app = compiled("gcc", &["-D_GNU_SOURCE", "-g", "-O1", "-pthread"], "pinned.c", PINNED, folder.path())?;
    let recording = Recording::of(&[], &["taskset", "-c", "0,1", &app])?;
    expect_first(&recording, "oversubscription", 2.0, &["kept to 1 of 2 CPUs", "render_tile", "an affinity"])
}

const HEAP: &str = "
class Heap {
    public static void main(String[] arguments) {
        byte[][] cache = new byte[42000][];
        for (int i = 0; i < cache.length; i++) cache[i] = new byte[1024];
        long end = System.currentTimeMillis() + 2500;
        for (int i = 0; System.currentTimeMillis() < end; i++) {
            byte[] row = new byte[1024];
            if (i % 3 == 0) cache[i % cache.length] = row;
        }
    }
}
";

/// A heap that is nearly full: the thread that allocates stands still while HotSpot's only collector looks through all of it.
fn java_heap() -> Result<()> {
    let recording = of_java("Heap", HEAP, &["-XX:+UseSerialGC", "-Xmx64m"])?;
    let rows = recording.rows(&["explain"])?;
    // Beside other programs the collector waits for a CPU as well.
    let first =
        rows.iter().find(|row| !["run-queue", "cpus-taken"].contains(&text(row, "kind"))).context("no cause")?;
    ensure!(text(first, "kind") == "garbage-collection" && number(first, "wait_ns")? >= 5e8, "{first}");
    ensure!(first.to_string().contains("JVM safepoint"), "who waits is not told: {first}");
    Ok(())
}
