//! `dwell anatomy`: instruction traces of real programs, and of a guest with its kernel.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::guest;
use crate::harness::{Case, Skip};
use crate::recording::{Output, Running, dwell, needs_program, number, root, text, wait_for};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("anatomy::calls_are_those_that_the_program_makes", calls_are_the_programs),
        Case::new("anatomy::programs_of_every_build", programs_of_every_build),
        Case::new("anatomy::a_trace_is_small_and_always_the_same", small_and_repeatable),
        Case::new("anatomy::a_window_is_a_part", windows),
        Case::new("anatomy::a_window_has_the_itt_tasks", task_window),
        Case::new("anatomy::threads_children_and_other_programs", threads_and_children),
        Case::new("anatomy::a_signal_ends_the_recording", ended_by_a_signal),
        Case::new("anatomy::what_cannot_be_traced_is_said", untraceable),
        Case::new("anatomy::damaged_traces_are_refused", damaged),
        Case::new("anatomy::packets_from_the_interrupt_to_the_program", packets),
        Case::new("anatomy::a_guest_that_hangs_is_ended", hanging_guest),
    ]
}

/// A guest's boot takes three seconds alone, and minutes beside much else.
const LIMIT: Duration = Duration::from_secs(900);

/// A folder in which programs are built and traced.
struct Bench {
    folder: TempDir,
    gcc: String,
}

