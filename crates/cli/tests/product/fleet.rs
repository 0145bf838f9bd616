//! `dwell fleet`: what DuckDB answers about a store is what the rows that were written to it add up to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use dwell_fleet::{FleetRow, FleetStore};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Output, Running, dwell, run_dwell};
use crate::sql::library;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("fleet::reports_are_what_was_written", reports_are_what_was_written),
        Case::new("fleet::since_leaves_out_what_began_before", since_leaves_out_what_began_before),
        Case::new("fleet::names_are_only_values", names_are_only_values),
        Case::new("fleet::lost_waits_are_told", lost_waits_are_told),
        Case::new("fleet::a_trend_finds_the_step", a_trend_finds_the_step),
        Case::new("fleet::a_comparison_is_of_rates", a_comparison_is_of_rates),
        Case::new("fleet::limits_fail_a_rollout", limits_fail_a_rollout),
        Case::new("fleet::a_query_is_answered", a_query_is_answered),
        Case::new("fleet::a_store_without_rows_is_told", a_store_without_rows_is_told),
        Case::new("fleet::a_damaged_file_is_told", a_damaged_file_is_told),
        Case::new("fleet::sql_is_printed_without_a_library", sql_is_printed_without_a_library),
    ]
}

/// 2026-11-25 22:00 in UTC: rows of an hour, of which two are of this day and the others of the next.
pub const BEGIN: i64 = 1_795_644_000_000_000_000;
pub const HOUR: i64 = 3_600_000_000_000;
pub const HOSTS: [&str; 3] = ["web-1", "web-2", "db-1"];
const SERVICES: [&str; 5] = ["nginx.service", "postgres.service", "cron", "queue_worker", "it_s"];
const OBJECTS: [(&str, &str, &str); 4] = [
    ("/var/log/o'clock", "file", "file"),
    ("tcp:10.0.0.1:5432", "socket", "socket"),
    ("futex", "mutex", "lock"),
    ("(others)", "", "other"),
];

/// A row, and the service that it is written for.
pub type Written = (&'static str, FleetRow);

/// Numbers that look like chance and are the same in each run.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self, most: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(self.0 >> 33).unwrap_or(0) % most
    }
}

/// Six rows of time of all services on all hosts.
fn synthetic() -> Vec<Written> {
    let mut numbers = Numbers(42);
    let mut written = Vec::new();
    for (host, hour) in HOSTS.iter().flat_map(|host| (0..6).map(move |hour| (host, hour))) {
        for service in SERVICES {
            let row = FleetRow {
                host: (*host).into(),
                t: BEGIN + hour * HOUR,
                length_ns: HOUR,
                process: format!("{service}-main"),
                ..FleetRow::default()
            };
            for (object, object_type, kind) in OBJECTS {
                let (waits, wait_ns) = (numbers.next(1_000), numbers.next(1 << 30) * 1_000 + 7);
                let (object, object_type, kind) = (object.into(), object_type.into(), kind.into());
                let longest_ns = numbers.next(1 << 30);
                written
                    .push((service, FleetRow { object, object_type, kind, waits, wait_ns, longest_ns, ..row.clone() }));
            }
            let (running_ns, runnable_ns) = (numbers.next(1 << 30), numbers.next(1 << 20));
            written.push((service, FleetRow { kind: "cpu".into(), running_ns, runnable_ns, ..row }));
        }
    }
    written
}

/// Writes rows as the agents of their hosts do.
pub fn write(store: &Path, rows: &[Written]) -> Result<()> {
    let opened = FleetStore::open(store)?;
    let mut files = BTreeMap::<(&str, &str, i64), Vec<FleetRow>>::new();
    for (service, row) in rows {
        files.entry((service, &row.host, row.t)).or_default().push(row.clone());
    }
    for ((service, host, t), rows) in files {
        opened.write(service, host, t, &rows)?;
    }
    Ok(())
}

/// A store whose path has to be quoted.
pub fn store(folder: &TempDir, rows: &[Written]) -> Result<PathBuf> {
    let store = folder.path().join("it's [1]*");
    write(&store, rows)?;
    Ok(store)
}

