//! Where names come from: run-time code by the maps of its runtime, files in other mount namespaces, files that are gone,
//! debug information in files of its own.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{Recording, Running, needs_program, needs_recording, number, run_dwell, text};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("symbols::python_map", python_map),
        Case::new("symbols::foreign_map", foreign_map),
        Case::new("symbols::maps_of_earlier_processes", maps_of_earlier_processes),
        Case::new("symbols::mount_namespace", mount_namespace),
        Case::new("symbols::short_lived_in_a_namespace", short_lived_in_a_namespace),
        Case::new("symbols::replaced_while_it_ran", replaced_while_it_ran),
        Case::new("symbols::replaced_before_finalization", replaced_before_finalization),
        Case::new("symbols::debug_link", debug_link),
        Case::new("symbols::started_by_a_link", started_by_a_link),
        Case::new("symbols::search_dir", search_dir),
        Case::new("symbols::debuginfod", debuginfod),
        Case::new("symbols::mini_debug_info", mini_debug_info),
        Case::new("symbols::damaged_files", damaged_files),
        Case::new("symbols::scopes", scopes),
    ]
}

/// Functions by CPU time, the largest first.
pub fn functions(recording: &Recording) -> Result<Vec<Value>> {
    recording.rows(&["hotspots", "--limit", "500"])
}

pub fn find<'a>(rows: &'a [Value], function: &str) -> Result<&'a Value> {
    let names: Vec<&str> = rows.iter().take(8).map(|row| text(row, "function")).collect();
    let found = rows.iter().find(|row| text(row, "function") == function);
    found.with_context(|| format!("{function} is not among the functions: {names:?}"))
}

