//! Memory that is taken from the kernel and given back again and again.

use std::collections::{BTreeMap, HashMap};

use dwell_model::{FindingDef, ProcessId, StackId};
use dwell_view::Word;

use crate::engine::fold::Fold;
use crate::findings::claim::Claim;
use crate::findings::evidence::{Evidence, heaviest};
use crate::findings::finding::Finding;
use crate::findings::small_calls::{is_in_call, time_in_calls};
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
/// The kernel's entries: of page faults, …
const FAULTS: &[&str] = &["asm_exc_page_fault", "exc_page_fault", "do_user_addr_fault"];
/// … of calls that give memory back, …
const GIVES: &[&str] = &["__x64_sys_munmap", "__vm_munmap", "__x64_sys_madvise", "__x64_sys_brk", "__x64_sys_mremap"];
/// … and of those that take it; the last ones of both are the C library's, for kernels without names.
const TAKES: &[&str] = &["__x64_sys_mmap", "ksys_mmap_pgoff", "vm_mmap_pgoff"];
const GIVING: &[&str] = &["munmap", "madvise", "brk", "mremap"];
const TAKING: &[&str] = &["mmap", "mmap64"];

/// CPU time by process and stack, ns.
type Times = HashMap<ProcessId, BTreeMap<StackId, u64>>;

pub fn memory_churn(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let fold = evidence.fold;
    let within =
        |entries, wrappers| time_in_calls(fold, |fold: &Fold<'_>, stack| is_in_call(fold, stack, entries, wrappers));
    let gives = within(GIVES, GIVING);
    if gives.is_empty() {
        return Vec::new();
    }
    let (faults, takes, busy) = (within(FAULTS, &[]), within(TAKES, TAKING), time_in_calls(fold, |_, _| true));
    let of = |times: &Times, process: &ProcessId| times.get(process).map_or(0, |stacks| stacks.values().sum::<u64>());
    let finding = |process: &ProcessId| {
        let (cpu_ns, faults_ns, given_ns) = (of(&busy, process), of(&faults, process), of(&gives, process));
        let calls_ns = given_ns.saturating_add(of(&takes, process));
        let cost_ns = faults_ns.saturating_add(calls_ns);
        let is_much = cpu_ns >= LEAST_CPU_NS
            && cost_ns as f64 >= CPU_SHARE * cpu_ns as f64
            && evidence.share(cost_ns) >= ELAPSED_SHARE;
        if !is_much || (given_ns as f64) < GIVEN_BACK * cost_ns as f64 {
            return None;
        }
        let mut places: BTreeMap<StackId, u64> = BTreeMap::new();
        for (stack, ns) in [&faults, &gives, &takes].into_iter().filter_map(|times| times.get(process)).flatten() {
            *places.entry(fold.stacks.own(*stack)).or_default() += ns;
        }
        let stack = heaviest(&places);
        let names = &fold.trace.processes.name;
        let name = process.get().and_then(|row| names.get(row)).cloned().unwrap_or_default();
        let text = say!(
            MEMORY_CHURN,
            process = name.clone(),
            cpu = Word::Ns(cost_ns),
            share = Word::part(cost_ns, cpu_ns),
            faults = Word::Ns(faults_ns),
            calls = Word::Ns(calls_ns),
        );
        let claims = vec![Claim::at_least("summary", fold.query, "cpu_ns", cost_ns)];
        Some(Finding { subject: name, evidence: text.into(), stack, cost_ns, claims, ..Finding::default() })
    };
    let mut processes: Vec<&ProcessId> = gives.keys().collect();
    processes.sort_unstable();
    processes.into_iter().filter_map(finding).collect()
}
