//! The programs of `samples/cases`, each with a planted fault: the first row of `dwell report explain` names it, by function,
//! object and role, with a number that the program measured itself.
//!
//! `DWELL_CASES=all` runs every one of them and writes docs/cases.md (`make test-cases`). Without it the quick ones run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail, ensure};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{Output, Recording, Running, collect, needs_program, needs_recording, number, root, text};

/// Rows among which what is `also` expected must be.
const FIRST: usize = 3;
/// Status of a program that lacks something here.
const LACKS_SOMETHING: i32 = 77;
/// Characters of a text on the page.
const SHOWN: usize = 160;

/// `samples/cases/NAME/truth.toml`. Commands are a shell's, in a folder with the sources and `sample.h`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Truth {
    /// What is wrong with the program, in words.
    planted: String,
    /// A program by its name or path, a special file, "library NAME" of pkg-config, "python module NAME".
    needs: Vec<String>,
    build: Option<String>,
    run: String,
    /// Whether it runs without `DWELL_CASES`, too.
    #[serde(default)]
    quick: bool,
    /// Regular expressions that match the first row.
    first: Vec<String>,
    /// Those that match one of the first rows.
    #[serde(default)]
    also: Vec<String>,
    /// Those that must not match the first row.
    #[serde(default)]
    never: Vec<String>,
    number: Option<Number>,
}

/// A column of the first row, held against what the program printed as `truth KEY VALUE`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Number {
    column: String,
    printed: String,
    /// By how much of the truth they may differ.
    within: f64,
}

/// What Dwell said of one program.
struct Verdict {
    /// The text of the first row.
    text: String,
    /// What a truth file's regular expressions are matched with: the first row's columns.
    first: String,
    /// What is not as the truth file says, of the texts.
    wrong: Vec<String>,
    /// The number in the report, and the program's own.
    measured: Option<(f64, f64)>,
}

/// What became of each case: its verdict, or why it has none.
type Page = Arc<Mutex<BTreeMap<String, Result<Verdict, String>>>>;

pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case::new("cases::truth_files", truth_files),
        Case::new("cases::what_is_wrong_fails", what_is_wrong_fails),
    ];
    if std::env::var_os("DWELL_CASES").is_none() {
        let quick = names().into_iter().filter(|name| read_truth(name).is_ok_and(|truth| truth.quick));
        cases.extend(quick.map(|name| Case::new(format!("cases::{name}"), move || judge_once(&name)?.check(&name))));
        return cases;
    }
    let page = Page::default();
    for name in names() {
        let page = Arc::clone(&page);
        cases.push(Case::new(format!("cases::{name}"), move || note(&name, &page)));
    }
    cases.push(Case::new("cases::table", move || finish(&page.lock().unwrap_or_else(PoisonError::into_inner))));
    cases
}

fn folder() -> PathBuf {
    root().join("samples/cases")
}

fn names() -> BTreeSet<String> {
    let entries = fs::read_dir(folder()).into_iter().flatten().flatten();
    let with_truth = entries.filter(|entry| entry.path().join("truth.toml").is_file());
    with_truth.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn read_truth(name: &str) -> Result<Truth> {
    let path = folder().join(name).join("truth.toml");
    toml::from_str(&fs::read_to_string(&path)?).with_context(|| path.display().to_string())
}

/// Judges a program, for the page.
fn note(name: &str, page: &Page) -> Result<()> {
    let outcome = judge_once(name);
    let why = |error: &anyhow::Error| format!("{}: {error}", if error.is::<Skip>() { "skipped" } else { "failed" });
    let (noted, checked) = match outcome {
        Ok(verdict) => {
            let checked = verdict.check(name);
            (Ok(verdict), checked)
        }
        Err(error) => (Err(why(&error)), Err(error)),
    };
    page.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), noted);
    checked
}

fn judge_once(name: &str) -> Result<Verdict> {
    let truth = read_truth(name)?;
    needs_recording()?;
    truth.needs.iter().try_for_each(|what| need(what))?;
    let scratch = TempDir::new()?;
    copy(&folder().join(name), scratch.path())?;
    fs::copy(root().join("samples/sample.h"), scratch.path().join("sample.h"))?;
    if let Some(build) = &truth.build {
        let built = Running::start(Command::new("sh").args(["-c", build]).current_dir(scratch.path()))?.finish()?;
        ensure!(built.status.success(), "{build}: {}", built.stderr);
    }
    let recording = record(&truth, scratch.path())?;
    let mut verdict = judge(&truth, &recording.rows(&["explain"])?, &recording.output)?;
    verdict.text = verdict.text.replace(&format!("{}/", scratch.path().display()), "");
    Ok(verdict)
}

