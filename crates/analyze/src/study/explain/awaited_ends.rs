//! Whether the program's end waited for what others were to do: a wait that nobody in the program is known to have ended looks like
//! one for work, but a program that ends by itself after it had asked for something.
//! It takes a cause on the path to the program's end; it says whether a reader is to hear of it.

use dwell_model::{ObjectType, Outcome, ProcessId};
use dwell_query::engine::alike_objects::without_count;
use dwell_query::stacks::call_stacks::CallStacks;
use dwell_query::stacks::idle::IdleWaits;
use dwell_query::stacks::object::object_type;
use dwell_store::Trace;

use crate::study::explain::names::Names;
use crate::study::explain::roots::RootCause;
use crate::study::explain::terms::{
    CauseKind, PlaceId, RoleId, asks, asks_by_datagrams, is_client_socket, is_internal, is_response, listens,
};

/// Waits from which on they are a loop's: whoever waits once for the end of all is told nothing by its place.
const REPEATED: usize = 4;
/// Part of the path that the longest of them takes at most.
const LONGEST_SHARE: f64 = 0.75;

/// Whether the path to the end went through waits of the cause that are for an answer: on sockets that ask others, again and again
/// at a place where no idle worker waits, or in an event loop that only a timer of the program ended.
pub fn is_awaited(trace: &Trace, stacks: &CallStacks<'_>, names: &mut Names<'_, '_>, root: &RootCause) -> bool {
    let RootCause { cause, path_ns, .. } = *root;
    let waits_in_loop = names.waits_for_own_timers(cause.label) || names.asks_by_datagrams(cause.label);
    let is_loop_timer = cause.kind == CauseKind::TimedOut && waits_in_loop;
    let is_open = matches!(cause.kind, CauseKind::Network | CauseKind::Outside | CauseKind::Unknown) || is_loop_timer;
    if !is_open || path_ns == 0 {
        return false;
    }
    let waits = waits_at(trace, names, cause.role, cause.place);
    // Whom a signal ended waited for more work. What breaks waits off in a program that ends by itself is its end.
    let events = trace.events();
    let last = waits.iter().copied().max_by_key(|row| events.off_cpu.start_ns(*row));
    let is_broken_off =
        last.is_some_and(|row| Outcome::from_code(events.off_cpu_key(row).outcome()) == Outcome::Interrupted);
    let is_told_to_end = is_broken_off && !(is_loop_timer && trace.manifest.exit_status == Some(0));
    let objects = names.objects(cause.label);
    let names_of = objects.iter().filter_map(|object| trace.objects.name.get(object.get()?));
    let mut called = names_of.map(|name| without_count(name));
    // Some listen for commands that nobody sends: a crawler's console.
    let is_never_asked = called.clone().any(listens) && is_never_asked(trace, names, cause.role);
    if is_told_to_end || called.clone().any(listens) && !is_never_asked {
        return false;
    }
    if is_loop_timer {
        let is_own = |name: &str| is_internal(name) || is_client_socket(name) || asks_by_datagrams(name);
        return !names.is_of_event_loop(cause.label) || is_never_asked || called.all(is_own);
    }
    if called.any(|name| asks(name) || is_response(name)) {
        return true;
    }
    let kind = objects.first().map_or(ObjectType::Unknown, |object| object_type(trace, *object));
    let is_of_fiber = kind == ObjectType::Channel || names.are_of_sampled_fibers();
    let is_repeated = || is_repeated(waits.iter().map(|row| events.off_cpu.wait_ns(*row)), path_ns);
    is_of_fiber && !IdleWaits::default().is_idle(stacks, root.stack, kind) && is_repeated()
}

/// Whether the connections of a role's processes were looked at, and none was from others.
fn is_never_asked(trace: &Trace, names: &Names<'_, '_>, role: RoleId) -> bool {
    let processes: Vec<ProcessId> = names.members_of(role).map(|thread| trace.threads.process[thread]).collect();
    let looks = &trace.open_requests;
    let mut rows = (0..looks.time_ns.len()).filter(|row| processes.contains(&looks.process[*row])).peekable();
    rows.peek().is_some() && rows.all(|row| !looks.is_incoming[row])
}

/// The off-CPU rows of a role's threads that waited at a place.
fn waits_at(trace: &Trace, names: &mut Names<'_, '_>, role: RoleId, place: PlaceId) -> Vec<usize> {
    let events = trace.events();
    let members: Vec<usize> = names.members_of(role).collect();
    let waited = members.into_iter().flat_map(|thread| events.off_cpu.of(thread));
    waited
        .filter(|row| events.off_cpu.wait_ns(*row) > 0)
        .filter(|row| names.place_of(events.off_cpu_key(*row).stack()) == place)
        .collect()
}

/// Whether there are several waits, none of which takes most of the path.
fn is_repeated(waits: impl Iterator<Item = u64>, path_ns: u64) -> bool {
    let (count, longest) = waits.fold((0, 0), |(count, longest), ns| (count + 1, ns.max(longest)));
    count >= REPEATED && longest as f64 <= LONGEST_SHARE * path_ns as f64
}
