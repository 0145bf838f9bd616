//! What the threads of a picture say of themselves, for tests.
//!
//! `a tasks: P=T==P` is the thread `a` in the tasks `parse`, `tokenize` and `parse`: a letter begins one, `=` goes on
//! with it. Several such lines nest, the first one outermost. `a waits: m==` announces a wait on the object `m`,
//! `a frames: F=F==` has frames of the domain `frames`, `a regions: O===` an overlapped task. Counters are set where the
//! line has a digit: `a counts: 1 9`, to 1 and to 9. `a marks: !` marks an instant.

use dwell_model::{CounterId, CounterKind, MarkerScope, ObjectId, ProcessId, TaskId, TaskKind, TaskTypeId, ThreadId};
use dwell_store::tables::{
    CounterRow, CounterValueRow, Counters, MarkerRow, SyncWaitRow, TaskMetadatumRow, TaskRow, TaskTypeRow, TaskTypes,
};
use dwell_store::{Table, Trace};

use crate::cell::CELL;

/// Adds a line of a picture.
pub fn line(trace: &mut Trace, name: &str, cells: &[char]) {
    let (thread, what) = name.split_once(' ').unwrap();
    let thread = trace.threads.name.iter().position(|known| known == thread).unwrap();
    match what {
        "tasks" => tasks(trace, thread, TaskKind::Task, cells),
        "frames" => tasks(trace, thread, TaskKind::Frame, cells),
        "regions" => tasks(trace, thread, TaskKind::Overlapped, cells),
        "waits" => waits(trace, thread, cells),
        "marks" => marks(trace, thread, cells),
        counter => counts(trace, thread, counter, cells),
    }
}

/// Puts the rows in the order that tables have.
pub fn in_order(trace: &mut Trace) {
    let said = &mut trace.annotations;
    let mut tasks: Vec<TaskRow> = (0..said.tasks.len()).map(|row| task(said, row)).collect();
    tasks.sort_by_key(|task| (task.start_ns, std::cmp::Reverse(task.end_ns)));
    said.tasks = Default::default();
    for mut task in tasks {
        let mut parents = (0..said.tasks.len()).rev();
        let around = |row: &usize| said.tasks.thread[*row] == task.thread && said.tasks.end_ns[*row] >= task.end_ns;
        task.parent = parents.find(around).map_or(TaskId::NONE, TaskId::new);
        said.tasks.push(task);
    }
    let values = &mut said.counter_values;
    let mut rows: Vec<usize> = (0..values.len()).collect();
    rows.sort_by_key(|row| values.time_ns[*row]);
    let old = std::mem::take(values);
    for row in rows {
        let (counter, thread) = (old.counter[row], old.thread[row]);
        values.push(CounterValueRow { counter, time_ns: old.time_ns[row], thread, value: old.value[row] });
    }
}

fn task(said: &dwell_store::Annotations, row: usize) -> TaskRow {
    let tasks = &said.tasks;
    TaskRow {
        task_type: tasks.task_type[row],
        thread: tasks.thread[row],
        end_thread: tasks.end_thread[row],
        start_ns: tasks.start_ns[row],
        end_ns: tasks.end_ns[row],
        parent: TaskId::NONE,
        id: 0,
        finished: true,
    }
}

/// Start and end, ns, and letter of each piece of a line.
fn pieces(cells: &[char]) -> Vec<(u64, u64, char)> {
    let begins = (0..cells.len()).filter(|at| cells[*at].is_alphabetic());
    let end = |at: usize| at + 1 + cells[at + 1..].iter().take_while(|cell| **cell == '=').count();
    begins.map(|at| (at as u64 * CELL, end(at) as u64 * CELL, cells[at])).collect()
}

/// The type of a kind, domain and name.
pub fn task_type(types: &mut TaskTypes, kind: TaskKind, domain: &str, name: &str) -> TaskTypeId {
    let is_it =
        |row: &usize| types.kind[*row] == kind.code() && types.domain[*row] == domain && types.name[*row] == name;
    let known = (0..types.len()).find(is_it);
    let row = TaskTypeRow { kind: kind.code(), domain: domain.into(), name: name.into() };
    TaskTypeId::new(known.unwrap_or_else(|| types.push(row)))
}

fn tasks(trace: &mut Trace, thread: usize, kind: TaskKind, cells: &[char]) {
    for (start_ns, end_ns, letter) in pieces(cells) {
        let (domain, name) = match (kind, letter) {
            (TaskKind::Frame, _) => ("frames", "frames".to_owned()),
            (_, 'P') => ("app", "parse".to_owned()),
            (_, 'T') => ("app", "tokenize".to_owned()),
            (_, 'R') => ("app", "render".to_owned()),
            (_, letter) => ("app", letter.to_string()),
        };
        let task_type = task_type(&mut trace.annotations.task_types, kind, domain, &name);
        let thread = ThreadId::new(thread);
        let row = TaskRow {
            task_type,
            thread,
            end_thread: thread,
            start_ns,
            end_ns,
            parent: TaskId::NONE,
            id: 0,
            finished: true,
        };
        trace.annotations.tasks.push(row);
    }
}

fn waits(trace: &mut Trace, thread: usize, cells: &[char]) {
    for (start_ns, end_ns, letter) in pieces(cells) {
        let object = trace.objects.name.iter().position(|name| *name == letter.to_string()).unwrap();
        let thread = ThreadId::new(thread);
        let row = SyncWaitRow { thread, object: ObjectId::new(object), start_ns, end_ns, outcome: 1 };
        trace.annotations.sync_waits.push(row);
    }
}

fn marks(trace: &mut Trace, thread: usize, cells: &[char]) {
    let task_type = task_type(&mut trace.annotations.task_types, TaskKind::Marker, "app", "mark");
    for at in (0..cells.len()).filter(|at| cells[*at] == '!') {
        let (thread, scope) = (ThreadId::new(thread), MarkerScope::Process.code());
        trace.annotations.markers.push(MarkerRow { task_type, thread, time_ns: at as u64 * CELL, scope });
    }
}

/// The counter of this name.
pub fn counter(counters: &mut Counters, name: &str) -> CounterId {
    let known = counters.name.iter().position(|known| known == name);
    let row = CounterRow {
        domain: "app".into(),
        name: name.into(),
        process: ProcessId::new(0),
        kind: CounterKind::Set.code(),
        unit: String::new(),
    };
    CounterId::new(known.unwrap_or_else(|| counters.push(row)))
}

fn counts(trace: &mut Trace, thread: usize, name: &str, cells: &[char]) {
    let counter = counter(&mut trace.annotations.counters, name);
    for (at, digit) in cells.iter().enumerate().filter_map(|(at, cell)| Some((at, cell.to_digit(10)?))) {
        let (time_ns, thread) = (at as u64 * CELL, ThreadId::new(thread));
        trace.annotations.counter_values.push(CounterValueRow { counter, time_ns, thread, value: f64::from(digit) });
    }
}

/// Attaches a number, or a text when there is none, to a task.
pub fn metadatum(trace: &mut Trace, task: usize, key: &str, number: Option<f64>, text: &str) {
    let (thread, time_ns) = (trace.annotations.tasks.thread[task], trace.annotations.tasks.start_ns[task]);
    let row = TaskMetadatumRow {
        task: TaskId::new(task),
        thread,
        time_ns,
        key: key.into(),
        number: number.unwrap_or(0.0),
        text: text.into(),
    };
    trace.annotations.task_metadata.push(row);
}
