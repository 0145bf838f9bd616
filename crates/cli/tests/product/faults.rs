//! Faults of the system while Dwell writes a result: one after the other, each system call fails, or is the last one of a killed
//! Dwell. strace injects them, so that each place is hit and can be hit again.
//!
//! Without `DWELL_FAULTS` some places of each kind are hit; `all`, or a number, hits all, or so many, and
//! docs/reliability.md is written (`make test-faults`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail, ensure};
use tempfile::TempDir;

use crate::faults_page;
use crate::harness::Case;
use crate::recording::{Output, Running, dwell, needs_program, needs_recording, sample, wait_for};

/// Places of each kind that are hit in `make test`.
const USUAL_PLACES: usize = 4;
/// The result's name, the same everywhere: reports say it.
const RESULT: &str = "result";
/// Results that are joined.
const MERGED: [&str; 2] = ["first", "second"];
/// Reports that are compared.
const REPORTS: [&[&str]; 4] = [&["waits"], &["threads"], &["hotspots"], &["timeline", "--limit", "200"]];

/// What fails.
struct Fault {
    name: &'static str,
    /// As strace names them.
    calls: &'static str,
    injected: &'static str,
    promise: Promise,
}

/// What has to be true after a fault.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Promise {
    /// It has no effect.
    Unseen,
    /// The result is whole, or Dwell said in one sentence what failed, with a hint.
    Told,
    /// Dwell may have died without a word.
    Died,
}

impl Promise {
    fn sentence(self) -> &'static str {
        match self {
            Self::Unseen => "no effect",
            Self::Told => "complete or told",
            Self::Died => "complete later",
        }
    }
}

const FAULTS: &[Fault] = &[
    Fault { name: "interrupted", calls: "write,openat", injected: "error=EINTR", promise: Promise::Unseen },
    Fault { name: "disk full", calls: "write,mkdirat,renameat", injected: "error=ENOSPC", promise: Promise::Told },
    Fault {
        name: "disk broken",
        calls: "write,renameat,unlinkat,mkdirat",
        injected: "error=EIO",
        promise: Promise::Told,
    },
    Fault { name: "too many files", calls: "openat", injected: "error=EMFILE", promise: Promise::Told },
    Fault { name: "no memory", calls: "mmap,mremap", injected: "error=ENOMEM", promise: Promise::Died },
    Fault {
        name: "killed",
        calls: "write,openat,renameat,unlinkat,mkdirat",
        injected: "signal=KILL",
        promise: Promise::Died,
    },
];

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for stage in STAGES.into_iter().filter(|stage| places_for_table().is_some() || *stage != Stage::Index) {
        let of_fault = |fault: &'static Fault| {
            let name = format!("faults::{}_{}", stage.name(), fault.name.replace(' ', "_"));
            Case::new(name, move || hit(stage, fault))
        };
        cases.extend(FAULTS.iter().map(of_fault));
    }
    if places_for_table().is_some() {
        cases.push(Case::new("faults::table", write_table));
    }
    cases
}

/// Places of each kind that are to be hit for the table, if it is to be made.
fn places_for_table() -> Option<usize> {
    let value = std::env::var("DWELL_FAULTS").ok()?;
    if value == "all" { Some(usize::MAX) } else { value.parse().ok().filter(|&most| most > 0) }
}

/// What Dwell does when the fault comes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Collect,
    Finalize,
    Merge,
    /// A report of a large result that has no index yet makes it.
    Index,
}

const STAGES: [Stage; 4] = [Stage::Collect, Stage::Finalize, Stage::Merge, Stage::Index];

