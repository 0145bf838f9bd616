//! The law that every recording keeps: running + runnable + waiting = lifetime per thread, to the nanosecond, and every
//! total is the sum of its parts.

use anyhow::{Result, ensure};
use dwell_store::{ResultFolder, Trace};
use serde_json::Value;

use crate::recording::{Recording, number};

/// Share by which Dwell's running time may differ from the kernel's accounts.
const SHARE: f64 = 0.01;
/// What the kernel counts beside it: the process before its exec and after main(), and some 10 µs for every thread that
/// a timer wakes on an idle CPU, whose running time it counts from the interrupt on.
const FLOOR_NS: f64 = 3_000_000.0;
/// Of each thread: a hook sees a switch after the scheduler has chosen who comes next, which is the leaving thread's time; on
/// the way to an idle CPU it looks for work elsewhere before (0.5 to 1.2 µs of each of 10,000 threads, measured).
const PER_THREAD_NS: f64 = 5_000.0;

/// The stacks that end too early: a thread that is killed, or that has given its stack back at its end, has no memory to
/// walk any more.
const CUT: &str = "stacks_cut_";
/// Share of the threads that is met at that place.
const ENDING: f64 = 0.02;
/// The program's own doing, however many: stacks deeper than Dwell walks, and work that it asked for before the probe on that was
/// there. And the test's: a collector that it killed.
const OF_THE_PROGRAM: [&str; 3] = ["stacks_cut_too_deep", "itt_askers_unknown", "collections_cut_off"];

/// The losses that come from outside: some virtual machines hide the switches from and to their own agent's threads. The
/// collector puts most of them back (`switches_unseen`), finalization repairs the rest. On a busy machine a collector that
/// does not get to run has no tables yet, and not every stack can be copied.
const OUTSIDE: [&str; 4] = ["switches_unseen", REPAIRED, "stack_copies_skipped", "stack_copies_lost"];
/// Without BPF: a few waits while threads are killed, in no call that could be traced.
const UNSEEN: &str = "calls_unseen";
const REPAIRED: &str = "repaired_intervals";

/// Whether switches were hidden in this recording: intervals were repaired, or the kernel's account differs.
pub fn is_disturbed(recording: &Recording, cpu_ns: Option<f64>) -> Result<bool> {
    let summary = recording.report(&["summary"])?;
    let hidden = OUTSIDE.iter().any(|name| !summary["losses"][name].is_null());
    Ok(hidden || of_kernel(recording, &summary, cpu_ns)?.is_some())
}

/// Checks the whole recording; `cpu_ns` is the kernel's account of the program's running time, where it is known.
pub fn check(recording: &Recording, cpu_ns: Option<f64>) -> Result<()> {
    let mut wrong = of_parts(recording)?;
    let summary = recording.report(&["summary"])?;
    wrong.extend(of_kernel(recording, &summary, cpu_ns)?);
    wrong.extend(losses(&summary));
    ensure!(wrong.is_empty(), "conservation:\n{}", wrong.join("\n"));
    Ok(())
}

/// The law itself, which holds on every machine and whatever was lost.
pub fn of_parts(recording: &Recording) -> Result<Vec<String>> {
    let summary = recording.report(&["summary"])?;
    let threads = recording.rows(&["threads", "--include-idle"])?;
    let of_threads = threads.iter().filter_map(|thread| of_thread(thread).transpose());
    let mut wrong = of_threads.collect::<Result<Vec<_>>>()?;
    wrong.extend(of_totals(&summary, &threads)?);
    wrong.extend(of_time(&summary)?);
    Ok(wrong)
}

/// The program's totals against the sums over its threads. A repaired interval is part of a thread's waiting, but no
/// wait.
fn of_totals(summary: &Value, threads: &[Value]) -> Result<Vec<String>> {
    let exact = summary["losses"][REPAIRED].is_null();
    let mut wrong = Vec::new();
    for (total, part) in [("cpu_ns", "running_ns"), ("wait_ns", "waiting_ns"), ("preemption_ns", "runnable_ns")] {
        let sum = threads.iter().map(|thread| number(thread, part)).sum::<Result<f64>>()?;
        let whole = number(summary, total)?;
        if sum != whole && (exact || sum < whole) {
            wrong.push(format!("threads' {part} sum to {sum}, the summary's {total} is {whole}"));
        }
    }
    if threads.len() as f64 != number(summary, "threads")? {
        wrong.push(format!("{} rows of threads, the summary says {}", threads.len(), summary["threads"]));
    }
    Ok(wrong)
}

