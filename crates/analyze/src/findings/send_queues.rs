//! What waits to be sent over TCP, by looks at the connections: for a reader that does not keep up, or for an acknowledgement. No thread
//! needs to wait for it: an event loop has other things to do.

use std::collections::{BTreeMap, BTreeSet};

use dwell_model::{FindingDef, ProcessId, Syscall};
use dwell_view::{Sentence, Word};

use crate::findings::evidence::Evidence;
use crate::findings::finding::Finding;
use crate::sentences::say;
use crate::study::send_queues::{SendQueue, Sender, send_queues};
use crate::study::step_function::StepFunction;

/// Somebody reads slower than he is sent to, and the sender's threads do not wait for that.
pub const SLOW_READER: FindingDef = FindingDef {
    id: "slow-reader",
    title: "A reader does not keep up",
    help: "A process has more to send than the other end of a connection reads: its receive window is full. No thread \
           waits for that, but whatever waits in an event loop for the send to end does (await send, drain, a write \
           callback), and what it would serve next. From looks at the connections, some 15 a second.",
    advice: "Give each client a queue of its own with a limit, and drop, merge or disconnect what falls behind; send to \
             all of them at the same time and with a time limit: where each is awaited in turn, the slowest one \
             decides for all.",
    japanese_title: "読み取りが追いつかない相手",
    japanese_advice: "クライアントごとに上限のあるキューを設け、遅れた分は破棄、統合、または切断してください。\
                      送信は全員に同時に、時間制限を付けて行います。順番に待つと、最も遅い相手が全体を決めます。",
};

/// Calls that send.
const SENDS: &[&str] = &["write", "writev", "pwritev", "pwritev2", "sendto", "sendmsg", "sendmmsg", "sendfile"];
/// Part of the time in which it waits.
const OFTEN: f64 = 0.3;
/// Part of it for which threads of the process wait to send, from which on these waits tell it; and part of the time in which the process
/// runs, from which on it is no wonder.
const BLOCKED: f64 = 0.3;
const BUSY: f64 = 0.5;
/// Part of the time that connections are held on average for that to be told.
const HELD: f64 = 0.1;

pub fn slow_reader(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let fold = evidence.fold;
    let finding = |(sender, queue): (Sender<'_>, SendQueue)| {
        let spans: Vec<(u64, u64)> = queue.unread.spans(fold.trace.elapsed_ns());
        let ns = spans.iter().map(|(from, to)| fold.sums.windows.overlap_ns(*from, *to)).fold(0, u64::saturating_add);
        if evidence.share(ns) < OFTEN || is_at_work(evidence, sender.0, ns) {
            return None;
        }
        let mean = queue.unread.mean(fold.sums.windows.parts());
        let text = say!(
            SLOW_READER,
            process = process_name(evidence, sender.0),
            connections = Word::Real(mean, 1),
            time = Word::Ns(ns),
        );
        Some(found(evidence, sender, &queue.unread, text))
    };
    told(evidence).into_iter().filter_map(finding).collect()
}

/// What Nagle's algorithm holds, where the calls that send it were not recorded.
pub fn held_by_nagle(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let finding = |(sender, queue): (Sender<'_>, SendQueue)| {
        let mean = queue.held.mean(evidence.fold.sums.windows.parts());
        let text =
            say!(NAGLE_HELD_AT_LOOKS, process = process_name(evidence, sender.0), connections = Word::Real(mean, 1),);
        (mean >= HELD).then(|| found(evidence, sender, &queue.held, text))
    };
    told(evidence).into_iter().filter_map(finding).collect()
}

/// The queues. They are of all threads of a process.
fn told<'t>(evidence: &Evidence<'_, 't>) -> BTreeMap<Sender<'t>, SendQueue> {
    if evidence.fold.query.is_filtered() { BTreeMap::new() } else { send_queues(evidence.fold.trace) }
}

fn found(
    evidence: &Evidence<'_, '_>,
    (process, _, endpoint): Sender<'_>,
    waiting: &StepFunction,
    text: Sentence,
) -> Finding {
    let cost_ns = (waiting.mean(evidence.fold.sums.windows.parts()) * evidence.elapsed_ns as f64) as u64;
    let subject = format!("{} ({endpoint})", process_name(evidence, process));
    Finding { subject, evidence: text.into(), cost_ns, ..Finding::default() }
}

fn process_name<'t>(evidence: &Evidence<'_, 't>, process: ProcessId) -> &'t str {
    process.get().and_then(|row| evidence.fold.trace.processes.name.get(row)).map_or("", String::as_str)
}

/// Whether the threads of a process run for much of the time, or wait to send for much of `ns`.
fn is_at_work(evidence: &Evidence<'_, '_>, process: ProcessId, ns: u64) -> bool {
    let (fold, events) = (evidence.fold, evidence.fold.trace.events());
    let threads: BTreeSet<usize> =
        (0..fold.trace.threads.tid.len()).filter(|thread| fold.trace.threads.process[*thread] == process).collect();
    let mut running_ns = 0u64;
    for (_, site, weights) in fold.selected() {
        let is_of = site.key.thread.get().is_some_and(|thread| threads.contains(&thread));
        running_ns = running_ns.saturating_add(if is_of { weights.cpu_ns() } else { 0 });
    }
    let mut sending_ns = 0u64;
    for thread in threads {
        events.off_cpu.for_each(events.off_cpu.of(thread), |_, key, times| {
            let call = events.key(key).syscall();
            let sends = call >= 0 && SENDS.contains(&Syscall::name_of(call).as_str());
            if sends {
                let until = times.start_ns.saturating_add(times.wait_ns);
                sending_ns = sending_ns.saturating_add(fold.sums.windows.overlap_ns(times.start_ns, until));
            }
        });
    }
    evidence.share(running_ns) >= BUSY || sending_ns as f64 >= BLOCKED * ns as f64
}
