//! Python functions in stacks, of every version of CPython that is installed: exact functions and lines of programs whose
//! calls are known.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use dwell_model::{FrameId, ObjectType, Outcome, StackId};
use dwell_store::{ResultFolder, Trace};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::conservation;
use crate::harness::{Case, Skip};
use crate::recording::{Recording, Running, collect, is_type, needs_recording, number, text, wait_for};

/// Versions whose frames Dwell knows: 3.x.
const VERSIONS: std::ops::RangeInclusive<u32> = 8..=14;

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for minor in VERSIONS {
        cases.push(Case::new(format!("python::calls_3_{minor}"), move || calls(&interpreter(minor)?, minor)));
        cases.push(Case::new(format!("python::primitives_3_{minor}"), move || primitives(&interpreter(minor)?)));
        cases.push(Case::new(format!("python::hung_3_{minor}"), move || hung(&interpreter(minor)?)));
    }
    let any = |name, check: fn(&Path) -> Result<()>| Case::new(name, move || check(&some_interpreter()?));
    cases.push(Case::new("python::calls_of_the_system", || {
        let python = Path::new("/usr/bin/python3");
        let minor = version_of(python).context("its version")?;
        calls(python, minor)
    }));
    cases.push(any("python::gil_holder", gil_holder));
    cases.push(any("python::short_lived", short_lived));
    cases.push(any("python::attached", attached));
    cases.push(any("python::coroutines_forks_and_depth", coroutines_forks_and_depth));
    cases
}

/// 3.x, as the interpreter itself says; none when it does not run.
fn version_of(python: &Path) -> Option<u32> {
    let output = std::process::Command::new(python).args(["-c", "import sys; print(sys.version_info[1])"]).output();
    String::from_utf8(output.ok()?.stdout).ok()?.trim().parse().ok()
}

/// CPython 3.`minor`: on the path, or one that pyenv built.
fn interpreter(minor: u32) -> Result<PathBuf> {
    let name = format!("python3.{minor}");
    let path = std::env::var("PATH").unwrap_or_default();
    let on_path = path.split(':').map(|folder| Path::new(folder).join(&name));
    let home = std::env::var("PYENV_ROOT").unwrap_or_else(|_| std::env::var("HOME").unwrap_or_default() + "/.pyenv");
    let built = fs::read_dir(Path::new(&home).join("versions")).into_iter().flatten().flatten();
    let built = built.map(|entry| entry.path().join("bin").join(&name));
    // pyenv's shims are scripts, which another version may answer.
    let mut found = on_path.chain(built).filter(|path| path.is_file() && !path.to_string_lossy().contains("/shims/"));
    let python = found.find(|path| version_of(path) == Some(minor));
    python.ok_or_else(|| Skip(format!("CPython 3.{minor} is not installed")).into())
}

/// CPython of the system, or another one whose frames Dwell knows.
pub fn some_interpreter() -> Result<PathBuf> {
    let system = PathBuf::from("/usr/bin/python3");
    let known = |path: &PathBuf| version_of(path).is_some_and(|minor| VERSIONS.contains(&minor));
    if known(&system) {
        return Ok(system);
    }
    let found = VERSIONS.rev().find_map(|minor| interpreter(minor).ok());
    found.ok_or_else(|| Skip("no CPython from 3.8 to 3.14 is installed".into()).into())
}

/// A program in a file, recorded.
struct Program {
    recording: Recording,
    trace: Trace,
    file: String,
    source: &'static str,
    _folder: TempDir,
}

impl Program {
    fn record(python: &Path, source: &'static str) -> Result<Self> {
        needs_recording()?;
        let folder = TempDir::new()?;
        let file = folder.path().join("program.py");
        fs::write(&file, source)?;
        let file = file.display().to_string();
        let recording = Recording::of(&[], &[&python.display().to_string(), &file])?;
        ensure!(recording.output.status.success(), "{}", recording.output.stderr);
        conservation::check(&recording, None)?;
        let trace = read(&recording)?;
        Ok(Self { recording, trace, file, source, _folder: folder })
    }

    /// The number of the source line that ends with `# name`.
    fn line(&self, name: &str) -> Result<u32> {
        let mark = format!("# {name}");
        let found = self.source.lines().position(|line| line.ends_with(&mark));
        Ok(found.with_context(|| format!("no line {name}"))? as u32 + 1)
    }

