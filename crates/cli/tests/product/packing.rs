//! `dwell pack`: one file answers as the result's folder did, without what its sender leaves out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use parquet::file::reader::{FileReader, SerializedFileReader};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Output, Recording, Running, dwell, run_dwell, sample, wait_for};

/// An argument of the recorded program.
const PLANTED: &str = "planted-argument-2718281828";
/// A line of its source.
const SOURCE_LINE: &str = "pthread_mutex_lock(&queue_lock)";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("packing::a_file_answers_as_its_folder_did", answers_as_before),
        Case::new("packing::what_is_left_out_is_nowhere", left_out),
        Case::new("packing::files_are_whole_or_not_there", whole_or_not_there),
        Case::new("packing::what_is_no_packed_result_is_refused", refused),
    ]
}

/// A recording of two programs, the first of which has the planted argument to its end.
fn recording() -> Result<Recording> {
    Recording::of(&[], &["sh", "-c", "\"$0\"; true", &sample("convoy")?, PLANTED])
}

/// A folder with a packed result, and an empty one for what is unpacked meanwhile.
struct Packed {
    folder: TempDir,
    meanwhile: PathBuf,
}

impl Packed {
    fn of(recording: &Recording, options: &[&str]) -> Result<Self> {
        let folder = TempDir::new()?;
        let meanwhile = folder.path().join("meanwhile");
        fs::create_dir(&meanwhile)?;
        let packed = Self { folder, meanwhile };
        let (result, file) = (recording.path().display().to_string(), packed.file());
        let words: Vec<&str> = ["pack", &result, "-o", &file].into_iter().chain(options.iter().copied()).collect();
        let output = run_dwell(&words)?;
        ensure!(output.status.success(), "{}", output.stderr);
        ensure!(output.stderr.contains("B\n"), "it does not say its size: {}", output.stderr);
        Ok(packed)
    }

    fn file(&self) -> String {
        self.path("it.dwell")
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = dwell(words);
        command.env("TMPDIR", &self.meanwhile).current_dir(self.folder.path());
        command
    }

    /// Runs a command, which leaves nothing behind.
    fn run(&self, words: &[&str]) -> Result<Output> {
        let output = Running::start(&mut self.command(words))?.finish()?;
        self.ensure_clean(words)?;
        Ok(output)
    }

    fn ensure_clean(&self, words: &[&str]) -> Result<()> {
        let left = fs::read_dir(&self.meanwhile)?.count();
        ensure!(left == 0, "{words:?} left {left} folders");
        Ok(())
    }
}

fn answers_as_before() -> Result<()> {
    let recording = recording()?;
    let (path, packed) = (recording.path().display().to_string(), Packed::of(&recording, &[])?);
    let file = packed.file();
    let questions: [(&[&str], &[&str]); 6] = [
        (&["report", "summary"], &["--format", "json"]),
        (&["report", "waits"], &["--format", "csv"]),
        (&["report", "explain"], &["--format", "json"]),
        (&["export", "folded", "--weight", "wait"], &[]),
        (&["source", "worker"], &[]),
        (&["report", "log"], &[]),
    ];
    let ask = |(words, options): (&[&str], &[&str]), result: &str| -> Result<String> {
        let words: Vec<&str> = words.iter().copied().chain([result]).chain(options.iter().copied()).collect();
        let output = packed.run(&words)?;
        ensure!(output.status.success(), "{words:?}: {}", output.stderr);
        Ok(output.stdout)
    };
    let before = questions.map(|question| ask(question, &path)).into_iter().collect::<Result<Vec<_>>>()?;
    fs::remove_dir_all(&path)?;
    for (question, before) in questions.into_iter().zip(before) {
        ensure!(ask(question, &file)? == before, "{:?} is another", question.0);
        ensure!(before.len() > 50, "{:?} says nothing: {before}", question.0);
    }
    let same = packed.run(&["compare", &file, &file])?;
    ensure!(same.status.success(), "{}", same.stderr);
    fs::create_dir(packed.path("results"))?;
    let unpacked = packed.run(&["unpack", &file, &packed.path("results")])?;
    ensure!(Path::new(&packed.path("results/it/manifest.json")).is_file(), "{}", unpacked.stderr);
    viewed(&packed)
}

/// `dwell view FILE` serves the result until it is interrupted.
fn viewed(packed: &Packed) -> Result<()> {
    for signal in [Signal::INT, Signal::TERM] {
        let running = Running::start(&mut packed.command(&["view", "--no-browser", &packed.file()]))?;
        wait_for("the page's address", || running.stdout().contains("http://127.0.0.1").then_some(()))?;
        ensure!(fs::read_dir(&packed.meanwhile)?.count() == 1, "nothing is unpacked");
        running.signal(signal)?;
        let ended = running.finish()?;
        ensure!(ended.code() == 128 + signal.as_raw(), "{}: {}", ended.code(), ended.stderr);
        packed.ensure_clean(&["view"])?;
    }
    Ok(())
}

/// All that a result's files say: the text files, and each row of the tables as text.
fn all_texts(result: &Path) -> Result<String> {
    let mut texts = fs::read_to_string(result.join("manifest.json"))?;
    texts += &fs::read_to_string(result.join("log.txt"))?;
    for table in fs::read_dir(result.join("tables"))? {
        let reader = SerializedFileReader::new(fs::File::open(table?.path())?)?;
        for row in reader.get_row_iter(None)? {
            texts += &row?.to_string();
        }
    }
    Ok(texts)
}