/// The names on the stack of the function's first sample, itself first.
pub fn stack(row: &Value) -> Vec<&str> {
    row["top_stack"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The function's part of the CPU time.
pub fn share(recording: &Recording, row: &Value) -> Result<f64> {
    Ok(number(row, "cpu_ns")? / number(&recording.report(&["summary"])?, "cpu_ns")?)
}

const PYTHON: &str = "
def inner(n):
    s = 0
    for i in range(n): s += i * i
    return s
for i in range(150): inner(20000)
";

/// The first Python that names its functions to profilers.
fn python_with_maps() -> Result<String> {
    let versions = PathBuf::from(std::env::var("HOME").unwrap_or_default()).join(".pyenv/versions");
    let installed = fs::read_dir(versions).into_iter().flatten().flatten().map(|entry| entry.path());
    let candidates = installed.map(|version| version.join("bin/python3")).chain([PathBuf::from("/usr/bin/python3")]);
    let takes_option = |path: &PathBuf| {
        let check = "import sys; sys.exit(not sys.is_stack_trampoline_active())";
        Command::new(path).args(["-X", "perf", "-c", check]).output().is_ok_and(|output| output.status.success())
    };
    let found = candidates.into_iter().find(takes_option);
    found
        .map(|path| path.display().to_string())
        .ok_or_else(|| Skip("no Python with -X perf is installed".into()).into())
}

fn python_map() -> Result<()> {
    needs_recording()?;
    let python = python_with_maps()?;
    let recording = Recording::of(&[], &[&python, "-X", "perf", "-c", PYTHON])?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    let rows = recording.rows(&["top-down", "--limit", "2000"])?;
    let inner = find(&rows, "inner")?;
    ensure!(share(&recording, inner)? > 0.3, "inner has {} of the CPU time", share(&recording, inner)?);
    // What the interpreter's own frames tell as well is told once.
    let leaves = functions(&recording)?;
    let times = leaves.iter().map(|row| stack(row).iter().filter(|name| **name == "inner").count());
    ensure!(times.max() == Some(1), "inner is not once on the stacks that it is on");
    Ok(())
}

/// A map that is a link is not followed: it is counted, and nothing of it comes into the result.
fn foreign_map() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let secret = folder.path().join("secret");
    fs::write(&secret, "1000 1000 secret\n")?;
    let script = format!("ln -s {} /tmp/perf-$$.map; sleep 0.2", secret.display());
    let recording = Recording::of(&[], &["sh", "-c", &script])?;
    let links = fs::read_dir("/tmp")?.flatten().map(|entry| entry.path());
    let ours = links.filter(|path| fs::read_link(path).is_ok_and(|target| target == secret));
    ours.for_each(|path| drop(fs::remove_file(path)));
    let losses = recording.report(&["losses"])?.to_string();
    ensure!(losses.contains("jit_maps_unreadable"), "{losses}");
    ensure!(kept(&recording, ".map")?.is_empty(), "{:?}", kept(&recording, ".map")?);
    Ok(())
}

/// Maps that earlier processes with the same ids left behind are not those of the processes that have these ids now.
fn maps_of_earlier_processes() -> Result<()> {
    needs_recording()?;
    needs_program("unshare")?;
    // In a namespace of its own its ids are 1, 2, …
    let script = "mount -t tmpfs none /tmp || exit 9; i=4; \
                  while [ $i -lt 60 ]; do echo '1000 10 old' >/tmp/perf-$i.map; i=$((i + 1)); done; sleep 4; \
                  sleep 0.3; sleep 0.3; sh -c 'echo 1000 10 own >/tmp/perf-$$.map; sleep 0.3'; sleep 0.3";
    let recording = Recording::of(&[], &["unshare", "-mpf", "sh", "-c", script])?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    let maps = kept(&recording, ".map")?;
    ensure!(!maps.is_empty(), "its own map was not kept");
    for map in maps {
        let text = fs::read_to_string(recording.path().join("modules").join(&map))?;
        ensure!(text == "1000 10 own\n", "{map}: {text}");
    }
    Ok(())
}

/// Builds a program that spends `milliseconds` in a function of this name.
fn build(path: &Path, function: &str, milliseconds: u32, options: &[&str]) -> Result<()> {
    let compiler = needs_program("cc")?;
    let source = path.with_extension("c");
    fs::write(
        &source,
        format!(
            "#include <time.h>\n\
             static volatile unsigned long sum;\n\
             __attribute__((noinline)) static void {function}(void) {{ for (int i = 0; i < 100000; i++) sum += i; }}\n\
             int main(void) {{\n\
             struct timespec now; clock_gettime(CLOCK_MONOTONIC, &now);\n\
             long end = now.tv_sec * 1000 + now.tv_nsec / 1000000 + {milliseconds};\n\
             do {{ {function}(); clock_gettime(CLOCK_MONOTONIC, &now); }}\n\
             while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < end);\n\
             return 0; }}\n"
        ),
    )?;
    run(Command::new(compiler).args(["-O1", "-o"]).arg(path).arg(&source).args(options))
}

/// A shell in a mount namespace of its own runs `inner`, which a file system of its own hides `outer` behind.
fn in_a_namespace(folder: &Path, milliseconds: u32) -> Result<Recording> {
    needs_recording()?;
    needs_program("unshare")?;
    let hidden = folder.join("hidden");
    fs::create_dir(&hidden)?;
    build(&hidden.join("app"), "outer_function", 300, &[])?;
    build(&folder.join("inner"), "inner_function", milliseconds, &[])?;
    let (place, inner) = (hidden.display(), folder.join("inner").display().to_string());
    let script = format!("mount -t tmpfs none {place} && cp {inner} {place}/app && exec {place}/app");
    let recording = Recording::of(&["--sampling-interval", "1"], &["unshare", "-m", "sh", "-c", &script])?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    Ok(recording)
}

fn mount_namespace() -> Result<()> {
    let folder = TempDir::new()?;
    let recording = in_a_namespace(folder.path(), 300)?;
    let rows = functions(&recording)?;
    let inner = find(&rows, "inner_function")?;
    ensure!(share(&recording, inner)? > 0.5, "{inner}");
    ensure!(find(&rows, "outer_function").is_err(), "the file of this machine's namespace was used");
    ensure!(kept(&recording, ".elf")?.len() == 1, "{:?} were kept", kept(&recording, ".elf")?);
    Ok(())
}

fn short_lived_in_a_namespace() -> Result<()> {
    let folder = TempDir::new()?;
    let recording = in_a_namespace(folder.path(), 5)?;
    find(&functions(&recording)?, "inner_function").map(drop)
}

/// The names are those of the file that ran, although another one has its path when the program ends.
fn replaced_while_it_ran() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let path = |name: &str| folder.path().join(name);
    build(&path("app"), "first_build", 300, &[])?;
    build(&path("new"), "second_build", 300, &[])?;
    let script = format!("{0}/app & sleep 0.1; mv {0}/new {0}/app; wait", folder.path().display());
    let recording = Recording::of(&[], &["sh", "-c", &script])?;
    let rows = functions(&recording)?;
    let named = share(&recording, find(&rows, "first_build")?)?;
    let unnamed = rows.iter().filter(|row| text(row, "function").starts_with("[app]+0x"));
    let unnamed = unnamed.map(|row| share(&recording, row)).sum::<Result<f64>>()?;
    ensure!(named > 0.05 && named > 4.0 * unnamed, "{named} of the CPU time has the name, {unnamed} none");
    ensure!(find(&rows, "second_build").is_err(), "names of a file that did not run");
    Ok(())
}

