//! What programs announce through ITT arrives whole, in whatever way they live and end; and nothing that they write into their
//! shared files hurts the collector.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dwell_itt_wire::{Event, Name, events, names};
use dwell_store::raw::Record;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::conservation;
use crate::harness::Case;
use crate::recording::{
    Recording, Running, collect, needs_program, needs_recording, number, run_dwell, sample, wait_for,
};
use crate::task_probes::each_record;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("itt::threads", threads),
        Case::new("itt::killed", killed),
        Case::new("itt::children", children),
        Case::new("itt::exec", exec),
        Case::new("itt::pauses", pauses),
        Case::new("itt::start_paused", start_paused),
        Case::new("itt::detach", detach),
        Case::new("itt::stitching", stitching),
        Case::new("itt::switched_off", switched_off),
        Case::new("itt::foreign_collector", foreign_collector),
        Case::new("itt::attached", attached),
        Case::new("itt::stale_files", stale_files),
        Case::new("itt::another_user", another_user),
        Case::new("itt::hostile_files", hostile_files),
    ]
}

/// What a raw trace has of ITT.
#[derive(Default)]
struct Announced {
    /// Tasks begun, tasks ended and values set, by process and thread.
    by_thread: BTreeMap<(u32, u32), [u64; 3]>,
    threads_named: u64,
    lost: u64,
    stitches: u64,
    stacks: u64,
    undecoded: usize,
}

impl Announced {
    fn of(recording: &Recording) -> Result<Self> {
        let mut announced = Self::default();
        each_record(&recording.path(), &mut |record| announced.take(record))?;
        ensure!(announced.undecoded == 0, "{} bytes of ITT records make no sense", announced.undecoded);
        Ok(announced)
    }

    fn take(&mut self, record: &Record<'_>) {
        match record {
            Record::IttEvents(header, bytes) => {
                let mut decoded = events(bytes);
                let counts = self.by_thread.entry((header.tgid, header.h.tid)).or_default();
                for stamped in decoded.by_ref() {
                    match stamped.event {
                        Event::TaskBegin { .. } => counts[0] += 1,
                        Event::TaskEnd { .. } => counts[1] += 1,
                        Event::CounterSet { .. } => counts[2] += 1,
                        _ => {}
                    }
                }
                self.undecoded += decoded.rest();
                self.lost += u64::from(header.lost);
            }
            Record::IttNames(_, bytes) => {
                let named = names(bytes).filter(|named| matches!(named.name, Name::ThreadName { .. }));
                self.threads_named += named.count() as u64;
            }
            Record::Stitch(stitch) => {
                self.stitches += 1;
                self.stacks += u64::from(stitch.user_stack != 0);
            }
            _ => {}
        }
    }

    /// Whether each of so many threads of so many processes announced `count` tasks, each with a value.
    fn is(&self, processes: usize, threads: usize, count: u64) -> Result<()> {
        let mut found: Vec<u32> = self.by_thread.keys().map(|(process, _)| *process).collect();
        found.dedup();
        let whole = self.by_thread.values().all(|counts| *counts == [count; 3]);
        ensure!(
            found.len() == processes && self.by_thread.len() == threads && whole && self.lost == 0,
            "expected {count} of each in {threads} threads of {processes} processes, none lost: {:?}, {} lost",
            self.by_thread,
            self.lost
        );
        Ok(())
    }
}

fn raw(options: &[&str], life: &str, count: &str) -> Result<Recording> {
    let options: Vec<&str> = ["--finalization-mode", "none"].iter().chain(options).copied().collect();
    Recording::of(&options, &[&sample("announce")?, life, count])
}

fn finalize(recording: &Recording) -> Result<()> {
    let finalized = run_dwell(&["finalize", &recording.path().display().to_string()])?;
    ensure!(finalized.status.success(), "finalize: {}", finalized.stderr);
    Ok(())
}

fn threads() -> Result<()> {
    two_threads(&raw(&[], "threads", "20000")?, 20000)
}

/// Of the raw trace of `announce threads COUNT`.
pub fn two_threads(raw: &Recording, count: u64) -> Result<()> {
    let announced = Announced::of(raw)?;
    announced.is(1, 2, count)?;
    ensure!(announced.threads_named == 1, "{} threads named", announced.threads_named);
    Ok(())
}

/// `kill -9` right after the last task.
fn killed() -> Result<()> {
    let recording = raw(&[], "killed", "3000")?;
    ensure!(recording.output.code() == 137, "exit status {}", recording.output.code());
    Announced::of(&recording)?.is(1, 1, 3000)
}

fn children() -> Result<()> {
    Announced::of(&raw(&[], "children", "2000")?)?.is(4, 4, 2000)
}

/// One process, two programs: the thread of the first one goes on in the second.
fn exec() -> Result<()> {
    let announced = Announced::of(&raw(&[], "exec", "1500")?)?;
    let mut counts: Vec<u64> = announced.by_thread.values().map(|counts| counts[0]).collect();
    counts.sort_unstable();
    ensure!(counts == [1500, 3000], "{:?}", announced.by_thread);
    Ok(())
}

