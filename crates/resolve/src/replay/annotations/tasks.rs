//! Finds the end of every task, and the task that it is nested in.
//!
//! A task that its thread nests is ended by its domain: the innermost one of it. Everything else (overlapped tasks,
//! regions, frames) is ended by its id, on any thread. Rows are made at the beginning of a task, so that they come in the
//! order of time and a parent's before its child's; only what tells times of its own is put in order at the end.

use std::collections::HashMap;
use std::hash::RandomState;

use dwell_model::{TaskId, TaskKind, TaskTypeId, ThreadId};
use dwell_store::Table;
use dwell_store::tables::{TaskRow, Tasks};

use super::counted::Counted;
use super::who::Who;
use crate::input::said::{InstanceId, Scope, Subject, TaskName};
use crate::input::texts::TextId;
use crate::interner::Interner;
use crate::replay::lives::{ImageId, Lives};

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
    row: TaskId,
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
type Nameless = HashMap<(u32, TextId, TaskKind), Vec<(ThreadId, TaskId)>>;

/// Every task so far.
#[derive(Default)]
pub struct TaskBook {
    /// The rows; the types are numbers of `types`.
    pub rows: Tasks,
    /// Every type of tasks and markers. Programs choose the names: a hash that they cannot foresee, as below.
    pub types: Interner<TypeKey, RandomState>,
    nests: Vec<Nest>,
    instances: HashMap<Instance, TaskId>,
    nameless: Nameless,
    events: HashMap<(ThreadId, TextId), Vec<TaskId>>,
    /// Tasks that were open before the collection: they are told of by their end.
    earlier: Vec<TaskId>,
}

impl TaskBook {
    /// The type's number. Beyond the most that are kept, those of a kind are one.
    pub fn type_of(&mut self, mut key: TypeKey, counted: &mut Counted) -> TaskTypeId {
        if self.types.keys().len() >= MOST_TYPES && self.types.get(&key).is_none() {
            counted.names += 1;
            let (scope, name) = (Scope::Domain(TextId::EMPTY), TaskName::Text(TextId::UNKNOWN));
            key = TypeKey { kind: key.kind, scope, name, image: ImageId::MAX };
        }
        TaskTypeId::new(self.types.intern(key))
    }

    fn push(&mut self, who: &Who, key: TypeKey, id: InstanceId, counted: &mut Counted) -> Option<TaskId> {
        if self.rows.len() >= MOST_ROWS {
            counted.rows += 1;
            return None;
        }
        let task_type = self.type_of(key, counted);
        let row = TaskRow {
            task_type,
            thread: who.thread,
            end_thread: ThreadId::NONE,
            start_ns: who.at_ns,
            end_ns: who.at_ns,
            parent: TaskId::NONE,
            id: id.0,
            finished: false,
        };
        Some(TaskId::new(self.rows.push(row)))
    }

    fn close(&mut self, row: TaskId, who: &Who) {
        let Some(row) = row.get() else { return };
        self.rows.end_ns[row] = who.at_ns.max(self.rows.start_ns[row]);
        self.rows.end_thread[row] = who.thread;
        self.rows.finished[row] = true;
    }

    /// The task ends without having been ended.
    fn cut(&mut self, row: TaskId, time_ns: u64) {
        let Some(row) = row.get() else { return };
        self.rows.end_ns[row] = time_ns.max(self.rows.start_ns[row]);
    }

    fn set_parent(&mut self, row: TaskId, parent: TaskId) {
        if let Some(row) = row.get() {
            self.rows.parent[row] = parent;
        }
    }

