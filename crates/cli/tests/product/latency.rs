//! `dwell collect latency`: outliers that samples/delays.c makes on purpose are found and put down to what made them, and
//! their parts add up.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use dwell_analyze::latency::{IntervalType, Latency, Outlier};
use dwell_analyze::{Fold, Query};
use dwell_model::Delay;
use dwell_store::{ResultFolder, Trace};

use crate::cgroup::Cgroup;
use crate::harness::{Case, Skip};
use crate::recording::{Recording, needs_program, sample};

/// What delays a task beside what the sample does, on a machine that others use too.
const OTHERS: &[Delay] = &[
    Delay::Preemption,
    Delay::KernelWork,
    Delay::RunQueue,
    Delay::Migration,
    Delay::Steal,
    Delay::IdleExit,
    Delay::Timer,
];
/// Tasks, and how many of them make one that is delayed.
const TASKS: &str = "800";
const EVERY: &str = "20";
/// Part of the delayed tasks that have to be found, and part of those whose main cause may be another one.
const FOUND: f64 = 0.95;
const WRONG: f64 = 0.05;
/// Moves to another CPU take little time on an idle machine: fewer are outliers there, and of some the machine's part is larger.
const FOUND_MOVES: f64 = 0.4;
const WRONG_MOVES: f64 = 0.25;
/// Part of the delayed tasks' outlier time that may be unexplained, with room for what a machine that others use does. What enters
/// and leaves the kernel around each of many short page faults is an estimate.
const UNEXPLAINED: f64 = 0.2;
const UNEXPLAINED_FAULTS: f64 = 0.5;
/// Part of the wake-ups of an idle CPU that must be put down to that, and most of the others that may be.
const IDLE_WAKE_UPS: f64 = 0.6;
const BUSY_WAKE_UPS: f64 = 0.3;
/// Recordings, one of which has to show it: others use the machine too, and what they do makes outliers of other tasks.
const ATTEMPTS: usize = 4;

