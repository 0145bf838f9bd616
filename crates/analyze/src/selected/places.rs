//! Sums by place: of a thread, at a stack, waiting on an object until somebody ended it, or running.

use dwell_model::{ObjectId, StackId, ThreadId, WakerKind};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::grouping::thread_label;
use dwell_query::measure::site::Site;
use dwell_query::measure::weights::Weights;
use dwell_query::stacks::call_stacks::CallStacks;

/// The time that one place took, as far as the query's range and filters let it through. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectedPlace {
    /// The thread.
    pub thread: ThreadId,
    /// What it waited on; none where it ran.
    pub object: ObjectId,
    /// Where it was, as the query's call-stack mode shows it: the end of a chain of [`frame_rows`].
    pub stack: StackId,
    /// The thread that ended the wait, where that was one of the program.
    pub waker: ThreadId,
    /// Who or what ended the wait.
    pub waker_kind: WakerKind,
    /// Whether it is a wait of an idle worker.
    pub idle: bool,
    /// Time on a CPU.
    pub cpu_ns: u64,
    /// Time blocked on the object; the run queue after that is not in it.
    pub wait_ns: u64,
    /// Waits begun, or under way when the range begins.
    pub waits: u64,
}

/// The places with any time or wait. Waits of idle workers are left out unless the query includes them, as in the flame graph:
/// they would be wider than all else.
pub fn places<'f>(fold: &'f Fold<'_>) -> impl Iterator<Item = SelectedPlace> + 'f {
    let told = |site: &Site| !site.idle || fold.query.include_idle;
    fold.selected_if(told).map(|(_, site, weights)| place(fold, site, &weights)).filter(has_weight)
}

/// Waiting time of idle workers that [`places`] leaves out, ns.
pub fn idle_wait_ns(fold: &Fold<'_>) -> u64 {
    if fold.query.include_idle { 0 } else { fold.shown().wait_ns().saturating_sub(fold.shown().blocking_ns()) }
}

/// Length of the time that the query looks at, without pauses, ns.
pub fn selected_ns(fold: &Fold<'_>) -> u64 {
    fold.sums.windows.length_ns()
}

fn place(fold: &Fold<'_>, site: &Site, weights: &Weights) -> SelectedPlace {
    SelectedPlace {
        thread: site.key.thread,
        object: site.key.object,
        stack: fold.sums.stacks.shown(site.key.stack),
        waker: site.key.waker,
        waker_kind: WakerKind::from_code(site.key.waker_kind),
        idle: site.idle,
        cpu_ns: weights.cpu_ns(),
        wait_ns: weights.wait_ns(),
        waits: weights.wait_count,
    }
}

fn has_weight(place: &SelectedPlace) -> bool {
    place.cpu_ns > 0 || place.wait_ns > 0 || place.waits > 0
}

/// Rows of the frames table that the query shows of `stack`, leaf first; empty for an unknown stack.
pub fn frame_rows<'f>(stacks: &'f CallStacks<'_>, stack: StackId) -> impl Iterator<Item = usize> + 'f {
    stacks.chain(stack).filter_map(|stack| stacks.frame(stack))
}

/// A thread as `name (tid)`.
pub fn thread_name(fold: &Fold<'_>, thread: ThreadId) -> String {
    thread_label(fold, thread)
}
