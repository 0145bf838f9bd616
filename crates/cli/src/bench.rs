//! `dwell bench spsc`: how long packets take from one thread to another, by governor and by distance of the CPUs; and how many
//! messages a second pass through a queue with a lock and one without.

use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dwell_analyze::latency::Statistics;
use dwell_doctor::{Applied, Machine};
use dwell_queues::latency::{self, Setup};
use dwell_queues::throughput::{self, Crowd};
use serde_json::{Value, json};

use crate::args::{Format, SpscArgs};
use crate::collect::Signals;
use crate::error::{Hinted, Result, status, under_sudo};
use crate::output;
use crate::terminal;
use crate::text::style::Style;
use crate::text::table::{Cell, Column, Table};
use crate::text::units;

/// How long messages pass through each queue.
const QUEUE_TIME: Duration = Duration::from_millis(500);

/// One measurement of latencies.
struct Run {
    /// What sets it apart: a governor, how far the CPUs are.
    name: String,
    cpus: (u32, u32),
    lengths: Statistics,
    elapsed_ns: u64,
}

/// Messages a second.
struct Queues {
    pairs: usize,
    locked: u64,
    lock_free: u64,
}

/// Measures and prints.
pub fn spsc(args: &SpscArgs) -> Result<ExitCode> {
    let machine = Machine::here();
    let usable = dwell_queues::usable_cpus().map_err(|error| failed(&error))?;
    let places = places(args, &machine, &usable)?;
    check_governors(&machine, &args.compare)?;
    let signals = Signals::catch()?;
    let mut runs = Vec::new();
    if args.compare.is_empty() {
        measure(args, &places, "", &signals.stop, &mut runs)?;
    }
    for governor in &args.compare {
        let _changed = Changed::governor(&machine, governor)?;
        measure(args, &places, governor, &signals.stop, &mut runs)?;
    }
    let queues = (!args.no_queues && !signals.stopped()).then(|| queues(args, usable.len())).transpose()?;
    output::print(&match args.format {
        Format::Text => text(args, &runs, queues.as_ref()),
        Format::Json => format!("{:#}\n", json(args, &runs, queues.as_ref())),
        Format::Csv => csv(args, &runs),
    })?;
    Ok(ExitCode::from(if signals.stopped() { status::FAILURE } else { 0 }))
}

fn failed(error: &io::Error) -> Hinted {
    Hinted::new(format!("cannot measure: {error}"))
        .hint("taskset -cp $$ shows the CPUs that may be used; --cpus names two")
}

/// Where the threads run: as asked, or on two cores of a node, and of two nodes if there are.
fn places(args: &SpscArgs, machine: &Machine, usable: &[u32]) -> Result<Vec<(String, (u32, u32))>> {
    if let Some(cpus) = args.cpus {
        let bad = [cpus.0, cpus.1].into_iter().find(|cpu| !usable.contains(cpu));
        return match bad {
            Some(cpu) => Err(Hinted::usage(format!("CPU {cpu} may not be used by this process"))
                .hint("taskset -cp $$ shows the CPUs that may be used")),
            None => Ok(vec![(String::new(), cpus)]),
        };
    }
    let nodes = dwell_doctor::nodes(machine)
        .into_iter()
        .map(|cpus| cpus.into_iter().filter(|it| usable.contains(it)).collect());
    let nodes: Vec<Vec<u32>> = nodes.filter(|cpus: &Vec<u32>| !cpus.is_empty()).collect();
    let near = nodes.first().map_or(usable, Vec::as_slice);
    let first = near.first().or(usable.first()).copied().unwrap_or(0);
    let siblings = dwell_doctor::siblings(machine, first);
    let other_core = near.iter().find(|cpu| !siblings.contains(cpu)).or_else(|| near.get(1)).copied();
    let Some(second) = other_core.or_else(|| usable.get(1).copied()) else {
        return Ok(vec![("one CPU for both".into(), (first, first))]);
    };
    match nodes.get(1).and_then(|cpus| cpus.first()) {
        Some(&far) => Ok(vec![("same node".into(), (first, second)), ("other node".into(), (first, far))]),
        None => Ok(vec![(String::new(), (first, second))]),
    }
}

