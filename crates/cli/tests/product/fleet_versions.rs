//! Versions of services in the store of a fleet: told apart in reports, comparisons and trends, and empty in older files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use dwell_fleet::FleetRow;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::Value;
use tempfile::TempDir;

use crate::fleet::{BEGIN, HOSTS, HOUR, answer, fleet, rows, store, told, with_a_step, write};
use crate::harness::Case;
use crate::recording::run_dwell;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("fleet_versions::versions_are_told_apart", versions_are_told_apart),
        Case::new("fleet_versions::a_store_without_versions_answers", a_store_without_versions_answers),
    ]
}

/// A day in which the second host gets version 1.5 with the step, and all the others keep 1.4.
fn versions_are_told_apart() -> Result<()> {
    let folder = TempDir::new()?;
    let mut written = with_a_step();
    for (service, row) in &mut written {
        let is_new = row.host == HOSTS[1] && row.t >= BEGIN + 15 * HOUR;
        row.version = if *service == "cron" && is_new { "1.5" } else { "1.4" }.into();
        if row.kind == "sleep" {
            // Each process has its locks at addresses of its own.
            (row.kind, row.object) = ("condition".into(), format!("futex {:#x}", row.t));
        }
    }
    let store = store(&folder, &written)?;
    let trend = answer(&store, &["trend", "--service", "cron", "--object", "it's a futex"])?;
    ensure!(trend["notes"].to_string().contains("with the step version 1.5 came, on host web-2\""), "{trend}");
    let versions = answer(&store, &["report", "versions", "--service", "cron"])?;
    let of = |version: &str| {
        let rows = written.iter().filter(|(service, row)| *service == "cron" && row.version == version);
        let (mut wait_ns, mut first, mut end) = (0, i64::MAX, 0);
        for (_, row) in rows {
            (wait_ns, first, end) = (wait_ns + row.wait_ns, first.min(row.t), end.max(row.t + row.length_ns));
        }
        (version.to_owned(), wait_ns, first, end)
    };
    let shown = |row: &Value| {
        let number = |column: &str| row[column].as_i64().unwrap_or(-1);
        (row["version"].as_str().unwrap_or("none").to_owned(), number("wait_ns"), number("first_t"), number("end_t"))
    };
    ensure!(rows(&versions)?.iter().map(shown).eq([of("1.4"), of("1.5")]), "{versions}");
    let by_version = answer(&store, &["report", "waits", "--group-by", "version"])?;
    ensure!(rows(&by_version)?.len() == 2, "{by_version}");
    // Each version's time is that in which it ran: 61 rows of time of the one, 11 of the other.
    let words = ["compare", "--base", "service=cron,version=1.4", "--new", "service=cron,version=1.5"];
    let compared = answer(&store, &words)?;
    let lock = rows(&compared)?.iter().find(|row| row["kind"] == "lock").context("no lock")?;
    let unknown = fleet(&store, &["compare", "--base", "version=1.3", "--new", "version=1.5"])?;
    ensure!(unknown.code() == 2 && unknown.stderr.contains("hint: dwell fleet report versions"), "{}", unknown.stderr);
    let rate = |version: &str| {
        let locks = written.iter().filter(|(_, row)| row.version == version && row.kind == "lock");
        let (count, wait_ns) = locks.fold((0, 0), |(count, sum), (_, row)| (count + 1, sum + row.wait_ns));
        (count, told(wait_ns as f64 / (count * (HOUR - 5)) as f64))
    };
    let ((old, base), (new, rolled_out)) = (rate("1.4"), rate("1.5"));
    ensure!((old, new) == (61, 11), "{old} {new}");
    let conditions: Vec<_> = rows(&compared)?.iter().filter(|row| row["kind"] == "condition").collect();
    ensure!(
        conditions.len() == 1 && conditions[0]["object"] == "futex" && conditions[0]["ratio"] == told(1.0),
        "{compared}"
    );
    ensure!(lock["base_per_s"] == base && lock["new_per_s"] == rolled_out, "{lock} {base} {rolled_out}");
    Ok(())
}

/// As older agents wrote them, alone and beside newer files.
fn a_store_without_versions_answers() -> Result<()> {
    let folder = TempDir::new()?;
    let store = store(&folder, &[])?;
    let service = store.join("day=2026-11-26/service=cron");
    fs::create_dir_all(&service)?;
    let schema = "message dwell { required binary host (UTF8); required int64 t; required int64 length_ns;
        required binary process (UTF8); required binary kind (UTF8); required binary object (UTF8);
        required binary object_type (UTF8); required int64 waits; required int64 wait_ns; required int64 longest_ns;
        required int64 running_ns; required int64 runnable_ns; }";
    let t = BEGIN + 3 * HOUR;
    let cells = ["web-1", "app", "lock", "queue", "futex"];
    write_table(&service.join(format!("web-1-{t}.parquet")), schema, &cells, &[t, HOUR, 1, 2, 2, 0, 0])?;
    let versions = || -> Result<Vec<(String, i64)>> {
        let answer = answer(&store, &["report", "versions"])?;
        let row =
            |row: &Value| (row["version"].as_str().unwrap_or("none").to_owned(), row["wait_ns"].as_i64().unwrap_or(-1));
        Ok(rows(&answer)?.iter().map(row).collect())
    };
    let old = (String::new(), 2);
    ensure!(versions()? == std::slice::from_ref(&old), "{:?}", versions()?);
    let words = ["report", "waits", "--group-by", "version,kind"];
    ensure!(rows(&answer(&store, &words)?)?.len() == 1, "the old file alone");
    let new = FleetRow {
        host: "web-1".into(),
        t: t + HOUR,
        length_ns: HOUR,
        process: "app".into(),
        version: "2".into(),
        kind: "lock".into(),
        wait_ns: 7,
        ..FleetRow::default()
    };
    write(&store, &[("cron", new)])?;
    ensure!(versions()? == [("2".to_owned(), 7), old], "{:?}", versions()?);
    // Both are summed.
    let compacted = run_dwell(&["fleet", "compact", "--store", &store.display().to_string()])?;
    ensure!(compacted.code() == 0 && compacted.stderr.contains("2 new files"), "{}", compacted.stderr);
    ensure!(versions()?.len() == 2, "{:?}", versions()?);
    Ok(())
}

/// Writes one row: texts and numbers, each in the order of their columns.
fn write_table(path: &Path, schema: &str, texts: &[&str], numbers: &[i64]) -> Result<()> {
    let (mut texts, mut numbers) = (texts.iter(), numbers.iter());
    let schema = Arc::new(parse_message_type(schema)?);
    let mut writer = SerializedFileWriter::new(fs::File::create(path)?, schema, Arc::default())?;
    let mut group = writer.next_row_group()?;
    while let Some(mut column) = group.next_column()? {
        match column.untyped() {
            ColumnWriter::ByteArrayColumnWriter(column) => {
                column.write_batch(&[ByteArray::from(*texts.next().context("no text")?)], None, None)?;
            }
            ColumnWriter::Int64ColumnWriter(column) => {
                column.write_batch(&[*numbers.next().context("no number")?], None, None)?;
            }
            _ => anyhow::bail!("another column"),
        }
        column.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}
