//! CPU time that goes into collecting garbage, whether anybody waits for it or not: beside a program that computes on all CPUs, a collector
//! that stops nobody for long takes them all the same.

use dwell_model::{FindingDef, ProcessId};
use dwell_view::Word;

use crate::findings::claim::Claim;
use crate::findings::evidence::{Evidence, heaviest_own};
use crate::findings::finding::Finding;
use crate::findings::process_times::ProcessTimes;
use crate::sentences::say;

/// Much of a process's CPU time is its garbage collector's.
pub const GARBAGE_COLLECTION: FindingDef = FindingDef {
    id: "garbage-collection",
    title: "Garbage collection",
    help: "The runtime's collector takes much of the program's CPU time, beside the program or within its allocations. Concluded \
           from samples in the functions of known collectors.",
    advice: "Allocate less (keep and use again what is the same in each piece of work), keep less alive, or let the heap grow for \
             longer between two collections (GOGC and GOMEMLIMIT of Go, -Xmx of a JVM, --max-semi-space-size of Node, \
             gc.set_threshold and gc.freeze of Python, GC settings of Ruby and OCaml).",
    japanese_title: "ガベージ・コレクション",
    japanese_advice: "割り当てを減らす (処理ごとに同じものは保持して再利用する)、生存するオブジェクトを減らす、または次の回収までにヒープが\
                      より大きくなることを許してください (ランタイムの設定)。",
};

/// CPU time of a process from which it matters, ns; a start may take some …
const LEAST_CPU_NS: u64 = 200_000_000;
/// … and the part of it, and of the elapsed time, that the collector must take.
const CPU_SHARE: f64 = 0.3;
const ELAPSED_SHARE: f64 = 0.1;

pub fn garbage_collection(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let times = evidence.process_times().iter();
    times.filter_map(|(process, times)| of_process(evidence, *process, times)).collect()
}

fn of_process(evidence: &Evidence<'_, '_>, process: ProcessId, times: &ProcessTimes<'_>) -> Option<Finding> {
    let (fold, cpu_ns) = (evidence.fold, times.running_ns);
    let collected_ns: u64 = times.collecting.values().sum();
    let is_much = cpu_ns >= LEAST_CPU_NS
        && collected_ns as f64 >= CPU_SHARE * cpu_ns as f64
        && evidence.share(collected_ns) >= ELAPSED_SHARE;
    let name = process.get().and_then(|row| fold.trace.processes.name.get(row)).filter(|_| is_much)?;
    let text = say!(
        GARBAGE_COLLECTION,
        process = name.clone(),
        cpu = Word::Ns(collected_ns),
        share = Word::part(collected_ns, cpu_ns),
    );
    Some(Finding {
        subject: name.clone(),
        evidence: text.into(),
        stack: heaviest_own(fold, times.collecting.iter().map(|(stack, ns)| (*stack, *ns))),
        cost_ns: collected_ns,
        claims: vec![Claim::at_least("summary", fold.query, "cpu_ns", collected_ns)],
        ..Finding::default()
    })
}