impl Stage {
    fn name(self) -> &'static str {
        match self {
            Self::Collect => "collect",
            Self::Finalize => "finalize",
            Self::Merge => "merge",
            Self::Index => "index",
        }
    }

    /// Places of each kind that a fault hits, at most.
    fn most_places() -> usize {
        places_for_table().unwrap_or(USUAL_PLACES)
    }

    /// Reports that are compared.
    fn reports(self) -> &'static [&'static [&'static str]] {
        if self == Self::Index { &REPORTS[..1] } else { &REPORTS }
    }

    /// A folder in which the stage begins, with copies of what it works on.
    fn begin(self) -> Result<TempDir> {
        let folder = TempDir::new()?;
        if let Some(input) = self.input()? {
            copy(&format!("{}/.", input.display()), folder.path())?;
        }
        Ok(folder)
    }

    fn input(self) -> Result<Option<&'static Path>> {
        static RAW: Made<TempDir> = OnceLock::new();
        static PAIR: Made<TempDir> = OnceLock::new();
        static LARGE: Made<TempDir> = OnceLock::new();
        let made = match self {
            Self::Collect => return Ok(None),
            Self::Finalize => once(&RAW, || collected("convoy")),
            Self::Merge => once(&PAIR, pair),
            Self::Index => once(&LARGE, large),
        };
        Ok(Some(made?.path()))
    }

    fn arguments(self) -> Result<Vec<String>> {
        let words = match self {
            Self::Collect => return collecting("convoy"),
            Self::Finalize => vec!["finalize", "--quiet", RESULT],
            Self::Merge => {
                vec!["merge", "--quiet", "--offset-ns", "0", "--result-dir", RESULT, MERGED[0], MERGED[1]]
            }
            Self::Index => [&["report"], REPORTS[0], &["--format", "json", RESULT]].concat(),
        };
        Ok(words.into_iter().map(str::to_owned).collect())
    }

    /// Makes a result of what a stage left that did not come to its end.
    fn repeat(self, folder: &TempDir) -> Result<()> {
        if self == Self::Merge {
            fs::rename(folder.path().join(RESULT), folder.path().join("left"))?;
        }
        let again = run(folder, &[], &self.arguments()?)?;
        ensure!(again.status.success(), "again: {}", again.stderr);
        Ok(())
    }
}

/// What is made once, or why it could not be.
type Made<T> = OnceLock<std::result::Result<T, String>>;

fn once<T>(made: &'static Made<T>, make: impl FnOnce() -> Result<T>) -> Result<&'static T> {
    let made = made.get_or_init(|| make().map_err(|error| format!("{error:#}")));
    made.as_ref().map_err(|why| anyhow!("nothing to begin with: {why}"))
}

fn copy(from: &str, to: &Path) -> Result<()> {
    let copied = Command::new("cp").args(["-r", from]).arg(to).status()?;
    ensure!(copied.success(), "cp: {copied}");
    Ok(())
}

/// Of a collection of the sample in a shell, which tells that it came to its end.
fn collecting(name: &str) -> Result<Vec<String>> {
    let words =
        ["collect", "threading", "--quiet", "--finalization-mode", "none", "--result-dir", RESULT, "--", "sh", "-c"];
    let program = format!("{}; echo $? > ended", sample(name)?);
    Ok(words.into_iter().map(str::to_owned).chain([program]).collect())
}

/// A recording that is not finalized.
fn collected(name: &str) -> Result<TempDir> {
    let folder = TempDir::new()?;
    let output = run(&folder, &[], &collecting(name)?)?;
    ensure!(output.status.success(), "{}", output.stderr);
    fs::remove_file(folder.path().join("ended"))?;
    Ok(folder)
}

fn finalized(name: &str) -> Result<TempDir> {
    let folder = collected(name)?;
    let output = run(&folder, &[], &Stage::Finalize.arguments()?)?;
    ensure!(output.status.success(), "{}", output.stderr);
    Ok(folder)
}

/// Two results to be joined.
fn pair() -> Result<TempDir> {
    let folder = finalized("convoy")?;
    let result = folder.path().join(RESULT);
    copy(&result.display().to_string(), &folder.path().join(MERGED[0]))?;
    fs::rename(result, folder.path().join(MERGED[1]))?;
    Ok(folder)
}

/// A result with so many events that it gets an index, which it has not.
fn large() -> Result<TempDir> {
    let folder = finalized("semaphore_pingpong")?;
    fs::remove_file(folder.path().join(RESULT).join("index.cache"))?;
    Ok(folder)
}

/// `dwell` in the folder, below `prefix`.
fn run(folder: &TempDir, prefix: &[String], arguments: &[String]) -> Result<Output> {
    let plain = dwell(&[]);
    let mut command = match prefix.split_first() {
        Some((program, options)) => {
            let mut command = Command::new(program);
            command.args(options).arg(plain.get_program());
            command
        }
        None => plain,
    };
    command.args(arguments).current_dir(folder.path());
    command.env_remove("SUDO_USER").env_remove("SUDO_UID").env_remove("SUDO_GID");
    Running::start(&mut command)?.finish()
}

fn reports(stage: Stage, folder: &TempDir) -> Result<std::result::Result<Vec<String>, Output>> {
    let mut all = Vec::new();
    for report in stage.reports() {
        let words = ["report"].iter().chain(*report).chain(&["--format", "json", RESULT]);
        let arguments: Vec<String> = words.map(|word| (*word).to_owned()).collect();
        let output = run(folder, &[], &arguments)?;
        if !output.status.success() {
            return Ok(Err(output));
        }
        all.push(output.stdout);
    }
    Ok(Ok(all))
}

/// The reports of the stage's result without a fault.
fn expected(stage: Stage) -> Result<&'static [String]> {
    static ALL: [Made<Vec<String>>; STAGES.len()] = [const { OnceLock::new() }; STAGES.len()];
    once(&ALL[stage as usize], || {
        let folder = stage.begin()?;
        let output = run(&folder, &[], &stage.arguments()?)?;
        ensure!(output.status.success(), "{}", output.stderr);
        let shown = reports(stage, &folder)?.map_err(|output| anyhow!("{}", output.stderr))?;
        ensure!(!shown.concat().contains("build_id_mismatch"), "files of a copied result are taken for others");
        Ok(shown)
    })
    .map(Vec::as_slice)
}

