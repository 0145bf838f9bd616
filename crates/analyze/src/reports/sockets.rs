//! Sockets: what went through each, how long threads waited on it, and why.

use std::cmp::Reverse;

use dwell_model::{SocketProtocol, Topic};
use dwell_store::{SocketTables, Table};
use dwell_view::{Column, Prose, Row, Value, View};

use crate::engine::fold::Fold;
use crate::measure::histogram::histogram_of;
use crate::question::filter::FilterKey;
use crate::sentences::say;
use crate::study::sockets::{ByCause, SocketWaits};
use crate::tables::grouped::{cut_note, detail, plain};
use crate::tables::notes::notes;

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
    View { columns: columns(), rows, notes, ..View::default() }
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
        !fold.query.is_cut() || fold.windows.inside(from, to).next().is_some()
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

fn columns() -> Vec<Column> {
    vec![
        plain("local", "Local Address", "Its own address."),
        plain("remote", "Remote Address", "Address of the other end."),
        detail("protocol", "Protocol", "tcp, udp, unix-stream, unix-datagram, unix-packet or unknown."),
        plain("peer_process", "Peer Process", "Process at the other end, when that is on this host."),
        plain("wait_ns", "Wait Time", "Time that threads waited on it, alone or in a set that it ended the wait on."),
        plain("wait_count", "Waits", "How often they did."),
        plain("wait_by_cause", "Wait Time by Cause", "What the wait time was for: the parts add up to it."),
        detail("p50_ns", "Median Wait", "Half of the waits are not longer."),
        detail("p99_ns", "99th Percentile", "99 % of the waits are not longer."),
        plain("bytes_sent", "Bytes Sent", "Bytes that calls sent."),
        plain("bytes_received", "Bytes Received", "Bytes that calls received."),
        detail("sends", "Sends", "Calls that sent."),
        detail("receives", "Receives", "Calls that received."),
        detail("sends_refused", "Refused Sends", "Calls that found no room to send into (EAGAIN)."),
        detail("receives_empty", "Empty Receives", "Calls that found nothing to receive (EAGAIN)."),
        detail(
            "bytes_unseen",
            "Bytes Unseen",
            "Bytes that were taken from it by splice or by programs that are not profiled.",
        ),
        detail("modes", "Humps", "Lengths that many waits have: humps of their histogram, centre and number of waits."),
        detail("object", "Sync Object", "What the other reports call it, or the set that it was last waited on in."),
        detail("id", "Socket", "Its row in the table of sockets."),
    ]
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
    let columns = vec![
        plain("centre_ns", "Centre", "Average length where the hump is highest."),
        plain("count", "Waits", "How many waits are of it."),
    ];
    let humps = histogram_of(lengths.iter().copied()).humps.into_iter();
    let row = |(centre_ns, count)| Row { depth: 0, values: vec![Value::Ns(centre_ns), Value::Count(count)] };
    let rows = humps.map(|hump| row((hump.centre_ns, hump.count))).collect();
    Value::Rows(Box::new(View { columns, rows, ..View::default() }))
}
