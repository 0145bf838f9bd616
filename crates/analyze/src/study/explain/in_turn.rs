//! Threads or processes of one role that live one after another: what each of them does could be done at once.

use std::collections::HashSet;

use dwell_store::Trace;

use crate::study::explain::names::Names;
use crate::study::explain::terms::RoleId;
use crate::study::lives::LifeSpans;

/// Members of a role from which it matters, …
const MANY: usize = 4;
/// … and the part of the recording in which one of them lives.
const LONG_SHARE: f64 = 0.3;
/// How many of them are there at once on average, at most.
const MOST_AT_ONCE: f64 = 1.1;

/// Part of all lives that is one of them, at most.
const MOST_OF_ONE: f64 = 0.5;

/// See the module.
pub struct InTurn {
    /// How many they are.
    pub count: usize,
    /// Whether each is a process.
    pub are_processes: bool,
    /// How long each of them lives on average, ns.
    pub each_ns: u64,
}

/// Whether the threads of a role live one after another.
pub fn in_turn(trace: &Trace, names: &Names<'_, '_>, role: RoleId) -> Option<InTurn> {
    let threads = &trace.threads;
    let members: Vec<usize> = names.members_of(role).filter(|thread| *thread >= trace.fiber_threads).collect();
    if members.len() < MANY {
        return None;
    }
    let lives = members.iter().map(|thread| (threads.start_ns[*thread], threads.end_ns[*thread]));
    // One that lives for longer than all others together is what there is to do.
    let longest_ns = lives.clone().map(|(from, to)| to.saturating_sub(from)).max();
    let lives = LifeSpans::of(lives.collect());
    if longest_ns.is_some_and(|ns| ns as f64 > MOST_OF_ONE * lives.all_ns as f64) {
        return None;
    }
    let is_long = lives.any_ns as f64 >= LONG_SHARE * trace.elapsed_ns() as f64;
    let processes: HashSet<_> = members.iter().map(|thread| threads.process[*thread]).collect();
    (lives.at_once() <= MOST_AT_ONCE && is_long).then(|| InTurn {
        count: members.len(),
        are_processes: processes.len() == members.len(),
        each_ns: lives.all_ns / members.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use dwell_query::engine::fold::Fold;
    use dwell_query::question::query::Query;
    use dwell_trace_dsl::trace;

    use super::*;

    fn count(picture: &str) -> Option<usize> {
        let trace = trace(picture);
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        let names = Names::new(&trace, &fold.sums.stacks);
        let last = (0..trace.threads.tid.len()).map(|thread| names.role_of(thread)).last().unwrap();
        in_turn(&trace, &names, last).map(|it| it.count)
    }

    #[test]
    fn threads_that_live_in_turn() {
        let lives = |starts: [usize; 4]| {
            let thread = |start: &usize| format!("worker: {}####\n", " ".repeat(*start));
            format!("main: {}\n{}", "j".repeat(20), starts.iter().map(thread).collect::<String>())
        };
        assert_eq!(count(&lives([0, 5, 10, 15])), Some(4));
        assert_eq!(count(&lives([0, 0, 10, 15])), None, "two of them are there at once");
        let one = format!("main: {}\nworker: {}\n", "j".repeat(20), "#".repeat(12));
        let others: String = (0..3).map(|number| format!("worker: {}#\n", " ".repeat(13 + 2 * number))).collect();
        assert_eq!(count(&(one + &others)), None, "one does nearly all");
        assert_eq!(count("main: jjjjjjjjjj\nworker: ####\nworker:      ####"), None, "two are few");
    }
}
