//! Roles of threads: those that do one thing, by process, name and start function.

use dwell_model::StackId;
use dwell_query::stacks::call_stacks::CallStacks;
use dwell_query::stacks::frames::module_path;
use dwell_store::Trace;

use crate::study::explain::closures::{is_closure, tell_closures_apart};
use crate::study::explain::places::without_lambda_number;
use crate::study::explain::scripts::scripts;

/// Length at which the kernel cuts a thread's name.
const CUT: usize = 15;
/// Behind the role of a process that is its parent's copy.
pub const FORKED: &str = " (forked)";
/// Rows of a thread that tell its start function by most of them …
const LOOKED_AT: usize = 8;
/// … and those in which it is looked for where these do not tell.
const LOOKED_AT_MORE: usize = 128;

/// The role of each thread: its name without numbers and its process; of a thread that is called like its process, its start
/// function.
pub fn roles(trace: &Trace, stacks: &CallStacks<'_>) -> Vec<String> {
    let scripts = scripts(trace);
    let script_of = |thread: usize| scripts.get(trace.threads.process[thread].get()?)?.as_deref();
    let firsts = first_threads(trace);
    let first_of = |thread: usize| *firsts.get(trace.threads.process[thread].get()?)?;
    let mut roles: Vec<String> = (0..trace.threads.tid.len())
        .map(|thread| role(trace, stacks, (thread, first_of(thread)), script_of(thread)))
        .collect();
    tell_closures_apart(trace, &mut roles, &|thread| first_closures(trace, stacks, thread));
    roles
}

/// The frames of a closure that begin a thread, of its first stacks.
fn first_closures(trace: &Trace, stacks: &CallStacks<'_>, thread: usize) -> Vec<usize> {
    let events = trace.events();
    let all = events.off_cpu.of(thread);
    let rows = |count: usize| all.start..all.start.saturating_add(count).min(all.end);
    let closure = |row: usize| {
        let frame = outermost_frame(trace, stacks, events.off_cpu_key(row).stack())?;
        is_closure(&trace.frames.function[frame]).then_some(frame)
    };
    // Most threads begin with a function of their own.
    if rows(LOOKED_AT).find_map(closure).is_none() {
        return Vec::new();
    }
    let mut frames: Vec<usize> = rows(LOOKED_AT_MORE).filter_map(closure).collect();
    frames.sort_unstable();
    frames.dedup();
    frames
}

/// The names of the threads of a thread's role as a filter takes them, and the name of its process.
pub fn filters(trace: &Trace, thread: usize) -> (String, &str) {
    let name = trace.threads.name[thread].as_str();
    let process = trace.threads.process[thread].get().and_then(|row| trace.processes.name.get(row));
    let process = process.map_or("", String::as_str);
    let is_named = cut(name) != cut(process) && thread >= trace.fiber_threads;
    (if is_named { numbers_as("*", name) } else { name.to_owned() }, process)
}

/// The role of a thread in a process with that first thread, which runs the script.
fn role(
    trace: &Trace,
    stacks: &CallStacks<'_>,
    (thread, first): (usize, Option<usize>),
    script: Option<&str>,
) -> String {
    let name = trace.threads.name[thread].as_str();
    let process = trace.threads.process[thread].get().filter(|row| *row < trace.processes.pid.len());
    let process_name = process.map_or("", |row| trace.processes.name[row].as_str());
    let program = script.map_or_else(|| process_name.to_owned(), |script| format!("{process_name} {script}"));
    if cut(name) != cut(process_name) {
        // A fiber is called by its function, whose numbers say which of the closures in another function it is.
        let is_fiber = thread < trace.fiber_threads;
        let mut called = if is_fiber { name.to_owned() } else { numbers_as("N", name) };
        if waits_for_delays(trace, stacks, thread) {
            called.push_str(" DelayScheduler");
        }
        // A program that calls itself otherwise than its file.
        let is_inherited =
            first.is_some_and(|first| first != thread && trace.threads.name[first] == trace.threads.name[thread]);
        if !is_fiber && is_inherited {
            called.push_str(
                &start_function(trace, stacks, thread).map_or_else(String::new, |it| format!(" thread {it}")),
            );
        }
        let told = trace.processes.pid.len() > 1 && !program.is_empty();
        return if told { format!("{called} of {program}") } else { called };
    }
    if process.is_some_and(|row| trace.processes.pid[row] == trace.threads.tid[thread]) {
        return if process.is_some_and(|row| is_forked(trace, row)) { format!("{program}{FORKED}") } else { program };
    }
    match start_function(trace, stacks, thread) {
        Some(function) => format!("{program} thread {function}"),
        None => format!("{program} thread"),
    }
}

