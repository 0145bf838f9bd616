//! What `scripts/fuzz.sh` asks: `list`, `seeds TARGET FOLDER`, and `table RUNS`, the rows of docs/fuzzing.md.

use std::path::Path;
use std::process::ExitCode;

use dwell_fuzz::{TARGETS, Target, Writer};

const HEAD: &str = "| target | what it reads | who can write that | seconds | executions | edges | features | kept inputs |\n\
                    |---|---|---|---:|---:|---:|---:|---:|\n";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["list"] => Some(TARGETS.iter().map(|target| format!("{}\n", target.name)).collect()),
        ["seeds", name, folder] => write_seeds(name, Path::new(folder)),
        ["table", runs] => Some(TARGETS.iter().map(|target| row(target, Path::new(runs))).collect::<String>())
            .map(|rows| format!("{HEAD}{rows}")),
        _ => None,
    };
    match done {
        Some(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("usage: dwell-fuzz list | seeds TARGET FOLDER | table RUNS");
            ExitCode::from(2)
        }
    }
}

fn write_seeds(name: &str, folder: &Path) -> Option<String> {
    let seeds = (Target::named(name)?.seeds)();
    let write = |(number, seed): (usize, &Vec<u8>)| std::fs::write(folder.join(format!("seed-{number}")), seed).ok();
    seeds.iter().enumerate().map(write).collect::<Option<Vec<()>>>()?;
    Some(String::new())
}

/// What libFuzzer's log of a target says.
fn row(target: &Target, runs: &Path) -> String {
    let log = std::fs::read_to_string(runs.join(target.name).join("log")).unwrap_or_default();
    let numbers = numbers(&log).unwrap_or_else(|| vec!["not run".into(), String::new(), String::new(), String::new()]);
    let corpus = target.corpus();
    let bytes: usize = corpus.iter().map(Vec::len).sum();
    let writer = match target.writer {
        Writer::Program => "the profiled program",
        Writer::Giver => "who hands it on",
        Writer::Client => "a client with the cookie",
    };
    let kept = format!("{}, {:.1} kB", corpus.len(), bytes as f64 / 1e3);
    format!("| `{}` | {} | {writer} | {} | {kept} |\n", target.name, target.reads, numbers.join(" | "))
}

/// Seconds, executions, edges and features, of the last line that has them: `#123 REDUCE cov: 45 ft: 67 corp: …`.
fn numbers(log: &str) -> Option<Vec<String>> {
    let seconds = log.lines().find_map(|line| line.strip_prefix("seconds: "))?;
    let status: Vec<&str> =
        log.lines().rfind(|line| line.starts_with('#') && line.contains(" cov: "))?.split_whitespace().collect();
    let behind = |word: &str| status.iter().skip_while(|it| **it != word).nth(1).copied();
    let executions = status.first()?.trim_start_matches('#').parse().ok()?;
    Some(vec![
        seconds.into(),
        grouped(executions),
        grouped(behind("cov:")?.parse().ok()?),
        grouped(behind("ft:")?.parse().ok()?),
    ])
}

/// 1234567 as 1,234,567.
fn grouped(number: u64) -> String {
    match number / 1000 {
        0 => number.to_string(),
        rest => format!("{},{:03}", grouped(rest), number % 1000),
    }
}
