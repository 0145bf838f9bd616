//! Processes that only look after the workers that they made: gunicorn's arbiter, uWSGI's master. They are called as these are.

use std::collections::HashMap;

use dwell_store::Trace;

use crate::study::explain::account::Account;
use crate::study::explain::roles::is_first_of_process;
use crate::study::explain::terms::RoleId;

/// Part of the CPU time of the worker with least that a master has at most.
const HARDLY_RUNS: f64 = 0.1;

/// The life of a role's master, and how much of it was without work, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Master {
    /// Its life.
    pub life_ns: u64,
    /// Waits for whatever comes.
    pub idle_ns: u64,
}

impl Master {
    /// The account of its role without it, as far as lives and idle time go.
    pub fn taken_from(&self, account: &Account) -> Account {
        Account {
            threads: account.threads.saturating_sub(1),
            life_ns: account.life_ns.saturating_sub(self.life_ns),
            idle_ns: account.idle_ns.saturating_sub(self.idle_ns),
            ..*account
        }
    }
}

/// The masters by their role. `of_thread` is what each thread did, `life_ns` how long it was there.
pub fn masters(
    trace: &Trace,
    role_of: &dyn Fn(usize) -> RoleId,
    of_thread: &[Account],
    life_ns: &dyn Fn(usize) -> u64,
) -> HashMap<RoleId, Master> {
    let mut first_threads: HashMap<RoleId, Vec<usize>> = HashMap::new();
    for thread in (0..trace.threads.tid.len()).filter(|thread| is_first_of_process(trace, *thread)) {
        first_threads.entry(role_of(thread)).or_default().push(thread);
    }
    let master = |(role, threads): (RoleId, Vec<usize>)| {
        let (first, workers) = threads.split_first()?;
        let least_ns = workers.iter().map(|worker| ran_ns(trace, *worker)).min()?;
        let hardly_runs = (ran_ns(trace, *first) as f64) < HARDLY_RUNS * least_ns as f64;
        let master = Master { life_ns: life_ns(*first), idle_ns: of_thread.get(*first)?.idle_ns };
        hardly_runs.then_some((role, master))
    };
    first_threads.into_iter().filter_map(master).collect()
}

/// How long a thread ran in the recording, ns.
fn ran_ns(trace: &Trace, thread: usize) -> u64 {
    let (rows, mut off_ns) = (&trace.events().off_cpu, 0u64);
    rows.for_each(rows.of(thread), |_, _, times| {
        off_ns = off_ns.saturating_add(times.wait_ns).saturating_add(times.runnable_ns);
    });
    trace.life_ns(thread).saturating_sub(off_ns)
}

#[cfg(test)]
mod tests {
    use dwell_model::ProcessId;
    use dwell_store::tables::ProcessRow;
    use dwell_trace_dsl::trace;

    use super::*;

    #[test]
    fn who_hardly_runs_beside_the_workers_that_it_made_is_their_master() {
        let masters_of = |pictures: [&str; 3]| {
            let [a, b, c] = pictures.map(|picture| picture.repeat(30));
            let mut trace = trace(&format!("a: ##{a}\nb: ##{b}\nc: ##{c}"));
            let first = trace.processes.row(0).unwrap();
            for thread in 0..3 {
                let pid = trace.threads.tid[thread];
                let process = trace.processes.push(ProcessRow { pid, ..first.clone() });
                trace.threads.process[thread] = ProcessId::new(process);
            }
            trace.tables_changed();
            let of_thread = [Account { idle_ns: 7, ..Account::default() }, Account::default(), Account::default()];
            masters(&trace, &|_| 5, &of_thread, &|_| 100)
        };
        assert_eq!(masters_of(["s", "#n", "#n"])[&5], Master { life_ns: 100, idle_ns: 7 });
        assert!(masters_of(["#n", "#n", "#n"]).is_empty());
        assert!(masters_of(["#n", "s", "#n"]).is_empty(), "a worker that had less to do");
    }
}
