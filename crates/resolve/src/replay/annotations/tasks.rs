//! Finds the end of every task, and the task that it is nested in.
//!
//! A task that its thread nests is ended by its domain: the innermost one of it. Everything else (overlapped tasks,
//! regions, frames) is ended by its id, on any thread. Rows are made at the beginning of a task, so that they come in the
//! order of time and a parent's before its child's; only what tells times of its own is put in order at the end.

use std::collections::HashMap;
use std::hash::RandomState;

use dwell_model::{TaskId, TaskKind, ThreadId};

use super::counted::UnkeptCounts;
use super::event_context::EventContext;
use crate::input::annotation_event::{InstanceId, MetadataSubject, Scope, TaskName};
use crate::input::texts::TextId;
use crate::interner::Interner;
use crate::replay::numbers::{TaskNumber, TypeNumber};
use crate::replay::rows::{RawTaskRow, RawTasks};
use crate::replay::threads::{ImageId, ThreadTable};
use crate::row_of::RowOf;

/// Most tasks that a thread has open at once; those within are counted only.
const MOST_OPEN: usize = 512;
/// Most tasks that are open by their ids at once.
const MOST_INSTANCES: usize = 1 << 20;
/// Most rows.
const MOST_ROWS: usize = 250_000_000;
/// Most different names of tasks.
const MOST_TYPES: usize = 1 << 17;

/// What makes two tasks ones of the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeKey {
    /// Its kind.
    pub kind: TaskKind,
    /// Domain or probe.
    pub scope: Scope,
    /// Its name.
    pub name: TaskName,
    /// Whose the function is that it is named by; `ImageId::MAX` when it is named by text.
    pub image: ImageId,
}

/// A task that its thread nests others in.
#[derive(Clone, Copy, Debug)]
struct Open {
    row: TaskNumber,
    scope: Scope,
    id: InstanceId,
}

/// The open tasks of a thread, innermost last.
#[derive(Clone, Debug, Default)]
struct Nest {
    image: ImageId,
    source: u32,
    open: Vec<Open>,
    /// Tasks that were too deep for a row.
    hidden: u32,
}

/// What ends a task that is ended by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Instance {
    source: u32,
    domain: TextId,
    id: InstanceId,
}

/// Tasks ended by their ids that have none.
type Nameless = HashMap<(u32, TextId, TaskKind), Vec<(ThreadId, TaskNumber)>>;

/// Every task so far.
#[derive(Default)]
pub struct TaskBook {
    rows: RawTasks,
    /// What each row is nested in.
    parents: Vec<TaskNumber>,
    /// Every type of tasks and markers. Programs choose the names: a hash that they cannot foresee, as below.
    pub types: Interner<TypeKey, RandomState>,
    nests: Vec<Nest>,
    instances: HashMap<Instance, TaskNumber>,
    nameless: Nameless,
    events: HashMap<(ThreadId, TextId), Vec<TaskNumber>>,
    /// Tasks that were open before the collection: they are told of by their end.
    earlier: Vec<TaskNumber>,
}

impl TaskBook {
    /// The type's number. Beyond the most that are kept, those of a kind are one.
    pub fn type_of(&mut self, mut key: TypeKey, counted: &mut UnkeptCounts) -> TypeNumber {
        if self.types.keys().len() >= MOST_TYPES && self.types.get(&key).is_none() {
            counted.names += 1;
            let (scope, name) = (Scope::Domain(TextId::EMPTY), TaskName::Text(TextId::UNKNOWN));
            key = TypeKey { kind: key.kind, scope, name, image: ImageId::MAX };
        }
        TypeNumber::new(self.types.intern(key))
    }