/// What the program itself pauses is not recorded, neither its tasks nor its waits.
fn pauses() -> Result<()> {
    let recording = raw(&[], "pauses", "700")?;
    Announced::of(&recording)?.is(1, 1, 1400)?;
    finalize(&recording)?;
    let summary = recording.report(&["summary"])?;
    let paused = number(&summary, "paused_ns")?;
    ensure!((0.14e9..0.25e9).contains(&paused), "paused for {paused} ns, expected 150 ms");
    let wait = number(&summary, "wait_ns")?;
    ensure!((0.04e9..0.1e9).contains(&wait), "waited {wait} ns of the 50 ms that were recorded");
    conservation::check(&recording, None)
}

/// The classic: nothing is recorded until the program says so.
fn start_paused() -> Result<()> {
    let recording = raw(&["--start-paused"], "resume", "700")?;
    Announced::of(&recording)?.is(1, 1, 700)?;
    finalize(&recording)?;
    let summary = recording.report(&["summary"])?;
    let (paused, elapsed) = (number(&summary, "paused_ns")?, number(&summary, "elapsed_ns")?);
    ensure!((0.19e9..0.4e9).contains(&paused), "paused for {paused} ns, expected 200 ms");
    ensure!(elapsed - paused > 0.19e9, "recorded {} ns, expected 200 ms", elapsed - paused);
    conservation::check(&recording, None)
}

fn detach() -> Result<()> {
    let recording = raw(&[], "detach", "700")?;
    Announced::of(&recording)?.is(1, 1, 700)?;
    finalize(&recording)?;
    ensure!(recording.output.stderr.contains("when the program asked for it"), "{}", recording.output.stderr);
    conservation::check(&recording, None)
}

/// The stacks of whoever asks for work, by a probe that is set once the library is in use.
fn stitching() -> Result<()> {
    let announced = Announced::of(&raw(&[], "stitch", "200")?)?;
    // Those before the probe was set are missing.
    ensure!((100..=200).contains(&announced.stitches), "{} stitches", announced.stitches);
    ensure!(announced.stacks == announced.stitches, "{} of {} have a stack", announced.stacks, announced.stitches);
    Ok(())
}

fn switched_off() -> Result<()> {
    let announced = Announced::of(&raw(&["--no-itt"], "threads", "1000")?)?;
    ensure!(announced.by_thread.is_empty(), "{:?}", announced.by_thread);
    Ok(())
}

/// A collector that the user has chosen is left to him, and that is said.
fn foreign_collector() -> Result<()> {
    let environment = [("INTEL_LIBITTNOTIFY64", "/opt/other/libcollector.so")];
    let recording = Recording::with_environment(&[], &["sh", "-c", "echo is $INTEL_LIBITTNOTIFY64"], &environment)?;
    ensure!(recording.output.stdout.contains("is /opt/other/libcollector.so"), "{}", recording.output.stdout);
    ensure!(recording.output.stderr.contains("/opt/other/libcollector.so already"), "{}", recording.output.stderr);
    Ok(())
}

/// `sample announce endless`, started in the environment that `dwell env` prints.
fn in_environment() -> Result<Running> {
    let printed = run_dwell(&["env", "--format", "json"])?;
    ensure!(printed.status.success(), "dwell env: {}", printed.stderr);
    let variables: BTreeMap<String, String> = serde_json::from_str(&printed.stdout).context("dwell env")?;
    ensure!(variables.len() == 3, "{variables:?}");
    Running::start(Command::new(sample("announce")?).args(["endless", "100"]).envs(variables))
}

/// Two collections one after the other attach to the same program: each has its own part, whole.
fn attached() -> Result<()> {
    needs_recording()?;
    let program = in_environment()?;
    let pid = program.pid();
    let mut before = 0;
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(200));
        let folder = TempDir::new()?;
        let pid_option = pid.to_string();
        let options = ["--target-pid", pid_option.as_str(), "--duration", "600ms", "--finalization-mode", "none"];
        let output = Running::start(&mut collect(folder.path(), &options, &[]))?.finish()?;
        let recording = Recording::in_folder(folder, output)?;
        let announced = Announced::of(&recording)?;
        let counts = announced.by_thread.get(&(pid, pid)).copied().unwrap_or_default();
        ensure!(counts[0] > 1000 && announced.lost == 0, "{counts:?}, {} lost", announced.lost);
        ensure!(counts.iter().all(|count| count.abs_diff(counts[0]) <= 1), "{counts:?}");
        let text = fs::read_to_string(recording.path().join("manifest.json"))?;
        let manifest: Value = serde_json::from_str(&text)?;
        ensure!(!manifest["losses"].to_string().contains("itt_"), "{}", manifest["losses"]);
        let start = manifest["start_ns"].as_u64().context("start")?;
        ensure!(start > before, "the second one began before the first one");
        before = start;
    }
    program.signal(Signal::KILL)?;
    program.finish().map(drop)
}