/// Before anything is measured: all of them must be known here.
fn check_governors(machine: &Machine, asked: &[String]) -> Result<()> {
    let known = dwell_doctor::governors(machine);
    if asked.is_empty() {
        return Ok(());
    }
    if known.is_empty() {
        let message = "--compare needs frequency governors, and this machine has no cpufreq";
        let hint = "dwell doctor says what decides its frequencies; without --compare it is measured as it is";
        return Err(Hinted::new(message).hint(hint).with_status(status::UNAVAILABLE));
    }
    match asked.iter().find(|name| !known.contains(name)) {
        Some(name) => {
            Err(Hinted::usage(format!("there is no governor {name} here"))
                .hint(format!("--compare {}", known.join(","))))
        }
        None => Ok(()),
    }
}

/// A governor in place of others, which come back when this is dropped.
struct Changed<'m> {
    machine: &'m Machine,
    applied: Vec<Applied>,
}

impl<'m> Changed<'m> {
    fn governor(machine: &'m Machine, name: &str) -> Result<Self> {
        let applied = dwell_doctor::apply(machine, "governor", &dwell_doctor::set_governor(machine, name));
        let changed = Self { machine, applied };
        match changed.applied.iter().find_map(|done| Some((&done.path, done.error.as_ref()?))) {
            Some((path, error)) => Err(Hinted::new(format!("cannot write {path}: {error}")).hint(under_sudo())),
            None => Ok(changed),
        }
    }
}

impl Drop for Changed<'_> {
    fn drop(&mut self) {
        for left in dwell_doctor::restore(self.machine, &self.applied) {
            terminal::print_line(format_args!(
                "dwell: {} was {} before, and could not be written back",
                left.path, left.before
            ));
        }
    }
}

fn measure(
    args: &SpscArgs,
    places: &[(String, (u32, u32))],
    governor: &str,
    stop: &AtomicBool,
    runs: &mut Vec<Run>,
) -> Result<()> {
    for (place, cpus) in places {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let setup = Setup {
            packets: args.packets as usize,
            buffer: args.buffer as usize,
            per_second: u64::from(args.per_second),
            cpus: *cpus,
        };
        let measured = latency::run(&setup, stop).map_err(|error| failed(&error))?;
        let words: Vec<&str> = [governor, place].into_iter().filter(|word| !word.is_empty()).collect();
        let lengths = Statistics::new(measured.latencies_ns, args.outlier);
        runs.push(Run { name: words.join(", "), cpus: *cpus, lengths, elapsed_ns: measured.elapsed_ns });
    }
    Ok(())
}

fn queues(args: &SpscArgs, cpus: usize) -> Result<Queues> {
    let crowd = Crowd { pairs: (cpus / 2).max(1), buffer: args.buffer as usize, time: QUEUE_TIME };
    let locked = throughput::locked(&crowd).map_err(|error| failed(&error))?;
    Ok(Queues { pairs: crowd.pairs, locked, lock_free: throughput::lock_free(&crowd).map_err(|error| failed(&error))? })
}

/// A figure: its name in JSON, its heading, its value.
type Figure = (&'static str, &'static str, fn(&Statistics) -> u64);

/// The seed's seven.
const SEVEN: [Figure; 7] = [
    ("mean_ns", "Average", |it| it.mean_ns),
    ("mean_without_outliers_ns", "Average w/o Outliers", |it| it.mean_without_outliers_ns),
    ("min_ns", "Lowest", |it| it.quantile_ns(0)),
    ("max_ns", "Highest", |it| it.quantile_ns(10_000)),
    ("outliers", "Outliers", |it| it.outliers as u64),
    ("stddev_ns", "Standard Deviation", |it| it.stddev_ns),
    ("stddev_without_outliers_ns", "Standard Deviation w/o Outliers", |it| it.stddev_without_outliers_ns),
];

const QUANTILES: [(&str, usize); 5] =
    [("p50_ns", 5_000), ("p90_ns", 9_000), ("p99_ns", 9_900), ("p999_ns", 9_990), ("p9999_ns", 9_999)];

