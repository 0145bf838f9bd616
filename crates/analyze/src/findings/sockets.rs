//! Sockets: what the causes of the waits on them say. Each detector asks for one cause; the time of that cause is what it
//! costs. Sockets that threads wait on by one name (connections of one program to one server) are one subject.

use std::collections::BTreeMap;

use dwell_model::{FindingDef, SocketCause, StackId};
use dwell_query::measure::quantile::median_of;
use dwell_view::{Prose, Sentence, Word};

use crate::findings::claim::Claim;
use crate::findings::evidence::{Evidence, heaviest};
use crate::findings::finding::Finding;
use crate::sentences::say;
use crate::study::socket_groups::Group;

/// Part of the elapsed time from which a cause matters.
const COST_SHARE: f64 = 0.05;

/// A finding per group in which a cause took its part of the time; `more` says what else is known, `None` drops the finding.
fn by_cause(
    evidence: &Evidence<'_, '_>,
    cause: SocketCause,
    more: impl Fn(&Group) -> Option<Option<Sentence>>,
) -> Vec<Finding> {
    let sockets = evidence.sockets();
    let mut found = Vec::new();
    for group in evidence.socket_groups() {
        let cost_ns = group.of(cause);
        let Some(more) = (evidence.share(cost_ns) >= COST_SHARE).then(|| more(group)).flatten() else { continue };
        let with = group.with(cause, sockets);
        let mut stacks: BTreeMap<StackId, u64> = BTreeMap::new();
        with.iter().for_each(|(wait, ns)| *stacks.entry(wait.stack).or_default() += ns);
        let text = say!(
            SOCKET_CAUSE,
            cost = Word::Ns(cost_ns),
            waits = with.len(),
            median = Word::Ns(median_of(with.iter().map(|(_, ns)| *ns).collect())),
            share = Word::part(cost_ns, group.total_ns()),
        );
        found.push(Finding {
            subject: group.name.clone(),
            evidence: Prose::from(text).and(more),
            stack: heaviest(&stacks),
            cost_ns,
            claims: claims(evidence, group),
            ..Finding::default()
        });
    }
    found
}

/// What the report of sockets shows of a group's, where that calls each of them by the group's name.
pub fn claims(evidence: &Evidence<'_, '_>, group: &Group) -> Vec<Claim> {
    let objects = &evidence.sockets().tables.sockets.object;
    let is_named = group.sockets.iter().all(|socket| objects[*socket].is_some());
    let claim = || Claim::is("sockets", evidence.fold.query, "wait_ns", group.total_ns()).of("object", &group.name);
    is_named.then(claim).into_iter().collect()
}

/// Segments that had to be sent again.
pub const RETRANSMISSION: FindingDef = FindingDef {
    id: "retransmission",
    title: "Lost segments",
    help: "Threads wait on a connection until TCP sends a segment again: it, or its acknowledgement, was lost or \
           dropped. Retransmissions are seen; the wait until one is attributed to it.",
    advice: "Look for drops on the way (ip -s link, nstat -az | grep -i drop), for a receive buffer that is too small \
             (SO_RCVBUF, net.ipv4.tcp_rmem), and for a full listen backlog where connecting is retried.",
    japanese_title: "失われたセグメント",
    japanese_advice: "経路での破棄 (ip -s link、nstat -az | grep -i drop)、小さすぎる受信バッファー (SO_RCVBUF、\
                      net.ipv4.tcp_rmem)、接続をやり直す場合は listen のバックログを調べてください。",
};

pub fn retransmission(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let sockets = &evidence.sockets().tables.sockets;
    by_cause(evidence, SocketCause::Retransmission, |group| {
        let own: u64 = group.sockets.iter().map(|socket| sockets.retransmits[*socket]).fold(0, u64::saturating_add);
        Some(Some(say!(SENT_AGAIN, segments = own)))
    })
}

/// The other end does not take what is sent.
pub const FULL_RECEIVE_WINDOW: FindingDef = FindingDef {
    id: "full-receive-window",
    title: "Full receive window",
    help: "Threads wait to send because the other end's receive window has no room: its program does not read as fast \
           as this one sends, or its receive buffer is too small for the path. Inferred from TCP's state when the wait \
           began.",
    advice: "Make the receiver read sooner (a thread that only reads, larger reads), or give it a larger buffer: leave \
             SO_RCVBUF alone, which switches off the kernel's own growth, and raise net.ipv4.tcp_rmem.",
    japanese_title: "受信ウィンドウ満杯",
    japanese_advice: "受信側がより早く読むようにするか (読むだけのスレッド、大きな読み取り)、\
                      バッファーを大きくしてください。SO_RCVBUF は設定せず、net.ipv4.tcp_rmem を上げます。",
};

