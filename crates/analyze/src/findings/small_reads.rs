//! Many calls that receive little, each of which the kernel has to be entered for.

use std::collections::{BTreeMap, BTreeSet};

use dwell_model::{FindingDef, ProcessId, StackId};
use dwell_query::question::query::Query;
use dwell_view::Word;

use crate::findings::claim::Claim;
use crate::findings::evidence::{Evidence, heaviest};
use crate::findings::finding::Finding;
use crate::findings::process_times::ProcessTimes;
use crate::findings::small_calls::{READS, small_calls};
use crate::sentences::say;
use crate::study::socket_groups::name;

/// Little is received by a call although there is more.
pub const SMALL_READS: FindingDef = FindingDef {
    id: "small-reads",
    title: "Small reads",
    help: "Calls receive a few bytes each and leave more received data behind: a length, then a message, or a byte at \
           a time; or they read a few bytes of a file or pipe each. Each costs a system call. The cost is the sampled running \
           time within these calls, of those that receive in proportion to the avoidable ones.",
    advice: "Read into a large buffer (some kilobytes or more; a buffered reader) and take the pieces from it. A shell reads what \
             comes through a pipe byte by byte: let one program (awk, sed) go through it.",
    japanese_title: "小さな読み取り",
    japanese_advice: "大きなバッファーに読み取り (数 KB 以上、バッファー付きの読み取り)、その中から取り出してください。\
                      シェルはパイプから 1 バイトずつ読みます。1 つのプログラムに全体を処理させてください。",
};

/// Calls that left something behind from which it is a habit, and their part of all.
const LEAST_CALLS: u64 = 1000;
const CALLS_SHARE: f64 = 0.3;
/// Part of the elapsed time that they must cost.
const COST_SHARE: f64 = 0.05;
/// The calls that receive.
const RECEIVING: &[&str] = &["recv", "recvfrom", "recvmsg", "recvmmsg", "read", "readv"];

pub fn small_reads(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let mut findings = received_in_pieces(evidence);
    findings.extend(small_calls(evidence, &READS));
    findings
}

/// Sockets of which little is received by each call.
fn received_in_pieces(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let sockets = &evidence.sockets().tables.sockets;
    let sum = |rows: &[usize], column: &[u64]| rows.iter().fold(0u64, |sum, row| sum.saturating_add(column[*row]));
    // Who never waits receives, too: groups of all sockets, not of those that were waited on.
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for socket in (0..sockets.receives_short.len()).filter(|socket| sockets.receives_short[*socket] > 0) {
        let name = name(evidence.fold, evidence.sockets(), socket);
        groups.entry(name).or_default().push(socket);
    }
    groups.retain(|_, rows| {
        let (short, all) = (sum(rows, &sockets.receives_short), sum(rows, &sockets.receives));
        short >= LEAST_CALLS && short as f64 >= CALLS_SHARE * all as f64
    });
    let finding = |(subject, rows): (String, Vec<usize>)| {
        let (short, all) = (sum(&rows, &sockets.receives_short), sum(&rows, &sockets.receives));
        let processes: BTreeSet<ProcessId> = rows.iter().map(|row| sockets.process[*row]).collect();
        let calls: u64 = (0..sockets.receives.len())
            .filter(|row| processes.contains(&sockets.process[*row]))
            .map(|row| sockets.receives[row])
            .sum();
        let mut times: Vec<&ProcessTimes<'_>> =
            processes.iter().filter_map(|process| evidence.process_times().get(process)).collect();
        times.sort_by_key(|times| std::cmp::Reverse(times.within_ns(RECEIVING)));
        let time_ns: u64 = times.iter().map(|times| times.within_ns(RECEIVING)).sum();
        let cost_ns = (time_ns as f64 * short as f64 / calls.max(1) as f64) as u64;
        let text = say!(
            SMALL_READS,
            short = short,
            all = all,
            bytes = sum(&rows, &sockets.bytes_received) / all.max(1),
            cpu = Word::Ns(time_ns),
            share = Word::part(cost_ns, time_ns),
        );
        let stack = times.first().map_or(StackId::NONE, |times| heaviest(&times.within(RECEIVING).collect()));
        // Calls are counted of all the time and of all threads.
        let claims = vec![Claim::at_least("sockets", &Query::default(), "receives_short", short)];
        Finding { subject, evidence: text.into(), stack, cost_ns, claims, ..Finding::default() }
    };
    groups.into_iter().map(finding).filter(|finding| evidence.share(finding.cost_ns) >= COST_SHARE).collect()
}