    fn push(
        &mut self,
        context: &EventContext,
        key: TypeKey,
        id: InstanceId,
        counted: &mut UnkeptCounts,
    ) -> Option<TaskNumber> {
        if self.rows.len() >= MOST_ROWS {
            counted.rows += 1;
            return None;
        }
        let task_type = self.type_of(key, counted);
        let row = RawTaskRow {
            task_type,
            thread: context.thread,
            end_thread: ThreadId::NONE,
            start_ns: context.at_ns,
            end_ns: context.at_ns,
            id: id.0,
            finished: false,
        };
        self.parents.push(TaskNumber::NONE);
        Some(TaskNumber::new(self.rows.push(row)))
    }

    fn close(&mut self, row: TaskNumber, context: &EventContext) {
        let Some(row) = row.get() else { return };
        self.rows.end_ns[row] = context.at_ns.max(self.rows.start_ns[row]);
        self.rows.end_thread[row] = context.thread;
        self.rows.finished[row] = true;
    }

    /// The task ends without having been ended.
    fn cut(&mut self, row: TaskNumber, time_ns: u64) {
        let Some(row) = row.get() else { return };
        self.rows.end_ns[row] = time_ns.max(self.rows.start_ns[row]);
    }

    fn set_parent(&mut self, row: TaskNumber, parent: TaskNumber) {
        if let Some(row) = row.get() {
            self.parents[row] = parent;
        }
    }

    /// The thread's open tasks. Those of the program that its process ran before end with it.
    fn nest(&mut self, context: &EventContext) -> &mut Nest {
        let row = context.thread.get().unwrap_or(0);
        if row >= self.nests.len() {
            self.nests.resize(row + 1, Nest::default());
        }
        if self.nests[row].image != context.image {
            self.cut_nest(row, context.image_ns);
            self.nests[row].image = context.image;
        }
        if context.source != 0 {
            self.nests[row].source = context.source;
        }
        &mut self.nests[row]
    }

    fn cut_nest(&mut self, row: usize, time_ns: u64) {
        let Nest { image, source, open, .. } = std::mem::take(&mut self.nests[row]);
        for task in open {
            self.cut(task.row, time_ns);
            self.forget(source, &task);
        }
        (self.nests[row].image, self.nests[row].source) = (image, source);
    }

    fn forget(&mut self, source: u32, task: &Open) {
        let (Scope::Domain(domain), true) = (task.scope, task.id.is_some()) else { return };
        let instance = Instance { source, domain, id: task.id };
        if self.instances.get(&instance) == Some(&task.row) {
            self.instances.remove(&instance);
        }
    }

    /// Events of the thread are lost: which of its tasks go on is not known any more.
    pub fn lose(&mut self, context: &EventContext) {
        self.nest(context);
        self.cut_nest(context.thread.get().unwrap_or(0), context.now_ns);
    }

    /// A task of the thread begins. `parent` is what the program named.
    pub fn begin(
        &mut self,
        context: &EventContext,
        key: TypeKey,
        (id, parent): (InstanceId, InstanceId),
        counted: &mut UnkeptCounts,
    ) {
        let nest = self.nest(context);
        if nest.open.len() >= MOST_OPEN {
            nest.hidden += 1;
            counted.deep += 1;
            return;
        }
        let outer = nest.open.last().map(|outer| outer.row);
        let Some(row) = self.push(context, key, id, counted) else { return };
        let parent = outer.unwrap_or_else(|| self.named(context.source, key.scope, parent));
        self.set_parent(row, parent);
        self.nest(context).open.push(Open { row, scope: key.scope, id });
        if let (Scope::Domain(domain), true) = (key.scope, id.is_some()) {
            self.register(Instance { source: context.source, domain, id }, row, context.at_ns, counted);
        }
    }

    /// Whether the thread is in a task of the scope.
    pub fn is_open(&mut self, context: &EventContext, scope: Scope) -> bool {
        self.nest(context).open.iter().any(|task| task.scope == scope)
    }

