//! Garbage collection: what the collectors of known runtimes are called. By functions anywhere on the stack, since a collection is
//! all that happens below them.

use dwell_model::StackId;
use dwell_store::WordMap;
use dwell_view::glob;

use crate::stacks::call_stacks::CallStacks;

/// Functions that collect garbage, demangled; `*` stands for any characters.
const COLLECT: &[&str] = &[
    // HotSpot: operations that stop the program, and what its collectors' threads do.
    "VM_GenCollect*",
    "VM_GenFullGC*",
    "VM_Serial*Collect*",
    "VM_Parallel*Collect*",
    "VM_ParallelGC*",
    "VM_G1*",
    "VM_X*",
    "VM_Z*",
    "VM_Shenandoah*",
    "VM_CollectFor*",
    "VM_GC_*",
    "GCTaskThread::run*",
    "GangWorker::loop*",
    "ParallelScavengeHeap::*",
    "PSScavenge::*",
    "PSParallelCompact*",
    "PSPromotionManager::*",
    "SerialHeap::do_collection*",
    "GenCollectedHeap::do_collection*",
    "GenMarkSweep::*",
    "MarkSweep::*",
    "G1ConcurrentMark*",
    "G1ParTask::work*",
    "G1Evacuate*",
    "G1FullGC*",
    "G1CollectedHeap::do_collection*",
    "ShenandoahConcurrent*",
    "ShenandoahHeap::*collect*",
    "ZDriver*::*",
    "ZGeneration*::*",
    // Go.
    "runtime.gcBgMarkWorker*",
    "runtime.gcAssistAlloc*",
    "runtime.gcStart*",
    "runtime.gcMarkDone*",
    "runtime.gcMarkTermination*",
    "runtime.bgsweep*",
    // V8.
    "v8::internal::Heap::CollectGarbage*",
    "v8::internal::Heap::PerformGarbageCollection*",
    "v8::internal::MarkCompactCollector::*",
    "v8::internal::ScavengerCollector::*",
    "v8::internal::Scavenger*::*",
    "v8::internal::ConcurrentMarking::*",
    "v8::internal::Sweeper::*",
    // .NET.
    "WKS::gc_heap::*",
    "SVR::gc_heap::*",
    // CPython.
    "gc_collect_main*",
    "gc_collect_generations*",
    "_PyGC_Collect*",
    // Ruby.
    "gc_start*",
    "gc_marks*",
    "gc_sweep*",
    "garbage_collect*",
    // OCaml.
    "caml_major_collection_slice*",
    "caml_minor_collection*",
    "caml_empty_minor_heap*",
    // Boehm's.
    "GC_try_to_collect*",
    "GC_collect_a_little*",
    "GC_mark_*",
];

/// Functions by which an interpreter ends: it takes apart all that there is.
const END: &[&str] = &["_PyGC_CollectNoFail*", "Py_FinalizeEx*"];

/// What a function has to do with garbage; of a stack the greatest stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// Nothing.
    None,
    /// It collects it.
    Collects,
    /// It ends the interpreter.
    Ends,
}

impl Part {
    fn of(function: &str) -> Self {
        let is_one_of = |patterns: &[&str]| patterns.iter().any(|pattern| glob(pattern, function));
        match (is_one_of(END), is_one_of(COLLECT)) {
            (true, _) => Self::Ends,
            (false, true) => Self::Collects,
            (false, false) => Self::None,
        }
    }
}

/// Which functions collect garbage, each judged once.
#[derive(Default)]
pub struct CollectorFunctions {
    memo: WordMap<u32, Part>,
}

impl CollectorFunctions {
    /// Whether a thread collects garbage at `stack`.
    pub fn are_at(&mut self, stacks: &CallStacks<'_>, stack: StackId) -> bool {
        let parts = stacks.whole_chain(stack).map(|place| {
            let function = stacks.function(place);
            *self.memo.entry(function).or_insert_with(|| Part::of(stacks.function_name(function)))
        });
        parts.max() == Some(Part::Collects)
    }
}
