//! The stacks behind a row, the heaviest first, one at a time.

use std::collections::HashMap;

use dwell_model::{ObjectId, StackId};
use dwell_query::engine::fold::Fold;
use dwell_query::measure::site::Site;
use dwell_query::measure::weights::Weights;
use dwell_query::question::words::words;
use dwell_query::stacks::frames::{StackFrame, frames};
use dwell_view::answer;

use crate::explore::path::{PathPlace, PathWalk};

words! { "kind of stack";
    /// Which stacks.
    StackKind {
        All = "all", "All", "Where threads ran and waited.";
        Cpu = "cpu", "CPU", "Where threads ran.";
        Wait = "wait", "Wait", "Where threads waited.";
        Waker = "waker", "Waker", "Where the threads were that ended the waits.";
        Creation = "creation", "Creation", "Where the objects were initialised; where that was not seen, where they were first waited on.";
    }
}

answer! {
    /// One stack of several.
    #[derive(Clone, Debug)]
    pub struct StackPane {
        /// Stacks that there are.
        pub count: usize,
        /// Which one this is.
        pub index: usize,
        /// Its time, ns.
        pub weight_ns: u64,
        /// Time of all of them, ns.
        pub total_ns: u64,
        /// Its waits.
        pub waits: u64,
        /// Its frames, leaf first.
        pub frames: Vec<StackFrame>,
        /// How the walk of the stack ended.
        pub end: &'static str,
    }
}

/// The stack number `index`, counted from 0 by weight, of those of `kind` at `place`. An index beyond the last one is
/// the last one.
pub fn stack_pane(fold: &Fold<'_>, place: &PathPlace, kind: StackKind, index: usize) -> StackPane {
    let sites = PathWalk::new(fold, place).sites();
    let mut sums: HashMap<StackId, (u64, u64)> = HashMap::new();
    for site in sites {
        let site = &fold.sums.sites[site];
        let weights = site.weights(fold.sums.class_mask);
        let (stack, ns) = part(fold, kind, site, &weights);
        if ns > 0 || (weights.wait_count > 0 && kind != StackKind::Cpu && stack.is_some()) {
            let sum = sums.entry(fold.sums.stacks.shown(stack)).or_default();
            *sum = (sum.0.saturating_add(ns), sum.1 + weights.wait_count);
        }
    }
    // Where there are none, the place is not known: that is no stack.
    if kind != StackKind::Cpu && kind != StackKind::All {
        sums.remove(&StackId::NONE);
    }
    let total_ns = sums.values().fold(0u64, |sum, (ns, _)| sum.saturating_add(*ns));
    let mut stacks: Vec<(StackId, (u64, u64))> = sums.into_iter().collect();
    stacks.sort_unstable_by(|a, b| b.1.0.cmp(&a.1.0).then(a.0.cmp(&b.0)));
    let index = index.min(stacks.len().saturating_sub(1));
    let (stack, (weight_ns, waits)) = stacks.get(index).copied().unwrap_or((StackId::NONE, (0, 0)));
    let end = stack.get().and_then(|row| fold.trace.stacks.end.get(row)).copied().unwrap_or(0);
    StackPane {
        count: stacks.len(),
        index,
        weight_ns,
        total_ns,
        waits,
        frames: frames(&fold.sums.stacks, fold.trace, stack),
        end: ENDS.get(usize::from(end)).copied().unwrap_or(ENDS[0]),
    }
}

/// The stack and the time that a site adds to it.
fn part(fold: &Fold<'_>, kind: StackKind, site: &Site, weights: &Weights) -> (StackId, u64) {
    match kind {
        StackKind::All => (site.key.stack, weights.cpu_ns().saturating_add(weights.wait_ns())),
        StackKind::Cpu => (site.key.stack, weights.cpu_ns()),
        StackKind::Wait => (site.key.stack, weights.wait_ns()),
        StackKind::Waker => (site.key.waker_stack, weights.wait_ns()),
        StackKind::Creation => (creation(fold, site.key.object), weights.wait_ns()),
    }
}

/// Where the object was initialised; where that was not seen, where it was first waited on.
fn creation(fold: &Fold<'_>, object: ObjectId) -> StackId {
    let objects = &fold.trace.objects;
    let of = |stacks: &[StackId]| object.get().and_then(|row| stacks.get(row)).copied().filter(|it| it.is_some());
    of(&objects.created_stack).or_else(|| of(&objects.first_stack)).unwrap_or(StackId::NONE)
}

/// By the code of the stacks table.
const ENDS: [&str; 6] = ["unknown", "complete", "no table", "unreadable memory", "too deep", "unsupported rule"];

#[cfg(test)]
mod tests {
    use dwell_query::question::query::Query;
    use dwell_trace_dsl::trace;

    use super::*;

    fn creations(trace: &dwell_store::Trace) -> StackPane {
        let query = Query::default();
        let fold = Fold::new(trace, &query).unwrap();
        stack_pane(&fold, &PathPlace::default(), StackKind::Creation, 0)
    }

    #[test]
    fn an_object_is_created_where_it_was_initialised() {
        let mut trace = trace("a: 1mm1\nb: 1111");
        let first = creations(&trace);
        assert_eq!((first.count, first.waits), (1, 1), "where it was first waited on: {first:?}");
        let elsewhere = trace.samples.stack[0];
        trace.objects.created_stack[0] = elsewhere;
        let created = creations(&trace);
        assert_eq!(created.weight_ns, first.weight_ns);
        assert_ne!(created.frames[0].function, first.frames[0].function);
    }
}
