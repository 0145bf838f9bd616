//! Runs a program with the ITT library and drains it every 20 ms as the collector does, without recording anything else:
//! `drain LIBRARY recording|listening-off COMMAND...`. Says on standard error what came, as JSON.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

use dwell_itt_wire::layout::{JIT_VARIABLE, LIBRARY_VARIABLE, SUFFIX};
use dwell_itt_wire::{Reader, Round, Sink, State, VARIABLE, events, names};

/// How long a round waits for the next one.
const ROUND: Duration = Duration::from_millis(20);

#[derive(Default)]
struct Counts {
    names: usize,
    events: u64,
    lost: u64,
    unknown: u64,
}

impl Sink for Counts {
    fn names(&mut self, bytes: &[u8]) {
        self.names += names(bytes).count();
    }

    fn events(&mut self, _tid: u32, lost: u32, bytes: &[u8]) {
        let mut read = events(bytes);
        self.events += read.by_ref().count() as u64;
        self.unknown += read.unknown() + read.rest() as u64;
        self.lost += u64::from(lost);
    }
}

fn drain(folder: &Path, readers: &mut HashMap<PathBuf, Reader>, counts: &mut Counts) -> std::io::Result<Round> {
    let mut all = Round::default();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if !readers.contains_key(&path)
            && path.to_string_lossy().ends_with(SUFFIX)
            && let Ok(reader) = Reader::open(OpenOptions::new().read(true).write(true).open(&path)?)
        {
            readers.insert(path, reader);
        }
    }
    for reader in readers.values_mut() {
        let round = reader.drain(counts)?;
        all.names_lost += round.names_lost;
        all.ringless_lost += round.ringless_lost;
        all.damaged_bytes += round.damaged_bytes;
        all.more |= round.more;
    }
    Ok(all)
}

fn run(arguments: &[String]) -> std::io::Result<ExitCode> {
    let [library, state, command, rest @ ..] = arguments else {
        eprintln!("usage: drain LIBRARY recording|listening-off COMMAND...");
        return Ok(ExitCode::from(2));
    };
    let state = if state == "recording" { State::Recording } else { State::Off };
    let folder = PathBuf::from(format!("/dev/shm/dwell-itt-drain-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let mut command = Command::new(command);
    command.args(rest).env(LIBRARY_VARIABLE, library).env(JIT_VARIABLE, library);
    let started = command.env(VARIABLE, state.variable(&folder.to_string_lossy())).spawn();
    let (mut readers, mut counts) = (HashMap::new(), Counts::default());
    if let Ok(mut child) = started {
        while child.try_wait()?.is_none() {
            thread::sleep(ROUND);
            drain(&folder, &mut readers, &mut counts)?;
        }
    }
    let mut round = drain(&folder, &mut readers, &mut counts)?;
    while round.more {
        round = drain(&folder, &mut readers, &mut counts)?;
    }
    fs::remove_dir_all(&folder)?;
    eprintln!(
        "{{\"files\": {}, \"names\": {}, \"events\": {}, \"lost\": {}, \"unknown\": {}, \"damaged_bytes\": {}}}",
        readers.len(),
        counts.names,
        counts.events,
        counts.lost + round.ringless_lost,
        counts.unknown,
        round.damaged_bytes
    );
    Ok(ExitCode::SUCCESS)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    run(&arguments).unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}
