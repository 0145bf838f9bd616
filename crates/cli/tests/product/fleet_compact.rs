//! `dwell fleet compact`: sums answer as the rows do that they are made of, whatever else goes on meanwhile.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use dwell_fleet::{FleetRow, utc};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::fleet::{Numbers, Written, answer, fleet, refused, rows, write};
use crate::harness::Case;
use crate::recording::{Output, Running, dwell};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("fleet_compact::sums_answer_as_rows_do", sums_answer_as_rows_do),
        Case::new("fleet_compact::deleted_rows_are_answered_by_sums", deleted_rows_are_answered_by_sums),
        Case::new("fleet_compact::questions_and_compactions_at_once", questions_and_compactions_at_once),
        Case::new("fleet_compact::killed_it_loses_nothing", killed_it_loses_nothing),
        Case::new("fleet_compact::files_that_are_no_tables_are_told", files_that_are_no_tables_are_told),
    ]
}

const MINUTE: i64 = 60_000_000_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const SERVICES: [&str; 2] = ["cron", "it_s"];
const OBJECTS: [(&str, &str); 3] = [("it's a futex", "lock"), ("tcp:10.0.0.1:5432", "socket"), ("", "sleep")];

fn now() -> Result<i64> {
    Ok(i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos())?)
}

/// Rows of ten minutes of the last 27 hours, the last one five minutes ago; a few ms off on each host. Not every object is in each.
fn recent() -> Result<Vec<Written>> {
    let mut numbers = Numbers(3);
    let (last, mut written) = (now()? - 5 * MINUTE, Vec::new());
    for (at, host) in ["web-1", "web-2"].into_iter().enumerate() {
        for (row, service) in (0..27 * 6).flat_map(|row| SERVICES.map(|service| (row, service))) {
            let row = FleetRow {
                host: host.into(),
                t: last - row * 10 * MINUTE + at as i64 * 3_000_000,
                length_ns: 10 * MINUTE - numbers.next(5),
                process: format!("{service}-{}", numbers.next(3)),
                ..FleetRow::default()
            };
            for (object, kind) in OBJECTS {
                if numbers.next(4) > 0 {
                    let (waits, wait_ns) = (numbers.next(1_000), numbers.next(1 << 30) * 1_000 + 7);
                    let (object, kind, longest_ns) = (object.into(), kind.into(), numbers.next(1 << 30));
                    written.push((service, FleetRow { object, kind, waits, wait_ns, longest_ns, ..row.clone() }));
                }
            }
            let (running_ns, runnable_ns) = (numbers.next(1 << 30), numbers.next(1 << 20));
            written.push((service, FleetRow { kind: "cpu".into(), running_ns, runnable_ns, ..row }));
        }
    }
    Ok(written)
}

/// A store whose path has to be quoted.
fn store(folder: &TempDir) -> Result<PathBuf> {
    let store = folder.path().join("it's [1]*");
    write(&store, &recent()?)?;
    Ok(store)
}

/// A time 13 hours ago that cuts an hour.
fn cut() -> Result<String> {
    let t = now()? - 13 * HOUR;
    Ok(utc(t - t % HOUR + 25 * MINUTE).replace(' ', "T"))
}

/// Questions that sums of hours and days, or of hours with rows at the edges, answer; and some that only rows do.
fn questions() -> Result<Vec<Vec<String>>> {
    let cut = cut()?;
    let (until, since) = (format!("until={cut}"), format!("since={cut}"));
    let all: Vec<Vec<&str>> = vec![
        vec!["report", "waits"],
        vec!["report", "waits", "--since", "20h"],
        vec!["report", "waits", "--group-by", "day,host,kind"],
        vec!["report", "services"],
        vec!["report", "services", "--since", "7h"],
        vec!["report", "services", "--group-by", "process,kind,object"],
        vec!["report", "hosts"],
        vec!["report", "hosts", "--service", "cron", "--since", "20h"],
        vec!["report", "hosts", "--group-by", "process,object"],
        vec!["report", "objects", "--since", "20h"],
        vec!["trend", "--service", "cron", "--by", "day"],
        vec!["trend", "--service", "cron", "--by", "hour", "--object", "it's a futex", "--since", "20h"],
        vec!["trend", "--service", "it_s", "--by", "row"],
        vec!["compare", "--base", "host=web-1", "--new", "host=web-2"],
        vec!["compare", "--base", &until, "--new", &since],
        vec!["sql", "select host, count(*)::varchar as n, sum(wait_ns)::varchar as w from waits group by 1 order by 1"],
    ];
    Ok(all.into_iter().map(|words| words.into_iter().map(str::to_owned).collect()).collect())
}

