//! Which thread ended each process. The kernel tells the parent of the end when the last thread is gone, which may be a helper of a
//! runtime that the first one's end took with it.

use std::collections::HashMap;

use dwell_store::Trace;

use crate::study::critical_path::ending_thread;

/// See the module.
pub struct ProcessEnds<'t> {
    trace: &'t Trace,
    /// The threads of each process.
    members: Vec<Vec<usize>>,
    known: HashMap<usize, Option<usize>>,
}

impl<'t> ProcessEnds<'t> {
    /// Those of a trace.
    pub fn new(trace: &'t Trace) -> Self {
        let mut members = vec![Vec::new(); trace.processes.pid.len()];
        for (thread, process) in trace.threads.process.iter().enumerate() {
            if let Some(of_process) = process.get().and_then(|row| members.get_mut(row)) {
                of_process.push(thread);
            }
        }
        Self { trace, members, known: HashMap::new() }
    }

    /// The thread that ended the process of `thread`, with whose end the process was gone.
    pub fn ender(&mut self, thread: usize) -> usize {
        let process = self.trace.threads.process[thread].get();
        let Some((row, members)) = process.and_then(|row| Some((row, self.members.get(row)?))) else { return thread };
        if members.len() < 2 {
            return thread;
        }
        let ender = || ending_thread(self.trace, row, members, self.trace.threads.end_ns[thread].saturating_add(1));
        self.known.entry(row).or_insert_with(ender).unwrap_or(thread)
    }
}