/// `dwell fleet` with these words, of this store.
pub fn fleet(store: &Path, words: &[&str]) -> Result<Output> {
    let store = store.display().to_string();
    let mut command = dwell(&[&["fleet"], words, &["--store", &store]].concat());
    Running::start(command.env("DWELL_DUCKDB", library()?))?.finish()
}

/// What it answers, as JSON.
pub fn answer(store: &Path, words: &[&str]) -> Result<Value> {
    let output = fleet(store, &[words, &["--format", "json"]].concat())?;
    ensure!(output.code() == 0, "{words:?}: {}", output.stderr);
    serde_json::from_str(&output.stdout).context("no JSON")
}

pub fn rows(answer: &Value) -> Result<&Vec<Value>> {
    answer["rows"].as_array().context("no rows")
}

/// Sums of the rows that count, by a name, as a report has them.
fn sums(
    written: &[Written],
    counts: impl Fn(&Written) -> bool,
    name: impl Fn(&Written) -> Vec<String>,
) -> BTreeMap<Vec<String>, [i64; 5]> {
    let mut sums = BTreeMap::<Vec<String>, [i64; 5]>::new();
    for written in written.iter().filter(|written| counts(written)) {
        let row = &written.1;
        let sum = sums.entry(name(written)).or_default();
        for (sum, number) in sum.iter_mut().zip([row.wait_ns, row.waits, 0, row.running_ns, row.runnable_ns]) {
            *sum += number;
        }
        sum[2] = sum[2].max(row.longest_ns);
    }
    sums
}

/// The same of the rows of a report.
fn reported(answer: &Value, names: &[&str]) -> Result<BTreeMap<Vec<String>, [i64; 5]>> {
    let measures = ["wait_ns", "waits", "longest_ns", "running_ns", "runnable_ns"];
    let row = |row: &Value| {
        let name = names.iter().map(|name| row[name].as_str().unwrap_or("none").to_owned()).collect();
        (name, measures.map(|measure| row[measure].as_i64().unwrap_or(0)))
    };
    let rows = rows(answer)?;
    ensure!(rows.is_sorted_by(|a, b| a["wait_ns"].as_i64() >= b["wait_ns"].as_i64()), "{answer}");
    let sums: BTreeMap<_, _> = rows.iter().map(row).collect();
    ensure!(sums.len() == rows.len(), "a name has two rows: {answer}");
    Ok(sums)
}

/// A number as it comes out of JSON: the reader may be off in the last digit, for the same text always in the same way.
pub fn told(number: f64) -> Value {
    serde_json::from_str(&Value::from(number).to_string()).unwrap_or_default()
}

fn is_wait(written: &Written) -> bool {
    written.1.kind != "cpu"
}

fn by_wait((service, row): &Written) -> Vec<String> {
    vec![(*service).into(), row.process.clone(), row.object.clone(), row.object_type.clone(), row.kind.clone()]
}

const BY_WAIT: [&str; 5] = ["service", "process", "object", "object_type", "kind"];

fn reports_are_what_was_written() -> Result<()> {
    let folder = TempDir::new()?;
    let written = synthetic();
    let store = store(&folder, &written)?;
    let waits = answer(&store, &["report", "waits"])?;
    ensure!(reported(&waits, &BY_WAIT)? == sums(&written, is_wait, by_wait), "{waits}");
    let services = answer(&store, &["report", "services"])?;
    let wanted = sums(&written, |_| true, |(service, _)| vec![(*service).into()]);
    ensure!(reported(&services, &["service"])? == wanted && wanted.len() == 5, "{services}\n{wanted:?}");
    ensure!(rows(&services)?.iter().all(|row| row["hosts"] == 3 && row["processes"] == 1), "{services}");
    let hosts = answer(&store, &["report", "hosts"])?;
    ensure!(reported(&hosts, &["host"])? == sums(&written, |_| true, |(_, row)| vec![row.host.clone()]), "{hosts}");
    let is_whole = |row: &Value| {
        row["rows_of_time"] == 6 && row["services"] == 5 && row["first_t"] == BEGIN && row["end_t"] == BEGIN + 6 * HOUR
    };
    ensure!(rows(&hosts)?.iter().all(is_whole), "{hosts}");
    let objects = answer(&store, &["report", "objects"])?;
    let by_object = |(_, row): &Written| vec![row.object.clone(), row.object_type.clone(), row.kind.clone()];
    ensure!(reported(&objects, &BY_WAIT[2..])? == sums(&written, is_wait, by_object), "{objects}");
    let of_day = answer(&store, &["report", "waits", "--service", "it_s", "--group-by", "day,host"])?;
    let day = |t| if t < BEGIN + 2 * HOUR { "2026-11-25" } else { "2026-11-26" };
    let wanted =
        sums(&written, |row| is_wait(row) && row.0 == "it_s", |(_, row)| vec![day(row.t).into(), row.host.clone()]);
    ensure!(reported(&of_day, &["day", "host"])? == wanted && wanted.len() == 6, "{of_day}\n{wanted:?}");
    let first = answer(&store, &["report", "waits", "--limit", "3"])?;
    ensure!(rows(&first)? == &rows(&waits)?[..3] && first["notes"].to_string().contains("the first 3 rows"), "{first}");
    Ok(())
}