fn asked(store: &Path, words: &[String]) -> Result<Value> {
    answer(store, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn answers(store: &Path, questions: &[Vec<String>]) -> Result<Vec<Value>> {
    questions.iter().map(|words| asked(store, words)).collect()
}

/// Fails where a question has another answer than before.
fn same(store: &Path, questions: &[Vec<String>], before: &[Value]) -> Result<()> {
    for (words, before) in questions.iter().zip(before) {
        let after = asked(store, words)?;
        ensure!(&after == before && !rows(&after)?.is_empty(), "{words:?}: {after}\nbefore: {before}");
    }
    Ok(())
}

fn compact(store: &Path, words: &[&str]) -> Result<Output> {
    fleet(store, &[&["compact"], words].concat())
}

/// What it says where all goes well.
fn compacted(store: &Path, words: &[&str]) -> Result<String> {
    let output = compact(store, words)?;
    ensure!(output.code() == 0, "{words:?}: {} {}", output.code(), output.stderr);
    Ok(output.stderr)
}

/// Files whose names begin like this, in a folder and all below it.
fn files(folder: &Path, begin: &str) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_named = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begin));
    entries.map(|path| if path.is_dir() { files(&path, begin) } else { usize::from(is_named(&path)) }).sum()
}

/// Whether the SQL of a question reads files with this in their names.
fn reads(store: &Path, words: &[&str], name: &str) -> Result<bool> {
    let sql = fleet(store, &[words, &["--engine", "print"]].concat())?;
    ensure!(sql.code() == 0, "{}", sql.stderr);
    Ok(sql.stdout.contains(name))
}

fn sums_answer_as_rows_do() -> Result<()> {
    let folder = TempDir::new()?;
    let (store, questions) = (store(&folder)?, questions()?);
    let before = answers(&store, &questions)?;
    let said = compacted(&store, &["--level", "hourly"])?;
    ensure!(said.contains("hourly and 0 daily files made of") && said.contains("; 0 files of rows deleted"), "{said}");
    ensure!(reads(&store, &["report", "waits"], "/hourly-")?, "no sums are read");
    same(&store, &questions, &before)?;
    compacted(&store, &[])?;
    ensure!(reads(&store, &["report", "waits"], "/daily-")?, "no sums of days are read");
    ensure!(!reads(&store, &["trend", "--service", "cron"], "/daily-")?, "hours have no sums of days");
    ensure!(!reads(&store, &["trend", "--service", "cron", "--by", "row"], "/hourly-")?, "rows have no sums");
    let cut = ["report", "waits", "--since", "20h"];
    ensure!(reads(&store, &cut, "/hourly-")? && reads(&store, &cut, "/web-1-")?, "edges of an hour are rows");
    same(&store, &questions, &before)?;
    let again = compacted(&store, &[])?;
    ensure!(again.contains("nothing to do"), "{again}");

    // A row that comes late counts at once, and as a part of the sums.
    let late = FleetRow { kind: "lock".into(), host: "late".into(), length_ns: MINUTE, ..FleetRow::default() };
    let t = now()? - DAY - HOUR;
    write(&store, &[("cron", FleetRow { t, waits: 3, wait_ns: 5 * HOUR, longest_ns: HOUR, ..late })])?;
    let with_late = answers(&store, &questions)?;
    ensure!(with_late[0] != before[0], "a row that comes late does not count");
    let said = compacted(&store, &[])?;
    ensure!(said.contains("made of 1 new files of rows"), "{said}");
    same(&store, &questions, &with_late)?;
    // The rows alone say the same.
    fs::remove_dir_all(store.join("levels"))?;
    same(&store, &questions, &with_late)
}

fn deleted_rows_are_answered_by_sums() -> Result<()> {
    let folder = TempDir::new()?;
    let (store, questions) = (store(&folder)?, questions()?);
    let before = answers(&store, &questions)?;
    let files_before = files(&store, "web-");
    let said = compacted(&store, &["--keep-raw", "10h"])?;
    let kept = files(&store, "web-");
    ensure!(!said.contains("; 0 files") && kept < files_before / 2 && kept > files_before / 4, "{kept}: {said}");
    for (words, before) in questions.iter().zip(&before) {
        let after = asked(&store, words)?;
        let note = after["notes"].to_string();
        let text = words.join(" ");
        if text.contains("--since 20h") || text.contains("until=") {
            ensure!(note.contains("1 hour from ") && note.contains("is left out"), "{text}: {after}");
        } else if text.contains("--by row") || text.contains("process,object") {
            ensure!(note.contains("hours from ") && note.contains("are left out"), "{text}: {after}");
        } else if words[0] == "sql" {
            let waits = |answer: &Value| rows(answer).map(|rows| rows.iter().map(|row| row["w"].clone()).collect());
            let (after, before): (Vec<Value>, Vec<Value>) = (waits(&after)?, waits(before)?);
            ensure!(after == before, "{after:?}\n{before:?}");
        } else {
            ensure!(&after == before, "{text}: {after}\nbefore: {before}");
        }
    }
    // An agent that writes a deleted file again is not counted twice.
    let answered = answers(&store, &questions[..1])?;
    let (services, first) = (questions[3].clone(), recent_first(&before[6])?);
    write(&store, &[("cron", FleetRow { t: first, host: "web-1".into(), wait_ns: 1, ..FleetRow::default() })])?;
    same(&store, &questions[..1], &answered)?;
    same(&store, &[services], &before[3..4])
}

