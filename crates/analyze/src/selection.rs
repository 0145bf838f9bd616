//! The query's filters and exclusions against the sites of a fold.

use std::collections::HashMap;

use dwell_model::{ObjectId, ObjectType, Outcome, ProcessId, Reason, StackId, ThreadId, WakerKind};
use dwell_store::Trace;

use crate::call_stacks::CallStacks;
use crate::fold::{Site, object_type};
use crate::query::{Filter, FilterKey, Query};
use crate::sweep::CLASSES;

/// The filters, those of one key together: one of these must hold, for every key; of those that exclude, none.
pub struct Selection<'t> {
    trace: &'t Trace,
    keys: Vec<Rule<'t>>,
}

/// The filters of one key, alternatives of each other.
struct Rule<'t> {
    key: FilterKey,
    filters: Vec<&'t Filter>,
    /// Whether what they match is left out instead.
    excludes: bool,
}

impl<'t> Selection<'t> {
    /// The filters of `query`.
    pub fn new(trace: &'t Trace, query: &'t Query) -> Self {
        let mut keys: Vec<Rule<'_>> = Vec::new();
        let filters = query.filters.iter().map(|filter| (filter, false));
        for (filter, excludes) in filters.chain(query.exclude.iter().map(|filter| (filter, true))) {
            match keys.iter_mut().find(|rule| rule.key == filter.key && rule.excludes == excludes) {
                Some(rule) => rule.filters.push(filter),
                None => keys.push(Rule { key: filter.key, filters: vec![filter], excludes }),
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
            for site in sites.iter_mut().filter(|site| site.selected) {
                let stack = site.key.stack;
                let holds = match rule.key {
                    FilterKey::Function => {
                        *functions.entry(stack).or_insert_with(|| stacks.whole_names(stack).any(matches))
                    }
                    key => self.passes(key, site, stacks, &matches),
                };
                site.selected = holds != rule.excludes;
            }
        }
    }

    fn passes(&self, key: FilterKey, site: &Site, stacks: &CallStacks<'_>, matches: &dyn Fn(&str) -> bool) -> bool {
        let trace = self.trace;
        let off_cpu = site.key.reason.is_some();
        match key {
            FilterKey::Thread => matches(self.thread_name(site.key.thread)),
            FilterKey::Tid => matches(&number(&trace.threads.tid, site.key.thread.get())),
            FilterKey::Process => {
                self.process(site.key.thread).get().is_some_and(|row| matches(&trace.processes.name[row]))
            }
            FilterKey::Pid => matches(&number(&trace.processes.pid, self.process(site.key.thread).get())),
            FilterKey::Module => self.frame(site, stacks).is_some_and(|frame| self.module_matches(frame, matches)),
            FilterKey::SourceFile => {
                self.frame(site, stacks).is_some_and(|frame| path_matches(&trace.frames.file[frame], matches))
            }
            FilterKey::Object => site.key.object.is_some() && matches(self.object_name(site.key.object)),
            FilterKey::ObjectType => {
                site.is_wait() && {
                    let kind: ObjectType = object_type(trace, site.key.object);
                    matches(kind.id())
                }
            }
            FilterKey::Reason => matches(site.key.reason.map_or("running", Reason::id)),
            FilterKey::Outcome => site.is_wait() && matches(Outcome::from_code(site.key.outcome).id()),
            FilterKey::Waker => off_cpu && self.waker_matches(site, matches),
            FilterKey::Cpu => matches(&site.key.cpu.to_string()),
            FilterKey::Idle => site.is_wait() && matches(if site.idle { "yes" } else { "no" }),
            // The class mask and the function memo of `apply` are these two.
            FilterKey::Utilization | FilterKey::Function => true,
        }
    }

    fn waker_matches(&self, site: &Site, matches: &dyn Fn(&str) -> bool) -> bool {
        match WakerKind::from_code(site.key.waker_kind) {
            WakerKind::Thread => matches(self.thread_name(site.key.waker)),
            kind => matches(kind.id()),
        }
    }

    fn module_matches(&self, frame: usize, matches: &dyn Fn(&str) -> bool) -> bool {
        let module = self.trace.frames.module[frame].get().and_then(|row| self.trace.modules.path.get(row));
        module.is_some_and(|path| path_matches(path, matches))
    }

    fn frame(&self, site: &Site, stacks: &CallStacks<'_>) -> Option<usize> {
        stacks.frame(stacks.shown(site.key.stack))
    }

    fn thread_name(&self, thread: ThreadId) -> &str {
        thread.get().and_then(|row| self.trace.threads.name.get(row)).map_or("", String::as_str)
    }

    fn object_name(&self, object: ObjectId) -> &str {
        object.get().and_then(|row| self.trace.objects.name.get(row)).map_or("", String::as_str)
    }

    fn process(&self, thread: ThreadId) -> ProcessId {
        let process = thread.get().and_then(|row| self.trace.threads.process.get(row)).copied();
        process.filter(|id| id.get().is_some_and(|row| row < self.trace.processes.pid.len())).unwrap_or(ProcessId::NONE)
    }
}

fn number(column: &[u32], row: Option<usize>) -> String {
    row.and_then(|row| column.get(row)).map(u32::to_string).unwrap_or_default()
}

/// A path is given whole or by its last part.
fn path_matches(path: &str, matches: &dyn Fn(&str) -> bool) -> bool {
    matches(path) || path.rsplit('/').next().is_some_and(matches)
}