fn since_leaves_out_what_began_before() -> Result<()> {
    let folder = TempDir::new()?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_nanos();
    let now = i64::try_from(now)?;
    let mut written = synthetic();
    for (at, (_, row)) in written.iter_mut().enumerate() {
        row.t = now - (at as i64 % 5) * 24 * HOUR - HOUR;
    }
    let store = store(&folder, &written)?;
    let since = answer(&store, &["report", "waits", "--since", "3d"])?;
    let wanted = sums(&written, |row| is_wait(row) && row.1.t > now - 3 * 24 * HOUR, by_wait);
    ensure!(reported(&since, &BY_WAIT)? == wanted && !wanted.is_empty(), "{since}");
    let nothing = answer(&store, &["report", "waits", "--since", "1s"])?;
    ensure!(rows(&nothing)?.is_empty() && nothing["notes"].to_string().contains("no row of time"), "{nothing}");
    Ok(())
}

fn names_are_only_values() -> Result<()> {
    let folder = TempDir::new()?;
    let store = store(&folder, &synthetic())?;
    for name in ["x' or 1=1 --", "'; drop view waits; --", "{groups}", "nginx.service\\' or ''='"] {
        let nothing = answer(&store, &["report", "waits", "--service", name])?;
        ensure!(rows(&nothing)?.is_empty(), "{name}: {nothing}");
        ensure!(nothing["notes"].to_string().contains("no row has the service"), "{name}: {nothing}");
    }
    let column = fleet(&store, &["report", "waits", "--group-by", "kind;drop"])?;
    ensure!(column.code() == 2 && column.stdout.is_empty(), "{} {}", column.code(), column.stderr);
    ensure!(!rows(&answer(&store, &["report", "waits"])?)?.is_empty(), "the rows are gone");
    Ok(())
}

fn lost_waits_are_told() -> Result<()> {
    let folder = TempDir::new()?;
    let mut written = synthetic();
    let lost = FleetRow { waits: 4_210, wait_ns: 2_500_000_000, kind: "lost".into(), ..written[0].1.clone() };
    written.push(("lost", FleetRow { process: String::new(), object: String::new(), ..lost }));
    let store = store(&folder, &written)?;
    for words in [&["report", "waits"][..], &["report", "hosts"], &["report", "objects", "--service", "cron"]] {
        let told = answer(&store, words)?;
        let note = "4,210 waits of 2.50 s are lost, and are rows of the service `lost`";
        ensure!(told["notes"].to_string().contains(note), "{words:?}: {told}");
    }
    let waits = answer(&store, &["report", "waits"])?;
    let is_lost = |row: &Value| row["kind"] == "lost" && row["wait_ns"] == 2_500_000_000_i64;
    ensure!(rows(&waits)?.iter().any(is_lost), "{waits}");
    Ok(())
}

