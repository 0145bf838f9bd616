//! Who created a thread: the thread that did, and those that created its program, and that program's.

use dwell_store::Trace;

/// Creators that are looked at.
const LOOKED_AT: usize = 6;

/// The thread that created `thread`, and the threads of other programs by which it is there at all: what a shell starts works for whoever
/// started the shell. The nearest first. A forked copy, such as a server's worker, is no other program.
pub fn creators(trace: &Trace, thread: usize) -> impl Iterator<Item = usize> {
    let threads = &trace.threads;
    let creator = |thread: &usize| threads.parent[*thread].get().filter(|parent| *parent < threads.tid.len());
    let all = std::iter::successors(creator(&thread), creator).take(LOOKED_AT).enumerate();
    all.filter(move |(number, creator)| *number == 0 || is_of_other_program(trace, thread, *creator))
        .map(|(_, creator)| creator)
}

/// Whether two threads are of processes that run different programs, or one program with different arguments.
pub fn is_of_other_program(trace: &Trace, thread: usize, other: usize) -> bool {
    let processes = &trace.processes;
    let program = |thread: usize| {
        let row = trace.threads.process[thread].get().filter(|row| *row < processes.pid.len())?;
        Some((&processes.executable[row], &processes.command_line[row]))
    };
    match (program(thread), program(other)) {
        (Some((file, command)), Some((other_file, other_command))) => {
            file != other_file || (!command.is_empty() && command != other_command)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use dwell_model::{ProcessId, ThreadId};
    use dwell_store::tables::ProcessRow;

    use super::*;
    use crate::test_support::trace_dsl::trace;

    #[test]
    fn whoever_starts_a_shell_starts_what_that_starts() {
        let mut trace = trace("a: ####\nb: ####\nc: ####\nd: ####");
        // a is main and makes b; b starts c, a shell, which starts d.
        let first = trace.processes.pid.len();
        for (number, program) in ["/bin/sh", "/bin/date"].into_iter().enumerate() {
            trace.processes.push(ProcessRow { executable: program.into(), ..process(number as u32) });
        }
        for (thread, process) in [(1, 0), (2, first), (3, first + 1)] {
            trace.threads.parent[thread] = ThreadId::new(thread - 1);
            trace.threads.process[thread] = ProcessId::new(process);
        }
        let of = |trace: &Trace, thread| creators(trace, thread).collect::<Vec<usize>>();
        assert_eq!([0, 1, 2, 3].map(|thread| of(&trace, thread)), [vec![], vec![0], vec![1, 0], vec![2, 1, 0]]);
        trace.processes.executable[first + 1] = trace.processes.executable[0].clone();
        assert_eq!(of(&trace, 3), [2], "a copy of the first program");
    }

    fn process(pid: u32) -> ProcessRow {
        ProcessRow {
            pid,
            parent: ProcessId::new(0),
            name: String::new(),
            executable: String::new(),
            command_line: String::new(),
            start_ns: 0,
            end_ns: 1,
            exit_code: 0,
            cgroup: String::new(),
            container: String::new(),
            pod: String::new(),
            unit: String::new(),
        }
    }
}