/// A call of a thread: its name, and how many calls of that name the thread made before it, plus one.
type Place = (String, usize);

/// Where the stage makes these calls. Before it comes to the result it only loads itself.
fn places(stage: Stage, fault: &Fault) -> Result<Vec<Place>> {
    let folder = stage.begin()?;
    let log = folder.path().join("calls");
    let mut prefix = strace(stage)?;
    prefix.extend(["-o".into(), log.display().to_string(), format!("-etrace={},openat,mkdirat", fault.calls)]);
    let output = run(&folder, &prefix, &stage.arguments()?)?;
    ensure!(output.status.success(), "{}", output.stderr);
    let log = fs::read_to_string(&log)?;
    let mut made: BTreeMap<(String, String), usize> = BTreeMap::new();
    let (mut most, mut before): (BTreeMap<String, usize>, BTreeMap<String, usize>) = Default::default();
    let mut begun = false;
    for line in log.lines() {
        let Some((thread, call)) = call_of(line) else { continue };
        begun |= line.contains(&format!("\"{RESULT}\""));
        let number = made.entry((thread.to_owned(), call.to_owned())).or_default();
        *number += 1;
        let furthest = if begun { &mut most } else { &mut before };
        let furthest = furthest.entry(call.to_owned()).or_default();
        *furthest = (*furthest).max(*number);
    }
    ensure!(begun, "{} never comes to its result", stage.name());
    let wanted = |call: &&String| fault.calls.split(',').any(|name| name == **call);
    let of_call = |call: &String| {
        let first = before.get(call).copied().unwrap_or_default() + 1;
        (first..=most[call]).map(|number| (call.clone(), number)).collect::<Vec<_>>()
    };
    Ok(most.keys().filter(wanted).flat_map(of_call).collect())
}

/// Thread and call of a line of strace's: `1234 write(…`, without the number where one thread is traced.
fn call_of(line: &str) -> Option<(&str, &str)> {
    let (head, _) = line.split_once('(')?;
    let (thread, call) = head.rsplit_once(' ').unwrap_or(("", head));
    call.bytes().all(|byte| byte.is_ascii_alphanumeric()).then(|| (thread.trim(), call))
}

