//! `dwell-bench generate FOLDER EVENTS [TASKS]` writes a synthetic result, `dwell-bench measure FOLDER` asks it what the web UI
//! asks, without HTTP, `dwell-bench export FOLDER FILE` writes it as other tools read it. For `make bench-ui` and `bench-peers`.

mod export;
mod generate;
mod measure;
mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["generate", folder, counts @ ..] if matches!(counts.len(), 1..=2) => match numbers(counts) {
            Some((events, tasks)) => generate::run(folder.as_ref(), events, tasks),
            None => Err(format!("{} are no numbers of events and tasks", counts.join(" ")).into()),
        },
        ["export", folder, file] => export::run(folder.as_ref(), file.as_ref()),
        ["measure", folder] => measure::run(folder.as_ref()),
        _ => Err("usage: dwell-bench generate FOLDER EVENTS [TASKS] | measure FOLDER | export FOLDER FILE".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dwell-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Numbers of events and of tasks.
fn numbers(counts: &[&str]) -> Option<(u64, usize)> {
    Some((counts.first()?.parse().ok()?, counts.get(1).map_or(Ok(0), |tasks| tasks.parse()).ok()?))
}
