//! Windows of exact recording: from time to time everything on this host for a moment, and why its processes waited in it.
//!
//! A thread of its own starts `dwell collect` and `dwell report explain` in processes that end with the agent, writes what they say as
//! rows of causes, and deletes the recording. A window that fails is counted, and the agent goes on. [`schedule`] says when windows are.

mod child;
mod explained;
mod recording;
mod schedule;

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dwell_fleet::{CauseRow, StoreWriter};
use rustix::time::{ClockId, clock_gettime};

use super::processes::NamedProcess;
use super::rows::signed;
use super::settings::AgentSettings;
use super::versions::BuildIds;
use crate::error::{Hinted, Result};
use crate::terminal;
pub use child::end_with_agent;
use recording::{RecordedWindow, record};
use schedule::{WindowSchedule, WindowSpan, chance};

/// A thread that records windows until it is ended.
pub struct WindowRecorder {
    stop: Sender<()>,
    thread: JoinHandle<WindowCounts>,
}

/// How windows went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCounts {
    written: u64,
    failed: u64,
}

impl WindowRecorder {
    /// Starts it, where there are to be windows.
    pub fn start(settings: &AgentSettings, store: &StoreWriter) -> Result<Option<Self>> {
        if settings.window_ns == 0 {
            return Ok(None);
        }
        let course = WindowCourse {
            store: store.clone(),
            settings: settings.clone(),
            build_ids: BuildIds::default(),
            counts: WindowCounts::default(),
        };
        let (stop, told_to_stop) = channel();
        let started = thread::Builder::new().name("windows".into()).spawn(move || course.go_on(&told_to_stop));
        let thread = started.map_err(|error| {
            Hinted::new(format!("cannot start the thread that records windows: {error}"))
                .hint("ulimit -u shows whether a limit is reached; --window 0 goes without")
        })?;
        Ok(Some(Self { stop, thread }))
    }