/// The function of the thread that wakes Java's virtual threads whose time has come. The kernel cuts its name to that of the pool's workers.
pub const DELAY_SCHEDULER: &str = "java.util.concurrent.DelayScheduler.run";

/// Whether a thread is that one, by its first stacks.
fn waits_for_delays(trace: &Trace, stacks: &CallStacks<'_>, thread: usize) -> bool {
    let events = trace.events();
    let all = events.off_cpu.of(thread);
    let mut first = (all.start..all.start.saturating_add(LOOKED_AT).min(all.end)).map(|row| events.off_cpu_key(row));
    let is_it = |stack: StackId| stacks.function_name(stacks.function(stack)) == DELAY_SCHEDULER;
    // Few stacks lead through the JVM, and its name is asked for first.
    trace.threads.name[thread].starts_with("ForkJoinPool")
        && first.any(|key| stacks.whole_chain(key.stack()).any(is_it))
}

/// Whether a thread is the first of its process, that with its id.
pub fn is_first_of_process(trace: &Trace, thread: usize) -> bool {
    let process = trace.threads.process[thread].get();
    process.is_some_and(|process| trace.processes.pid.get(process) == Some(&trace.threads.tid[thread]))
}

/// The first thread of each process.
fn first_threads(trace: &Trace) -> Vec<Option<usize>> {
    let (threads, processes) = (&trace.threads, &trace.processes);
    let mut firsts = vec![None; processes.pid.len()];
    for thread in trace.fiber_threads..threads.tid.len() {
        let process = threads.process[thread].get().filter(|_| is_first_of_process(trace, thread));
        if let Some(first) = process.and_then(|row| firsts.get_mut(row)) {
            first.get_or_insert(thread);
        }
    }
    firsts
}

fn cut(name: &str) -> &str {
    name.char_indices().nth(CUT).map_or(name, |(at, _)| &name[..at])
}

/// `worker-12` and `worker-7` are `worker-N`, where `stand_in` is `N`; `h2o` stays.
fn numbers_as(stand_in: &str, name: &str) -> String {
    let (mut short, mut rest) = (String::new(), name);
    while let Some(letter) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        let is_apart = |rest: &str| rest.starts_with(['-', '_', ' ', '#', ':', '/']);
        let counts = digits == rest.len()
            || short.ends_with(['-', '_', ' ', '#', ':', '/'])
            || (short.is_empty() && is_apart(&rest[digits..]));
        match digits {
            0 => {
                short.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
            _ => {
                let stands_in = counts && digits < name.len() && !is_source_line(&short);
                short.push_str(if stands_in { stand_in } else { &rest[..digits] });
                rest = &rest[digits..];
            }
        }
    }
    short
}

/// Whether the number behind these words is a line of a source file: Ruby calls a thread by where it was made, `app.rb:12`.
fn is_source_line(before: &str) -> bool {
    let file = before.strip_suffix(':').and_then(|file| file.rsplit_once('.'));
    file.is_some_and(|(_, kind)| !kind.is_empty() && kind.chars().all(|letter| letter.is_ascii_alphabetic()))
}

/// Whether the process is its parent's copy: it runs the same program, and was started with no arguments of its own.
fn is_forked(trace: &Trace, process: usize) -> bool {
    let Some(parent) = trace.processes.parent[process].get().filter(|row| *row < trace.processes.pid.len()) else {
        return false;
    };
    let (programs, commands) = (&trace.processes.executable, &trace.processes.command_line);
    let has_own = !commands[process].is_empty() && commands[process] != commands[parent];
    !programs[process].is_empty() && programs[process] == programs[parent] && !has_own
}

/// The outermost function of the program on most of the thread's first stacks; without one, that of Python's own library, as of the thread
/// that writes to the pipe of a `multiprocessing.Queue`.
fn start_function(trace: &Trace, stacks: &CallStacks<'_>, thread: usize) -> Option<String> {
    most_frequent(trace, thread, &|stack| outermost(trace, stacks, stack))
        .or_else(|| most_frequent(trace, thread, &|stack| outermost_of_python(trace, stacks, stack)))
}

