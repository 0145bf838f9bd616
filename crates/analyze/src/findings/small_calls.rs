//! Very many calls that read or write a few bytes of a file or a pipe each.

use std::collections::BTreeMap;

use dwell_model::MessageDef;
use dwell_model::{FindingDef, ProcessId, StackId};
use dwell_query::engine::fold::Fold;
use dwell_query::question::query::Query;
use dwell_store::Trace;
use dwell_view::{Sentence, Word};

use crate::findings::claim::Claim;
use crate::findings::evidence::{Evidence, heaviest_own};
use crate::findings::finding::Finding;
use crate::sentences::def;

/// Little is written by each of very many calls.
pub const SMALL_WRITES: FindingDef = FindingDef {
    id: "small-writes",
    title: "Small writes",
    help: "Calls write a few bytes of a file or a pipe each. Each costs a system call, and the work of the file system. The cost is \
           the sampled running time within these calls.",
    advice: "Collect what is to be written in a buffer of some kilobytes (BufferedWriter, bufio, BufWriter, setvbuf), and flush it at the \
             end, not after each line: std::endl, print(flush=True) and unbuffered logging flush each time.",
    japanese_title: "小さな書き込み",
    japanese_advice: "書き込む内容を数 KB のバッファーに溜め、行ごとではなく最後にフラッシュしてください。\
                      行ごとのフラッシュやバッファーなしのログ出力は、毎回書き込みます。",
};

/// Calls of one direction.
pub struct Direction {
    /// How many each thread made, and bytes.
    counts: fn(&Trace, usize) -> (u64, u64),
    /// The column of the report of threads that has the calls.
    column: &'static str,
    /// What is said of very many small ones.
    sentence: &'static MessageDef,
    /// The calls.
    calls: &'static [&'static str],
}

/// Calls that read.
pub const READS: Direction = Direction {
    counts: |trace, thread| (trace.threads.read_calls[thread], trace.threads.read_bytes[thread]),
    column: "read_calls",
    sentence: &def::SMALL_FILE_READS,
    calls: &["read", "readv", "pread", "pread64"],
};

/// Calls that write.
pub const WRITES: Direction = Direction {
    counts: |trace, thread| (trace.threads.write_calls[thread], trace.threads.write_bytes[thread]),
    column: "write_calls",
    sentence: &def::SMALL_WRITES,
    calls: &["write", "writev", "pwrite", "pwrite64"],
};

/// Calls of a process from which they are very many …
const LEAST_CALLS: u64 = 10_000;
/// … and bytes of each, on average, up to which they are small.
const SMALL_BYTES: u64 = 256;
/// Part of the elapsed time, and of the CPU time of the process, that they must cost.
const ELAPSED_SHARE: f64 = 0.05;
const CPU_SHARE: f64 = 0.15;
/// How the kernel's functions begin that read and write sockets: a server answers each of its clients by a call.
const OF_SOCKETS: &[&str] = &["sock_", "tcp_", "unix_stream_", "inet_"];

pub fn small_writes(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    small_calls(evidence, &WRITES)
}

/// The processes that make very many small calls of a direction. They are counted of all the time and of all threads: of a part nobody knows.
pub fn small_calls(evidence: &Evidence<'_, '_>, direction: &Direction) -> Vec<Finding> {
    let (fold, trace) = (evidence.fold, evidence.fold.trace);
    if fold.query.is_filtered() || fold.query.is_cut() {
        return Vec::new();
    }
    let mut counts: BTreeMap<ProcessId, (u64, u64)> = BTreeMap::new();
    for thread in trace.fiber_threads..trace.threads.tid.len() {
        let (calls, bytes) = (direction.counts)(trace, thread);
        let of_process = counts.entry(trace.threads.process[thread]).or_default();
        *of_process = (of_process.0.saturating_add(calls), of_process.1.saturating_add(bytes));
    }
    counts.retain(|_, (calls, bytes)| *calls >= LEAST_CALLS && *bytes / *calls <= SMALL_BYTES);
    let finding = |(process, (calls, bytes)): (&ProcessId, &(u64, u64))| {
        let times = evidence.process_times().get(process)?;
        let (cost_ns, cpu_ns) = (times.within_ns(direction.calls), times.running_ns);
        let in_calls = times.within(direction.calls);
        let of_sockets: u64 = in_calls.filter(|(stack, _)| is_of_socket(fold, *stack)).map(|(_, ns)| ns).sum();
        let is_much = evidence.share(cost_ns) >= ELAPSED_SHARE && cost_ns as f64 >= CPU_SHARE * cpu_ns as f64;
        if !is_much || 2 * of_sockets > cost_ns {
            return None;
        }
        let name = process.get().and_then(|row| trace.processes.name.get(row)).cloned().unwrap_or_default();
        let values = vec![
            ("process", name.as_str().into()),
            ("calls", (*calls).into()),
            ("bytes", ((*bytes + *calls / 2) / *calls).into()),
            ("cpu", Word::Ns(cost_ns)),
            ("share", Word::part(cost_ns, cpu_ns)),
        ];
        Some(Finding {
            subject: name,
            evidence: Sentence::new(direction.sentence, values).into(),
            stack: heaviest_own(fold, times.within(direction.calls)),
            cost_ns,
            claims: vec![Claim::at_least("threads", &Query::default(), direction.column, *calls)],
            ..Finding::default()
        })
    };
    counts.iter().filter_map(finding).collect()
}

/// Whether the stack's kernel part reads or writes a socket.
fn is_of_socket(fold: &Fold<'_>, stack: StackId) -> bool {
    let is_of_socket = |at: StackId| {
        let name = fold.sums.stacks.function_name(fold.sums.stacks.function(at));
        OF_SOCKETS.iter().any(|prefix| name.starts_with(prefix))
    };
    fold.sums.stacks.whole_chain(stack).take_while(|at| fold.sums.stacks.is_kernel(*at)).any(is_of_socket)
}