/// Of a collection the thread that collects, and never the program; else all threads.
fn strace(stage: Stage) -> Result<Vec<String>> {
    let mut words = vec![needs_program("strace")?, "-qq".to_owned()];
    if stage != Stage::Collect {
        words.push("-f".to_owned());
    }
    Ok(words)
}

/// How often what was seen.
#[derive(Default)]
struct Tally {
    whole: usize,
    mended: usize,
    wrong: Vec<String>,
}

fn hit(stage: Stage, fault: &'static Fault) -> Result<()> {
    needs_recording()?;
    let all = places(stage, fault)?;
    ensure!(!all.is_empty(), "no such call");
    let step = all.len().div_ceil(Stage::most_places());
    let mut tally = Tally::default();
    for place in all.iter().rev().step_by(step) {
        match fail_at(stage, fault, place) {
            Ok(true) => tally.whole += 1,
            Ok(false) => tally.mended += 1,
            Err(error) => tally.wrong.push(format!("{}:when={}: {error:#}", place.0, place.1)),
        }
    }
    if places_for_table().is_some() {
        keep_row(stage, fault, &tally, all.len())?;
    }
    ensure!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    Ok(())
}

/// Whether the result is whole at once; an error where the promise is broken.
fn fail_at(stage: Stage, fault: &Fault, (call, number): &Place) -> Result<bool> {
    let folder = stage.begin()?;
    let mut prefix = strace(stage)?;
    let inject = format!("-einject={call}:{}:when={number}", fault.injected);
    prefix.extend(["-o".into(), "/dev/null".into(), format!("-etrace={call}"), inject]);
    let output = run(&folder, &prefix, &stage.arguments()?)?;
    if stage == Stage::Collect {
        program_is_unharmed(&folder, &output)?;
    }
    ensure!(!output.stderr.contains("panicked at"), "panicked: {}", output.stderr);
    let ended_well = output.status.success();
    match fault.promise {
        Promise::Unseen => ensure!(ended_well, "status {}: {}", output.code(), output.stderr),
        Promise::Told => ensure!(ended_well || is_told(&output), "status {}: {}", output.code(), output.stderr),
        Promise::Died => {}
    }
    match stage {
        Stage::Collect => collected_is_right(&folder, &output),
        _ => made_is_right(stage, &folder, &output),
    }
}

/// Whether a collection says that all went well. Its exit status is the program's, whatever became of the result.
fn collected_well(output: &Output) -> bool {
    output.status.success() && !output.stderr.contains("error: ")
}

fn is_told(output: &Output) -> bool {
    output.stderr.contains("error: ") && output.stderr.contains("hint: ")
}

/// The program, if it was started, came to its own end.
fn program_is_unharmed(folder: &TempDir, output: &Output) -> Result<()> {
    if !output.stdout.contains("truth") && !folder.path().join("ended").exists() && !was_started(folder)? {
        return Ok(());
    }
    let told = || fs::read_to_string(folder.path().join("ended")).ok().filter(|status| status.ends_with('\n'));
    let status = wait_for("the program's end", told)?;
    ensure!(status.trim() == "0", "the program ended with {status}");
    Ok(())
}

/// Whether a shell runs in the folder.
fn was_started(folder: &TempDir) -> Result<bool> {
    let processes = fs::read_dir("/proc")?.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(processes
        .filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == folder.path()))
        .any(|process| fs::read_to_string(process.join("comm")).is_ok_and(|comm| comm.trim() == "sh")))
}

