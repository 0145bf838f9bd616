//! Functions of PHP and Ruby in stacks: exact functions and lines of programs whose calls are known.

use anyhow::{Result, ensure};
use dwell_model::StackId;
use dwell_store::{ResultFolder, Trace};
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Recording, needs_program, needs_recording, text};

pub fn cases() -> Vec<Case> {
    vec![Case::new("php::calls", php), Case::new("ruby::calls", ruby)]
}

/// What a program's stacks are to be.
struct Expected {
    /// Functions with their lines, root first, where it sleeps for most of the time.
    sleeps: &'static str,
    /// The function that computes.
    computes: &'static str,
}

/// The own functions on `stack`, root first: `outer:12 nap:9`.
fn calls(trace: &Trace, stack: StackId, file: &str) -> String {
    let chain = std::iter::successors(stack.get(), |&row| trace.stacks.parent[row].get());
    let frames = chain.filter_map(|row| trace.stacks.frame[row].get());
    let own = frames.filter(|&frame| trace.frames.script[frame] && trace.frames.file[frame] == file);
    let mut shown: Vec<String> =
        own.map(|frame| format!("{}:{}", trace.frames.function[frame], trace.frames.line[frame])).collect();
    shown.reverse();
    shown.join(" ")
}

fn check(program: &str, source: &str, expected: &Expected) -> Result<()> {
    needs_recording()?;
    let program = &needs_program(program)?;
    let folder = TempDir::new()?;
    let file = folder.path().canonicalize()?.join("program").display().to_string();
    std::fs::write(&file, source)?;
    let recording = Recording::of(&[], &[program, &file])?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    let trace = Trace::read(&ResultFolder::open(&recording.path())?)?;
    let losses = recording.rows(&["losses"])?;
    ensure!(!losses.iter().any(|row| text(row, "name").starts_with("python_")), "frames were lost: {losses:?}");

    let rows = &trace.off_cpu;
    let slept = (0..rows.stack.len()).filter(|&row| calls(&trace, rows.stack[row], &file) == expected.sleeps);
    let slept_ns: u64 = slept.map(|row| rows.wait_ns[row]).sum();
    let all = || rows.stack.iter().map(|&stack| calls(&trace, stack, &file)).collect::<std::collections::BTreeSet<_>>();
    ensure!(slept_ns > 100_000_000, "{slept_ns} ns in {}, but {:#?}", expected.sleeps, all());

    let samples = &trace.samples;
    let leaf = |row: &usize| calls(&trace, samples.stack[*row], &file);
    let computed = (0..samples.stack.len()).filter(|row| {
        let calls = leaf(row);
        calls.rsplit(' ').next().is_some_and(|last| last.split_once(':').is_some_and(|(it, _)| it == expected.computes))
    });
    let computed_ns: u64 = computed.map(|row| samples.weight_ns[row]).sum();
    ensure!(computed_ns > 20_000_000, "{computed_ns} ns in {}", expected.computes);
    Ok(())
}

const PHP: &str = "\
<?php
class Store {
    private $file;
    function __construct($path) { $this->file = fopen($path, 'r'); }
    function locked($work) {
        flock($this->file, LOCK_EX);
        $work(40);
        flock($this->file, LOCK_UN);
    }
    static function nap($ms) {
        usleep($ms * 1000);
    }
}
function outer($store) {
    $store->locked(function ($ms) {
        Store::nap($ms);
    });
}
function burn($x) {
    for ($i = 0, $sum = 0; $i < 400000; $i++) $sum += $i * $x;
    return $sum;
}
$store = new Store(__FILE__);
for ($i = 0; $i < 5; $i++) {
    outer($store);
    array_map('burn', [1, 2, 3]);
}
";

fn php() -> Result<()> {
    let sleeps = "<main>:25 outer:15 Store::locked:7 {closure}:16 Store::nap:11";
    check("php", PHP, &Expected { sleeps, computes: "burn" })
}

const RUBY: &str = "\
class Store
  def initialize
    @lock = Mutex.new
  end
  def locked
    @lock.synchronize do
      yield 0.04
    end
  end
  def self.nap(seconds)
    sleep(seconds)
  end
end
def outer(store)
  store.locked { |seconds|
    Store.nap(seconds)
  }
end
def burn(x)
  sum = i = 0
  while i < 400000
    sum += i * x
    i += 1
  end
  sum
end
store = Store.new
5.times do
  outer(store)
  [1, 2, 3].map { |x| burn(x) }
end
";

fn ruby() -> Result<()> {
    let sleeps = "<main>:28 block in <main>:29 outer:15 locked:6 block in locked:7 block in outer:16 nap:11";
    check("ruby", RUBY, &Expected { sleeps, computes: "burn" })
}