/// When the first row of `web-1` began.
fn recent_first(hosts: &Value) -> Result<i64> {
    let row = rows(hosts)?.iter().find(|row| row["host"] == "web-1").context("no host")?;
    row["first_t"].as_i64().context("no time")
}

/// A compaction that goes on.
fn started(store: &Path, words: &[&str]) -> Result<Running> {
    let store = store.display().to_string();
    Running::start(&mut dwell(&[&["fleet", "compact", "--store", &store], words].concat()))
}

fn questions_and_compactions_at_once() -> Result<()> {
    let folder = TempDir::new()?;
    let (store, questions) = (store(&folder)?, questions()?);
    let questions = [questions[0].clone(), questions[6].clone(), questions[13].clone()];
    let before = answers(&store, &questions)?;
    let running =
        [&["--level", "hourly"][..], &["--keep-raw", "2h"], &["--keep-raw", "1h"]].map(|words| started(&store, words));
    for _ in 0..4 {
        same(&store, &questions, &before)?;
    }
    for compaction in running {
        let output = compaction?.finish()?;
        ensure!(output.code() == 0, "{}", output.stderr);
    }
    same(&store, &questions, &before)?;
    let (all, first) = (files(&store, "hourly-"), files_of_first_generation(&store));
    ensure!(all == first && all >= 26 * 2, "{all} hours, {first} of the first generation: some were made twice");
    Ok(())
}

fn files_of_first_generation(store: &Path) -> usize {
    let entries = fs::read_dir(store).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_first =
        |path: &Path| path.to_string_lossy().ends_with("-1.parquet") && path.to_string_lossy().contains("hourly-");
    entries
        .map(|path| if path.is_dir() { files_of_first_generation(&path) } else { usize::from(is_first(&path)) })
        .sum()
}

fn killed_it_loses_nothing() -> Result<()> {
    let folder = TempDir::new()?;
    let (store, questions) = (store(&folder)?, questions()?);
    let questions = [questions[0].clone(), questions[6].clone()];
    let before = answers(&store, &questions)?;
    let mut killed = 0;
    for tries in 1..200 {
        let compaction = started(&store, &["--keep-raw", "1h"])?;
        sleep(Duration::from_millis(40 * tries * tries));
        let _ = compaction.signal(Signal::KILL); // it may have ended
        let output = compaction.finish()?;
        same(&store, &questions, &before)?;
        if output.code() == 0 {
            break;
        }
        killed += 1;
    }
    ensure!(killed > 0, "it was never killed");
    let done = compacted(&store, &["--keep-raw", "1h"])?;
    ensure!(done.contains("nothing to do"), "{done}");
    ensure!(files(&store, "web-") < 100, "{} files of rows are left", files(&store, "web-"));
    same(&store, &questions, &before)
}

fn files_that_are_no_tables_are_told() -> Result<()> {
    let folder = TempDir::new()?;
    let store = folder.path().join("fleet");
    let missing = compact(&store, &[])?;
    refused(&missing, "cannot be compacted")?;
    write(&store, &recent()?)?;
    let t = now()? - 20 * HOUR;
    let service = store.join(format!("day={}/service=cron", &utc(t)[..10]));
    fs::write(service.join(format!("web-9-{t}.parquet")), "PAR1PAR1\u{7f}\u{7f}\u{7f}\u{7f}PAR1")?;
    let output = compact(&store, &[])?;
    ensure!(output.code() == 1 && output.stderr.contains("1 file of the store"), "{}", output.stderr);
    ensure!(output.stderr.contains("web-9-") && output.stderr.contains("\nhint: "), "{}", output.stderr);
    ensure!(output.stderr.contains("hourly and "), "all else is compacted: {}", output.stderr);
    // A damaged manifest is told, and rows answer without it.
    fs::remove_file(service.join(format!("web-9-{t}.parquet")))?;
    let manifest = store.join("levels").join(service.strip_prefix(&store)?).join("manifest.json");
    fs::write(&manifest, "{")?;
    refused(&fleet(&store, &["report", "waits"])?, "manifest.json is damaged")
}
