//! Threads whose end others wait for, and what they run.

use std::collections::HashSet;

use dwell_model::ThreadId;

use super::sources::ObjectSources;
use crate::hash::FastMap;
use crate::replay::numbers::{StackNumber, WaitNumber};
use crate::replay::rows::RawOffCpu;

/// The thread that ended each of the `wanted` waits, by the wait; none where several did or nobody.
pub fn enders(wanted: &HashSet<WaitNumber>, off_cpu: &RawOffCpu) -> FastMap<WaitNumber, ThreadId> {
    let mut enders: FastMap<WaitNumber, ThreadId> = FastMap::default();
    if wanted.is_empty() {
        return enders;
    }
    for (&wait, &waker) in off_cpu.wait.iter().zip(&off_cpu.waker) {
        if waker.is_some() && wanted.contains(&wait) {
            let ender = enders.entry(wait).or_insert(waker);
            if *ender != waker {
                *ender = ThreadId::NONE;
            }
        }
    }
    enders.retain(|_, thread| thread.is_some());
    enders
}

/// The function that each of the `joined` threads runs: the first of their stacks that tells.
pub fn functions<'a>(joined: &HashSet<ThreadId>, sources: &ObjectSources<'a>) -> FastMap<ThreadId, &'a str> {
    let mut functions = FastMap::default();
    if joined.is_empty() {
        return functions;
    }
    let mut function_of: FastMap<StackNumber, Option<&str>> = FastMap::default();
    for (&thread, &stack) in sources.off_cpu.thread.iter().zip(&sources.off_cpu.stack) {
        if !stack.is_some() || !joined.contains(&thread) || functions.contains_key(&thread) {
            continue;
        }
        let resolved = || sources.code.thread_function(sources.stacks.get(stack));
        if let Some(function) = *function_of.entry(stack).or_insert_with(resolved) {
            functions.insert(thread, function);
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_two_threads_ended_is_for_neither() {
        let (first, second) = (ThreadId::new(1), ThreadId::new(2));
        let rows = [(0, first), (1, first), (1, second), (2, ThreadId::NONE), (2, second), (3, first)];
        let off_cpu = RawOffCpu {
            wait: rows.iter().map(|&(wait, _)| WaitNumber::new(wait)).collect(),
            waker: rows.iter().map(|&(_, waker)| waker).collect(),
            ..RawOffCpu::default()
        };
        let wanted = [0, 1, 2].map(WaitNumber::new).into();
        let mut found: Vec<_> = enders(&wanted, &off_cpu).into_iter().collect();
        found.sort_unstable();
        assert_eq!(found, [(WaitNumber::new(0), first), (WaitNumber::new(2), second)]);
    }
}