/// A file of another build is said to be one, and not guessed at.
fn replaced_before_finalization() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let app = folder.path().join("app");
    build(&app, "first_build", 200, &[])?;
    let recording = Recording::of(&["--finalization-mode", "deferred"], &[&app.display().to_string()])?;
    fs::remove_file(&app)?;
    build(&app, "second_build", 200, &[])?;
    let output = run_dwell(&["finalize", &recording.path().display().to_string()])?;
    ensure!(output.status.success(), "{}", output.stderr);
    let rows = functions(&recording)?;
    let unnamed = rows.iter().find(|row| text(row, "function").starts_with("[app]+0x")).context("no code of app")?;
    ensure!(share(&recording, unnamed)? > 0.01 && find(&rows, "second_build").is_err(), "{unnamed}");
    let report = recording.report(&["losses"])?.to_string();
    ensure!(report.contains("build_id_mismatch"), "{report}");
    Ok(())
}

/// A stripped program, and its debug information in a file of its own.
struct Stripped {
    folder: TempDir,
    app: PathBuf,
    debug: PathBuf,
    build_id: String,
}

impl Stripped {
    fn build() -> Result<Self> {
        needs_recording()?;
        let folder = TempDir::new()?;
        let (app, debug) = (folder.path().join("app"), folder.path().join("elsewhere"));
        build(&app, "stripped_function", 300, &["-g", "-Wl,--build-id"])?;
        run(Command::new(needs_program("objcopy")?).arg("--only-keep-debug").args([&app, &debug]))?;
        run(Command::new(needs_program("strip")?).arg(&app))?;
        let notes = Running::start(Command::new(needs_program("readelf")?).arg("-n").arg(&app))?.finish()?.stdout;
        let build_id = notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")).context("no build id")?;
        Ok(Self { app, debug, build_id: build_id.to_owned(), folder })
    }

    fn record(&self, options: &[&str], environment: &[(&str, &str)]) -> Result<Recording> {
        Recording::with_environment(options, &[&self.app.display().to_string()], environment)
    }
}

/// The function has its name and its line.
fn expect_debug_information(recording: &Recording) -> Result<()> {
    let rows = functions(recording)?;
    let row = find(&rows, "stripped_function")?;
    ensure!(text(row, "source").contains("app.c:3"), "{row}");
    Ok(())
}