    /// The thread's open tasks. Those of the program that its process ran before end with it.
    fn nest(&mut self, who: &Who) -> &mut Nest {
        let row = who.thread.get().unwrap_or(0);
        if row >= self.nests.len() {
            self.nests.resize(row + 1, Nest::default());
        }
        if self.nests[row].image != who.image {
            self.cut_nest(row, who.image_ns);
            self.nests[row].image = who.image;
        }
        if who.source != 0 {
            self.nests[row].source = who.source;
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
    pub fn lose(&mut self, who: &Who) {
        self.nest(who);
        self.cut_nest(who.thread.get().unwrap_or(0), who.now_ns);
    }

    /// A task of the thread begins. `parent` is what the program named.
    pub fn begin(&mut self, who: &Who, key: TypeKey, (id, parent): (InstanceId, InstanceId), counted: &mut Counted) {
        let nest = self.nest(who);
        if nest.open.len() >= MOST_OPEN {
            nest.hidden += 1;
            counted.deep += 1;
            return;
        }
        let outer = nest.open.last().map(|outer| outer.row);
        let Some(row) = self.push(who, key, id, counted) else { return };
        let parent = outer.unwrap_or_else(|| self.named(who.source, key.scope, parent));
        self.set_parent(row, parent);
        self.nest(who).open.push(Open { row, scope: key.scope, id });
        if let (Scope::Domain(domain), true) = (key.scope, id.is_some()) {
            self.register(Instance { source: who.source, domain, id }, row, who.at_ns, counted);
        }
    }

    /// Whether the thread is in a task of the scope.
    pub fn is_open(&mut self, who: &Who, scope: Scope) -> bool {
        self.nest(who).open.iter().any(|task| task.scope == scope)
    }

    /// The innermost task of the scope ends.
    pub fn end(&mut self, who: &Who, scope: Scope, counted: &mut Counted) {
        let nest = self.nest(who);
        if nest.hidden > 0 {
            nest.hidden -= 1;
            return;
        }
        let Some(at) = nest.open.iter().rposition(|task| task.scope == scope) else {
            let kind = if matches!(scope, Scope::Probe(_)) { TaskKind::Probe } else { TaskKind::Task };
            return self.end_earlier(who, (kind, scope), InstanceId::default(), counted);
        };
        let task = nest.open.remove(at);
        // Tasks within it that go on are now nested in the task around both.
        let inner = nest.open.get(at).map(|inner| inner.row);
        let outer = at.checked_sub(1).map_or(TaskId::NONE, |outer| nest.open[outer].row);
        self.close(task.row, who);
        self.forget(who.source, &task);
        if let Some(inner) = inner {
            self.set_parent(inner, outer);
        }
    }

    /// A task ends whose beginning was not recorded. It was open when the collection began, if its thread was there.
    fn end_earlier(&mut self, who: &Who, (kind, scope): (TaskKind, Scope), id: InstanceId, counted: &mut Counted) {
        if !who.was_there {
            counted.unmatched_ends += 1;
            return;
        }
        let name = TaskName::Text(if kind == TaskKind::Probe { TextId::EMPTY } else { TextId::UNKNOWN });
        let key = TypeKey { kind, scope, name, image: ImageId::MAX };
        let begun = Who { at_ns: 0, ..*who };
        if let Some(row) = self.push(&begun, key, id, counted) {
            self.close(row, who);
            if matches!(kind, TaskKind::Task | TaskKind::Probe) {
                self.earlier.push(row);
            }
        }
    }

    fn register(&mut self, instance: Instance, row: TaskId, time_ns: u64, counted: &mut Counted) {
        if self.instances.len() >= MOST_INSTANCES && !self.instances.contains_key(&instance) {
            counted.ids += 1;
        } else if let Some(earlier) = self.instances.insert(instance, row) {
            self.cut_unless_nested(earlier, time_ns);
        }
    }

    /// The id was given again: its former task gets no end, unless its thread ends it.
    fn cut_unless_nested(&mut self, row: TaskId, time_ns: u64) {
        let nested = |row: usize| {
            let nest = self.rows.thread[row].get().and_then(|thread| self.nests.get(thread));
            nest.is_some_and(|nest| nest.open.iter().any(|task| task.row.get() == Some(row)))
        };
        if row.get().is_some_and(|row| !nested(row)) {
            self.cut(row, time_ns);
        }
    }

    /// The open task that the program calls `id`.
    fn named(&self, source: u32, scope: Scope, id: InstanceId) -> TaskId {
        match scope {
            Scope::Domain(domain) if id.is_some() => {
                self.instances.get(&Instance { source, domain, id }).copied().unwrap_or(TaskId::NONE)
            }
            _ => TaskId::NONE,
        }
    }

    /// A task begins that is ended by its id.
    pub fn begin_by_id(
        &mut self,
        who: &Who,
        key: TypeKey,
        (id, parent): (InstanceId, InstanceId),
        counted: &mut Counted,
    ) {
        let Scope::Domain(domain) = key.scope else { return };
        let Some(row) = self.push(who, key, id, counted) else { return };
        self.set_parent(row, self.named(who.source, key.scope, parent));
        if id.is_some() {
            self.register(Instance { source: who.source, domain, id }, row, who.at_ns, counted);
            return;
        }
        let open = self.nameless.entry((who.source, domain, key.kind)).or_default();
        open.push((who.thread, row));
        if open.len() > MOST_OPEN {
            let (_, oldest) = open.remove(0);
            self.cut(oldest, who.at_ns);
        }
    }

    /// It ends. Without an id, the latest one that this thread began; else the latest of all.
    pub fn end_by_id(&mut self, who: &Who, (kind, domain): (TaskKind, TextId), id: InstanceId, counted: &mut Counted) {
        let row = if id.is_some() {
            self.instances.remove(&Instance { source: who.source, domain, id })
        } else {
            self.nameless.get_mut(&(who.source, domain, kind)).and_then(|open| {
                let own = open.iter().rposition(|(thread, _)| *thread == who.thread);
                let at = own.or(open.len().checked_sub(1))?;
                Some(open.remove(at).1)
            })
        };
        match row {
            Some(row) => self.close(row, who),
            None => self.end_earlier(who, (kind, Scope::Domain(domain)), id, counted),
        }
    }

    /// A frame that is told of when it is over.
    pub fn frame(&mut self, (begun, ended): (&Who, &Who), key: TypeKey, id: InstanceId, counted: &mut Counted) {
        if let Some(row) = self.push(begun, key, id, counted) {
            self.close(row, ended);
        }
    }

    /// An event starts.
    pub fn start_event(&mut self, who: &Who, name: TextId, counted: &mut Counted) {
        let scope = Scope::Domain(TextId::EMPTY);
        let key = TypeKey { kind: TaskKind::Event, scope, name: TaskName::Text(name), image: ImageId::MAX };
        let outer = self.nest(who).open.last().map_or(TaskId::NONE, |outer| outer.row);
        let Some(row) = self.push(who, key, InstanceId::default(), counted) else { return };
        self.set_parent(row, outer);
        let open = self.events.entry((who.thread, name)).or_default();
        open.push(row);
        if open.len() > MOST_OPEN {
            open.remove(0); // one that is never ended is an instant
        }
    }

    /// The latest event of the name ends.
    pub fn end_event(&mut self, who: &Who, name: TextId, counted: &mut Counted) {
        let Some(open) = self.events.get_mut(&(who.thread, name)) else {
            counted.unmatched_ends += 1;
            return;
        };
        let row = open.pop();
        if open.is_empty() {
            self.events.remove(&(who.thread, name));
        }
        if let Some(row) = row {
            self.close(row, who);
        }
    }

    /// The task that a datum belongs to; the current one is the innermost of the domain, or of any.
    pub fn of_datum(&mut self, who: &Who, domain: TextId, of: Subject) -> TaskId {
        let scope = Scope::Domain(domain);
        match of {
            Subject::Id(id) => return self.named(who.source, scope, id),
            Subject::Nothing => return TaskId::NONE,
            Subject::Current => {}
        }
        let nest = self.nest(who);
        let own = nest.open.iter().rfind(|task| task.scope == scope);
        own.or(nest.open.last()).map_or(TaskId::NONE, |task| task.row)
    }

    /// Ends what is open and puts the rows in order. Returns them with, for each former row number, the new one; none
    /// when they are the same.
    pub fn finish(&mut self, lives: &Lives, end_ns: u64) -> (Tasks, Option<Vec<TaskId>>) {
        for row in 0..self.nests.len() {
            let end = lives.end_of(ThreadId::new(row), self.nests[row].image, end_ns);
            self.cut_nest(row, end);
        }
        let instances = std::mem::take(&mut self.instances).into_values();
        let nameless = std::mem::take(&mut self.nameless).into_values().flatten().map(|(_, row)| row);
        for task in instances.chain(nameless).collect::<Vec<_>>() {
            let Some(row) = task.get() else { continue };
            let end = lives.program_end(self.rows.thread[row], self.rows.start_ns[row], end_ns);
            self.cut(task, end);
        }
        self.adopt();
        let mut rows = std::mem::take(&mut self.rows);
        let moved = sort(&mut rows);
        nest_rows(&mut rows);
        (rows, moved)
    }

    /// Tasks that were open before the collection get the outermost ones of their thread that were within them.
    fn adopt(&mut self) {
        let rows = &mut self.rows;
        let mut earlier: HashMap<ThreadId, Vec<(u64, TaskId)>> = HashMap::new();
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
        for row in 0..rows.len() {
            let kind = rows.task_type[row].get().map(|key| self.types.keys()[key].kind);
            let alone = !rows.parent[row].is_some() && kind.is_some_and(|kind| nests.contains(&kind));
            let Some(list) = earlier.get(&rows.thread[row]).filter(|_| alone) else { continue };
            let from = list.partition_point(|(end_ns, _)| *end_ns < rows.end_ns[row]);
            let others = list[from..].iter().filter(|(_, task)| task.get() != Some(row));
            rows.parent[row] = others.map(|(_, task)| *task).next().unwrap_or(TaskId::NONE);
        }
    }
}

/// Puts the rows in the order of their beginning, outer tasks first.
fn sort(rows: &mut Tasks) -> Option<Vec<TaskId>> {
    if rows.start_ns.is_sorted() {
        return None;
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&row| (rows.start_ns[row], u64::MAX - rows.end_ns[row]));
    let mut moved = vec![TaskId::NONE; order.len()];
    for (to, &from) in order.iter().enumerate() {
        moved[from] = TaskId::new(to);
    }
    *rows = rows.permuted(&order);
    for parent in &mut rows.parent {
        *parent = parent.get().map_or(TaskId::NONE, |row| moved[row]);
    }
    Some(moved)
}

/// A parent comes before its child, and one of the same thread contains it: where it does not, a parent's parent may.
fn nest_rows(rows: &mut Tasks) {
    for row in 0..rows.len() {
        let holds = |parent: usize| {
            let same = rows.thread[parent] == rows.thread[row];
            let contains = rows.start_ns[parent] <= rows.start_ns[row] && rows.end_ns[row] <= rows.end_ns[parent];
            parent < row && (contains || !same)
        };
        let mut parent = rows.parent[row];
        for _ in 0..=MOST_OPEN {
            match parent.get() {
                Some(at) if !holds(at) => parent = rows.parent[at],
                _ => break,
            }
        }
        rows.parent[row] = parent.get().filter(|&parent| holds(parent)).map_or(TaskId::NONE, TaskId::new);
    }
}