fn record(truth: &Truth, scratch: &Path) -> Result<Recording> {
    let folder = TempDir::new()?;
    let mut collect = collect(folder.path(), &[], &["sh", "-c", &truth.run]);
    let recording = Recording::in_folder(folder, Running::start(collect.current_dir(scratch))?.finish()?)?;
    let Output { stderr, .. } = &recording.output;
    match recording.output.code() {
        0 => Ok(recording),
        LACKS_SOMETHING => bail!(Skip(format!("it cannot run here: {}", stderr.lines().next().unwrap_or_default()))),
        code => bail!("{} ended with {code}: {stderr}", truth.run),
    }
}

/// Skips the case where something is missing.
fn need(what: &str) -> Result<()> {
    let succeeds = |program: &str, words: &[&str]| {
        Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
    };
    let is_there = match what.rsplit_once(' ') {
        None if what.starts_with('/') => Path::new(what).exists(),
        None => return needs_program(what).map(|_| ()),
        Some(("library", library)) => succeeds("pkg-config", &["--exists", library]),
        Some(("python module", module)) => succeeds("/usr/bin/python3", &["-c", &format!("import {module}")]),
        Some(_) => bail!("nobody knows how to look for {what:?}"),
    };
    if is_there { Ok(()) } else { Err(Skip(format!("{what} is not here")).into()) }
}

/// Copies the files of a folder, and those in folders of it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// Holds the rows of the report against what is known.
fn judge(truth: &Truth, rows: &[Value], output: &Output) -> Result<Verdict> {
    let texts: Vec<String> = rows.iter().take(FIRST).map(words).collect();
    let first = texts.first().cloned().unwrap_or_default();
    let mut wrong = Vec::new();
    for wanted in &truth.first {
        if !regex(wanted)?.is_match(&first) {
            wrong.push(format!("the first row lacks /{wanted}/"));
        }
    }
    for wanted in &truth.also {
        let wanted_regex = regex(wanted)?;
        if !texts.iter().any(|text| wanted_regex.is_match(text)) {
            wrong.push(format!("none of the first {FIRST} rows has /{wanted}/"));
        }
    }
    for unwanted in &truth.never {
        if regex(unwanted)?.is_match(&first) {
            wrong.push(format!("the first row has /{unwanted}/"));
        }
    }
    let mut measured = None;
    if let (Some(wanted), Some(row)) = (&truth.number, rows.first()) {
        let printed = output.truth(&wanted.printed).with_context(|| format!("no truth {}", wanted.printed))?;
        let reported = number(row, &wanted.column)?;
        if (reported - printed).abs() > wanted.within * printed {
            wrong.push(format!("{}: {reported} in the report, {} {printed}", wanted.column, wanted.printed));
        }
        measured = Some((reported, printed));
    }
    let text = rows.first().map(|row| text(row, "text").to_owned()).unwrap_or_default();
    Ok(Verdict { text, first, wrong, measured })
}

/// Line by line: who and the cause, the chains, the text, the advice.
fn words(row: &Value) -> String {
    let chains = ["chain", "chains"].into_iter().filter_map(|column| row[column].as_array()).flatten();
    let cause = [text(row, "who"), text(row, "cause"), text(row, "place")].join(" ");
    let advice = format!("fix: {}", text(row, "advice"));
    let ends = [text(row, "text"), advice.as_str()];
    let lines = [cause.as_str()].into_iter().chain(chains.filter_map(Value::as_str)).chain(ends);
    lines.collect::<Vec<_>>().join("\n")
}

/// `^` and `$` match at each line.
fn regex(wanted: &str) -> Result<Regex> {
    RegexBuilder::new(wanted).multi_line(true).build().with_context(|| wanted.to_owned())
}

/// Whether a truth file's regular expressions match a first row.
fn is_matched(truth: &Truth, first: &str) -> Result<bool> {
    let matches = |wanted: &String| Ok(regex(wanted)?.is_match(first));
    Ok(truth.first.iter().map(matches).collect::<Result<Vec<_>>>()?.into_iter().all(|it| it))
}

impl Verdict {
    /// Fails where it is wrong.
    fn check(&self, name: &str) -> Result<()> {
        ensure!(self.wrong.is_empty(), "{name}: {}\n{}", self.wrong.join("; "), self.first);
        Ok(())
    }