fn debug_link() -> Result<()> {
    let stripped = Stripped::build()?;
    let linked = stripped.folder.path().join("app.debug");
    fs::rename(&stripped.debug, &linked)?;
    let link = format!("--add-gnu-debuglink={}", linked.display());
    run(Command::new(needs_program("objcopy")?).arg(link).arg(&stripped.app))?;
    expect_debug_information(&stripped.record(&[], &[])?)?;
    // A debug file of another build is not used; nor does it cost the names that there are.
    build(&stripped.folder.path().join("other"), "other_function", 1, &["-g"])?;
    fs::rename(stripped.folder.path().join("other"), &linked)?;
    let rows = functions(&stripped.record(&[], &[])?)?;
    ensure!(find(&rows, "other_function").is_err() && find(&rows, "stripped_function").is_err(), "a wrong debug file");
    ensure!(rows.iter().any(|row| text(row, "function").starts_with("[app]func@0x")), "no code of app");
    Ok(())
}

/// What only a link started is called by the link's name.
fn started_by_a_link() -> Result<()> {
    let mut stripped = Stripped::build()?;
    let link = stripped.folder.path().join("server");
    std::os::unix::fs::symlink(&stripped.app, &link)?;
    stripped.app = link;
    let rows = functions(&stripped.record(&[], &[])?)?;
    let called = |start: &str| rows.iter().any(|row| text(row, "function").starts_with(start));
    ensure!(called("[server]func@0x") && !called("[app]"), "{rows:#?}");
    Ok(())
}

fn search_dir() -> Result<()> {
    let stripped = Stripped::build()?;
    let (first, rest) = stripped.build_id.split_at(2);
    let place = stripped.folder.path().join("symbols");
    fs::create_dir_all(place.join(".build-id").join(first))?;
    fs::copy(&stripped.debug, place.join(".build-id").join(first).join(format!("{rest}.debug")))?;
    let place = place.display().to_string();
    expect_debug_information(&stripped.record(&["--search-dir", &place], &[])?)
}

/// A debuginfod server that has one file. Returns its address.
fn serve(build_id: &str, file: &Path) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    let (request, body) = (format!("GET /buildid/{build_id}/debuginfo "), fs::read(file)?);
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let count = connection.read(&mut head).unwrap_or(0);
            let known = head[..count].starts_with(request.as_bytes());
            let (status, body) = if known { ("200 OK", body.as_slice()) } else { ("404 Not Found", &b""[..]) };
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = connection.write_all(answer.as_bytes()).and_then(|()| connection.write_all(body));
        }
    });
    Ok(address)
}

/// Debug files come from servers when servers are named, and only then.
fn debuginfod() -> Result<()> {
    needs_program("curl")?;
    let stripped = Stripped::build()?;
    let cache = TempDir::new()?;
    let place = cache.path().display().to_string();
    let cached = ("DEBUGINFOD_CACHE_PATH", place.as_str());
    let rows = functions(&stripped.record(&[], &[cached, ("DEBUGINFOD_URLS", "")])?)?;
    ensure!(find(&rows, "stripped_function").is_err(), "the name is known without a server");
    let url = serve(&stripped.build_id, &stripped.debug)?;
    expect_debug_information(&stripped.record(&[], &[cached, ("DEBUGINFOD_URLS", &url)])?)?;
    ensure!(cache.path().join(&stripped.build_id).join("debuginfo").is_file(), "it is not in the cache");
    // Nobody listens there: a notice, and the file from the cache.
    let dead = ("DEBUGINFOD_URLS", "http://127.0.0.1:1");
    expect_debug_information(&stripped.record(&[], &[cached, dead])?)?;
    fs::remove_dir_all(cache.path().join(&stripped.build_id))?;
    let recording = stripped.record(&[], &[cached, dead])?;
    ensure!(recording.report(&["summary"])?.to_string().contains("debuginfod server"), "nothing says that it failed");
    Ok(())
}

/// The small symbol table that Fedora's packages carry.
fn mini_debug_info() -> Result<()> {
    let (objcopy, xz) = (needs_program("objcopy")?, needs_program("xz")?);
    let stripped = Stripped::build()?;
    let (mini, list) = (stripped.folder.path().join("mini"), stripped.folder.path().join("list"));
    fs::write(&list, "stripped_function\n")?;
    let keep = format!("--keep-symbols={}", list.display());
    run(Command::new(&objcopy).args(["-S", "--remove-section=.comment", &keep]).args([&stripped.debug, &mini]))?;
    run(Command::new(xz).arg(&mini))?;
    let section = format!("--add-section=.gnu_debugdata={}.xz", mini.display());
    run(Command::new(&objcopy).arg(section).arg(&stripped.app))?;
    find(&functions(&stripped.record(&[], &[])?)?, "stripped_function").map(drop)
}

