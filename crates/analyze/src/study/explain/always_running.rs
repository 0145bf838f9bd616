//! Threads that ran all the time: nobody who is recorded may wait for them, but they may be as fast as their program can be.

use std::collections::BTreeMap;

use dwell_model::ProcessId;
use dwell_query::engine::fold::Fold;
use dwell_store::Trace;
use dwell_work::parallel;

use crate::study::lives::LifeSpans;

/// Part of the recording for which a thread lives and has something to do, …
const ALWAYS: f64 = 0.9;
/// … and of what it runs, and waits for what it needs, that which it runs: else it is others that keep it. Who is in the run queue would run.
const MOSTLY: f64 = 0.4;
/// The part of that time for which it must run to be told.
const LEAST: f64 = 0.1;
/// Children of a process that live one after another from which on they are as one: workers that are replaced.
const IN_TURN: usize = 4;
/// How many of them are there at once on average, at most: the next may begin before one has ended.
const MOST_AT_ONCE: f64 = 1.2;

/// How long a thread has something to do, waits for what it needs for that, and runs, ns.
#[derive(Clone, Copy, Default)]
struct Busy {
    busy_ns: u64,
    needed_ns: u64,
    ran_ns: u64,
}

impl Busy {
    /// Whoever waits for what it needs to go on has something to do.
    fn of(trace: &Trace, thread: usize, is_needed: impl Fn(usize, usize, u32) -> bool) -> Self {
        let life_ns = trace.life_ns(thread);
        let (mut idle_ns, mut needed_ns, mut queued_ns) = (0u64, 0u64, 0u64);
        let rows = &trace.events().off_cpu;
        rows.for_each(rows.of(thread), |row, key, times| {
            let of = if is_needed(thread, row, key) { &mut needed_ns } else { &mut idle_ns };
            *of = of.saturating_add(times.wait_ns);
            queued_ns = queued_ns.saturating_add(times.runnable_ns);
        });
        let busy_ns = life_ns.saturating_sub(idle_ns);
        let ran_ns = busy_ns.saturating_sub(needed_ns).saturating_sub(queued_ns);
        Self { busy_ns, needed_ns, ran_ns }
    }

    fn add(self, other: Self) -> Self {
        Self {
            busy_ns: self.busy_ns + other.busy_ns,
            needed_ns: self.needed_ns + other.needed_ns,
            ran_ns: self.ran_ns + other.ran_ns,
        }
    }

    fn runs_for(self, least_ns: f64) -> bool {
        let ran_ns = self.ran_ns as f64;
        self.busy_ns as f64 >= least_ns
            && ran_ns >= MOSTLY * (ran_ns + self.needed_ns as f64)
            && ran_ns >= LEAST * least_ns
    }
}

/// Those of a recording that the program's end did not end: to that leads a path. Of threads that are `is_known` others tell, and so they do
/// of a part of the time or of the threads; goroutines share their threads. `is_needed` is asked of a thread's wait, by row and key.
pub fn always_running(
    fold: &Fold<'_>,
    is_known: impl Fn(&usize) -> bool,
    is_needed: impl Fn(usize, usize, u32) -> bool + Sync,
) -> Vec<usize> {
    let trace = fold.trace;
    let is_of_all = fold.query.explains_all();
    if trace.manifest.exit_status.is_some() || !is_of_all || trace.fiber_threads > 0 {
        return Vec::new();
    }
    let always_ns = ALWAYS * trace.elapsed_ns() as f64;
    // What the fold has summed tells of most that they wait too much for it; to tell what they wait for takes all their rows.
    let running_ns = running_times(fold);
    let may_be =
        |thread: &usize| running_ns[*thread] as f64 >= LEAST * always_ns || parent_of_first(trace, *thread).is_some();
    let is_looked_at = |thread: &usize| !trace.threads.ignored[*thread] && !is_known(thread) && may_be(thread);
    let threads = (0..trace.threads.tid.len()).filter(is_looked_at);
    let threads: Vec<usize> = threads.collect();
    let threads: Vec<(usize, Busy)> =
        parallel::map(threads.len(), |place| (threads[place], Busy::of(trace, threads[place], &is_needed)));
    let alone = threads.iter().filter(|(_, busy)| busy.runs_for(always_ns)).map(|(thread, _)| *thread);
    let mut always: Vec<usize> = alone.collect();
    let mut of_parent: BTreeMap<ProcessId, Vec<(usize, Busy)>> = BTreeMap::new();
    for (thread, busy) in threads {
        if let Some(parent) = parent_of_first(trace, thread) {
            of_parent.entry(parent).or_default().push((thread, busy));
        }
    }
    for members in of_parent.into_values().filter(|members| members.len() >= IN_TURN) {
        let of_all = members.iter().map(|(_, busy)| *busy).fold(Busy::default(), Busy::add);
        let life = |(thread, _): &(usize, Busy)| (trace.threads.start_ns[*thread], trace.threads.end_ns[*thread]);
        let lives = LifeSpans::of(members.iter().map(life).collect());
        let is_always = lives.any_ns as f64 >= always_ns && of_all.runs_for(ALWAYS * lives.any_ns as f64);
        if is_always && lives.at_once() <= MOST_AT_ONCE {
            always.extend(members.into_iter().map(|(thread, _)| thread));
        }
    }
    always.sort_unstable();
    always.dedup();
    always
}

