//! Dwell on other kernels: each is booted in a guest, records the same samples there, and is compared with their truth.
//!
//! `DWELL_KERNELS` names the guests, `all` takes every one, and writes docs/kernels.md (`make test-kernels`). Without
//! it there are two kernels and few samples. `scripts/fetch-kernels.sh` downloads the kernels. Guests boot two at a
//! time, one for each CPU that every machine has, while the results of those before are judged.

mod steps;
mod table;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::guest::{self, Done, Guest, Job};
use crate::harness::{Case, Skip};
use crate::recording::needs_program;
use steps::{STEPS, Step};
use table::{Cell, Row};

/// Characters of an error that are shown.
const MOST_OF_ERROR: usize = 600;
/// Guests at a time.
const AT_ONCE: usize = 2;
/// What a guest's start, and one job in it, may take on a busy machine.
const MOST_START: Duration = Duration::from_secs(120);
const MOST_JOB: Duration = Duration::from_secs(60);

/// A kernel, how it is set up, and what Dwell has to do there.
pub struct Machine {
    pub name: &'static str,
    /// The kernel's name for `scripts/fetch-kernels.sh`.
    kernel: &'static str,
    kernel_options: &'static str,
    before: &'static str,
    expected: Expected,
}

impl Machine {
    fn has_all_steps(&self) -> bool {
        self.name == self.kernel && !["-cloud-", "-rt-"].iter().any(|flavour| self.kernel.contains(flavour))
    }
}

enum Expected {
    Records,
    /// `collect` and `doctor` refuse, and both say this.
    Refuses(&'static str),
}

const fn records(name: &'static str) -> Machine {
    Machine { name, kernel: name, kernel_options: "", before: "", expected: Expected::Records }
}

const fn refuses(name: &'static str, why: &'static str) -> Machine {
    Machine { name, kernel: name, kernel_options: "", before: "", expected: Expected::Refuses(why) }
}

const MACHINES: &[Machine] = &[
    refuses("5.10-amd64", TOO_OLD),
    refuses("5.10-cloud-amd64", TOO_OLD),
    refuses("5.10-rt-amd64", TOO_OLD),
    records("6.1-amd64"),
    records("6.1-cloud-amd64"),
    records("6.1-rt-amd64"),
    records("6.12-amd64"),
    records("6.12-cloud-amd64"),
    records("6.12-rt-amd64"),
    records("unstable-amd64"),
    records("unstable-cloud-amd64"),
    records("unstable-rt-amd64"),
    Machine { name: "lockdown=integrity", kernel_options: "lockdown=integrity", ..records(LOCKED) },
    Machine {
        name: "lockdown=confidentiality",
        kernel_options: "lockdown=confidentiality",
        ..refuses(LOCKED, "lockdown")
    },
    Machine { name: "without BTF", before: "mount -t tmpfs none /sys/kernel/btf", ..refuses(LOCKED, "BTF") },
];
const TOO_OLD: &str = "too old";
/// The kernel that is locked or has no types.
const LOCKED: &str = "6.12-cloud-amd64";
/// Those of `make test`.
const USUAL: [&str; 2] = ["6.1-amd64", "6.12-amd64"];

/// A case for each guest; with all of them, the table.
pub fn cases() -> Vec<Case> {
    let named = std::env::var("DWELL_KERNELS").unwrap_or_default();
    let wanted = |machine: &&Machine| match named.as_str() {
        "" => USUAL.contains(&machine.name),
        "all" => true,
        names => names.split(',').any(|name| name == machine.name),
    };
    let machines: Vec<&'static Machine> = MACHINES.iter().filter(wanted).collect();
    let usual = named.is_empty();
    let names: Vec<&'static str> = machines.iter().map(|machine| machine.name).collect();
    let fleet = move || {
        static FLEET: OnceLock<Fleet> = OnceLock::new();
        FLEET.get_or_init(|| Fleet::new(names.clone(), usual))
    };
    let case = |machine: &'static Machine| {
        let fleet = fleet.clone();
        Case::new(format!("kernels::{}", machine.name), move || fleet().check(machine))
    };
    let mut cases: Vec<Case> = machines.into_iter().map(case).collect();
    if !usual {
        cases.push(Case::new("kernels::table", write_table));
    }
    cases
}

fn machine(name: &str) -> Option<&'static Machine> {
    MACHINES.iter().find(|machine| machine.name == name)
}

type Ran = BTreeMap<String, Done>;

/// The guests, which run ahead of the cases that judge them.
struct Fleet {
    usual: bool,
    names: Vec<&'static str>,
    begun: Once,
    ran: Mutex<BTreeMap<&'static str, Result<Ran>>>,
    arrived: Condvar,
    /// Those whose guest was looked at: a case that is repeated boots another one.
    taken: Mutex<BTreeSet<&'static str>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fleet {
    fn new(names: Vec<&'static str>, usual: bool) -> Self {
        let (begun, ran, arrived) = (Once::new(), Mutex::default(), Condvar::new());
        Self { usual, names, begun, ran, arrived, taken: Mutex::default() }
    }