fn left_out() -> Result<()> {
    let recording = recording()?;
    let host = recording.manifest()?["host"].as_str().context("no host")?.to_owned();
    let texts_with = |options: &[&str]| -> Result<String> {
        let packed = Packed::of(&recording, options)?;
        let output = packed.run(&["unpack", &packed.file(), &packed.path("result")])?;
        ensure!(output.status.success(), "{}", output.stderr);
        all_texts(Path::new(&packed.path("result")))
    };
    let whole = texts_with(&[])?;
    let boot = recording.manifest()?["boot_id"].as_str().context("no boot id")?.to_owned();
    for text in [PLANTED, SOURCE_LINE, &boot, &host, "convoy"] {
        ensure!(whole.contains(text), "no {text} in the whole result");
    }
    let without = texts_with(&["--leave-out", "command-lines"])?;
    ensure!(!without.contains(PLANTED) && without.contains(SOURCE_LINE) && without.contains(&boot));
    let without = texts_with(&["--leave-out", "sources,environment"])?;
    ensure!(without.contains(PLANTED) && !without.contains(SOURCE_LINE) && !without.contains(&boot));
    let without = texts_with(&["--leave-out", "command-lines,environment,sources"])?;
    for text in [PLANTED, SOURCE_LINE, &boot] {
        ensure!(!without.contains(text), "{text} was to be left out");
    }
    ensure!(without.contains("convoy") && without.contains("queue_lock"), "names stay");
    ensure!(without.contains("left out and are empty: command-lines, environment, sources."), "nobody says so");
    // All numbers stay.
    let packed = Packed::of(&recording, &["--leave-out", "command-lines,environment,sources"])?;
    let waits = packed.run(&["report", "waits", &packed.file(), "--format", "csv"])?;
    let path = recording.path().display().to_string();
    ensure!(waits.stdout == run_dwell(&["report", "waits", &path, "--format", "csv"])?.stdout, "{}", waits.stderr);
    Ok(())
}

fn whole_or_not_there() -> Result<()> {
    let recording = recording()?;
    let packed = Packed::of(&recording, &[])?;
    let (path, file) = (recording.path().display().to_string(), packed.file());
    let bytes = fs::read(&file)?;
    fs::write(&file, "mine")?;
    let output = packed.run(&["pack", &path, "-o", &file])?;
    ensure!(output.code() == 1 && output.stderr.contains("hint: --force"), "{}", output.stderr);
    ensure!(fs::read(&file)? == b"mine", "it is overwritten");
    let output = packed.run(&["pack", &path, "-o", &file, "--force"])?;
    ensure!(output.status.success() && fs::read(&file)? == bytes, "{}", output.stderr);
    // Files may have 4 KiB: the disk is full, as it were.
    let mut full = Command::new("sh");
    full.args(["-c", "ulimit -f 4; exec \"$0\" pack \"$1\" -o full.dwell", env!("CARGO_BIN_EXE_dwell"), &path]);
    let output = Running::start(full.current_dir(&packed.meanwhile))?.finish()?;
    ensure!(output.code() == 1 && output.stderr.contains("hint:"), "{}", output.stderr);
    packed.ensure_clean(&["pack"])?;
    // Without a name it is called as the result, and lies here; a pipe takes it as well.
    let output = packed.run(&["pack", &path])?;
    ensure!(fs::read(packed.path("result.dwell"))? == bytes, "{}", output.stderr);
    let mut piped = packed.command(&["pack", &path, "-o", "-"]);
    ensure!(piped.output()?.stdout == bytes, "another file through a pipe");
    Ok(())
}

fn refused() -> Result<()> {
    let recording = recording()?;
    let packed = Packed::of(&recording, &[])?;
    let bytes = fs::read(packed.file())?;
    let broken = packed.path("broken.dwell");
    let cases: [(&str, &[u8]); 4] = [
        ("no packed result", b"a text that is longer than the mark of a packed result"),
        ("cannot be unpacked", b"short"),
        ("cannot be unpacked", &bytes[..bytes.len() / 2]),
        ("cannot be unpacked", &bytes[..bytes.len() - 1]),
    ];
    for (expected, content) in cases {
        fs::write(&broken, content)?;
        for words in
            [&["report", "summary", &broken][..], &["view", "--no-browser", &broken], &["unpack", &broken, "x"]]
        {
            let output = packed.run(words)?;
            ensure!(output.code() == 1, "{words:?}: {} {}", output.code(), output.stderr);
            ensure!(
                output.stderr.contains(expected) && output.stderr.contains("hint: "),
                "{words:?}: {}",
                output.stderr
            );
            ensure!(output.stderr.matches("error: ").count() == 1, "{words:?}: {}", output.stderr);
            ensure!(!Path::new(&packed.path("x")).exists(), "{words:?} leaves a folder");
        }
    }
    let there = packed.run(&["unpack", &packed.file(), &recording.path().display().to_string()])?;
    ensure!(there.code() == 1 && there.stderr.contains("hint: dwell unpack"), "{}", there.stderr);
    let unfinished = packed.run(&["pack", &packed.path("meanwhile")])?;
    ensure!(unfinished.code() == 1 && unfinished.stderr.contains("hint: "), "{}", unfinished.stderr);
    Ok(())
}
