//! What is told of Python threads that run nothing but Python's library, and of waits without Python functions.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use crate::harness::Case;
use crate::python::{attach, some_interpreter};
use crate::recording::{Recording, is_type, needs_recording, number, text};

pub fn cases() -> Vec<Case> {
    let any = |name, check: fn(&Path) -> Result<()>| Case::new(name, move || check(&some_interpreter()?));
    vec![
        any("python_library::attached_to_a_condition", attached_to_a_condition),
        any("python_library::thread_of_a_forked_child", thread_of_a_forked_child),
    ]
}

const CONDITION: &str = "\
import threading, time
condition = threading.Condition()
def waiter():
    while True:
        with condition: condition.wait()
threading.Thread(target=waiter, daemon=True).start()
print('ready', flush=True)
while True:
    time.sleep(0.3)
    with condition: condition.notify()
";

/// The wait in which a thread is found has no Python functions: its condition is not held for a mutex.
fn attached_to_a_condition(python: &Path) -> Result<()> {
    let waits = attach(python, CONDITION)?.rows(&["waits"])?;
    let waited =
        |id| waits.iter().filter(|row| is_type(row, id)).map(|row| number(row, "wait_ns")).sum::<Result<f64>>();
    let (mutexes, futexes, conditions) = (waited("mutex")?, waited("futex")?, waited("condition-variable")?);
    ensure!(mutexes < 5e6, "{mutexes} ns for mutexes: {waits:#?}");
    ensure!(conditions > 3e8 && conditions + futexes > 8e8, "{conditions} ns and {futexes} ns: {waits:#?}");
    Ok(())
}

const QUEUE: &str = "\
import multiprocessing, time
def child(queue):
    for _ in range(4): queue.put(b'x' * 300000)
    queue.close(); queue.join_thread()
def slow_reader(queue):
    time.sleep(0.3)
    for _ in range(4): queue.get()
multiprocessing = multiprocessing.get_context('fork')
queue = multiprocessing.Queue()
process = multiprocessing.Process(target=child, args=(queue,))
process.start(); slow_reader(queue); process.join()
";

/// The thread of a forked child that runs nothing but Python's library is called by its function there, and so is the place of its wait.
fn thread_of_a_forked_child(python: &Path) -> Result<()> {
    needs_recording()?;
    let causes = Recording::of(&[], &[&python.display().to_string(), "-c", QUEUE])?.rows(&["explain"])?;
    let links = causes.iter().filter(|cause| text(cause, "place").starts_with("slow_reader ("));
    let mut links = links.filter_map(|cause| cause["links"].as_array()).flatten();
    let told = |link: &Value| {
        // Before 3.11 functions have no class.
        text(link, "who").ends_with("_feed")
            && text(link, "place").contains("_send (connection.py:")
            && text(link, "waited_for").starts_with("write(pipe ")
    };
    let Some(link) = links.find(|link| told(link)) else { bail!("no wait of _feed in\n{causes:#?}") };
    let waited_ns = number(link, "wait_ns")?;
    ensure!((100e6..600e6).contains(&waited_ns), "_feed waited {waited_ns} ns for a sleep of 300 ms");
    Ok(())
}
