//! The rows of a fleet's table from what the kernel summed.

use std::collections::BTreeMap;

use dwell_fleet::FleetRow;
use dwell_live::{ExactThread, ExactThreads, ExactWait};
use dwell_wire::SumValue;

use super::processes::{NamedProcess, Processes};
use crate::top::target_of;

/// Objects of one kind that a process has rows of their own for, the longest; what a descriptor stands for has to be looked up.
const MOST_OBJECTS: usize = 32;
/// What the others are called together.
const OTHER_OBJECTS: &str = "(others)";
/// Kind of the row that has a process's time on CPUs and in the run queue.
const CPU: &str = "cpu";
/// Kind of the row that has what the sums had no place for, and its service.
const LOST: &str = "lost";

/// A row of time on a host.
pub struct RowOfTime<'h> {
    /// The host's name.
    pub host: &'h str,
    /// When it began, Unix time.
    pub start_ns: i64,
    /// How long it is.
    pub length_ns: i64,
}

/// What one row of the table is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RowKey {
    service: String,
    process: String,
    version: String,
    kind: &'static str,
    object: String,
    object_type: &'static str,
}

/// Its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RowSums {
    waits: u64,
    wait_ns: u64,
    longest_ns: u64,
    running_ns: u64,
    runnable_ns: u64,
}

type Sums = BTreeMap<RowKey, RowSums>;

impl RowOfTime<'_> {
    /// The tables of all services, sorted by process, kind and object. Processes of one name and version are summed.
    pub fn by_service(
        &self,
        threads: &ExactThreads,
        lost: &SumValue,
        processes: &Processes,
    ) -> BTreeMap<String, Vec<FleetRow>> {
        let mut sums = Sums::new();
        for ((pid, _), thread) in threads {
            let object = |wait: &ExactWait| {
                let target = target_of(*pid, wait.waited_for);
                (without_numbers(target.name), target.object_type.id())
            };
            add_process(&mut sums, &processes.named(*pid), thread, object);
        }
        add_lost(&mut sums, lost);
        let mut tables = BTreeMap::<String, Vec<FleetRow>>::new();
        for (key, sum) in sums {
            let service = key.service.clone();
            tables.entry(service).or_default().push(self.row(key, &sum));
        }
        tables
    }

    fn row(&self, key: RowKey, sums: &RowSums) -> FleetRow {
        FleetRow {
            host: self.host.to_owned(),
            t: self.start_ns,
            length_ns: self.length_ns,
            process: key.process,
            version: key.version,
            kind: key.kind.to_owned(),
            object: key.object,
            object_type: key.object_type.to_owned(),
            waits: signed(sums.waits),
            wait_ns: signed(sums.wait_ns),
            longest_ns: signed(sums.longest_ns),
            running_ns: signed(sums.running_ns),
            runnable_ns: signed(sums.runnable_ns),
        }
    }
}

impl RowSums {
    fn add(&mut self, other: &Self) {
        self.waits += other.waits;
        self.wait_ns += other.wait_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.running_ns += other.running_ns;
        self.runnable_ns += other.runnable_ns;
    }
}