pub fn full_receive_window(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let sockets = evidence.sockets();
    by_cause(evidence, SocketCause::ReceiveWindow, |group| {
        let buffer = |socket: &usize| Some(sockets.tables.sockets.receive_buffer_bytes[sockets.peer(*socket)?]);
        let smallest = group.sockets.iter().filter_map(buffer).filter(|bytes| *bytes > 0).min();
        Some(smallest.map(|bytes| say!(RECEIVE_BUFFER, bytes = bytes)))
    })
}

/// The own send buffer is full.
pub const FULL_SEND_BUFFER: FindingDef = FindingDef {
    id: "full-send-buffer",
    title: "Full send buffer",
    help: "Threads wait to send because the socket's send buffer is full, while neither the other end's window nor the \
           congestion window limits it. Inferred from TCP's state when the wait began; on a Unix socket the other end \
           does not read as fast.",
    advice: "Send from a thread that has nothing else to do, or raise SO_SNDBUF (net.ipv4.tcp_wmem); over a Unix socket, \
             read sooner at the other end.",
    japanese_title: "送信バッファー満杯",
    japanese_advice: "送信専用のスレッドから送るか、SO_SNDBUF (net.ipv4.tcp_wmem) を上げてください。\
                      Unix ソケットでは、相手側がより早く読むようにしてください。",
};

pub fn full_send_buffer(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let sockets = &evidence.sockets().tables.sockets;
    by_cause(evidence, SocketCause::SendBuffer, |group| {
        let bytes =
            group.sockets.iter().map(|socket| sockets.send_buffer_bytes[*socket]).filter(|bytes| *bytes > 0).min();
        Some(bytes.map(|bytes| say!(SEND_BUFFER, bytes = bytes)))
    })
}

/// One question for each round trip.
pub const CHATTY_PROTOCOL: FindingDef = FindingDef {
    id: "chatty-protocol",
    title: "One command per round trip",
    help: "Threads send one question, wait for its answer, and send the next: the round trip is a large part of the \
           time. Concluded from the answers that came one by one and the waits attributed to the round trip.",
    advice: "Send several commands before reading the first answer (pipelining), or one that does the work of many: a \
             batch, a multi-get, a prepared statement with arrays.",
    japanese_title: "往復ごとに 1 コマンド",
    japanese_advice: "最初の応答を読む前に複数のコマンドを送る (パイプライン) か、\
                      多くをまとめて行う 1 つのコマンドを使ってください。",
};

/// Questions from which a habit is one.
const CHATTY_TURNS: u64 = 100;
/// Sends between two receives up to which questions are not sent together: a question may be written in two pieces.
const CHATTY_PIPELINE: u32 = 2;
/// Part of the elapsed time that round trips must take.
const CHATTY_SHARE: f64 = 0.1;

pub fn chatty_protocol(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let sockets = &evidence.sockets().tables.sockets;
    by_cause(evidence, SocketCause::RoundTrip, |group| {
        let asks = |socket: &&usize| sockets.asks[**socket] && sockets.largest_pipeline[**socket] <= CHATTY_PIPELINE;
        let asking: Vec<usize> = group.sockets.iter().filter(asks).copied().collect();
        let turns = asking.iter().fold(0u64, |sum, socket| sum.saturating_add(sockets.turns[*socket]));
        let sent = asking.iter().fold(0u64, |sum, socket| sum.saturating_add(sockets.bytes_sent[*socket]));
        let is_chatty = turns >= CHATTY_TURNS && evidence.share(group.of(SocketCause::RoundTrip)) >= CHATTY_SHARE;
        is_chatty.then(|| {
            let round_trip = median_of(asking.iter().map(|socket| sockets.min_rtt_ns[*socket]).collect());
            let bytes = sent / turns.max(1);
            Some(match round_trip {
                0 => say!(CHATTY, turns = turns, bytes = bytes),
                _ => say!(CHATTY_SHORTEST, turns = turns, bytes = bytes, round_trip = Word::Ns(round_trip)),
            })
        })
    })
}

/// Connecting takes long.
pub const SLOW_CONNECT: FindingDef = FindingDef {
    id: "slow-connect",
    title: "Slow connections",
    help: "Threads wait long for connections to be made.",
    advice: "Reuse connections (a pool, keep-alive), or make several at once. Where connecting takes much longer than \
             a round trip, the listener's backlog may be full: accept sooner, or raise listen()'s backlog and \
             net.core.somaxconn.",
    japanese_title: "遅い接続",
    japanese_advice: "接続を保持して再利用するか (プール、keep-alive)、同時に複数接続してください。\
                      往復時間よりずっと長い場合は、listen のバックログと net.core.somaxconn を調べてください。",
};

pub fn slow_connect(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let sockets = &evidence.sockets().tables.sockets;
    by_cause(evidence, SocketCause::Connect, |group| {
        let round_trips = group.sockets.iter().map(|socket| sockets.min_rtt_ns[*socket]).filter(|ns| *ns > 0).collect();
        let round_trip = median_of(round_trips);
        Some((round_trip > 0).then(|| say!(SHORTEST_ROUND_TRIP, round_trip = Word::Ns(round_trip))))
    })
}
