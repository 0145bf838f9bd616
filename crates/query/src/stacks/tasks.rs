//! The program's tasks: their names, and which contexts are inside of which.

use std::collections::{HashMap, HashSet};

use dwell_model::TaskTypeId;
use dwell_store::{OUTSIDE, Scope, Trace};

/// The name of the time outside of tasks.
pub const NONE: &str = "[none]";

/// The name of a task type.
pub fn name(trace: &Trace, task: TaskTypeId) -> String {
    task.get().and_then(|row| trace.annotations.task_types.name.get(row)).map_or(NONE, String::as_str).to_owned()
}

/// The names of task types; those that several domains have, with the domain.
pub struct TaskNames {
    names: Vec<String>,
}

impl TaskNames {
    /// The names of `trace`.
    pub fn new(trace: &Trace) -> Self {
        let types = &trace.annotations.task_types;
        let mut domains: HashMap<&str, HashSet<&str>> = HashMap::new();
        for (name, domain) in types.name.iter().zip(&types.domain) {
            domains.entry(name).or_default().insert(domain);
        }
        let name = |(name, domain): (&String, &String)| match domains.get(name.as_str()) {
            Some(domains) if domains.len() > 1 && !domain.is_empty() => format!("{domain}::{name}"),
            _ => name.clone(),
        };
        Self { names: types.name.iter().zip(&types.domain).map(name).collect() }
    }

    /// The name of one.
    pub fn name(&self, task: TaskTypeId) -> String {
        task.get().and_then(|row| self.names.get(row)).map_or(NONE, String::as_str).to_owned()
    }
}

/// For each context, whether it is a task that `matches` or inside of one: by name, or by domain and name.
pub fn inside(trace: &Trace, matches: &dyn Fn(&str) -> bool) -> Vec<bool> {
    let (nesting, types) = (trace.nesting(), &trace.annotations.task_types);
    let by_name = |(name, domain): (&String, &String)| matches(name) || matches(&format!("{domain}::{name}"));
    let of_type: Vec<bool> = types.name.iter().zip(&types.domain).map(by_name).collect();
    // A context has a higher number than the one around it.
    let (mut inside, mut in_task) = (vec![matches(NONE)], vec![false]);
    for context in 1..nesting.contexts() {
        let Some((around, scope)) = nesting.scope(context as u32) else { continue };
        let around = around as usize;
        let (is_task, holds) = match scope {
            Scope::Task(task) => (true, task.get().is_some_and(|row| of_type.get(row) == Some(&true))),
            Scope::Wait(_) => (in_task[around], false),
        };
        // What holds outside of tasks holds in none.
        let from_around = inside[around] && (in_task[around] || !is_task);
        inside.push(holds || from_around);
        in_task.push(is_task);
    }
    inside
}

/// The context in which an off-CPU row began.
pub fn began_in(trace: &Trace, row: usize) -> u32 {
    let (events, nesting) = (trace.events(), trace.nesting());
    if nesting.is_empty() {
        return OUTSIDE;
    }
    let thread = events.off_cpu_key(row).thread().get();
    thread.map_or(OUTSIDE, |thread| nesting.at(thread, events.off_cpu.start_ns(row)))
}
