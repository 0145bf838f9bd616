//! The query's filters and exclusions against the sites of a fold.

use std::borrow::Cow;
use std::collections::HashMap;

use dwell_model::{Outcome, Reason, StackId, ThreadId, WakerKind};
use dwell_store::{OUTSIDE, Trace};
use dwell_view::CLASSES;

use crate::measure::site::Site;
use crate::question::filter::{Filter, FilterKey, is_of_time};
use crate::question::handles::{HandleMeaning, filter_named};
use crate::question::query::Query;
use crate::stacks::call_stacks::CallStacks;
use crate::stacks::object::object_type;
use crate::stacks::tasks;

/// The filters, those of one key together: one of these must hold, for every key; of those that exclude, none.
pub struct Selection<'t> {
    trace: &'t Trace,
    keys: Vec<Rule<'t>>,
}

/// The filters of one key, alternatives of each other.
struct Rule<'t> {
    key: FilterKey,
    filters: Vec<&'t Filter>,
    /// Rows of objects or threads whose handles are alternatives too.
    rows: Vec<usize>,
    /// Whether what they match is left out instead.
    excludes: bool,
}

impl<'t> Selection<'t> {
    /// The filters of `query`.
    pub fn new(trace: &'t Trace, query: &'t Query) -> Self {
        let mut keys: Vec<Rule<'_>> = Vec::new();
        let filters = query.filters.iter().map(|filter| (filter, false));
        for (filter, excludes) in filters.chain(query.exclude.iter().map(|filter| (filter, true))) {
            if is_of_time(filter) {
                continue;
            }
            let known = keys.iter().position(|rule| rule.key == filter.key && rule.excludes == excludes);
            let at = known.unwrap_or_else(|| {
                keys.push(Rule { key: filter.key, filters: Vec::new(), rows: Vec::new(), excludes });
                keys.len() - 1
            });
            match filter_named(trace, filter) {
                HandleMeaning::Name => keys[at].filters.push(filter),
                HandleMeaning::Row(row) => keys[at].rows.push(row),
                HandleMeaning::Nothing => {}
            }
        }
        Self { trace, keys }
    }

    /// The utilization classes that the filters let through.
    pub fn class_mask(&self) -> [bool; 5] {
        let rules = || self.keys.iter().filter(|rule| rule.key == FilterKey::Utilization);
        let holds =
            |rule: &Rule<'_>, class: &str| rule.filters.iter().any(|filter| filter.matches(class)) != rule.excludes;
        CLASSES.map(|class| rules().all(|rule| holds(rule, class)))
    }

    /// Marks the sites that pass.
    pub fn apply(&self, stacks: &CallStacks<'_>, sites: &mut [Site]) {
        for rule in self.keys.iter().filter(|rule| rule.key != FilterKey::Utilization) {
            // A stack is judged once, however many sites have it.
            let mut functions: HashMap<StackId, bool> = HashMap::new();
            let matches = |text: &str| rule.filters.iter().any(|filter| filter.matches(text));
            let contexts = if rule.key == FilterKey::Task { tasks::inside(self.trace, &matches) } else { Vec::new() };
            for site in sites.iter_mut().filter(|site| site.selected) {
                let stack = site.key.stack;
                let holds = match rule.key {
                    FilterKey::Function => {
                        *functions.entry(stack).or_insert_with(|| stacks.whole_names(stack).any(matches))
                    }
                    FilterKey::Module | FilterKey::SourceFile => {
                        value(self.trace, stacks, rule.key, site).is_some_and(|path| path_matches(&path, &matches))
                    }
                    FilterKey::Task => contexts.get(site.key.context as usize).copied().unwrap_or(false),
                    // Which of its waits are taken a cut tells, see [`crate::engine::length_cut`].
                    FilterKey::WaitLength => site.is_wait() && !rule.excludes,
                    key => {
                        rule.has_row(site) || value(self.trace, stacks, key, site).is_some_and(|text| matches(&text))
                    }
                };
                site.selected = holds != rule.excludes;
            }
        }
    }
}

