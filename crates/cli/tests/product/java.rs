//! Names of code that JVMs compile at run time.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
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

/// A folder with the compiled program, and the Java that runs it.
fn java_program() -> Result<(String, TempDir)> {
    needs_recording()?;
    let (java, javac) = (needs_program("java")?, needs_program("javac")?);
    let folder = TempDir::new()?;
    fs::write(folder.path().join("Work.java"), JAVA)?;
    run(Command::new(javac).arg("-d").arg(folder.path()).arg(folder.path().join("Work.java")))?;
    Ok((java, folder))
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