impl Bench {
    fn new() -> Result<Self> {
        let emulator = needs_program("qemu-x86_64")?;
        let help = Command::new(&emulator).arg("-help").output()?;
        if !String::from_utf8_lossy(&help.stdout).contains("-plugin") {
            return Err(Skip(format!("{emulator} takes no plug-ins")).into());
        }
        Ok(Self { folder: TempDir::new()?, gcc: needs_program("gcc")? })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn build(&self, name: &str, source: &str, options: &[&str]) -> Result<String> {
        let file = self.path(&format!("{name}.c"));
        fs::write(&file, source)?;
        let program = self.path(name);
        let mut gcc = Command::new(&self.gcc);
        gcc.args(["-O1", "-g"]).args(options).arg("-o").arg(&program).arg(&file);
        let output = Running::start(&mut gcc)?.finish()?;
        ensure!(output.status.success(), "gcc: {}", output.stderr);
        Ok(program.display().to_string())
    }

    /// `dwell anatomy` in the folder.
    fn anatomy(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = dwell(&["anatomy"]);
        command.args(arguments).current_dir(self.folder.path());
        Running::start(&mut command)?.finish_within(LIMIT)
    }

    /// The rows of a report of a trace.
    fn rows(&self, report: &str, trace: &str, options: &[&str]) -> Result<Vec<Value>> {
        let arguments = [&["report", report, trace, "--format", "json"], options].concat();
        let output = self.anatomy(&arguments)?;
        ensure!(output.status.success(), "{arguments:?}: {}", output.stderr);
        let document: Value = serde_json::from_str(&output.stdout)?;
        Ok(document["rows"].as_array().context("no rows")?.clone())
    }

    fn instructions(&self, trace: &str) -> Result<f64> {
        let output = self.anatomy(&["report", "summary", trace, "--format", "json"])?;
        number(&serde_json::from_str(&output.stdout)?, "instructions")
    }
}

/// Recursion, a library that calls back, a jump out of three frames; each function says when it begins and ends.
const CALLS: &str = r#"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#define QUIET __attribute__((no_instrument_function))
#define APART __attribute__((noipa))
static jmp_buf far;
APART int leaf(int x) { return x * 3 + 1; }
APART int middle(int x) { int sum = 0; for (int i = 0; i < x; i++) sum += leaf(i); return sum; }
APART int again(int n) { return n < 2 ? n : again(n - 1) + again(n - 2); }
APART int compare(const void *a, const void *b) { return leaf(*(int *)a) - leaf(*(int *)b); }
APART void jump(int deep) { if (deep) jump(deep - 1); else longjmp(far, 1); }
APART int work(void) {
    int data[] = {5, 3, 9, 1, 7, 2};
    int sum = middle(4) + again(7);
    qsort(data, 6, sizeof *data, compare);
    if (!setjmp(far)) jump(3);
    return sum + leaf(data[0]);
}
static const struct { void *place; const char *name; } names[] = {
    {leaf, "leaf"}, {middle, "middle"}, {again, "again"}, {compare, "compare"}, {jump, "jump"}, {work, "work"}};
static struct { void *place; int depth; } said[4096];
static int count, depth, on;
QUIET void __cyg_profile_func_enter(void *place, void *caller) {
    (void)caller;
    if (on && count < 4096) { said[count].place = place; said[count++].depth = depth; }
    depth++;
}
QUIET void __cyg_profile_func_exit(void *place, void *caller) { (void)place; (void)caller; depth--; }
QUIET int main(void) {
    on = 1; depth = 0;
    int result = work();
    on = 0;
    for (int i = 0; i < count; i++)
        for (unsigned n = 0; n < sizeof names / sizeof *names; n++)
            if (names[n].place == said[i].place) printf("%d %s\n", said[i].depth, names[n].name);
    return result & 1;
}
"#;

/// What the program said: the depth of each call, and its function. Of the calls that the jump leaves no exit is said, so that
/// behind them the program's depth is too high by their number.
fn corrected(said: &str) -> Vec<(i64, String)> {
    let mut calls = Vec::new();
    let mut jumped = 0;
    for words in said.lines().map(|line| line.split(' ').collect::<Vec<_>>()) {
        let [depth, name] = words[..] else { continue };
        let Ok(depth) = depth.parse::<i64>() else { continue };
        let is_jump = name == "jump";
        calls.push((depth - if is_jump { 0 } else { jumped }, name.to_owned()));
        jumped += i64::from(is_jump);
    }
    calls
}

fn calls_are_the_programs() -> Result<()> {
    let bench = Bench::new()?;
    let program = bench.build("calls", CALLS, &["-finstrument-functions"])?;
    let run = bench.anatomy(&["run", "--trace", "calls.dwt", "--", &program])?;
    let said = corrected(&run.stdout);
    let names: Vec<&str> = ["leaf", "middle", "again", "compare", "jump", "work"].to_vec();
    ensure!(run.status.code().is_some(), "{}", run.stderr);
    let rows = bench.rows("trace", "calls.dwt", &["--function", "work", "--limit", "1000000"])?;
    // Depths count the library's functions too: of ours, only how they nest is compared.
    let mut open: Vec<i64> = Vec::new();
    let mut seen = Vec::new();
    for row in &rows {
        let depth = row["depth"].as_i64().context("no depth")?;
        open.retain(|&above| above < depth);
        if names.contains(&text(row, "function")) {
            seen.push((open.len() as i64, text(row, "function").to_owned()));
            open.push(depth);
        }
    }
    ensure!(said.len() > 40, "the program said {said:?}\n{}", run.stderr);
    ensure!(seen == said, "seen {seen:?}\nsaid {said:?}");
    Ok(())
}

const LOOP: &str = r#"
#include <stdio.h>
#include <string.h>
__attribute__((noipa)) long busy(long turns) { volatile long sum = 0; for (long i = 0; i < turns; i++) sum += i; return sum; }
int main(void) { char text[64]; sprintf(text, "%ld", busy(200000)); puts(text); return (int)strlen(text) - 4; }
"#;

fn programs_of_every_build() -> Result<()> {
    let bench = Bench::new()?;
    let kinds: [(&str, &[&str]); 4] =
        [("pie", &["-pie", "-fPIE"]), ("fixed", &["-no-pie"]), ("static", &["-static"]), ("stripped", &["-s"])];
    for (kind, options) in kinds {
        let program = bench.build(kind, LOOP, options)?;
        let trace = format!("{kind}.dwt");
        let run = bench.anatomy(&["run", "--trace", &trace, "--", &program])?;
        ensure!(run.stdout.starts_with("19999900000\n"), "{kind}: {}", run.stdout);
        ensure!(run.code() == 7, "{kind}: status {} {}", run.code(), run.stderr);
        let rows = bench.rows("hotspots", &trace, &[])?;
        let first = rows.first().context("no rows")?;
        let expected = if kind == "stripped" { format!("[{kind}]") } else { "busy".to_owned() };
        ensure!(text(first, "function") == expected, "{kind}: {first}");
        ensure!(number(first, "instructions")? > 800_000.0, "{kind}: {first}");
    }
    Ok(())
}

fn small_and_repeatable() -> Result<()> {
    let bench = Bench::new()?;
    let program = bench.build("busy", LOOP, &[])?;
    for trace in ["a.dwt", "b.dwt"] {
        bench.anatomy(&["run", "--trace", trace, "--", &program])?;
    }
    let instructions = bench.instructions("a.dwt")?;
    let bytes = fs::metadata(bench.path("a.dwt"))?.len() as f64;
    ensure!(bytes / instructions < 1.5, "{bytes} bytes for {instructions} instructions");
    let report = |trace| bench.anatomy(&["report", "hotspots", trace, "--format", "json"]).map(|it| it.stdout);
    ensure!(report("a.dwt")? == report("a.dwt")?, "the same trace is not the same report");
    let streamed = bench.anatomy(&["run", "--no-trace", "--report", "summary", "--format", "json", "--", &program])?;
    let document = streamed.stdout.split_once('\n').context("no output")?.1;
    let streamed = number(&serde_json::from_str(document)?, "instructions")?;
    // Where the stack and the libraries lie changes a handful of instructions in the dynamic linker.
    ensure!((streamed / instructions - 1.0).abs() < 0.05, "{streamed} streamed, {instructions} in the file");
    let (phases, wrong) = (bench.path("mine.toml"), bench.path("wrong.toml"));
    fs::write(&phases, "[[phase]]\nname = \"mine\"\nfunctions = [\"busy\"]\n")?;
    let rows = bench.rows("phases", "a.dwt", &["--phases", &phases.display().to_string()])?;
    ensure!(rows.iter().any(|row| text(row, "phase") == "mine"), "{rows:?}");
    fs::write(&wrong, "[[phase]]\nnames = 1\n")?;
    refused(&bench, &["report", "phases", "a.dwt", "--phases", "wrong.toml"], "no table of phases")?;
    refused(&bench, &["report", "phases", "a.dwt", "--machine", "wrong.toml"], "")?;
    refused(&bench, &["run", "--report", "code", "--", &program], "is of a function of a trace")?;
    refused(&bench, &["report", "nothing", "a.dwt"], "there is no report")
}

fn windows() -> Result<()> {
    let bench = Bench::new()?;
    let program = bench.build("busy", LOOP, &[])?;
    let run = |window: &str, trace: &str| bench.anatomy(&["run", "--window", window, "--trace", trace, "--", &program]);
    run("busy", "function.dwt")?;
    let rows = bench.rows("hotspots", "function.dwt", &[])?;
    ensure!(rows.len() == 1 && text(&rows[0], "function") == "busy", "{rows:?}");
    // Within the million instructions of `busy`, wherever the linker's end: blocks are whole, of a few instructions each.
    run("500000:5000", "count.dwt")?;
    let rows = bench.rows("hotspots", "count.dwt", &[])?;
    ensure!(rows.len() == 1 && text(&rows[0], "function") == "busy", "{rows:?}");
    let count = bench.instructions("count.dwt")?;
    ensure!((5000.0..5100.0).contains(&count), "{count} instructions in a window of 5000");
    run("busy..sprintf", "between.dwt")?;
    let rows = bench.rows("hotspots", "between.dwt", &[])?;
    ensure!(rows.iter().any(|row| text(row, "function") == "busy"), "{rows:?}");
    let empty = run("nowhere", "nowhere.dwt")?;
    ensure!(
        empty.stderr.contains("no function `nowhere` was executed") && empty.stderr.contains("hint:"),
        "{}",
        empty.stderr
    );
    ensure!(!bench.path("nowhere.dwt").exists(), "a trace of nothing is left");
    Ok(())
}

const TASKS: &str = r#"
#include "itt_stub.h"
__attribute__((noipa)) void inside(void) { for (volatile long i = 0; i < 10000; i++); }
__attribute__((noipa)) void outside(void) { for (volatile long i = 0; i < 10000; i++); }
int main(void) {
    __itt_domain *domain = ITT_GET(domain_create, "window");
    __itt_string_handle *task = ITT_GET(string_handle_create, "task");
    for (int i = 0; i < 3; i++) {
        outside();
        ITT_IN(task_begin, domain, __itt_null, __itt_null, task);
        inside();
        ITT_IN(task_end, domain);
    }
    outside();
    return 0;
}
"#;

fn task_window() -> Result<()> {
    let bench = Bench::new()?;
    let samples = root().join("samples");
    let (headers, stub) = (format!("-I{}", samples.display()), samples.join("itt_stub.c").display().to_string());
    let program = bench.build("tasks", TASKS, &[&headers, &stub, "-ldl"])?;
    let run = bench.anatomy(&["run", "--window", "task", "--trace", "tasks.dwt", "--", &program])?;
    ensure!(run.code() == 0, "{}", run.stderr);
    let rows = bench.rows("hotspots", "tasks.dwt", &["--limit", "1000"])?;
    let instructions = |name: &str| {
        let row = rows.iter().find(|row| text(row, "function") == name);
        row.map_or(Ok(0.0), |row| number(row, "instructions"))
    };
    ensure!(instructions("inside")? > 3.0 * 20_000.0 && instructions("outside")? == 0.0, "{rows:?}");
    let program = bench.build("busy", LOOP, &[])?;
    refused(&bench, &["run", "--window", "task", "--", &program], "began no ITT task")
}

const THREADS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) void *spin(void *turns) { for (volatile long i = 0; i < (long)turns; i++); return 0; }
int main(int count, char **words) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, spin, (void *)100000);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    if (fork() == 0) { spin((void *)50000000); _exit(0); }
    wait(0);
    if (count > 1) execl(words[1], words[1], "gone on", (char *)0);
    puts("done");
    return 5;
}
"#;

