//! What waits in a queue of the network: connections for accept, answers behind a slow one.

use std::collections::{BTreeMap, BTreeSet};

use dwell_model::{FindingDef, SocketCause, SocketDirection, StackId, ThreadId};
use dwell_query::measure::quantile::median_of;
use dwell_view::{Prose, Word};

use crate::findings::claim::Claim;
use crate::findings::evidence::{Evidence, heaviest};
use crate::findings::finding::Finding;
use crate::sentences::say;
use crate::study::socket_groups::name;
use crate::study::sockets::{SocketWait, SocketWaits, main_cause};

/// Part of the elapsed time that a queue must cost.
const COST_SHARE: f64 = 0.05;

/// Connections are made faster than they are accepted.
pub const ACCEPT_BOTTLENECK: FindingDef = FindingDef {
    id: "accept-bottleneck",
    title: "Connections wait to be accepted",
    help: "Connections that the kernel has made wait in a listener's queue until the program accepts them; when it is \
           full, the kernel drops more, and their clients retry after a second or more. Dwell reads the number of \
           waiting connections when each one comes and every 50 ms: the stated waiting time is a lower bound.",
    advice: "Let one thread, or several (SO_REUSEPORT), do nothing but accept, and others do the work; for bursts, \
             raise the backlog of listen() and net.core.somaxconn.",
    japanese_title: "受け付けを待つ接続",
    japanese_advice: "接続を受け付けるだけのスレッドを置き (または SO_REUSEPORT で複数)、\
                      処理は別のスレッドに渡してください。一時的な集中には listen のバックログ\
                      と net.core.somaxconn を上げます。",
};

/// Connections from which waiting is no accident, and how long one has to wait on average: a server whose CPUs are busy lets
/// each wait a little.
const LEAST_ARRIVALS: u64 = 10;
const LEAST_WAIT_NS: u64 = 5_000_000;
/// So many times as long as it does anything a thread is ready to run that lacks a CPU.
const STARVED: u64 = 3;

pub fn accept_bottleneck(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let (fold, waits) = (evidence.fold, evidence.sockets());
    let sockets = &waits.tables.sockets;
    let is_slow = |socket: &usize| {
        let (arrivals, queued_ns) = (sockets.arrivals[*socket], sockets.queued_ns[*socket]);
        let costs = evidence.share(queued_ns) >= COST_SHARE && queued_ns >= arrivals.saturating_mul(LEAST_WAIT_NS);
        let late = costs && !is_starved(evidence, waits, *socket);
        sockets.listening[*socket] && arrivals >= LEAST_ARRIVALS && (late || sockets.drops[*socket] > 0)
    };
    let finding = |socket: usize| {
        let (arrivals, queued_ns) = (sockets.arrivals[socket], sockets.queued_ns[socket]);
        let text = say!(
            QUEUED,
            connections = arrivals,
            queued = Word::Ns(queued_ns),
            each = Word::Ns(queued_ns / arrivals.max(1)),
            most = u64::from(sockets.most_queued[socket]),
            limit = u64::from(sockets.backlog_limit[socket]),
        );
        let drops = Some(sockets.drops[socket]).filter(|drops| *drops > 0).map(|drops| say!(DROPPED, drops = drops));
        let mut stacks: BTreeMap<StackId, u64> = BTreeMap::new();
        waits.of_socket[socket].iter().for_each(|wait| *stacks.entry(wait.stack).or_default() += waits.wait_ns(wait));
        let subject = format!("{} listen {}", waits.protocol(socket).title(), sockets.local[socket]);
        // Several listeners can have one address.
        let shown = [("arrivals", arrivals), ("queued_ns", queued_ns)];
        let claim = |(column, number)| {
            Claim::at_least("sockets", fold.query, column, number).of("local", &sockets.local[socket])
        };
        Finding {
            subject,
            evidence: Prose::from(text).and(drops),
            stack: heaviest(&stacks),
            cost_ns: queued_ns,
            claims: shown.map(claim).into(),
            ..Finding::default()
        }
    };
    // What is counted is of all the time and of all threads.
    let whole = fold.query.is_of_all();
    (0..sockets.listening.len()).filter(|socket| whole && is_slow(socket)).map(finding).collect()
}

/// Whether the threads that accept were ready to, most of the time that they did not wait for connections: what they lack is
/// a CPU.
fn is_starved(evidence: &Evidence<'_, '_>, waits: &SocketWaits<'_>, listener: usize) -> bool {
    let waits = &waits.of_socket[listener];
    let table = &evidence.sockets().tables.waits;
    let threads: BTreeSet<ThreadId> = waits.iter().map(|wait| table.thread[wait.row]).collect();
    let accepting_ns = evidence.sockets().total_ns(waits);
    let (mut runnable_ns, mut other_ns) = (0u64, 0u64);
    for (_, site) in evidence.fold.selected_sites().filter(|(_, site)| threads.contains(&site.key.thread)) {
        runnable_ns = site.runnable.iter().fold(runnable_ns, |sum, ns| sum.saturating_add(*ns));
        other_ns = other_ns.saturating_add(site.busy_ns([true; 5]));
    }
    runnable_ns > STARVED.saturating_mul(other_ns.saturating_sub(accepting_ns))
}