    fn check(&'static self, machine: &'static Machine) -> Result<()> {
        needs_program("qemu-system-x86_64")?;
        needs_program("busybox")?;
        if guest::kernel(machine.kernel).is_none() {
            let why = format!("no kernel: scripts/fetch-kernels.sh target/kernels {} downloads it", machine.kernel);
            return Err(Skip(why).into());
        }
        let judged = self.ran(machine).and_then(|ran| judge(machine, ran, self.usual));
        let row = judged.unwrap_or_else(|error| Row::of_failure(machine.name, &error));
        if !self.usual {
            row.keep()?;
        }
        let wrong = row.wrong();
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    }

    fn ran(&'static self, machine: &'static Machine) -> Result<Ran> {
        if !locked(&self.taken).insert(machine.name) {
            return boot(machine, self.usual);
        }
        self.begun.call_once(|| self.begin(machine));
        let mut ran = locked(&self.ran);
        loop {
            if let Some(ran) = ran.remove(machine.name) {
                return ran;
            }
            ran = self.arrived.wait(ran).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Boots this guest, and then the others: their cases can come in any order.
    fn begin(&'static self, first: &Machine) {
        let behind = self.names.iter().position(|name| *name == first.name).unwrap_or(0);
        let mut queue: VecDeque<&'static Machine> = self.names.iter().filter_map(|name| machine(name)).collect();
        queue.rotate_left(behind.min(queue.len()));
        let queue: &'static Mutex<VecDeque<&'static Machine>> = Box::leak(Box::new(Mutex::new(queue)));
        let next = || locked(queue).pop_front(); // or the queue would be locked while the guest runs
        for _ in 0..AT_ONCE {
            thread::spawn(move || {
                while let Some(machine) = next() {
                    let ran = boot(machine, self.usual);
                    locked(&self.ran).insert(machine.name, ran);
                    self.arrived.notify_all();
                }
            });
        }
    }
}

fn write_table() -> Result<()> {
    let guests: Vec<&'static str> = MACHINES.iter().map(|machine| machine.name).collect();
    let mut capabilities: Vec<&'static str> = STEPS.iter().map(|step| step.capability).collect();
    capabilities.dedup();
    table::write(&guests, &capabilities)
}

/// The steps that a machine does: kernels of one version differ in their configuration only, so that all but the first of them
/// do one step of each capability.
fn steps_of(machine: &Machine, usual: bool) -> Vec<&'static Step> {
    let is_wanted = |at: usize, step: &Step| match machine.expected {
        Expected::Refuses(_) => at == 0,
        Expected::Records if usual => step.usual,
        Expected::Records => {
            machine.has_all_steps() || STEPS[..at].iter().all(|before| before.capability != step.capability)
        }
    };
    STEPS.iter().enumerate().filter(|(at, step)| is_wanted(*at, step)).map(|(_, step)| step).collect()
}

fn boot(machine: &Machine, usual: bool) -> Result<Ran> {
    let image = guest::kernel(machine.kernel).with_context(|| format!("no kernel {}", machine.kernel))?;
    let doctor = Job { name: "doctor", command: vec!["dwell".into(), "doctor".into()], environment: Vec::new() };
    let asks_doctor = matches!(machine.expected, Expected::Refuses(_));
    let steps = steps_of(machine, usual).into_iter().map(Step::job);
    let jobs: Vec<Job> = asks_doctor.then_some(Ok(doctor)).into_iter().chain(steps).collect::<Result<_>>()?;
    let limit = MOST_START + MOST_JOB * u32::try_from(jobs.len())?;
    let begun = Instant::now();
    let Machine { kernel_options, before, .. } = *machine;
    let has_cx16 = machine.kernel.starts_with("unstable");
    let ran = Guest { image: &image, has_cx16, kernel_options, before }.run(&jobs, limit);
    println!("     {}: {} jobs in {:.0} s", machine.name, jobs.len(), begun.elapsed().as_secs_f64());
    ran
}

fn judge(machine: &'static Machine, mut ran: Ran, usual: bool) -> Result<Row> {
    let mut done = |name: &str| ran.remove(name).with_context(|| format!("the guest did not come to {name}"));
    let release = done("release")?.output.stdout.trim().to_owned();
    let cells = match machine.expected {
        Expected::Refuses(why) => {
            let (refused, doctor) = (done(STEPS[0].name)?.output, done("doctor")?.output);
            vec![("", Cell::of_refusal(&refused, &doctor, why))]
        }
        Expected::Records => {
            let steps = steps_of(machine, usual).into_iter();
            steps.map(|step| Ok((step.capability, step.judge(done(step.name)?)))).collect::<Result<_>>()?
        }
    };
    Ok(Row { name: machine.name, release, cells })
}

/// The begin of an error, as a line.
fn line(error: &anyhow::Error) -> String {
    let text = format!("{error:#}").lines().map(str::trim).collect::<Vec<_>>().join(" ");
    text.chars().take(MOST_OF_ERROR).collect()
}

/// The result's notices: what the kernel did not give.
fn notices(recording: &crate::recording::Recording) -> Result<Vec<String>> {
    let manifest = dwell_store::ResultFolder::open(&recording.path())?.manifest()?;
    Ok(manifest.notices.iter().map(ToString::to_string).collect())
}
