//! Sockets: what went through each, how long threads waited on it, and why.

use std::cmp::Reverse;

use dwell_model::{SocketProtocol, Topic};
use dwell_query::engine::fold::Fold;
use dwell_query::measure::histogram::histogram_of;
use dwell_query::question::filter::FilterKey;
use dwell_store::{SocketTables, Table};
use dwell_view::{Prose, Row, Value, View};

use crate::sentences::say;
use crate::study::sockets::{ByCause, SocketWaits};
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::cut_note;
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "local", "Local Address", "Its own address.",
        "ローカル・アドレス", "自身のアドレス。";
    plain "remote", "Remote Address", "Address of the other end.",
        "リモート・アドレス", "相手側のアドレス。";
    detail "protocol", "Protocol", "tcp, udp, unix-stream, unix-datagram, unix-packet or unknown.",
        "プロトコル", "TCP、UDP、Unix ソケットなど。";
    plain "peer_process", "Peer Process", "Process at the other end, when that is on this host.",
        "相手側プロセス", "相手側のプロセス (このホスト上にある場合)。";
    plain "wait_ns", "Wait Time", "Time that threads waited on it, alone or in a set that it ended the wait on.",
        "待機時間", "スレッドがこのソケットを待った時間。単独の待機と、このソケットが待機を終わらせた集合の待機です。";
    plain "wait_count", "Waits", "How often they did.",
        "待機カウント", "待機の回数。";
    plain "wait_by_cause", "Wait Time by Cause", "What the wait time was for: the parts add up to it.",
        "待機時間 (原因別)", "待機時間の内訳。合計は待機時間です。";
    detail "p50_ns", "Median Wait", "Half of the waits are not longer.",
        "中央値", "待機の半分はこれより長くない。";
    detail "p99_ns", "99th Percentile", "99 % of the waits are not longer.",
        "99 %", "待機の 99 % はこれより長くない。";
    plain "bytes_sent", "Bytes Sent", "Bytes that calls sent.",
        "送信バイト", "呼び出しが送信したバイト数。";
    plain "bytes_received", "Bytes Received", "Bytes that calls received.",
        "受信バイト", "呼び出しが受信したバイト数。";
    detail "sends", "Sends", "Calls that sent.",
        "送信回数", "送信した呼び出しの数。";
    detail "receives", "Receives", "Calls that received.",
        "受信回数", "受信した呼び出しの数。";
    detail "sends_refused", "Refused Sends", "Calls that found no room to send into (EAGAIN).",
        "拒否された送信", "送信する余地がなかった呼び出しの数 (EAGAIN)。";
    detail "receives_empty", "Empty Receives", "Calls that found nothing to receive (EAGAIN).",
        "空の受信", "受信するものがなかった呼び出しの数 (EAGAIN)。";
    detail "bytes_unseen", "Bytes Unseen", "Bytes that were taken from it by splice or by programs that are not profiled.",
        "記録外のバイト", "splice、または記録されていないプログラムが受け取ったバイト数。";
    detail "receives_short", "Short Receives", "Calls that received 256 bytes or less, and left more to be received.",
        "小さな受信", "256 バイト以下を受信し、残りを残した呼び出しの数。";
    detail "arrivals", "Arrivals", "Connections that came to it, of a socket that listens.",
        "到着した接続", "待ち受けるソケットに到着した接続の数。";
    detail "queued_ns", "Accept Queue", "How long they waited in sum to be accepted, at least.",
        "受け付け待ち", "接続が受け付けを待った時間の合計 (下限)。";
    detail "modes", "Humps", "Lengths that many waits have: humps of their histogram, centre and number of waits.",
        "山", "多くの待機の長さ。ヒストグラムの山の中央と待機の数。";
    detail "object", "Sync Object", "What the other reports call it, or the set that it was last waited on in.",
        "同期オブジェクト", "他のレポートでの名前、または最後に待機されたときの集合。";
    detail "id", "Socket", "Its row in the table of sockets.",
        "ソケット", "ソケットの表の行番号。";
}

columns! {
    /// Humps of the histogram of lengths.
    HUMPS;

    plain "centre_ns", "Centre", "Average length where the hump is highest.",
        "中央", "山が最も高いところの平均の長さ。";
    plain "count", "Waits", "How many waits are of it.",
        "待機の数", "その山に属する待機の数。";
}

/// A row per socket, the one with the most wait time first.
pub fn sockets(fold: &Fold<'_>) -> View {
    let waits = SocketWaits::new(fold);
    let (mut shown, hidden) = shown(fold, &waits);
    let wait_ns = |socket: &usize| waits.total_ns(&waits.of_socket[*socket]);
    let bytes = |socket: &usize| {
        let sockets = &waits.tables.sockets;
        sockets.bytes_sent[*socket].saturating_add(sockets.bytes_received[*socket])
    };
    shown.sort_by_key(|socket| Reverse((wait_ns(socket), bytes(socket))));
    let cut = fold.query.limit_rows(&mut shown);
    let mut notes = notes(fold);
    notes.extend(not_recorded(fold));
    notes.extend(whole_time(fold, &waits));
    notes.extend((hidden > 0).then(|| say!(SOCKETS_HIDDEN, sockets = hidden).into()));
    notes.extend(unseen(&waits));
    notes.extend(cut_note(cut));
    let rows = shown.into_iter().map(|socket| row(fold, &waits, socket)).collect();
    View { columns: columns_of(COLUMNS), rows, notes, ..View::default() }
}

