//! Threads whose end others wait for, and what they run.

use std::collections::HashSet;

use dwell_model::{StackId, ThreadId};
use dwell_store::tables::OffCpu;

use super::sources::Sources;
use crate::hash::FastMap;

/// The thread that ended each of the `wanted` waits, by the wait's number; none where several did or nobody.
pub fn enders(wanted: &HashSet<u32>, off_cpu: &OffCpu) -> FastMap<u32, ThreadId> {
    let mut enders: FastMap<u32, ThreadId> = FastMap::default();
    if wanted.is_empty() {
        return enders;
    }
    for (&wait, &waker) in off_cpu.object.iter().zip(&off_cpu.waker) {
        if waker.is_some() && wanted.contains(&wait.raw()) {
            let ender = enders.entry(wait.raw()).or_insert(waker);
            if *ender != waker {
                *ender = ThreadId::NONE;
            }
        }
    }
    enders.retain(|_, thread| thread.is_some());
    enders
}

/// The function that each of the `joined` threads runs: the first of their stacks that tells.
pub fn functions<'a>(joined: &HashSet<ThreadId>, sources: &Sources<'a>) -> FastMap<ThreadId, &'a str> {
    let mut functions = FastMap::default();
    if joined.is_empty() {
        return functions;
    }
    let mut told: FastMap<StackId, Option<&str>> = FastMap::default();
    for (&thread, &stack) in sources.off_cpu.thread.iter().zip(&sources.off_cpu.stack) {
        if !stack.is_some() || !joined.contains(&thread) || functions.contains_key(&thread) {
            continue;
        }
        let resolved = || sources.stacks.get(stack.get()?).and_then(|&stack| sources.code.thread_function(stack));
        if let Some(function) = *told.entry(stack).or_insert_with(resolved) {
            functions.insert(thread, function);
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use dwell_model::ObjectId;

    use super::*;

    #[test]
    fn a_wait_that_two_threads_ended_is_for_neither() {
        let (first, second) = (ThreadId::new(1), ThreadId::new(2));
        let rows = [(0, first), (1, first), (1, second), (2, ThreadId::NONE), (2, second), (3, first)];
        let off_cpu = OffCpu {
            object: rows.iter().map(|&(wait, _)| ObjectId::new(wait)).collect(),
            waker: rows.iter().map(|&(_, waker)| waker).collect(),
            ..OffCpu::default()
        };
        let mut found: Vec<_> = enders(&[0, 1, 2].into(), &off_cpu).into_iter().collect();
        found.sort_unstable();
        assert_eq!(found, [(0, first), (2, second)]);
    }
}
