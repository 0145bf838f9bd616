//! What counts as an interval: tasks, frames and requests, wake-ups until the thread runs, waits on one object.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use dwell_model::{ObjectId, TaskKind, TaskTypeId, ThreadId};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::selection::TaskFilter;
use dwell_query::stacks::tasks::TaskNames;

/// What the wake-ups are called.
const WAKE_UPS: &str = "wake-up to running";

/// What an interval is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    #[default]
    /// A row of `tasks`: a task, frame, region, event, request, or a visit between probes.
    Task,
    /// From where a thread is woken to where it runs.
    WakeUp,
    /// A wait on an object, until the wake-up.
    Wait,
}

/// Which interval of a result: its kind, and its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IntervalId {
    kind: Kind,
    row: usize,
}

impl IntervalId {
    /// What it is.
    pub fn kind(self) -> Kind {
        self.kind
    }

    /// Its short name, which is no handle of an object or a thread.
    pub fn handle(self) -> String {
        format!("{HANDLE}{self}")
    }

    /// The interval of a handle; none where the text has not the form of one.
    pub fn from_handle(text: &str) -> Option<Self> {
        text.strip_prefix(HANDLE)?.parse().ok()
    }

    /// Its row: of `tasks`, else of the events off the CPU.
    pub fn row(self) -> usize {
        self.row
    }
}

/// Where a handle of an interval begins.
const HANDLE: char = 'o';

const LETTERS: [(Kind, char); 3] = [(Kind::Task, 't'), (Kind::WakeUp, 'r'), (Kind::Wait, 'w')];

impl fmt::Display for IntervalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = LETTERS.iter().find(|(kind, _)| *kind == self.kind).map_or('t', |(_, letter)| *letter);
        write!(f, "{letter}{}", self.row)
    }
}

impl FromStr for IntervalId {
    type Err = ();

    /// The interval of an id, or of a handle.
    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.strip_prefix(HANDLE).unwrap_or(text);
        let found = LETTERS.iter().find_map(|(kind, letter)| Some((*kind, text.strip_prefix(*letter)?)));
        let (kind, row) = found.ok_or(())?;
        Ok(Self { kind, row: row.parse().map_err(|_| ())? })
    }
}

/// One interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredInterval {
    /// Which.
    pub id: IntervalId,
    /// Whose.
    pub thread: ThreadId,
    /// When it began, ns since the start of the collection.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

impl MeasuredInterval {
    /// How long it was, ns.
    pub fn length_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// Intervals of one name.
#[derive(Default)]
pub struct Named {
    pub name: String,
    pub kind: Kind,
    pub intervals: Vec<MeasuredInterval>,
}

/// Those that the query lets through, by name.
pub fn intervals(fold: &Fold<'_>) -> Vec<Named> {
    let mut all = tasks(fold);
    all.extend(off_cpu(fold));
    all
}

/// The tasks that were ended where they began; another's time says nothing of one thread's delays.
fn tasks(fold: &Fold<'_>) -> Vec<Named> {
    let annotations = &fold.trace.annotations;
    let tasks = &annotations.tasks;
    let filter = TaskFilter::new(fold.trace, fold.query);
    let mut by_type: BTreeMap<TaskTypeId, Vec<MeasuredInterval>> = BTreeMap::new();
    for (row, &start_ns) in tasks.start_ns.iter().enumerate() {
        let whole = tasks.finished[row] && start_ns > 0 && tasks.end_thread[row] == tasks.thread[row];
        if !whole || !fold.sums.windows.contains(start_ns) || !filter.takes(row) {
            continue;
        }
        let end_ns = tasks.end_ns[row].max(start_ns);
        let interval =
            MeasuredInterval { id: IntervalId { kind: Kind::Task, row }, thread: tasks.thread[row], start_ns, end_ns };
        by_type.entry(tasks.task_type[row]).or_default().push(interval);
    }
    let names = TaskNames::new(fold.trace);
    let named = |(ty, intervals): (TaskTypeId, Vec<MeasuredInterval>)| {
        let code = ty.get().and_then(|row| annotations.task_types.kind.get(row)).copied().unwrap_or(0);
        let name = match TaskKind::from_code(code) {
            TaskKind::Frame => format!("frame {}", names.name(ty)),
            _ => names.name(ty),
        };
        Named { name, kind: Kind::Task, intervals }
    };
    by_type.into_iter().map(named).collect()
}

/// Wake-ups, and the waits on each object that are not an idle worker's.
fn off_cpu(fold: &Fold<'_>) -> Vec<Named> {
    let off_cpu = &fold.trace.events().off_cpu;
    let mut wake_ups = Vec::new();
    let mut by_object: BTreeMap<ObjectId, Vec<MeasuredInterval>> = BTreeMap::new();
    fold.for_each_begun(|row, site| {
        if !site.is_wait() {
            return;
        }
        let (thread, woken_ns) = (site.key.thread, off_cpu.woken_ns(row));
        let interval = |kind: Kind, start_ns: u64, end_ns: u64| MeasuredInterval {
            id: IntervalId { kind, row },
            thread,
            start_ns,
            end_ns,
        };
        if off_cpu.cpu(row) != u16::MAX {
            wake_ups.push(interval(Kind::WakeUp, woken_ns, off_cpu.end_ns(row)));
        }
        if !site.idle || fold.query.include_idle {
            let waits = by_object.entry(site.key.object).or_default();
            waits.push(interval(Kind::Wait, off_cpu.start_ns(row), woken_ns));
        }
    });
    let waits = by_object.into_iter().map(|(object, intervals)| {
        let name = format!("wait on {}", fold.object_name(object));
        Named { name, kind: Kind::Wait, intervals }
    });
    let wake_ups = Named { name: WAKE_UPS.into(), kind: Kind::WakeUp, intervals: wake_ups };
    std::iter::once(wake_ups).chain(waits).collect()
}
