//! `dwell-bench generate FOLDER EVENTS` writes a synthetic result, `dwell-bench measure FOLDER` asks it what the web UI
//! asks, without HTTP. For `make bench-ui`.

mod generate;
mod measure;
mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["generate", folder, events] => match events.parse() {
            Ok(events) => generate::run(folder.as_ref(), events),
            Err(_) => Err(format!("{events} is no number of events").into()),
        },
        ["measure", folder] => measure::run(folder.as_ref()),
        _ => Err("usage: dwell-bench generate FOLDER EVENTS | dwell-bench measure FOLDER".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dwell-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