    /// The innermost task of the scope ends.
    pub fn end(&mut self, context: &EventContext, scope: Scope, counted: &mut UnkeptCounts) {
        let nest = self.nest(context);
        if nest.hidden > 0 {
            nest.hidden -= 1;
            return;
        }
        let Some(at) = nest.open.iter().rposition(|task| task.scope == scope) else {
            let kind = if matches!(scope, Scope::Probe(_)) { TaskKind::Probe } else { TaskKind::Task };
            return self.end_earlier(context, (kind, scope), InstanceId::default(), counted);
        };
        let task = nest.open.remove(at);
        // Tasks within it that go on are now nested in the task around both.
        let inner = nest.open.get(at).map(|inner| inner.row);
        let outer = at.checked_sub(1).map_or(TaskNumber::NONE, |outer| nest.open[outer].row);
        self.close(task.row, context);
        self.forget(context.source, &task);
        if let Some(inner) = inner {
            self.set_parent(inner, outer);
        }
    }

    /// A task ends whose beginning was not recorded. It was open when the collection began, if its thread was there.
    fn end_earlier(
        &mut self,
        context: &EventContext,
        (kind, scope): (TaskKind, Scope),
        id: InstanceId,
        counted: &mut UnkeptCounts,
    ) {
        if !context.was_there {
            counted.unmatched_ends += 1;
            return;
        }
        let name = TaskName::Text(if kind == TaskKind::Probe { TextId::EMPTY } else { TextId::UNKNOWN });
        let key = TypeKey { kind, scope, name, image: ImageId::MAX };
        let begun = EventContext { at_ns: 0, ..*context };
        if let Some(row) = self.push(&begun, key, id, counted) {
            self.close(row, context);
            if matches!(kind, TaskKind::Task | TaskKind::Probe) {
                self.earlier.push(row);
            }
        }
    }

    fn register(&mut self, instance: Instance, row: TaskNumber, time_ns: u64, counted: &mut UnkeptCounts) {
        if self.instances.len() >= MOST_INSTANCES && !self.instances.contains_key(&instance) {
            counted.ids += 1;
        } else if let Some(earlier) = self.instances.insert(instance, row) {
            self.cut_unless_nested(earlier, time_ns);
        }
    }

    /// The id was given again: its former task gets no end, unless its thread ends it.
    fn cut_unless_nested(&mut self, row: TaskNumber, time_ns: u64) {
        let nested = |row: usize| {
            let nest = self.rows.thread[row].get().and_then(|thread| self.nests.get(thread));
            nest.is_some_and(|nest| nest.open.iter().any(|task| task.row.get() == Some(row)))
        };
        if row.get().is_some_and(|row| !nested(row)) {
            self.cut(row, time_ns);
        }
    }

    /// The open task that the program calls `id`.
    fn named(&self, source: u32, scope: Scope, id: InstanceId) -> TaskNumber {
        match scope {
            Scope::Domain(domain) if id.is_some() => {
                self.instances.get(&Instance { source, domain, id }).copied().unwrap_or(TaskNumber::NONE)
            }
            _ => TaskNumber::NONE,
        }
    }

    /// A task begins that is ended by its id.
    pub fn begin_by_id(
        &mut self,
        context: &EventContext,
        key: TypeKey,
        (id, parent): (InstanceId, InstanceId),
        counted: &mut UnkeptCounts,
    ) {
        let Scope::Domain(domain) = key.scope else { return };
        let Some(row) = self.push(context, key, id, counted) else { return };
        self.set_parent(row, self.named(context.source, key.scope, parent));
        if id.is_some() {
            self.register(Instance { source: context.source, domain, id }, row, context.at_ns, counted);
            return;
        }
        let open = self.nameless.entry((context.source, domain, key.kind)).or_default();
        open.push((context.thread, row));
        if open.len() > MOST_OPEN {
            let (_, oldest) = open.remove(0);
            self.cut(oldest, context.at_ns);
        }
    }