const ENDLESS: &str = r#"
#include <stdio.h>
int main(void) { puts("on"); fflush(stdout); for (volatile long i = 0;; i++); }
"#;

/// What `kill` sends goes to Dwell alone: the program ends, and what was recorded stays.
fn ended_by_a_signal() -> Result<()> {
    let bench = Bench::new()?;
    let program = bench.build("endless", ENDLESS, &[])?;
    let mut command = dwell(&["anatomy", "run", "--trace", "ended.dwt", "--", &program]);
    let running = Running::start(command.current_dir(bench.folder.path()))?;
    wait_for("the program", || running.stdout().starts_with("on").then_some(()))?;
    running.signal(Signal::TERM)?;
    let output = running.finish_within(LIMIT)?;
    ensure!(output.stderr.contains("instructions in"), "{}", output.stderr);
    ensure!(bench.instructions("ended.dwt")? > 1000.0, "{}", output.stderr);
    Ok(())
}

fn threads_and_children() -> Result<()> {
    let bench = Bench::new()?;
    let program = bench.build("threads", THREADS, &["-pthread"])?;
    let run = bench.anatomy(&["run", "--trace", "threads.dwt", "--", &program])?;
    ensure!(run.code() == 5 && run.stdout.starts_with("done\n"), "{} {}", run.code(), run.stderr);
    ensure!(run.stdout.contains("1 child processes were not recorded"), "{}", run.stdout);
    let rows = bench.rows("hotspots", "threads.dwt", &[])?;
    let spin = rows.iter().find(|row| text(row, "function") == "spin").context("no spin")?;
    let instructions = number(spin, "instructions")?;
    // Four threads of 100,000 turns of five instructions or so, and nothing of the child's 50 million.
    ensure!((1_200_000.0..4_000_000.0).contains(&instructions), "{spin}");
    let echo = needs_program("echo")?;
    let left = bench.anatomy(&["run", "--no-trace", "--", &program, &echo])?;
    ensure!(left.stdout.starts_with("gone on\n") && left.code() == 0, "{} {}", left.stdout, left.stderr);
    ensure!(left.stderr.contains("started another one in its place"), "{}", left.stderr);
    Ok(())
}