    /// The program's own Python functions on `stack`, root first: `main:12 burn`, with the line that each called from.
    fn calls(&self, stack: StackId) -> String {
        let own = python_frames(&self.trace, stack).into_iter().filter(|frame| frame.file == self.file);
        let shown = own.map(|frame| match frame.function.as_str() {
            "burn" => "burn".to_owned(), // where it stands in its loop is chance
            function => format!("{function}:{}", frame.line),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    /// Running time by calls.
    fn running(&self) -> BTreeMap<String, u64> {
        let mut times = BTreeMap::new();
        for (&stack, &weight) in self.trace.samples.stack.iter().zip(&self.trace.samples.weight_ns) {
            *times.entry(self.calls(stack)).or_default() += weight;
        }
        times
    }

    /// Wait time by calls on objects of `kind`.
    fn waits(&self, kind: ObjectType) -> BTreeMap<String, u64> {
        let rows = &self.trace.off_cpu;
        let mut times = BTreeMap::new();
        for row in 0..rows.thread.len() {
            let of_kind = rows.object[row].get().is_some_and(|object| self.trace.objects.kind[object] == kind.code());
            if of_kind {
                *times.entry(self.calls(rows.stack[row])).or_default() += rows.wait_ns[row];
            }
        }
        times
    }
}

fn read(recording: &Recording) -> Result<Trace> {
    Ok(Trace::read(&ResultFolder::open(&recording.path())?)?)
}

struct PythonFrame {
    function: String,
    file: String,
    line: u32,
}

/// The Python frames of `stack`, root first.
fn python_frames(trace: &Trace, stack: StackId) -> Vec<PythonFrame> {
    let chain = std::iter::successors(stack.get(), |&row| trace.stacks.parent[row].get());
    let frames = chain.filter_map(|row| trace.stacks.frame[row].get()).filter(|&frame| trace.frames.script[frame]);
    let mut frames: Vec<PythonFrame> = frames
        .map(|frame| PythonFrame {
            function: trace.frames.function[frame].clone(),
            file: trace.frames.file[frame].clone(),
            line: trace.frames.line[frame],
        })
        .collect();
    frames.reverse();
    frames
}

const CALLS: &str = "\
import threading, time
lock = threading.Lock()
def burn(n):
    s = 0
    for i in range(n):
        s += i * i
    return s
class Work:
    def method(self, depth):
        if depth:
            return self.method(depth - 1)  # recursion
        return burn(200000)  # end
def generator(n):
    for _ in range(n):
        yield burn(60000)  # yielded
def key(x):
    return burn(20000) - x  # key
def first():
    with lock:  # first_waits
        time.sleep(0.02)  # first_sleeps
def second():
    with lock:  # second_waits
        time.sleep(0.03)  # second_sleeps
def worker(function):
    for _ in range(8):
        function()  # worker
        time.sleep(0.002)  # or the other one never has its turn
def main():
    threads = [threading.Thread(target=worker, args=(f,)) for f in (first, second)]
    for thread in threads: thread.start()
    for _ in range(12):
        Work().method(3)  # method
        list(generator(3))  # generator
        sorted(range(10), key=key)  # sorted
        sorted(range(10), key=lambda x: burn(20000))  # lambda
        [burn(60000) for _ in range(3)]  # comprehension
    for thread in threads: thread.join()
main()  # module
";

/// Recursion, methods, generators, callbacks from C code, lambdas, comprehensions; two callers of one lock.
fn calls(python: &Path, minor: u32) -> Result<()> {
    let program = Program::record(python, CALLS)?;
    let line = |name: &str| program.line(name);
    // From 3.11 on functions have qualified names; from 3.12 on comprehensions are no functions.
    let qualified = |name: &str, plain: &str| if minor >= 11 { name.to_owned() } else { plain.to_owned() };
    let method = qualified("Work.method", "method");
    let again = format!("{method}:{}", line("recursion")?);
    let comprehension = match minor {
        12.. => String::new(),
        _ => format!("{}:{} ", qualified("main.<locals>.<listcomp>", "<listcomp>"), line("comprehension")?),
    };
    let lambda = qualified("main.<locals>.<lambda>", "<lambda>");
    let expected = [
        format!("main:{} {again} {again} {again} {method}:{} burn", line("method")?, line("end")?),
        format!("main:{} generator:{} burn", line("generator")?, line("yielded")?),
        format!("main:{} key:{} burn", line("sorted")?, line("key")?),
        format!("main:{} {lambda}:{} burn", line("lambda")?, line("lambda")?),
        format!("main:{} {comprehension}burn", line("comprehension")?),
    ];
    let module = line("module")?;
    let expected = expected.map(|calls| format!("<module>:{module} {calls}"));
    let running = program.running();
    let total: u64 = running.values().sum();
    for calls in &expected {
        let found = running.get(calls).copied().unwrap_or(0);
        ensure!(found * 100 > total * 4, "{found} of {total} ns in {calls}:\n{running:#?}");
    }
    let in_burn = running.iter().filter(|(calls, _)| calls.ends_with(" burn"));
    let wrong: Vec<_> = in_burn.filter(|(calls, _)| !expected.contains(calls)).collect();
    ensure!(wrong.is_empty(), "calls that the program does not make: {wrong:#?}");
    let known: u64 = expected.iter().filter_map(|calls| running.get(calls)).sum();
    ensure!(known * 10 > total * 8, "only {known} of {total} ns are in known calls:\n{running:#?}");
    same_lock_by_caller(&program)
}

fn same_lock_by_caller(program: &Program) -> Result<()> {
    let worker = program.line("worker")?;
    let waits = program.waits(ObjectType::Mutex);
    for name in ["first", "second"] {
        let place = format!("worker:{worker} {name}:{}", program.line(&format!("{name}_waits"))?);
        let waited = waits.get(&place).copied().unwrap_or(0);
        ensure!(waited > 15_000_000, "{waited} ns for the lock in {place}:\n{waits:#?}");
    }
    let losses = program.recording.rows(&["losses"])?;
    let python = losses.iter().filter(|row| text(row, "name").starts_with("python_"));
    let count: f64 = python.map(|row| number(row, "count").unwrap_or(0.0)).sum();
    ensure!(count < 3.0, "Python frames were lost: {losses:?}");
    Ok(())
}

pub const PRIMITIVES: &str = "\
import queue, threading, time
items, permits = queue.Queue(), threading.Semaphore(0)
def produce():
    for item in range(5):
        time.sleep(0.02)
        items.put(item)
def consume():
    for _ in range(5): items.get()
def permit():
    time.sleep(0.1)
    permits.release()
def guarded():
    permits.acquire()
def main():
    threads = [threading.Thread(target=f) for f in (produce, consume, permit, guarded)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
main()
main()
";

/// CPython makes everything of plain locks: its own library's functions tell a queue, a semaphore and the end of a thread.
fn primitives(python: &Path) -> Result<()> {
    let recording = Program::record(python, PRIMITIVES)?.recording;
    primitives_are_named(&recording)?;
    let locks = waited(&recording.rows(&["waits"])?, ObjectType::Mutex, "");
    ensure!(locks < 25e6, "{locks} ns for locks, of which there are none");
    Ok(())
}

/// Wait time of the objects of a type whose names have these words.
fn waited(waits: &[Value], kind: ObjectType, name: &str) -> f64 {
    let rows = waits.iter().filter(|row| is_type(row, kind.id()) && text(row, "object").contains(name));
    rows.map(|row| number(row, "wait_ns").unwrap_or(0.0)).sum()
}

/// Of the program `PRIMITIVES`.
pub fn primitives_are_named(recording: &Recording) -> Result<()> {
    let waits = recording.rows(&["waits"])?;
    let waited = |kind: ObjectType, name: &str| waited(&waits, kind, name);
    let wanted = [
        (ObjectType::ConditionVariable, "in consume"),
        (ObjectType::Semaphore, "in guarded"),
        (ObjectType::ThreadJoin, ""),
    ];
    for (kind, name) in wanted {
        ensure!(waited(kind, name) > 50e6, "{} {name}: {waits:#?}", kind.id());
    }
    // A lock that two threads ended at, one after the other, is neither's.
    let (one, several) =
        (waited(ObjectType::ThreadJoin, "(produce)"), waited(ObjectType::ThreadJoin, "joined in main"));
    ensure!(one + several > 50e6, "ends of unknown threads: {waits:#?}");
    Ok(())
}

const GIL: &str = "\
import threading, time
def hog():
    n = 0
    for i in range(6_000_000): n += i
def victim():
    for i in range(20): time.sleep(0.001)
threads = [threading.Thread(target=f) for f in (hog, victim)]
for t in threads: t.start()
for t in threads: t.join()
";

/// A thread that wants to run for a moment waits for one that computes: that one holds the GIL, and is named.
fn gil_holder(python: &Path) -> Result<()> {
    let program = Program::record(python, GIL)?;
    let rows = &program.trace.off_cpu;
    let of_gil = |row: &usize| {
        let object = rows.object[*row].get();
        object.is_some_and(|object| program.trace.objects.kind[object] == ObjectType::Gil.code())
    };
    let timed_out = |row: &usize| rows.outcome[*row] == Outcome::TimedOut.code();
    let waits: Vec<usize> = (0..rows.thread.len()).filter(of_gil).filter(timed_out).collect();
    ensure!(waits.len() >= 10, "only {} waits for the GIL timed out", waits.len());
    let told = waits.iter().filter(|&&row| rows.holder[row].is_some()).count();
    ensure!(told * 10 >= waits.len() * 9, "the holder is known of {told} of {} waits", waits.len());
    let blame = program.recording.rows(&["blame", "GIL"])?;
    let running = blame.iter().find(|row| text(row, "role") == "holder-running").context("no holder runs")?;
    ensure!(text(running, "name") == "hog", "the holder ran {running}");
    // On a busy machine the holder waits for a CPU as well.
    let held = blame.iter().filter(|row| matches!(text(row, "role"), "holder-running" | "holder-runnable"));
    let held: f64 = held.map(|row| number(row, "share").unwrap_or(0.0)).sum();
    ensure!(held > 0.8, "the holder is known of {held} of the time: {blame:?}");
    ensure!(blame.iter().any(|row| text(row, "role") == "holder"), "the holding thread is not named");
    let causes = program.recording.rows(&["explain"])?;
    // On a busy machine the holder's wait for a CPU is a cause, too.
    let of_gil = |row: &&Value| text(row, "text").contains("waited for GIL at") && text(row, "kind") != "run-queue";
    let of_gil = causes.iter().find(of_gil).with_context(|| format!("no cause of waits for the GIL in {causes:?}"))?;
    ensure!(text(of_gil, "kind") == "running" && text(of_gil, "place").contains("hog"), "{of_gil}");
    Ok(())
}

/// Programs that run for a few hundredths of a second are seen as well. The first of them may be over when the tables
/// of a program that nobody announced are made, in a build without optimization above all.
fn short_lived(python: &Path) -> Result<()> {
    let code = "def f():\n s = 0\n for i in range(1000000): s += i\n return s\nf()";
    let script = format!("for i in 1 2 3 4 5 6; do {} -c '{code}'; done", python.display());
    let recording = Recording::of(&["--sampling-interval", "1"], &["sh", "-c", &script])?;
    let trace = read(&recording)?;
    let mut seen = BTreeMap::new();
    for (&thread, &stack) in trace.samples.thread.iter().zip(&trace.samples.stack) {
        let frames = python_frames(&trace, stack);
        let names: Vec<&str> = frames.iter().map(|frame| frame.function.as_str()).collect();
        if names.ends_with(&["<module>", "f"]) {
            ensure!(frames.iter().all(|frame| frame.file == "<string>"), "f is in {}", frames[0].file);
            *seen.entry(thread).or_insert(0) += 1;
        }
    }
    ensure!(seen.len() >= 5, "f was seen in {} of 6 processes: {seen:?}", seen.len());
    Ok(())
}

const FOREVER: &str = "\
import time, sys
def spin(until):
    n = 0
    while time.time() < until: n += 1
def main():
    print('ready', flush=True)
    while True:
        spin(time.time() + 0.05)
        time.sleep(0.005)  # nap
main()
";

/// A second of a program that runs already.
pub fn attach(python: &Path, source: &str) -> Result<Recording> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let mut command = std::process::Command::new(python);
    let program = Running::start(command.args(["-c", source]))?;
    wait_for("the program to begin", || program.stdout().contains("ready").then_some(()))?;
    let pid = program.pid().to_string();
    let running = Running::start(&mut collect(folder.path(), &["--target-pid", &pid, "--duration", "1"], &[]))?;
    let output = running.finish()?;
    program.signal(Signal::KILL)?;
    Recording::in_folder(folder, output)
}

/// Attached to a program that runs already.
fn attached(python: &Path) -> Result<()> {
    let trace = read(&attach(python, FOREVER)?)?;
    let leaf_of = |stack| python_frames(&trace, stack).last().map(|frame| (frame.function.clone(), frame.line));
    let samples = &trace.samples;
    let in_spin = |sample: &usize| leaf_of(samples.stack[*sample]).is_some_and(|(function, _)| function == "spin");
    let spun: u64 = (0..samples.stack.len()).filter(in_spin).map(|sample| samples.weight_ns[sample]).sum();
    let total: u64 = samples.weight_ns.iter().sum();
    ensure!(total > 0 && spun * 10 > total * 9, "{spun} of {total} ns in spin");
    let naps = trace.off_cpu.stack.iter().filter(|&&stack| leaf_of(stack) == Some(("main".into(), 9))).count();
    ensure!(naps >= 8, "{naps} naps at their line");
    Ok(())
}

const HUNG: &str = "\
import os, threading, time
lock = threading.Lock()
empty, _writer = os.pipe()
class Client:
    def fetch_token(self):
        with lock: return os.read(empty, 1)  # 6
def handle(n):
    with lock: return n  # 8
fetching = threading.Thread(target=Client().fetch_token)
fetching.start()
time.sleep(0.2)
handling = threading.Thread(target=handle, args=(1,))
handling.start()
time.sleep(0.2)
print('ready', flush=True)
fetching.join()  # 16
";

/// Attached to threads that never move: each has the functions and lines that it stands in.
fn hung(python: &Path) -> Result<()> {
    let trace = read(&attach(python, HUNG)?)?;
    let mut places: Vec<String> = Vec::new();
    for &stack in &trace.off_cpu.stack {
        let own = python_frames(&trace, stack).into_iter().rfind(|frame| frame.file == "<string>");
        places.extend(own.map(|frame| format!("{}:{}", frame.function, frame.line)));
    }
    for (function, line) in [("fetch_token", 6), ("handle", 8), ("<module>", 16)] {
        let is_there = |place: &String| place.ends_with(&format!("{function}:{line}"));
        ensure!(places.iter().any(is_there), "nobody waits in {function}, line {line}: {places:?}");
    }
    Ok(())
}

const MIXED: &str = "\
import asyncio, os, sys
def burn(n):
    s = 0
    for i in range(n): s += i
    return s
async def leaf():
    burn(400000)  # awaited
    await asyncio.sleep(0.001)
async def coroutine():
    for _ in range(10): await leaf()  # await
def child():
    burn(4000000)  # child
def deep(n):
    return deep(n - 1) if n else burn(4000000)  # deep
asyncio.run(coroutine())
pid = os.fork()
if pid == 0:
    child()
    os._exit(0)
os.waitpid(pid, 0)
sys.setrecursionlimit(3000)
deep(1000)
";

/// Coroutines under an event loop, a forked child, and more frames than a stack may have.
fn coroutines_forks_and_depth(python: &Path) -> Result<()> {
    let program = Program::record(python, MIXED)?;
    let running = program.running();
    let time_in = |ends: &str| running.iter().filter(|(calls, _)| calls.ends_with(ends)).map(|(_, ns)| ns).sum::<u64>();
    let coroutine = format!("coroutine:{} leaf:{} burn", program.line("await")?, program.line("awaited")?);
    let child = format!("child:{} burn", program.line("child")?);
    let deep = format!("deep:{}", program.line("deep")?);
    for calls in [coroutine, child, format!("{deep} {deep} {deep} burn")] {
        ensure!(time_in(&calls) > 10_000_000, "{} ns in {calls}:\n{running:#?}", time_in(&calls));
    }
    let only_deep = |calls: &str| calls.split(' ').all(|call| call == deep || call == "burn");
    let cut = running.keys().find(|calls| calls.matches(&deep).count() > 100);
    let Some(cut) = cut else { bail!("the recursion is not deep in\n{running:#?}") };
    ensure!(only_deep(cut), "frames that are not there: {cut}");
    let stacks = &program.trace.stacks;
    let truncated = |row: &usize| stacks.end[*row] == 4 && stacks.frame[*row] != FrameId::NONE;
    ensure!((0..stacks.end.len()).any(|row| truncated(&row)), "no stack says that it was cut");
    Ok(())
}