/// A day of rows, a few ms off on each host, in which the service waits more for its lock from the 14th hour on; on one host only.
pub fn with_a_step() -> Vec<Written> {
    let mut numbers = Numbers(7);
    let mut written = Vec::new();
    for (at, hour) in (0..HOSTS.len()).flat_map(|at| (0..24).map(move |hour| (at, hour))) {
        let lock_ns = if at == 1 && hour >= 13 { 400_000_000_000 } else { 100_000_000_000 };
        let row = FleetRow {
            host: HOSTS[at].into(),
            t: BEGIN + 2 * HOUR + hour * HOUR + at as i64 * 3_000_000,
            length_ns: HOUR - 5,
            process: "cron".into(),
            ..FleetRow::default()
        };
        let lock = FleetRow { kind: "lock".into(), object: "it's a futex".into(), waits: 70, ..row.clone() };
        written.push(("cron", FleetRow { wait_ns: lock_ns + numbers.next(10_000_000_000), ..lock }));
        let sleep = FleetRow { kind: "sleep".into(), waits: 3, wait_ns: HOUR, ..row.clone() };
        written.push(("cron", sleep));
        written.push(("nginx.service", FleetRow { kind: "sleep".into(), waits: 1, wait_ns: 999, ..row }));
    }
    written
}

fn a_trend_finds_the_step() -> Result<()> {
    let folder = TempDir::new()?;
    let written = with_a_step();
    let store = store(&folder, &written)?;
    let lock = ["trend", "--service", "cron", "--object", "it's a futex", "--by"];
    // A row of time begins in the same second on all hosts, so that each hour is one row of both.
    for (by, step) in [("hour", HOUR), ("day", 24 * HOUR), ("row", HOUR)] {
        let trend = answer(&store, &[&lock[..], &[by]].concat())?;
        let mut wanted = BTreeMap::<i64, [i64; 3]>::new();
        for (service, row) in written.iter().filter(|(service, _)| *service == "cron") {
            let sums = wanted.entry(row.t - row.t % step).or_default();
            let is_lock = row.kind == "lock";
            ensure!(*service == "cron");
            let covered = if is_lock { row.length_ns } else { 0 };
            let numbers = if is_lock { [row.wait_ns, row.waits, covered] } else { [0, 0, 0] };
            sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
        }
        let row = |row: &Value| {
            let number = |column: &str| row[column].as_i64().unwrap_or(-1);
            (number("t"), [number("wait_ns"), number("waits"), number("covered_ns")])
        };
        ensure!(rows(&trend)?.iter().map(row).eq(wanted.clone()), "{by}: {trend}\n{wanted:?}");
        let wanted = wanted.values().map(|sums| told(sums[0] as f64 / sums[2] as f64));
        ensure!(rows(&trend)?.iter().map(|row| row["per_s"].clone()).eq(wanted), "rates by {by}: {trend}");
        let steps: Vec<i64> =
            rows(&trend)?.iter().filter(|row| !row["step_per_s"].is_null()).map(|r| row(r).0).collect();
        let notes = trend["notes"].to_string();
        if by == "day" {
            ensure!(steps.is_empty() && notes.contains("no step"), "{by}: {trend}");
        } else {
            ensure!(steps == [BEGIN + 15 * HOUR], "{by}: {steps:?} {trend}");
            ensure!(notes.contains("the largest step is at 2026-11-26 13:00:00 UTC"), "{notes}");
            ensure!(notes.contains("no version and no host came or went with the step"), "{notes}");
        }
    }
    let constant = answer(&store, &["trend", "--service", "nginx.service"])?;
    ensure!(rows(&constant)?.len() == 24 && constant["notes"].to_string().contains("no step"), "{constant}");
    let nothing = answer(&store, &["trend", "--service", "x' or 1=1 --"])?;
    ensure!(rows(&nothing)?.is_empty() && nothing["notes"].to_string().contains("no row has"), "{nothing}");
    Ok(())
}

