//! Named cases, with the arguments that `cargo test` passes on: names, of which a case must contain one; `--list`; and
//! `--test-threads=1`, by which all run one after the other.
//!
//! Cases that judge what was done and not how long it took run side by side, one more than there are CPUs, since many wait for
//! something most of the time. Those that judge shares of the time, or causes, have one neighbour for each other CPU: their programs mostly wait. What may be
//! repeated and fails there runs again among the rest, which have the machine to themselves and run in order; that tells of the neighbours, and
//! is not counted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

/// One named check.
pub struct Case {
    name: String,
    check: Box<dyn Fn() -> Result<()> + Send + Sync>,
}

impl Case {
    pub fn new(name: impl Into<String>, check: impl Fn() -> Result<()> + Send + Sync + 'static) -> Self {
        Self { name: name.into(), check: Box::new(check) }
    }
}

/// Returned as the error of a case that cannot run here.
#[derive(Debug)]
pub struct Skip(pub String);

impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Skip {}

#[derive(Default)]
struct Tally {
    passed: usize,
    /// Those that did not pass the first time.
    repeated: usize,
    failed: Vec<String>,
    skipped: usize,
}

/// Runs the cases that the command line selects; fails when one of them does.
pub fn run(cases: Vec<Case>) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let filters: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let wanted = |case: &Case| filters.is_empty() || filters.iter().any(|filter| case.name.contains(filter.as_str()));
    let selected: Vec<Case> = cases.into_iter().filter(wanted).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        selected.iter().for_each(|case| println!("{}: test", case.name));
        return ExitCode::SUCCESS;
    }
    let one_by_one = selected.len() == 1 || arguments.iter().any(|argument| argument == "--test-threads=1");
    let is_of = |case: &Case, groups: &[&str]| {
        !case.name.ends_with(TABLE) && groups.iter().any(|group| case.name.starts_with(group))
    };
    let (mut beside, others): (Vec<Case>, Vec<Case>) =
        selected.into_iter().partition(|case| !one_by_one && is_of(case, &BESIDE));
    let (in_pairs, mut alone): (Vec<Case>, Vec<Case>) =
        others.into_iter().partition(|case| !one_by_one && is_of(case, &IN_PAIRS));
    beside.sort_by_key(|case| !is_of(case, &LONG));
    let mut tally = Tally::default();
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    for (cases, at_once) in [(in_pairs, cpus), (beside, cpus + 1)] {
        alone.splice(0..0, run_side_by_side(cases, at_once, &mut tally));
    }
    for case in &alone {
        run_one(case, &mut tally);
    }
    for name in &tally.failed {
        println!("failed: {name}");
    }
    if tally.repeated > 0 {
        println!("run again: {}", tally.repeated);
    }
    println!("{} passed, {} failed, {} skipped", tally.passed, tally.failed.len(), tally.skipped);
    if tally.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How cases are called that write what the others of their group found: they run behind all of these.
const TABLE: &str = "::table";

/// Cases that judge what was done, whatever else runs, and change nothing that others see.
const BESIDE: [&str; 57] = [
    "agent::",
    "agent_configuration::",
    "agent_store::",
    "anatomy::",
    "bad_code::",
    "bad_input::",
    "bad_neighbours::",
    "bench::",
    "confined::",
    "containers::",
    "counted_events::",
    "doctor::",
    "escapes::",
    "event_loops::",
    "export::",
    "faults::",
    "faults_recording::",
    "fibers::",
    "fleet::",
    "fleet_compact::",
    "fleet_versions::",
    "flight::",
    "gdb::",
    "handles::",
    "hostile_folders::",
    "hostile_tables::",
    "itt::",
    "itt_runtimes::",
    "java::",
    "javascript::",
    "kernels::",
    "layers::",
    "locks::",
    "looking::",
    "mcp::",
    "merge::",
    "names::",
    "packaging::",
    "packing::",
    "perf_data::",
    "probe_members::",
    "probe_tracepoints::",
    "pt::",
    "python::",
    "python_library::",
    "remote::",
    "rights::a_missing_capability",
    "scripts::",
    "soak::side_by_side",
    "source::",
    "sql::",
    "stripped::",
    "survival::",
    "symbols::",
    "system::",
    "task_probes::",
    "value_probes::",
];

