//! The law that every recording keeps: running + runnable + waiting = lifetime per thread, to the nanosecond, and every
//! total is the sum of its parts.

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::recording::{Recording, number};

/// Share by which Dwell's running time may differ from the kernel's, plus what happens outside main(): starting and
/// ending the process, before the program reads its own account and after.
const SHARE: f64 = 0.01;
const FLOOR_NS: f64 = 2_500_000.0;

/// Checks the whole recording; `cpu_ns` is the kernel's account of the program's running time, where it is known.
pub fn check(recording: &Recording, cpu_ns: Option<f64>) -> Result<()> {
    let summary = recording.report(&["summary"])?;
    let threads = recording.rows(&["threads", "--include-idle"])?;
    let mut wrong = Vec::new();
    wrong.extend(threads.iter().filter_map(|thread| of_thread(thread).transpose()).collect::<Result<Vec<_>>>()?);
    for (total, part) in [("cpu_ns", "running_ns"), ("wait_ns", "waiting_ns"), ("preemption_ns", "runnable_ns")] {
        let sum = threads.iter().map(|thread| number(thread, part)).sum::<Result<f64>>()?;
        if sum != number(&summary, total)? {
            wrong.push(format!("threads' {part} sum to {sum}, the summary's {total} is {}", summary[total]));
        }
    }
    if threads.len() as f64 != number(&summary, "threads")? {
        wrong.push(format!("{} rows of threads, the summary says {}", threads.len(), summary["threads"]));
    }
    wrong.extend(of_time(&summary)?);
    if let Some(kernel) = cpu_ns {
        let dwell = number(&summary, "cpu_ns")?;
        if (dwell - kernel).abs() > kernel * SHARE + FLOOR_NS {
            wrong.push(format!("CPU time {dwell} ns, the kernel's own account is {kernel} ns"));
        }
    }
    wrong.extend(losses(&summary));
    ensure!(wrong.is_empty(), "conservation:\n{}", wrong.join("\n"));
    Ok(())
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
    let lost = summary["losses"].as_object()?;
    let any = lost.values().any(|count| count.as_f64() != Some(0.0));
    any.then(|| format!("losses: {}", summary["losses"]))
}
