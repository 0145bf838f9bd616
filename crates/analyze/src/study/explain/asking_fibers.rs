//! Goroutines that wait for the answer to what they asked over a connection, not for whatever comes over it: functions of the program's own led
//! there, and the connection's address owes answers meanwhile. What only reads for others, such as the loop of a client library, is idle: those who
//! asked wait as well.

use std::collections::{BTreeMap, HashMap};

use dwell_model::{ObjectId, ProcessId, StackId};
use dwell_query::stacks::call_stacks::CallStacks;
use dwell_store::Trace;

use crate::study::explain::asked_endpoints::{OwingSpans, owing_spans};
use crate::study::explain::open_requests::is_asked_in;
use crate::study::explain::places::is_from_program;
use crate::study::explain::terms::is_client_socket;
use crate::study::step_function::overlap_ns;

/// Part of the waits in which the address must owe an answer: it was looked at now and then, and so were the goroutines.
const OFTEN: f64 = 0.3;

/// Waits for connections to one address.
#[derive(Default)]
struct Waits {
    wait_ns: u64,
    /// While it owed an answer.
    within_ns: u64,
}

/// Of each key: whether its waits are of a goroutine for an answer.
pub fn answers_to_fibers(trace: &Trace, stacks: &CallStacks<'_>) -> Vec<bool> {
    let events = trace.events();
    let mut are = vec![false; events.keys.len()];
    let owing = owing_spans(trace);
    if trace.fiber_threads == 0 || owing.is_empty() {
        return are;
    }
    let mut addresses = Addresses { trace, owing: &owing, of_object: HashMap::new() };
    let mut waits: BTreeMap<(ProcessId, &str), Waits> = BTreeMap::new();
    for fiber in 0..trace.fiber_threads {
        events.off_cpu.for_each(events.off_cpu.of(fiber), |_, number, times| {
            let Some((address, spans)) = addresses.of(trace.threads.process[fiber], events.key(number).object()) else {
                return;
            };
            let all = waits.entry((trace.threads.process[fiber], address)).or_default();
            all.wait_ns = all.wait_ns.saturating_add(times.wait_ns);
            let ended_ns = times.start_ns.saturating_add(times.wait_ns);
            all.within_ns = all.within_ns.saturating_add(overlap_ns(spans, (times.start_ns, ended_ns)));
        });
    }
    let is_owed = |of: &(ProcessId, &str)| {
        waits.get(of).is_some_and(|all| all.within_ns > 0 && all.within_ns as f64 >= OFTEN * all.wait_ns as f64)
    };
    let mut is_own: HashMap<StackId, bool> = HashMap::new();
    for (number, key) in events.keys.iter().enumerate() {
        let Some(fiber) = key.thread().get().filter(|thread| *thread < trace.fiber_threads) else { continue };
        let process = trace.threads.process[fiber];
        let Some((address, _)) = addresses.of(process, key.object()) else { continue };
        let own = || is_from_program(trace, stacks, key.stack());
        are[number] = is_owed(&(process, address)) && *is_own.entry(key.stack()).or_insert_with(own);
    }
    are
}

/// The addresses to which the connections that are waited for lead.
struct Addresses<'o, 't> {
    trace: &'t Trace,
    owing: &'o OwingSpans<'t>,
    of_object: HashMap<(ProcessId, ObjectId), Option<&'t str>>,
}

impl<'o, 't> Addresses<'o, 't> {
    fn of(&mut self, process: ProcessId, object: ObjectId) -> Option<(&'t str, &'o [(u64, u64)])> {
        let (trace, owing) = (self.trace, self.owing);
        let find = || {
            let name = trace.objects.name.get(object.get()?).filter(|name| is_client_socket(name))?;
            let of_process = owing.keys().filter(|(asking, _)| *asking == process);
            of_process.map(|(_, endpoint)| *endpoint).find(|endpoint| is_asked_in(endpoint, name))
        };
        let address = (*self.of_object.entry((process, object)).or_insert_with(find))?;
        Some((address, owing.get(&(process, address))?))
    }
}

#[cfg(test)]
mod tests {
    use dwell_query::engine::fold::Fold;
    use dwell_query::question::query::Query;
    use dwell_store::tables::OpenRequestRow;
    use dwell_trace_dsl::{CELL, trace};

    use super::*;

    /// Whether a goroutine's waits for a connection are for answers: in a function, while so many requests are open there.
    fn are_answers(function: &str, open: u32, address: &str) -> bool {
        let mut trace = trace("main: #nnnnnnnn#nnnnnnnn#");
        trace.fiber_threads = 1;
        trace.objects.name.fill("TCP 10.0.0.1:* -> 10.0.0.2:5432".into());
        for frame in 0..trace.frames.function.len() {
            trace.frames.function[frame] = function.into();
            trace.frames.file[frame] = "/src/main.go".into();
        }
        for look in 0..20 {
            trace.open_requests.push(OpenRequestRow {
                time_ns: look * CELL,
                process: ProcessId::new(0),
                is_incoming: false,
                endpoint: address.into(),
                connections: 1,
                open,
                requests: 1,
                answers: 1,
            });
        }
        trace.tables_changed();
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        let are = answers_to_fibers(&trace, &fold.sums.stacks);
        trace.events().off_cpu.of(0).any(|row| are[trace.events().off_cpu.key(row) as usize])
    }

    #[test]
    fn a_goroutine_of_the_program_waits_for_the_answers_that_are_owed() {
        assert!(are_answers("main.load", 1, "TCP 10.0.0.2:5432"));
        assert!(!are_answers("main.load", 0, "TCP 10.0.0.2:5432"), "nothing was asked: it is told of changes");
        assert!(!are_answers("main.load", 1, "TCP 10.0.0.2:80"), "another address");
    }
}