impl Rule<'_> {
    /// Whether a handle is of the site's object or thread.
    fn has_row(&self, site: &Site) -> bool {
        let row = || match self.key {
            FilterKey::Object => site.key.object.get(),
            FilterKey::Thread => site.key.thread.get(),
            FilterKey::Waker if site.key.reason.is_some() => {
                let is_thread = WakerKind::from_code(site.key.waker_kind) == WakerKind::Thread;
                site.key.waker.get().filter(|_| is_thread)
            }
            _ => None,
        };
        !self.rows.is_empty() && row().is_some_and(|row| self.rows.contains(&row))
    }
}

/// What a filter of `key` compares with, of one site; none: no value matches. Functions are the whole stack's, the
/// utilization class is cut within a site, and lengths are in ranges, so that those have no single value.
pub fn value<'t>(trace: &'t Trace, stacks: &CallStacks<'_>, key: FilterKey, site: &Site) -> Option<Cow<'t, str>> {
    let thread = |thread: ThreadId| thread.get().and_then(|row| trace.threads.name.get(row)).map_or("", String::as_str);
    let process = || {
        let process = site.key.thread.get().and_then(|row| trace.threads.process.get(row)).and_then(|it| it.get());
        process.filter(|row| *row < trace.processes.pid.len())
    };
    let frame = || stacks.frame(stacks.shown(site.key.stack));
    let text = |text: &'t str| Some(Cow::Borrowed(text));
    match key {
        FilterKey::Thread => text(thread(site.key.thread)),
        FilterKey::Tid => number(&trace.threads.tid, site.key.thread.get()),
        FilterKey::Process => process().map(|row| Cow::Borrowed(trace.processes.name[row].as_str())),
        FilterKey::Pid => number(&trace.processes.pid, process()),
        FilterKey::Cgroup | FilterKey::Unit | FilterKey::Container | FilterKey::Pod => {
            text(belonging(trace, key).get(process()?)?)
        }
        FilterKey::Module => {
            let module = trace.frames.module[frame()?].get().and_then(|row| trace.modules.path.get(row));
            text(module?)
        }
        FilterKey::SourceFile => text(&trace.frames.file[frame()?]),
        FilterKey::Object => text(trace.objects.name.get(site.key.object.get()?)?),
        FilterKey::ObjectType => (site.is_wait() || site.key.object.is_some())
            .then(|| Cow::Borrowed(object_type(trace, site.key.object).id())),
        FilterKey::Reason => text(site.key.reason.map_or("running", Reason::id)),
        FilterKey::Outcome => site.is_wait().then(|| Cow::Borrowed(Outcome::from_code(site.key.outcome).id())),
        FilterKey::Waker => {
            site.key.reason?;
            match WakerKind::from_code(site.key.waker_kind) {
                WakerKind::Thread => text(thread(site.key.waker)),
                kind => text(kind.id()),
            }
        }
        FilterKey::Cpu => Some(Cow::Owned(site.key.cpu.to_string())),
        FilterKey::Idle => site.is_wait().then_some(Cow::Borrowed(if site.idle { "yes" } else { "no" })),
        FilterKey::Task => Some(Cow::Owned(tasks::name(trace, trace.nesting().task(site.key.context)))),
        FilterKey::Utilization | FilterKey::Function | FilterKey::WaitLength | FilterKey::Counter => None,
    }
}

fn number(column: &[u32], row: Option<usize>) -> Option<Cow<'static, str>> {
    Some(Cow::Owned(row.and_then(|row| column.get(row)).map(u32::to_string).unwrap_or_default()))
}

/// A path is given whole or by its last part.
fn path_matches(path: &str, matches: &dyn Fn(&str) -> bool) -> bool {
    matches(path) || path.rsplit('/').next().is_some_and(matches)
}

/// What whole tasks and single values can be judged by: filters of threads, processes and tasks.
pub struct TaskFilter<'t> {
    trace: &'t Trace,
    rules: Vec<TaskRule>,
}

