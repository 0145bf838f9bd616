//! Time by thread and stack: what formats have that know nothing but stacks with weights.

use std::collections::BTreeMap;

use dwell_analyze::Fold;
use dwell_analyze::selected::{SelectedPlace, places};
use dwell_model::{StackId, ThreadId};

/// What the weight of a stack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackWeight {
    /// Time on a CPU, ns.
    Cpu,
    /// Time blocked on an object, ns.
    Wait,
}

impl StackWeight {
    /// What it is of a place, ns.
    pub fn of(self, place: &SelectedPlace) -> u64 {
        match self {
            Self::Cpu => place.cpu_ns,
            Self::Wait => place.wait_ns,
        }
    }
}

/// The weight of each thread at each stack, ns; none of them is zero.
pub fn stack_sums(fold: &Fold<'_>, weight: StackWeight) -> BTreeMap<(ThreadId, StackId), u64> {
    let mut sums: BTreeMap<(ThreadId, StackId), u64> = BTreeMap::new();
    for place in places(fold).filter(|place| weight.of(place) > 0) {
        let sum = sums.entry((place.thread, place.stack)).or_default();
        *sum = sum.saturating_add(weight.of(&place));
    }
    sums
}
