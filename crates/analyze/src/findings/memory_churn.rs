//! Memory that is taken from the kernel and given back again and again.

use dwell_model::{FindingDef, ProcessId, StackId};
use dwell_query::stacks::system_calls::PAGE_FAULTS;
use dwell_view::Word;

use crate::findings::claim::Claim;
use crate::findings::evidence::{Evidence, heaviest_own};
use crate::findings::finding::Finding;
use crate::findings::process_times::ProcessTimes;
use crate::sentences::say;

/// Large pieces are allocated, touched and freed again and again.
pub const MEMORY_CHURN: FindingDef = FindingDef {
    id: "memory-churn",
    title: "Memory churn",
    help: "Memory is taken from the kernel, touched for the first time (a page fault for each page, which the kernel clears) and given \
           back, again and again: allocators do so with large pieces. Concluded from samples in page faults and in munmap, madvise, \
           brk and mmap.",
    advice: "Keep large buffers and use them again instead of allocating them for each piece of work (in NumPy out= and in-place \
             operations; reserve(), a pool). Or let the allocator keep what is freed: MALLOC_MMAP_THRESHOLD_ and \
             MALLOC_TRIM_THRESHOLD_ of glibc, jemalloc, tcmalloc; huge pages make faults fewer.",
    japanese_title: "メモリーの頻繁な取得と返却",
    japanese_advice: "処理ごとに大きな領域を割り当てず、保持して再利用してください (プールなど)。\
                      またはアロケーターに解放した領域を保持させてください。ヒュージページを使うとページフォルトが減ります。",
};

/// CPU time of a process from which it matters, ns: each program maps its libraries …
const LEAST_CPU_NS: u64 = 200_000_000;
/// … and the part of it, and of the elapsed time, that taking and giving back must cost.
const CPU_SHARE: f64 = 0.2;
const ELAPSED_SHARE: f64 = 0.05;
/// Part of that which giving back takes, at least: who only touches what he has for the first time does not churn.
const GIVEN_BACK: f64 = 0.05;
/// Calls that give memory back, …
const GIVES: &[&str] = &["munmap", "madvise", "brk", "mremap"];
/// … and those that take it.
const TAKES: &[&str] = &["mmap", "mmap64", "mmap_pgoff"];

/// Calls that open files, and the time in them for each of that in [`GIVES`] from which on what is given back is most likely files.
const OPENS: &[&str] = &["open", "open64", "openat", "openat64", "openat2"];
const OPENED_FOR_GIVEN: f64 = 0.3;

pub fn memory_churn(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let times = evidence.process_times().iter();
    times.filter_map(|(process, times)| of_process(evidence, *process, times)).collect()
}

fn of_process(evidence: &Evidence<'_, '_>, process: ProcessId, times: &ProcessTimes<'_>) -> Option<Finding> {
    let fold = evidence.fold;
    let (faults_ns, given_ns) = (times.within_ns(&[PAGE_FAULTS]), times.within_ns(GIVES));
    let calls_ns = given_ns.saturating_add(times.within_ns(TAKES));
    let (cost_ns, cpu_ns) = (faults_ns.saturating_add(calls_ns), times.running_ns);
    let is_much = cpu_ns >= LEAST_CPU_NS
        && cost_ns as f64 >= CPU_SHARE * cpu_ns as f64
        && evidence.share(cost_ns) >= ELAPSED_SHARE;
    if !is_much || (given_ns as f64) < GIVEN_BACK * cost_ns as f64 || maps_files(evidence, times) {
        return None;
    }
    let name = process.get().and_then(|row| fold.trace.processes.name.get(row)).cloned().unwrap_or_default();
    let text = say!(
        MEMORY_CHURN,
        process = name.clone(),
        cpu = Word::Ns(cost_ns),
        share = Word::part(cost_ns, cpu_ns),
        faults = Word::Ns(faults_ns),
        calls = Word::Ns(calls_ns),
    );
    let calls = times.within(&[PAGE_FAULTS]).chain(times.within(GIVES)).chain(times.within(TAKES));
    Some(Finding {
        subject: name,
        evidence: text.into(),
        stack: heaviest_own(fold, calls),
        cost_ns,
        claims: vec![Claim::at_least("summary", fold.query, "cpu_ns", cost_ns)],
        ..Finding::default()
    })
}

/// Whether it maps files that it opened, rather than that an allocator takes memory: its own functions give back, not the C library's.
fn maps_files(evidence: &Evidence<'_, '_>, times: &ProcessTimes<'_>) -> bool {
    let given_ns = times.within_ns(GIVES);
    let stacks = &evidence.fold.sums.stacks;
    let is_by_own_code = |(stack, _): &(StackId, u64)| {
        // The first two of the program: the C library's function that makes the call, where it has one, and who calls that.
        stacks.whole_chain(*stack).skip_while(|at| stacks.is_kernel(*at)).take(2).any(|at| !stacks.is_system(at))
    };
    let by_own_code_ns: u64 = times.within(GIVES).filter(is_by_own_code).map(|(_, ns)| ns).sum();
    by_own_code_ns * 2 > given_ns && times.within_ns(OPENS) as f64 >= OPENED_FOR_GIVEN * given_ns as f64
}
