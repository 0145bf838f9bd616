//! Recorder and model without the rest, for bench/anatomy.py to measure.
//!
//!     replay record TRACE PROGRAM ARGUMENTS…    records as `dwell anatomy run` does, without looking up names
//!     replay caches|full MACHINE TRACE          replays; prints the counts, and the CPU seconds of the model alone, as JSON

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::time::Duration;

use dwell_anatomy::trace::{Head, TraceWriter, read};
use dwell_anatomy::{Function, Listener, Module, Namer, Recorder, program};
use dwell_itrace::{Block, Lost, Word};
use dwell_machine::{Counts, Depth, Machine, Replay};
use rustix::time::{ClockId, clock_gettime};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match words.first().and_then(|word| word.to_str()) {
        Some("record") if words.len() > 2 => record(&words[1], &words[2..]),
        Some("caches") if words.len() == 3 => replay(Depth::Caches, &words[1], &words[2]),
        Some("full") if words.len() == 3 => replay(Depth::Full, &words[1], &words[2]),
        _ => Err("usage: replay record TRACE PROGRAM ARGUMENTS… | replay caches|full MACHINE TRACE".into()),
    }
}

struct NoNames;

impl Namer for NoNames {
    fn names(&mut self, _: Option<&Module>, addresses: &[u64]) -> Vec<Function> {
        vec![Function { name: "[program]".to_owned(), module: String::new() }; addresses.len()]
    }
}

fn record(trace: &OsStr, command: &[OsString]) -> Outcome<()> {
    let path = program::check(&command[0])?;
    let emulator = program::find(OsStr::new(program::EMULATOR)).ok_or("there is no emulator")?;
    let mut writer = TraceWriter::new(BufWriter::with_capacity(1 << 20, File::create(trace)?), &Head::default())?;
    let recorder = Recorder::start(|plugin| program::command(&emulator, &path, command, plugin), false)?;
    recorder.drain(&mut NoNames, &mut writer)?;
    writer.finish()?;
    Ok(())
}

/// The model, and the time that it takes.
struct Timed {
    replay: Replay,
    spent: Duration,
}

impl Listener for Timed {
    fn function(&mut self, _: &Function) {}

    fn block(&mut self, id: u32, block: &Block, _: u32) {
        // The reader counts up from 0.
        let _ = self.replay.block(id, block);
    }

    fn words(&mut self, words: &[Word]) {
        let begun = cpu_time();
        self.replay.words(words, &mut ());
        self.spent += cpu_time().saturating_sub(begun);
    }

    fn lost(&mut self, _: Lost) {}

    fn end(&mut self) {
        self.replay.finish(&mut ());
    }
}

fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

fn replay(depth: Depth, machine: &OsStr, trace: &OsStr) -> Outcome<()> {
    let name = machine.to_str().ok_or("no machine has such a name")?;
    let machine =
        if name.contains('/') { Machine::parse(&std::fs::read_to_string(name)?)? } else { Machine::named(name)? };
    let mut timed = Timed { replay: Replay::new(&machine, depth)?, spent: Duration::ZERO };
    read(BufReader::with_capacity(1 << 20, File::open(trace)?), |_| (), &mut timed)?;
    let counted = Counts::NAMES.iter().copied().zip(timed.replay.total().values());
    let mut document: serde_json::Map<_, _> = counted.map(|(name, value)| (name.to_owned(), value.into())).collect();
    document.insert("seconds".to_owned(), timed.spent.as_secs_f64().into());
    println!("{}", serde_json::Value::Object(document));
    Ok(())
}
