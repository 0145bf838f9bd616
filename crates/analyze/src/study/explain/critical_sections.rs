//! Whether a thread ran inside a lock's critical section. From one release on, a lock counts as held by whoever takes it next: that thread
//! may still run without it, since on a busy machine the one that was woken needs a while to get a CPU.
//!
//! A critical section begins and ends within one call of a function. That function is the innermost one that the stacks which release the
//! lock share with stacks that wait for it. This does not hold for locks that a transaction keeps from one call to the next.

use std::collections::HashSet;

use dwell_model::StackId;
use dwell_query::stacks::call_stacks::{CallStacks, FunctionId};
use dwell_store::Trace;

use crate::study::explain::names::Names;
use crate::study::explain::roots::RootCause;
use crate::study::explain::terms::LabelId;
use crate::study::explain::wait_ends::waker_of;

/// Whether the cause of waits for a lock ran outside of the lock's critical sections. False where these are not known.
pub fn runs_outside_critical_section(
    (trace, stacks, names): (&Trace, &CallStacks<'_>, &Names<'_, '_>),
    root: &RootCause,
    lock: LabelId,
) -> bool {
    let events = trace.events();
    let (mut waiting, mut releasing) = (HashSet::new(), HashSet::new());
    for key in events.keys.iter().filter(|key| names.has_label(key, lock)) {
        waiting.insert(key.stack());
        let is_theirs = |waker: usize| names.role_of(waker) == root.cause.role;
        if waker_of(key).is_some_and(is_theirs) && key.waker_stack().is_some() {
            releasing.insert(key.waker_stack());
        }
    }
    let own = |stack: StackId| stacks.whole_chain(stack).filter(|at| stacks.is_own(*at)).map(|at| stacks.function(at));
    let waiters: HashSet<FunctionId> = waiting.into_iter().flat_map(own).collect();
    let section_of = |stack: StackId| own(stack).find(|function| waiters.contains(function));
    let sections: Option<HashSet<FunctionId>> = releasing.into_iter().map(section_of).collect();
    let Some(sections) = sections.filter(|sections| !sections.is_empty()) else { return false };
    let mut ran = own(root.stack).peekable();
    ran.peek().is_some() && !ran.any(|function| sections.contains(&function))
}

#[cfg(test)]
mod tests {
    use dwell_query::engine::fold::Fold;
    use dwell_query::question::query::Query;
    use dwell_trace_dsl::trace;

    use super::*;
    use crate::study::explain::explain;

    /// Whether `b` runs outside of the critical section while `a` waits: `b` releases the lock where `a` waits for it, or elsewhere.
    fn outside(releases_where_it_waits: bool) -> Vec<(String, bool)> {
        let mut trace = trace("a: #mmmmmmmm#\nb: ##111222##");
        let row = (0..trace.off_cpu.wait_ns.len()).find(|row| trace.off_cpu.wait_ns[*row] > 0).expect("a wait");
        let (there, elsewhere) = (trace.off_cpu.stack[row], trace.samples.stack[0]);
        trace.off_cpu.waker_stack[row] = if releases_where_it_waits { there } else { elsewhere };
        // `b` runs in this function, too.
        let calls =
            (0..trace.frames.function.len()).find(|frame| trace.frames.function[*frame] == "f2").expect("a frame");
        trace.frames.function[calls] = "use_m".into();
        trace.tables_changed();
        let query = Query::default();
        let fold = Fold::new(&trace, &query).expect("a fold");
        let explanation = explain(&fold);
        let lock =
            explanation.causes.iter().find_map(|root| Some(root.chains.first()?.0.first()?.label)).expect("a lock");
        let of = (&trace, &fold.sums.stacks, &explanation.names);
        let ran = explanation.causes.iter().filter(|root| root.wait_ns > 0);
        ran.map(|root| (root.function().to_owned(), runs_outside_critical_section(of, root, lock))).collect()
    }

    #[test]
    fn what_is_not_within_the_function_that_locks_and_releases_is_outside() {
        let told = outside(true);
        assert!(told.contains(&("f1".into(), true)) && told.contains(&("use_m".into(), false)), "{told:?}");
        let in_main = outside(false);
        assert!(in_main.iter().all(|(_, outside)| !outside), "{in_main:?}: only main is known to lock");
    }
}
