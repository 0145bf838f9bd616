//! Which threads are of one program, and who created them: the thread that did, and those that started its program, and that one's.

use std::collections::HashMap;

use dwell_model::{ProcessId, ThreadId};
use dwell_store::Trace;

/// A program, by the number of the first process that runs it.
pub type ProgramId = usize;

/// Creators that are looked at.
const LOOKED_AT: usize = 6;

/// The program of each thread, and who created it. A program is a name and a command line; a forked copy is its parent's.
pub struct Programs {
    of_thread: Vec<Option<ProgramId>>,
    creator_of: Vec<Option<usize>>,
}

impl Programs {
    /// Those of a trace.
    pub fn new(trace: &Trace) -> Self {
        let processes = &trace.processes;
        let mut first: HashMap<(&str, &str), ProgramId> = HashMap::new();
        let mut of_process: Vec<ProgramId> = Vec::new();
        for (row, (name, command)) in processes.name.iter().zip(&processes.command_line).enumerate() {
            let parent = processes.parent[row].get().filter(|parent| *parent < row && command.is_empty());
            let same = parent.filter(|parent| processes.executable[*parent] == processes.executable[row]);
            let program = match same {
                Some(parent) => of_process[parent],
                None => *first.entry((name.as_str(), command.as_str())).or_insert(row),
            };
            of_process.push(program);
        }
        let of = |process: &ProcessId| process.get().and_then(|row| of_process.get(row).copied());
        let threads = &trace.threads;
        let creator = |parent: &ThreadId| parent.get().filter(|parent| *parent < threads.tid.len());
        Self {
            of_thread: threads.process.iter().map(of).collect(),
            creator_of: threads.parent.iter().map(creator).collect(),
        }
    }

    /// The program of a thread; none where its process is not known.
    pub fn of(&self, thread: usize) -> Option<ProgramId> {
        self.of_thread.get(thread).copied().flatten()
    }

    /// The thread that created `thread`.
    pub fn creator(&self, thread: usize) -> Option<usize> {
        self.creator_of.get(thread).copied().flatten()
    }

    /// The thread that created `thread`, and the threads of other programs by which it is there at all: what a shell starts works for
    /// whoever started the shell. The nearest first.
    pub fn creators(&self, thread: usize) -> impl Iterator<Item = usize> {
        let all = std::iter::successors(self.creator(thread), |creator| self.creator(*creator)).take(LOOKED_AT);
        let is_near = move |(distance, creator): &(usize, usize)| *distance == 0 || self.are_of_two(thread, *creator);
        all.enumerate().filter(is_near).map(|(_, creator)| creator)
    }

    /// Whether `thread` started the program of `other`, or one that did.
    pub fn started(&self, thread: usize, other: usize) -> bool {
        self.are_of_two(thread, other) && self.creators(other).any(|creator| creator == thread)
    }

    fn are_of_two(&self, thread: usize, other: usize) -> bool {
        self.of(thread).zip(self.of(other)).is_some_and(|(one, other)| one != other)
    }
}

#[cfg(test)]
mod tests {
    use dwell_store::tables::ProcessRow;
    use dwell_trace_dsl::trace;

    use super::*;

    /// Four threads, of which the first is of the first process and each later one of a process of its own, with these command lines and
    /// parents.
    fn with_processes(of_later: [(&str, ProcessId); 3]) -> Trace {
        let mut trace = trace("a: #\nb: #\nc: #\nd: #");
        let first = trace.processes.row(0).unwrap();
        for (command, parent) in of_later {
            let process = ProcessRow { command_line: command.into(), parent, ..first.clone() };
            let row = trace.processes.push(process);
            trace.threads.process[row] = ProcessId::new(row);
        }
        trace
    }

    #[test]
    fn programs_of_one_name_are_told_apart_by_their_arguments() {
        let of_parent = ProcessId::new(0);
        let trace = with_processes([("app server.py", of_parent), ("", of_parent), ("app", ProcessId::NONE)]);
        let programs = Programs::new(&trace);
        assert_eq!([0, 1, 2, 3].map(|thread| programs.of(thread)), [0, 1, 0, 0].map(Some));
    }

    #[test]
    fn whoever_starts_a_shell_starts_what_that_starts() {
        let mut trace =
            with_processes([("sh -c date", ProcessId::new(0)), ("date", ProcessId::new(1)), ("", ProcessId::new(0))]);
        for (thread, creator) in [(1, 0), (2, 1), (3, 0)] {
            trace.threads.parent[thread] = ThreadId::new(creator);
        }
        let programs = Programs::new(&trace);
        let of = |thread| programs.creators(thread).collect::<Vec<usize>>();
        assert_eq!([0, 1, 2].map(of), [vec![], vec![0], vec![1, 0]]);
        assert!(programs.started(0, 2) && !programs.started(2, 0));
        assert!(!programs.started(0, 3), "a copy of its own program");
    }
}