    /// It ends. Without an id, the latest one that this thread began; else the latest of all.
    pub fn end_by_id(
        &mut self,
        context: &EventContext,
        (kind, domain): (TaskKind, TextId),
        id: InstanceId,
        counted: &mut UnkeptCounts,
    ) {
        let row = if id.is_some() {
            self.instances.remove(&Instance { source: context.source, domain, id })
        } else {
            self.nameless.get_mut(&(context.source, domain, kind)).and_then(|open| {
                let own = open.iter().rposition(|(thread, _)| *thread == context.thread);
                let at = own.or(open.len().checked_sub(1))?;
                Some(open.remove(at).1)
            })
        };
        match row {
            Some(row) => self.close(row, context),
            None => self.end_earlier(context, (kind, Scope::Domain(domain)), id, counted),
        }
    }

    /// A frame that is told of when it is over.
    pub fn frame(
        &mut self,
        (begun, ended): (&EventContext, &EventContext),
        key: TypeKey,
        id: InstanceId,
        counted: &mut UnkeptCounts,
    ) {
        if let Some(row) = self.push(begun, key, id, counted) {
            self.close(row, ended);
        }
    }

    /// An event starts.
    pub fn start_event(&mut self, context: &EventContext, name: TextId, counted: &mut UnkeptCounts) {
        let scope = Scope::Domain(TextId::EMPTY);
        let key = TypeKey { kind: TaskKind::Event, scope, name: TaskName::Text(name), image: ImageId::MAX };
        let outer = self.nest(context).open.last().map_or(TaskNumber::NONE, |outer| outer.row);
        let Some(row) = self.push(context, key, InstanceId::default(), counted) else { return };
        self.set_parent(row, outer);
        let open = self.events.entry((context.thread, name)).or_default();
        open.push(row);
        if open.len() > MOST_OPEN {
            open.remove(0); // one that is never ended is an instant
        }
    }

    /// The latest event of the name ends.
    pub fn end_event(&mut self, context: &EventContext, name: TextId, counted: &mut UnkeptCounts) {
        let Some(open) = self.events.get_mut(&(context.thread, name)) else {
            counted.unmatched_ends += 1;
            return;
        };
        let row = open.pop();
        if open.is_empty() {
            self.events.remove(&(context.thread, name));
        }
        if let Some(row) = row {
            self.close(row, context);
        }
    }

    /// The task that a datum belongs to; the current one is the innermost of the domain, or of any.
    pub fn of_datum(&mut self, context: &EventContext, domain: TextId, of: MetadataSubject) -> TaskNumber {
        let scope = Scope::Domain(domain);
        match of {
            MetadataSubject::Id(id) => return self.named(context.source, scope, id),
            MetadataSubject::Nothing => return TaskNumber::NONE,
            MetadataSubject::Current => {}
        }
        let nest = self.nest(context);
        let own = nest.open.iter().rfind(|task| task.scope == scope);
        own.or(nest.open.last()).map_or(TaskNumber::NONE, |task| task.row)
    }

