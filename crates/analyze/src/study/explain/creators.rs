//! Who created a thread: the thread that did, and those that created its program, and that program's.

use dwell_store::Trace;

/// Creators that are looked at.
const LOOKED_AT: usize = 6;

/// The thread that created `thread`, and the threads of other processes by which it is there at all: what a shell starts works for
/// whoever started the shell. The nearest first.
pub fn creators(trace: &Trace, thread: usize) -> impl Iterator<Item = usize> {
    let threads = &trace.threads;
    let creator = |thread: &usize| threads.parent[*thread].get().filter(|parent| *parent < threads.tid.len());
    let all = std::iter::successors(creator(&thread), creator).take(LOOKED_AT).enumerate();
    all.filter(move |(number, creator)| *number == 0 || threads.process[*creator] != threads.process[thread])
        .map(|(_, creator)| creator)
}

#[cfg(test)]
mod tests {
    use dwell_model::{ProcessId, ThreadId};

    use super::*;
    use crate::test_support::trace_dsl::trace;

    #[test]
    fn whoever_starts_a_shell_starts_what_that_starts() {
        let mut trace = trace("a: ####\nb: ####\nc: ####\nd: ####");
        // a is main and makes b; b starts c, a shell, which starts d.
        for (thread, process) in [(1, 0), (2, 1), (3, 2)] {
            trace.threads.parent[thread] = ThreadId::new(thread - 1);
            trace.threads.process[thread] = ProcessId::new(process);
        }
        let of = |thread| creators(&trace, thread).collect::<Vec<usize>>();
        assert_eq!((of(0), of(1), of(2), of(3)), (vec![], vec![0], vec![1, 0], vec![2, 1, 0]));
    }
}