pub fn cases() -> Vec<Case> {
    let simple: [(&str, &'static [Delay]); 8] = [
        ("preemption", &[Delay::Preemption]),
        ("fault", &[Delay::MinorFault]),
        ("mprotect", &[Delay::SystemCall]),
        ("signal", &[Delay::Signal]),
        ("timers", &[Delay::Timer]),
        ("migration", &[Delay::Migration, Delay::SystemCall]),
        ("lock", &[Delay::Lock]),
        ("stop", &[Delay::Stopped]),
    ];
    let case = |(cause, expected): (&'static str, &'static [Delay])| {
        Case::new(format!("latency::{cause}"), move || injected(cause, expected))
    };
    let mut cases: Vec<Case> = simple.into_iter().map(case).collect();
    cases.push(Case::new("latency::packets", packets));
    cases.push(Case::new("latency::reclaim", reclaim));
    cases.push(Case::new("latency::throttling", throttling));
    cases.push(Case::new("latency::idle", idle));
    cases.push(Case::new("latency::block", block));
    cases.push(Case::new("latency::pauses", pauses));
    cases.push(Case::new("latency::late", late));
    cases
}

/// A recording of the sample's tasks.
struct Recorded {
    trace: Trace,
    _recording: Recording,
}

impl Recorded {
    fn of(program: &[&str]) -> Result<Self> {
        Self::read(Recording::of(&["--analyze", "latency"], program)?)
    }

    fn read(recording: Recording) -> Result<Self> {
        recording.findings()?;
        let trace = Trace::read(&ResultFolder::open(&recording.path())?)?;
        let unseen = trace.notices.text.iter().find(|text| text.contains("What delays threads is not seen"));
        ensure!(unseen.is_none(), "{unseen:?}");
        Ok(Self { trace, _recording: recording })
    }

    /// Rows of the tasks that the sample says it delayed.
    fn delayed(&self) -> Vec<usize> {
        let data = &self.trace.annotations.task_metadata;
        let rows = (0..data.key.len()).filter(|row| data.key[*row] == "delayed");
        rows.filter_map(|row| data.task[row].get()).collect()
    }

    fn with_work<T>(&self, look: impl FnOnce(&IntervalType) -> Result<T>) -> Result<T> {
        let query = Query::default();
        let fold = Fold::new(&self.trace, &query)?;
        let latency = Latency::new(&fold);
        let work = latency.types.iter().find(|of| of.name == "work").context("no intervals called work")?;
        for outlier in &work.outliers {
            let parts = outlier.split.causes.total_ns() + outlier.split.unexplained_ns;
            ensure!(parts == outlier.over_ns, "{}: {parts} ns of {}", outlier.interval.id, outlier.over_ns);
        }
        look(work)
    }
}

fn injected(cause: &str, expected: &[Delay]) -> Result<()> {
    let program = sample("delays")?;
    check(|| Recorded::of(&[&program, cause, TASKS, EVERY]), expected)
}

/// Whether a recording shows it, of some.
fn check(record: impl Fn() -> Result<Recorded>, expected: &[Delay]) -> Result<()> {
    for _ in 1..ATTEMPTS {
        match check_one(&record()?, expected) {
            Ok(()) => return Ok(()),
            Err(why) => println!("     {why}"),
        }
    }
    check_one(&record()?, expected)
}

/// Whether each delayed task of `delays CAUSE` has a delay of its cause, however long; all tasks are `tasks`.
pub fn delays_are_seen(recording: Recording, cause: Delay, tasks: usize) -> Result<()> {
    let recorded = Recorded::read(recording)?;
    let delayed = recorded.delayed();
    let query = Query::default();
    let fold = Fold::new(&recorded.trace, &query)?;
    let latency = Latency::new(&fold);
    let work = latency.types.iter().find(|of| of.name == "work").context("no intervals called work")?;
    ensure!(work.intervals.len() == tasks && delayed.len() >= 4, "{} tasks, {}", work.intervals.len(), delayed.len());
    let of_delayed = work.intervals.iter().filter(|task| delayed.contains(&task.id.row()));
    let has = |task: &&dwell_analyze::latency::MeasuredInterval| {
        let delays = latency.delays(task.thread);
        delays.is_some_and(|delays| delays.causes(task.start_ns, task.end_ns).of(cause) > 0)
    };
    let seen = of_delayed.filter(has).count();
    ensure!(seen * 100 >= delayed.len() * 95, "{cause:?}: seen in {seen} of {} delayed tasks", delayed.len());
    Ok(())
}

/// Whether the delayed tasks are outliers, and for the expected causes.
fn check_one(recorded: &Recorded, expected: &[Delay]) -> Result<()> {
    let delayed = recorded.delayed();
    ensure!(delayed.len() >= 10, "{} delayed tasks", delayed.len());
    recorded.with_work(|work| {
        let is_delayed = |outlier: &&Outlier| delayed.contains(&outlier.interval.id.row());
        let found: Vec<&Outlier> = work.outliers.iter().filter(is_delayed).collect();
        let judged = found.iter().filter(|outlier| others_ns(outlier, expected) * 2 < outlier.over_ns);
        let wrong: Vec<&&Outlier> = judged.filter(|outlier| !is_for(outlier, expected)).collect();
        let (over, unexplained) = found.iter().fold((0, 0), |(over, unexplained), outlier| {
            (over + outlier.over_ns, unexplained + outlier.split.unexplained_ns)
        });
        let of_delayed = |count: usize| count as f64 / delayed.len() as f64;
        println!(
            "     {} of {} found, {} wrong, {:.1} % unexplained",
            found.len(),
            delayed.len(),
            wrong.len(),
            unexplained as f64 * 100.0 / over as f64
        );
        let of_moves = expected.contains(&Delay::Migration);
        let (least_found, most_wrong) = if of_moves { (FOUND_MOVES, WRONG_MOVES) } else { (FOUND, WRONG) };
        ensure!(
            of_delayed(found.len()) >= least_found,
            "{} of {} delayed tasks are outliers",
            found.len(),
            delayed.len()
        );
        ensure!(
            of_delayed(wrong.len()) <= most_wrong,
            "{} of {} have another cause: {:?}",
            wrong.len(),
            delayed.len(),
            wrong.first()
        );
        let of_faults = expected.contains(&Delay::MinorFault);
        let most = if of_faults { UNEXPLAINED_FAULTS } else { UNEXPLAINED };
        ensure!(unexplained as f64 <= most * over as f64, "{unexplained} ns of {over} are unexplained");
        Ok(())
    })
}

/// Time of an outlier that the rest of the machine took.
fn others_ns(outlier: &Outlier, expected: &[Delay]) -> u64 {
    let others = OTHERS.iter().filter(|delay| !expected.contains(delay));
    others.map(|delay| outlier.split.causes.of(*delay)).sum()
}

/// Whether most of the rest of an outlier is for the expected causes.
fn is_for(outlier: &Outlier, expected: &[Delay]) -> bool {
    let ours: u64 = expected.iter().map(|delay| outlier.split.causes.of(*delay)).sum();
    ours * 2 >= outlier.over_ns - others_ns(outlier, expected)
}

/// In the tasks that say they were delayed the CPU was idle before the wake-up, unless others use it; in the rest a thread kept it
/// busy.
fn idle() -> Result<()> {
    let program = sample("delays")?;
    for _ in 0..ATTEMPTS {
        let recorded = Recorded::of(&[&program, "idle", "200", "4"])?;
        let (idle, busy) = (idle_part(&recorded, true)?, idle_part(&recorded, false)?);
        println!(
            "     {:.0} % of idle and {:.0} % of busy CPUs' wake-ups left an idle state",
            idle * 100.0,
            busy * 100.0
        );
        ensure!(busy <= BUSY_WAKE_UPS, "{busy} of the wake-ups of a CPU that was kept busy left an idle state");
        if idle >= IDLE_WAKE_UPS {
            let names = &recorded.trace.delays.sources.name;
            ensure!(names.iter().any(|name| name.starts_with("idle state ")), "{names:?}");
            return Ok(());
        }
    }
    Err(Skip("others keep the CPUs from being idle".into()).into())
}

/// Part of the tasks, delayed ones or the others, whose wake-up left an idle state first.
fn idle_part(recorded: &Recorded, of_delayed: bool) -> Result<f64> {
    let delayed = recorded.delayed();
    let query = Query::default();
    let fold = Fold::new(&recorded.trace, &query)?;
    let latency = Latency::new(&fold);
    let work = latency.types.iter().find(|of| of.name == "work").context("no intervals called work")?;
    let tasks = work.intervals.iter().filter(|task| delayed.contains(&task.id.row()) == of_delayed);
    let (mut count, mut idle) = (0, 0);
    for task in tasks {
        let of = latency.delays(task.thread).context("a thread without delays")?;
        count += 1;
        idle += usize::from(of.causes(task.start_ns, task.end_ns).of(Delay::IdleExit) > 0);
    }
    ensure!(count >= 10, "{count} tasks");
    Ok(f64::from(u32::try_from(idle)?) / f64::from(count))
}

/// A system call that begins or ends in a pause is told neither with it nor later.
fn pauses() -> Result<()> {
    let program = sample("announce")?;
    for _ in 0..ATTEMPTS {
        let recorded = Recorded::of(&[&program, "pauses", "700"])?;
        let (pauses, delays) = (&recorded.trace.pauses, &recorded.trace.delays.delays);
        ensure!(!delays.start_ns.is_empty(), "nothing delayed the program");
        let spans = |row: usize, at_ns: u64| delays.start_ns[row] < at_ns && delays.end_ns[row] > at_ns;
        let middles = pauses.start_ns.iter().zip(&pauses.end_ns).map(|(start, end)| start.midpoint(*end));
        let middles: Vec<u64> = middles.collect();
        ensure!(!middles.is_empty(), "the program did not pause");
        let within = (0..delays.start_ns.len()).find(|row| middles.iter().any(|at_ns| spans(*row, *at_ns)));
        match within {
            None => return Ok(()),
            Some(row) => println!("     a {} spans a pause", Delay::from_code(delays.kind[row]).id()),
        }
    }
    bail!("delays span a pause in each recording")
}

/// A program that announces itself long after the collection began: what delays it is seen all the same but for the first
/// moments, and a notice says since when.
fn late() -> Result<()> {
    let program = sample("delays")?;
    let recorded = Recorded::of(&["sh", "-c", "sleep 2; exec \"$0\" \"$@\"", &program, "mprotect", TASKS, EVERY])?;
    let notices = &recorded.trace.notices.text;
    ensure!(notices.iter().any(|text| text.contains("while they run is known from")), "{notices:?}");
    let delayed = recorded.delayed();
    recorded.with_work(|work| {
        let found = work.outliers.iter().filter(|outlier| delayed.contains(&outlier.interval.id.row()));
        let of_calls = found.filter(|outlier| outlier.split.causes.of(Delay::SystemCall) > 0).count();
        ensure!(of_calls * 2 >= delayed.len(), "system calls delayed {of_calls} of {} tasks", delayed.len());
        Ok(())
    })
}

/// Reads from a disk: the device and how long it took, within the wait.
fn block() -> Result<()> {
    let disk = has_disk().ok_or_else(|| Skip("/var/tmp is on no disk of its own".into()))?;
    let program = sample("delays")?;
    check(|| Recorded::of(&[&program, "block", TASKS, EVERY]), &[Delay::BlockIo, Delay::SystemCall])?;
    let recorded = Recorded::of(&[&program, "block", TASKS, EVERY])?;
    let names = &recorded.trace.delays.sources.name;
    ensure!(
        names.iter().any(|name| !name.is_empty() && disk.starts_with(name.as_str())),
        "{disk} is not among {names:?}"
    );
    Ok(())
}

/// The name of the disk that /var/tmp is on: its number's link leads to it, perhaps as a partition.
fn has_disk() -> Option<String> {
    let device = std::os::unix::fs::MetadataExt::dev(&fs::metadata("/var/tmp").ok()?);
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let device = format!("/sys/dev/block/{major}:{minor}");
    // Of a volume or of one disk by several ways others complete the requests.
    let is_made_of_others = fs::read_dir(format!("{device}/slaves")).is_ok_and(|mut others| others.next().is_some());
    let name = fs::read_link(device).ok()?.file_name()?.to_str()?.to_owned();
    (!is_made_of_others && !name.starts_with("nvme")).then_some(name)
}

/// Soft interrupts, in a network of its own, whose packets are steered to the task's CPU.
fn packets() -> Result<()> {
    needs_program("unshare")?;
    needs_program("ip")?;
    let program = "mount -t sysfs none /sys && ip link set lo up && exec \"$0\" \"$@\"";
    let delays = sample("delays")?;
    let command = ["unshare", "-n", "-m", "sh", "-c", program, &delays, "packets", TASKS, "40"];
    check(|| Recorded::of(&command), &[Delay::SoftInterrupt, Delay::Ipi])
}

/// The sample within a control group.
fn within(group: &Cgroup, cause: &str, tasks: &str) -> Result<Recorded> {
    let sample = sample("delays")?;
    let command = group.entering(&[&sample, cause, tasks, EVERY]);
    Recorded::of(&command.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Pages of a file that fit into the group's memory only by turns.
fn reclaim() -> Result<()> {
    let group = Cgroup::new("memory", &[("memory.limit_in_bytes", "16777216")], &[("memory.max", "16777216")])?;
    check(|| within(&group, "reclaim", TASKS), &[Delay::Reclaim, Delay::MajorFault, Delay::MinorFault])?;
    let recorded = within(&group, "reclaim", TASKS)?;
    let reclaims = recorded.trace.delays.delays.kind.iter().filter(|kind| **kind == Delay::Reclaim.code()).count();
    ensure!(reclaims >= 5, "{reclaims} times memory was reclaimed");
    Ok(())
}

/// 5 ms of each 100 ms.
fn throttling() -> Result<()> {
    let version_1 = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "5000")];
    let group = Cgroup::new("cpu", &version_1, &[("cpu.max", "5000 100000")])?;
    let recorded = within(&group, "throttling", "400")?;
    recorded.with_work(|work| {
        let long: Vec<&Outlier> = work.outliers.iter().filter(|outlier| outlier.over_ns > 50_000_000).collect();
        ensure!(long.len() >= 4, "{} tasks were held for long", long.len());
        let wrong = long.iter().find(|outlier| !is_for(outlier, &[Delay::Throttling]));
        ensure!(wrong.is_none(), "{wrong:?}");
        let others = long.iter().filter(|outlier| outlier.split.main() != Delay::Throttling).count();
        ensure!(others * 2 < long.len(), "{others} of {} were held by others", long.len());
        Ok(())
    })
}