    fn cells(&self) -> String {
        let right = if self.wrong.is_empty() { "yes".to_owned() } else { format!("no: {}", self.wrong.join("; ")) };
        let said: String = self.text.chars().take(SHOWN).collect();
        let more = if said.len() < self.text.len() { " …" } else { "" };
        let seconds = |(reported, printed): (f64, f64)| format!("{:.2} s ({:.2} s)", reported / 1e9, printed / 1e9);
        format!("{} | {}{more} | {}", cell(&right), cell(&said), self.measured.map(seconds).unwrap_or_default())
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

/// Writes docs/cases.md. No row may be so vague that another program's expectations hold for it.
fn finish(page: &BTreeMap<String, Result<Verdict, String>>) -> Result<()> {
    let mut text = HEAD.to_owned();
    for (name, outcome) in page {
        let cells = outcome.as_ref().map_or_else(|why| format!("{} | | ", cell(why)), Verdict::cells);
        writeln!(text, "| {} | {} | {cells} |", name.replace('_', " "), cell(&read_truth(name)?.planted))?;
    }
    let judged: Vec<(&String, &Verdict)> =
        page.iter().filter_map(|(name, outcome)| Some((name, outcome.as_ref().ok()?))).collect();
    let right = judged.iter().filter(|(_, verdict)| verdict.wrong.is_empty()).count();
    writeln!(text, "\n{right} of {} are right; {} did not run.", judged.len(), page.len() - judged.len())?;
    fs::write(root().join("docs/cases.md"), text)?;
    for name in page.keys() {
        let truth = read_truth(name)?;
        for (other, verdict) in judged.iter().filter(|(other, _)| *other != name) {
            ensure!(!is_matched(&truth, &verdict.first)?, "the first row of {other} would do for {name}");
        }
    }
    Ok(())
}

/// Each truth file can be read, expects something that is in its sources, and could fail.
fn truth_files() -> Result<()> {
    let names = names();
    ensure!(names.len() >= 20, "only {} cases: {names:?}", names.len());
    for name in &names {
        let truth = read_truth(name)?;
        for wanted in truth.first.iter().chain(&truth.also).chain(&truth.never) {
            let matches_anything = regex(wanted)?.is_match("somebody waited for something and slept in it (file:1)");
            ensure!(!matches_anything, "{name}: /{wanted}/ names no function, object or role");
        }
        ensure!(!truth.first.is_empty(), "{name} expects nothing");
        let printed = truth.number.as_ref().map_or("", |number| &number.printed);
        ensure!(sources(name)?.contains(printed), "{name} prints no {printed}");
    }
    Ok(())
}

fn sources(name: &str) -> Result<String> {
    let files = fs::read_dir(folder().join(name))?.filter_map(|entry| Some(entry.ok()?.path()));
    let sources = files.filter(|path| path.is_file() && path.extension().is_none_or(|it| it != "toml"));
    Ok(sources.map(fs::read_to_string).collect::<std::io::Result<Vec<_>>>()?.concat())
}

/// Another function, a wrong number, an accused thread or no row at all are seen.
fn what_is_wrong_fails() -> Result<()> {
    let truth: Truth = toml::from_str(
        "planted = 'x'\nneeds = []\nrun = 'true'\nfirst = ['logd .*slept in store_record']\nalso = ['syslog_lock']\n\
         never = ['^heartbeat']\nnumber = { column = 'wait_ns', printed = 'syslog_ns', within = 0.2 }",
    )?;
    let output = Running::start(Command::new("echo").arg("truth syslog_ns 1000"))?.finish()?;
    let row = |who: &str, function: &str, wait_ns: u64| {
        let (cause, chain) = (format!("slept in {function}"), ["serve-N waited for mutex syslog_lock"]);
        serde_json::json!({ "who": who, "cause": cause, "chain": chain, "wait_ns": wait_ns, "text": "" })
    };
    let is_right = |rows: &[Value]| judge(&truth, rows, &output).is_ok_and(|verdict| verdict.wrong.is_empty());
    ensure!(is_right(&[row("logd", "store_record (logd.c:8)", 1100)]), "what is right is refused");
    ensure!(!is_right(&[]), "no row passes");
    ensure!(!is_right(&[row("logd", "store_page", 1100)]), "another function passes");
    ensure!(!is_right(&[row("heartbeat of logd", "store_record", 1100)]), "an accused thread passes");
    ensure!(!is_right(&[row("logd", "store_record", 1300)]), "a wrong number passes");
    ensure!(
        !is_right(&[row("x", "y", 1000), row("logd", "store_record", 1000)]),
        "the second row passes for the first"
    );
    Ok(())
}

const HEAD: &str = "# Cases\n\n\
Made by `make test-cases`. Each program of `samples/cases` has a planted fault, most of them after public bug reports. *Right first* says \
whether the first row of `dwell report explain` names it: the function, the object and the threads that `truth.toml` there expects, and a \
number that differs from the program's own, the *truth*, by no more than it allows.\n\n\
| case | planted | right first? | first row | number (truth) |\n|---|---|---|---|---|\n";