fn text(args: &SpscArgs, runs: &[Run], queues: Option<&Queues>) -> String {
    let rate = match args.per_second {
        0 => "as fast as can be".into(),
        rate => format!("{} a second", units::count(u64::from(rate))),
    };
    let packets = units::count(u64::from(args.packets));
    let mut text = format!("{packets} packets through a lock-free queue of {}, {rate}\n\n", args.buffer);
    let rendered = table(runs).render(&Style::of_stdout());
    for line in rendered.heading.iter().chain(&rendered.lines) {
        text.push_str(line);
        text.push('\n');
    }
    for run in runs {
        let limit = units::duration(run.lengths.limit_ns);
        let name = if run.name.is_empty() { String::new() } else { format!("{}: ", run.name) };
        text.push_str(&format!("\n{name}outliers took longer than {limit}"));
    }
    text.push('\n');
    if let Some(queues) = queues {
        let threads = format!("{0} sending and {0} receiving", queues.pairs);
        text.push_str(&format!("\nA queue of {} between threads, {threads}:\n", args.buffer));
        for (name, rate) in [("guarded by a lock", queues.locked), ("without locks", queues.lock_free)] {
            text.push_str(&format!("  {name:<18} {:>12} messages/s\n", units::count(rate)));
        }
    }
    text
}

fn table(runs: &[Run]) -> Table {
    let named = runs.iter().any(|run| !run.name.is_empty());
    let column = |title: &str, number| Column { title: title.into(), number };
    let mut columns = vec![column(if named { "Run" } else { "CPUs" }, false)];
    columns.extend(SEVEN.iter().map(|(_, title, _)| column(title, true)));
    let row = |run: &Run| {
        let cpus = format!("{} -> {}", run.cpus.0, run.cpus.1);
        let first = if named { format!("{} ({cpus})", run.name) } else { cpus };
        let cell = |(name, _, value): &Figure| {
            let value = value(&run.lengths);
            Cell::text(if *name == "outliers" { units::count(value) } else { units::duration(value) })
        };
        std::iter::once(Cell::text(first)).chain(SEVEN.iter().map(cell)).collect()
    };
    Table { columns, rows: runs.iter().map(row).collect() }
}

/// Packets a second that were really sent.
fn achieved(run: &Run) -> f64 {
    run.lengths.count() as f64 * 1e9 / run.elapsed_ns.max(1) as f64
}

fn json(args: &SpscArgs, runs: &[Run], queues: Option<&Queues>) -> Value {
    let row = |run: &Run| {
        let mut row = json!({
            "run": run.name,
            "cpus": [run.cpus.0, run.cpus.1],
            "packets": args.packets,
            "buffer": args.buffer,
            "packets_per_second": args.per_second,
            "achieved_packets_per_second": achieved(run),
            "count": run.lengths.count(),
            "outlier_limit_ns": run.lengths.limit_ns,
        });
        for (name, _, value) in SEVEN {
            row[name] = json!(value(&run.lengths));
        }
        for (name, quantile) in QUANTILES {
            row[name] = json!(run.lengths.quantile_ns(quantile));
        }
        row
    };
    let queues = queues.map(|queues| {
        let queue = |name: &str, rate: u64| json!({ "queue": name, "messages_per_second": rate, "senders": queues.pairs, "receivers": queues.pairs });
        [queue("locked", queues.locked), queue("lock-free", queues.lock_free)]
    });
    json!({ "rows": runs.iter().map(row).collect::<Vec<_>>(), "queues": queues })
}

fn csv(args: &SpscArgs, runs: &[Run]) -> String {
    let names = SEVEN.iter().map(|(name, ..)| *name).chain(QUANTILES.iter().map(|(name, _)| *name));
    let head = ["run", "sender_cpu", "receiver_cpu", "count"].into_iter().chain(names).map(String::from);
    let mut text = crate::csv::line(&head.collect::<Vec<_>>());
    let rows = json(args, runs, None);
    for (run, row) in runs.iter().zip(rows["rows"].as_array().into_iter().flatten()) {
        let mut fields =
            vec![run.name.clone(), run.cpus.0.to_string(), run.cpus.1.to_string(), run.lengths.count().to_string()];
        fields.extend(SEVEN.iter().map(|(name, ..)| row[*name].to_string()));
        fields.extend(QUANTILES.iter().map(|(name, _)| row[*name].to_string()));
        text.push_str(&crate::csv::line(&fields));
    }
    text
}
