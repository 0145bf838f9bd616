//! What `explain` tells first of programs that hang.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::first_causes::{attached, compiled, expect_first};
use crate::harness::Case;
use crate::python::some_interpreter;
use crate::recording::{Recording, needs_program, needs_recording};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("first_causes::lost_notification", lost_notification),
        Case::new("first_causes::pool_that_waits_for_itself", pool_that_waits_for_itself),
        Case::new("first_causes::count_that_is_never_reached", count_that_is_never_reached),
        Case::new("first_causes::hang_beside_others", hang_beside_others),
    ]
}

/// That the first cause is a wait to the recording's end, and that nothing else of the summary contradicts it.
fn expect_hang(recording: &Recording, named: &[&str]) -> Result<()> {
    expect_first(recording, "unfinished", 1.9, named)?;
    let summary = recording.report(&["explain"])?.to_string();
    ensure!(!summary.contains("No thread was held up"), "{summary}");
    Ok(())
}

const LOST_NOTIFICATION: &str = "
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>
static std::mutex lock; static std::condition_variable ready;
static void wait_until_ready() { usleep(50000); std::unique_lock<std::mutex> hold(lock); ready.wait(hold); }
int main() { std::thread waiting(wait_until_ready); ready.notify_all(); waiting.join(); }
";

/// A notification that came before the wait: nobody is left who could wake the program, if no signal does.
fn lost_notification() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let app = compiled("g++", &["-g", "-O1", "-pthread"], "lost.cpp", LOST_NOTIFICATION, folder.path())?;
    expect_hang(&attached(&mut Command::new(app))?, &["wait_until_ready", "a notification that came before the wait"])
}

const NESTED_TASKS: &str = "
from concurrent.futures import ThreadPoolExecutor
import threading
pool = ThreadPoolExecutor(max_workers=2)
all_begun = threading.Barrier(2)
def child(): return 1
def parent():
    all_begun.wait()
    return pool.submit(child).result()
def main():
    print([future.result() for future in [pool.submit(parent) for _ in range(4)]])
main()
";

/// Tasks that wait for tasks of the same pool: none of its threads is left for these.
fn pool_that_waits_for_itself() -> Result<()> {
    needs_recording()?;
    let (folder, python) = (TempDir::new()?, some_interpreter()?);
    let script = folder.path().join("nested.py");
    fs::write(&script, NESTED_TASKS)?;
    let recording = attached(Command::new(python).arg(script))?;
    expect_hang(&recording, &["in parent (", "All 2 threads", "queued for the same pool"])
}

const LATCH: &str = "
import java.util.concurrent.*;
public class Latch {
    static void loadRow(int row, CountDownLatch done) { if (row == 2) throw new RuntimeException(); done.countDown(); }
    public static void main(String[] arguments) throws Exception {
        CountDownLatch done = new CountDownLatch(4);
        ExecutorService pool = Executors.newFixedThreadPool(4);
        for (int i = 0; i < 4; i++) { int row = i; pool.submit(() -> loadRow(row, done)); }
        done.await();
    }
}
";

/// A task that ends by an exception before it counts: the JVM's own threads tick on beside a program that hangs.
fn count_that_is_never_reached() -> Result<()> {
    needs_recording()?;
    let (folder, compiler, java) = (TempDir::new()?, needs_program("javac")?, needs_program("java")?);
    let file = folder.path().join("Latch.java");
    fs::write(&file, LATCH)?;
    ensure!(Command::new(compiler).arg("-d").args([folder.path(), &file]).status()?.success(), "it does not compile");
    let recording = attached(Command::new(java).arg("-cp").arg(folder.path()).arg("Latch"))?;
    expect_hang(&recording, &["Latch.main", "a count that is never reached"])
}

const FORGOTTEN_POST: &str = "
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
static sem_t slots;
static void send_batch(int batch) { if (batch != 2) sem_post(&slots); }
static void *consume(void *none) { for (int i = 0; i < 4; i++) send_batch(i); pause(); return none; }
static void acquire_slot(void) { sem_wait(&slots); }
int main(void) {
    pthread_t consumer;
    sem_init(&slots, 0, 1);
    pthread_create(&consumer, 0, consume, 0);
    for (int i = 0; i < 6; i++) acquire_slot();
}
";

/// A program of which Dwell cannot know that it hangs, since a signal could go on with it: it is told where its threads wait.
fn hang_beside_others() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let app = compiled("gcc", &["-g", "-O1", "-pthread"], "post.c", FORGOTTEN_POST, folder.path())?;
    let recording = attached(&mut Command::new(app))?;
    let summary = recording.output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = summary.find("semaphore slots at acquire_slot (post.c:").context("the semaphore is not told")?;
    ensure!(summary.find("consume (post.c:").is_some_and(|second| first < second), "{summary}");
    ensure!(summary.contains("Hardly anything ran"), "{summary}");
    Ok(())
}