/// What a killed program leaves goes when the next one is prepared.
fn stale_files() -> Result<()> {
    needs_recording()?;
    let program = in_environment()?;
    let folder = Path::new("/dev/shm/dwell-0");
    let prefix = format!("{}-", program.pid());
    let has_file = || {
        let mut entries = fs::read_dir(folder).ok()?.flatten();
        entries.any(|entry| entry.file_name().to_string_lossy().starts_with(&prefix)).then_some(())
    };
    wait_for("the program's file", has_file)?;
    run_dwell(&["env"])?;
    ensure!(has_file().is_some(), "the file of a running program was removed");
    program.signal(Signal::KILL)?;
    program.finish()?;
    run_dwell(&["env"])?;
    ensure!(has_file().is_none(), "the file of a dead program is still there");
    Ok(())
}

/// A child that gives its privileges away announces as before.
fn another_user() -> Result<()> {
    let program = sample("announce")?;
    let setpriv = needs_program("setpriv")?;
    let folder = TempDir::new()?;
    let copy = folder.path().join("announce");
    fs::copy(&program, &copy)?;
    for path in [folder.path(), &copy] {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    let copy = copy.display().to_string();
    let command = [setpriv.as_str(), "--reuid=65534", "--regid=65534", "--clear-groups", &copy, "threads", "1000"];
    Announced::of(&Recording::of(&["--finalization-mode", "none"], &command)?)?.is(1, 2, 1000)
}

/// A program that writes whatever it likes into its folder, while it is drained.
const HOSTILE: &str = r#"
import mmap, os, random, struct, time
folder = os.environ["DWELL_ITT"].split(":", 1)[1]
pid = os.getpid()
random.seed(1)
MAGIC, RINGS = b"dwellITT", 66 << 20
def header(names=0, slots=0):
    words = [0] * 20
    words[0], words[1], words[2] = struct.unpack("<Q", MAGIC)[0], 1 | 1 << 32, pid
    words[16], words[18] = names, slots
    return struct.pack("<20Q", *words)
def slot(sequence, head, offset, capacity):
    return struct.pack("<16Q", sequence, head, 0, 0, pid, offset, capacity, *([0] * 9))
keep = []
def make(name, size, content):
    path = f"{folder}/{pid}-{name}.itt"
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.ftruncate(fd, size)
    for at, piece in content:
        os.pwrite(fd, piece, at)
    memory = mmap.mmap(fd, 4096)
    keep.append((fd, memory))
    return fd
# Garbage, with and without a good header.
make("garbage", 1 << 20, [(0, random.randbytes(1 << 20))])
make("names", RINGS + (1 << 20), [(0, header(names=64 << 20)), (2 << 20, random.randbytes(1 << 20))])
# Heads, offsets and capacities that lie.
lies = b"".join(slot(2, random.getrandbits(64), random.getrandbits(64), 1 << random.randrange(64)) for _ in range(4096))
make("lies", RINGS + (1 << 20), [(0, header(slots=1 << 60)), (4096, lies)])
rings = b"".join(slot(2, random.getrandbits(24), RINGS, 1 << 20) for _ in range(8192))
make("rings", RINGS + (1 << 20), [(0, header(slots=8192)), (4096, rings), (RINGS, random.randbytes(1 << 20))])
# Cut while it is read, again and again.
cut = make("cut", RINGS + (1 << 20), [(0, header(names=1 << 20, slots=100)), (4096, slot(2, 1 << 20, RINGS, 1 << 20) * 100)])
# What is no file at all, and ten thousand that are none of ours.
os.mkfifo(f"{folder}/{pid}-pipe.itt")
os.symlink("/etc/passwd", f"{folder}/{pid}-link.itt")
os.mkdir(f"{folder}/{pid}-folder.itt")
for number in range(10000):
    os.close(os.open(f"{folder}/{number}-x.itt", os.O_RDWR | os.O_CREAT, 0o600))
until = time.time() + 1.5
while time.time() < until:
    os.ftruncate(cut, random.choice([0, 1, 100, 4096, 5000, 2 << 20, RINGS, RINGS + 4096, RINGS + (1 << 20)]))
    os.pwrite(cut, header(names=random.getrandbits(26), slots=random.getrandbits(13)), 0)
    time.sleep(0.0005)
print("survived")
"#;

fn hostile_files() -> Result<()> {
    let python = needs_program("python3")?;
    let recording = Recording::of(&[], &[&python, "-c", HOSTILE])?;
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    ensure!(recording.output.stdout.contains("survived"), "the program did not reach its end");
    ensure!(fs::read_to_string("/etc/passwd")?.starts_with("root:"), "/etc/passwd was written");
    let text = fs::read_to_string(recording.path().join("manifest.json"))?;
    let manifest: Value = serde_json::from_str(&text)?;
    let losses = manifest["losses"].to_string();
    for name in ["itt_files_refused", "itt_file_bytes_damaged"] {
        ensure!(losses.contains(name), "{name} is not counted: {losses}");
    }
    let threads = recording.rows(&["threads"])?;
    ensure!(!threads.is_empty(), "nothing of the program was recorded");
    Ok(())
}