/// What most of the thread's first stacks have: some lead through its start only in part.
fn most_frequent(trace: &Trace, thread: usize, function_of: &dyn Fn(StackId) -> Option<String>) -> Option<String> {
    let events = trace.events();
    let stacks_of = |rows: std::ops::Range<usize>| rows.map(|row| events.off_cpu_key(row).stack());
    let all = events.off_cpu.of(thread);
    let (first, last) =
        (all.start.saturating_add(LOOKED_AT).min(all.end), all.start.saturating_add(LOOKED_AT_MORE).min(all.end));
    let mut found: Vec<(String, usize)> = Vec::new();
    for function in stacks_of(all.start..first).filter_map(function_of) {
        match found.iter_mut().find(|(known, _)| *known == function) {
            Some((_, times)) => *times += 1,
            None => found.push((function, 1)),
        }
    }
    // Of those that are there as often, the first.
    let most = found.into_iter().rev().max_by_key(|(_, times)| *times).map(|(function, _)| function);
    most.or_else(|| stacks_of(first..last).find_map(function_of))
}

/// What every thread begins with, whatever it does.
const STARTS: &[&str] = &["libc.so", "libc-", "ld-linux", "ld-musl", "libstdc++", "libpthread"];

/// The function by which the JVM's launcher runs a program's `main` (libjli).
pub const JAVA_MAIN: &str = "ThreadJavaMain";

/// The outermost frame that is the thread's own: its function, or where that has no name, its file.
fn outermost(trace: &Trace, stacks: &CallStacks<'_>, stack: StackId) -> Option<String> {
    let frame = outermost_frame(trace, stacks, stack)?;
    let function = trace.frames.function[frame].as_str();
    if function == JAVA_MAIN {
        return Some("main".to_owned());
    }
    // A thread of Go runs any goroutine: what it begins with tells none from another.
    let tells = !function.starts_with("runtime.") && !function.starts_with('[');
    Some(if tells { short(function) } else { format!("of {}", file_of(trace, frame)) })
}

/// The name of the file that a frame's code is in.
fn file_of(trace: &Trace, frame: usize) -> &str {
    module_path(trace, frame).rsplit('/').next().unwrap_or_default()
}

/// The outermost frame that is the thread's own.
fn outermost_frame(trace: &Trace, stacks: &CallStacks<'_>, stack: StackId) -> Option<usize> {
    let chain: Vec<StackId> = stacks.whole_chain(stack).collect();
    let own = chain.iter().rev().filter(|stack| !stacks.is_kernel(**stack));
    own.filter_map(|stack| Some((stacks.frame(*stack)?, stacks.is_own(*stack)))).find_map(|(frame, is_own)| {
        let (function, file) = (trace.frames.function[frame].as_str(), file_of(trace, frame));
        let begins = STARTS.iter().any(|start| file.starts_with(start))
            || function.contains("pthread")
            || function.contains("thread_start");
        let is_start = is_own && !begins && function != "[unknown]";
        (function.starts_with("runtime.") || is_start).then_some(frame)
    })
}

/// The outermost function of Python's own library that tells what the thread does.
fn outermost_of_python(trace: &Trace, stacks: &CallStacks<'_>, stack: StackId) -> Option<String> {
    let chain: Vec<StackId> = stacks.whole_chain(stack).collect();
    let start = chain.into_iter().rev().find(|stack| stacks.is_telling_script_library(*stack))?;
    Some(short(&trace.frames.function[stacks.frame(start)?]))
}

/// How long a start function's name is in a role, at most.
const LONGEST_START: usize = 40;

/// A function's name without arguments, templates and the closures in it; of a long one the last parts.
fn short(name: &str) -> String {
    let name = without_lambda_number(&of_type(name).replace(".<locals>", ""));
    let name = with_short_lambda(name.split("::{{closure}}").next().unwrap_or_default());
    let is_end = |(at, letter): &(usize, char)| *at > 0 && matches!(letter, '<' | '(' | '[');
    let end = name.char_indices().find(is_end).map_or(name.len(), |(at, _)| at);
    let mut short = name[..end].trim_end_matches(':');
    while short.chars().count() > LONGEST_START
        && let Some((_, rest)) = short.split_once("::")
    {
        short = rest;
    }
    let short = if short.ends_with("}::operator") { short.trim_end_matches("::operator") } else { short };
    short.chars().take(LONGEST_START).collect()
}

