//! Garbage collection: what the collectors of known runtimes are called. By functions anywhere on the stack, since a collection is
//! all that happens below them.

use dwell_model::StackId;
use dwell_store::WordMap;
use dwell_view::glob;

use crate::stacks::call_stacks::CallStacks;

/// A runtime's collector.
struct Collector {
    /// Functions that collect garbage, demangled; `*` stands for any characters.
    functions: &'static [&'static str],
    /// Settings that give the heap more room, or let it collect less often.
    settings: &'static str,
}

#[rustfmt::skip]
const COLLECTORS: &[Collector] = &[
    // HotSpot: operations that stop the program, and what its collectors' threads do.
    Collector { settings: "-Xmx", functions: &[
        "VM_GenCollect*", "VM_GenFullGC*", "VM_Serial*Collect*", "VM_Parallel*Collect*", "VM_ParallelGC*", "VM_G1*", "VM_X*", "VM_Z*",
        "VM_Shenandoah*", "VM_CollectFor*", "VM_GC_*", "GCTaskThread::run*", "GangWorker::loop*", "ParallelScavengeHeap::*",
        "PSScavenge::*", "PSParallelCompact*", "PSPromotionManager::*", "SerialHeap::do_collection*",
        "GenCollectedHeap::do_collection*", "GenMarkSweep::*", "MarkSweep::*", "G1ConcurrentMark*", "G1ParTask::work*", "G1Evacuate*",
        "G1FullGC*", "G1CollectedHeap::do_collection*", "ShenandoahConcurrent*", "ShenandoahHeap::*collect*", "ZDriver*::*",
        "ZGeneration*::*",
    ] },
    Collector { settings: GO_SETTINGS, functions: &[
        "runtime.gcBgMarkWorker*", "runtime.gcAssistAlloc*", "runtime.gcStart*", "runtime.gcMarkDone*", "runtime.gcMarkTermination*",
        "runtime.bgsweep*",
    ] },
    // V8.
    Collector { settings: "--max-semi-space-size, --max-old-space-size", functions: &[
        "v8::internal::Heap::CollectGarbage*", "v8::internal::Heap::PerformGarbageCollection*", "v8::internal::MarkCompactCollector::*",
        "v8::internal::ScavengerCollector::*", "v8::internal::Scavenger*::*", "v8::internal::ConcurrentMarking::*",
        "v8::internal::Sweeper::*",
    ] },
    // .NET.
    Collector { settings: "DOTNET_GCgen0size, DOTNET_gcServer", functions: &["WKS::gc_heap::*", "SVR::gc_heap::*"] },
    // CPython.
    Collector { settings: "gc.set_threshold, gc.freeze", functions: &[
        "gc_collect_main*", "gc_collect_generations*", "_PyGC_Collect*",
    ] },
    // Ruby.
    Collector { settings: "RUBY_GC_HEAP_GROWTH_FACTOR, RUBY_GC_MALLOC_LIMIT", functions: &[
        "gc_start*", "gc_marks*", "gc_sweep*", "garbage_collect*",
    ] },
    // OCaml.
    Collector { settings: "OCAMLRUNPARAM=s=4M,o=200", functions: &[
        "caml_major_collection_slice*", "caml_minor_collection*", "caml_empty_minor_heap*",
    ] },
    // GHC.
    Collector { settings: "+RTS -A64m, -qg", functions: &[
        "GarbageCollect", "scavenge_until_all_done*", "gcWorkerThread*", "scheduleDoGC*",
    ] },
    // Erlang.
    Collector { settings: "min_heap_size, fullsweep_after", functions: &["erts_garbage_collect*"] },
    // Lua, LuaJIT.
    Collector { settings: "collectgarbage(\"setpause\")", functions: &["lj_gc_*", "luaC_*"] },
    // R, Julia, SBCL.
    Collector { settings: "R_GC_MEM_GROW, R_MAX_VSIZE", functions: &["R_gc_internal*"] },
    Collector { settings: "--heap-size-hint, --gcthreads", functions: &["ijl_gc_collect*", "_jl_gc_collect*"] },
    Collector { settings: "--dynamic-space-size, sb-ext:bytes-consed-between-gcs", functions: &["collect_garbage*"] },
    // Boehm's.
    Collector { settings: "GC_INITIAL_HEAP_SIZE, GC_FREE_SPACE_DIVISOR", functions: &[
        "GC_try_to_collect*", "GC_collect_a_little*", "GC_mark_*",
    ] },
];

/// Go's settings of its collector.
pub const GO_SETTINGS: &str = "GOGC, GOMEMLIMIT";
/// Those of several runtimes, where it is not known whose collector it is.
pub const ANY_SETTINGS: &str = "GOGC of Go, -Xmx of a JVM, --max-semi-space-size of Node";

/// The settings that give the heap more room, of the collector whose functions are among those of a stack, leaf first. The outermost one tells:
/// collectors call some of their inner functions alike.
pub fn heap_settings<'f>(functions: impl Iterator<Item = &'f str>) -> Option<&'static str> {
    functions.filter_map(collector_of).last().map(|collector| collector.settings)
}

fn collector_of(function: &str) -> Option<&'static Collector> {
    COLLECTORS.iter().find(|collector| is_one_of(collector.functions, function))
}

fn is_one_of(patterns: &[&str], function: &str) -> bool {
    patterns.iter().any(|pattern| glob(pattern, function))
}

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
        match (is_one_of(END, function), collector_of(function).is_some()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_collector_tells_whose_settings_help() {
        let of = |functions: &str| heap_settings(functions.split(' '));
        assert_eq!(
            of("sweep garbage_collect erts_garbage_collect_nobump process_main"),
            Some("min_heap_size, fullsweep_after")
        );
        assert_eq!(
            of("caml_empty_minor_heap caml_alloc_small_dispatch camlMain__fold"),
            Some("OCAMLRUNPARAM=s=4M,o=200")
        );
        assert_eq!(of("runtime.scanobject runtime.gcAssistAlloc1 main.read"), Some(GO_SETTINGS));
        assert_eq!(of("gc_sweep lj_gc_step lj_vm_call main"), Some("collectgarbage(\"setpause\")"));
        assert_eq!(of("memcpy main"), None);
    }
}
