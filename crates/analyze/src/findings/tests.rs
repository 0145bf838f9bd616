//! Each finding on a program that has it, and none on healthy ones.

mod claims;
mod collecting;
mod connection_churn;
mod event_loops;
mod memory_churn;
mod serial_children;
mod small_calls;

use std::fs;
use std::path::Path;

use dwell_model::{ObjectId, Outcome, ProcessId, ThreadId};
use dwell_query::engine::fold::Fold;
use dwell_query::question::filter::Filter;
use dwell_query::question::query::Query;
use dwell_store::tables::{OffCpuRow, ProcessRow, SampleRow, Samples};
use dwell_store::{Table, Trace};
use dwell_trace_dsl::{CELL, build, trace};
use dwell_view::{Row, Value};
use proptest::prelude::*;

use crate::findings::claim::Relation;
use crate::findings::finding::Finding;
use crate::findings::{FINDINGS, findings_of};
use crate::reports::Report;

fn found(trace: &Trace) -> Vec<(&'static str, Finding)> {
    let query = Query::default();
    let fold = Fold::new(trace, &query).unwrap();
    findings_of(&fold).into_iter().map(|(def, finding)| (def.id, finding)).collect()
}

fn ids(trace: &Trace) -> Vec<&'static str> {
    found(trace).into_iter().map(|(id, _)| id).collect()
}

/// The finding of this id; panics with what was found instead.
fn the(id: &str, trace: &Trace) -> Finding {
    let all = found(trace);
    let one = all.iter().find(|(found, _)| *found == id);
    one.unwrap_or_else(|| panic!("no {id} in {all:#?}")).1.clone()
}

