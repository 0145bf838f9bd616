//! What the program says it did: tasks, regions and frames in lanes, those of one lane one after the other, and markers.
//! A drawing's work is in proportion to its pixels, however many tasks there are.

use std::borrow::Cow;
use std::ops::Range;

use dwell_model::{TaskTypeId, ThreadId};
use dwell_query::Analysis;
use dwell_query::engine::selection::TaskFilter;
use dwell_query::history::band_kind::BandKind;
use dwell_query::history::lanes::{kind_of, nests};
use dwell_query::question::query::Query;
use dwell_store::Trace;
use dwell_view::answer;

/// Spans of a pixel that are looked at for the one that is shown.
const LOOKED_AT: usize = 64;

answer! {
    /// The spans of one lane, columns of the same length, in order of time.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct LaneSpans {
        /// Starts, ns.
        pub start: Vec<u64>,
        /// Ends, ns.
        pub end: Vec<u64>,
        /// Rows of the task types.
        #[serde(rename = "type")]
        pub task_type: Vec<u32>,
        /// Row of the tasks table; null for a span that stands for several shorter than a pixel.
        pub task: Vec<Option<u32>>,
    }
}

answer! {
    /// Markers, one a pixel at most.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct MarkerSpans {
        /// Time of the first one in the pixel, ns.
        pub time: Vec<u64>,
        /// Its row of the task types.
        #[serde(rename = "type")]
        pub task_type: Vec<u32>,
        /// How many there are.
        pub count: Vec<u32>,
    }
}

answer! {
    /// What one band says.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct BandSpans {
        /// Row of the threads or task types table.
        pub id: u32,
        /// Its lanes, frames first.
        pub lanes: Vec<LaneSpans>,
        /// Its markers.
        pub markers: MarkerSpans,
    }
}

/// Draws what bands of threads or task types say from `from` to `to` on `width` pixels, as far as the query's filters of
/// threads, processes and tasks let it through.
pub fn spans(
    analysis: &Analysis,
    query: &Query,
    (by, bands): (BandKind, &[u32]),
    (from, to, width): (u64, u64, usize),
) -> Vec<BandSpans> {
    let to = to.min(analysis.elapsed_ns());
    let pixel_ns = (to.saturating_sub(from) / width.max(1) as u64).max(1);
    let pixels = Pixels { trace: &analysis.trace, from, to, pixel_ns };
    let filter = TaskFilter::new(&analysis.trace, query);
    let lanes = analysis.lanes();
    let band = |id: &u32| BandSpans {
        id: *id,
        lanes: lanes.of(by, *id).iter().map(|rows| pixels.lane(&pixels.taken(rows, &filter))).collect(),
        markers: match by {
            BandKind::Thread => {
                lanes.markers.get(*id as usize).map_or_else(MarkerSpans::default, |rows| pixels.markers(rows))
            }
            _ => MarkerSpans::default(),
        },
    };
    bands.iter().map(band).collect()
}

struct Pixels<'t> {
    trace: &'t Trace,
    from: u64,
    to: u64,
    pixel_ns: u64,
}

