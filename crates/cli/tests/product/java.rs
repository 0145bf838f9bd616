//! Names of code that JVMs compile at run time, and locks of Java programs.

use std::fs;
use std::process::Command;

use anyhow::{Result, anyhow, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Recording, Running, needs_program, needs_recording, number, run_dwell, text};
use crate::symbols::{find, functions, run, stack};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("java::with_a_map", with_a_map),
        Case::new("java::without_a_flag", without_a_flag),
        Case::new("java::that_runs_already", that_runs_already),
        Case::new("java::interpreted_methods_have_names", interpreted_methods_have_names),
        Case::new("java::interpreted_methods_of_a_running_jvm", interpreted_methods_of_a_running_jvm),
        Case::new("java::compiled_code_has_lines_and_inlined_methods", compiled_code_has_lines_and_inlined_methods),
        Case::new("java::locks_have_class_and_owner", locks_have_class_and_owner),
        Case::new("java::locks_of_a_running_jvm", locks_of_a_running_jvm),
    ]
}

const JAVA: &str = "
public class Work {
    static double inner(int n) { double s = 0; for (int i = 0; i < n; i++) s += Math.sqrt(i); return s; }
    public static void main(String[] arguments) {
        long end = System.currentTimeMillis() + (arguments.length > 0 ? Long.parseLong(arguments[0]) : 1000);
        double s = 0;
        while (System.currentTimeMillis() < end) s += inner(50000);
        System.out.println(s);
    }
}
";

