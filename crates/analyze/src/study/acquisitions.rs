//! How long threads took to get a lock that they blocked for: from the begin of the first wait of a call until the thread ran
//! after the last one, time in the run queue and between its waits included.
//! It takes the waits that the filters let through; a call belongs to where its first wait began.
//! It does not decide which waits are of one call: the events say it ([`dwell_store::EventKey::again`]).

use std::collections::BTreeMap;

use dwell_model::{ObjectId, Outcome};
use dwell_query::engine::fold::Fold;
use dwell_query::measure::distribution::Distribution;
use dwell_query::measure::lengths::Run;
use dwell_store::Trace;

use crate::study::thread_index::ThreadIndex;

/// The source of records that sees whether a thread has left a call.
const SOURCE: &str = "bpf";
/// Rows of a thread that are looked at for the next wait of a call: it may be preempted in between.
const ROWS_BETWEEN: usize = 16;

/// Whether the trace tells which waits are of one call.
pub fn are_known(trace: &Trace) -> bool {
    trace.manifest.source == SOURCE
}

/// The times to get each lock. Where the rows are too many, those of slices of the time stand for all.
pub fn lengths(fold: &Fold<'_>) -> BTreeMap<ObjectId, Distribution> {
    let mut lengths: BTreeMap<ObjectId, Distribution> = BTreeMap::new();
    if !are_known(fold.trace) {
        return lengths;
    }
    let index = ThreadIndex::new(fold.trace);
    let selected = fold.rows().rows.iter().filter(|(_, site)| fold.sums.sites[*site as usize].selected);
    for (row, _) in selected {
        let row = *row as usize;
        let key = fold.trace.events().off_cpu_key(row);
        if key.again() || !fold.object_type(key.object()).is_taken() {
            continue;
        }
        if let Some(ns) = length(fold, &index, row) {
            lengths.entry(key.object()).or_default().add(&Run::one(0, 0, ns));
        }
    }
    lengths
}

/// From the begin of the wait `first` to the end of the last one of its call; none where the thread did not get the lock.
fn length(fold: &Fold<'_>, index: &ThreadIndex<'_>, first: usize) -> Option<u64> {
    let events = fold.trace.events();
    let thread = events.off_cpu_key(first).thread().get()?;
    let mut last = first;
    while let Some(next) = next_of_call(fold, index, thread, last) {
        last = next;
    }
    let got = Outcome::from_code(events.off_cpu_key(last).outcome()) == Outcome::Woken;
    got.then(|| events.off_cpu.end_ns(last).saturating_sub(events.off_cpu.start_ns(first)))
}

/// The wait that goes on with the wait `row`.
fn next_of_call(fold: &Fold<'_>, index: &ThreadIndex<'_>, thread: usize, row: usize) -> Option<usize> {
    let events = fold.trace.events();
    let object = fold.object_of(row);
    let next = index.rows_after(thread, row).take(ROWS_BETWEEN).find(|next| fold.object_of(*next).is_some())?;
    let key = events.off_cpu_key(next);
    (key.again() && key.object() == object).then_some(next)
}