fn a_comparison_is_of_rates() -> Result<()> {
    let folder = TempDir::new()?;
    let mut written = synthetic();
    // One host has half of the time, and a service of its own.
    written.retain(|(_, row)| row.host != "web-2" || row.t < BEGIN + 3 * HOUR);
    written.retain(|(service, row)| row.host != "web-1" || *service != "cron");
    let store = store(&folder, &written)?;
    let compared = answer(&store, &["compare", "--base", "host=web-1", "--new", "host=web-2,until=2026-11-26T12:00"])?;
    let side = |host: &str| {
        sums(
            &written,
            |row| is_wait(row) && row.1.host == host,
            |(service, row)| vec![(*service).into(), row.kind.clone(), row.object.clone()],
        )
    };
    let (base, new) = (side("web-1"), side("web-2"));
    let rate = |sums: &BTreeMap<Vec<String>, [i64; 5]>, name: &Vec<String>, hours: i64| {
        sums.get(name).map_or(0.0, |sums| sums[0] as f64 / (hours * HOUR) as f64)
    };
    let shown = rows(&compared)?;
    ensure!(shown.len() == 20, "{} rows", shown.len());
    for row in shown {
        let name: Vec<String> =
            ["service", "kind", "object"].iter().map(|name| row[name].as_str().unwrap_or("none").to_owned()).collect();
        let (base, new) = (rate(&base, &name, 6), rate(&new, &name, 3));
        let wanted = [told(base), told(new), told(base - new)];
        let columns = ["base_per_s", "new_per_s", "difference_per_s"];
        ensure!(columns.map(|column| row[column].clone()) == wanted, "{row} {wanted:?}");
        let ratio = if base > 0.0 { told(new / base) } else { Value::Null };
        ensure!(row["ratio"] == ratio && (base > 0.0) == (name[0] != "cron"), "{row}");
    }
    let difference = |row: &Value| row["difference_per_s"].as_f64().unwrap_or(f64::NAN).abs();
    ensure!(shown.is_sorted_by(|a, b| difference(a) >= difference(b)), "{compared}");
    let nothing = fleet(&store, &["compare", "--base", "host=x' or 1=1 --", "--new", "host=web-1"])?;
    ensure!(nothing.code() == 2 && nothing.stderr.contains("error: --base chooses no row"), "{}", nothing.stderr);
    let wrong = fleet(&store, &["compare", "--base", "user=me", "--new", "host=web-1"])?;
    ensure!(wrong.code() == 2 && wrong.stderr.contains("user=me"), "{}", wrong.stderr);
    Ok(())
}

fn limits_fail_a_rollout() -> Result<()> {
    let folder = TempDir::new()?;
    let store = store(&folder, &with_a_step())?;
    let check = |limit: &str| -> Result<(i32, String)> {
        let words =
            ["compare", "--base", "until=2026-11-26T13:00", "--new", "since=2026-11-26T13:00", "--fail-if", limit];
        let output = fleet(&store, &words)?;
        Ok((output.code(), output.stderr))
    };
    // The lock has 100 to 110 s an hour on a host before, and 200 to 210 s after, on average of the three.
    for (limit, code) in [
        ("wait:it's a futex>+20%", 1),
        ("wait:it's a futex>+150%", 0),
        ("wait:kind=lock>40ms", 1),
        ("wait:kind=lock>70ms", 0),
        ("wait:service=nginx*>+1%", 0),
        ("wait_count:service=cron>+1", 0),
        ("wait > +1%", 1),
        ("wait > +20%", 0),
        ("wait > 1.2x", 2),
        ("cpu>1s", 2),
    ] {
        let (ended, said) = check(limit)?;
        ensure!(ended == code, "{limit}: {ended} {said}");
        ensure!((code == 1) == said.contains("exceeded") && said.contains("hint: ") == (code != 0), "{limit}: {said}");
    }
    let (code, said) = check("wait:no such name>1s")?;
    ensure!(code == 0 && said.contains("gate: warning: ") && said.contains("no row has this name"), "{said}");
    Ok(())
}