    /// Ends it, and the window that is being recorded.
    pub fn end(self) -> WindowCounts {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

impl WindowCounts {
    /// Adds those of another recorder.
    pub fn add(&mut self, other: Self) {
        self.written += other.written;
        self.failed += other.failed;
    }

    /// Both, for people; `None` where there were no windows.
    pub fn told(self) -> Option<String> {
        let windows = |count: u64| if count == 1 { "1 window".to_owned() } else { format!("{count} windows") };
        match (self.written, self.failed) {
            (0, 0) => None,
            (written, 0) => Some(format!("causes of {} written", windows(written))),
            (written, failed) => Some(format!("causes of {} written, {failed} failed", windows(written))),
        }
    }
}

/// What the thread has.
struct WindowCourse {
    store: StoreWriter,
    settings: AgentSettings,
    build_ids: BuildIds,
    counts: WindowCounts,
}

impl WindowCourse {
    fn go_on(mut self, told_to_stop: &Receiver<()>) -> WindowCounts {
        recording::remove_left_behind();
        let AgentSettings { window_ns, cpu_percent, row_ns, .. } = self.settings;
        let mut schedule = WindowSchedule::new(window_ns, cpu_percent, now_ns());
        let mut begin_ns = now_ns();
        loop {
            let span = schedule.next(begin_ns, now_ns(), (row_ns, chance()));
            begin_ns = span.end_ns;
            if !sleep_until(span.at_ns, told_to_stop) {
                return self.counts;
            }
            let before_ns = spent_ns();
            let Some(recorded) = record(&self.settings, &self.build_ids, told_to_stop) else { return self.counts };
            let cost_ns = spent_ns().saturating_sub(before_ns);
            schedule.spend(cost_ns);
            match recorded {
                Ok(window) => self.write(span, &window, cost_ns),
                Err(why) => self.fail(&why),
            }
            if !sleep_until(span.end_ns, told_to_stop) {
                return self.counts;
            }
        }
    }

    /// Says once that a window failed.
    fn fail(&mut self, why: &str) {
        if self.counts.failed == 0 {
            terminal::print_line(format_args!(
                "note: a window of exact recording failed, and the agent goes on: {why}"
            ));
        }
        self.counts.failed += 1;
    }

    fn write(&mut self, span: WindowSpan, window: &RecordedWindow, cost_ns: u64) {
        let common = CauseRow {
            host: self.settings.host.clone(),
            t: window.start_ns,
            window_ns: window.length_ns,
            row_t: signed(span.begin_ns),
            row_length_ns: signed(span.end_ns.saturating_sub(span.begin_ns)),
            ..CauseRow::default()
        };
        for (service, rows) in by_service(&common, window, signed(cost_ns)) {
            self.store.write_causes(&service, &self.settings.host, window.start_ns, &rows);
        }
        self.counts.written += 1;
    }
}

/// The rows of each service: one for each process that was there, and its causes.
fn by_service(common: &CauseRow, window: &RecordedWindow, cost_ns: i64) -> BTreeMap<String, Vec<CauseRow>> {
    let mut tables = BTreeMap::<String, Vec<CauseRow>>::new();
    let of = |named: &NamedProcess, row: CauseRow| CauseRow {
        host: common.host.clone(),
        t: common.t,
        window_ns: common.window_ns,
        row_t: common.row_t,
        row_length_ns: common.row_length_ns,
        process: named.name.clone(),
        version: named.version.clone(),
        ..row
    };
    let unseen = window.causes.iter().map(|(named, _)| named);
    let present: std::collections::BTreeSet<&NamedProcess> = window.processes.all().chain(unseen).collect();
    for named in present {
        let row = of(named, CauseRow { cost_ns, ..CauseRow::default() });
        tables.entry(named.service.clone()).or_default().push(row);
    }
    for (named, row) in &window.causes {
        tables.entry(named.service.clone()).or_default().push(of(named, row.clone()));
    }
    tables
}

/// Unix time.
fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// CPU time of this thread and of the processes that were awaited.
fn spent_ns() -> u64 {
    let own = clock_gettime(ClockId::ThreadCPUTime);
    let own_ns = u64::try_from(own.tv_sec * 1_000_000_000 + own.tv_nsec).unwrap_or(0);
    own_ns.saturating_add(child::awaited_cpu_ns())
}

/// Whether it may go on.
fn sleep_until(at_ns: u64, told_to_stop: &Receiver<()>) -> bool {
    let rest = Duration::from_nanos(at_ns.saturating_sub(now_ns()));
    matches!(told_to_stop.recv_timeout(rest), Err(RecvTimeoutError::Timeout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_told() {
        assert_eq!(WindowCounts::default().told(), None);
        let mut counts = WindowCounts { written: 1, failed: 0 };
        assert_eq!(counts.told().as_deref(), Some("causes of 1 window written"));
        counts.add(WindowCounts { written: 1, failed: 3 });
        assert_eq!(counts.told().as_deref(), Some("causes of 2 windows written, 3 failed"));
    }

    #[test]
    fn a_process_without_a_cause_has_a_row() {
        let named = |name: &str| NamedProcess { name: name.into(), service: "web".into(), version: "1".into() };
        let mut window = RecordedWindow::default();
        window.processes.add(1, named("idle"));
        window.processes.add(2, named("busy"));
        let row = CauseRow { cause: "x".into(), wait_ns: 5, ..CauseRow::default() };
        window.causes =
            vec![(named("busy"), row.clone()), (NamedProcess { service: "new".into(), ..named("new") }, row)];
        let common = CauseRow { host: "h".into(), t: 7, ..CauseRow::default() };
        let tables = by_service(&common, &window, 9);
        let told = |service: &str| -> Vec<_> {
            tables[service].iter().map(|row| (row.process.as_str(), row.cause.as_str(), row.cost_ns, row.t)).collect()
        };
        assert_eq!(told("web"), [("busy", "", 9, 7), ("idle", "", 9, 7), ("busy", "x", 0, 7)]);
        assert_eq!(told("new"), [("new", "", 9, 7), ("new", "x", 0, 7)]);
    }
}
