//! Sleeps between tries in vain: a thread asks for a file's lock that another one has, or connects to where nobody listens, and sleeps
//! before it asks again. Names of functions do not tell that; the tries do, of which the trace has a row each.

use std::collections::{BTreeMap, HashMap};

use dwell_model::{ObjectType, Outcome, ThreadId, VainTry};
use dwell_store::{EventKey, Table, Trace};

use crate::study::explain::names::Names;
use crate::study::explain::roots::RootCause;
use crate::study::explain::terms::CauseKind;

/// A sleep that begins so soon after a try is because of it, ns: in between the program only says so, and frees what it made for the try.
const SOON_NS: u64 = 50_000_000;
/// Part of the time of a cause's sleeps that must come after tries for one thing.
const MOST: f64 = 0.5;

/// What a thread tried in vain right before it slept, again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VainSleeps {
    /// What it tried.
    pub kind: VainTry,
    /// The file, or the address.
    pub object: String,
    /// Who had the lock, most of the times, where that is known.
    pub holder: Option<String>,
    /// Sleeps that came right after such a try.
    pub tries: u64,
    /// All sleeps of the cause.
    pub sleeps: u64,
    /// How long one of those was on average.
    pub each_ns: u64,
}

/// Sleeps after tries for one thing.
#[derive(Default)]
struct Tried<'t> {
    count: u64,
    ns: u64,
    holders: BTreeMap<&'t str, u64>,
}

/// What was tried in vain before most of a cause's sleeps, or timed waits.
pub fn vain_sleeps(trace: &Trace, names: &Names<'_, '_>, root: &RootCause) -> Option<VainSleeps> {
    let is_timed = matches!(root.cause.kind, CauseKind::Slept | CauseKind::TimedOut);
    if trace.vain_tries.is_empty() || !is_timed {
        return None;
    }
    let is_at = |key: &EventKey| ends_by_itself(trace, key) && names.is_at(key.stack(), &root.at);
    sleeps_after_tries(trace, names.members_of(root.cause.role), is_at)
}

/// Whether a wait ends at a time that the thread chose.
fn ends_by_itself(trace: &Trace, key: &EventKey) -> bool {
    let kind = key.object().get().and_then(|object| trace.objects.kind.get(object)).copied();
    kind.is_some_and(|code| ObjectType::from_code(code) == ObjectType::Sleep)
        || Outcome::from_code(key.outcome()) == Outcome::TimedOut
}

/// Of each key: whether its waits are sleeps, mostly right after a try in vain for a file's lock: waits for whoever has that.
pub fn keys_of_lock_polls(trace: &Trace) -> Vec<bool> {
    let (events, table) = (trace.events(), &trace.vain_tries);
    let mut of_key = vec![(0u64, 0u64); events.keys.len()];
    for (thread, tries) in TriesOfThreads::new(trace).all() {
        for sleep in sleeps_of(trace, thread, tries, |key| ends_by_itself(trace, key)) {
            let Some((after_tries_ns, all_ns)) = of_key.get_mut(sleep.key as usize) else { continue };
            let for_lock = |row: usize| VainTry::from_code(table.kind[row]) == VainTry::FileLock;
            *all_ns = all_ns.saturating_add(sleep.ns);
            *after_tries_ns =
                after_tries_ns.saturating_add(if sleep.after.is_some_and(for_lock) { sleep.ns } else { 0 });
        }
    }
    of_key.into_iter().map(|(after_tries_ns, all_ns)| all_ns > 0 && is_most(after_tries_ns, all_ns)).collect()
}

/// Whether sleeps after tries of so long are most of all.
fn is_most(after_tries_ns: u64, all_ns: u64) -> bool {
    after_tries_ns as f64 >= MOST * all_ns as f64
}

/// The tries in vain before the sleeps of each thread, in order of time: its own, and those of programs that its process's parent ran before it,
/// as `flock -n` and `sleep` in a script.
struct TriesOfThreads(HashMap<ThreadId, Vec<usize>>);