fn a_query_is_answered() -> Result<()> {
    let folder = TempDir::new()?;
    let written = synthetic();
    let store = store(&folder, &written)?;
    let query = "select service, sum(wait_ns)::bigint as wait_ns from waits where day = '2026-11-25' group by 1 order by 2 desc;";
    let told = reported(&answer(&store, &["sql", query])?, &["service"])?;
    let wanted = sums(&written, |row| row.1.t < BEGIN + 2 * HOUR, |(service, _)| vec![(*service).into()]);
    let waits = |sums: &BTreeMap<Vec<String>, [i64; 5]>| sums.values().map(|sums| sums[0]).collect::<Vec<_>>();
    ensure!(told.keys().eq(wanted.keys()) && waits(&told) == waits(&wanted), "{told:?}\n{wanted:?}");
    let types = answer(&store, &["sql", "describe waits"])?;
    let of_type = |wanted: &str| -> Result<BTreeSet<String>> {
        let of_type = rows(&types)?.iter().filter(|row| row["column_type"] == wanted);
        Ok(of_type.filter_map(|row| Some(row["column_name"].as_str()?.to_owned())).collect())
    };
    let (texts, numbers) = (of_type("VARCHAR")?, of_type("BIGINT")?);
    ensure!(texts.contains("day") && texts.contains("service") && texts.len() == 8 && numbers.len() == 7, "{types}");
    let wrong = fleet(&store, &["sql", "selec 1"])?;
    ensure!(wrong.code() == 1 && wrong.stderr.contains("error: the query fails"), "{}", wrong.stderr);
    // A question writes nowhere, not even into the store.
    let target = store.join("written.csv");
    let copy = format!("select 1) as asked; copy (select 1) to '{}'; select * from (select 1", target.display());
    let output = fleet(&store, &["sql", &copy.replace("it's", "it''s")])?;
    ensure!(output.code() == 1 && !target.exists(), "{} {}", output.stdout, output.stderr);
    Ok(())
}

/// One sentence and one hint.
pub fn refused(output: &Output, sentence: &str) -> Result<()> {
    ensure!(output.code() == 1 && output.stdout.is_empty(), "{} {}", output.code(), output.stdout);
    let lines: Vec<&str> = output.stderr.lines().collect();
    let is_told = lines.first().is_some_and(|line| line.starts_with("error: ") && line.contains(sentence));
    ensure!(is_told && lines.len() == 2 && lines[1].starts_with("hint: "), "{}", output.stderr);
    Ok(())
}

fn a_store_without_rows_is_told() -> Result<()> {
    let folder = TempDir::new()?;
    let store = folder.path().join("fleet");
    let report = |store: &Path| run_dwell(&["fleet", "report", "waits", "--store", &store.display().to_string()]);
    refused(&report(&store)?, "cannot be read: No such file or directory")?;
    FleetStore::open(&store)?;
    refused(&report(&store)?, "has no files yet")?;
    let service = store.join("day=2026-11-26/service=cron");
    fs::create_dir_all(&service)?;
    fs::write(service.join("web-1-7.parquet.partial"), "PAR1")?;
    refused(&report(&store)?, "has no files yet, only one that is half written")
}

fn a_damaged_file_is_told() -> Result<()> {
    let folder = TempDir::new()?;
    let store = store(&folder, &synthetic())?;
    let service = store.join("day=2026-11-26/service=cron");
    fs::write(service.join("web-1-7.parquet.partial"), "PAR1")?;
    let half = answer(&store, &["report", "services"])?;
    ensure!(half["notes"].to_string().contains("1 file is half written"), "{half}");
    for bytes in [&b"no table at all"[..], b"", b"PAR1PAR1\xff\xff\xff\x7fPAR1"] {
        fs::write(service.join("web-9-7.parquet"), bytes)?;
        refused(&fleet(&store, &["report", "waits"])?, "web-9-7.parquet")?;
    }
    Ok(())
}

fn sql_is_printed_without_a_library() -> Result<()> {
    let words = ["fleet", "report", "waits", "--store", "some where", "--service", "o'clock", "--engine", "print"];
    let output = Running::start(dwell(&words).env("DWELL_DUCKDB", "/nonexistent/libduckdb.so"))?.finish()?;
    ensure!(
        output.code() == 0 && output.stdout.contains("/some where/day=*/service=*/*.parquet'"),
        "{}",
        output.stderr
    );
    ensure!(output.stdout.contains("service = 'o''clock'") && output.stdout.ends_with(";\n"), "{}", output.stdout);
    let folder = TempDir::new()?;
    let store = store(&folder, &synthetic())?;
    let store = store.display().to_string();
    let words = ["fleet", "report", "waits", "--store", &store];
    let output = Running::start(dwell(&words).env("DWELL_DUCKDB", "/nonexistent/libduckdb.so"))?.finish()?;
    refused(&output, "DuckDB's library cannot be loaded")
}