    /// Ends what is open and puts the rows in order. Returns them with the row of each task.
    pub fn finish(&mut self, thread_table: &ThreadTable, end_ns: u64) -> (NestedTasks, TaskRows) {
        for row in 0..self.nests.len() {
            let end = thread_table.end_of(ThreadId::new(row), self.nests[row].image, end_ns);
            self.cut_nest(row, end);
        }
        let instances = std::mem::take(&mut self.instances).into_values();
        let nameless = std::mem::take(&mut self.nameless).into_values().flatten().map(|(_, row)| row);
        for task in instances.chain(nameless).collect::<Vec<_>>() {
            let Some(row) = task.get() else { continue };
            let end = thread_table.program_end(self.rows.thread[row], self.rows.start_ns[row], end_ns);
            self.cut(task, end);
        }
        self.adopt();
        let order = order_of(&self.rows);
        let (mut rows, mut parents) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.parents));
        if let Some(order) = &order {
            rows = rows.permuted(order);
            parents = order.iter().map(|&row| parents[row]).collect();
        }
        let task_rows = TaskRows::new(order.as_deref());
        let mut parents = task_rows.column(parents);
        nest_rows(&rows, &mut parents);
        (NestedTasks { rows, parents }, task_rows)
    }

    /// Tasks that were open before the collection get the outermost ones of their thread that were within them.
    fn adopt(&mut self) {
        let (rows, parents) = (&self.rows, &mut self.parents);
        let mut earlier: HashMap<ThreadId, Vec<(u64, TaskNumber)>> = HashMap::new();
        for &task in &self.earlier {
            let Some(row) = task.get() else { continue };
            // In the order in which they ended: each lies within the next.
            earlier.entry(rows.thread[row]).or_default().push((rows.end_ns[row], task));
        }
        if earlier.is_empty() {
            return;
        }
        for list in earlier.values_mut() {
            list.sort_by_key(|(end_ns, _)| *end_ns);
        }
        let nests = [TaskKind::Task, TaskKind::Event, TaskKind::Probe];
        for (row, parent) in parents.iter_mut().enumerate() {
            let kind = rows.task_type[row].get().map(|key| self.types.keys()[key].kind);
            let alone = !parent.is_some() && kind.is_some_and(|kind| nests.contains(&kind));
            let Some(list) = earlier.get(&rows.thread[row]).filter(|_| alone) else { continue };
            let from = list.partition_point(|(end_ns, _)| *end_ns < rows.end_ns[row]);
            let others = list[from..].iter().filter(|(_, task)| task.get() != Some(row));
            *parent = others.map(|(_, task)| *task).next().unwrap_or(TaskNumber::NONE);
        }
    }
}

/// The tasks in the order of their beginning, outer ones first; their types still are numbers.
pub struct NestedTasks {
    /// The rows.
    pub rows: RawTasks,
    /// What each row is nested in.
    pub parents: Vec<TaskId>,
}

/// The row of each task; `None` when rows are in the order in which tasks were told of.
pub struct TaskRows(Option<RowOf<TaskNumber, TaskId>>);

impl TaskRows {
    /// Row i is task `order[i]`.
    fn new(order: Option<&[usize]>) -> Self {
        Self(order.map(|order| {
            let mut rows = vec![TaskId::NONE; order.len()];
            for (row, &task) in order.iter().enumerate() {
                rows[task] = TaskId::new(row);
            }
            rows.into_iter().collect()
        }))
    }

    /// A column of rows from one of tasks, in the same memory.
    pub fn column(&self, tasks: Vec<TaskNumber>) -> Vec<TaskId> {
        match &self.0 {
            Some(rows) => rows.column(tasks),
            None => tasks.into_iter().map(|task| task.get().map_or(TaskId::NONE, TaskId::new)).collect(),
        }
    }
}

/// The order of their beginning, outer tasks first, unless they are in it.
fn order_of(rows: &RawTasks) -> Option<Vec<usize>> {
    if rows.start_ns.is_sorted() {
        return None;
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&row| (rows.start_ns[row], u64::MAX - rows.end_ns[row]));
    Some(order)
}

/// A parent comes before its child, and one of the same thread contains it: where it does not, a parent's parent may.
fn nest_rows(rows: &RawTasks, parents: &mut [TaskId]) {
    for row in 0..rows.len() {
        let holds = |parent: usize| {
            let same = rows.thread[parent] == rows.thread[row];
            let contains = rows.start_ns[parent] <= rows.start_ns[row] && rows.end_ns[row] <= rows.end_ns[parent];
            parent < row && (contains || !same)
        };
        let mut parent = parents[row];
        for _ in 0..=MOST_OPEN {
            match parent.get() {
                Some(at) if !holds(at) => parent = parents[at],
                _ => break,
            }
        }
        parents[row] = parent.get().filter(|&parent| holds(parent)).map_or(TaskId::NONE, TaskId::new);
    }
}
