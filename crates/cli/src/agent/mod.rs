//! `dwell agent`: what all processes of this host waited for, row of time by row of time, written to the store of a fleet.
//!
//! The kernel sums, this process reads once a row. Windows of exact recording say why ([`windows`]). What a store that is away
//! does not take waits on the disk, within a bound.

mod check;
mod configuration;
mod processes;
mod rows;
mod rules;
mod settings;
mod versions;
mod windows;

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dwell_capture::{SumScope, WaitSums};
use dwell_fleet::{StoreOutcome, StoreWriter};
use dwell_live::ExactActivity;
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args::AgentArgs;
use crate::collect::explain;
use crate::error::{Hinted, Result};
use crate::terminal;
use processes::{ProcessNames, Processes};
use rows::{RowOfTime, signed};
use settings::AgentSettings;
use versions::BuildIds;
pub use windows::end_with_agent;
use windows::{WindowCounts, WindowRecorder};

/// Writes rows until its time is over, or a signal ends it.
pub fn run(args: &AgentArgs) -> Result<ExitCode> {
    let settings = AgentSettings::of(args)?;
    if let (true, Some(config)) = (args.check, &args.config) {
        return check::run(config, &settings);
    }
    let store = settings.open_store()?;
    let signals = all_signals()?;
    let scope = SumScope { by_thread: false, kernel_threads: false };
    let sums = WaitSums::open(scope).map_err(|error| {
        let why = Hinted::new(format!("an agent needs hooks in the scheduler: {}", explain(error, None)));
        why.hint("run it as root; dwell doctor says what this machine lacks")
    })?;
    let windows = WindowRecorder::start(&settings, &store)?;
    let mut agent = Agent {
        store,
        settings,
        sums,
        activity: ExactActivity::default(),
        processes: Processes::default(),
        build_ids: BuildIds::default(),
        written_before: 0,
        windows,
        window_counts: WindowCounts::default(),
    };
    let begin = Instant::now();
    loop {
        let end = agent.settings.duration_ns.map(|ns| begin + Duration::from_nanos(ns));
        let row_end = await_end_of_row(agent.settings.row_ns, end, &signals, args.config.is_some());
        agent.end_row()?;
        match row_end {
            RowEnd::InTime => {}
            RowEnd::Reload => agent.reload(args)?,
            RowEnd::Last => return agent.end(),
        }
    }
}

/// Reads sums and writes them.
struct Agent {
    store: StoreWriter,
    settings: AgentSettings,
    sums: WaitSums,
    activity: ExactActivity,
    /// Those of the last row.
    processes: Processes,
    build_ids: BuildIds,
    /// Files, to stores that it had before.
    written_before: u64,
    /// Who records windows, where there are any.
    windows: Option<WindowRecorder>,
    /// Those of recorders that have ended.
    window_counts: WindowCounts,
}

impl Agent {
    fn end_row(&mut self) -> Result<()> {
        let read = self.sums.read().map_err(|error| explain(error, None))?;
        let host = &self.settings.host;
        let row = RowOfTime {
            host,
            start_ns: unix_time(read.begin_ns),
            length_ns: signed(read.end_ns.saturating_sub(read.begin_ns)),
        };
        let names = ProcessNames::by(&self.settings.rules, &self.build_ids);
        self.processes = Processes::of(&read, &names, &self.processes);
        let threads = self.activity.take(&read.closed, read.open);
        for (service, rows) in row.by_service(&threads, &read.lost, &self.processes) {
            self.store.write(&service, host, row.start_ns, &rows);
        }
        Ok(())
    }

    /// Takes the configuration as it is now, or tells why it goes on with the old one.
    fn reload(&mut self, args: &AgentArgs) -> Result<()> {
        let settings = AgentSettings::of(args).and_then(|settings| {
            let is_same = (&settings.store, &settings.buffer) == (&self.settings.store, &self.settings.buffer);
            let tried = if is_same { None } else { Some(settings.try_store()?) };
            Ok((settings, tried.is_some()))
        });
        let (settings, is_elsewhere) = match settings {
            Ok(read) => read,
            Err(error) => {
                error.report();
                terminal::print_line(format_args!("the agent goes on with the configuration that it had"));
                return Ok(());
            }
        };
        self.end_windows();
        if is_elsewhere {
            let outcome = self.store.end();
            self.written_before += outcome.written;
            if let Some(failure) = self.failure_of(&outcome) {
                failure.report();
            }
            self.store = settings.open_store()?;
        }
        self.windows = WindowRecorder::start(&settings, &self.store)?;
        let count = settings.rules.0.len();
        let rules = if count == 1 { "1 rule".into() } else { format!("{count} rules") };
        terminal::print_line(format_args!("the configuration is read again: {rules}"));
        self.settings = settings;
        Ok(())
    }

