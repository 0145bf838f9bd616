//! Debian's builds of TBB and of LLVM's OpenMP runtime announce their threads, locks and waits, which nobody here wrote.

use std::path::Path;

use anyhow::{Result, ensure};
use dwell_model::{ObjectType, SyncOutcome};
use dwell_store::{ResultFolder, Table, Trace};

use crate::conservation;
use crate::harness::{Case, Skip};
use crate::recording::{Recording, sample};

/// Where Debian's libomp5 packages put the library, the newest first.
const OPENMP: &[&str] = &["/usr/lib/llvm-19/lib/libomp.so.5", "/usr/lib/llvm-14/lib/libomp.so.5"];

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("itt_runtimes::tbb", tbb),
        Case::new("itt_runtimes::tbb_locks", tbb_locks),
        Case::new("itt_runtimes::openmp", openmp),
    ]
}

fn record(options: &[&str], program: &[&str]) -> Result<Trace> {
    let recording = Recording::of(options, program)?;
    conservation::check(&recording, None)?;
    read(&recording)
}

fn read(recording: &Recording) -> Result<Trace> {
    ensure!(recording.output.status.success(), "{}", recording.output.stderr);
    Ok(Trace::read(&ResultFolder::open(&recording.path())?)?)
}

fn expect_thread(trace: &Trace, name: &str) -> Result<()> {
    let names = &trace.threads.name;
    ensure!(names.iter().any(|it| it.starts_with(name)), "no thread is called {name}: {names:?}");
    Ok(())
}

/// How many waits that threads announced, and got what they waited for, were on objects that `is_it` names.
fn waits_on(trace: &Trace, is_it: impl Fn(ObjectType, &str) -> bool) -> usize {
    let (waits, objects) = (&trace.annotations.sync_waits, &trace.objects);
    let named = |row: &usize| {
        let object = waits.object[*row].get();
        object.is_some_and(|it| is_it(ObjectType::from_code(objects.kind[it]), &objects.name[it]))
    };
    let acquired = |row: &usize| waits.outcome[*row] == SyncOutcome::Acquired.code();
    (0..waits.len()).filter(acquired).filter(named).count()
}

/// Nobody built this program for ITT: the library names its workers.
fn tbb() -> Result<()> {
    expect_thread(&record(&[], &[&sample("output_module_tbb")?])?, "TBB Worker Thread")
}

fn tbb_locks() -> Result<()> {
    let program = sample("tbb_locks")?;
    let trace = record(&[], &[&program])?;
    let count = waits_on(&trace, |_, name| name == "queue_lock");
    ensure!(count >= 20, "{count} waits on queue_lock were announced, of 100 times that it was taken");
    let silent = record(&["--no-itt"], &[&program])?;
    ensure!(
        silent.annotations.sync_waits.is_empty(),
        "--no-itt recorded {} waits",
        silent.annotations.sync_waits.len()
    );
    Ok(())
}

fn openmp() -> Result<()> {
    let Some(library) = OPENMP.iter().find(|path| Path::new(path).is_file()) else {
        return Err(Skip("needs LLVM's OpenMP runtime: scripts/install-deps.sh test".into()).into());
    };
    let preload = format!("LD_PRELOAD={library}");
    // Its threads yield 100,000 times a second from the moment that `env` hands over to it: how many stacks come before
    // the tables do is not what this is about.
    let trace = read(&Recording::of(&[], &["env", &preload, &sample("openmp_locks")?])?)?;
    expect_thread(&trace, "OMP Worker Thread")?;
    // 20 rounds of four threads. At barriers the runtime announces only waits that outlast its first spinning.
    for (kind, least) in [(ObjectType::Mutex, 80), (ObjectType::OpenMpBarrier, 10)] {
        let count = waits_on(&trace, |it, _| it == kind);
        ensure!(count >= least, "{count} waits on objects of type {} were announced", kind.id());
    }
    let unended = trace.losses.name.iter().position(|name| name == "itt_waits_unended");
    ensure!(unended.is_none(), "the ends of announced waits are missing");
    Ok(())
}
