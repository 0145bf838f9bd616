//! Names of functions of JavaScript: by what V8 writes of its code, and by its heap.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Recording, Running, needs_program, needs_recording, run_dwell, text};
use crate::symbols::{find, functions, share, stack};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("javascript::with_a_map", || named_by_node("--perf-basic-prof")),
        Case::new("javascript::with_a_log", || named_by_node("--perf-prof")),
        Case::new("javascript::without_a_flag", without_a_flag),
        Case::new("javascript::that_runs_already", that_runs_already),
        Case::new("javascript::of_an_unknown_engine", of_an_unknown_engine),
    ]
}

const SCRIPT: &str = "
function inner(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s }
function outer(n) { return inner(n) + inner(n + 1) }
const end = Date.now() + 500
while (Date.now() < end) outer(50000)
";

/// A recording of a script of node's, in a folder that its logs may fill.
fn node_recording(options: &[&str]) -> Result<(Recording, TempDir)> {
    recording_of_script(&needs_program("node")?, SCRIPT, options)
}

fn recording_of_script(node: &str, text: &str, options: &[&str]) -> Result<(Recording, TempDir)> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let script = folder.path().join("script.js");
    fs::write(&script, text)?;
    let mut command = vec![node];
    command.extend(options);
    let (script, place) = (script.display().to_string(), folder.path().display().to_string());
    command.push(&script);
    let recording = Recording::of(&["--app-working-dir", &place], &command)?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    Ok((recording, folder))
}

/// Functions of a script have names, lines and whole stacks, by what node itself writes of its code.
fn named_by_node(option: &str) -> Result<()> {
    let (recording, _folder) = node_recording(&[option])?;
    let rows = functions(&recording)?;
    let inner = find(&rows, "inner")?;
    ensure!(text(inner, "module") == "[jit] node", "{inner}");
    ensure!(text(inner, "source").contains("script.js:2"), "{inner}");
    ensure!(share(&recording, inner)? > 0.3, "inner has {} of the CPU time", share(&recording, inner)?);
    let stack = stack(inner);
    ensure!(stack.last() == Some(&"_start"), "the stack does not reach _start: {stack:?}");
    let unnamed = rows.iter().filter(|row| text(row, "function").starts_with("[anon]"));
    let unnamed: f64 = unnamed.map(|row| share(&recording, row)).sum::<Result<f64>>()?;
    ensure!(unnamed < 0.05, "{unnamed} of the CPU time is in code without a name");
    Ok(())
}

/// A method, a closure and a function. They are called from a timer, too rarely to be compiled into their callers.
const SHOP: &str = "
class Cart {
  total(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s }
}
const checkout = n => new Cart().total(n) + once(n)
function once(n) { let s = 1; for (let i = 0; i < n; i++) s = s * 3 % 1000003; return s }
setInterval(() => checkout(3000000), 1)
setTimeout(() => process.exit(0), Number(process.argv[2] ?? 1500))
";

/// `Cart.total` and `once` have most of the time, each by its name and its line, called by `checkout`.
fn shop_is_named(recording: &Recording) -> Result<()> {
    let rows = functions(recording)?;
    for (function, line) in [("total", "script.js:3"), ("once", "script.js:6")] {
        let row = find(&rows, function)?;
        ensure!(text(row, "source").contains(line), "{row}");
        let stack = stack(row);
        ensure!(stack.get(1) == Some(&"checkout"), "{function} is called by {stack:?}");
        ensure!(stack.last() == Some(&"_start"), "the stack does not reach _start: {stack:?}");
    }
    let both = share(recording, find(&rows, "total")?)? + share(recording, find(&rows, "once")?)?;
    ensure!(both > 0.6, "they have {both} of the CPU time");
    Ok(())
}

/// What V8 runs has its names without a flag, where its file tells how its heap is laid out.
fn without_a_flag() -> Result<()> {
    let (recording, _folder) = recording_of_script(&needs_program("node")?, SHOP, &[])?;
    shop_is_named(&recording)
}

fn that_runs_already() -> Result<()> {
    needs_recording()?;
    let (node, folder) = (needs_program("node")?, TempDir::new()?);
    let script = folder.path().join("script.js");
    fs::write(&script, SHOP)?;
    let program = Running::start(Command::new(node).arg(&script).arg("60000"))?;
    std::thread::sleep(std::time::Duration::from_millis(1_000));
    let (made, pid) = (TempDir::new()?, program.pid().to_string());
    let result = made.path().join("result").display().to_string();
    let output = run_dwell(&["collect", "--target-pid", &pid, "--duration", "1500ms", "--result-dir", &result])?;
    shop_is_named(&Recording::in_folder(made, output)?)
}

/// Of code that nobody names no name is a bare address.
fn of_an_unknown_engine() -> Result<()> {
    let folder = TempDir::new()?;
    let unknown = folder.path().join("engine");
    fs::copy(needs_program("node")?, &unknown)?;
    let (recording, _folder) = recording_of_script(&unknown.display().to_string(), SCRIPT, &[])?;
    let rows = functions(&recording)?;
    ensure!(rows.iter().any(|row| text(row, "function").starts_with("[anon]+0x")), "no code outside of files");
    ensure!(rows.iter().all(|row| !text(row, "function").starts_with("0x")), "a bare address");
    Ok(())
}