/// Cases that judge shares of the time or causes, in which one neighbour seldom changes anything.
const IN_PAIRS: [&str; 13] = [
    "accept_queues::",
    "attached::",
    "attached_causes::",
    "cases::",
    "connections::",
    "first_causes",
    "fleet_causes::",
    "real_programs::",
    "send_queues::",
    "sockets",
    "truth::",
    "tutorial::",
    "verdicts::",
];

/// Of those in [`BESIDE`] the ones that take longest, which begin first: none is left for one CPU at the end.
const LONG: [&str; 6] = [
    "kernels::",
    "fleet_compact::sums_answer_as_rows_do",
    "hostile_folders::a_file_system_that_hangs",
    "anatomy::packets",
    "rights::a_missing_capability",
    "soak::side_by_side",
];

/// Runs so many cases at once; returns those that run again because they did not pass.
fn run_side_by_side(cases: Vec<Case>, at_once: usize, tally: &mut Tally) -> Vec<Case> {
    let next = AtomicUsize::new(0);
    let shared = Mutex::new((tally, Vec::new()));
    let work = || {
        while let Some((index, case)) = cases.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
            let begun = Instant::now();
            let outcome = attempt(case);
            let Ok(mut shared) = shared.lock() else { return };
            match outcome {
                Err(why) if is_repeatable(case, &why) => {
                    tell("AGAIN, ALONE", case, &why);
                    shared.1.push(index);
                }
                outcome => shared.0.note(case, begun.elapsed(), outcome),
            }
        }
    };
    thread::scope(|scope| {
        (0..at_once).for_each(|_| {
            scope.spawn(work);
        });
    });
    let again = shared.into_inner().map_or_else(|_| (0..cases.len()).collect(), |(_, again)| again);
    cases.into_iter().enumerate().filter(|(index, _)| again.contains(index)).map(|(_, case)| case).collect()
}

/// Live recordings race with whatever else the machine does: a case may be run again, after a pause, since what disturbs one
/// lasts. More cases than these, or one that fails three times, is Dwell's doing.
const MOST_REPEATED: usize = 5;
const MOST_ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(3);
/// Cases that record nothing have one outcome; one takes hours.
const CERTAIN: [&str; 7] = [
    "layers::",
    "bad_input::",
    "packaging::",
    "soak::judgement",
    "soak::long",
    "cases::truth_files",
    "cases::what_is_wrong_fails",
];

fn run_one(case: &Case, tally: &mut Tally) {
    let begun = Instant::now();
    let mut outcome = attempt(case);
    let mut attempts = 1;
    while let Err(why) = &outcome
        && attempts < MOST_ATTEMPTS
        && may_be_repeated(case, why, tally)
    {
        tell("AGAIN", case, why);
        thread::sleep(PAUSE);
        outcome = attempt(case);
        attempts += 1;
    }
    tally.repeated += usize::from(attempts > 1);
    tally.note(case, begun.elapsed(), outcome);
}

impl Tally {
    fn note(&mut self, case: &Case, time: Duration, outcome: Result<()>) {
        match outcome {
            Ok(()) => {
                println!("ok   {} ({:.1} s)", case.name, time.as_secs_f64());
                self.passed += 1;
            }
            Err(error) => match error.downcast_ref::<Skip>() {
                Some(skip) => {
                    println!("SKIP {}: {skip}", case.name);
                    self.skipped += 1;
                }
                None => {
                    tell("FAIL", case, &error);
                    self.failed.push(case.name.clone());
                }
            },
        }
    }
}

fn may_be_repeated(case: &Case, why: &anyhow::Error, tally: &Tally) -> bool {
    tally.repeated < MOST_REPEATED && is_repeatable(case, why)
}

fn is_repeatable(case: &Case, why: &anyhow::Error) -> bool {
    !CERTAIN.iter().any(|group| case.name.starts_with(group))
        && why.downcast_ref::<Panicked>().is_none()
        && why.downcast_ref::<Skip>().is_none()
}

/// A case did not end by itself: never the machine's doing.
#[derive(Debug)]
struct Panicked;

impl std::error::Error for Panicked {}

impl std::fmt::Display for Panicked {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("panicked")
    }
}

fn attempt(case: &Case) -> Result<()> {
    catch_unwind(AssertUnwindSafe(|| (case.check)())).unwrap_or_else(|_| Err(Panicked.into()))
}

fn tell(word: &str, case: &Case, why: &anyhow::Error) {
    println!("{word} {}", case.name);
    format!("{why:#}").lines().for_each(|line| println!("     {line}"));
}