/// A command that must fail with one sentence and a hint.
fn refused(bench: &Bench, arguments: &[&str], sentence: &str) -> Result<()> {
    let output = bench.anatomy(arguments)?;
    let told = output.stderr.starts_with("error: ") && output.stderr.contains("\nhint: ");
    ensure!(output.code() != 0 && told, "{arguments:?}: {} {}", output.code(), output.stderr);
    ensure!(output.stderr.contains(sentence), "{arguments:?}: {}", output.stderr);
    Ok(())
}

fn untraceable() -> Result<()> {
    let bench = Bench::new()?;
    let program = |name: &str, content: &[u8]| -> Result<String> {
        use std::os::unix::fs::PermissionsExt;
        let path = bench.path(name);
        fs::write(&path, content)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path.display().to_string())
    };
    let mut head = fs::read(std::env::current_exe()?)?[..64].to_vec();
    head[4] = 1;
    head[18] = 3;
    refused(&bench, &["run", "--", &program("old", &head)?], "32-bit x86")?;
    refused(&bench, &["run", "--", &program("script", b"#!/bin/sh\necho\n")?], "is a script of /bin/sh")?;
    refused(&bench, &["run", "--", &program("text", b"hello\n")?], "no ELF header")?;
    refused(&bench, &["run", "--", &program("empty", b"")?], "no ELF header")?;
    refused(&bench, &["run", "--", "/nowhere/program"], "there is no program")?;
    refused(&bench, &["run", "--machine", "abacus", "--", "true"], "there is no machine")?;
    refused(&bench, &["run", "--trace", "/nowhere/x.dwt", "--", "true"], "cannot write")?;
    refused(&bench, &["report", "hotspots"], "there is no trace in this folder")?;
    refused(&bench, &["system", "--scenario", "nowhere"], "there is no scenario")?;
    refused(&bench, &["system", "--scenario", "unix", "--kernel", "/etc/passwd"], "vmlinuz-VERSION")?;
    let mut command = dwell(&["anatomy", "run", "--", "/bin/true"]);
    let output = Running::start(command.env("PATH", "/nowhere").current_dir(bench.folder.path()))?.finish()?;
    ensure!(
        output.code() == 77 && output.stderr.contains("hint: sudo apt-get install -y qemu-user\n"),
        "{}",
        output.stderr
    );
    Ok(())
}