/// Adds what the threads of a process did; `object` says the name and type of what they waited for.
fn add_process(
    sums: &mut Sums,
    process: &NamedProcess,
    thread: &ExactThread,
    object: impl Fn(&ExactWait) -> (String, &'static str),
) {
    let mut add = |kind, (object, object_type): (String, &'static str), sum| {
        let NamedProcess { name: process, service, version } = process.clone();
        sums.entry(RowKey { service, process, version, kind, object, object_type }).or_default().add(&sum);
    };
    let ExactThread { sums: times, waits } = thread;
    let (running_ns, runnable_ns) = (times.running_ns, times.runnable_ns);
    add(CPU, (String::new(), ""), RowSums { running_ns, runnable_ns, ..RowSums::default() });
    let mut named = BTreeMap::<&str, usize>::new();
    for wait in waits {
        let kind = wait.waited_for.kind.id();
        let objects = named.entry(kind).or_default();
        *objects += 1;
        let object = if *objects > MOST_OBJECTS { (OTHER_OBJECTS.to_owned(), "") } else { object(wait) };
        let ExactWait { waits, wait_ns, longest_ns, .. } = *wait;
        add(kind, object, RowSums { waits, wait_ns, longest_ns, ..RowSums::default() });
    }
}

fn add_lost(sums: &mut Sums, lost: &SumValue) {
    let runnable_ns = lost.runnable_ns + lost.queued_ns;
    let SumValue { waits, wait_ns, longest_ns, running_ns, .. } = *lost;
    if waits > 0 || running_ns > 0 || runnable_ns > 0 {
        let [process, version, object] = [const { String::new() }; 3];
        let key = RowKey { service: LOST.into(), process, version, kind: LOST, object, object_type: "" };
        sums.insert(key, RowSums { waits, wait_ns, longest_ns, running_ns, runnable_ns });
    }
}

/// `pipe:[4711]` is a pipe: its number says nothing on another host.
fn without_numbers(object: String) -> String {
    match object.split_once(":[") {
        Some((kind @ ("pipe" | "socket"), _)) => kind.to_owned(),
        _ => object,
    }
}

/// As the tables of a fleet have numbers.
pub fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use dwell_live::{ActivitySums, WaitKind, WaitedFor};

    use super::*;

    fn wait(object: u64, wait_ns: u64) -> ExactWait {
        let waited_for = WaitedFor { kind: WaitKind::Lock, syscall: 202, object };
        ExactWait { waited_for, wait_ns, waits: 1, longest_ns: wait_ns }
    }

    fn summed(waits: &[ExactWait]) -> Sums {
        let times = ActivitySums { running_ns: 5, runnable_ns: 6, ..ActivitySums::default() };
        let process = NamedProcess { name: "app".into(), service: "web".into(), version: "1.4".into() };
        let mut sums = Sums::new();
        // Two processes of one name.
        for _ in 0..2 {
            let thread = ExactThread { sums: times, waits: waits.to_vec() };
            add_process(&mut sums, &process, &thread, |wait| (format!("lock {}", wait.waited_for.object), "futex"));
        }
        sums
    }

    #[test]
    fn rows_add_up() {
        let sums = summed(&[wait(1, 30), wait(2, 10)]);
        let rows: Vec<_> = sums.iter().map(|(key, sum)| (key.kind, key.object.as_str(), *sum)).collect();
        let cpu = RowSums { running_ns: 10, runnable_ns: 12, ..RowSums::default() };
        let lock = |ns| RowSums { waits: 2, wait_ns: 2 * ns, longest_ns: ns, ..RowSums::default() };
        assert_eq!(rows, [("cpu", "", cpu), ("lock", "lock 1", lock(30)), ("lock", "lock 2", lock(10))]);
    }

    #[test]
    fn objects_are_bounded_and_nothing_is_left_out() {
        let waits: Vec<_> = (0..100).map(|object| wait(object, 1_000 - object)).collect();
        let sums = summed(&waits);
        assert_eq!(sums.len(), MOST_OBJECTS + 2);
        let others = sums.iter().find(|(key, _)| key.object == OTHER_OBJECTS).unwrap().1;
        assert_eq!((others.waits, others.longest_ns), (136, 968));
    }

    #[test]
    fn what_is_lost_has_a_row() {
        let mut sums = Sums::new();
        let nothing =
            SumValue { waits: 0, wait_ns: 0, runnable_ns: 0, queued_ns: 0, running_ns: 0, switches: 0, longest_ns: 0 };
        add_lost(&mut sums, &nothing);
        assert!(sums.is_empty());
        add_lost(&mut sums, &SumValue { waits: 3, queued_ns: 7, ..nothing });
        assert_eq!(sums.values().next().unwrap().runnable_ns, 7);
    }

    #[test]
    fn numbers_of_pipes_are_left_out() {
        assert_eq!(without_numbers("pipe:[4711]".into()), "pipe");
        assert_eq!(without_numbers("anon_inode:[eventfd]".into()), "anon_inode:[eventfd]");
        assert_eq!(without_numbers("/tmp/a:[7]".into()), "/tmp/a:[7]");
    }
}
