//! Processes that are started one after another.

use super::*;

/// The first thread is of the first process, and each other one of a child of that, called `name`.
fn family(lines: &[(&'static str, &str)], name: impl Fn(usize) -> &'static str) -> Trace {
    let lines: Vec<(&str, Vec<char>)> = lines.iter().map(|(name, cells)| (*name, cells.chars().collect())).collect();
    let mut trace = build(&lines, 2);
    let first = trace.processes.row(0).unwrap();
    for thread in 1..trace.threads.tid.len() {
        let (start_ns, end_ns) = (trace.threads.start_ns[thread], trace.threads.end_ns[thread]);
        let name = name(thread);
        let row = ProcessRow {
            pid: trace.threads.tid[thread],
            parent: ProcessId::new(0),
            name: name.into(),
            command_line: format!("{name} {thread}"),
            start_ns,
            end_ns,
            ..first.clone()
        };
        trace.threads.process[thread] = ProcessId::new(trace.processes.push(row));
    }
    trace.tables_changed();
    trace
}

/// `count` children, each of which runs for 30 ms, `beside` of them at once.
fn children(count: usize, beside: usize) -> Vec<(&'static str, String)> {
    let child = |number: usize| ("cc", format!("{}{}", " ".repeat(number / beside * 30), "#".repeat(30)));
    let maker = ("make", "j".repeat(count.div_ceil(beside) * 30));
    std::iter::once(maker).chain((0..count).map(child)).collect()
}

fn told(lines: &[(&'static str, String)], name: impl Fn(usize) -> &'static str) -> Option<Finding> {
    let lines: Vec<(&'static str, &str)> = lines.iter().map(|(name, cells)| (*name, cells.as_str())).collect();
    let all = found(&family(&lines, name));
    all.into_iter().find(|(id, _)| *id == "serial-children").map(|(_, finding)| finding)
}

#[test]
fn compilers_one_after_another() {
    let finding = told(&children(6, 1), |_| "cc").unwrap();
    let text = finding.evidence.to_string();
    assert!(
        text.contains("ran cc 6 times, one after another, 30.0 ms each") && text.contains("1.0 CPUs busy"),
        "{text}"
    );
    assert_eq!(finding.cost_ns, 180 * CELL);
    assert_eq!(finding.subject, "cc of app");
}

#[test]
fn what_runs_beside_each_other_or_is_not_alike_is_no_series() {
    assert!(told(&children(8, 2), |_| "cc").is_none(), "two at once");
    assert!(told(&children(3, 1), |_| "cc").is_none(), "few");
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    assert!(told(&children(6, 1), |thread| names[thread]).is_none(), "steps of one work");
    let sleepers: Vec<(&'static str, String)> =
        children(6, 1).into_iter().map(|(name, cells)| (name, cells.replace('#', "s"))).collect();
    assert!(told(&sleepers, |_| "sleep").is_none(), "they compute nothing");
    let lines: Vec<(&'static str, &str)> = sleepers.iter().map(|(name, cells)| (*name, cells.as_str())).collect();
    let mut trace = family(&lines, |_| "sleep");
    trace.processes.name[0] = "xargs".into();
    trace.tables_changed();
    assert!(ids(&trace).contains(&"serial-children"), "xargs starts several at once if it is told so");
}