fn repeated(lines: &[(&'static str, &str)], times: usize) -> Trace {
    let lines: Vec<(&str, Vec<char>)> =
        lines.iter().map(|(name, cells)| (*name, cells.repeat(times).chars().collect())).collect();
    build(&lines, 2)
}

#[test]
fn ids_are_distinct() {
    for (index, def) in FINDINGS.iter().enumerate() {
        assert!(FINDINGS[..index].iter().all(|other| other.id != def.id), "{}", def.id);
    }
}

/// docs/findings has a page for each finding, which begins with its title and its id, and no other; the index links each.
#[test]
fn every_finding_has_a_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let index = fs::read_to_string(docs.join("findings.md")).unwrap();
    for def in FINDINGS {
        let page = fs::read_to_string(docs.join(format!("findings/{}.md", def.id)));
        let page = page.unwrap_or_else(|error| panic!("docs/findings/{}.md: {error}; people write it", def.id));
        let head = format!("# {}\n\n`{}`\n", def.title, def.id);
        assert!(page.starts_with(&head), "docs/findings/{}.md does not begin with {head:?}", def.id);
        let link = format!("[{}](findings/{}.md)", def.title, def.id);
        assert!(index.contains(&link), "docs/findings.md has no row with {link}; people write it");
    }
    for entry in fs::read_dir(docs.join("findings")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let known = FINDINGS.iter().any(|def| name == format!("{}.md", def.id));
        assert!(known, "docs/findings/{name} is of no finding");
    }
}

#[test]
fn healthy_programs_have_no_findings() {
    // Two threads on two CPUs, with a short wait now and then.
    let healthy = repeated(&[("a", "########################m###"), ("b", "####m#######################")], 10);
    assert_eq!(ids(&healthy), Vec::<&str>::new());
    // A server that mostly waits for clients.
    let server = repeated(&[("a", "eeeeeeeeeeeeeee#"), ("b", "eeeeeeeeee#eeeee")], 20);
    assert_eq!(ids(&server), Vec::<&str>::new());
    // A program with one thread.
    assert_eq!(ids(&repeated(&[("a", "#########n")], 20)), Vec::<&str>::new());
    // A phase of barriers with even work.
    let even = repeated(&[("a", "###################b"), ("b", "####################")], 10);
    assert_eq!(ids(&even), Vec::<&str>::new());
}

#[test]
fn tasks_that_lose_the_cpu_now_and_then() {
    let (ran, said) = (["####"; 9].concat() + "##--------##", ["P== "; 9].concat() + "P========== ");
    let mut trace = trace(&format!("a: {}\na tasks: {}", ran.repeat(6), said.repeat(6)));
    assert_eq!(ids(&trace), Vec::<&str>::new());
    trace.manifest.topics.push("latency".into());
    let found = the("outliers-cpu-taken", &trace);
    assert_eq!((found.subject.as_str(), found.cost_ns), ("parse", 6 * 8 * CELL));
    let evidence =
        "6 of 59 are outliers, up to 11.0 ms where 3.00 ms is usual; 48.0 ms, 100.0 % of their time over the median";
    assert!(found.evidence.to_string().starts_with(evidence), "{}", found.evidence);
    assert!(!ids(&trace).contains(&"outliers-memory"));
}

#[test]
fn one_thread_works_before_all() {
    let long = trace(
        "
        a: 22222222222222222222222222222222222222221111111111111111111111111111
        b:                                         1111111111111111111111111111
    ",
    );
    let finding = the("single-threaded-phase", &long);
    assert_eq!(finding.subject, "f2");
    assert!(finding.evidence.to_string().contains("only thread a ran, mostly in f2"), "{}", finding.evidence);
    let (from, to) = finding.during.unwrap();
    assert!(from < 2 * CELL && (39 * CELL..43 * CELL).contains(&to), "{from} {to}");
    let mut attached = long.clone();
    (attached.manifest.target_pids, attached.manifest.exit_status) = (vec![1], None);
    assert!(!ids(&attached).contains(&"single-threaded-phase"), "a server's quiet minute");
    // One after another is no phase of one thread.
    let turns = repeated(&[("a", "##mm##########"), ("b", "mm##mm########")], 10);
    assert!(!ids(&turns).contains(&"single-threaded-phase"));
}

#[test]
fn waits_of_microseconds() {
    let mut trace = repeated(&[("a", "##mm"), ("b", "mm##")], 400);
    assert!(!ids(&trace).contains(&"fine-grained-waits"));
    faster(&mut trace, 100);
    assert_eq!(the("fine-grained-waits", &trace).subject, "m");
}

/// A loop that others soon ask again has work. Threads of the program could ask it for more at once.
#[test]
fn short_waits_of_a_loop_for_others_are_no_hand_overs() {
    let mut trace = repeated(&[("a", "##ee"), ("b", "####")], 800);
    faster(&mut trace, 100);
    let polls = trace.frames.function.iter_mut().filter(|name| *name == "epoll_wait");
    polls.for_each(|name| *name = "select".into());
    let mut woken_by = |by: ThreadId| {
        trace.off_cpu.waker.iter_mut().for_each(|waker| *waker = by);
        trace.tables_changed();
        ids(&trace).contains(&"fine-grained-waits")
    };
    assert!(!woken_by(ThreadId::NONE) && woken_by(ThreadId::new(1)));
    assert_eq!(the("fine-grained-waits", &trace).subject, "e");
}

/// The same in a fraction of the time.
fn faster(trace: &mut Trace, times: u64) {
    let columns = [
        &mut trace.off_cpu.start_ns,
        &mut trace.off_cpu.wait_ns,
        &mut trace.off_cpu.runnable_ns,
        &mut trace.samples.time_ns,
        &mut trace.samples.weight_ns,
        &mut trace.threads.start_ns,
        &mut trace.threads.end_ns,
    ];
    columns.into_iter().flatten().for_each(|time| *time /= times);
    trace.tables_changed();
    trace.manifest.end_ns = trace.manifest.start_ns + (trace.manifest.end_ns - trace.manifest.start_ns) / times;
}

#[test]
fn a_broadcast_for_one_item() {
    let lines =
        [("w", "c".repeat(20) + "1"), ("x", "c".repeat(20) + "1"), ("y", "c".repeat(20) + "1"), ("p", "#".repeat(21))];
    let lines: Vec<(&str, Vec<char>)> =
        lines.iter().map(|(name, cells)| (*name, cells.repeat(10).chars().collect())).collect();
    let mut herd = build(&lines, 2);
    assert!(!ids(&herd).contains(&"thundering-herd"), "each works a millisecond");
    faster(&mut herd, 20);
    let finding = the("thundering-herd", &herd);
    assert_eq!(finding.subject, "c");
    assert!(finding.evidence.to_string().contains("3.0 threads"), "{}", finding.evidence);
}

#[test]
fn spinning_in_a_spin_lock() {
    let mut trace = repeated(&[("a", "1111####"), ("b", "22222222")], 10);
    assert_eq!(ids(&trace), Vec::<&str>::new());
    let frame = trace.frames.function.iter().position(|name| name == "f1").unwrap();
    trace.frames.function[frame] = "pthread_spin_lock".into();
    assert_eq!(the("spinning", &trace).subject, "pthread_spin_lock");
}

#[test]
fn taking_locks_that_hardly_anybody_waits_for() {
    let mut trace = repeated(&[("a", "1111####"), ("b", "22222222")], 10);
    let frame = trace.frames.function.iter().position(|name| name == "f2").unwrap();
    trace.frames.function[frame] = "pthread_rwlock_rdlock".into();
    let finding = the("lock-traffic", &trace);
    assert_eq!(finding.subject, "pthread_rwlock_rdlock");
    assert!(finding.evidence.to_string().contains("80.0 ms of CPU time (50.0 %)"), "{}", finding.evidence);
    let mut little = repeated(&[("a", "1111####"), ("b", "2###1111")], 10);
    let frame = little.frames.function.iter().position(|name| name == "f2").unwrap();
    little.frames.function[frame] = "pthread_rwlock_rdlock".into();
    assert_eq!(ids(&little), Vec::<&str>::new());
}

#[test]
fn threads_that_hardly_live() {
    let mut lines = vec![("main", "#".repeat(400).chars().collect::<Vec<_>>())];
    for index in 0..150 {
        lines.push(("short", format!("{}#", " ".repeat(2 * index)).chars().collect()));
    }
    let finding = the("thread-churn", &build(&lines, 2));
    assert_eq!(finding.subject, "threads named short");
    lines.truncate(20);
    assert!(!ids(&build(&lines, 2)).contains(&"thread-churn"));
}

#[test]
fn processes_that_hardly_live_are_no_threads() {
    let mut lines = vec![("main", "#".repeat(400).chars().collect::<Vec<_>>())];
    for index in 0..150 {
        lines.push(("short", format!("{}#", " ".repeat(2 * index)).chars().collect()));
    }
    let mut trace = build(&lines, 2);
    for thread in 1..trace.threads.tid.len() {
        let row = ProcessRow {
            pid: trace.threads.tid[thread],
            parent: ProcessId::new(0),
            name: "short".into(),
            executable: "/bin/short".into(),
            command_line: "short".into(),
            start_ns: trace.threads.start_ns[thread],
            end_ns: trace.threads.end_ns[thread],
            exit_code: 0,
            cgroup: String::new(),
            unit: String::new(),
            container: String::new(),
            pod: String::new(),
        };
        trace.threads.process[thread] = ProcessId::new(trace.processes.push(row));
    }
    trace.tables_changed();
    let finding = the("process-churn", &trace);
    assert_eq!(finding.subject, "processes named short");
    assert!(finding.evidence.to_string().starts_with("150 processes (150 short), "), "{}", finding.evidence);
    let cost_ns = finding.cost_ns;
    // Starting an interpreter takes all of the millisecond for which each lives.
    trace.threads.name.iter_mut().skip(1).for_each(|name| *name = "python3".into());
    assert_eq!(the("process-churn", &trace).cost_ns - cost_ns, 75 * CELL);
    assert!(!ids(&trace).contains(&"thread-churn"));
}

#[test]
fn a_counter_beside_long_waits_is_a_finding() {
    let turns = |it: fn(bool) -> &'static str| (0..20).map(|at| it(at % 2 == 0)).collect::<String>();
    let thread = turns(|long| if long { "##nnnnnnnnnnnnnnnn####" } else { "##n####" });
    let counter = turns(|long| if long { "                  1   " } else { "   9   " });
    let trace = trace(&format!("a: {thread}\na recv_ctrl: {counter}\n"));
    let found = found(&trace);
    let finding = &found.iter().find(|(id, _)| *id == "long-waits-by-counter").unwrap().1;
    let expected = "recv_ctrl (set right after the wait) is 1 at the 10 long waits of about 16.0 ms, and 9 at the 10 short \
                    ones of about 1.00 ms; separation 1.00.";
    assert!(finding.evidence.to_string().starts_with(expected), "{}", finding.evidence);
    assert_eq!(finding.cost_ns, 150_000_000);
}

#[test]
fn a_thread_that_is_only_ready_is_no_single_threaded_phase() {
    let phase = |alone: &str| {
        let lines =
            [("a", format!("{}{alone}", "#".repeat(40))), ("b", format!("{}{}", "#".repeat(40), "m".repeat(40)))];
        let lines: Vec<(&str, Vec<char>)> =
            lines.iter().map(|(name, cells)| (*name, cells.chars().collect())).collect();
        ids(&build(&lines, 2)).contains(&"single-threaded-phase")
    };
    assert!(phase(&"#".repeat(40)));
    assert!(!phase(&"-".repeat(40)));
}
