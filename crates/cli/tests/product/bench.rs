//! `dwell bench`: its figures are figures of what it did, and it can be profiled itself.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::harness::Case;
use crate::recording::{Recording, run_dwell};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("bench::seven_figures_that_agree", seven_figures_that_agree),
        Case::new("bench::governors_or_a_clear_message", governors_or_a_clear_message),
        Case::new("bench::wrong_cpus", wrong_cpus),
        Case::new("bench::each_packet_is_a_task", each_packet_is_a_task),
    ]
}

fn number(row: &Value, name: &str) -> Result<f64> {
    row[name].as_f64().with_context(|| format!("no number {name} in {row}"))
}

fn seven_figures_that_agree() -> Result<()> {
    let output = run_dwell(&["bench", "spsc", "20000", "10", "200000", "--format", "json"])?;
    let answer: Value = serde_json::from_str(&output.stdout).context(output.stderr)?;
    let row = &answer["rows"][0];
    ensure!(number(row, "count")? == 20_000.0, "{row}");
    let [least, mean, usual, most] =
        ["min_ns", "mean_ns", "mean_without_outliers_ns", "max_ns"].map(|name| number(row, name));
    let (least, mean, usual, most) = (least?, mean?, usual?, most?);
    ensure!(0.0 < most && least <= usual && usual <= mean && mean <= most, "{row}");
    ensure!(number(row, "stddev_without_outliers_ns")? <= number(row, "stddev_ns")?, "{row}");
    ensure!(number(row, "outliers")? <= 10_000.0, "the median is no outlier: {row}");
    ensure!(number(row, "p50_ns")? <= number(row, "outlier_limit_ns")?, "{row}");
    ensure!(number(row, "achieved_packets_per_second")? < 220_000.0, "{row}");
    for nth in 0..2 {
        ensure!(number(&answer["queues"][nth], "messages_per_second")? > 0.0, "{answer}");
    }
    Ok(())
}

/// Where frequencies cannot be chosen, that is said, and nothing is measured.
fn governors_or_a_clear_message() -> Result<()> {
    let none = !std::path::Path::new("/sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors").exists();
    let governor = if none { "performance" } else { "no-such-governor" };
    let output = run_dwell(&["bench", "spsc", "100", "--compare", governor])?;
    let word = if none { "no cpufreq" } else { "no governor" };
    ensure!(
        output.code() != 0 && output.stderr.contains(word) && output.stderr.contains("hint: "),
        "{}",
        output.stderr
    );
    Ok(())
}

fn wrong_cpus() -> Result<()> {
    for cpus in ["0,1000", "x", "0"] {
        let output = run_dwell(&["bench", "spsc", "100", "--cpus", cpus])?;
        ensure!(output.code() == 2 && output.stderr.contains("hint: "), "{cpus}: {}", output.stderr);
    }
    Ok(())
}

fn each_packet_is_a_task() -> Result<()> {
    let bench = env!("CARGO_BIN_EXE_dwell");
    let recording = Recording::of(&[], &[bench, "bench", "spsc", "3000", "10", "20000", "--no-queues"])?;
    let rows = recording.rows(&["tasks"])?;
    let packets = rows.iter().find(|row| row["task"].as_str() == Some("packet")).context("no task packet")?;
    ensure!(number(packets, "count")? == 3_000.0, "{packets}");
    let result = recording.path().display().to_string();
    let hgrm = ["report", "latency", &result, "--format", "hgrm"];
    let shown = run_dwell(&[hgrm.as_slice(), &["--interval", "packet"]].concat())?.stdout;
    ensure!(
        shown.contains("Total count    =         3000]") && shown.contains(" 1.000000000000       3000\n"),
        "{shown}"
    );
    let several = run_dwell(&hgrm)?;
    ensure!(several.code() == 2 && several.stderr.contains("--interval "), "{}", several.stderr);
    Ok(())
}
