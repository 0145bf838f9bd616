//! What `scripts/fuzz.sh` asks: `list`, `seeds TARGET FOLDER`, and `table RUNS PAGE`, the rows of docs/fuzzing.md with the runs
//! added to what the page has.

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
        ["table", runs, page] => table(Path::new(runs), Path::new(page)),
        _ => None,
    };
    match done {
        Some(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("usage: dwell-fuzz list | seeds TARGET FOLDER | table RUNS PAGE");
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

/// One row for each target.
fn table(runs: &Path, page: &Path) -> Option<String> {
    let page = std::fs::read_to_string(page).ok()?;
    let rows = TARGETS.iter().map(|target| {
        let log = std::fs::read_to_string(runs.join(target.name).join("log")).unwrap_or_default();
        row(target, Effort::of_row(&page, target.name).with(Effort::of_log(&log)))
    });
    Some(format!("{HEAD}{}", rows.collect::<String>()))
}

fn row(target: &Target, effort: Effort) -> String {
    let corpus = target.corpus();
    let bytes: usize = corpus.iter().map(Vec::len).sum();
    let writer = match target.writer {
        Writer::Program => "the profiled program",
        Writer::Giver => "who hands it on",
        Writer::Client => "a client with the token",
    };
    let numbers = effort.numbers().map(grouped).join(" | ");
    let kept = format!("{}, {:.1} kB", corpus.len(), bytes as f64 / 1e3);
    format!("| `{}` | {} | {writer} | {numbers} | {kept} |\n", target.name, target.reads)
}

/// How long a target was fuzzed, and how far that came. All 0: never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Effort {
    seconds: u64,
    executions: u64,
    edges: u64,
    features: u64,
}

impl Effort {
    fn numbers(self) -> [u64; 4] {
        [self.seconds, self.executions, self.edges, self.features]
    }

    /// That of earlier runs, from a target's row of the page.
    fn of_row(page: &str, name: &str) -> Self {
        let begin = format!("| `{name}` |");
        let row = page.lines().find(|line| line.starts_with(&begin)).unwrap_or_default();
        let cells: Vec<u64> =
            row.split('|').skip(4).map(|cell| cell.trim().replace(',', "").parse().unwrap_or(0)).collect();
        match *cells.as_slice() {
            [seconds, executions, edges, features, ..] => Self { seconds, executions, edges, features },
            _ => Self::default(),
        }
    }

    /// That of one run, from libFuzzer's log: its last line that says how far it is, `#123 REDUCE cov: 45 ft: 67 corp: …`.
    fn of_log(log: &str) -> Self {
        let Some(seconds) = log.lines().find_map(|line| line.strip_prefix("seconds: ")?.parse().ok()) else {
            return Self::default();
        };
        let status = log.lines().rfind(|line| line.starts_with('#') && line.contains(" cov: ")).unwrap_or_default();
        let behind = |word: &str| {
            status.split_whitespace().skip_while(|it| *it != word).nth(1).and_then(|it| it.parse().ok()).unwrap_or(0)
        };
        let executions = status.split_whitespace().next().and_then(|it| it.trim_start_matches('#').parse().ok());
        Self { seconds, executions: executions.unwrap_or(0), edges: behind("cov:"), features: behind("ft:") }
    }

    /// Both efforts: a later run goes on from the inputs of the earlier one, and reaches what it reached.
    fn with(self, later: Self) -> Self {
        Self {
            seconds: self.seconds + later.seconds,
            executions: self.executions + later.executions,
            edges: self.edges.max(later.edges),
            features: self.features.max(later.features),
        }
    }
}

/// 1234567 as 1,234,567.
fn grouped(number: u64) -> String {
    match number / 1000 {
        0 => number.to_string(),
        rest => format!("{},{:03}", grouped(rest), number % 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up() {
        let page = "| `spool` | chunks | who | 600 | 1,226,621 | 647 | 895 | 32, 13.2 kB |\n";
        let log = "#8 INITED cov: 3 ft: 4\n#1000\tREDUCE cov: 650 ft: 890 corp: 3\nDone\nseconds: 60\n";
        let both = Effort::of_row(page, "spool").with(Effort::of_log(log));
        assert_eq!(both, Effort { seconds: 660, executions: 1_227_621, edges: 650, features: 895 });
        assert_eq!(Effort::of_row(page, "records").with(Effort::of_log("")), Effort::default());
    }
}