/// The CPU time against the kernel's two accounts. The scheduler's, of each thread up to its last switch, is the same time.
/// getrusage's is less: exit adds a thread to its process's account (`__exit_signal`) before it is over, and the rest is in
/// nobody's (0.8 to 1.5 µs of each of 10,000 threads, several times that on a busy or slow machine). Dwell counts that,
/// and never has less than either; it has more where the hypervisor took a CPU from a running thread (up to a fifth, seen).
fn of_kernel(recording: &Recording, summary: &Value, cpu_ns: Option<f64>) -> Result<Option<String>> {
    let Some(process) = cpu_ns else { return Ok(None) };
    let dwell = number(summary, "cpu_ns")?;
    let fixed = FLOOR_NS + number(summary, "threads")? * PER_THREAD_NS;
    let allowed = |account: f64| account * SHARE + fixed;
    if process - dwell > allowed(process) {
        return Ok(Some(format!("CPU time {dwell} ns, getrusage's account is {process} ns")));
    }
    let scheduler = scheduler_account(recording)?.unwrap_or(process);
    let stolen = if dwell > scheduler { recording.output.stolen_ns } else { 0.0 };
    let differs = (dwell - scheduler).abs() > allowed(scheduler) + stolen;
    Ok(differs
        .then(|| format!("CPU time {dwell} ns, the scheduler's account is {scheduler} ns (getrusage: {process})")))
}

/// The scheduler's account of all threads; `None` when one of them has none, since it has not ended.
fn scheduler_account(recording: &Recording) -> Result<Option<f64>> {
    let trace = Trace::read(&ResultFolder::open(&recording.path())?)?;
    let of_threads = &trace.threads.kernel_cpu_ns;
    Ok((!of_threads.contains(&0)).then(|| of_threads.iter().sum::<u64>() as f64))
}

fn of_thread(thread: &Value) -> Result<Option<String>> {
    let parts = number(thread, "running_ns")? + number(thread, "runnable_ns")? + number(thread, "waiting_ns")?;
    let whole = number(thread, "lifetime_ns")?;
    Ok((parts != whole).then(|| format!("running + runnable + waiting is {parts}, not the lifetime, of {thread}")))
}

/// The averages and histograms against the elapsed time.
fn of_time(summary: &Value) -> Result<Vec<String>> {
    let recorded = number(summary, "elapsed_ns")? - number(summary, "paused_ns")?;
    let mut wrong = Vec::new();
    let expected = number(summary, "cpu_ns")? / recorded.max(1.0);
    let average = number(summary, "avg_running")?;
    if (average - expected).abs() > expected * 0.01 {
        wrong.push(format!("avg_running is {average}, CPU time per elapsed time {expected}"));
    }
    for histogram in ["histogram_cpu", "histogram_concurrency"] {
        let sum: f64 = summary[histogram].as_array().into_iter().flatten().filter_map(Value::as_f64).sum();
        if sum != recorded {
            wrong.push(format!("{histogram} sums to {sum} ns, {recorded} ns were recorded"));
        }
    }
    Ok(wrong)
}

fn losses(summary: &Value) -> Option<String> {
    let of = |field: &str| summary[field].as_f64().unwrap_or(0.0);
    let too_often = |count: f64, among: &str| count > 20.0 + 0.002 * of(among) + ENDING * of("threads");
    let lost = summary["losses"].as_object()?;
    let any = lost.iter().filter(|(name, _)| !OF_THE_PROGRAM.contains(&name.as_str())).any(|(name, count)| {
        let count = count.as_f64().unwrap_or(f64::INFINITY);
        if name.starts_with(CUT) {
            too_often(count, "stacks")
        } else if OUTSIDE.contains(&name.as_str()) || name == UNSEEN {
            too_often(count, "switches")
        } else {
            count > 0.0
        }
    });
    any.then(|| format!("losses: {}", summary["losses"]))
}