fn damaged() -> Result<()> {
    let bench = Bench::new()?;
    bench.anatomy(&["run", "--trace", "whole.dwt", "--", "/bin/true"])?;
    let whole = fs::read(bench.path("whole.dwt"))?;
    let changed = |at: usize| {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        changed
    };
    // The last frame, of a few bytes, says that this is the end.
    let (in_the_head, at_the_end) = (changed(24), changed(whole.len() - 2));
    for (content, sentence) in [
        (&whole[..whole.len() / 2], "cut off"),
        (&whole[..whole.len() - 3], "cut off"),
        (&whole[..3], "no instruction trace"),
        (&in_the_head[..], "damaged"),
        (&at_the_end[..], "damaged"),
        (&[][..], "no instruction trace"),
    ] {
        fs::write(bench.path("part.dwt"), content)?;
        refused(&bench, &["report", "hotspots", "part.dwt"], sentence)?;
    }
    refused(&bench, &["report", "hotspots", "/nowhere.dwt"], "cannot read the trace")
}

/// `dwell anatomy system` with a kernel: the one of the tests in guests, else what it finds itself, else the case is skipped.
fn in_guest(bench: &Bench, options: &[&str]) -> Result<Vec<String>> {
    needs_program("qemu-system-x86_64")?;
    let package = guest::package("6.1-amd64").map(|path| path.display().to_string());
    let named = package.as_deref().map_or(Vec::new(), |path| vec!["--kernel", path]);
    let command = |options: &[&str]| -> Vec<String> {
        [&["system"], named.as_slice(), options].concat().into_iter().map(str::to_owned).collect()
    };
    let probe = command(&["--scenario", "unix", "--time-limit", "1ms", "--no-trace"]);
    if bench.anatomy(&words(&probe))?.stderr.contains("there is no kernel") {
        return Err(Skip(
            "no kernel for a guest: scripts/fetch-kernels.sh target/kernels 6.1-amd64 downloads one".into(),
        )
        .into());
    }
    Ok(command(options))
}

