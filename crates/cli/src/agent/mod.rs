//! `dwell agent`: what all processes of this host waited for, row of time by row of time, written to the store of a fleet.
//!
//! The kernel sums, this process reads once a row. A row that cannot be written is dropped and counted, so that a store that is away
//! for long costs no memory.

mod processes;
mod rows;

use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dwell_capture::{SumScope, WaitSums};
use dwell_fleet::FleetStore;
use dwell_live::ExactActivity;
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args::AgentArgs;
use crate::collect::explain;
use crate::error::{Hinted, Result};
use crate::terminal;
use processes::Processes;
use rows::{RowOfTime, signed};

/// Writes rows until its time is over, or a signal ends it.
pub fn run(args: &AgentArgs) -> Result<ExitCode> {
    let store = FleetStore::open(&args.store).map_err(|error| {
        Hinted::new(format!("the store {} cannot be written: {error}", args.store.display()))
            .hint("--store names a folder that you may write to")
    })?;
    let host = args.host.clone().map_or_else(own_name, Ok)?;
    let signals = end_signals()?;
    let scope = SumScope { by_thread: false, kernel_threads: false };
    let sums = WaitSums::open(scope).map_err(|error| {
        let why = Hinted::new(format!("an agent needs hooks in the scheduler: {}", explain(error, None)));
        why.hint("run it as root; dwell doctor says what this machine lacks")
    })?;
    let mut agent =
        Agent { store, host, sums, activity: ExactActivity::default(), written: 0, failed: Failed::default() };
    let end = args.duration.map(|ns| Instant::now() + Duration::from_nanos(ns));
    loop {
        let is_last = await_end_of_row(args.row, end, &signals);
        agent.end_row()?;
        if is_last {
            return agent.end(&args.store);
        }
    }
}

/// Reads sums and writes them.
struct Agent {
    store: FleetStore,
    host: String,
    sums: WaitSums,
    activity: ExactActivity,
    /// Files.
    written: u64,
    failed: Failed,
}

/// Files that could not be written.
#[derive(Default)]
struct Failed {
    files: u64,
    /// Why the last one could not.
    why: String,
}

impl Agent {
    fn end_row(&mut self) -> Result<()> {
        let read = self.sums.read().map_err(|error| explain(error, None))?;
        let row = RowOfTime {
            host: &self.host,
            start_ns: unix_time(read.begin_ns),
            length_ns: signed(read.end_ns.saturating_sub(read.begin_ns)),
        };
        let processes = Processes::of(&read);
        let threads = self.activity.take(&read.closed, read.open);
        for (service, rows) in row.by_service(&threads, &read.lost, &processes) {
            match self.store.write(&service, &self.host, row.start_ns, &rows) {
                Ok(()) => self.written += 1,
                Err(error) => self.failed = Failed { files: self.failed.files + 1, why: error.to_string() },
            }
        }
        Ok(())
    }

    fn end(self, store: &Path) -> Result<ExitCode> {
        let Failed { files, why } = self.failed;
        if files > 0 {
            let lost = format!("{files} of {} files could not be written, the last one: {why}", files + self.written);
            return Err(Hinted::new(lost).hint("look at the disk that the store is on, and start the agent again"));
        }
        terminal::print_line(format_args!("{} files written to {}", self.written, store.display()));
        Ok(ExitCode::SUCCESS)
    }
}

/// Waits until the row ends; returns whether it is the last one.
fn await_end_of_row(row_ns: u64, end: Option<Instant>, signals: &Receiver<()>) -> bool {
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let row_end = Instant::now() + Duration::from_nanos(rest_of_row(now_ns, row_ns));
    let is_last = end.is_some_and(|end| end <= row_end);
    let until = end.filter(|_| is_last).unwrap_or(row_end);
    match signals.recv_timeout(until.saturating_duration_since(Instant::now())) {
        Err(RecvTimeoutError::Timeout) => is_last,
        Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
    }
}

/// Time from `now_ns` to the next multiple of a row.
fn rest_of_row(now_ns: u128, row_ns: u64) -> u64 {
    row_ns - u64::try_from(now_ns % u128::from(row_ns)).unwrap_or(0)
}

/// A message for each signal that ends it.
fn end_signals() -> Result<Receiver<()>> {
    let signals = Signals::new([SIGHUP, SIGINT, SIGTERM]);
    let mut signals = signals.map_err(|error| {
        Hinted::new(format!("cannot handle signals: {error}")).hint("ulimit -n shows whether a limit is reached")
    })?;
    let (tell, told) = channel();
    thread::spawn(move || signals.forever().try_for_each(|_| tell.send(())));
    Ok(told)
}

fn own_name() -> Result<String> {
    let name = dwell_capture::host();
    if name.is_empty() {
        return Err(Hinted::new("this machine has no name").hint("--host NAME says how it is called in the rows"));
    }
    Ok(name)
}

/// The Unix time of an instant of CLOCK_MONOTONIC.
fn unix_time(monotonic_ns: u64) -> i64 {
    let ns = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    signed(monotonic_ns) + ns(ClockId::Realtime) - ns(ClockId::Monotonic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_end_at_multiples() {
        assert_eq!(rest_of_row(1_000, 300), 200);
        assert_eq!(rest_of_row(1_200, 300), 300, "a row is never empty");
    }

    #[test]
    fn a_signal_ends_a_row() {
        let (tell, told) = channel();
        assert!(!await_end_of_row(1_000_000, None, &told));
        assert!(await_end_of_row(u64::MAX, Some(Instant::now()), &told), "its time is over");
        tell.send(()).unwrap();
        assert!(await_end_of_row(u64::MAX, None, &told));
    }
}
