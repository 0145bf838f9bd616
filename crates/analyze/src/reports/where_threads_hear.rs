//! Of a launched program whose first thread waited most of the time for what came over one connection, bit by bit: events as they occur, or an
//! answer that somebody sends slowly. Dwell cannot know which.

use std::collections::BTreeMap;

use dwell_model::Outcome;
use dwell_query::engine::fold::Fold;
use dwell_view::{Sentence, Word};

use crate::sentences::say;
use crate::study::explain::{Explanation, LabelId, PlaceId, is_client_socket, is_first_of_process};

/// Part of the time that the thread must have waited for one connection at one place.
const MOSTLY: f64 = 0.5;

/// The sentence that says it; none of a part of the recording, and of goroutines, whose waits for connections are told as causes.
pub fn where_threads_hear(fold: &Fold<'_>, explanation: &mut Explanation<'_, '_>) -> Option<Sentence> {
    let trace = fold.trace;
    if !fold.query.explains_all() || trace.manifest.command.is_empty() || trace.fiber_threads > 0 {
        return None;
    }
    let first = (0..trace.threads.tid.len()).find(|thread| is_first_of_process(trace, *thread))?;
    let (events, names) = (trace.events(), &mut explanation.names);
    let mut of_place: BTreeMap<(LabelId, PlaceId), (u64, u64)> = BTreeMap::new();
    events.off_cpu.for_each_wait(events.off_cpu.of(first), |_, ns, key| {
        let key = events.key(key);
        // What a time of its own ended is a pace.
        if Outcome::from_code(key.outcome()) == Outcome::TimedOut {
            return;
        }
        let of = (names.label_of(key.object(), key.syscall()), names.place_of(key.stack()));
        let (count, sum) = of_place.entry(of).or_default();
        (*count, *sum) = (*count + 1, sum.saturating_add(ns));
    });
    let ((label, place), (count, ns)) = of_place.into_iter().max_by_key(|(_, (_, ns))| *ns)?;
    let is_heard = is_client_socket(names.label(label)) && !names.is_of_event_loop(label);
    (is_heard && ns as f64 >= MOSTLY * explanation.elapsed_ns as f64).then(|| {
        say!(
            MOSTLY_HEARD,
            who = names.role(names.role_of(first)),
            label = names.label(label),
            place = names.place(place).map(|place| place.at.clone()),
            count = count,
            mean = Word::Ns(ns / count.max(1))
        )
    })
}

#[cfg(test)]
mod tests {
    use dwell_query::question::query::Query;
    use dwell_trace_dsl::trace;

    use super::*;
    use crate::study::explain::explain;

    fn told(command: &[&str], picture: &str) -> Option<String> {
        let mut trace = trace(picture);
        trace.manifest.command = command.iter().map(ToString::to_string).collect();
        trace.objects.name.fill("TCP 127.0.0.1:* -> 127.0.0.1:80".into());
        trace.tables_changed();
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        where_threads_hear(&fold, &mut explain(&fold)).map(|sentence| sentence.to_string())
    }

    #[test]
    fn a_launched_program_that_mostly_waits_for_one_connection_is_told_of_it() {
        let heard = told(&["fetch"], "main: #nnnn#nnnn#nnnn").unwrap();
        assert!(heard.contains("TCP 127.0.0.1:* -> 127.0.0.1:80"), "{heard}");
        assert!(heard.contains("3 times for 4.00 ms each, on average"), "{heard}");
        assert_eq!(told(&[], "main: #nnnn#nnnn#nnnn"), None, "it was there: a server at rest");
        assert_eq!(told(&["fetch"], "main: ####nnnn####"), None, "it has other things to do");
    }
}