/// Answers come in order, and one is slow.
pub const HEAD_OF_LINE_BLOCKING: FindingDef = FindingDef {
    id: "head-of-line-blocking",
    title: "Answers wait behind a slow one",
    help: "Several questions are pending on one connection, and their answers come one after the other; sometimes one \
           takes much longer than the others and delays those behind it. Concluded from waits many times as long as \
           usual that began with several questions sent and ended with several answers.",
    advice: "Send slow questions on a connection of their own, or number questions so that the server can answer each as \
             soon as it is ready.",
    japanese_title: "1 つの遅い応答の後ろで待つ応答",
    japanese_advice: "遅い要求には別の接続を使うか、サーバーが準備のできた順に応答できるように、\
                      要求に番号を付けてください。",
};

/// A wait is long from so many times the usual one on.
const LONG_FACTOR: u64 = 5;
/// Questions on their way from which answers wait for one another.
const LEAST_QUESTIONS: u32 = 4;
/// Bytes up to which what a call sends is a question of its own, and no piece of something large.
const QUESTION_BYTES: u64 = 2048;
/// Waits from which it is no accident.
const LEAST_WAITS: usize = 3;

pub fn head_of_line_blocking(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let sockets = evidence.sockets();
    let table = &sockets.tables.sockets;
    let asking = (0..table.asks.len()).filter(|socket| table.asks[*socket]);
    asking.filter_map(|socket| blocked(evidence, sockets, socket)).collect()
}

fn blocked(evidence: &Evidence<'_, '_>, sockets: &SocketWaits<'_>, socket: usize) -> Option<Finding> {
    let (waits, table) = (sockets.of_socket.get(socket)?, &sockets.tables.sockets);
    let usual_ns = median_of(waits.iter().map(|wait| sockets.wait_ns(wait)).collect());
    let is_blocked = |at: &usize| {
        let long = sockets.wait_ns(&waits[*at]) >= usual_ns.saturating_mul(LONG_FACTOR);
        long && asks_several(sockets, &waits[*at])
            && is_for_answers(sockets, &waits[*at])
            && answers(sockets, waits, *at) >= 2
    };
    let blocked: Vec<&SocketWait> = (0..waits.len()).filter(is_blocked).map(|at| &waits[at]).collect();
    let long_ns = sockets.total_ns(blocked.iter().copied());
    let cost_ns = long_ns.saturating_sub(usual_ns.saturating_mul(blocked.len() as u64));
    if blocked.len() < LEAST_WAITS || evidence.share(cost_ns) < COST_SHARE {
        return None;
    }
    let questions = blocked.iter().map(|wait| u64::from(sockets.tables.waits.sends_before[wait.row]));
    let mut stacks: BTreeMap<StackId, u64> = BTreeMap::new();
    blocked.iter().for_each(|wait| *stacks.entry(wait.stack).or_default() += sockets.wait_ns(wait));
    let text = say!(
        BEHIND_SLOW,
        long = blocked.len(),
        waits = waits.len(),
        length = Word::Ns(median_of(blocked.iter().map(|wait| sockets.wait_ns(wait)).collect())),
        usual = Word::Ns(usual_ns),
        share = Word::part(long_ns, sockets.total_ns(waits)),
        questions = median_of(questions.collect()),
    );
    let subject = name(evidence.fold, sockets, socket);
    let local = Some(&table.local[socket]).filter(|local| !local.is_empty());
    let claim = |local| Claim::at_least("sockets", evidence.fold.query, "wait_ns", long_ns).of("local", local);
    let (stack, claims) = (heaviest(&stacks), local.map(|local| claim(local)).into_iter().collect());
    Some(Finding { subject, evidence: text.into(), stack, cost_ns, claims, ..Finding::default() })
}

/// Whether several questions were sent before the wait: small calls, not the pieces of a large one.
fn asks_several(sockets: &SocketWaits<'_>, wait: &SocketWait) -> bool {
    let table = &sockets.tables.waits;
    let (sends, bytes) = (table.sends_before[wait.row], table.bytes_before[wait.row]);
    sends >= LEAST_QUESTIONS && bytes / u64::from(sends.max(1)) <= QUESTION_BYTES
}

/// Whether the wait was for the other end's program: not for TCP, a CPU there, or room to send into.
fn is_for_answers(sockets: &SocketWaits<'_>, wait: &SocketWait) -> bool {
    let causes = [SocketCause::Peer, SocketCause::PeerRunning, SocketCause::PeerWaiting];
    let direction = SocketDirection::from_code(sockets.tables.waits.direction[wait.row]);
    matches!(direction, SocketDirection::Receive | SocketDirection::Poll)
        && causes.contains(&main_cause(&sockets.causes(wait)))
}

/// How many calls received between a wait and the next one before which something was asked.
fn answers(sockets: &SocketWaits<'_>, waits: &[SocketWait], at: usize) -> u32 {
    let table = &sockets.tables.waits;
    let behind = &waits[at + 1..];
    let next = behind.iter().find(|wait| table.sends_before[wait.row] > 0).or(behind.last());
    let received = next.map_or(0, |wait| table.receives_before[wait.row]);
    received.saturating_sub(table.receives_before[waits[at].row])
}