/// How long each thread was on a CPU, ns.
fn running_times(fold: &Fold<'_>) -> Vec<u64> {
    let mut times = vec![0u64; fold.trace.threads.tid.len()];
    for (_, site, weights) in fold.selected() {
        if let Some(time) = site.key.thread.get().and_then(|thread| times.get_mut(thread)) {
            *time = time.saturating_add(weights.cpu_ns());
        }
    }
    times
}

/// The process that started the one whose first thread this is.
fn parent_of_first(trace: &Trace, thread: usize) -> Option<ProcessId> {
    let process = trace.threads.process[thread].get()?;
    let parent = *trace.processes.parent.get(process)?;
    (parent.is_some() && trace.processes.pid.get(process) == trace.threads.tid.get(thread)).then_some(parent)
}

#[cfg(test)]
mod tests {
    use dwell_query::question::query::Query;
    use dwell_store::tables::ProcessRow;
    use dwell_trace_dsl::trace;

    use super::*;

    fn always(picture: &str, exit_status: Option<i32>, query: &Query) -> Vec<usize> {
        let mut trace = trace(picture);
        trace.manifest.exit_status = exit_status;
        let object = |key| trace.events().key(key).object().get();
        let is_needed = |_, _, key| object(key).is_some_and(|it| trace.objects.name[it] == "m");
        always_running(&Fold::new(&trace, query).unwrap(), |_| false, is_needed)
    }

    #[test]
    fn a_thread_that_hardly_ever_waits_runs_always() {
        let (busy, all) = ("a: 1111111111111111111e\nb: #eeeeeeeeeeeeeeeeee#", &Query::default());
        assert_eq!(always(busy, None, all), [0]);
        assert!(always(busy, Some(0), all).is_empty(), "the way to its end tells what it ran");
        assert!(always("a: 1111111111111111eee#", None, all).is_empty());
        assert_eq!(always("a: 1111111111111mmmmmm#", None, all), [0], "it has work while it waits for that");
        assert!(always("a: 11111mmmmmmmmmmmmmm#", None, all).is_empty(), "it waits mostly");
        assert_eq!(always("a: 11-11-11-11-11-11-11", None, all), [0], "others have its CPU at times");
        assert_eq!(always("a: 1---1---1---1---1---", None, all), [0], "others have it mostly: it would run");
        assert!(always("a: 1-------------------", None, all).is_empty(), "it hardly ran");
        let cut = Query { range: Some((0, 5_000_000)), ..Query::default() };
        assert!(always(busy, None, &cut).is_empty());
    }

    #[test]
    fn workers_that_are_replaced_are_as_one() {
        let told = |starts: [usize; 4]| {
            let worker = |start: &usize| format!("w: {}1111\n", " ".repeat(*start));
            let mut trace = trace(&format!("m: {}\n{}", "j".repeat(16), starts.iter().map(worker).collect::<String>()));
            trace.manifest.exit_status = None;
            let first = trace.processes.row(0).unwrap();
            for thread in 1..trace.threads.tid.len() {
                let row = ProcessRow { pid: trace.threads.tid[thread], parent: ProcessId::new(0), ..first.clone() };
                trace.threads.process[thread] = ProcessId::new(trace.processes.push(row));
            }
            trace.tables_changed();
            always_running(&Fold::new(&trace, &Query::default()).unwrap(), |_| false, |_, _, _| false)
        };
        assert_eq!(told([0, 4, 8, 12]), [1, 2, 3, 4], "each takes the place of the one before");
        assert!(told([0, 0, 8, 12]).is_empty(), "two of them are there at once");
    }
}