impl Pixels<'_> {
    fn pixel_end(&self, time: u64) -> u64 {
        self.from.saturating_add((time.saturating_sub(self.from) / self.pixel_ns + 1).saturating_mul(self.pixel_ns))
    }

    /// The rows of a lane that filters let through; where there are any, of those that are seen.
    fn taken<'r>(&self, rows: &'r [u32], filter: &TaskFilter<'_>) -> Cow<'r, [u32]> {
        if filter.is_empty() {
            return Cow::Borrowed(rows);
        }
        let tasks = &self.trace.annotations.tasks;
        let first = rows.partition_point(|row| tasks.end_ns[*row as usize] < self.from);
        let seen = rows[first..].iter().take_while(|row| tasks.start_ns[**row as usize] < self.to);
        seen.filter(|row| filter.takes(**row as usize)).copied().collect()
    }

    fn lane(&self, rows: &[u32]) -> LaneSpans {
        let tasks = &self.trace.annotations.tasks;
        let start = |at: usize| tasks.start_ns[rows[at] as usize];
        let end = |at: usize| tasks.end_ns[rows[at] as usize];
        let mut spans = LaneSpans::default();
        let mut at = rows.partition_point(|row| tasks.end_ns[*row as usize] < self.from);
        while at < rows.len() && start(at) < self.to {
            let pixel_end = self.pixel_end(start(at));
            let mut behind = at + 1;
            if end(at) - start(at) < self.pixel_ns {
                behind = at + rows[at..].partition_point(|row| tasks.start_ns[*row as usize] < pixel_end).max(1);
                // One that goes on behind the pixel is seen for itself.
                if behind > at + 1 && end(behind - 1) - start(behind - 1) >= self.pixel_ns {
                    behind -= 1;
                }
            }
            let shown = self.longest(rows, at..behind);
            spans.start.push(start(at));
            spans.end.push(end(behind - 1));
            spans.task_type.push(tasks.task_type[shown].raw());
            spans.task.push((behind == at + 1).then_some(shown as u32));
            at = behind;
        }
        spans
    }

    /// The longest task of the first few.
    fn longest(&self, rows: &[u32], range: Range<usize>) -> usize {
        let tasks = &self.trace.annotations.tasks;
        let few = range.start..range.end.min(range.start + LOOKED_AT);
        let length = |row: &&u32| tasks.end_ns[**row as usize] - tasks.start_ns[**row as usize];
        rows[few].iter().rev().max_by_key(length).map_or(0, |row| *row as usize)
    }

    fn markers(&self, rows: &[u32]) -> MarkerSpans {
        let markers = &self.trace.annotations.markers;
        let before = |rows: &[u32], time: u64| rows.partition_point(|row| markers.time_ns[*row as usize] < time);
        let mut spans = MarkerSpans::default();
        let (mut at, end) = (before(rows, self.from), before(rows, self.to));
        while at < end {
            let row = rows[at] as usize;
            let count = before(&rows[at..end], self.pixel_end(markers.time_ns[row])).max(1);
            spans.time.push(markers.time_ns[row]);
            spans.task_type.push(markers.task_type[row].raw());
            spans.count.push(count as u32);
            at += count;
        }
        spans
    }
}

answer! {
    /// Everything that is known of one task.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TaskInfo {
        /// Its name.
        pub name: String,
        /// Its domain; empty for none.
        pub domain: String,
        /// `task`, `frame`, …
        pub kind: &'static str,
        /// Thread that began it.
        pub thread: u32,
        /// Thread that ended it, if another one did.
        pub end_thread: Option<u32>,
        /// When it began.
        pub start_ns: u64,
        /// When it ended.
        pub end_ns: u64,
        /// Whether its end was seen.
        pub finished: bool,
        /// The program's own number for it, 0 for none.
        pub id: u64,
        /// What it is nested in; empty for nothing.
        pub parent: String,
        /// What the program attached to it: key and value.
        pub metadata: Vec<(String, String)>,
    }
}

/// Data of one task that are told.
const MOST_METADATA: usize = 100;

/// What is known of a row of the tasks table; none where there is no such row.
pub fn task_at(trace: &Trace, row: u32) -> Option<TaskInfo> {
    let said = &trace.annotations;
    let (tasks, at) = (&said.tasks, row as usize);
    let name = |id: TaskTypeId| id.get().and_then(|row| said.task_types.name.get(row)).cloned().unwrap_or_default();
    let task_type = *tasks.task_type.get(at)?;
    let domain = task_type.get().and_then(|row| said.task_types.domain.get(row)).cloned().unwrap_or_default();
    let (start_ns, end_ns) = (tasks.start_ns[at], tasks.end_ns[at]);
    let data = &said.task_metadata;
    let text = |datum: usize| match data.text[datum].as_str() {
        "" => data.number[datum].to_string(),
        text => text.to_owned(),
    };
    // Data are attached while a task is open, those of what overlaps at any time after its begin.
    let after = |ns: u64| data.time_ns.partition_point(|time| *time < ns);
    let end = if nests(kind_of(trace, task_type)) { after(end_ns.saturating_add(1)) } else { data.task.len() };
    let open = after(start_ns)..end;
    let metadata = open.filter(|datum| data.task[*datum].get() == Some(at)).take(MOST_METADATA);
    let end_thread = tasks.end_thread[at];
    Some(TaskInfo {
        name: name(task_type),
        domain,
        kind: kind_of(trace, task_type).id(),
        thread: tasks.thread[at].raw(),
        end_thread: (end_thread != ThreadId::NONE && end_thread != tasks.thread[at]).then_some(end_thread.raw()),
        start_ns,
        end_ns,
        finished: tasks.finished[at],
        id: tasks.id[at],
        parent: tasks.parent[at]
            .get()
            .and_then(|row| tasks.task_type.get(row))
            .map_or_else(String::new, |id| name(*id)),
        metadata: metadata.map(|datum| (data.key[datum].clone(), text(datum))).collect(),
    })
}