/// Two threads sleep in a monitor by turns, two under a lock; the program says how long it waited for either, milliseconds.
const LOCKS: &str = "
import java.util.ArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
public class Locks {
    static final ArrayList<Integer> list = new ArrayList<>();
    static final ReentrantLock lock = new ReentrantLock(true);
    static final AtomicLong forMonitor = new AtomicLong(), forLock = new AtomicLong();
    static void hold() { try { Thread.sleep(4); } catch (InterruptedException e) { } }
    static void inMonitor() {
        long start = System.nanoTime();
        synchronized (list) { forMonitor.addAndGet(System.nanoTime() - start); hold(); }
    }
    static void underLock() {
        long start = System.nanoTime();
        lock.lock();
        try { forLock.addAndGet(System.nanoTime() - start); hold(); } finally { lock.unlock(); }
    }
    public static void main(String[] arguments) throws Exception {
        long end = System.currentTimeMillis() + Long.parseLong(arguments[0]);
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 4; i++) {
            boolean first = i < 2;
            threads[i] = new Thread(() -> {
                while (System.currentTimeMillis() < end) { if (first) inMonitor(); else underLock(); }
            }, (first ? \"monitor\" : \"lock\") + i);
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println(\"truth monitor_ms \" + forMonitor.get() / 1000000);
        System.out.println(\"truth lock_ms \" + forLock.get() / 1000000);
    }
}
";

/// No method runs often enough to be compiled. `Service.pass` has no arguments, `Service.call` more than a frame's registers.
const INTERPRETED: &str = "
public class Rarely {
    static class Service {
        long calls;
        long call(int a, int b, int c, int d, int e, int f, int g, int h) throws Exception {
            Thread.sleep(100);
            return ++calls + a + b + c + d + e + f + g + h;
        }
        static void pass() throws Exception { new Service().call(1, 2, 3, 4, 5, 6, 7, 8); }
    }
    public static void main(String[] arguments) throws Exception {
        for (int i = Integer.parseInt(arguments[0]); i > 0; i--) Service.pass();
    }
}
";

/// Who waits in [`INTERPRETED`], leaf first.
const WAITERS: [&str; 3] = ["Rarely$Service.call", "Rarely$Service.pass", "Rarely.main"];

/// `step` is inlined into `mix`, which runs nearly all of the time; its caller is compiled as well.
const COMPILED: &str = "
package app;
public class Lines {
    static long step(long x) {
        return (x ^ x >>> 17) * 6364136223846793005L;
    }
    static long mix(long x) {
        for (int i = 0; i < 20000; i++)
            x = step(x) + i;
        return x;
    }
    static void turn(long[] sum) throws Exception {
        for (int i = 0; i < 40; i++)
            sum[0] += mix(sum[0] + i);
        Thread.sleep(1);
    }
    public static void main(String[] arguments) throws Exception {
        long[] sum = new long[1];
        for (long end = System.currentTimeMillis() + 2500; System.currentTimeMillis() < end;)
            turn(sum);
        System.out.println(sum[0]);
    }
}
";

const MONITOR: &str = "java.util.ArrayList monitor";
const LOCK: &str = "java.util.concurrent.locks.ReentrantLock";

/// A folder with the compiled program, and the Java that runs it.
fn java_program() -> Result<(String, TempDir)> {
    compiled("Work.java", JAVA)
}

/// A folder with the compiled source, and the Java that runs it.
fn compiled(file: &str, source: &str) -> Result<(String, TempDir)> {
    needs_recording()?;
    let (java, javac) = (needs_program("java")?, needs_program("javac")?);
    let folder = TempDir::new()?;
    fs::write(folder.path().join(file), source)?;
    run(Command::new(javac).arg("-d").arg(folder.path()).arg(folder.path().join(file)))?;
    Ok((java, folder))
}

/// The stacks of the main thread's waits lead through methods that were never compiled, by their names.
fn interpreted_methods_have_names() -> Result<()> {
    let (java, folder) = compiled("Rarely.java", INTERPRETED)?;
    let place = folder.path().display().to_string();
    let recording = Recording::of(&[], &[&java, "-cp", &place, "Rarely", "10"])?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    waiters_are_named(&recording, 0.6e9)?;
    let rows = recording.rows(&["explain"])?;
    let place = format!("{} (Rarely.java:{})", WAITERS[0], line_of(INTERPRETED, "Thread.sleep"));
    let is_sleep = |row: &&Value| text(row, "place") == place && text(row, "kind") == "slept";
    let sleep = rows.iter().find(is_sleep).ok_or_else(|| anyhow!("no sleep in {place} in {rows:?}"))?;
    let frames: Vec<&str> = sleep["stack"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    ensure!(frames.windows(WAITERS.len()).any(|frames| frames == WAITERS), "{sleep}");
    Ok(())
}

/// The line, from 1 on, on which a text stands first.
fn line_of(source: &str, text: &str) -> usize {
    source.lines().take_while(|line| !line.contains(text)).count() + 1
}

/// Code that is compiled has the lines of its loop and of what is inlined there, and the call of a sleep its own.
fn compiled_code_has_lines_and_inlined_methods() -> Result<()> {
    let (java, folder) = compiled("Lines.java", COMPILED)?;
    let place = folder.path().display().to_string();
    let recording = Recording::of(&["--search-dir", &place], &[&java, "-cp", &place, "app.Lines"])?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    let listing = run_dwell(&["source", "app.Lines.turn", &recording.path().display().to_string()])?.stdout;
    ensure!(listing.contains("sum[0] += mix(sum[0] + i);"), "there is no text: {listing}");
    let rows = recording.rows(&["hotspots", "--group-by", "source-line"])?;
    let ran_ns = |text_of_line: &str| -> Result<f64> {
        let name = format!("app/Lines.java:{}", line_of(COMPILED, text_of_line));
        let row = rows.iter().find(|row| text(row, "source-line") == name);
        row.map_or(Ok(0.0), |row| number(row, "cpu_ns"))
    };
    let all_ns: f64 = rows.iter().map(|row| number(row, "cpu_ns")).sum::<Result<f64>>()?;
    let loop_ns = ran_ns("return (x ^")? + ran_ns("i < 20000")? + ran_ns("x = step(x)")?;
    ensure!(loop_ns > 0.5 * all_ns, "{loop_ns} ns of {all_ns} ns are in the loop");
    let functions = recording.rows(&["top-down"])?;
    let depth = |name: &str| functions.iter().find(|row| text(row, "function") == name).map(|row| number(row, "depth"));
    let depths = ["app.Lines.turn", "app.Lines.mix"].map(depth);
    ensure!(matches!(depths, [Some(Ok(turn)), Some(Ok(mix))] if mix == turn + 1.0), "{depths:?}");
    let explained = recording.rows(&["explain"])?;
    let sleep = format!("app.Lines.turn (Lines.java:{})", line_of(COMPILED, "Thread.sleep"));
    let row = explained.iter().find(|row| text(row, "kind") == "slept");
    ensure!(row.is_some_and(|row| text(row, "place") == sleep), "no sleep in {sleep}: {row:?}");
    Ok(())
}

/// The same where Dwell attaches.
fn interpreted_methods_of_a_running_jvm() -> Result<()> {
    let (java, folder) = compiled("Rarely.java", INTERPRETED)?;
    let place = folder.path().display().to_string();
    let program = Running::start(Command::new(java).args(["-cp", &place, "Rarely", "80"]))?;
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let (made, pid) = (TempDir::new()?, program.pid().to_string());
    let result = made.path().join("result").display().to_string();
    let output = run_dwell(&["collect", "--target-pid", &pid, "--duration", "2s", "--result-dir", &result])?;
    let recording = Recording::in_folder(made, output)?;
    waiters_are_named(&recording, 1.2e9)?;
    // A thread that waits all the time, also before Dwell came.
    let rows = recording.rows(&["top-down"])?;
    ensure!(rows.iter().any(|row| text(row, "function") == "java.lang.ref.Reference$ReferenceHandler.run"), "{rows:?}");
    Ok(())
}

/// At least `slept_ns` are waits in a method that was never compiled, called by such methods.
fn waiters_are_named(recording: &Recording, slept_ns: f64) -> Result<()> {
    let found_ns = waited_ns(recording, &format!("Sleep in {}", WAITERS[0]))?;
    ensure!(found_ns > slept_ns, "{found_ns} ns are waits in {}", WAITERS[0]);
    let rows = recording.rows(&["top-down"])?;
    let depth_of = |name: &str| {
        let row = rows.iter().find(|row| text(row, "function") == name);
        number(row.ok_or_else(|| anyhow!("no {name} among {} functions", rows.len()))?, "depth")
    };
    let depths: Vec<f64> = WAITERS.iter().map(|name| depth_of(name)).collect::<Result<_>>()?;
    ensure!(depths[0] == depths[1] + 1.0 && depths[1] == depths[2] + 1.0, "{WAITERS:?} lie at {depths:?}");
    Ok(())
}
/// Waits for a monitor and for a lock have the class, nearly all of the program's own time, and an owner for most of it.
fn locks_have_class_and_owner() -> Result<()> {
    let (java, folder) = compiled("Locks.java", LOCKS)?;
    let place = folder.path().display().to_string();
    let recording = Recording::of(&[], &[&java, "-cp", &place, "Locks", "2000"])?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    for (object, told) in [(MONITOR, "monitor_ms"), (LOCK, "lock_ms")] {
        let waited_ms = recording.output.truth(told).ok_or_else(|| anyhow!("the program says no {told}"))?;
        let found_ms = waited_ns(&recording, object)? / 1e6;
        ensure!(found_ms > 0.8 * waited_ms && found_ms < 1.1 * waited_ms, "{object}: {found_ms} ms of {waited_ms} ms");
        has_owners(&recording, object)?;
    }
    Ok(())
}

/// The same where Dwell attaches.
fn locks_of_a_running_jvm() -> Result<()> {
    let (java, folder) = compiled("Locks.java", LOCKS)?;
    let place = folder.path().display().to_string();
    let program = Running::start(Command::new(java).args(["-cp", &place, "Locks", "8000"]))?;
    std::thread::sleep(std::time::Duration::from_millis(1000));
    let (made, pid) = (TempDir::new()?, program.pid().to_string());
    let result = made.path().join("result").display().to_string();
    let output = run_dwell(&["collect", "--target-pid", &pid, "--duration", "1500ms", "--result-dir", &result])?;
    let recording = Recording::in_folder(made, output)?;
    for object in [MONITOR, LOCK] {
        // Of two threads, one waits nearly all of the time.
        let found_ms = waited_ns(&recording, object)? / 1e6;
        ensure!(found_ms > 1000.0, "{object}: {found_ms} ms");
        has_owners(&recording, object)?;
    }
    Ok(())
}

/// Wait time of the object called so.
fn waited_ns(recording: &Recording, object: &str) -> Result<f64> {
    let rows = recording.rows(&["waits"])?;
    let row = rows.iter().find(|row| text(row, "object") == object);
    number(row.ok_or_else(|| anyhow!("no {object} in {rows:?}"))?, "wait_ns")
}

/// Both threads that take the lock hold it, together for most of its waits.
fn has_owners(recording: &Recording, object: &str) -> Result<()> {
    let rows = recording.rows(&["blame", object])?;
    let holders: Vec<&Value> = rows.iter().filter(|row| text(row, "role") == "holder").collect();
    let shares: Vec<f64> = holders.iter().map(|row| number(row, "share")).collect::<Result<_>>()?;
    ensure!(holders.len() == 2 && shares.iter().sum::<f64>() > 0.6, "{object} is held by {holders:?}");
    Ok(())
}

/// Most of the program's CPU time is a compiled method's, which Dwell names by the memory of the JVM alone.
fn without_a_flag() -> Result<()> {
    let (java, folder) = java_program()?;
    let place = folder.path().display().to_string();
    let recording = Recording::of(&[], &[&java, "-cp", &place, "Work"])?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    method_is_named(&recording)
}

/// The same where the method was compiled before Dwell came.
fn that_runs_already() -> Result<()> {
    let (java, folder) = java_program()?;
    let place = folder.path().display().to_string();
    let program = Running::start(Command::new(java).args(["-cp", &place, "Work", "8000"]))?;
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let (made, pid) = (TempDir::new()?, program.pid().to_string());
    let result = made.path().join("result").display().to_string();
    let output = run_dwell(&["collect", "--target-pid", &pid, "--duration", "1s", "--result-dir", &result])?;
    method_is_named(&Recording::in_folder(made, output)?)
}

fn method_is_named(recording: &Recording) -> Result<()> {
    let rows = functions(recording)?;
    let inner = find(&rows, "Work.inner")?;
    ensure!(text(inner, "module") == "[jit] java", "{inner}");
    let is_nameless = |row: &&Value| text(row, "function").starts_with("[anon]");
    let nameless_ns: Vec<f64> =
        rows.iter().filter(is_nameless).map(|row| number(row, "cpu_ns")).collect::<Result<_>>()?;
    let nameless_ns: f64 = nameless_ns.iter().sum();
    ensure!(number(inner, "cpu_ns")? > 10.0 * nameless_ns, "nameless code ran for {nameless_ns} ns: {inner}");
    Ok(())
}

/// The same by the map that the JVM writes itself.
fn with_a_map() -> Result<()> {
    let (java, folder) = java_program()?;
    let place = folder.path().display().to_string();
    let options = ["-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"];
    let command: Vec<&str> = [java.as_str()].into_iter().chain(options).chain(["-cp", &place, "Work"]).collect();
    let recording = Recording::of(&[], &command)?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    let rows = functions(&recording)?;
    let inner = find(&rows, "Work.inner")?;
    ensure!(text(inner, "module") == "[jit] java", "{inner}");
    let stack = stack(inner);
    ensure!(matches!(stack.last(), Some(&"clone3" | &"_start")), "the stack has no root: {stack:?}");
    Ok(())
}