/// Filters of one key, each value judged once: there may be millions of tasks.
struct TaskRule {
    excludes: bool,
    /// For filters of threads and processes, whether each thread is taken.
    threads: Vec<bool>,
    /// For filters of tasks, whether what is in a context is taken, and what is of a task type.
    contexts: Vec<bool>,
    types: Vec<bool>,
}

/// What each process belongs to, by a key that tells it; empty for nothing.
fn belonging(trace: &Trace, key: FilterKey) -> &[String] {
    let processes = &trace.processes;
    match key {
        FilterKey::Cgroup => &processes.cgroup,
        FilterKey::Unit => &processes.unit,
        FilterKey::Container => &processes.container,
        _ => &processes.pod,
    }
}

impl<'t> TaskFilter<'t> {
    /// Those of `query`.
    pub fn new(trace: &'t Trace, query: &'t Query) -> Self {
        use FilterKey::{Cgroup, Container, Pid, Pod, Process, Task, Thread, Tid, Unit};
        let of_tasks =
            |rule: &Rule<'_>| matches!(rule.key, Thread | Tid | Process | Pid | Cgroup | Unit | Container | Pod | Task);
        let rules = Selection::new(trace, query).keys.into_iter().filter(of_tasks);
        Self { trace, rules: rules.map(|rule| TaskRule::new(trace, &rule)).collect() }
    }

    /// Whether they let everything through.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether they let a row of the tasks table through.
    pub fn takes(&self, task: usize) -> bool {
        let tasks = &self.trace.annotations.tasks;
        self.all(tasks.thread[task], tasks.start_ns[task], tasks.task_type[task].get())
    }

    /// Whether they let an instant of a thread through.
    pub fn takes_thread_at(&self, thread: ThreadId, time: u64) -> bool {
        self.all(thread, time, None)
    }

    fn all(&self, thread: ThreadId, time: u64, task_type: Option<usize>) -> bool {
        let row = thread.get().filter(|row| *row < self.trace.threads.tid.len());
        self.rules.iter().all(|rule| {
            let of_thread = || row.and_then(|row| rule.threads.get(row)) == Some(&true);
            let of_type = || task_type.and_then(|row| rule.types.get(row)) == Some(&true);
            let context = || row.map_or(OUTSIDE, |row| self.trace.nesting().at(row, time)) as usize;
            let inside = || !rule.contexts.is_empty() && rule.contexts.get(context()) == Some(&true);
            (of_thread() || of_type() || inside()) != rule.excludes
        })
    }
}

impl TaskRule {
    fn new(trace: &Trace, rule: &Rule<'_>) -> Self {
        let matches = |text: &str| rule.filters.iter().any(|filter| filter.matches(text));
        if rule.key == FilterKey::Task {
            let types = &trace.annotations.task_types;
            let of_type = |(name, domain): (&String, &String)| matches(name) || matches(&format!("{domain}::{name}"));
            return Self {
                excludes: rule.excludes,
                threads: Vec::new(),
                contexts: tasks::inside(trace, &matches),
                types: types.name.iter().zip(&types.domain).map(of_type).collect(),
            };
        }
        let (threads, processes) = (&trace.threads, &trace.processes);
        let of_thread = |row: usize| {
            let process = threads.process[row].get().filter(|row| *row < processes.pid.len());
            match rule.key {
                FilterKey::Thread => rule.rows.contains(&row) || matches(&threads.name[row]),
                FilterKey::Tid => matches(&threads.tid[row].to_string()),
                FilterKey::Process => process.is_some_and(|row| matches(&processes.name[row])),
                FilterKey::Cgroup | FilterKey::Unit | FilterKey::Container | FilterKey::Pod => {
                    process.is_some_and(|row| matches(&belonging(trace, rule.key)[row]))
                }
                _ => process.is_some_and(|row| matches(&processes.pid[row].to_string())),
            }
        };
        let threads = (0..threads.tid.len()).map(of_thread).collect();
        Self { excludes: rule.excludes, threads, contexts: Vec::new(), types: Vec::new() }
    }
}
