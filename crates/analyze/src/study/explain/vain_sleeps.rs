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

/// The same of the threads' waits whose key `counts`.
fn sleeps_after_tries(
    trace: &Trace,
    threads: impl Iterator<Item = usize>,
    counts: impl Fn(&EventKey) -> bool,
) -> Option<VainSleeps> {
    let (events, table) = (trace.events(), &trace.vain_tries);
    let (mut tried, mut sleeps, mut all_ns): (BTreeMap<(u8, &str), Tried<'_>>, u64, u64) = (BTreeMap::new(), 0, 0);
    let mut of_thread: HashMap<ThreadId, Vec<usize>> = HashMap::new();
    (0..table.len()).for_each(|row| of_thread.entry(table.thread[row]).or_default().push(row));
    for thread in threads {
        let tries = of_thread.get(&ThreadId::new(thread)).map_or(&[][..], Vec::as_slice);
        let mut slept_ns = 0;
        for row in events.off_cpu.of(thread) {
            let (start_ns, wait_ns) = (events.off_cpu.start_ns(row), events.off_cpu.wait_ns(row));
            if wait_ns == 0 || !counts(&events.off_cpu_key(row)) {
                continue;
            }
            (sleeps, all_ns) = (sleeps + 1, all_ns.saturating_add(wait_ns));
            let before = tries.partition_point(|row| table.time_ns[*row] <= start_ns);
            let last = before.checked_sub(1).map(|at| tries[at]);
            // One before the sleep before this one was that one's reason.
            let since_ns =
                std::mem::replace(&mut slept_ns, events.off_cpu.woken_ns(row)).max(start_ns.saturating_sub(SOON_NS));
            if let Some(row) = last.filter(|row| table.time_ns[*row] >= since_ns) {
                let tried = tried.entry((table.kind[row], &table.object[row])).or_default();
                (tried.count, tried.ns) = (tried.count + 1, tried.ns.saturating_add(wait_ns));
                *tried.holders.entry(&table.holder[row]).or_default() += 1;
            }
        }
    }
    let ((kind, object), tried) = tried.into_iter().max_by_key(|(_, tried)| tried.ns)?;
    let is_most = tried.ns as f64 >= MOST * all_ns as f64 && !object.is_empty();
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
