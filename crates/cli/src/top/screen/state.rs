//! What the screen shows, and how it got there.

use std::collections::HashMap;

use dwell_cgroups::of_process;
use dwell_live::{ActivitySums, GroupBy, Interval, Row, SortBy, ThreadActivity, group, sort};
use dwell_view::glob;

use super::look::Look;
use crate::args::TopArgs;
use crate::top::explanation::{Explained, Threads};

/// The state of the screen.
pub struct State {
    /// What a row is at the top.
    pub group_by: GroupBy,
    /// The order of rows.
    pub sort: SortBy,
    /// Only rows whose names have this in them, or match it with * and ?.
    pub filter: String,
    /// Whether the filter is being typed.
    pub is_typing: bool,
    /// Whether the rows stand still.
    pub is_frozen: bool,
    /// Whether the help is shown.
    pub shows_help: bool,
    /// The process whose threads are shown.
    pub inside: Option<u32>,
    /// The selected row, by its key: it stays selected wherever it goes.
    pub selected: Option<Key>,
    /// The first row on the screen.
    pub scrolled: usize,
    /// Rows that fit.
    pub page: usize,
    /// A collection of the selected process, and its summary.
    pub look: Option<Look>,
    /// What a collection or a key had to say.
    pub message: String,
    /// What the reader should know of where the threads are seen.
    pub source_note: Option<&'static str>,
    /// What snapshots cost, of a CPU.
    pub cost: f64,
    /// The interval that is shown.
    pub interval: Interval,
    cgroups: HashMap<u32, String>,
}

/// What a row is known by from one interval to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A process.
    Process(u32),
    /// A thread.
    Thread(u32),
    /// A control group.
    Cgroup(String),
}

/// A row, ready to be drawn.
pub struct Line {
    /// What it is known by.
    pub key: Key,
    /// The process that its threads are of, the first one of a group.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Threads in it.
    pub threads: usize,
    /// What they did.
    pub sums: ActivitySums,
    /// What it waits for most.
    pub explained: Explained,
}

impl State {
    /// As the command line says.
    pub fn new(args: &TopArgs) -> Self {
        Self {
            group_by: args.group_by.into(),
            sort: args.sort.into(),
            filter: String::new(),
            is_typing: false,
            is_frozen: false,
            shows_help: false,
            inside: None,
            selected: None,
            scrolled: 0,
            page: 1,
            look: None,
            message: String::new(),
            source_note: None,
            cost: 0.0,
            interval: Interval::default(),
            cgroups: HashMap::new(),
        }
    }

    /// Shows a new interval, unless the rows stand still.
    pub fn take(&mut self, interval: Interval, cost: f64) {
        self.cost = cost;
        if !self.is_frozen {
            self.interval = interval;
            self.cgroups.clear(); // processes move, and ids are used again
        }
    }

    /// Whether a collection has something new to say.
    pub fn hear(&mut self) -> bool {
        self.look.as_mut().is_some_and(Look::hear)
    }

    /// The rows, in order.
    pub fn lines(&mut self) -> Vec<Line> {
        let by = if self.inside.is_some() { GroupBy::Thread } else { self.group_by };
        let (inside, cgroups) = (self.inside, &mut self.cgroups);
        let takes = |thread: &ThreadActivity| inside.is_none_or(|pid| thread.last.pid == pid);
        let cgroup = |pid: u32| cgroups.entry(pid).or_insert_with(|| of_process(pid)).clone();
        let mut rows = group(&self.interval, by, takes, cgroup);
        sort(&mut rows, self.sort);
        let threads = Threads::of(&self.interval);
        let named = rows.into_iter().map(|row| (row_name(&row, by, &threads), row));
        let shown = named.filter(|(name, row)| fits(&self.filter, name, row.first().last.pid));
        shown.map(|(name, row)| line(&row, name, by, &threads)).collect()
    }

    /// Where the selected row is among `lines`; the first one where it is gone.
    pub fn position(&self, lines: &[Line]) -> usize {
        lines.iter().position(|line| Some(&line.key) == self.selected.as_ref()).unwrap_or(0)
    }

    /// Selects the row `by` further down.
    pub fn go(&mut self, by: isize) {
        let lines = self.lines();
        let to = self.position(&lines).saturating_add_signed(by).min(lines.len().saturating_sub(1));
        self.selected = lines.into_iter().nth(to).map(|line| line.key);
    }

    /// The selected row.
    pub fn selection(&mut self) -> Option<Line> {
        let lines = self.lines();
        let at = self.position(&lines);
        lines.into_iter().nth(at)
    }
}

fn row_name(row: &Row<'_>, by: GroupBy, threads: &Threads<'_>) -> String {
    match by {
        GroupBy::Thread => row.first().name(),
        GroupBy::Process => threads.process_name(row.first()),
        GroupBy::Cgroup => {
            let group = of_process(row.first().last.pid);
            if group.is_empty() { "/".to_owned() } else { group }
        }
    }
}

fn fits(filter: &str, name: &str, pid: u32) -> bool {
    filter.is_empty() || name.contains(filter) || glob(filter, name) || filter == pid.to_string()
}

fn line(row: &Row<'_>, name: String, by: GroupBy, threads: &Threads<'_>) -> Line {
    let first = row.first().last;
    let key = match by {
        GroupBy::Process => Key::Process(first.pid),
        GroupBy::Thread => Key::Thread(first.tid),
        GroupBy::Cgroup => Key::Cgroup(name.clone()),
    };
    Line { key, pid: first.pid, name, threads: row.threads.len(), sums: row.sums, explained: threads.explain(row) }
}