/// Without what the first lambda takes: `main::{lambda(int)#1}::operator()` is `main::{lambda#1}::operator()`.
fn with_short_lambda(name: &str) -> String {
    let parts = name.split_once("{lambda(").and_then(|(before, rest)| Some((before, rest.split_once(")#")?.1)));
    parts.map_or_else(|| name.to_owned(), |(before, number)| format!("{before}{{lambda#{number}"))
}

/// `<pool::Worker as task::Run>::run` is `pool::Worker::run`, and so is `<pool::Worker>::run`.
fn of_type(name: &str) -> String {
    let parts = name.strip_prefix('<').and_then(|rest| {
        let (of_type, method) = rest.split_once(">::")?;
        Some((of_type.split(" as ").next()?, method))
    });
    parts.map_or_else(|| name.to_owned(), |(of_type, method)| format!("{of_type}::{method}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_count_threads_are_left_out() {
        for (name, role) in [
            ("worker-12", "worker-N"),
            ("GC Thread#0", "GC Thread#N"),
            ("pool-1-thread-7", "pool-N-thread-N"),
            ("serve3", "serveN"),
            ("app.rb:12", "app.rb:12"),
            ("eth0.10:3", "eth0.10:N"),
            ("h2o", "h2o"),
            ("kworker/0:1", "kworker/N:N"),
            ("1_scheduler", "N_scheduler"),
            ("7", "7"),
            ("", ""),
        ] {
            assert_eq!(numbers_as("N", name), role);
        }
    }

    #[test]
    fn a_forked_process_runs_its_parents_program_with_no_arguments_of_its_own() {
        let mut trace = dwell_trace_dsl::trace("a: #");
        let programs =
            [("/bin/pool", "pool -w 2"), ("/bin/pool", ""), ("/bin/pool", "pool -w 2"), ("/bin/pool", "pool -w 3")];
        let others = [("/bin/date", "")];
        for (program, command) in programs.into_iter().chain(others).skip(1) {
            let mut child = dwell_store::tables::ProcessRow {
                pid: 2,
                parent: dwell_model::ProcessId::new(0),
                name: "pool".into(),
                executable: program.into(),
                command_line: command.into(),
                start_ns: 0,
                end_ns: 1,
                exit_code: 0,
                cgroup: String::new(),
                unit: String::new(),
                container: String::new(),
                pod: String::new(),
            };
            child.pid += trace.processes.pid.len() as u32;
            trace.processes.push(child);
        }
        trace.processes.executable[0] = programs[0].0.into();
        trace.processes.command_line[0] = programs[0].1.into();
        let forked: Vec<bool> = (0..5).map(|process| is_forked(&trace, process)).collect();
        assert_eq!(forked, [false, true, true, false, false]);
    }

    #[test]
    fn the_thread_that_ends_javas_delays_has_a_role_of_its_own() {
        let mut trace = dwell_trace_dsl::trace("app: #\nForkJoinPool-1-: #ss#ss#\nForkJoinPool-1-: #ccccc#");
        let runs = trace.frames.function.iter_mut().filter(|name| *name == "use_s");
        runs.for_each(|name| DELAY_SCHEDULER.clone_into(name));
        trace.tables_changed();
        let query = dwell_query::question::query::Query::default();
        let fold = dwell_query::engine::fold::Fold::new(&trace, &query).unwrap();
        assert_eq!(roles(&trace, &fold.sums.stacks)[1..], ["ForkJoinPool-N- DelayScheduler", "ForkJoinPool-N-"]);
    }

    #[test]
    fn functions_are_short() {
        assert_eq!(short("std::thread::_Invoker<std::tuple<x> >::operator()"), "std::thread::_Invoker");
        assert_eq!(short("main::{lambda()#1}::operator()() const"), "main::{lambda#1}");
        assert_eq!(short("main::{lambda:9}::operator()"), "main::{lambda:9}");
        assert_eq!(short("shop::parking::{{closure}}::{{closure}}"), "shop::parking");
        assert_eq!(short("<pool::Worker as task::Run>::run::{{closure}}"), "pool::Worker::run");
        assert_eq!(short("<job_queue::JobState>::run_to_finish"), "job_queue::JobState::run_to_finish");
        assert_eq!(short("Consumer._create_process.<locals>._run"), "Consumer._create_process._run");
        assert_eq!(short("Shop$$Lambda$14+0x00007f8f1c007110.run"), "Shop$$Lambda.run");
        assert_eq!(
            short("<rayon_core::registry::DefaultSpawn as rayon_core::registry::ThreadSpawn>::spawn"),
            "registry::DefaultSpawn::spawn"
        );
    }
}