    fn end_windows(&mut self) {
        self.window_counts.add(self.windows.take().map(WindowRecorder::end).unwrap_or_default());
    }

    fn end(mut self) -> Result<ExitCode> {
        self.end_windows();
        if let Some(told) = self.window_counts.told() {
            terminal::print_line(format_args!("{told}"));
        }
        let outcome = self.store.end();
        if let Some(failure) = self.failure_of(&outcome) {
            return Err(failure);
        }
        let written = self.written_before + outcome.written;
        terminal::print_line(format_args!("{written} files written to {}", self.settings.store));
        Ok(ExitCode::SUCCESS)
    }

    /// What is not in the store: lost, or waiting.
    fn failure_of(&self, outcome: &StoreOutcome) -> Option<Hinted> {
        let StoreOutcome { written, dropped, waiting, why } = outcome;
        let (all, folder) = (written + dropped + waiting, self.settings.buffer.folder.display());
        let waits = format!("{waiting} wait in {folder}");
        let (what, hint) = match (dropped, waiting) {
            (0, 0) => return None,
            (0, _) => (waits, "start the agent again with the same --store and --buffer: it writes them first"),
            (_, 0) => {
                (format!("{dropped} are lost"), "look at the store and its disk; --buffer-mib lets more files wait")
            }
            _ => (
                format!("{dropped} are lost, {waits}"),
                "start the agent again with the same --store and --buffer: it writes what waits first",
            ),
        };
        Some(
            Hinted::new(format!("{} of {all} files could not be written, {what}: {why}", dropped + waiting)).hint(hint),
        )
    }
}

/// Why a row ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowEnd {
    /// It is as long as it was to be.
    InTime,
    /// The configuration is to be read again: no row is named by two.
    Reload,
    /// No other follows.
    Last,
}

/// Waits until the row ends. SIGHUP reloads where there is a configuration, else it ends the agent.
fn await_end_of_row(row_ns: u64, end: Option<Instant>, signals: &Receiver<i32>, can_reload: bool) -> RowEnd {
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let row_end = Instant::now() + Duration::from_nanos(rest_of_row(now_ns, row_ns));
    let is_last = end.is_some_and(|end| end <= row_end);
    let until = end.filter(|_| is_last).unwrap_or(row_end);
    match signals.recv_timeout(until.saturating_duration_since(Instant::now())) {
        Err(RecvTimeoutError::Timeout) if !is_last => RowEnd::InTime,
        Ok(SIGHUP) if can_reload => RowEnd::Reload,
        _ => RowEnd::Last,
    }
}

/// Time from `now_ns` to the next multiple of a row.
fn rest_of_row(now_ns: u128, row_ns: u64) -> u64 {
    row_ns - u64::try_from(now_ns % u128::from(row_ns)).unwrap_or(0)
}

/// A message for each signal that ends it or lets it read its configuration.
fn all_signals() -> Result<Receiver<i32>> {
    let signals = Signals::new([SIGHUP, SIGINT, SIGTERM]);
    let mut signals = signals.map_err(|error| {
        Hinted::new(format!("cannot handle signals: {error}")).hint("ulimit -n shows whether a limit is reached")
    })?;
    let (tell, told) = channel();
    thread::spawn(move || signals.forever().try_for_each(|signal| tell.send(signal)));
    Ok(told)
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
        assert_eq!(await_end_of_row(1_000_000, None, &told, true), RowEnd::InTime);
        assert_eq!(await_end_of_row(u64::MAX, Some(Instant::now()), &told, true), RowEnd::Last, "its time is over");
        let after = |signal, can_reload| {
            tell.send(signal).unwrap();
            await_end_of_row(u64::MAX, None, &told, can_reload)
        };
        assert_eq!(after(SIGTERM, true), RowEnd::Last);
        assert_eq!(after(SIGHUP, true), RowEnd::Reload);
        assert_eq!(after(SIGHUP, false), RowEnd::Last, "there is nothing to read");
    }
}