impl TriesOfThreads {
    fn new(trace: &Trace) -> Self {
        let (table, threads) = (&trace.vain_tries, &trace.threads);
        let parent_of = |thread: usize| {
            let process = threads.process.get(thread)?.get()?;
            trace.processes.parent.get(process)?.get()
        };
        let (mut of_thread, mut of_children) = (HashMap::<_, Vec<usize>>::new(), HashMap::<_, Vec<usize>>::new());
        for row in 0..table.len() {
            of_thread.entry(table.thread[row]).or_default().push(row);
            if let Some(parent) = table.thread[row].get().and_then(parent_of) {
                of_children.entry(parent).or_default().push(row);
            }
        }
        for thread in 0..threads.tid.len() {
            let Some(tries) = parent_of(thread).and_then(|parent| of_children.get(&parent)) else { continue };
            let behind = tries.partition_point(|row| table.time_ns[*row] < threads.start_ns[thread]);
            if let Some(last) = behind.checked_sub(1).map(|at| tries[at]) {
                of_thread.entry(ThreadId::new(thread)).or_default().insert(0, last);
            }
        }
        Self(of_thread)
    }

    fn of(&self, thread: usize) -> &[usize] {
        self.0.get(&ThreadId::new(thread)).map_or(&[], Vec::as_slice)
    }

    fn all(&self) -> impl Iterator<Item = (usize, &[usize])> {
        self.0.iter().filter_map(|(thread, tries)| Some((thread.get()?, tries.as_slice())))
    }
}

/// A sleep of a thread.
struct Sleep {
    key: u32,
    ns: u64,
    /// The row of the try in vain right before it.
    after: Option<usize>,
}

/// A thread's waits whose key `counts`, and which of its tries each came after.
fn sleeps_of(trace: &Trace, thread: usize, tries: &[usize], counts: impl Fn(&EventKey) -> bool) -> Vec<Sleep> {
    let (events, table) = (trace.events(), &trace.vain_tries);
    let (mut sleeps, mut slept_ns) = (Vec::new(), 0);
    for row in events.off_cpu.of(thread) {
        let (start_ns, ns, key) = (events.off_cpu.start_ns(row), events.off_cpu.wait_ns(row), events.off_cpu.key(row));
        if ns == 0 || !counts(&events.key(key)) {
            continue;
        }
        let before = tries.partition_point(|row| table.time_ns[*row] <= start_ns);
        let last = before.checked_sub(1).map(|at| tries[at]);
        // One before the sleep before this one was that one's reason.
        let since_ns =
            std::mem::replace(&mut slept_ns, events.off_cpu.woken_ns(row)).max(start_ns.saturating_sub(SOON_NS));
        sleeps.push(Sleep { key, ns, after: last.filter(|row| table.time_ns[*row] >= since_ns) });
    }
    sleeps
}

