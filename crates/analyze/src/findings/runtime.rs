//! CPU time that does no work: spinning, and making threads that hardly live.

use std::collections::BTreeMap;

use dwell_model::{FindingDef, Reason, StackId};
use dwell_view::Word;

use crate::findings::evidence::{Evidence, heaviest};
use crate::findings::finding::Finding;
use crate::measure::utilization::total;
use crate::sentences::say;

/// CPU time burnt while waiting.
pub const SPINNING: FindingDef = FindingDef {
    id: "spinning",
    title: "Spinning",
    help: "Threads burn CPU time while they logically wait. Concluded from samples in functions that spin, by the table \
           of patterns per runtime.",
    advice: "Block after a short spin (an adaptive mutex instead of a spin lock), hold the spin lock for less, or give \
             idle workers a way to sleep (OMP_WAIT_POLICY=passive). For MPI: give the ranks equal work; ranks that wait \
             leave the CPU to others with --mca mpi_yield_when_idle 1.",
    japanese_title: "スピン",
    japanese_advice: "短いスピンの後にブロックする (スピンロックの代わりにアダプティブ・ミューテックス)、\
                      スピンロックの保持を短くする、仕事のないワーカーを眠らせる (OMP_WAIT_POLICY=passive)。MPI ではランクの仕事を均等にします。待つランクは \
                      --mca mpi_yield_when_idle 1 で CPU を譲ります。",
};

/// Part of the CPU time from which it matters.
const SPIN_SHARE: f64 = 0.1;

pub fn spinning(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let (spin_ns, cpu_ns) = (evidence.whole.spin_ns(), evidence.whole.cpu_ns());
    if spin_ns == 0 || (spin_ns as f64) < SPIN_SHARE * cpu_ns as f64 {
        return Vec::new();
    }
    let fold = evidence.fold;
    let mut places: BTreeMap<StackId, u64> = BTreeMap::new();
    for (_, site, weights) in fold.selected() {
        *places.entry(fold.stacks.shown(site.key.stack)).or_default() += weights.spin_ns();
    }
    let stack = heaviest(&places);
    let function = fold.stacks.function_name(fold.stacks.function(stack));
    let text = say!(
        SPINNING,
        spin = Word::Ns(spin_ns),
        share = Word::part(spin_ns, cpu_ns),
        part = Word::part(places.get(&stack).copied().unwrap_or(0), spin_ns),
        function = function,
        place = fold.stacks.place(stack),
    );
    vec![Finding { subject: function.into(), evidence: text.into(), stack, cost_ns: spin_ns, during: None }]
}

/// Many threads that hardly live.
pub const THREAD_CHURN: FindingDef = FindingDef {
    id: "thread-churn",
    title: "Thread churn",
    help: "The program makes many threads that end soon. Each costs its creation, its first wait for a CPU, its stack's \
           page faults and its end.",
    advice: "Keep a pool of threads and give them the work.",
    japanese_title: "スレッドの頻繁な作成",
    japanese_advice: "スレッドのプールを保持し、それに仕事を渡してください。",
};

/// Short-lived threads from which it is churn.
const CHURN_COUNT: usize = 100;
/// Threads per second of elapsed time.
const CHURN_PER_SECOND: f64 = 50.0;
/// Longest life of a short-lived thread.
const SHORT_LIFE_NS: u64 = 20_000_000;
/// What a thread's creation and end cost at least: clone, stack, scheduler, exit and join on today's machines.
const LIFE_COST_NS: u64 = 20_000;

pub fn thread_churn(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let fold = evidence.fold;
    let threads = &fold.trace.threads;
    let inside = |thread: &usize| fold.windows.contains(threads.start_ns[*thread]);
    let is_short = |thread: &usize| {
        let life = threads.end_ns[*thread].saturating_sub(threads.start_ns[*thread]);
        threads.exited[*thread] && life <= SHORT_LIFE_NS && threads.parent[*thread].is_some()
    };
    let short: Vec<usize> = (0..threads.tid.len()).filter(inside).filter(is_short).collect();
    let per_second = short.len() as f64 * 1e9 / evidence.elapsed_ns.max(1) as f64;
    if short.len() < CHURN_COUNT || per_second < CHURN_PER_SECOND {
        return Vec::new();
    }
    let lives: u64 = short.iter().map(|thread| threads.end_ns[*thread] - threads.start_ns[*thread]).sum();
    let mut places: BTreeMap<StackId, u64> = BTreeMap::new();
    let mut queued = 0u64;
    for (_, site, weights) in fold.selected() {
        if site.key.reason == Some(Reason::Starting) {
            queued = queued.saturating_add(total(&weights.runnable));
            // Who starts a thread wakes it for the first time.
            *places.entry(site.key.waker_stack).or_default() += weights.switches;
        }
    }
    let name = &threads.name[short[0]];
    let text = say!(
        THREAD_CHURN,
        threads = short.len(),
        rate = Word::Real(per_second, 0),
        life = Word::Ns(lives / short.len() as u64),
        queued = Word::Ns(queued),
    );
    let cost_ns = queued.saturating_add(LIFE_COST_NS * short.len() as u64);
    vec![Finding {
        subject: format!("threads named {name}"),
        evidence: text.into(),
        stack: heaviest(&places),
        cost_ns,
        during: None,
    }]
}