/// How sockets get into a result, for one without.
pub fn not_recorded(fold: &Fold<'_>) -> Option<Prose> {
    let recorded = fold.trace.manifest.topics.iter().any(|topic| topic == Topic::Sockets.id());
    (!recorded && fold.trace.sockets == SocketTables::default()).then(|| say!(SOCKETS_NOT_RECORDED).into())
}

/// Whether sockets of other protocols are shown: who filters objects means what passes.
pub fn shows_others(fold: &Fold<'_>) -> bool {
    let of_objects = |key: FilterKey| matches!(key, FilterKey::Object | FilterKey::ObjectType);
    fold.query.filters.iter().any(|filter| of_objects(filter.key))
}

/// The sockets to show, and how many are hidden for their protocol: all that were open in the windows, or, under a filter,
/// those with a wait that passes.
fn shown(fold: &Fold<'_>, waits: &SocketWaits<'_>) -> (Vec<usize>, usize) {
    let sockets = &waits.tables.sockets;
    let was_open = |socket: usize| {
        let (from, to) = (sockets.opened_ns[socket], sockets.closed_ns[socket].saturating_add(1));
        !fold.query.is_cut() || fold.sums.windows.inside(from, to).next().is_some()
    };
    let passes =
        |socket: &usize| !waits.of_socket[*socket].is_empty() || (!fold.query.is_filtered() && was_open(*socket));
    let known = |socket: &usize| shows_others(fold) || waits.protocol(*socket) != SocketProtocol::Unknown;
    let (shown, hidden): (Vec<usize>, Vec<usize>) = (0..sockets.len()).filter(passes).partition(known);
    (shown, hidden.len())
}

/// What filters and ranges cannot cut.
fn whole_time(fold: &Fold<'_>, waits: &SocketWaits<'_>) -> Option<Prose> {
    let cut = fold.query.is_cut() || fold.query.is_filtered();
    (cut && !waits.tables.sockets.is_empty()).then(|| say!(SOCKETS_WHOLE).into())
}

/// What went past the place where calls are counted.
fn unseen(waits: &SocketWaits<'_>) -> Option<Prose> {
    let bytes = waits.tables.sockets.bytes_unseen.iter().fold(0u64, |sum, bytes| sum.saturating_add(*bytes));
    (bytes > 0).then(|| say!(BYTES_UNSEEN, bytes = bytes).into())
}

fn row(fold: &Fold<'_>, waits: &SocketWaits<'_>, socket: usize) -> Row {
    let (sockets, of_socket) = (&waits.tables.sockets, &waits.of_socket[socket]);
    let mut lengths: Vec<u64> = of_socket.iter().map(|wait| waits.wait_ns(wait)).collect();
    lengths.sort_unstable();
    let text = |text: &str| if text.is_empty() { Value::None } else { Value::Text(text.to_owned()) };
    let values = vec![
        text(&sockets.local[socket]),
        text(&sockets.remote[socket]),
        Value::Text(waits.protocol(socket).id().into()),
        text(&sockets.peer_process[socket]),
        Value::Ns(waits.total_ns(of_socket)),
        Value::Count(lengths.len() as u64),
        parts(&waits.sum(of_socket)),
        quantile(&lengths, 0.5),
        quantile(&lengths, 0.99),
        Value::Count(sockets.bytes_sent[socket]),
        Value::Count(sockets.bytes_received[socket]),
        Value::Count(sockets.sends[socket]),
        Value::Count(sockets.receives[socket]),
        Value::Count(sockets.sends_refused[socket]),
        Value::Count(sockets.receives_empty[socket]),
        Value::Count(sockets.bytes_unseen[socket]),
        Value::Count(sockets.receives_short[socket]),
        Value::Count(sockets.arrivals[socket]),
        Value::Ns(sockets.queued_ns[socket]),
        modes(&lengths),
        sockets.object[socket].get().map_or(Value::None, |_| text(fold.object_name(sockets.object[socket]))),
        Value::Count(socket as u64),
    ];
    Row { depth: 0, values }
}

/// Times by cause, the longest first.
pub fn parts(causes: &ByCause) -> Value {
    let mut parts: Vec<(&'static str, u64)> = causes.iter().map(|(cause, ns)| (cause.id(), *ns)).collect();
    parts.sort_by_key(|(_, ns)| Reverse(*ns));
    Value::Parts(parts)
}

/// The length that a fraction of the sorted ones does not exceed.
fn quantile(lengths: &[u64], fraction: f64) -> Value {
    let rank = (lengths.len() as f64 * fraction).ceil() as usize;
    lengths.get(rank.saturating_sub(1)).map_or(Value::None, |ns| Value::Ns(*ns))
}

fn modes(lengths: &[u64]) -> Value {
    let columns = columns_of(HUMPS);
    let humps = histogram_of(lengths.iter().copied()).humps.into_iter();
    let row = |(centre_ns, count)| Row { depth: 0, values: vec![Value::Ns(centre_ns), Value::Count(count)] };
    let rows = humps.map(|hump| row((hump.centre_ns, hump.count))).collect();
    Value::Rows(Box::new(View { columns, rows, ..View::default() }))
}