/// What was tried before most of the threads' waits whose key `counts`.
fn sleeps_after_tries(
    trace: &Trace,
    threads: impl Iterator<Item = usize>,
    counts: impl Fn(&EventKey) -> bool,
) -> Option<VainSleeps> {
    let (table, tries) = (&trace.vain_tries, TriesOfThreads::new(trace));
    let (mut tried, mut sleeps, mut all_ns): (BTreeMap<(u8, &str), Tried<'_>>, u64, u64) = (BTreeMap::new(), 0, 0);
    for sleep in threads.flat_map(|thread| sleeps_of(trace, thread, tries.of(thread), &counts)) {
        (sleeps, all_ns) = (sleeps + 1, all_ns.saturating_add(sleep.ns));
        if let Some(row) = sleep.after {
            let tried = tried.entry((table.kind[row], &table.object[row])).or_default();
            (tried.count, tried.ns) = (tried.count + 1, tried.ns.saturating_add(sleep.ns));
            *tried.holders.entry(&table.holder[row]).or_default() += 1;
        }
    }
    let ((kind, object), tried) = tried.into_iter().max_by_key(|(_, tried)| tried.ns)?;
    let is_most = is_most(tried.ns, all_ns) && !object.is_empty();
    let known = tried.holders.into_iter().filter(|(holder, _)| !holder.is_empty());
    let holder = known.max_by_key(|(_, count)| *count).map(|(holder, _)| holder.to_owned());
    is_most.then(|| VainSleeps {
        kind: VainTry::from_code(kind),
        object: object.to_owned(),
        holder,
        tries: tried.count,
        sleeps,
        each_ns: all_ns / sleeps.max(1),
    })
}

#[cfg(test)]
mod tests {
    use dwell_model::ProcessId;
    use dwell_store::tables::VainTryRow;
    use dwell_trace_dsl::{CELL, trace};

    use super::*;

    /// What thread a, which waits in cells 2 to 4, 7 to 9 and 12 to 14, is found to have tried at these times.
    fn found(tries: &[(u64, &str, &str)]) -> Option<VainSleeps> {
        let mut trace = trace("a: ##xxx##xxx##xxx##");
        for (time_ns, object, holder) in tries {
            let (kind, thread) = (VainTry::FileLock.code(), ThreadId::new(0));
            let (object, holder) = ((*object).to_owned(), (*holder).to_owned());
            trace.vain_tries.push(VainTryRow { time_ns: *time_ns, thread, kind, object, holder });
        }
        sleeps_after_tries(&trace, std::iter::once(0), |_| true)
    }

    #[test]
    fn sleeps_right_after_tries_are_between_tries_in_vain() {
        let just_before = |cell: u64| cell * CELL - 1_000;
        let all = found(&[
            (just_before(2), "/lock", "sh"),
            (just_before(7), "/lock", "hold.py"),
            (just_before(12), "/lock", "hold.py"),
        ]);
        let all = all.map(|it| (it.kind, it.object, it.holder, it.tries, it.sleeps));
        assert_eq!(all, Some((VainTry::FileLock, "/lock".into(), Some("hold.py".into()), 3, 3)));
        let two = found(&[(just_before(2), "/lock", ""), (just_before(7), "/lock", "")]);
        assert_eq!(two.map(|it| (it.holder, it.tries, it.sleeps)), Some((None, 2, 3)));
        assert_eq!(found(&[(just_before(2), "/lock", "")]), None, "most sleeps have another reason");
        assert_eq!(found(&[(just_before(2), "/a", ""), (just_before(7), "/b", "")]), None, "no one thing");
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn a_program_sleeps_for_what_the_one_before_it_tried() {
        let mut trace = trace("sh: ##########\nflock: ##\nsleep:    #sss#");
        let mut child = trace.processes.row(0).unwrap();
        child.parent = ProcessId::new(0);
        for thread in 1..3 {
            trace.threads.process[thread] = ProcessId::new(trace.processes.push(child.clone()));
        }
        let (kind, object) = (VainTry::FileLock.code(), "/lock".to_owned());
        let row = VainTryRow { time_ns: CELL / 2, thread: ThreadId::new(1), kind, object, holder: String::new() };
        trace.vain_tries.push(row);
        let found = sleeps_after_tries(&trace, std::iter::once(2), |_| true);
        assert_eq!(found.map(|it| (it.object, it.tries, it.sleeps)), Some(("/lock".into(), 1, 1)));
        assert_eq!(sleeps_after_tries(&trace, std::iter::once(0), |_| true), None, "the shell did not sleep");
        assert_eq!(keys_of_lock_polls(&trace).iter().filter(|polls| **polls).count(), 1);
    }

    #[test]
    fn a_try_long_before_a_sleep_or_after_its_begin_is_not_its_reason() {
        let mut trace = trace(&format!("a: {}xxx##", "#".repeat(60)));
        let start_ns = trace.off_cpu.start_ns[0];
        for time_ns in [start_ns - SOON_NS - 1, start_ns + 1] {
            let (kind, thread) = (VainTry::Connection.code(), ThreadId::new(0));
            let row = VainTryRow { time_ns, thread, kind, object: "TCP :1".into(), holder: String::new() };
            trace.vain_tries.push(row);
        }
        assert_eq!(sleeps_after_tries(&trace, std::iter::once(0), |_| true), None);
    }
}