/// What the reports show at once is right, or they refuse; when the stage is repeated, they are right. What was joined
/// is as before.
fn made_is_right(stage: Stage, folder: &TempDir, output: &Output) -> Result<bool> {
    let ended_well = output.status.success();
    if stage == Stage::Merge {
        are_unchanged(folder)?;
    }
    if !folder.path().join(RESULT).exists() {
        ensure!(!ended_well, "no result, and no word");
        return Ok(false);
    }
    let refused = match shown_is_right(stage, folder)? {
        Ok(is_whole) => return Ok(is_whole),
        Err(refused) => refused,
    };
    ensure!(!ended_well, "it ended well, and yet: {}", refused.stderr);
    ensure!(is_told(&refused), "{}", refused.stderr);
    stage.repeat(folder)?;
    let is_whole = shown_is_right(stage, folder)?.map_err(|output| anyhow!("later: {}", output.stderr))?;
    ensure!(is_whole, "later the reports lack names");
    Ok(false)
}

/// Whether the reports show what they do without the fault; else they lack names of files that could not be opened, and say so.
/// The inner error: they refuse.
fn shown_is_right(stage: Stage, folder: &TempDir) -> Result<std::result::Result<bool, Output>> {
    let shown = match reports(stage, folder)? {
        Ok(shown) => shown,
        Err(refused) => return Ok(Err(refused)),
    };
    let expected = expected(stage)?;
    let says_so = |shown: &str| shown.contains("files_unreadable") || shown.contains("could not be read");
    let told = |(shown, expected): (&String, &String)| shown == expected || says_so(shown);
    ensure!(shown.iter().zip(expected).all(told), "the reports are wrong");
    Ok(Ok(shown == expected))
}

fn are_unchanged(folder: &TempDir) -> Result<()> {
    let before = Stage::Merge.input()?.context("nothing to join")?;
    for result in MERGED {
        let compared =
            Command::new("diff").arg("-r").args([before.join(result), folder.path().join(result)]).output()?;
        ensure!(compared.status.success(), "{result}: {}", String::from_utf8_lossy(&compared.stdout));
    }
    Ok(())
}

/// The convoy's waits are all there when the collection says that it ended well; else what there is can be finalized,
/// or is refused in a sentence.
fn collected_is_right(folder: &TempDir, output: &Output) -> Result<bool> {
    if !folder.path().join(RESULT).exists() {
        ensure!(!collected_well(output), "no result, and no word");
        return Ok(false);
    }
    let finalized = run(folder, &[], &Stage::Finalize.arguments()?)?;
    if !finalized.status.success() {
        ensure!(!collected_well(output), "collected, and yet: {}", finalized.stderr);
        ensure!(is_told(&finalized), "{}", finalized.stderr);
        return Ok(false);
    }
    let shown = reports(Stage::Collect, folder)?.map_err(|output| anyhow!("{}", output.stderr))?;
    if !collected_well(output) {
        return Ok(false);
    }
    let waits: serde_json::Value = serde_json::from_str(&shown[0])?;
    let rows = waits["rows"].as_array().context("no rows")?;
    let Some(lock) = rows.iter().find(|row| row["object"] == "queue_lock") else { bail!("no waits for queue_lock") };
    let (counted, truth) = (lock["wait_count"].as_f64(), output.truth("queue_lock_waits"));
    ensure!(counted.is_some() && (truth.is_none() || counted == truth), "{counted:?} waits of {truth:?}");
    Ok(true)
}

/// Rows are kept beside the built program until all have been seen.
fn keep_row(stage: Stage, fault: &Fault, tally: &Tally, places: usize) -> Result<()> {
    let (whole, mended, wrong) = (tally.whole, tally.mended, tally.wrong.len());
    let row = format!(
        "| {} | {}: {} `{}` | {} | {} of {places} | {whole} | {mended} | {wrong} |\n",
        stage.name(),
        fault.name,
        fault.injected,
        fault.calls,
        fault.promise.sentence(),
        whole + mended + wrong
    );
    faults_page::keep_row(&row_name(stage, fault), &row)
}

/// Its file's name.
fn row_name(stage: Stage, fault: &Fault) -> String {
    format!("{}-{}", stage.name(), fault.name)
}

fn write_table() -> Result<()> {
    let of_stage = |stage| FAULTS.iter().map(move |fault| row_name(stage, fault));
    faults_page::write(STAGES.into_iter().flat_map(of_stage))
}