fn words(command: &[String]) -> Vec<&str> {
    command.iter().map(String::as_str).collect()
}

fn packets() -> Result<()> {
    let bench = Bench::new()?;
    let run = in_guest(&bench, &["--scenario", "tcp-receive", "--time-limit", "800s", "--trace", "tcp.dwt"])?;
    let run = bench.anatomy(&words(&run))?;
    ensure!(run.status.success(), "{}", run.stderr);
    let buffers = bench.rows("buffers", "tcp.dwt", &[])?;
    let sizes: Vec<f64> = buffers.iter().map(|row| number(row, "buffer_bytes")).collect::<Result<_>>()?;
    ensure!(sizes == (6..=16).map(|shift| f64::from(1 << shift)).collect::<Vec<_>>(), "{sizes:?}");
    let per_buffer = |at: usize| number(&buffers[at], "buffer_instructions");
    ensure!(per_buffer(10)? > 4.0 * per_buffer(0)?, "a buffer of 64 KiB costs as much as one of 64 bytes");
    let costs: Vec<f64> = (0..sizes.len()).map(per_buffer).collect::<Result<_>>()?;
    for (pair, bytes) in costs.windows(2).zip(&sizes) {
        // Each size bears its own packets: that a larger buffer costs much less was what the one before had received for it.
        ensure!(pair[1] > 0.6 * pair[0], "{pair:?} instructions for buffers of {bytes} bytes and twice");
    }
    let phases = bench.rows("phases", "tcp.dwt", &[])?;
    for phase in ["TCP", "IP", "device", "socket", "interrupt", "soft interrupt", "system call", "user", "scheduler"] {
        let row = phases.iter().find(|row| text(row, "phase") == phase).with_context(|| format!("no {phase}"))?;
        ensure!(number(row, "instructions")? > 0.0, "{row}");
    }
    let packets = bench.rows("packets", "tcp.dwt", &[])?;
    ensure!(packets.len() == 64, "{} packets", packets.len());
    let calls = bench.rows("trace", "tcp.dwt", &["--function", "net_rx_action", "--limit", "100000"])?;
    let at = |name: &str| calls.iter().position(|row| text(row, "function") == name);
    let (poll, gro, tcp) = (at("__napi_poll"), at("napi_gro_receive"), at("tcp_v4_rcv"));
    ensure!(poll.is_some() && poll < gro && gro < tcp, "{poll:?} {gro:?} {tcp:?}");
    Ok(())
}

fn hanging_guest() -> Result<()> {
    let bench = Bench::new()?;
    let hangs = in_guest(&bench, &["--scenario", "unix", "--time-limit", "300ms", "--no-trace"])?;
    refused(&bench, &words(&hangs), "did not end within")
}
