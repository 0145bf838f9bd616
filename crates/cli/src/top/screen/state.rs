//! What the screen shows, and how it got there.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use dwell_cgroups::of_process;
use dwell_live::{ActivitySums, GroupBy, Interval, Row, SortBy, ThreadActivity, forest, group, sort};
use dwell_view::glob;

use super::look::Look;
use super::mouse_area::RowArea;
use super::recorder::{Recorded, Recorder, USUAL_KEPT_NS};
use crate::args::TopArgs;
use crate::text::units;
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
    /// The thread whose objects are shown.
    pub thread: Option<u32>,
    /// Whether rows are shown below their parents.
    pub is_tree: bool,
    /// Rows of the tree whose children are summed in them.
    pub folded: HashSet<Key>,
    /// Rows that are kept in sight, above the others.
    pub marked: HashSet<Key>,
    /// The selected row, by its key: it stays selected wherever it goes.
    pub selected: Option<Key>,
    /// The first row on the screen.
    pub scrolled: usize,
    /// Where the rows and their headings are.
    pub area: RowArea,
    /// Rows that fit.
    pub page: usize,
    /// A collection of the selected process, and its summary.
    pub look: Option<Look>,
    /// A recording of the last seconds.
    pub recorder: Option<Recorder>,
    /// What it has written.
    pub results: Vec<PathBuf>,
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// What it is a part of, where that may be a row.
    pub parent: Option<Key>,
    /// Its place in the tree: before its name.
    pub branch: String,
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
            thread: None,
            is_tree: false,
            folded: HashSet::new(),
            marked: HashSet::new(),
            selected: None,
            scrolled: 0,
            area: RowArea::default(),
            page: 1,
            look: None,
            recorder: None,
            results: Vec::new(),
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
        if let Some(recorder) = &mut self.recorder {
            recorder.look();
        }
        if !self.is_frozen {
            self.interval = interval;
            self.cgroups.clear(); // processes move, and ids are used again
        }
    }

    /// Whether a collection has something new to say.
    pub fn take_messages(&mut self) -> bool {
        let is_new = self.look.as_mut().is_some_and(Look::take_messages);
        let Some(recorder) = &mut self.recorder else { return is_new };
        let (message, has_ended) = recorder.take_messages(&mut self.results);
        if has_ended {
            self.recorder = None;
        }
        let Some(message) = message else { return is_new };
        self.message = message;
        true
    }

    /// Begins to record the last seconds of what is shown, where that is not done yet; else asks for a result of them.
    pub fn keep(&mut self, args: &TopArgs) {
        if let Some(recorder) = &mut self.recorder {
            self.message = recorder.write();
            return;
        }
        let first_thread = |pid| self.interval.threads.iter().find(|thread| thread.last.tid == pid);
        let name = |pid| first_thread(pid).map(ThreadActivity::name).unwrap_or_default();
        let what = Recorded::shown(args, self.inside.map(|pid| (pid, name(pid))));
        let kept_ns = args.keep.unwrap_or(USUAL_KEPT_NS);
        self.message = match Recorder::start(what, kept_ns) {
            Ok(recorder) => {
                self.recorder = Some(recorder);
                format!(
                    "the last {} are kept from now on, which slows switches of what is recorded: w writes them as a result",
                    units::duration(kept_ns)
                )
            }
            Err(error) => error.to_string(),
        };
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
        let mut lines: Vec<Line> = shown.map(|(name, row)| line(&row, name, by, &threads)).collect();
        if self.shows_tree() {
            lines = as_tree(lines, &self.folded);
        }
        lines.sort_by_key(|line| !self.marked.contains(&line.key));
        lines
    }

    /// Whether there are rows on the screen.
    pub fn shows_rows(&self) -> bool {
        self.look.is_none() && self.thread.is_none() && !self.shows_help
    }

    /// Threads are of one process, and in no tree.
    pub fn shows_tree(&self) -> bool {
        self.is_tree && self.inside.is_none() && self.group_by != GroupBy::Thread
    }

    /// Folds the selected row of the tree, or unfolds it.
    pub fn fold(&mut self, is_folded: bool) {
        if let Some(line) = self.selection().filter(|_| self.shows_tree()) {
            match is_folded {
                true => self.folded.insert(line.key),
                false => self.folded.remove(&line.key),
            };
        }
    }

    /// Marks the selected row, or takes its mark.
    pub fn mark(&mut self) {
        if let Some(line) = self.selection()
            && !self.marked.remove(&line.key)
        {
            self.marked.insert(line.key);
        }
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
    let parent = match &key {
        Key::Process(_) => Some(Key::Process(first.parent)),
        Key::Cgroup(path) => path
            .rsplit_once('/')
            .map(|(above, _)| above)
            .filter(|above| !above.is_empty())
            .map(|above| Key::Cgroup(above.to_owned())),
        Key::Thread(_) => None,
    };
    Line {
        key,
        pid: first.pid,
        name,
        parent,
        branch: String::new(),
        threads: row.threads.len(),
        sums: row.sums,
        explained: threads.explain(row),
    }
}

/// The same lines, each below its parent; those that are folded have the sums of the ones below them.
fn as_tree(lines: Vec<Line>, folded: &HashSet<Key>) -> Vec<Line> {
    let keys: Vec<(Key, Option<Key>)> = lines.iter().map(|line| (line.key.clone(), line.parent.clone())).collect();
    let branches = forest(&keys, folded);
    let sums: Vec<(usize, ActivitySums)> = lines.iter().map(|line| (line.threads, line.sums)).collect();
    let mut lines: Vec<Option<Line>> = lines.into_iter().map(Some).collect();
    let placed = branches.into_iter().filter_map(|branch| {
        let mut line = lines[branch.row].take()?;
        for (threads, below) in branch.hidden.iter().map(|row| sums[*row]) {
            line.threads += threads;
            line.sums.add(&below);
        }
        let sign = match (branch.has_children, branch.hidden.is_empty()) {
            (true, false) => "+",
            (true, true) => "-",
            (false, _) => " ",
        };
        line.branch = format!("{}{sign}", " ".repeat(branch.depth));
        Some(line)
    });
    placed.collect()
}
