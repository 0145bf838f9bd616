//! The waits on sockets one by one.

use std::cmp::Reverse;

use dwell_model::{SocketDirection, SocketProtocol};
use dwell_query::engine::fold::Fold;
use dwell_query::question::error::QueryError;
use dwell_view::{Row, Value, View};

use crate::reports::sockets::{not_recorded, parts, shows_others};
use crate::study::sockets::{SocketWait, SocketWaits, main_cause};
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::{cut_note, stack_value};
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "start_ns", "Time", "When it began, since the start of the collection.",
        "時刻", "始まった時刻。収集の開始からの時間。";
    plain "wait_ns", "Wait Time", "How long it lasted.",
        "待機時間", "待機の長さ。";
    detail "causes", "Wait Time by Cause", "All that it was for: the parts add up to it.",
        "待機時間 (原因別)", "待機のすべての原因。合計は待機の長さです。";
    plain "socket", "Socket", "Protocol, own address and that of the other end.",
        "ソケット", "プロトコル、自身のアドレス、相手側のアドレス。";
    plain "thread", "Thread", "Who waited.",
        "スレッド", "待機したスレッド。";
    plain "direction", "Waits to", "What for: send, receive, accept, connect or poll.",
        "待機の目的", "送信、受信、接続の受け付け、接続、ポーリング。";
    plain "cause", "Cause", "What most of it was for.",
        "原因", "待機の大部分の原因。";
    plain "bytes_before", "Bytes Before", "Bytes sent on the socket since the receive before it.",
        "直前のバイト", "前の受信以降にこのソケットで送信したバイト数。";
    plain "bytes_after", "Bytes After", "Bytes of the first call on the socket after it.",
        "直後のバイト", "待機の後の最初の呼び出しのバイト数。";
    detail "sends_before", "Sends Before", "Calls that sent the bytes before.",
        "直前の送信回数", "そのバイトを送信した呼び出しの数。";
    detail "first_send_bytes", "First Send", "Bytes of the first of these calls.",
        "最初の送信", "その最初の呼び出しのバイト数。";
    detail "last_send_bytes", "Last Send", "Bytes of the last of these calls.",
        "最後の送信", "その最後の呼び出しのバイト数。";
    detail "tid", "Thread Id", "Id of the thread.",
        "スレッド ID", "スレッドの ID。";
    detail "stack", "Stack", "Where it waited, leaf first.",
        "スタック", "待機した場所。末端の関数から順に示します。";
}

/// A row per wait, the longest first; only those on the socket whose row is the query's subject, if it has one. Fails when
/// no socket has that row.
pub fn socket_waits(fold: &Fold<'_>) -> Result<View, QueryError> {
    let waits = SocketWaits::new(fold);
    let only = waits.named(fold.query.subject.as_deref())?;
    let is_shown = |socket: &usize| match only {
        Some(only) => *socket == only,
        None => shows_others(fold) || waits.protocol(*socket) != SocketProtocol::Unknown,
    };
    let of_socket = |socket: usize| waits.of_socket[socket].iter().map(move |wait| (socket, wait));
    let mut all: Vec<(usize, &SocketWait)> = (0..waits.of_socket.len()).filter(is_shown).flat_map(of_socket).collect();
    all.sort_by_key(|(_, wait)| (Reverse(waits.wait_ns(wait)), wait.row));
    let cut = fold.query.limit_rows(&mut all);
    let rows = all.into_iter().map(|(socket, wait)| row(fold, &waits, socket, wait)).collect();
    let mut notes = notes(fold);
    notes.extend(not_recorded(fold));
    notes.extend(cut_note(cut));
    Ok(View { columns: columns_of(COLUMNS), rows, notes, ..View::default() })
}

fn row(fold: &Fold<'_>, waits: &SocketWaits<'_>, socket: usize, wait: &SocketWait) -> Row {
    let (table, row) = (&waits.tables.waits, wait.row);
    let thread = table.thread[row].get().filter(|thread| *thread < fold.trace.threads.tid.len());
    let causes = waits.causes(wait);
    let values = vec![
        Value::Ns(table.start_ns[row]),
        Value::Ns(table.wait_ns[row]),
        parts(&causes),
        Value::Text(waits.label(socket)),
        thread.map_or(Value::None, |thread| Value::Text(fold.trace.threads.name[thread].clone())),
        Value::Text(SocketDirection::from_code(table.direction[row]).id().into()),
        Value::Text(main_cause(&causes).id().into()),
        Value::Count(table.bytes_before[row]),
        Value::Count(table.bytes_after[row]),
        Value::Count(table.sends_before[row].into()),
        Value::Count(table.first_send_bytes[row].into()),
        Value::Count(table.last_send_bytes[row].into()),
        thread.map_or(Value::None, |thread| Value::Count(fold.trace.threads.tid[thread].into())),
        stack_value(fold, wait.stack),
    ];
    Row { depth: 0, values }
}
