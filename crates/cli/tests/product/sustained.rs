//! Switching as fast as a machine of two CPUs does it, beside busy loops: nothing is lost, or what is lost is counted, with the
//! time of it.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use dwell_store::ResultFolder;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::conservation;
use crate::harness::Case;
use crate::recording::{Recording, Running, collect, needs_recording, number, root, sample, text, wait_for};

/// Switches a second that are asked for.
const PER_SECOND: &str = "200000";
/// Seconds of it in `make test`; `DWELL_SUSTAINED=600` asks for more.
const SECONDS: &str = "6";
/// What is kept of that for the reports: all events are counted.
const KEPT: &str = "1";
/// What finds no room in a full ring.
const OF_RINGS: [&str; 5] = ["switches_lost", "samples_lost", "stacks_lost", "objects_lost", "thread_records_lost"];
/// Share of the switches that may differ: those before and after main().
const DIFFERS: f64 = 0.005;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("sustained::beside_busy_loops", beside_busy_loops),
        Case::new("sustained::losses_have_a_time", losses_have_a_time),
    ]
}

/// Loops that nobody records, for as long as this lives.
struct Busy(#[expect(dead_code, reason = "ends them")] Vec<Running>);

impl Busy {
    fn two() -> Result<Self> {
        let one = || Running::start(Command::new("sh").args(["-c", "while :; do :; done"]));
        Ok(Self(vec![one()?, one()?]))
    }
}

fn beside_busy_loops() -> Result<()> {
    needs_recording()?;
    let seconds = std::env::var("DWELL_SUSTAINED").unwrap_or_else(|_| SECONDS.to_owned());
    let limit = Duration::from_secs(3 * seconds.parse::<u64>()? + 120);
    let folder = TempDir::new()?;
    let _busy = Busy::two()?;
    let program = [&sample("switches")?, PER_SECOND, &seconds];
    let running = Running::start(&mut collect(folder.path(), &["--ring-buffer", KEPT], &program))?;
    let recording = Recording::in_folder(folder, running.finish_within(limit)?)?;
    whole_or_told(&recording)?;
    if seconds != SECONDS {
        fs::write(root().join("docs/sustained.md"), page(&recording)?)?;
    }
    Ok(())
}

/// What a long run came to.
fn page(recording: &Recording) -> Result<String> {
    let of = |key: &str| recording.output.truth(key).unwrap_or_default();
    let manifest = ResultFolder::open(&recording.path())?.manifest()?;
    let (switches, elapsed_ns) = (of("switches"), of("elapsed_ns"));
    let lost = manifest.loss_times.iter().filter(|time| OF_RINGS.contains(&time.name.as_str()));
    let lost: Vec<String> = lost
        .map(|time| {
            let at = |ns: u64| (ns.saturating_sub(manifest.start_ns)) as f64 / 1e9;
            format!("| {} | {} | {:.1} | {:.1} |\n", time.name, time.count, at(time.start_ns), at(time.end_ns))
        })
        .collect();
    let lost = match lost.is_empty() {
        true => "Nothing was lost in the rings.\n".to_owned(),
        false => format!("| lost | count | from, s | to, s |\n|---|---:|---:|---:|\n{}", lost.concat()),
    };
    let cpus = std::thread::available_parallelism()?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(format!(
        "# Sustained load\n\n`make sustained` makes this page: on each CPU two threads wake each other, for a total of {PER_SECOND} \
         context switches a second, beside\ntwo busy loops at the same nice value (samples/switches.c). It fails when the switches \
         recorded and counted as lost are\nfewer than the program made, when a loss has no time, or when running + runnable + waiting \
         is not a thread's lifetime.\n\nThe last run, on {cpus} CPUs, Linux {}: {switches:.0} switches in {:.0} s, {:.0} a second; \
         {} events recorded; the recording keeps the last second.\n\n{lost}",
        kernel.trim(),
        elapsed_ns / 1e9,
        switches / elapsed_ns * 1e9,
        manifest.events,
    ))
}

/// As many switches are recorded, or counted as lost with the time of it, as the program made.
fn whole_or_told(recording: &Recording) -> Result<()> {
    let manifest = ResultFolder::open(&recording.path())?.manifest()?;
    let made = recording.output.truth("switches").unwrap_or_default();
    let of_time = manifest.loss_times.iter().filter(|time| time.name == "switches_lost");
    let lost: u64 = of_time.map(|time| time.count).sum();
    // Samples are events, too.
    let seen = (manifest.events + lost) as f64;
    ensure!(made > 0.0 && seen >= made * (1.0 - DIFFERS), "{seen} of {made} switches\n{}", recording.output.stderr);
    for (name, count) in manifest.losses.iter().filter(|(name, _)| OF_RINGS.contains(&name.as_str())) {
        let of_time = manifest.loss_times.iter().filter(|time| time.name == *name && time.end_ns > time.start_ns);
        ensure!(of_time.map(|time| time.count).sum::<u64>() == *count, "{name} {count}: {:?}", manifest.loss_times);
    }
    let wrong = conservation::of_parts(recording)?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Dwell stands still while the rings overflow.
fn losses_have_a_time() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let program = [&sample("switches")?, PER_SECOND, "5"];
    let running = Running::start(&mut collect(folder.path(), &[], &program))?;
    let events = folder.path().join("result/spool/events-000000.dws");
    wait_for("the first events", || events.metadata().ok().filter(|file| file.len() > 100_000))?;
    // It looks at its counters three times a second: the last look before the loss is its begin.
    std::thread::sleep(Duration::from_secs(1));
    running.signal(Signal::STOP)?;
    std::thread::sleep(Duration::from_secs(3));
    running.signal(Signal::CONT)?;
    let recording = Recording::in_folder(folder, running.finish()?)?;
    whole_or_told(&recording)?;
    let rows = recording.rows(&["losses"])?;
    let lost = rows.iter().find(|row| text(row, "loss") == "switches_lost");
    let Some(lost) = lost else { bail!("the rings took three seconds: {rows:?}") };
    let (from, to) = (number(lost, "from_ns")?, number(lost, "to_ns")?);
    let elapsed = number(&recording.report(&["summary"])?, "elapsed_ns")?;
    ensure!(to - from > 2.5e9 && from > 0.0 && to < elapsed, "lost from {from} ns to {to} ns of {elapsed}");
    let waits = recording.report(&["waits"])?;
    let banner = waits["notes"][0].as_str().unwrap_or_default();
    ensure!(banner.contains("switches_lost") && banner.contains(" – "), "no view says when: {banner}");
    Ok(())
}
