//! Collections of garbage that the program asks for: `System.gc()`, `gc.collect()`, `runtime.GC()`. Who allocates less has as many of them.

use std::collections::BTreeMap;

use dwell_model::StackId;
use dwell_query::engine::fold::Fold;
use dwell_query::stacks::frames::functions;

use crate::study::explain::places::wait_place;
use crate::study::explain::roots::RootCause;
use crate::study::explain::terms::CauseKind;

/// Functions that a program calls for a collection: of the JVM, Python, Go, Ruby, V8, .NET and Lua.
const ASKED: &[&str] = &[
    "JVM_GC",
    "gc_collect_impl",
    "gc_collect",
    "runtime.GC",
    "runtime/debug.FreeOSMemory",
    "gc_start_internal",
    "rb_gc_start",
    "v8::internal::GCExtension::GC",
    "GCInterface_Collect",
];
/// Part of the time of the collections in which such a call is under way, from which on they are asked for.
const MOSTLY: f64 = 0.5;

/// Where the program asks for most of the collections of a cause.
pub fn asked_collections(fold: &Fold<'_>, root: &RootCause) -> Option<String> {
    if root.cause.kind != CauseKind::Collected {
        return None;
    }
    let trace = fold.trace;
    let events = trace.events();
    let is_asked = |stack: StackId| functions(trace, stack).any(|function| ASKED.contains(&function));
    let asked: Vec<bool> = events.keys.iter().map(|key| is_asked(key.stack())).collect();
    let has = |key: u32| asked.get(key as usize).copied().unwrap_or_default();
    if !asked.contains(&true) {
        return None;
    }
    let mut places: BTreeMap<StackId, u64> = BTreeMap::new();
    for thread in 0..trace.threads.tid.len() {
        let mut add = |key: u32, ns: u64| {
            let of = places.entry(events.key(key).stack()).or_default();
            *of = of.saturating_add(ns);
        };
        events.off_cpu.for_each(events.off_cpu.of(thread), |_, key, times| {
            if has(key) {
                add(key, times.wait_ns);
            }
        });
        let samples = events.samples.of(thread).map(|row| events.samples.key(row)).filter(|key| has(*key));
        samples.for_each(|key| add(key, trace.manifest.sampling_interval_ns));
    }
    let asked_ns = places.values().fold(0u64, |sum, ns| sum.saturating_add(*ns));
    let (place, _) = places.into_iter().max_by_key(|(_, ns)| *ns)?;
    (asked_ns as f64 >= MOSTLY * root.wall_ns as f64).then(|| wait_place(trace, &fold.sums.stacks, place).at)
}