/// Programs whose section headers lead nowhere, and one of 2 GB: their names are missing, nothing else.
fn damaged_files() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let app = folder.path().join("app");
    for (offset, value) in [(0x28, u64::MAX - 64), (0x28, 1 << 30), (0x28, 0x40)] {
        build(&app, "busy_function", 100, &[])?;
        let mut bytes = fs::read(&app)?;
        bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
        fs::write(&app, bytes)?;
        fs::OpenOptions::new().write(true).open(&app)?.set_len(2 << 30)?;
        let recording = Recording::of(&[], &[&app.display().to_string()])?;
        ensure!(recording.output.status.success(), "{}", recording.output.stderr);
        let rows = functions(&recording)?;
        let named = rows.iter().any(|row| text(row, "function").starts_with("[app]"));
        ensure!(named || find(&rows, "busy_function").is_ok(), "no code of app");
    }
    Ok(())
}

const NESTED: &str = "
#include <chrono>
#include <cstdio>
namespace ns {
namespace {
inline double heavy(double x) { double s = 0; for (int i = 1; i < 2000; i++) s += x / i; return s; }
struct Worker {
    double total = 0;
    __attribute__((noinline)) void run(int n) {
        auto add = [&](int i) { total += heavy(i); };
        for (int i = 0; i < n; i++) add(i);
    }
};
}
double go() { Worker worker; worker.run(2000); return worker.total; }
}
int main() {
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    double s = 0;
    while (std::chrono::steady_clock::now() < end) s += ns::go();
    printf(\"%f\\n\", s);
}
";

/// What is inlined has frames of its own with scopes, unless they are not wanted.
fn scopes() -> Result<()> {
    needs_recording()?;
    let compiler = needs_program("g++")?;
    let folder = TempDir::new()?;
    let (source, app) = (folder.path().join("app.cpp"), folder.path().join("app"));
    fs::write(&source, NESTED)?;
    run(Command::new(compiler).args(["-O2", "-g", "-o"]).args([&app, &source]))?;
    let recording = Recording::of(&[], &[&app.display().to_string()])?;
    let rows = functions(&recording)?;
    let heavy = find(&rows, "ns::(anonymous namespace)::heavy")?;
    ensure!(share(&recording, heavy)? > 0.5, "{heavy}");
    let chain = stack(heavy);
    let run = "ns::(anonymous namespace)::Worker::run";
    let line = NESTED.lines().position(|line| line.contains("[")).context("no lambda")? + 1;
    let lambda = format!("{run}::{{lambda:{line}}}::operator()");
    ensure!(chain.get(1..3) == Some(&[lambda.as_str(), run]), "{chain:?}");
    let whole = recording.rows(&["hotspots", "--inline-mode", "off", "--limit", "500"])?;
    ensure!(share(&recording, find(&whole, run)?)? > 0.5, "inlined functions are not their callers'");
    ensure!(find(&whole, "ns::(anonymous namespace)::heavy").is_err(), "an inlined function with --inline-mode off");
    Ok(())
}

/// The files that the collector kept whose names end so.
fn kept(recording: &Recording, end: &str) -> Result<Vec<String>> {
    let names =
        fs::read_dir(recording.path().join("modules"))?.flatten().filter_map(|it| it.file_name().into_string().ok());
    Ok(names.filter(|name| name.ends_with(end)).collect())
}

/// Runs a command that has to succeed.
pub fn run(command: &mut Command) -> Result<()> {
    let output = Running::start(command)?.finish()?;
    ensure!(output.status.success(), "{command:?}: {}", output.stderr);
    Ok(())
}
